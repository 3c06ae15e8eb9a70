"""Functions of groups over a part of a partition, such as a running median: rows are numbered in
their order, and each is joined to those between the first and the last one of its frame. So each
row of each frame is looked at: of n rows that see all before them, n * n / 2."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from crossdock.expressions.aggregates import COUNTS, Aggregate
from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.free_functions import coalesce
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Frame, Over, Scope
from crossdock.plan import windows
from crossdock.plan.group_planning import plan_group
from crossdock.plan.list_planning import plan_unnest
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import JoinOptions, Node
from crossdock.plan.planning import plan_join, plan_keyless_join, plan_project

Items = list[tuple[str, Expr]]


def with_frames(
    node: Node,
    members: Sequence[Over],
    aggregate_of: Callable[[Over, tuple[Order, ...]], Aggregate],
) -> tuple[Node, dict[object, Expr]]:
    """`node` with columns for functions of one scope, and what each of them is by its identity.
    `aggregate_of` gives the aggregate of a function, over rows in an order."""
    rows = _Frames(node, members[0].window)
    items: dict[str, Aggregate] = {}
    for over in members:
        name = unused_name(repr(over), {*node.schema.names, *items})
        items[name] = aggregate_of(over, (Order(rows.place),))
    groups = plan_group(rows.pairs(), ((rows.asked.name, rows.row),), items)
    extras = ("_right", None, JoinOptions())
    joined = plan_join(rows.bounded, groups, ((rows.row.name, rows.asked.name),), "left", extras)
    values: dict[object, Expr] = {}
    for over, name in zip(members, items, strict=True):
        column = Column(name)
        is_count = over.function in COUNTS
        values[windows.identity_of(over)] = coalesce(column, 0) if is_count else column
    return joined, values


class _Frames:
    """The rows of a node, numbered, with the numbers of the first and last row of their frames."""

    def __init__(self, node: Node, scope: Scope) -> None:
        names = list(node.schema.names)
        hidden: list[str] = []
        for word in ("row", "asked", "place", "first", "last", "at"):
            hidden.append(unused_name(f"\x01{word} of frames", [*names, *hidden]))
        self.row, self.asked, self.place, self._first, self._last, self._at = map(Column, hidden)
        self._frame = scope.frame or Frame("range", None, 0)
        self._known: Items = [(name, Column(name)) for name in names]
        self._keys = scope.partition
        numbers = [
            (self.row.name, Over("row_number", None, (), Scope())),
            (self.place.name, Over("row_number", None, (), Scope(scope.partition, scope.orders))),
        ]
        numbered = windows.project(node, [*self._known, *numbers], "over()")
        counts_rows = self._frame.unit == "rows"
        orders = (Order(self.place),) if counts_rows else scope.orders
        framed = Scope(scope.partition, orders, self._frame)
        ends = [
            (name, Over(function, self.place, (), framed))
            for name, function in ((self._first.name, "min"), (self._last.name, "max"))
        ]
        known: Items = [(name, Column(name)) for name in numbered.schema.names]
        self.bounded = windows.project(numbered, [*known, *ends], "over()")

    def pairs(self) -> Node:
        """Each row of each frame, with the number of the row that sees it."""
        names = [f"\x01key {number} of frames" for number in range(2 * len(self._keys))]
        ours, theirs = names[: len(self._keys)], names[len(self._keys) :]
        bounds: Items = [(c.name, c) for c in (self.row, self._first, self._last)]
        asking = plan_project(
            self.bounded, [*bounds, *zip(ours, self._keys, strict=True)], "over()"
        )
        place: Items = [(self.place.name, self.place)]
        keys: Items = list(zip(theirs, self._keys, strict=True))
        seen = plan_project(self.bounded, [*self._known, *place, *keys], "over()")
        same = list(zip(ours, theirs, strict=True))
        options = JoinOptions(null_equals_null=True)
        if None not in (self._frame.start, self._frame.end) and self._frame.unit == "rows":
            between = Call("list_range", (self._first, self._last, Literal(1)), True)
            kept: Items = [(name, Column(name)) for name in asking.schema.names]
            listed = plan_project(asking, [*kept, (self._at.name, between)], "over()")
            placed = plan_unnest(listed, self._at.name, keeps_empty=False)
            extras = ("_right", None, options)
            pairs = (*same, (self._at.name, self.place.name))
            return plan_join(placed, seen, pairs, "inner", extras)
        is_between = (self.place >= self._first) & (self.place <= self._last)
        if same:
            return plan_join(asking, seen, tuple(same), "inner", ("_right", is_between, options))
        return plan_keyless_join(asking, seen, None, "inner", ("_right", is_between, JoinOptions()))
