"""Filters before rows move: what no rank has a partner for need not travel.

Each rank enters the keys of its rows of one side of a join into a filter, the filters are put
together by OR, each rank a part of them, and all get the whole; rows of the other side that it does
not pass stay behind, where the join drops them anyway (a semi-join, as Bernstein and Chiu have it,
1981; with a filter in the place of the keys, Mackert and Lohman, 1986). It is a bitmap over the
range of an integer key where that is not much larger than a Bloom filter. Of the rows of a table
whether it pays is estimated: by what the filter and the rows weigh, and by the rows of a sample
that it passes, or, of a large one, the first blocks of a Bloom filter, which are put together
before. Of rows that are no table yet an estimate of the join says what it drops.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
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
_AT_ONCE_BYTES = 384 << 10  # that a rank gets of others, which take no longer than a second step
_SAMPLED_PART = 64  # of larger ones, so many times less comes first
_SAMPLE_SLICES = 64
_SLICE_ROWS = 1024


@dataclass(frozen=True)
class Form:
    """A filter: blocks of 64 bits, as C++'s RowFilter has them; of a bitmap, its first key."""

    blocks: int
    first_key: int | None = None

    @property
    def bytes(self) -> int:
        return 8 * self.blocks


def drops_rows(node: Join, side: int) -> bool:
    """Whether rows of this side that have no partner are no part of the result."""
    return node.options.filter != "off" and node.how in _DROPS[side]


def semi_filtered(
    ranks: Ranks, node: Join, tables: list[pa.Table], goes: list[bool]
) -> list[pa.Table]:
    """The rows of both sides, without those of one side that need not travel. `goes`: the sides
    whose rows do. Collective."""
    sizes = ranks.agree("sizes of sides", _sizes(node, tables, goes))
    rows = [sum(size[side][0] for size in sizes) for side in (0, 1)]
    weights = [sum(size[side][1] for size in sizes) for side in (0, 1)]
    may = [side for side in (0, 1) if goes[side] and drops_rows(node, side) and rows[side]]
    if not may:
        return tables
    side = max(may, key=lambda number: weights[number])
    ends = [size[1 - side][2] for size in sizes]
    form = _form_of(rows[1 - side], ends, rows[side] / ranks.size)
    travelling = weights[side] * (ranks.size - 1) / ranks.size
    cost = 2 * form.bytes * (ranks.size - 1)  # to where its parts are put together, and to all
    is_forced = node.options.filter == "bloom"
    if cost > _COSTS_MOST * travelling and not is_forced:
        return tables
    keys = [tables[number].select(list(node.keys(number))) for number in (0, 1)]
    is_whole = form.bytes <= _SMALL_BYTES or _goes_at_once(ranks, form.blocks)
    first = form if is_whole else _form_of(rows[1 - side], [None], 0)
    is_small = is_whole or first.bytes <= _SMALL_BYTES
    blocks = first.blocks if is_small else first.blocks // _SAMPLED_PART
    filter_blocks = _put_together(ranks, _entered(keys[1 - side], first, blocks))
    share = _share_of(ranks, keys[side], first, filter_blocks)
    pays = share <= _PASSES_MOST and cost < (1 - share) * travelling
    if not pays and not is_forced:
        return tables
    if not is_whole:
        filter_blocks = _put_together(ranks, _entered(keys[1 - side], form, form.blocks))
    answers = _answers(keys[side], form, filter_blocks)
    kept = filter_rows(tables[side], pa.array(answers == 1))
    filtered = Filtered(
        list(node.keys(side)),
        ("left", "right")[side],
        tables[side].num_rows,
        kept.num_rows,
        table_bytes(tables[side]) - table_bytes(kept),
        form.bytes,
        share,
    )
    ranks.filters.append(filtered)
    return [kept if number == side else tables[number] for number in (0, 1)]


def _sizes(node: Join, tables: list[pa.Table], goes: list[bool]) -> list[list[Any]]:
    """Of each side the rows and bytes of this rank, and the ends of its keys if a bitmap of them
    may be what the other side is filtered by."""
    weights = [table_bytes(table) for table in tables]
    sizes: list[list[Any]] = []
    for side, table in enumerate(tables):
        other = 1 - side
        is_filter = goes[other] and drops_rows(node, other) and weights[side] <= weights[other]
        ends = _ends(table, node.keys(side)[0]) if is_filter and _may_be_bits(node) else None
        sizes.append([table.num_rows, weights[side], ends])
    return sizes


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
    ends = _ends(table, table.schema.names[0]) if _may_be_bits(node) else None
    mine = [table.num_rows, spread.estimate(sides[side].node).rows or 0, ends]
    said = ranks.agree("keys of a filter", mine)
    stream_rows = max(one[1] for one in said)
    form = _form_of(sum(one[0] for one in said), [one[2] for one in said], stream_rows)
    whole = _put_together(ranks, _entered(table, form, form.blocks))
    kept = spread.table(RankFilter(sides[side].node, keys, whole.tobytes(), form.first_key))
    name = ("left", "right")[side]
    ranks.filters.append(Filtered(list(keys), name, None, kept.num_rows, 0, form.bytes, share))
    return kept


