"""Groups over ranks: each rank groups what it has, the groups go by their keys, and are put
together where they meet; or rows go by their keys first, where there are nearly as many groups.

Counts, sums, means, least and largest values, first ones and truth values are put together from
one row per group and rank. Where one aggregate is not (distinct values, quantiles, variances, exact
sums of floats), the rows themselves go by key. One row over all is put together in all ranks.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr
from crossdock.expressions.orders import Order
from crossdock.expressions.result_types import result_type
from crossdock.plan.group_planning import plan_plain_group
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import Filter, GroupBy, Node, Project, Scan
from crossdock.plan.row_planning import SortOptions, plan_sort
from crossdock.ranks.group_choice import may_go_first, rows_go_first
from crossdock.ranks.merged_moments import SHAPES, SPREADS, parts_of, value_over_ranks
from crossdock.ranks.placement import Placed, scan_of
from crossdock.ranks.spread import Spread

_SAME = frozenset(
    ("min", "max", "any", "first", "bool_and", "bool_or", "bit_and", "bit_or", "bit_xor", "product")
)
_DISTINCT = frozenset(("count_distinct", "approx_distinct"))
_RANK = "rank"


@dataclass(frozen=True)
class Merged:
    """An aggregate of all ranks: the columns that each rank computes for it, by what they are."""

    name: str
    item: Aggregate
    parts: Mapping[str, tuple[str, Aggregate]]  # "sum" -> (column, aggregate)

    def column(self, part: str) -> str:
        return self.parts[part][0]


def settle_group(spread: Spread, node: GroupBy) -> Placed:
    """The groups of this rank's share of the keys, or the one row in all ranks. Collective."""
    below = spread.shared(spread.settle(node.input))
    if not node.keys:
        return _row(spread, node, below)
    keys = tuple(name for name, _ in node.keys)
    plain = {item.name: name for name, item in reversed(node.keys) if isinstance(item, Column)}
    if below.in_first:
        return Placed(replace(node, input=below.node), in_first=True)
    if below.keys and below.with_nulls and set(below.keys) <= plain.keys():
        return below.renamed(replace(node, input=below.node), plain)
    merged = _merged(node, below.node.schema, moments=False)
    if merged is None:
        return _by_rows(spread, node, below)
    asked = {column: item for part in merged for column, item in part.parts.values()}
    is_first = any(part.item.function == "first" for part in merged)
    may_go = isinstance(below.node, Scan) and may_go_first(spread.ranks, node) and not is_first
    if may_go:
        below = replace(below, node=spread.there(below.node))
    grouped = plan_plain_group(below.node, node.keys, asked)
    if may_go and not spread.dry and rows_go_first(spread, grouped):
        return _by_rows(spread, node, below)
    partial: Node = grouped
    if is_first and not spread.dry:
        partial = _with_rank(spread, partial)
    rule = "by key, or the rows first if that is less work" if may_go else "by key"
    moved = spread.by_key_or_in_first(Placed(partial), keys, rule)
    input_node = moved.node
    if is_first and not spread.dry:
        order = (Order(Column(_rank_name(partial))),)
        input_node = plan_sort(input_node, order, SortOptions(stable=True), "sort")
    final = plan_plain_group(input_node, tuple((key, Column(key)) for key in keys), _finals(merged))
    if spread.dry:  # what is computed of the parts is not shown
        return replace(moved, node=replace(final, schema=node.schema))
    if not merged:
        return replace(moved, node=final)
    return replace(moved, node=scan_of(_finished(spread.table(final), node, merged)))


