"""Columns that stay in their ranks until the end, where a query leaves few of many rows: strings
that nothing computes with, and what else comes from their tables, are replaced by references to the
rows that have them, which go through joins, groups and exchanges as one integer. The few rows that
are left get their values from the ranks that have these (late materialisation, as Abadi, Myers,
DeWitt and Madden have it for one machine, 2007).

Keys of a group-by may stay behind, too, if others do not: where all rows of a group refer to the
same rows, keys that are columns of these are the same. Each group finds its least and its greatest
reference; if they differ in any, the query runs as it is written.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column
from crossdock.files.sources import ArrowSource
from crossdock.plan.group_planning import plan_plain_group
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import (
    Filter,
    GroupBy,
    Join,
    Limit,
    Node,
    Output,
    Project,
    Scan,
    Sort,
    inputs_of,
)
from crossdock.ranks.placement import Placed, scan_of
from crossdock.ranks.spread import Spread
from crossdock.values.row_taking import column_bytes

_FETCHED = "columns of few rows"
_ROW_BITS = 40  # of a reference, below the rank
_REFERENCE_BYTES = 8
_REFERENCE = pa.field("row", pa.int64(), nullable=False)
_MANY_ROWS = 1 << 14  # of all ranks, before groups; fewer may as well have all their columns
_FEW_ROWS = 1 << 16  # that may be left, whose values all ranks get
_STRINGS = frozenset((pa.string(), pa.large_string(), pa.string_view(),
                      pa.binary(), pa.large_binary(), pa.binary_view()))  # fmt: skip
# Sides whose rows a join does not extend by NULLs.
_WHOLE_LEFT = frozenset(("inner", "left", "semi", "anti", "anti_null_aware"))
_WHOLE_RIGHT = frozenset(("inner", "right"))


@dataclass(frozen=True)
class Carried:
    """A column that stays in its rank: the column of references, the place of its table among
    `Referred.tables`, and its name there."""

    reference: str
    table: int
    column: str


_Carried = Mapping[str, Carried]  # by the name of the column in a node


@dataclass
class Referred:
    """A query with references in the place of some of its columns."""

    node: Node
    columns: _Carried
    tables: list[pa.Table]
    group: GroupBy | None = None  # that finds these, in the node
    ends: list[tuple[str, str]] = field(default_factory=list)  # its least and greatest references


def referred(spread: Spread, root: Node) -> Referred | None:
    """The query with references; None where it leaves many rows, nothing can stay behind, or what
    does is less than the references."""
    cut = _cut_of(root)
    if cut is None or spread.ranks.size == 1:
        return None
    moving, is_grouped = cut.input, False
    while isinstance(moving, GroupBy | Project | Filter | Sort):
        is_grouped = is_grouped or isinstance(moving, GroupBy)
        moving = moving.input
    if not (is_grouped or isinstance(moving, Join)):  # rows do not move as they are wide
        return None
    names, columns = _names_below(root), frozenset(root.schema.names)
    walk = _Walk(spread.ranks.rank, names, with_numbers=False)
    _, carried = walk.below(root, columns)
    if not carried or not _pays(spread, moving, walk.tables, carried):
        return None
    walk = _Walk(spread.ranks.rank, names, with_numbers=True)
    node, carried = walk.below(root, columns)
    return Referred(node, carried, walk.tables, walk.group, walk.ends)


def _pays(spread: Spread, moving: Node, tables: list[pa.Table], carried: _Carried) -> bool:
    """Whether what stays behind, in the rows of `moving`, is more than a reference for each row of
    the tables."""
    kept = {(one.table, one.column) for one in carried.values()}
    held = [tables[number][name] for number, name in sorted(kept)]
    width = sum(column_bytes(column) / max(len(column), 1) for column in held)
    rows = spread.estimate_of_all(moving).rows or 0.0
    said = [[rows, width, sum(table.num_rows for table in tables)]]
    if not spread.dry:
        said = spread.ranks.agree("rows that few are left of", said[0])
    rows, width, _ = said[0]  # what the first rank expects counts, for each sees other rows
    references = _REFERENCE_BYTES * sum(one[2] for one in said)
    return bool(rows >= _MANY_ROWS and rows * width > references)


def is_determined(spread: Spread, groups: pa.Table, referred: Referred) -> bool:
    """Whether no group of any rank has two references in the place of one column. Collective."""
    differ = [pc.any(pc.not_equal(groups[least], groups[most])) for least, most in referred.ends]
    return not any(spread.ranks.agree("references of groups", any(one.as_py() for one in differ)))


def fetched(spread: Spread, placed: Placed, root: Node, referred: Referred) -> Placed:
    """The rows of the query itself: those of `placed`, which have references. Collective."""
    if spread.dry:
        return replace(placed, node=spread.ranks.planned(placed.node, _FETCHED))
    table = spread.table(placed.node)
    by_table: dict[int, dict[str, None]] = {}
    for one in referred.columns.values():
        by_table.setdefault(one.table, {})[one.reference] = None
    values = {
        number: _values(spread, [table[name] for name in names], referred, number)
        for number, names in by_table.items()
    }
    columns = []
    for name in root.schema.names:
        if name not in referred.columns:
            columns.append(table[name])
            continue
        one = referred.columns[name]
        came = values[one.table]
        places = pc.index_in(table[one.reference], value_set=came["row"].combine_chunks())
        columns.append(came[one.column].take(places))
    return replace(placed, node=scan_of(pa.Table.from_arrays(columns, schema=root.schema)))


def _values(
    spread: Spread, references: list[pa.ChunkedArray], referred: Referred, number: int
) -> pa.Table:
    """What all ranks have of the rows that any of them refers to, with their references."""
    ranks, held = spread.ranks, referred.tables[number]
    asked = pc.unique(pa.chunked_array([c for one in references for c in one.chunks], pa.int64()))
    every = ranks.to_all(pa.table([asked], schema=pa.schema([_REFERENCE])), "rows of columns")
    rows = np.unique(every["row"].to_numpy())
    mine = rows[rows >> _ROW_BITS == ranks.rank]
    places = mine & ((1 << _ROW_BITS) - 1)
    names = list(dict.fromkeys(c.column for c in referred.columns.values() if c.table == number))
    taken = [_taken(held[name], places) for name in names]
    fields = [_REFERENCE, *(held.schema.field(name) for name in names)]
    table = pa.Table.from_arrays([pa.chunked_array([mine]), *taken], schema=pa.schema(fields))
    return ranks.to_all(table, _FETCHED)


def _taken(column: pa.ChunkedArray, rows: NDArray[np.int64]) -> pa.ChunkedArray:
    """The values of rows in ascending order. pyarrow's own puts all chunks together first."""
    ends = np.cumsum([len(chunk) for chunk in column.chunks], dtype=np.int64)
    cuts = np.searchsorted(rows, ends)
    chunks, begin, first = [], 0, 0
    for chunk, end, cut in zip(column.chunks, ends, cuts, strict=True):
        if cut > begin:
            chunks.append(chunk.take(pa.array(rows[begin:cut] - first)))
        begin, first = cut, end
    return pa.chunked_array(chunks, column.type)


