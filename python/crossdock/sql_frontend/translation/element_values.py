"""Functions of the elements of lists, which text/lambdas.py has written with marks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from crossdock.expressions.expression import Column, Expr, of_elements
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import (
    ELEMENT,
    FILTERED,
    PLACE,
    TRANSFORMED,
)
from crossdock.sql_frontend.translation.messages import Functions, mark_of

if TYPE_CHECKING:
    from google.protobuf.message import Message


class Reading(Protocol):
    """What translates the expressions of a plan."""

    def __call__(self, message: Message) -> Expr:
        """The expression."""

    def type_of(self, expression: Expr) -> pa.DataType:
        """Its type."""

    def forget_types(self) -> None:
        """Elements are others."""


class Elements:
    """The elements that the function that is read is of, by the columns that they are in it."""

    def __init__(self, functions: Functions) -> None:
        self._functions = functions
        self._types: dict[str, pa.DataType] = {}

    def fields(self) -> list[pa.Field]:
        """The columns, by name and type."""
        return list(map(pa.field, self._types.keys(), self._types.values()))

    def value_of(self, name: str, message: Message, reading: Reading) -> Expr | None:
        """What the call of a function `name` stands for; None where it has no mark."""
        arguments = [argument.value for argument in message.arguments]
        if name == PLACE:
            return self._column(PLACE, _number(message))
        mark = mark_of(arguments[1], self._functions) if len(arguments) > 1 else ""
        if mark == ELEMENT:
            return self._column(ELEMENT, _number(_call(arguments[1])))
        if mark == FILTERED:
            return self._function(reading, arguments[1], arguments[0], arguments[2])
        if mark == TRANSFORMED:
            value = _call(arguments[0]).arguments[0].value
            lists = _call(arguments[2]).arguments[0].value
            return self._function(reading, arguments[1], lists, value)
        return None

    def _column(self, mark: str, number: int) -> Expr:
        column = f"{mark} {number}"
        if column not in self._types:
            raise unsupported(
                "an aggregate or a window of the elements of a list",
                try_="UNNEST of the list, in a query of its own",
            )  # fmt: skip
        return Column(column)

    def _function(self, reading: Reading, mark: Message, lists: Message, body: Message) -> Expr:
        listed, number = reading(lists), _number(_call(mark))
        element, place = f"{ELEMENT} {number}", f"{PLACE} {number}"
        around = self._types
        self._types = {**around, element: reading.type_of(listed).value_type, place: pa.int64()}
        reading.forget_types()
        value = reading(body)
        self._types = around
        reading.forget_types()
        if mark_of(mark, self._functions) == FILTERED:
            return of_elements("list_filter", listed, value == 1, (element, place))
        return of_elements("list_transform", listed, value, (element, place))


def _call(message: Message) -> Message:
    """The call that an expression is, of whatever its value is cast to."""
    if message.WhichOneof("rex_type") == "cast":
        message = message.cast.input
    return message.scalar_function


def _number(call: Message) -> int:
    return int(call.arguments[0].value.literal.i64)
