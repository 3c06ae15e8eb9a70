"""Rows and bytes of this rank's part of a query, before it is run."""

from __future__ import annotations

from typing import TypeGuard

from crossdock.expressions.expression import Column
from crossdock.files.sources import ArrowSource
from crossdock.plan.estimates import Estimator
from crossdock.plan.nodes import Join, Node, Project, Scan, inputs_of
from crossdock.values.row_taking import column_bytes, table_bytes

_UNKNOWN_BYTES = 32.0  # of a value of unknown width


def is_table(node: Node) -> TypeGuard[Scan]:
    """Whether the rows are all those of a table in memory."""
    if not isinstance(node, Scan) or node.predicate is not None:
        return False
    return isinstance(node.source, ArrowSource)


def exact_size(rows: Scan) -> tuple[int, float]:
    """Rows and bytes of a table in memory."""
    assert isinstance(rows.source, ArrowSource)
    whole = rows.source.data.select(list(rows.columns))
    return whole.num_rows, table_bytes(whole)


def estimated_size(node: Node, estimate: Estimator) -> tuple[float, float] | None:
    """Rows and bytes of a node that has not run; None where its rows are not known."""
    rows = estimate(node).rows
    if rows is None:
        return None
    return rows, rows * sum(_bytes_of_value(node, name) for name in node.schema.names)


def _bytes_of_value(node: Node, name: str) -> float:
    """The mean width of a column: of the table that it comes from, or by its type."""
    if isinstance(node, Scan) and isinstance(node.source, ArrowSource):
        column = node.source.data.column(name)
        return column_bytes(column) / max(len(column), 1)
    if isinstance(node, Join):
        for side, column, output in node.outputs:
            if output == name:
                return _bytes_of_value(node.right if side == "right" else node.left, column)
    field = node.schema.field(name)
    if isinstance(node, Project):
        item = dict(node.items)[name]
        name = item.name if isinstance(item, Column) else ""
    for below in inputs_of(node):
        if below.schema.get_field_index(name) >= 0 and below.schema.field(name).type == field.type:
            return _bytes_of_value(below, name)
    try:
        return float(field.type.bit_width) / 8
    except ValueError:
        return _UNKNOWN_BYTES