def _by_rows(spread: Spread, node: GroupBy, below: Placed) -> Placed:
    """The rows by key, with the columns that the aggregates read."""
    columns = {c for _, item in node.items for c in item.columns()}
    items: dict[str, Expr] = {name: Column(name) for name in sorted(columns)}
    items |= {key.name: key for _, key in node.keys if isinstance(key, Column)}
    names = []
    for name, key in node.keys:
        names.append(key.name if isinstance(key, Column) else unused_name(name, items))
        items[names[-1]] = key
    rows = _project(below.node, items)
    moved = spread.by_key(Placed(rows), tuple(names))
    keys = [(name, Column(column)) for (name, _), column in zip(node.keys, names, strict=True)]
    final = plan_plain_group(moved.node, tuple(keys), dict(node.items))
    return replace(moved, node=final, keys=tuple(name for name, _ in node.keys))


def _row(spread: Spread, node: GroupBy, below: Placed) -> Placed:
    """One row over all, in all ranks."""
    if spread.dry:
        moved = spread.ranks.planned(below.node, "one row of each rank, to all")
        return Placed(replace(node, input=moved), everywhere=True)
    if not node.items:
        return Placed(_one_row(node.schema), everywhere=True)
    merging = [(n, i) for n, i in node.items if _parts(n, i, below.node.schema, True) is not None]
    others = [(n, i) for n, i in node.items if (n, i) not in merging]
    source = below.node
    if others and (merging or len(others) > 1):
        source = spread.there(source)
    columns: dict[str, Any] = {}
    if merging:
        columns |= _merged_row(spread, node, dict(merging), source)
    for name, item in others:
        if item.function in _DISTINCT:
            columns[name] = pa.chunked_array([[_distinct(spread, item, source)]], pa.int64())
        else:
            columns[name] = _gathered(spread, name, item, source)
    fields = [columns[name] for name, _ in node.items]
    return Placed(scan_of(pa.Table.from_arrays(fields, schema=node.schema)), everywhere=True)


def _one_row(schema: pa.Schema) -> Scan:
    """A row without columns."""
    return replace(scan_of(pa.table({"row": pa.nulls(1)})), columns=(), schema=schema)


def _merged_row(
    spread: Spread, node: GroupBy, items: dict[str, Aggregate], source: Node
) -> dict[str, pa.ChunkedArray]:
    whole = plan_plain_group(source, (), items)
    merged = _merged(whole, source.schema, moments=True)
    assert merged is not None
    asked = {column: item for part in merged for column, item in part.parts.values()}
    partial = plan_plain_group(source, (), asked)
    rows = spread.ranks.to_all(spread.table(partial))  # in the order of the ranks
    final = spread.table(plan_plain_group(scan_of(rows), (), _finals(merged)))
    moments = {p.name: _moment(rows, p) for p in merged if p.item.function in SPREADS | SHAPES}
    return {
        part.name: moments[part.name]
        if part.name in moments
        else _value(final, part, node.schema.field(part.name))
        for part in merged
    }


def _distinct(spread: Spread, item: Aggregate, source: Node) -> int:
    """The number of different values in all ranks: each value counts in the rank it goes to."""
    assert item.argument is not None
    rows = source if item.condition is None else Filter(source, item.condition)
    once = plan_plain_group(rows, (("value", item.argument),), {})
    moved = spread.by_key(Placed(once), ("value",))
    counted = plan_plain_group(moved.node, (), {"n": Aggregate("count_distinct", Column("value"))})
    mine = spread.table(counted).column(0)[0].as_py()
    return sum(spread.ranks.agree("distinct values", mine))


def _gathered(spread: Spread, name: str, item: Aggregate, source: Node) -> pa.Table:
    """An aggregate that needs all values in one rank."""
    items = {column: Column(column) for column in sorted(item.columns())}
    rows = source if item.condition is None else Filter(source, item.condition)
    there = spread.to_one(_project(rows, items))
    gathered = spread.table(plan_plain_group(there, (), {name: replace(item, condition=None)}))
    if spread.ranks.rank != 0:
        gathered = gathered.slice(0, 0)
    return spread.ranks.to_all(gathered).column(0)


