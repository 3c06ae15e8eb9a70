"""Walks over Substrait messages: subqueries in expressions, and the anti joins that are NOT IN."""

from __future__ import annotations

import datetime
from collections.abc import Iterator
from typing import TYPE_CHECKING

from crossdock.expressions.expression import Literal
from crossdock.sql_frontend.binding import Bound
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import RANDOM, UNNEST, UUID
from crossdock.sql_frontend.translation.conversions import is_double_beside_decimal

DIRECTIONS = {  # descending, NULLs first
    1: (False, True), 2: (False, False), 3: (True, True), 4: (True, False),
}  # fmt: skip

if TYPE_CHECKING:
    import pyarrow as pa
    from google.protobuf.message import Message

_LEFT_SEMI, _LEFT_ANTI = 5, 6
_KEPT = (_LEFT_SEMI, _LEFT_ANTI)  # what INTERSECT and EXCEPT become


MOMENTS = frozenset(("now", "current_timestamp", "current_date", "today", "current_time"))


class Functions(dict[int, str]):
    """The functions of a plan by their numbers in it, and the moment that it is of: `moment`, or
    when it is read. `decimals`: the types of casts to decimals that a text has; None: all are."""

    def __init__(
        self,
        plan: Message,
        moment: datetime.datetime | None = None,
        decimals: frozenset[tuple[int, int]] | None = None,
    ) -> None:
        super().__init__(
            (
                each.extension_function.function_anchor,
                each.extension_function.name.partition(":")[0],  # behind it stand types
            )
            for each in plan.extensions
            if each.WhichOneof("mapping_type") == "extension_function"
        )
        self._now = moment or datetime.datetime.now(datetime.UTC)
        self._decimals = decimals

    def has_added(self, data_type: pa.DataType, target: pa.DataType) -> bool:
        """Whether a cast is DataFusion's, of a double beside decimals, and not one of the text."""
        if self._decimals is None or not is_double_beside_decimal(data_type, target):
            return False
        return (target.precision, target.scale) not in self._decimals

    def moment_of(self, name: str) -> Literal:
        """What now() and the like are, the same one wherever the plan has it."""
        if name in ("current_date", "today"):
            return Literal(self._now.date())
        if name == "current_time":
            return Literal(self._now.time())
        return Literal(self._now)

    def chain_of(self, message: Message, name: str) -> list[Message]:
        """What a chain of one operator connects, from left to right; such chains can be long."""
        parts: list[Message] = []
        waiting = [argument.value for argument in reversed(message.arguments)]
        while waiting:
            part = waiting.pop()
            is_call = part.WhichOneof("rex_type") == "scalar_function"
            if is_call and self[part.scalar_function.function_reference] == name:
                waiting += [each.value for each in reversed(part.scalar_function.arguments)]
            else:
                parts.append(part)
        return parts


def has_subquery(message: Message) -> bool:
    """Whether an expression has a subquery in it."""
    kind = message.WhichOneof("rex_type")
    if kind == "subquery":
        return True
    return any(map(has_subquery, parts_of(message)))


def parts_of(message: Message) -> Iterator[Message]:
    """The expressions directly within one."""
    kind = message.WhichOneof("rex_type")
    if kind == "scalar_function":
        yield from (argument.value for argument in message.scalar_function.arguments)
    elif kind == "window_function":
        yield from (argument.value for argument in message.window_function.arguments)
    elif kind == "cast":
        yield message.cast.input
    elif kind == "if_then":
        for clause in message.if_then.ifs:
            yield getattr(clause, "if")
            if clause.HasField("then"):
                yield clause.then
        if message.if_then.HasField("else"):
            yield getattr(message.if_then, "else")
    elif kind == "singular_or_list":
        yield message.singular_or_list.value
        yield from message.singular_or_list.options
    elif kind == "subquery" and message.subquery.WhichOneof("subquery_type") == "in_predicate":
        yield from message.subquery.in_predicate.needles


def fields_within(message: Message) -> Iterator[int]:
    """The places of the columns that an expression reads."""
    if message.WhichOneof("rex_type") == "selection":
        yield message.selection.direct_reference.struct_field.field
    for part in parts_of(message):
        yield from fields_within(part)


def unnests_within(message: Message, functions: Functions) -> Iterator[tuple[int, Message]]:
    """The UNNEST in an expression: the number of each, below 0 where rows without elements stay,
    and the expression of its lists."""
    if message.WhichOneof("rex_type") == "scalar_function":
        arguments = [argument.value for argument in message.scalar_function.arguments]
        number = unnest_number(arguments[-1], functions) if arguments else 0
        if number:
            yield number, arguments[0]
            return
    for part in parts_of(message):
        yield from unnests_within(part, functions)


def unnest_number(message: Message, functions: Functions) -> int:
    """The number of the mark that an expression is; 0 for others."""
    if mark_of(message, functions) != UNNEST:
        return 0
    if message.WhichOneof("rex_type") == "cast":
        message = message.cast.input
    place = message.scalar_function.arguments[0].value
    if place.WhichOneof("rex_type") == "scalar_function":  # below 0
        return -int(place.scalar_function.arguments[0].value.literal.i64)
    return int(place.literal.i64)