def _cut_of(node: Node) -> Limit | Sort | None:
    """What leaves few rows of a query, if that is known before it runs."""
    while isinstance(node, Project | Filter):
        node = node.input
    if isinstance(node, Sort) and node.limit is not None and node.limit <= _FEW_ROWS:
        return node
    return node if isinstance(node, Limit) and node.rows <= _FEW_ROWS else None


class _Walk:
    """Replaces columns from the root down to the tables that have them."""

    def __init__(self, rank: int, names: Collection[str], with_numbers: bool) -> None:
        """with_numbers: else the query is not to be run, but tells what could stay behind."""
        self.tables: list[pa.Table] = []
        self.group: GroupBy | None = None
        self.ends: list[tuple[str, str]] = []
        self._rank = rank
        self._with_numbers = with_numbers
        self._names = set(names)
        self._is_grouped = False

    def below(self, node: Node, late: Collection[str]) -> tuple[Node, _Carried]:
        """The node with references in the place of columns among `late`, and these."""
        if isinstance(node, Scan):
            return self._scan(node, late)
        if isinstance(node, Join):
            return self._join(node, late)
        if isinstance(node, GroupBy):
            return self._grouped(node, late)
        if isinstance(node, Project):
            return self._project(node, late)
        if isinstance(node, Sort):
            return self._sort(node, late)
        if isinstance(node, Limit):
            below, carried = self.below(node.input, late)
            return replace(node, input=below), carried
        if isinstance(node, Filter):
            below, carried = self.below(node.input, set(late) - node.predicate.columns())
            return replace(node, input=below), carried
        return node, {}

    def _scan(self, node: Scan, late: Collection[str]) -> tuple[Node, _Carried]:
        source = node.source
        names = [name for name in node.columns if name in late]
        if not isinstance(source, ArrowSource) or source.is_replicated:
            return node, {}
        if not any(_is_string(node.schema.field(name).type) for name in names):
            return node, {}
        reference = self._unused("row")
        held = source
        if self._with_numbers:
            first = self._rank << _ROW_BITS
            numbers = pa.array(np.arange(first, first + source.data.num_rows, dtype=np.int64))
            held = source.with_column(_REFERENCE.with_name(reference), numbers)
        kept = (*(name for name in node.columns if name not in names), reference)
        carried = {name: Carried(reference, len(self.tables), name) for name in names}
        self.tables.append(source.data)
        schema = _schema(node.schema, carried)
        return Scan(held, kept, schema, node.predicate), carried

    def _join(self, node: Join, late: Collection[str]) -> tuple[Node, _Carried]:
        sides = {}
        asked = node.residual_columns
        for number, side, whole in ((0, "left", _WHOLE_LEFT), (1, "right", _WHOLE_RIGHT)):
            names = {c for at, c, name in node.outputs if at == side and name in late}
            names -= {c for at, c, name in node.outputs if at == side and name not in late}
            names -= {*node.keys(number), *(c for at, c, _ in asked if at == side)}
            names = names if node.how in whole else set()
            is_grouped, self._is_grouped = self._is_grouped, True  # no group-by below
            sides[side] = self.below((node.left, node.right)[number], names)
            self._is_grouped = is_grouped
        carried, outputs = {}, []
        references: dict[str, Output] = {}
        for side, column, name in node.outputs:
            one = sides[side][1].get(column) if side in sides else None
            if one is None:
                outputs.append((side, column, name))
            else:
                carried[name] = one
                references[one.reference] = (side, one.reference, one.reference)
        if not carried:
            return node, {}
        (left, _), (right, _) = sides["left"], sides["right"]
        outputs += references.values()
        schema = _schema(node.schema, carried)
        return replace(node, left=left, right=right, outputs=tuple(outputs), schema=schema), carried

    def _grouped(self, node: GroupBy, late: Collection[str]) -> tuple[Node, _Carried]:
        """The groups by the keys that stay, with the references of each."""
        if self._is_grouped:
            return node, {}
        computed = [item for _, item in node.keys if not isinstance(item, Column)]
        used = {c for item in computed for c in item.columns()}
        used |= {c for _, item in node.items for c in item.columns()}
        plain = {name: i.name for name, i in node.keys if isinstance(i, Column) and name in late}
        names = set(plain.values()) - used
        names -= {i.name for name, i in node.keys if isinstance(i, Column) and name not in late}
        self._is_grouped = True
        below, carried = self.below(node.input, names)
        keys = tuple((name, item) for name, item in node.keys if plain.get(name) not in carried)
        if not carried or not keys:
            return node, {}
        ends: dict[str, tuple[str, str]] = {}
        items = dict(node.items)
        for reference in dict.fromkeys(one.reference for one in carried.values()):
            ends[reference] = (reference, self._unused("greatest"))
            items[reference] = Aggregate("min", Column(reference))
            items[ends[reference][1]] = Aggregate("max", Column(reference))
        self.group, self.ends = plan_plain_group(below, keys, items), list(ends.values())
        by_key = {name: carried[column] for name, column in plain.items() if column in carried}
        return self.group, by_key

    def _project(self, node: Project, late: Collection[str]) -> tuple[Node, _Carried]:
        names = {i.name for name, i in node.items if isinstance(i, Column) and name in late}
        used = {
            c
            for name, item in node.items
            if not isinstance(item, Column) or name not in late
            for c in item.columns()
        }
        below, under = self.below(node.input, names - used)
        if not under:
            return node, {}
        items, carried = [], {}
        for name, item in node.items:
            if isinstance(item, Column) and item.name in under:
                carried[name] = under[item.name]
            else:
                items.append((name, item))
        items += [(name, Column(name)) for name in _references(carried)]
        schema = _schema(node.schema, carried)
        return Project(below, tuple(items), schema), carried

    def _sort(self, node: Sort, late: Collection[str]) -> tuple[Node, _Carried]:
        if node.index:
            return node, {}
        used = {c for order in node.orders for c in order.by.columns()}
        used |= {column for column, name in node.outputs if name not in late}
        below, under = self.below(node.input, {c for c, _ in node.outputs} - used)
        carried = {name: under[column] for column, name in node.outputs if column in under}
        if not carried:
            return node, {}
        outputs = [(column, name) for column, name in node.outputs if column not in under]
        outputs += [(name, name) for name in _references(carried)]
        schema = _schema(node.schema, carried)
        return replace(node, input=below, outputs=tuple(outputs), schema=schema), carried

    def _unused(self, name: str) -> str:
        name = unused_name(f"{name} {len(self.tables)}", self._names)
        self._names.add(name)
        return name


def _is_string(data_type: pa.DataType) -> bool:
    return data_type in _STRINGS


def _references(carried: _Carried) -> list[str]:
    return list(dict.fromkeys(one.reference for one in carried.values()))


def _schema(schema: pa.Schema, carried: _Carried) -> pa.Schema:
    """The columns that stay, and then references."""
    fields = [field for field in schema if field.name not in carried]
    return pa.schema([*fields, *(_REFERENCE.with_name(name) for name in _references(carried))])


def _names_below(node: Node) -> set[str]:
    return {*node.schema.names}.union(*(_names_below(below) for below in inputs_of(node)))