def _merged(node: GroupBy, schema: pa.Schema, moments: bool) -> list[Merged] | None:
    """How each aggregate is put together, or None if one is not."""
    taken = {name for name, _ in (*node.keys, *node.items)}
    merged = []
    for name, item in node.items:
        parts = _parts(name, item, schema, moments)
        if parts is None:
            return None
        named = {}
        for part, aggregate in parts.items():
            column = unused_name(f"{part} of {name}", taken)
            taken.add(column)
            named[part] = (column, aggregate)
        merged.append(Merged(name, item, named))
    return merged


def _parts(
    name: str, item: Aggregate, schema: pa.Schema, moments: bool
) -> dict[str, Aggregate] | None:
    function = item.function
    if function == "count":
        return {"count": item}
    if function in _SAME and not item.options:
        return {"value": item}
    counted = Aggregate("count", item.argument, (), item.condition)
    if function in SPREADS | SHAPES and moments:
        return parts_of(item)
    if function not in ("sum", "mean") or ("floats", "exact") in item.options:
        return None
    assert item.argument is not None
    is_integer = pa.types.is_integer(result_type(item.argument, schema))
    # In 128 bits: the sum of one rank may be too large where that of all is not.
    options = (("wide", True),) if is_integer else ()
    parts = {"sum": Aggregate("sum", item.argument, options, item.condition)}
    return parts if function == "sum" else {**parts, "count": counted}


def _finals(merged: list[Merged]) -> dict[str, Aggregate]:
    """What is computed of the columns of all ranks."""
    finals = {}
    for merge in merged:
        for part, (column, _) in merge.parts.items():
            function = merge.item.function if part == "value" else "sum"
            if part not in ("mean", *SPREADS, *SHAPES):
                finals[column] = Aggregate(function, Column(column))
    return finals


def _finished(table: pa.Table, node: GroupBy, merged: list[Merged]) -> pa.Table:
    by_name = {part.name: part for part in merged}
    columns = [
        _value(table, by_name[field.name], field)
        if field.name in by_name
        else table.column(field.name)
        for field in node.schema
    ]
    return pa.Table.from_arrays(columns, schema=node.schema)


def _value(table: pa.Table, part: Merged, field: pa.Field) -> pa.ChunkedArray:
    """The column of an aggregate, of what all ranks found together."""
    if part.item.function == "mean":
        total = table.column(part.column("sum")).cast(pa.float64())
        return pc.divide(total, table.column(part.column("count")).cast(pa.float64()))
    (column,) = (name for name, _ in part.parts.values())
    return _narrowed(table.column(column), field)


def _narrowed(total: pa.ChunkedArray, field: pa.Field) -> pa.ChunkedArray:
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
            try_="wide=True, which sums into decimal128(38, 0); in SQL sum(x::decimal(38, 0))",
        ) from None


def _moment(rows: pa.Table, part: Merged) -> pa.Scalar:
    """Of all rows by the moments of each rank."""
    columns = [rows.column(column).to_pylist() for column, _ in part.parts.values()]
    return pa.chunked_array([[value_over_ranks(part.item, columns)]], pa.float64())


def _rank_name(partial: Node) -> str:
    return str(partial.schema.names[-1])


def _rank_field(table: pa.Table) -> pa.Field:
    return pa.field(unused_name(_RANK, table.schema.names), pa.int64())


def _with_rank(spread: Spread, partial: Node) -> Node:
    """The groups of this rank, with its number in a last column."""
    table = spread.table(partial)
    numbers = pa.repeat(pa.scalar(spread.ranks.rank, pa.int64()), table.num_rows)
    return scan_of(table.append_column(_rank_field(table), numbers))


def _project(node: Node, items: Mapping[str, Expr]) -> Node:
    schema = node.schema
    fields = [
        schema.field(item.name).with_name(name)
        if isinstance(item, Column)
        else pa.field(name, result_type(item, schema))
        for name, item in items.items()
    ]
    return Project(node, tuple(items.items()), pa.schema(fields))
