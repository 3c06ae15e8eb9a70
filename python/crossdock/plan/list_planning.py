"""Plans what makes lists of rows, and rows of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Over, Scope
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import GroupLists, ListItem, Node, Unnest
from crossdock.plan.planning import plan_project, require_columns, require_unique
from crossdock.plan.windows import project

Keys = Sequence[tuple[str, Expr]]


class ListColumns:
    """The columns that keys, lists, their orders and conditions are read from, beside those that
    `node` has."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._taken = set(node.schema.names)
        self._added: list[tuple[str, Expr]] = []

    def column(self, item: Expr) -> str:
        """The column that the expression is, or becomes."""
        if isinstance(item, Column):
            return item.name
        name = unused_name(repr(item), self._taken)
        self._taken.add(name)
        self._added.append((name, item))
        return name

    def list_item(self, name: str, item: Aggregate) -> ListItem:
        """ColumnError."""
        assert item.argument is not None
        require_columns(sorted(item.columns()), self._node.schema, f"agg({name}={item!r})")
        condition = "" if item.condition is None else self.column(item.condition)
        orders = tuple(
            Order(Column(self.column(order.by)), order.descending, order.nulls_first)
            for order in item.orders
        )
        return ListItem(name, self.column(item.argument), condition, orders)

    def planned(self) -> Node:
        """`node` with the columns."""
        kept: list[tuple[str, Expr]] = [(name, Column(name)) for name in self._node.schema.names]
        return plan_project(self._node, [*kept, *self._added], "agg()") if self._added else (
            self._node
        )  # fmt: skip


def is_list(item: object) -> bool:
    """Whether the aggregate gives a list."""
    return isinstance(item, Aggregate) and item.function == "list_agg"


def in_input_order(node: Node, lists: Mapping[str, Aggregate]) -> tuple[Node, dict[str, Aggregate]]:
    """`node` with the numbers of its rows, and lists without an order by these: windows, which
    other aggregates become, put rows into an order of theirs."""
    if all(item.orders for item in lists.values()):
        return node, dict(lists)
    numbered, number = with_row_numbers(node)
    by_number = (Order(Column(number)),)
    return numbered, {
        name: item if item.orders else replace(item, orders=by_number)
        for name, item in lists.items()
    }


def with_row_numbers(node: Node) -> tuple[Node, str]:
    """`node` with the numbers of its rows, and the name of their column."""
    number = unused_name("row number", node.schema.names)
    items: list[tuple[str, Expr]] = [(name, Column(name)) for name in node.schema.names]
    numbers = Over("row_number", None, (), Scope())
    return project(node, [*items, (number, numbers)], "agg()"), number


def group_lists(
    node: Node,
    keys: Sequence[str],
    lists: Sequence[ListItem],
    plain: tuple[pa.Schema, Mapping[str, Any]],
) -> GroupLists:
    """The lists beside plain aggregates. plain: the schema of keys and aggregates, and these."""
    schema, items = plain
    fields = [pa.field(each.name, pa.list_(node.schema.field(each.column).type)) for each in lists]
    whole = pa.schema([*schema, *fields])
    return GroupLists(node, tuple(keys), tuple(items.items()), tuple(lists), whole)


def plan_unnest(node: Node, columns: Sequence[str], keeps_empty: bool) -> Unnest:
    """A row per element of the lists in columns, side by side. ColumnError, TypeError,
    OptionError (no column)."""
    if not columns:
        raise make_error("CD-105", "unnest() needs at least one column", try_='unnest("items")')
    require_columns(columns, node.schema, "unnest()")
    require_unique(columns, "unnest()", "each column once")
    for column in columns:
        _require_lists(column, node.schema.field(column).type)
    fields = [
        pa.field(field.name, field.type.value_type) if field.name in columns else field
        for field in node.schema
    ]
    return Unnest(node, tuple(columns), keeps_empty, pa.schema(fields))


def _require_lists(column: str, data_type: pa.DataType) -> None:
    kinds = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    if not any(is_kind(data_type) for is_kind in kinds):
        raise make_error(
            "CD-102", f"unnest({column!r}) needs a column of lists, not {data_type}",
            try_="a column that xd.list_agg has made, or a list column of a file",
        )  # fmt: skip
