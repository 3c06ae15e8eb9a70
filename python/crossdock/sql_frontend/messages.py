"""Walks over Substrait messages: subqueries in expressions, and the anti joins that are NOT IN."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from crossdock.sql_frontend.binding import Bound
from crossdock.sql_frontend.errors import unsupported

_LEFT_ANTI = 6


def has_subquery(message: Any) -> bool:
    """Whether an expression has a subquery in it."""
    kind = message.WhichOneof("rex_type")
    if kind == "subquery":
        return True
    return any(map(has_subquery, parts_of(message)))


def parts_of(message: Any) -> Iterator[Any]:
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


def null_aware_joins(bound: Bound) -> dict[int, tuple[bool, Any]]:
    """Of each anti join whether it is NOT IN, by the id of its message, which is kept here so that
    the id stays. They are printed in the order in which they are walked here: subqueries of
    expressions first, then the inputs."""
    if not any(bound.null_aware):
        return {}
    found = list(_anti_joins(bound.message.relations[0].root.input))
    if len(found) != len(bound.null_aware):
        raise unsupported("NOT IN in a query of this shape", try_="NOT EXISTS")
    return {id(m): (aware, m) for m, aware in zip(found, bound.null_aware, strict=True)}


def _anti_joins(relation: Any) -> Iterator[Any]:
    kind = relation.WhichOneof("rel_type")
    message = getattr(relation, kind)
    if kind == "join" and message.type == _LEFT_ANTI:
        yield message
    for expression in _expressions_of(kind, message):
        yield from _anti_joins_within(expression)
    if kind == "set":
        inputs = list(message.inputs)
    elif kind in ("join", "cross"):
        inputs = [message.left, message.right]
    else:
        inputs = [message.input] if kind != "read" else []
    for each in inputs:
        yield from _anti_joins(each)


def _anti_joins_within(expression: Any) -> Iterator[Any]:
    if expression.WhichOneof("rex_type") == "subquery":
        kind = expression.subquery.WhichOneof("subquery_type")
        if kind == "scalar":
            yield from _anti_joins(expression.subquery.scalar.input)
        elif kind == "in_predicate":
            yield from _anti_joins(expression.subquery.in_predicate.haystack)
        elif kind == "set_predicate":
            yield from _anti_joins(expression.subquery.set_predicate.tuples)
    for part in parts_of(expression):
        yield from _anti_joins_within(part)


def _expressions_of(kind: str, message: Any) -> list[Any]:
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
