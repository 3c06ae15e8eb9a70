"""Lists: made of the rows of groups, and taken apart again. The engine has no lists; it groups and
sorts, and the lists are cut from its columns with pyarrow, without copying a value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.aggregates import count
from crossdock.expressions.expression import Column
from crossdock.expressions.orders import Order
from crossdock.files.sources import ArrowSource
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import (
    Filter,
    FrameList,
    FrameLists,
    GroupBy,
    GroupLists,
    ListItem,
    Node,
    Scan,
    Sort,
    Unnest,
)
from crossdock.values.row_taking import Blocks, take

_LISTED_ROWS = 1 << 22  # of all lists of a batch, but for one row with more
Run = Callable[[Node], pa.Table]  # gives the rows of a node


def grouped_lists(node: GroupLists, run: Run) -> pa.Table:
    """The rows of `node` as a table, by ascending keys. Groups and rows are sorted by the same
    keys, so that the lists of groups lie one after the other. Errors: those of running."""
    source = ArrowSource(run(node.input), "rows of lists")
    rows = Scan(source, tuple(source.schema.names), source.schema)
    taken = {*node.schema.names, *source.schema.names}
    counts = {}
    for each in node.lists:
        counts[each.name] = unused_name(f"rows of {each.name}", taken)
        taken.add(counts[each.name])
    groups = run(_groups(node, rows, counts))
    columns = []
    for field in node.schema:
        name = field.name
        if name in counts:
            item = next(each for each in node.lists if each.name == name)
            values = run(_values(node, rows, item)).column(item.column)
            columns.append(_lists(values, groups.column(counts[name]), field.type))
        else:
            columns.append(groups.column(name))
    return pa.Table.from_arrays(columns, schema=node.schema)


def _groups(node: GroupLists, rows: Scan, counts: dict[str, str]) -> Node:
    items = list(node.items)
    for each in node.lists:
        kept = count() if not each.condition else count().where(Column(each.condition))
        items.append((counts[each.name], kept))
    fields = [node.schema.field(name) for name in (*node.keys, *(name for name, _ in node.items))]
    fields += [pa.field(name, pa.int64(), nullable=False) for name in counts.values()]
    schema = pa.schema(fields)
    keys = tuple((name, Column(name)) for name in node.keys)
    grouped = GroupBy(rows, keys, tuple(items), schema)
    if not keys:
        return grouped
    return Sort(grouped, _ascending(node), tuple((n, n) for n in schema.names), schema)


def _values(node: GroupLists, rows: Scan, item: ListItem) -> Node:
    kept = Filter(rows, Column(item.condition)) if item.condition else rows
    orders = (*_ascending(node), *item.orders)
    schema = pa.schema([rows.schema.field(item.column)])
    output = ((item.column, item.column),)
    if not orders:
        return kept
    return Sort(kept, orders, output, schema, stable=True)


def _ascending(node: GroupLists) -> tuple[Order, ...]:
    return tuple(Order(Column(name)) for name in node.keys)


def _lists(values: pa.ChunkedArray, counts: pa.ChunkedArray, data_type: pa.DataType) -> pa.Array:
    """Consecutive runs of `values` as lists; NULL where a run has no row."""
    # Without a chunk, pyarrow makes no array of every type.
    values = values.combine_chunks() if values.num_chunks else pa.nulls(0, values.type)
    if isinstance(counts, pa.ChunkedArray):
        counts = counts.combine_chunks()
    ends = pc.cumulative_sum(counts)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends])
    # An offset that is NULL makes the list before it NULL.
    is_empty = pa.concat_arrays([pc.equal(counts, 0), pa.array([False])])
    offsets = pc.if_else(is_empty, pa.scalar(None, pa.int64()), offsets)
    return pa.LargeListArray.from_arrays(offsets, values).cast(data_type)


def lists_of_frames(node: FrameLists, rows: pa.Table) -> Iterator[pa.RecordBatch]:
    """The batches of `node` from the rows of its input, in the order of the window."""
    values = {each.column: Blocks(rows.column(each.column)) for each in node.lists}
    ends = {each.name: _frame_ends(rows, each) for each in node.lists}
    sizes = sum(end - begin for begin, end in ends.values())
    for first, length in _pieces(np.cumsum(sizes)):
        piece = rows.slice(first, length)
        columns = list(piece.columns)
        for each, field in zip(node.lists, list(node.schema)[len(columns) :], strict=True):
            begin, end = (side[first : first + length] for side in ends[each.name])
            columns.append(_frame_lists(values[each.column], begin, end, each, field.type))
        yield from pa.Table.from_arrays(columns, schema=node.schema).to_batches()


def _frame_ends(rows: pa.Table, each: FrameList) -> tuple[np.ndarray, np.ndarray]:
    begin, end = (rows.column(name).to_numpy() for name in (each.begin, each.end))
    return begin, end


def _pieces(listed: np.ndarray) -> Iterator[tuple[int, int]]:
    """First rows and numbers of rows, by the number of listed rows up to each row."""
    first, before = 0, 0
    while first < len(listed):
        behind = int(np.searchsorted(listed, before + _LISTED_ROWS, "right"))
        behind = max(behind, first + 1)
        yield first, behind - first
        first, before = behind, int(listed[behind - 1])


def _frame_lists(
    values: Blocks, begin: np.ndarray, end: np.ndarray, each: FrameList, data_type: pa.DataType
) -> pa.Array:
    counts = end - begin
    ends = np.concatenate([[0], np.cumsum(counts)])
    rows = np.arange(ends[-1]) + np.repeat(begin - ends[:-1], counts)
    taken = values.take(pa.array(rows, pa.uint64()))
    if each.ignore_nulls:
        is_valid = pc.is_valid(taken)
        ends = np.concatenate([[0], np.cumsum(is_valid.to_numpy(zero_copy_only=False))])[ends]
        taken = taken.filter(is_valid)
    is_empty = pa.array(ends[1:] == ends[:-1])
    lists = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), taken, mask=is_empty)
    return lists.cast(data_type)


def unnested(node: Unnest, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The batches of `node` from those of its input."""
    unnest = _side_by_side if len(node.columns) > 1 else _of_one
    for batch in batches:
        lists = [batch.column(name) for name in node.columns]
        if node.keeps_empty:
            lists[0] = _with_nulls(lists[0])
        rows, elements = unnest(lists)
        elements_of = dict(zip(node.columns, elements, strict=True))
        columns = [
            elements_of[name] if name in elements_of else take(column, rows)
            for name, column in zip(batch.schema.names, batch.columns, strict=True)
        ]
        if len(rows):
            yield pa.RecordBatch.from_arrays(columns, schema=node.schema)


