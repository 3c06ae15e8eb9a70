"""Types of expressions, of any depth, without evaluating the whole.

A call is evaluated over no rows, with columns of its arguments' types in their place, and its type
remembered: queries are made of few kinds of calls.
"""

from __future__ import annotations

from typing import Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error
from crossdock.expressions.evaluation import evaluate, plain_type
from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.window_expressions import Over
from crossdock.values.engine_types import empty_table

# Types of calls by function, option and types of arguments. Two threads may work out the same one.
_KNOWN: dict[object, pa.DataType] = {}
_MOST_KNOWN = 10_000


class TypesOver:
    """The types that expressions have over one schema, each worked out once. Not thread-safe."""

    def __init__(self, schema: pa.Schema) -> None:
        self._schema = schema
        self._known: dict[int, tuple[Expr, pa.DataType]] = {}  # by id, with what keeps the id

    def __call__(self, expression: Expr) -> pa.DataType:
        """The Arrow type; ExpressionError when it has none."""
        waiting = [expression]
        while waiting:  # arguments first, in a loop: expressions can be deeper than Python's stack
            part = waiting[-1]
            missing = [] if id(part) in self._known else self._unknown_arguments(part)
            waiting.extend(missing)
            if not missing:
                waiting.pop()
                if id(part) not in self._known:
                    self._known[id(part)] = part, self._worked_out(part)
        return self._known[id(expression)][1]

    def _unknown_arguments(self, expression: Expr) -> list[Expr]:
        if not isinstance(expression, Call):
            return []
        return [
            argument
            for argument in expression.arguments
            if not isinstance(argument, Literal) and id(argument) not in self._known
        ]

    def _worked_out(self, expression: Expr) -> pa.DataType:
        if isinstance(expression, Over):
            raise make_error(
                "CD-504", f"the window function {expression!r} stands where none is computed",
                limits="select(), with_columns() and filter()",
                try_="with_columns(name=...) before, and the column here",
            )  # fmt: skip
        if isinstance(expression, Column) and self._schema.get_field_index(expression.name) >= 0:
            return plain_type(self._schema.field(expression.name).type)
        if not isinstance(expression, Call):
            return self._evaluated(expression)
        try:
            return self._of_call(expression)
        except CrossdockError:
            return self._evaluated(expression)  # which says where in the whole the fault is

    def _evaluated(self, expression: Expr) -> pa.DataType:
        return evaluate(expression, empty_table(self._schema)).type

    def _of_call(self, call: Call) -> pa.DataType:
        types = tuple(
            None if isinstance(argument, Literal) else self._known[id(argument)][1]
            for argument in call.arguments
        )
        if call.function == "is_in":  # its option is a list that may be long
            fits = types[0] is not None and _all_fit(call.option, types[0])
            return pa.bool_() if fits else _type_of(call, types)
        literals = tuple(_key(a.value) for a in call.arguments if isinstance(a, Literal))
        key = (call.function, _key(call.option), types, literals)
        if key not in _KNOWN:
            if len(_KNOWN) >= _MOST_KNOWN:
                _KNOWN.clear()
            _KNOWN[key] = _type_of(call, types)
        return _KNOWN[key]


def result_type(expression: Expr, schema: pa.Schema) -> pa.DataType:
    """The Arrow type `expression` has over `schema`; ExpressionError when it has none."""
    return TypesOver(schema)(expression)


def _all_fit(values: tuple[Any, ...], data_type: pa.DataType) -> bool:
    """Whether the values are plainly of a type that columns of `data_type` compare with."""
    kinds = set(map(type, values))
    if kinds == {str}:
        return bool(data_type in (pa.string(), pa.large_string()))
    return kinds == {int} and bool(pa.types.is_integer(data_type))


def _key(value: Any) -> tuple[type, str]:
    """By digits, not by value: the decimals 1.0 and 1.00 are equal and of two types."""
    return type(value), repr(value)


def _type_of(call: Call, types: tuple[pa.DataType | None, ...]) -> pa.DataType:
    """The type of a call of columns that have `types`, and of its own literals."""
    fields = [pa.field(str(i), data_type) for i, data_type in enumerate(types) if data_type]
    arguments = tuple(
        argument if data_type is None else Column(str(i))
        for i, (argument, data_type) in enumerate(zip(call.arguments, types, strict=True))
    )
    over = Call(call.function, arguments, call.option)
    return evaluate(over, empty_table(pa.schema(fields))).type