def mark_of(message: Message, functions: Functions) -> str:
    """The function that an expression calls, of whatever its value is cast to; "" for others."""
    if message.WhichOneof("rex_type") == "cast":
        message = message.cast.input
    if message.WhichOneof("rex_type") != "scalar_function":
        return ""
    return functions[message.scalar_function.function_reference]


RANDOM_KINDS = {RANDOM: "number", UUID: "uuid"}


def draws_within(message: Message, functions: Functions) -> Iterator[tuple[str, int]]:
    """The random values in an expression: the mark of each, and its number."""
    if message.WhichOneof("rex_type") == "scalar_function":
        name = functions[message.scalar_function.function_reference]
        if name in RANDOM_KINDS:
            yield name, int(message.scalar_function.arguments[0].value.literal.i64)
            return
    for part in parts_of(message):
        yield from draws_within(part, functions)


def draw_column(mark: str, number: int) -> str:
    """The column that has the values of a call of random() or uuid()."""
    return f"{mark} {number}"


def unnest_column(number: int) -> str:
    """The column that has the elements of an UNNEST."""
    return f"{UNNEST} {abs(number)}"


def all_joins(root: Message, mark: int | None) -> dict[int, Message]:
    """The joins that are INTERSECT ALL and EXCEPT ALL, by the ids of their messages, which are kept
    here so that the ids stay. `mark` is the function that stands in their right sides, wherever the
    optimizer has put it there, with a number for each."""
    joins: dict[int, Message] = {}
    if mark is not None and _marks_below(root, mark, joins):
        raise unsupported("INTERSECT ALL or EXCEPT ALL in a query of this shape", word="all")
    return joins


def _marks_below(relation: Message, mark: int, mark_names: dict[int, Message]) -> set[int]:
    """The numbers of marks in a relation that are not those of joins in it."""
    kind = relation.WhichOneof("rel_type")
    message = getattr(relation, kind)
    marks = set[int]()
    for expression in _expressions_of(kind, message):
        marks |= _marks_within(expression, mark, mark_names)
    for each in _inputs_of(kind, message):
        below = _marks_below(each, mark, mark_names)
        if below and kind == "join" and message.type in _KEPT and each is message.right:
            mark_names[id(message)] = message
            continue
        marks |= below
    return marks


def _marks_within(expression: Message, mark: int, mark_names: dict[int, Message]) -> set[int]:
    kind = expression.WhichOneof("rex_type")
    marks = set[int]()
    if kind == "scalar_function" and expression.scalar_function.function_reference == mark:
        marks.add(expression.scalar_function.arguments[0].value.literal.i64)
    for relation in _subqueries_of(expression):
        marks |= _marks_below(relation, mark, mark_names)
    return marks.union(*(_marks_within(part, mark, mark_names) for part in parts_of(expression)))


def null_aware_joins(bound: Bound) -> dict[int, tuple[bool, Message]]:
    """Of each anti join whether it is NOT IN, by the id of its message, which is kept here so that
    the id stays. They are printed in the order in which they are walked here: subqueries of
    expressions first, then the inputs."""
    if not any(bound.null_aware):
        return {}
    joins = list(_anti_joins(bound.message.relations[0].root.input))
    if len(joins) != len(bound.null_aware):
        raise unsupported("NOT IN in a query of this shape", try_="NOT EXISTS")
    return {id(m): (aware, m) for m, aware in zip(joins, bound.null_aware, strict=True)}


def _anti_joins(relation: Message) -> Iterator[Message]:
    kind = relation.WhichOneof("rel_type")
    message = getattr(relation, kind)
    if kind == "join" and message.type == _LEFT_ANTI:
        yield message
    for expression in _expressions_of(kind, message):
        yield from _anti_joins_within(expression)
    for each in _inputs_of(kind, message):
        yield from _anti_joins(each)


def _anti_joins_within(expression: Message) -> Iterator[Message]:
    for relation in _subqueries_of(expression):
        yield from _anti_joins(relation)
    for part in parts_of(expression):
        yield from _anti_joins_within(part)


def _inputs_of(kind: str, message: Message) -> list[Message]:
    if kind == "set":
        return list(message.inputs)
    if kind in ("join", "cross"):
        return [message.left, message.right]
    return [message.input] if kind != "read" else []


def _subqueries_of(expression: Message) -> list[Message]:
    """The relation of a subquery expression; none of others."""
    if expression.WhichOneof("rex_type") != "subquery":
        return []
    kind = expression.subquery.WhichOneof("subquery_type")
    if kind == "scalar":
        return [expression.subquery.scalar.input]
    if kind == "in_predicate":
        return [expression.subquery.in_predicate.haystack]
    return [expression.subquery.set_predicate.tuples] if kind == "set_predicate" else []


def _expressions_of(kind: str, message: Message) -> list[Message]:
    if kind == "filter":
        return [message.condition]
    if kind == "project":
        return list(message.expressions)
    if kind == "join" and message.HasField("expression"):
        return [message.expression]
    if kind == "aggregate":
        arguments = [a.value for m in message.measures for a in m.measure.arguments]
        return [*message.grouping_expressions, *arguments]
    return [each.expr for each in message.sorts] if kind == "sort" else []
