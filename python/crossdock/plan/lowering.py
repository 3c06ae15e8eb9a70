"""Turns a grouping of expressions into what the engine takes: a grouping by columns.

Expressions that are keys, arguments or conditions become columns of a projection below, each
once however often it is used.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any, TypeAlias

import pyarrow as pa

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr, identity
from crossdock.expressions.result_types import TypesOver
from crossdock.plan.nodes import GroupBy, Node, Project

# function, column or "", filter column or "", result name, options
Item: TypeAlias = tuple[str, str, str, str, dict[str, Any]]


@dataclass(frozen=True)
class Lowered:
    """A grouping of `input` in which keys, arguments and conditions are plain columns."""

    input: Node
    keys: tuple[str, ...]
    items: tuple[Item, ...]


def lower_group(node: GroupBy) -> Lowered:
    """`node` over columns alone. The result's columns are to be named by position: a column that
    is a key may have another name than the key. Pure."""
    columns = _Columns(node.input)
    keys = tuple(columns.name_of(item) for _, item in node.keys)
    items = tuple(
        (
            item.function,
            "" if item.argument is None else columns.name_of(item.argument),
            "" if item.condition is None else columns.name_of(item.condition),
            name,
            _options(item, columns),
        )
        for name, item in node.items
    )
    return Lowered(columns.input_node(), keys, items)


def _options(item: Aggregate, columns: _Columns) -> dict[str, Any]:
    options = dict(item.options)
    if item.orders:
        options["by"] = columns.name_of(item.orders[0].by)
    return options


def unused_name(name: str, taken: Collection[str]) -> str:
    """`name`, or one like it that is not taken."""
    while name in taken:
        name += "'"
    return name


class _Columns:
    """The columns that a grouping reads: those of its input, and computed ones."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._taken = set(node.schema.names)
        self._names: dict[object, str] = {}
        self._items: dict[str, Expr] = {}

    def name_of(self, expression: Expr) -> str:
        if isinstance(expression, Column):
            self._items.setdefault(expression.name, expression)
            return expression.name
        known = identity(expression)
        if known not in self._names:
            name = unused_name(repr(expression), self._taken)
            self._taken.add(name)
            self._names[known] = name
            self._items[name] = expression
        return self._names[known]

    def input_node(self) -> Node:
        if not self._names:
            return self._node
        schema = self._node.schema
        type_of = TypesOver(schema)
        fields = [
            schema.field(name) if isinstance(item, Column) else pa.field(name, type_of(item))
            for name, item in self._items.items()
        ]
        return Project(self._node, tuple(self._items.items()), pa.schema(fields))
