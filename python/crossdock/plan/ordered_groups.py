"""Aggregates that need the rows of each group in order: first and last by an order, the value at an
extreme, exact quantiles and joined strings. Each becomes a window function below the grouping, and
the value that it has for a whole group is taken from any of the group's rows.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.expressions.aggregates import ORDERED, Aggregate
from crossdock.expressions.expression import Call, Column, Expr, Literal, lit
from crossdock.expressions.free_functions import coalesce
from crossdock.expressions.orders import Order
from crossdock.expressions.result_types import TypesOver
from crossdock.expressions.window_expressions import Frame, Over, Scope
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import Node
from crossdock.plan.planning import require_columns
from crossdock.plan.windows import project
from crossdock.values.arrow_kinds import is_moment, is_number

_WHOLE = Frame("rows", None, None)


def with_ordered_columns(
    node: Node, keys: Sequence[tuple[str, Expr]], items: Mapping[str, Aggregate]
) -> tuple[Node, dict[str, Aggregate], dict[str, Expr]]:
    """`node` with the columns that ordered aggregates need; the aggregates that are left to group;
    and, for results that are computed from several of these, how. Errors: those of windows."""
    planner = _Planner(node, keys, items)
    grouped: dict[str, Aggregate] = {}
    computed: dict[str, Expr] = {}
    for name, item in items.items():
        if not is_ordered(item) and item.function != "first":  # windows change the order of rows
            grouped[name] = item
            continue
        require_columns(sorted(item.columns()), node.schema, f"agg({name}={item!r})")
        if item.function == "quantile_exact":
            computed[name] = planner.quantile(name, item, grouped)
        else:
            grouped[name] = Aggregate("any", planner.column(_function(item, planner.keys)))
    return planner.input_node(), grouped, computed


def is_ordered(item: object) -> bool:
    """Whether the aggregate needs the rows of its group in order."""
    return isinstance(item, Aggregate) and (
        item.function in ORDERED or bool(item.orders) or _takes_nulls(item)
    )


def _takes_nulls(item: Aggregate) -> bool:
    return ("ignore_nulls", False) in item.options


class _Planner:
    """Collects the columns that windows compute."""

    def __init__(
        self, node: Node, keys: Sequence[tuple[str, Expr]], items: Mapping[str, Aggregate]
    ) -> None:
        self.node = node
        self.keys = tuple(key for _, key in keys)
        self._taken = set(node.schema.names)
        self._results = {*items, *(name for name, _ in keys)}
        self._columns: dict[str, Expr] = {}

    def column(self, expression: Expr) -> Column:
        name = unused_name(repr(expression), self._taken)
        self._taken.add(name)
        self._columns[name] = expression
        return Column(name)

    def input_node(self) -> Node:
        items: list[tuple[str, Expr]] = [(name, Column(name)) for name in self.node.schema.names]
        return project(self.node, [*items, *self._columns.items()], "agg()")

    def quantile(self, name: str, item: Aggregate, grouped: dict[str, Aggregate]) -> Expr:
        """Between the two values beside the place of the quantile; of dates and times, the first
        value that at least the share lies up to."""
        assert item.argument is not None
        share = dict(item.options)["q"]
        data_type = TypesOver(self.node.schema)(item.argument)
        value = _kept(item, item.argument)
        scope = Scope(self.keys, (Order(value),))
        number = Over("row_number", None, (), scope)
        count = Over("count", value, (), Scope(self.keys))
        if is_moment(data_type):
            place = _ceiling(count.cast(pa.float64()) * share)
            least = Call("case", (place < lit(1.0), lit(1.0), place))
            at = self.column(_where(number.cast(pa.float64()) == least, value))
            grouped[name] = Aggregate("any", at)
            return Column(name)
        if not is_number(data_type):
            raise make_error(
                "CD-102", f"{item!r} needs a number, date or time, not {data_type}",
                try_="xd.min or xd.max of it",
            )  # fmt: skip
        real = value.cast(pa.float64())
        place = (count.cast(pa.float64()) - 1.0) * share
        numbered = number.cast(pa.float64()) - 1.0
        below = self._taken_from(grouped, name, _where(numbered == _floor(place), real))
        above = self._taken_from(grouped, name, _where(numbered == _ceiling(place), real))
        part = self._taken_from(grouped, name, place - _floor(place))
        between = below + (above - below) * part
        return Call("case", (part > lit(0.0), between, below))

    def _taken_from(self, grouped: dict[str, Aggregate], name: str, value: Expr) -> Column:
        """The one value of a group, as a column of the grouping."""
        result = unused_name(name, self._results)
        self._results.add(result)
        grouped[result] = Aggregate("any", self.column(value))
        return Column(result)


def _function(item: Aggregate, keys: tuple[Expr, ...]) -> Over:
    """The window function that gives the value of a group in each of its rows, or in one."""
    assert item.argument is not None
    value = _kept(item, item.argument)
    orders = item.orders
    if item.function in ("arg_min", "arg_max"):
        by = orders[0].by
        value = _where(Call("is_valid", (by,)), value)
        orders = (replace(orders[0], descending=item.function == "arg_max"),)
    if item.function == "string_agg":
        return Over("string_agg", value, item.options, Scope(keys, orders))
    is_last = item.function == "last"
    options: tuple[tuple[str, Any], ...] = (("ignore_nulls", True),)
    if _takes_nulls(item):
        options = ()
        if item.condition is not None:  # rows that it leaves out come behind those that it keeps
            is_kept = coalesce(item.condition, False)
            orders = (Order(is_kept, descending=not is_last), *orders)
    function = "last_value" if is_last else "first_value"
    return Over(function, value, options, Scope(keys, orders, _WHOLE))


def _kept(item: Aggregate, value: Expr) -> Expr:
    return value if item.condition is None else _where(item.condition, value)


def _where(condition: Expr, value: Expr) -> Expr:
    return Call("case", (condition, value, Literal(None)))


def _floor(value: Expr) -> Expr:
    return value.floor()


def _ceiling(value: Expr) -> Expr:
    return value.ceil()
