"""What is known of the order of a node's rows before they are there: declared by the user, or made
by a sort or a merge join below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from crossdock.expressions.expression import Column
from crossdock.expressions.orders import Order
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Filter,
    FirstShare,
    Join,
    Limit,
    Node,
    Project,
    Sample,
    Sort,
)

DECLARED = "declared"


@dataclass(frozen=True)
class KnownOrder:
    """The rows are in `orders`, in the names of the node's columns; `origin` says why."""

    orders: tuple[Order, ...] = ()
    origin: str = DECLARED

    def covers(self, orders: tuple[Order, ...], where_nulls_are: bool = True) -> bool:
        """Whether rows in this order are in the order `orders` too; NULLs may be left aside."""
        parts = 3 if where_nulls_are else 2
        known = [order.key[:parts] for order in self.orders]
        return bool(orders) and known[: len(orders)] == [order.key[:parts] for order in orders]


def known_order(node: Node) -> KnownOrder:
    """What is known of the order of the rows of `node`; no orders where nothing is."""
    if isinstance(node, AssumeSorted):
        return KnownOrder(node.orders)
    if isinstance(node, Filter | Limit | FirstShare | Draws | Sample):
        return known_order(node.input)
    if isinstance(node, Project):
        names = {item.name: name for name, item in reversed(node.items) if isinstance(item, Column)}
        return _renamed(known_order(node.input), names)
    if isinstance(node, Sort):
        names = dict(reversed(node.outputs))
        return _renamed(KnownOrder(node.orders, "by the sort below"), names)
    if isinstance(node, Join) and node.options.strategy == "merge":
        return KnownOrder(_merged_orders(node), "by the merge join below")
    return KnownOrder()


def known_sides(node: Join) -> dict[str, str]:
    """Side of a join -> why its rows are known to be in the order of its keys, as a merge join
    needs them. Empty for a strategy that makes no use of it."""
    if node.options.strategy not in ("auto", "merge"):
        return {}
    sides = {}
    for side, below, place in (("left", node.left, 0), ("right", node.right, 1)):
        known = known_order(below)
        keys = tuple(Order(Column(key)) for key in node.keys(place))
        # Rows with a NULL that matches nothing are put aside, wherever they stand.
        if known.covers(keys, where_nulls_are=node.options.null_equals_null):
            sides[side] = known.origin
    return sides


def known_plan(node: Node) -> dict[str, Any]:
    """What the plan of an operator will say for what is known of its inputs, while they are not
    there: facts in the form of the engine's plans. Empty where nothing is known."""
    if isinstance(node, Sort) and node.strategy == "auto" and sort_is_done(node):
        origin = known_order(node.input).origin
        reason = f"the rows are in this order ({origin}); all are checked before any is handed out"
        return {"strategy": "presorted", "strategy_reason": reason}
    if not isinstance(node, Join):
        return {}
    sides = {f"{side}_order": f"sorted ({why})" for side, why in known_sides(node).items()}
    if node.options.strategy != "merge":
        return sides
    unknown = {"left_order": "looked at when it runs", "right_order": "looked at when it runs"}
    return {"strategy": "merge", **unknown, **sides}


def with_origins(node: Node, plan: dict[str, Any]) -> dict[str, Any]:
    """A plan or profile of the engine, to which all orders that are not detected are declared ones,
    with what they are known from."""
    if not isinstance(node, Join):
        return plan
    sides = {f"{side}_order": f"sorted ({why})" for side, why in known_sides(node).items()}
    taken = {fact: why for fact, why in sides.items() if plan.get(fact) == f"sorted ({DECLARED})"}
    return plan | taken


def sort_is_done(node: Sort) -> bool:
    """Whether the input of a sort is known to be in its order."""
    return known_order(node.input).covers(node.orders)


def _renamed(known: KnownOrder, names: dict[str, str]) -> KnownOrder:
    """An order as far as its columns are still there, by their new names."""
    renamed: list[Order] = []
    for order in known.orders:
        if order.column not in names:
            break
        renamed.append(Order(Column(names[order.column]), order.descending, order.nulls_first))
    return KnownOrder(tuple(renamed), known.origin)


def _merged_orders(node: Join) -> tuple[Order, ...]:
    """The order of a merge join's result: that of its keys, NULLs last. Rows with a NULL in one of
    several keys come behind all others, which is the order of no column, unless NULLs match; inner
    and semi joins have no such rows."""
    keeps_nulls = node.how not in ("inner", "semi") and not node.options.null_equals_null
    if keeps_nulls and len(node.on) > 1:
        return ()
    orders: list[Order] = []
    for left, right in node.on:
        sides = {("key", left)}
        if node.how not in ("right", "full"):  # there it is NULL in rows of the right side alone
            sides.add(("left", left))
        if node.how in ("inner", "right"):
            sides.add(("right", right))
        names = [name for side, column, name in node.outputs if (side, column) in sides]
        if not names:
            break
        orders.append(Order(Column(names[0])))
    return tuple(orders)
