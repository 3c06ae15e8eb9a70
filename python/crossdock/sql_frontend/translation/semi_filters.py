"""Semi joins that are put below the groups of a query: of a table in it, only the rows are read
whose keys other tables have."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from crossdock.expressions.expression import Column
from crossdock.plan.nodes import Filter, GroupBy, Join, Node, Project
from crossdock.sql_frontend.translation.building import Builder

# Joins that keep the rows of a side, or drop them, one by one: a filter may come before them.
_FILTERED_SIDES = {
    "inner": ("left", "right"),
    "left": ("left",),
    "right": ("right",),
    "semi": ("left",),
    "anti": ("left",),
    "anti_null_aware": ("left",),
}


@dataclass(frozen=True)
class Filtered:
    """A node with a semi join in it, as deep as it goes: of the rows of `base`, those with few
    values of `column` are the rows of `kept`."""

    node: Node
    base: Node
    column: str
    kept: Node


def filtered_by(builder: Builder, node: Node, column: str, values: Node) -> Filtered:
    """The rows of `node` whose `column` is one of `values`, a node with one column."""
    below = _below(node, column)
    if below is None:
        kept = builder.join(node, values, [(column, values.schema.names[0])], "semi")
        return Filtered(kept, node, column, kept)
    side, name = below
    filtered = filtered_by(builder, getattr(node, side), name, values)
    sides: dict[str, Any] = {side: filtered.node}
    return replace(filtered, node=replace(node, **sides))


def _below(node: Node, column: str) -> tuple[str, str] | None:
    """The input that a column of a node comes from, and its name there; None where a filter of it
    must come behind the node."""
    if isinstance(node, Filter):
        return "input", column
    if isinstance(node, Project | GroupBy):
        items = node.items if isinstance(node, Project) else node.keys
        item = dict(items).get(column)
        return ("input", item.name) if isinstance(item, Column) else None
    if isinstance(node, Join):
        side, name = next((side, old) for side, old, new in node.outputs if new == column)
        side = "right" if side == "key" else side  # of right and full joins
        return (side, name) if side in _FILTERED_SIDES.get(node.how, ()) else None
    return None


def rebased(node: Node, filtered: Filtered) -> tuple[Node, set[str]] | None:
    """`node`, filters and columns of the base of `filtered`, over those of its rows that are kept;
    and the names that the column has, by which they are kept. None where it is of another base."""
    if node is filtered.base:
        return filtered.kept, {filtered.column}
    if not isinstance(node, Filter | Project):
        return None
    below = rebased(node.input, filtered)
    if below is None:
        return None
    kept, names = below
    if isinstance(node, Project):
        items = [(name, item) for name, item in node.items if isinstance(item, Column)]
        names = {name for name, item in items if item.name in names}
    return replace(node, input=kept), names


def grouped_by(node: Node) -> set[str]:
    """Columns of a node that are keys of the groups it is of."""
    if isinstance(node, GroupBy):
        return {name for name, item in node.keys if isinstance(item, Column)}
    if isinstance(node, Filter):
        return grouped_by(node.input)
    if isinstance(node, Project):
        below = grouped_by(node.input)
        return {
            name for name, item in node.items if isinstance(item, Column) and item.name in below
        }
    return set()
