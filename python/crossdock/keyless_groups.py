"""Aggregates over all rows that need no grouping: numbers of rows, and what a join adds up over
pairs of rows that are never built."""

from __future__ import annotations

from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import make_error
from crossdock.expressions import Column, Expr
from crossdock.nodes import GroupBy, Join, Node


def needs_no_groups(node: Node) -> bool:
    """True for aggregates over all rows that are no work of their own: numbers of rows, and what
    the join below adds up as it goes."""
    if not isinstance(node, GroupBy) or node.keys:
        return False
    return counts_rows(node) or (isinstance(node.input, Join) and _join_can_fold(node))


def counts_rows(node: GroupBy) -> bool:
    return all(item.argument is None and item.condition is None for _, item in node.items)


def _join_can_fold(node: GroupBy) -> bool:
    """True where a join takes every aggregate: the number of rows, sums of numbers, least and
    largest of numbers, dates and times; of columns, without conditions and options."""
    schema = node.input.schema
    for _, item in node.items:
        if item.condition is not None or item.options:
            return False
        if not isinstance(item.argument, Column | None):
            return False
        if item.argument is None:
            continue
        found = schema.field(item.argument.name).type
        kinds = [pa.types.is_integer, pa.types.is_decimal128]
        kinds += [pa.types.is_float32, pa.types.is_float64]
        if item.function in ("min", "max"):
            kinds += [pa.types.is_date, pa.types.is_timestamp]
        elif item.function != "sum":
            return False
        if not any(is_kind(found) for is_kind in kinds):
            return False
    return True


def column_of(argument: Expr | None) -> str:
    return argument.name if isinstance(argument, Column) else ""


def narrowed(total: Any, field: Any) -> Any:
    """Sums made in 128 bits, as the type of `field`; DataError if one does not fit."""
    if total.type == field.type:
        return total
    try:
        return total.cast(field.type)
    except pa.ArrowException:
        raise make_error(
            "CD-303",
            f"a sum {field.name!r} does not fit an {field.type}",
            values=f"the largest is {pc.max(total).as_py()}, the least {pc.min(total).as_py()}",
            try_="wide=True, which sums into decimal128(38, 0)",
        ) from None
