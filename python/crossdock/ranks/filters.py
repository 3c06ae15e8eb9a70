"""Filters before rows move: what no rank has a partner for need not travel.

Each rank enters the keys of its rows of one side of a join into a filter, the filters are put
together by OR, each rank a part of them, and all get the whole; rows of the other side that it does
not pass stay behind, where the join drops them anyway (a semi-join, as Bernstein and Chiu have it,
1981; with a filter in the place of the keys, Mackert and Lohman, 1986). Of a table that is a Bloom
filter, and whether it pays is estimated: by what the filter and the rows weigh, and by the rows of
a sample that the first blocks of the filter pass, which are put together before the others. Of the
rows of a query that are no table yet it may be a bitmap over the range of an integer key, and an
estimate of the join says what it drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crossdock import _native
from crossdock.errors import public_errors
from crossdock.files.sources import ArrowSource
from crossdock.plan.nodes import Join, RankFilter, Scan
from crossdock.ranks import costs
from crossdock.ranks.members import Ranks
from crossdock.ranks.moves import Filtered
from crossdock.ranks.placement import Placed
from crossdock.ranks.spread import Spread
from crossdock.values.engine_types import engine_table
from crossdock.values.row_taking import filter_rows, table_bytes
from crossdock.values.type_checks import checking_engine

# Sides whose rows without a partner are no part of the result.
_DROPS = (frozenset(("inner", "semi", "right")), frozenset(("inner", "left", "semi", "anti")))
_RULE = "filter of keys"
_COSTS_MOST = 0.25  # of the bytes that would travel
_PASSES_MOST = 0.8  # of the rows
_PASSES_FEW = 0.25  # of a stream
_MANY_ROWS = 1 << 16  # of a stream, less of which is sooner a table than filtered
_BITMAP_BYTES = 3  # more than a Bloom filter for each row of a stream, which spares the row's hash
_SMALL_BYTES = 64 << 10  # a filter that is put together as a whole
_SAMPLED_PART = 64  # of larger ones, so many times less comes first
_SAMPLE_SLICES = 64
_SLICE_ROWS = 1024


def drops_rows(node: Join, side: int) -> bool:
    """Whether rows of this side that have no partner are no part of the result."""
    return node.options.filter != "off" and node.how in _DROPS[side]


def semi_filtered(
    ranks: Ranks, node: Join, tables: list[pa.Table], goes: list[bool]
) -> list[pa.Table]:
    """The rows of both sides, without those of one side that need not travel. `goes`: the sides
    whose rows do. Collective."""
    mine = [[table.num_rows, table_bytes(table)] for table in tables]
    sizes = ranks.agree("sizes of sides", mine)
    rows = [sum(size[side][0] for size in sizes) for side in (0, 1)]
    weights = [sum(size[side][1] for size in sizes) for side in (0, 1)]
    may = [side for side in (0, 1) if goes[side] and drops_rows(node, side) and rows[side]]
    if not may:
        return tables
    side = max(may, key=lambda number: weights[number])
    all_blocks = _native.filter_blocks(rows[1 - side])
    filter_bytes = 8 * all_blocks
    travelling = weights[side] * (ranks.size - 1) / ranks.size
    cost = 2 * filter_bytes * (ranks.size - 1)  # to where its parts are put together, and to all
    is_forced = node.options.filter == "bloom"
    if cost > _COSTS_MOST * travelling and not is_forced:
        return tables
    keys = [list(node.keys(number)) for number in (0, 1)]
    blocks = _entered(tables[1 - side].select(keys[1 - side]), all_blocks)
    begin = blocks if filter_bytes <= _SMALL_BYTES else blocks[: len(blocks) // _SAMPLED_PART]
    whole = _put_together(ranks, begin)
    share = _share_of(ranks, tables[side].select(keys[side]), all_blocks, whole)
    pays = share <= _PASSES_MOST and cost < (1 - share) * travelling
    if not pays and not is_forced:
        return tables
    if len(begin) < len(blocks):
        whole = np.concatenate((whole, _put_together(ranks, blocks[len(begin) :])))
    answers = _answers(tables[side].select(keys[side]), all_blocks, whole)
    kept = filter_rows(tables[side], pa.array(answers == 1))
    filtered = Filtered(
        keys[side],
        ("left", "right")[side],
        tables[side].num_rows,
        kept.num_rows,
        table_bytes(tables[side]) - table_bytes(kept),
        filter_bytes,
        share,
    )
    ranks.filters.append(filtered)
    return [kept if number == side else tables[number] for number in (0, 1)]


def is_worth_asking(node: Join, side: int, sizes: Sequence[Any], to_all: bool) -> bool:
    """Whether rows of `side`, a stream, may go by key behind a filter of the other side's keys, if
    it passes few enough: this is what all ranks know before they estimate that."""
    if not drops_rows(node, side) or _rows_of(sizes, side) < _MANY_ROWS:
        return False
    return not to_all or _spared_ns(sizes, 1 - side) > costs.STEPS_NS


def pays_before(side: int, sizes: Sequence[Any], share: float, to_all: bool) -> bool:
    """Whether they should, where the filter passes `share` of them. to_all: else all rows of the
    other side go to all ranks, each of which builds a table of them; if not, the stream goes by key
    anyway, all of it."""
    if not to_all:
        return share <= _PASSES_FEW
    part = share / len(sizes)
    moving_ns = costs.moved_ns(part * _rows_of(sizes, side), part * _bytes_of(sizes, side))
    return _spared_ns(sizes, 1 - side) > moving_ns + costs.STEPS_NS


def _rows_of(sizes: Sequence[Any], side: int) -> float:
    return float(sum(size[side][0] for size in sizes))


def _bytes_of(sizes: Sequence[Any], side: int) -> float:
    return float(sum(size[side][1] for size in sizes))


def _spared_ns(sizes: Sequence[Any], side: int) -> float:
    """What a rank spares that gets and builds its part of the rows of `side` and not all."""
    all_ns = costs.built_ns(_rows_of(sizes, side)) + costs.arrived_ns(_bytes_of(sizes, side))
    return all_ns * (1 - 1 / len(sizes))


def streamed(
    spread: Spread, node: Join, sides: Sequence[Placed], side: int, share: float
) -> pa.Table:
    """The rows of `side` that pass a filter of the keys of the other side, a table. Collective."""
    ranks, keys = spread.ranks, node.keys(side)
    other = sides[1 - side].node
    assert isinstance(other, Scan)
    assert isinstance(other.source, ArrowSource)
    table = other.source.data.select(list(node.keys(1 - side)))
    rows = spread.estimate(sides[side].node).rows or 0
    all_blocks, first_key = _form_of(ranks, node, table, rows)
    whole = _put_together(ranks, _entered(table, all_blocks, first_key))
    kept = spread.table(RankFilter(sides[side].node, keys, whole.tobytes(), first_key))
    name = ("left", "right")[side]
    size = 8 * all_blocks
    ranks.filters.append(Filtered(list(keys), name, None, kept.num_rows, 0, size, share))
    return kept


def _form_of(
    ranks: Ranks, node: Join, keys: pa.Table, stream_rows: float
) -> tuple[int, int | None]:
    """The blocks of a filter of these keys, and the first one where it is a bitmap."""
    mine: list[Any] = [keys.num_rows, stream_rows, None, None]
    if _may_be_bits(node):
        ends = pc.min_max(keys.column(0).cast(pa.int64()))
        mine[2:] = ends["min"].as_py(), ends["max"].as_py()
    said = ranks.agree("keys of a filter", mine)
    rows, stream_rows = sum(one[0] for one in said), max(one[1] for one in said)
    all_blocks = _native.filter_blocks(rows)
    ends = [(one[2], one[3]) for one in said if one[2] is not None]
    if not ends:
        return all_blocks, None
    first = min(end[0] for end in ends)
    bits = max(end[1] for end in ends) - first + 1
    more_bytes = bits / 8 - 8 * all_blocks
    if more_bytes > _BITMAP_BYTES * stream_rows:
        return all_blocks, None
    return -(-bits // 64), first


def _may_be_bits(node: Join) -> bool:
    """Whether both sides have one key, whose value is a number of 64 bits that equals that of the
    other side where the keys are equal."""
    if len(node.on) > 1 or node.options.null_equals_null:
        return False
    types = [
        side.schema.field(node.keys(number)[0]).type
        for number, side in enumerate((node.left, node.right))
    ]
    return all(pa.types.is_integer(one) and one != pa.uint64() for one in types)


def _entered(keys: pa.Table, all_blocks: int, first_key: int | None = None) -> NDArray[np.uint64]:
    """A filter of the keys of this rank."""
    columns = list(range(len(keys.schema.names)))
    with public_errors():
        blocks = _native.filter_keys(_native_table(keys), columns, all_blocks, first_key)
    return np.frombuffer(blocks, np.uint64)


def _put_together(ranks: Ranks, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The OR over all ranks: of few blocks each rank makes it of all; of more, that of a part, and
    all get all parts."""
    if 8 * len(blocks) <= ranks.eager_bytes // (2 * ranks.size):
        every, _ = ranks.eagerly(_table_of(blocks), _RULE)
        if every is not None:
            together: NDArray[np.uint64] = np.bitwise_or.reduce(
                [one.column(0).to_numpy() for one in every], axis=0
            )
            return together
    cuts = [len(blocks) * rank // ranks.size for rank in range(ranks.size + 1)]
    parts = [_table_of(blocks[cuts[rank] : cuts[rank + 1]]) for rank in range(ranks.size)]
    came = ranks.by_piece(parts, _RULE).column(0).to_numpy()
    local = np.bitwise_or.reduce(came.reshape(ranks.size, -1), axis=0)
    whole: NDArray[np.uint64] = ranks.to_all(_table_of(local), _RULE).column(0).to_numpy()
    return whole


def _share_of(ranks: Ranks, table: pa.Table, all_blocks: int, blocks: NDArray[np.uint64]) -> float:
    """The share of a sample of the rows of all ranks that pass; 1 if nothing is known of any."""
    rows = table.num_rows
    slices = min(_SAMPLE_SLICES, -(-rows // _SLICE_ROWS))
    pieces = [table.slice(rows * i // slices, _SLICE_ROWS) for i in range(slices)]
    answers = _answers(pa.concat_tables([table.slice(0, 0), *pieces]), all_blocks, blocks)
    counts = [int((answers != 2).sum()), int((answers == 1).sum())]
    known, passing = ranks.sums("rows that pass a filter", counts)
    return passing / known if known else 1.0


def _answers(table: pa.Table, all_blocks: int, blocks: NDArray[np.uint64]) -> NDArray[np.uint8]:
    columns = list(range(len(table.schema.names)))
    with public_errors():
        answers = _native.filter_rows(_native_table(table), columns, all_blocks, blocks)
    return np.frombuffer(answers, np.uint8)


def _native_table(table: pa.Table) -> _native.Table:
    with public_errors():
        return engine_table(checking_engine(), table)


def _table_of(blocks: NDArray[np.uint64]) -> pa.Table:
    return pa.table({"blocks": pa.array(blocks, pa.uint64())})
