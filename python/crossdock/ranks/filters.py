"""Filters before rows move: what no rank has a partner for need not travel.

Each rank enters the keys of its rows of one side of a join into a Bloom filter, the filters are put
together by OR, each rank a part of them, and all get the whole; rows of the other side that it does
not pass stay behind, where the join drops them anyway (a semi-join, as Bernstein and Chiu have it,
1981; with a filter in the place of the keys, Mackert and Lohman, 1986). Whether that pays is
estimated: by what the filter and the rows weigh, and by the rows of a sample that the first blocks
of the filter pass, which are put together before the others.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from crossdock import _native
from crossdock.errors import public_errors
from crossdock.files.sources import ArrowSource
from crossdock.plan.nodes import Join, RankFilter, Scan
from crossdock.ranks.members import Ranks
from crossdock.ranks.moves import Filtered
from crossdock.ranks.placement import Placed
from crossdock.ranks.spread import Spread
from crossdock.values.engine_types import engine_table
from crossdock.values.row_taking import filter_rows, table_bytes

# Sides whose rows without a partner are no part of the result.
_DROPS = (frozenset(("inner", "semi", "right")), frozenset(("inner", "left", "semi", "anti")))
_RULE = "filter of keys"
_COSTS_MOST = 0.25  # of the bytes that would travel
_PASSES_MOST = 0.8  # of the rows
_PASSES_FEW = 0.25  # of a stream
_MANY_KEYS = 1 << 16  # whose table is larger than the caches next to a core
_BUILD_COST = 3  # of a row of a build side, in tests of a row of a stream
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
    block_bits = _native.filter_block_bits(rows[1 - side])
    filter_bytes = 8 << block_bits
    travelling = weights[side] * (ranks.size - 1) / ranks.size
    cost = 2 * filter_bytes * (ranks.size - 1)  # to where its parts are put together, and to all
    is_forced = node.options.filter == "bloom"
    if cost > _COSTS_MOST * travelling and not is_forced:
        return tables
    keys = [list(node.keys(number)) for number in (0, 1)]
    blocks = _entered(tables[1 - side].select(keys[1 - side]), block_bits)
    begin = blocks if filter_bytes <= _SMALL_BYTES else blocks[: len(blocks) // _SAMPLED_PART]
    whole = _put_together(ranks, begin)
    share = _share_of(ranks, tables[side].select(keys[side]), block_bits, whole)
    pays = share <= _PASSES_MOST and cost < (1 - share) * travelling
    if not pays and not is_forced:
        return tables
    if len(begin) < len(blocks):
        whole = np.concatenate((whole, _put_together(ranks, blocks[len(begin) :])))
    answers = _answers(tables[side].select(keys[side]), block_bits, whole)
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


def pays_before(node: Join, side: int, sizes: Sequence[Any]) -> bool:
    """Whether the rows of `side`, a stream, had better go by key behind a filter of the other
    side's keys, where it passes few (`passes_few`), than all rows of the other side to all ranks:
    what all of these would build again costs more than testing the stream."""
    keys, rows = (sum(size[number][0] for size in sizes) for number in (1 - side, side))
    is_large = keys >= _MANY_KEYS and _BUILD_COST * keys * (len(sizes) - 1) > rows
    return bool(is_large and drops_rows(node, side))


def passes_few(share: float) -> bool:
    return share <= _PASSES_FEW


def streamed(
    spread: Spread, node: Join, sides: Sequence[Placed], side: int, share: float
) -> pa.Table:
    """The rows of `side` that pass a filter of the keys of the other side, a table. Collective."""
    ranks, keys = spread.ranks, node.keys(side)
    other = sides[1 - side].node
    assert isinstance(other, Scan)
    assert isinstance(other.source, ArrowSource)
    table = other.source.data.select(list(node.keys(1 - side)))
    rows = ranks.sums("keys of a filter", [table.num_rows])[0]
    block_bits = _native.filter_block_bits(rows)
    whole = _put_together(ranks, _entered(table, block_bits))
    kept = spread.table(RankFilter(sides[side].node, keys, whole.tobytes()))
    name = ("left", "right")[side]
    size = 8 << block_bits
    ranks.filters.append(Filtered(list(keys), name, None, kept.num_rows, 0, size, share))
    return kept


def _entered(keys: pa.Table, block_bits: int) -> NDArray[np.uint64]:
    """A filter of the keys of this rank."""
    columns = list(range(len(keys.schema.names)))
    with public_errors():
        blocks = _native.filter_keys(_native_table(keys), columns, block_bits)
    return np.frombuffer(blocks, np.uint64)


def _put_together(ranks: Ranks, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The OR over all ranks: each rank makes that of a part, and all get all parts."""
    cuts = [len(blocks) * rank // ranks.size for rank in range(ranks.size + 1)]
    parts = [_table_of(blocks[cuts[rank] : cuts[rank + 1]]) for rank in range(ranks.size)]
    came = ranks.by_piece(parts, _RULE).column(0).to_numpy()
    local = np.bitwise_or.reduce(came.reshape(ranks.size, -1), axis=0)
    whole: NDArray[np.uint64] = ranks.to_all(_table_of(local), _RULE).column(0).to_numpy()
    return whole


def _share_of(ranks: Ranks, table: pa.Table, block_bits: int, blocks: NDArray[np.uint64]) -> float:
    """The share of a sample of the rows of all ranks that pass; 1 if nothing is known of any."""
    rows = table.num_rows
    slices = min(_SAMPLE_SLICES, -(-rows // _SLICE_ROWS))
    pieces = [table.slice(rows * i // slices, _SLICE_ROWS) for i in range(slices)]
    answers = _answers(pa.concat_tables([table.slice(0, 0), *pieces]), block_bits, blocks)
    counts = [int((answers != 2).sum()), int((answers == 1).sum())]
    known, passing = ranks.sums("rows that pass a filter", counts)
    return passing / known if known else 1.0


def _answers(table: pa.Table, block_bits: int, blocks: NDArray[np.uint64]) -> NDArray[np.uint8]:
    columns = list(range(len(table.schema.names)))
    with public_errors():
        answers = _native.filter_rows(_native_table(table), columns, block_bits, blocks)
    return np.frombuffer(answers, np.uint8)


def _native_table(table: pa.Table) -> _native.Table:
    with public_errors():
        return engine_table(_native.Engine(1, 0), table)


def _table_of(blocks: NDArray[np.uint64]) -> pa.Table:
    return pa.table({"blocks": pa.array(blocks, pa.uint64())})