def _form_of(rows: int, ends: Sequence[list[int] | None], stream_rows: float) -> Form:
    """That of so many keys. ends: those of the keys of each rank, which may have none; None: not
    known. stream_rows: of a rank, that are tested."""
    bloom = Form(_native.filter_blocks(rows))
    known = [one for one in ends if one]
    if None in ends or not known:
        return bloom
    first = min(one[0] for one in known)
    bits = max(one[1] for one in known) - first + 1
    bitmap = Form(-(-bits // 64), first)
    return bloom if bitmap.bytes - bloom.bytes > _BITMAP_BYTES * stream_rows else bitmap


def _ends(table: pa.Table, key: str) -> list[int]:
    """The least and the greatest of the keys; [] if there is none."""
    ends = pc.min_max(table.column(key).cast(pa.int64()))
    least, greatest = ends["min"].as_py(), ends["max"].as_py()
    return [] if least is None else [least, greatest]


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


def _entered(keys: pa.Table, form: Form, blocks: int) -> NDArray[np.uint64]:
    """The first `blocks` of a filter of the keys of this rank."""
    columns = list(range(len(keys.schema.names)))
    with public_errors():
        entered = _native.filter_keys(
            _native_table(keys), columns, form.blocks, form.first_key, blocks
        )
    return np.frombuffer(entered, np.uint64)


def _goes_at_once(ranks: Ranks, blocks: int) -> bool:
    """Whether all ranks get so many blocks of each: more bytes than by parts, and fewer steps."""
    others = 8 * blocks * (ranks.size - 1)
    return ranks.in_bulk and bool(ranks.eager_bytes) and others <= _AT_ONCE_BYTES


def _put_together(ranks: Ranks, blocks: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The OR over all ranks: of few blocks each rank makes it of all; of more, that of a part, and
    all get all parts."""
    is_few = 8 * len(blocks) <= ranks.eager_bytes // (2 * ranks.size)
    if is_few or _goes_at_once(ranks, len(blocks)):
        every = [np.frombuffer(one, np.uint64) for one in ranks.every(_RULE, blocks)]
        together: NDArray[np.uint64] = np.bitwise_or.reduce(every, axis=0)
        return together
    cuts = [len(blocks) * rank // ranks.size for rank in range(ranks.size + 1)]
    parts = [_table_of(blocks[cuts[rank] : cuts[rank + 1]]) for rank in range(ranks.size)]
    came = ranks.by_piece(parts, _RULE).column(0).to_numpy()
    local = np.bitwise_or.reduce(came.reshape(ranks.size, -1), axis=0)
    whole: NDArray[np.uint64] = ranks.to_all(_table_of(local), _RULE).column(0).to_numpy()
    return whole


def _share_of(ranks: Ranks, keys: pa.Table, form: Form, blocks: NDArray[np.uint64]) -> float:
    """The share of a sample of the rows of all ranks that pass; 1 if nothing is known of any."""
    rows = keys.num_rows
    slices = min(_SAMPLE_SLICES, -(-rows // _SLICE_ROWS))
    pieces = [keys.slice(rows * i // slices, _SLICE_ROWS) for i in range(slices)]
    answers = _answers(pa.concat_tables([keys.slice(0, 0), *pieces]), form, blocks)
    counts = [int((answers != 2).sum()), int((answers == 1).sum())]
    known, passing = ranks.sums("rows that pass a filter", counts)
    return passing / known if known else 1.0


def _answers(keys: pa.Table, form: Form, blocks: NDArray[np.uint64]) -> NDArray[np.uint8]:
    columns = list(range(len(keys.schema.names)))
    with public_errors():
        answers = _native.filter_rows(
            _native_table(keys), columns, form.blocks, form.first_key, blocks
        )
    return np.frombuffer(answers, np.uint8)


def _native_table(table: pa.Table) -> _native.Table:
    with public_errors():
        return engine_table(checking_engine(), table)


def _table_of(blocks: NDArray[np.uint64]) -> pa.Table:
    return pa.table({"blocks": pa.array(blocks, pa.uint64())})
