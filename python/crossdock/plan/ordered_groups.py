"""Aggregates that need the rows of each group in order: first and last by several orders, quantiles
of what is no number, date or time, and joined strings. Each becomes a window function below the
grouping, and the value that it has for a whole group is taken from any of its rows. So do first,
last and values at an extreme beside them: windows change the order of rows, which is put back where
a mode needs it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crossdock.expressions.aggregates import OF_ROWS, Aggregate
from crossdock.expressions.expression import Call, Column, Expr, Literal, lit
from crossdock.expressions.free_functions import coalesce
from crossdock.expressions.orders import Order
from crossdock.expressions.result_types import TypesOver
from crossdock.expressions.window_expressions import Frame, Over, Scope
from crossdock.plan.list_planning import with_row_numbers
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import Node, Sort
from crossdock.plan.planning import require_columns
from crossdock.plan.windows import project
from crossdock.values.arrow_kinds import is_moment, is_number

_WHOLE = Frame("rows", None, None)


def with_ordered_columns(
    node: Node, keys: Sequence[tuple[str, Expr]], items: Mapping[str, Aggregate]
) -> tuple[Node, dict[str, Aggregate]]:
    """`node` with the columns that ordered aggregates need, and the aggregates that are left to
    group. Errors: those of windows."""
    needs_order = any(item.function == "mode" for item in items.values())
    node, number = with_row_numbers(node) if needs_order else (node, "")
    planner = _Planner(node, keys)
    grouped: dict[str, Aggregate] = {}
    for name, item in items.items():
        if not is_ordered(item, node.schema) and item.function not in OF_ROWS:
            grouped[name] = item
            continue
        require_columns(sorted(item.columns()), node.schema, f"agg({name}={item!r})")
        if item.function == "quantile_disc":
            column = planner.quantile(item)
        else:
            column = planner.column(_function(item, planner.keys))
        grouped[name] = Aggregate("any", column)
    below = planner.input_node()
    return (_sorted_by(below, number) if needs_order else below), grouped


def _sorted_by(node: Node, column: str) -> Sort:
    outputs = tuple((name, name) for name in node.schema.names)
    return Sort(node, (Order(Column(column)),), outputs, node.schema)


def is_ordered(item: object, schema: pa.Schema) -> bool:
    """Whether the aggregate, over columns of `schema`, needs the rows of its group in order."""
    if not isinstance(item, Aggregate):
        return False
    if item.function == "quantile_disc":
        return not _is_of_words(item, schema)
    if item.function in ("arg_min", "arg_max"):
        return not _is_compared(item, schema)
    return item.function == "string_agg" or bool(item.orders)


def _is_of_words(item: Aggregate, schema: pa.Schema) -> bool:
    """Whether group-bys keep the values. True also where the schema lacks a column, which the
    group-by itself says."""
    if item.argument is None or not item.columns().issubset(schema.names):
        return True
    data_type = TypesOver(schema)(item.argument)
    kinds = (is_number, is_moment, pa.types.is_boolean, pa.types.is_null)
    return any(is_kind(data_type) for is_kind in kinds)


def _is_compared(item: Aggregate, schema: pa.Schema) -> bool:
    """Whether group-bys compare the values by which a row is the one: dictionaries of anything but
    strings are sorted only. True also where the schema lacks a column."""
    if not item.columns().issubset(schema.names):
        return True
    data_type = TypesOver(schema)(item.orders[0].by)
    if not pa.types.is_dictionary(data_type):
        return True
    return data_type.value_type in (pa.string(), pa.large_string(), pa.string_view())


def _takes_nulls(item: Aggregate) -> bool:
    return ("ignore_nulls", False) in item.options


class _Planner:
    """Collects the columns that windows compute."""

    def __init__(self, node: Node, keys: Sequence[tuple[str, Expr]]) -> None:
        self.node = node
        self.keys = tuple(key for _, key in keys)
        self._taken = set(node.schema.names)
        self._columns: dict[str, Expr] = {}

    def column(self, expression: Expr) -> Column:
        name = unused_name(repr(expression), self._taken)
        self._taken.add(name)
        self._columns[name] = expression
        return Column(name)

    def input_node(self) -> Node:
        items: list[tuple[str, Expr]] = [(name, Column(name)) for name in self.node.schema.names]
        return project(self.node, [*items, *self._columns.items()], "agg()")

    def quantile(self, item: Aggregate) -> Column:
        """The first value that at least the share lies up to."""
        assert item.argument is not None
        share = dict(item.options)["q"]
        value = _kept(item, item.argument)
        number = Over("row_number", None, (), Scope(self.keys, (Order(value),)))
        count = Over("count", value, (), Scope(self.keys)).cast(pa.float64())
        place = count - (count - count * share).floor()  # rounded as the engine's quantiles are
        least = Call("case", (place < lit(1.0), lit(1.0), place))
        return self.column(_where(number.cast(pa.float64()) == least, value))


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
