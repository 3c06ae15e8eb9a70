"""Plans as-of joins: the nearest row of the right side by an order. The keys of both sides go into
one window, ordered; there, a row of the left side looks for the last or next one of the right.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error, unknown_choice
from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.free_functions import nullif
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Frame, Over, Scope
from crossdock.plan.nodes import JoinOptions, Node
from crossdock.plan.planning import (
    Keys,
    key_pairs,
    plan_filter,
    plan_join,
    plan_project,
    require_columns,
    require_unique,
)
from crossdock.plan.set_planning import common_type, plan_union
from crossdock.plan.windows import project

_DIRECTIONS = ("backward", "forward", "nearest")
_LEFT, _RIGHT, _AT = "\x01left", "\x01right", "\x01at"  # no column is called so
_PLAIN = ("", None, JoinOptions())


@dataclass(frozen=True)
class Asof:
    """What an as-of join is asked for: ordered columns, pairs of equal columns, and the choice."""

    left_on: str
    right_on: str
    by: tuple[tuple[str, str], ...]
    direction: str
    tolerance: Any
    how: str
    suffix: str
    is_strict: bool = False  # equal values are no partners


def ordered_columns(on: Keys) -> tuple[str, str]:
    """The column of each side that has the order. OptionError for several."""
    pairs = key_pairs(on)
    if len(pairs) != 1:
        raise make_error(
            "CD-105", f"join_asof(on={on!r}) needs one column of each side",
            try_='on="t", and by= for columns that must be equal',
        )  # fmt: skip
    return pairs[0]


def plan_asof(left: Node, right: Node, asked: Asof) -> Node:
    """Each row of `left` with the nearest one of `right`. ColumnError, TypeError, OptionError."""
    if asked.direction not in _DIRECTIONS:
        raise unknown_choice("direction", asked.direction, _DIRECTIONS)
    if asked.how not in ("left", "inner"):
        raise unknown_choice("how", asked.how, ("left", "inner"))
    require_columns([asked.left_on, *(a for a, _ in asked.by)], left.schema, "join_asof()")
    where = "the right side of join_asof()"
    require_columns([asked.right_on, *(b for _, b in asked.by)], right.schema, where)
    outputs = _outputs(left.schema, right.schema, asked)
    sides = numbered(left, _LEFT), numbered(right, _RIGHT)
    pairs = numbers_of_pairs(sides, (_LEFT, _RIGHT), asked)
    lefts = plan_join(sides[0], pairs, ((_LEFT, _LEFT),), "inner", _PLAIN)
    named = [(name, Column(column)) for column, name in outputs]
    rights = plan_project(sides[1], [*named, (_RIGHT, Column(_RIGHT))], "join_asof()")
    joined = plan_join(lefts, rights, ((_RIGHT, _RIGHT),), asked.how, _PLAIN)
    names = [*left.schema.names, *(name for _, name in outputs)]
    return plan_project(joined, [(name, Column(name)) for name in names], "join_asof()")


def _outputs(left: pa.Schema, right: pa.Schema, asked: Asof) -> list[tuple[str, str]]:
    """Columns of the right side, and their names: those that are equal on both sides by their name
    are there already."""
    same = {b for a, b in asked.by if a == b}
    outputs = [
        (name, name + asked.suffix if name in left.names else name)
        for name in right.names
        if name not in same
    ]
    advice = 'another suffix=, or rename({"old": "new"}) on one side'
    require_unique([*left.names, *(name for _, name in outputs)], "the join's result", advice)
    return outputs


def numbered(node: Node, name: str) -> Node:
    """All columns, and the number of each row under a name."""
    columns: list[tuple[str, Expr]] = [(column, Column(column)) for column in node.schema.names]
    return project(node, [*columns, (name, Over("row_number", None, (), Scope()))], "join_asof()")


def numbers_of_pairs(sides: tuple[Node, Node], names: tuple[str, str], asked: Asof) -> Node:
    """The number of each row of the left side, and that of its partner or NULL. `names` are the
    columns of `sides` that have the numbers. Errors as those of `plan_asof`."""
    left, right = sides
    keys = [f"\x01key {i}" for i in range(len(asked.by))]
    used = [Column(b) for _, b in asked.by] + [Column(asked.right_on)]
    right = plan_filter(right, [column.is_not_null() for column in used])
    mine: list[tuple[str, Expr]] = [
        (key, Column(a)) for key, (a, _) in zip(keys, asked.by, strict=True)
    ]
    theirs: list[tuple[str, Expr]] = [
        (key, Column(b)) for key, (_, b) in zip(keys, asked.by, strict=True)
    ]
    of_left, of_right = Column(names[0]), Column(names[1])
    of_both = _times_of_both(left, right, asked)
    mine += [(_AT, of_both[0]), (_LEFT, of_left), (_RIGHT, nullif(of_left, of_left))]
    theirs += [(_AT, of_both[1]), (_LEFT, nullif(of_right, of_right)), (_RIGHT, of_right)]
    rows = plan_union(
        [plan_project(left, mine, "join_asof()"), plan_project(right, theirs, "join_asof()")]
    )
    scope_keys = tuple(Column(key) for key in keys)
    partner = _partner(rows.schema, scope_keys, asked)
    known = Call("case", (Column(_AT).is_not_null(), partner, Literal(None)))
    pairs = project(rows, [(names[0], Column(_LEFT)), (names[1], known)], "join_asof()")
    return plan_filter(pairs, [of_left.is_not_null()])


def _times_of_both(left: Node, right: Node, asked: Asof) -> tuple[Expr, Expr]:
    """The ordered columns, of the type that holds the values of both. TypeError where there is
    none."""
    on = asked.left_on, asked.right_on
    types = left.schema.field(on[0]).type, right.schema.field(on[1]).type
    both = common_type(*types)
    if both is None:
        raise make_error(
            "CD-103", f"join_asof() has no order of {on[0]!r} of type {types[0]} and {on[1]!r} of "
            f"type {types[1]} together",
            try_=f"with_columns({on[1]}=xd.col({on[1]!r}).cast({str(types[0])!r})) of the right",
        )  # fmt: skip
    cast = [Column(each) if t == both else Column(each).cast(both)
            for each, t in zip(on, types, strict=True)]  # fmt: skip
    return cast[0], cast[1]


def _partner(schema: pa.Schema, keys: tuple[Expr, ...], asked: Asof) -> Expr:
    tolerance = asked.tolerance
    if isinstance(tolerance, str):
        raise make_error(
            "CD-105", f"join_asof(tolerance={tolerance!r}) is no distance", try_="a number, or "
            "datetime.timedelta(seconds=30) for times",
        )  # fmt: skip

    def nearest(value: Expr, forward: bool) -> Expr:
        limit = tolerance if forward or tolerance is None else -tolerance
        frame = Frame("range", 0, limit) if forward else Frame("range", limit, 0)
        orders: tuple[Order, ...] = (Order(Column(_AT)),)
        if asked.is_strict:  # of equal values those of the right side are out of sight
            frame = Frame("rows", 0, None) if forward else Frame("rows", None, 0)
            orders += (Order(Column(_RIGHT).is_null(), descending=not forward),)
        scope = Scope(keys, orders, frame)
        function = "first_value" if forward else "last_value"
        return Over(function, value, (("ignore_nulls", True),), scope)

    number = Column(_RIGHT)
    if asked.direction != "nearest":
        return nearest(number, asked.direction == "forward")
    data_type = schema.field(_AT).type
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_temporal)
    if not any(is_kind(data_type) for is_kind in kinds):
        raise make_error(
            "CD-102", f"join_asof(direction='nearest') needs numbers or times, {asked.left_on!r} "
            f"is {data_type}", try_="direction='backward' or 'forward'",
        )  # fmt: skip
    at = Column(_AT)
    theirs = Call("case", (number.is_not_null(), at, Literal(None)))
    before, after = nearest(number, False), nearest(number, True)
    is_before = (at - nearest(theirs, False)) <= (nearest(theirs, True) - at)
    return Call("case", (is_before | after.is_null(), before, after))