def _of_one(lists: list[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
    """The row that each element is of, and the elements."""
    return pc.list_parent_indices(lists[0]), [pc.list_flatten(lists[0])]


def _side_by_side(lists: list[pa.Array]) -> tuple[pa.Array, list[pa.Array]]:
    """The same of several lists in each row, the shorter ones with NULL behind them."""
    parents = [pc.list_parent_indices(each).to_numpy() for each in lists]
    lengths = [np.bincount(rows, minlength=len(lists[0])) for rows in parents]
    longest = np.maximum.reduce(lengths)
    places = np.arange(longest.sum()) - np.repeat(np.cumsum(longest) - longest, longest)
    elements = []
    for each, length in zip(lists, lengths, strict=True):
        is_there = places < np.repeat(length, longest)
        begins = np.repeat(np.cumsum(length) - length, longest)
        elements.append(take(pc.list_flatten(each), pa.array(begins + places, mask=~is_there)))
    return pa.array(np.repeat(np.arange(len(longest)), longest)), elements


def _with_nulls(lists: pa.Array) -> pa.Array:
    """Lists of one NULL for those that are NULL or empty; of a fixed size, they become others."""
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_field))
    is_empty = pc.fill_null(pc.equal(pc.list_value_length(lists), 0), True)
    of_null = pa.array([[None]], lists.type)[0]
    return pc.if_else(is_empty, of_null, lists)
