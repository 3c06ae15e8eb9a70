"""Builds nodes so that what is written twice in a text is one node, which the engine runs once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Column, Expr, conjuncts, identity
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Over
from crossdock.plan import window_planning
from crossdock.plan.group_planning import plan_group
from crossdock.plan.list_planning import plan_unnest
from crossdock.plan.nodes import Draw, Filter, JoinOptions, Node
from crossdock.plan.planning import plan_filter, plan_join, plan_keyless_join
from crossdock.plan.row_planning import SortOptions, plan_draws, plan_limit, plan_sort
from crossdock.plan.set_planning import plan_union

if TYPE_CHECKING:
    from collections.abc import Collection

_LONGEST_NAME = 60


@dataclass(frozen=True)
class JoinCondition:
    """What a join has beside its keys."""

    residual: Expr | None = None
    null_equals_null: bool = False


class Builder:
    """Nodes by what they are made of. Not thread-safe."""

    def __init__(self) -> None:
        self._known: dict[object, Node] = {}
        self._scans: dict[str, Node] = {}

    def scan(self, name: str, node: Node) -> Node:
        """A table of the query."""
        return self._scans.setdefault(name, node)

    def filter(self, node: Node, conditions: Sequence[Expr]) -> Node:
        """The rows where all conditions are true, each of which is tested once."""
        tested = conjuncts(node.predicate) if isinstance(node, Filter) else ()
        conditions_by_identity = {identity(each): each for each in (*tested, *conditions)}
        further = list(conditions_by_identity.items())[len({identity(each) for each in tested}) :]
        if not further:
            return node
        key = ("filter", id(node), tuple(known for known, _ in further))
        return self._once(key, lambda: plan_filter(node, [each for _, each in further]))

    def project(self, node: Node, items: Sequence[tuple[str, Expr]]) -> Node:
        """These columns."""
        if [name for name, _ in items] == node.schema.names and all(
            isinstance(item, Column) and item.name == name for name, item in items
        ):
            return node
        key = ("project", id(node), _items_key(items))
        return self._once(key, lambda: window_planning.project(node, items, "SELECT"))

    def with_columns(self, node: Node, items: Sequence[tuple[str, Expr]]) -> Node:
        """All columns, and these behind them."""
        if not items:
            return node
        known: list[tuple[str, Expr]] = [(name, Column(name)) for name in node.schema.names]
        return self.project(node, [*known, *items])

    def renamed(self, node: Node, names: Mapping[str, str]) -> Node:
        """The same columns, some under other names."""
        return self.project(node, [(names.get(n, n), Column(n)) for n in node.schema.names])

    def join(
        self,
        left: Node,
        right: Node,
        keys: Sequence[tuple[str, str]],
        how: str,
        condition: JoinCondition = JoinCondition(),
    ) -> Node:
        """A join of sides that have no name in common; without keys the residual decides."""
        residual, null_equals_null = condition.residual, condition.null_equals_null
        key = (
            "join", id(left), id(right), tuple(keys), how, null_equals_null,
            None if residual is None else identity(residual),
        )  # fmt: skip
        extras = ("_right", residual, JoinOptions(null_equals_null=null_equals_null))

        def build() -> Node:
            if keys:
                return plan_join(left, right, tuple(keys), how, extras)
            kind = "cross" if how == "inner" and residual is None else how
            return plan_keyless_join(left, right, None, kind, extras)

        return self._once(key, build)

    def group(
        self, node: Node, keys: Sequence[tuple[str, Expr]], items: Mapping[str, Aggregate]
    ) -> Node:
        """One row per combination of keys."""
        described = tuple((name, _aggregate_key(item)) for name, item in items.items())
        key = ("group", id(node), _items_key(keys), described)
        return self._once(key, lambda: plan_group(node, tuple(keys), items))

    def sort(self, node: Node, orders: Sequence[Order]) -> Node:
        """The rows in order."""
        described = tuple((identity(o.by), o.descending, o.nulls_first) for o in orders)
        key = ("sort", id(node), described)
        return self._once(key, lambda: plan_sort(node, tuple(orders), SortOptions(), "ORDER BY"))

    def first_share(self, node: Node, fraction: float, offset: int) -> Node:
        """The first rows, as a share of all."""
        key = ("first share", id(node), fraction, offset)
        return self._once(key, lambda: plan_limit(node, None, offset, fraction))

    def limit(self, node: Node, rows: int, offset: int) -> Node:
        """Some of the rows."""
        return self._once(("limit", id(node), rows, offset), lambda: plan_limit(node, rows, offset))

    def unnest(self, node: Node, columns: Sequence[str], *, keeps_empty: bool) -> Node:
        """A row per element of the lists in columns."""
        key = ("unnest", id(node), tuple(columns), keeps_empty)
        return self._once(key, lambda: plan_unnest(node, columns, keeps_empty))

    def draws(self, node: Node, items: Sequence[Draw]) -> Node:
        """The rows with columns of random values."""
        return self._once(("draws", id(node), tuple(items)), lambda: plan_draws(node, items))

    def union(self, nodes: Sequence[Node]) -> Node:
        """The rows of all."""
        return self._once(("union", *map(id, nodes)), lambda: plan_union(nodes))

    def _once(self, key: object, build: Callable[[], Node]) -> Node:
        node = self._known.get(key)
        if node is None:
            node = self._known[key] = build()
        return node


def name_for(expression: Expr, taken: Collection[str]) -> str:
    """A name for a computed column that none of `taken` has: what it computes, where that is
    short."""
    shown = repr(expression)
    function = getattr(expression, "function", "value")
    return unused(shown if len(shown) <= _LONGEST_NAME else function, taken)


def unused(name: str, taken: Collection[str]) -> str:
    """`name`, with a number behind it where it is taken."""
    candidate, count = name, 2
    while candidate in taken:
        candidate, count = f"{name}_{count}", count + 1
    return candidate


def _items_key(items: Sequence[tuple[str, Expr]]) -> object:
    return tuple((name, _identity(item)) for name, item in items)


def _identity(item: Expr) -> object:
    """That of a window function is its own: each is one node."""
    return object() if _has_window(item) else identity(item)


def _has_window(item: Expr) -> bool:
    if isinstance(item, Call):
        return any(map(_has_window, item.arguments))
    return isinstance(item, Over)


def _aggregate_key(item: Aggregate) -> object:
    parts = (item.argument, item.condition)
    orders = tuple((identity(o.by), o.descending, o.nulls_first) for o in item.orders)
    known = (None if p is None else identity(p) for p in parts)
    return (item.function, item.options, orders, *known)
