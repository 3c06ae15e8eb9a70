"""Joins whose keys are not even: rows go so that no rank has many more than others.

A sample of each side says how many rows fall to each of 65,536 classes of keys, by the hash that
routes them. A class with more than a quarter of a rank's part of a side is heavy. Its rows stay
where they are, and those of the other side that could match them go to all ranks (Xu et al., PRPD,
2008; Roediger et al., Flow-Join, 2016), where each of these may be in several: the right side of
inner, left, semi and anti joins, the left one of inner and right joins. What is left goes by
partitions, the largest first and each to the rank that has least.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crossdock import _native
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import Join
from crossdock.ranks.members import Ranks
from crossdock.ranks.placement import Placed, scan_of
from crossdock.ranks.spread import Spread
from crossdock.values.engine_types import to_engine
from crossdock.values.row_taking import filter_rows

_CLASSES = 1 << 16
_SAMPLE_SLICES = 64
_SLICE_ROWS = 256
_ROWS_PER_RANK = 64  # below, no rank has so much that evening out would pay
_UNEVEN = 1.15  # the most in one rank over the mean from which rows are evened out
_HEAVY = 0.25  # of a rank's part of a side
_PARTITIONS_MOST = 1024  # what ranks tell each other of a sample is some 10 KB of each


@dataclass(frozen=True)
class Skew:
    """Where the rows of each class go; classes whose rows of a side stay where they are, while
    those of the other side go to all ranks."""

    owners: Any  # class -> rank
    stays: tuple[frozenset[int], frozenset[int]]  # by side


def plan_of(spread: Spread, node: Join, tables: tuple[pa.Table, pa.Table]) -> Skew | None:
    """How to even out a join of these rows, or None where rows by key are even enough.
    Collective."""
    ranks = spread.ranks
    if not is_seen(ranks):
        return None
    partitions = len(ranks.even)
    mine = [_seen(table, node.keys(side), ranks.size) for side, table in enumerate(tables)]
    every = ranks.agree("a sample of keys", mine)
    totals = [sum(one[side]["rows"] for one in every) for side in (0, 1)]
    if sum(totals) < _ROWS_PER_RANK * ranks.size:
        return None
    loads = [0.0] * partitions
    heavy: list[dict[int, float]] = [{}, {}]
    for one in every:
        for side in (0, 1):
            for number, rows in enumerate(one[side]["partitions"]):
                loads[number] += rows
            for key_class, rows in one[side]["classes"]:
                heavy[side][key_class] = heavy[side].get(key_class, 0.0) + rows
    if _is_even(ranks, loads):
        return None
    stays = _staying(node, heavy, totals, ranks.size)
    for side in (0, 1):
        for key_class in stays[side]:
            for rows in (heavy[0].get(key_class, 0.0), heavy[1].get(key_class, 0.0)):
                loads[key_class * partitions // _CLASSES] -= rows
    owners = _dealt(loads, ranks.size)
    numbers = [owners[key_class * partitions // _CLASSES] for key_class in range(_CLASSES)]
    return Skew(pa.array(numbers, pa.uint16()), stays)


def is_seen(ranks: Ranks) -> bool:
    """Whether samples are looked at."""
    return 1 < ranks.size <= _PARTITIONS_MOST // 16


def partitions_of(table: pa.Table, keys: tuple[str, ...], ranks: int) -> list[int]:
    """What this rank's rows tell `is_even`, from a sample."""
    if table.num_rows == 0:
        return []
    counts, weight = _counted(table, keys)
    return _loads(counts, ranks, weight)


def is_even(ranks: Ranks, every: list[list[int]]) -> bool:
    """Whether rows by key are about as many in each rank. `every`: partitions_of in all ranks."""
    loads = [0.0] * len(ranks.even)
    for one in every:
        for number, rows in enumerate(one):
            loads[number] += rows
    return _is_even(ranks, loads)


def moved(
    spread: Spread, table: pa.Table, keys: tuple[str, ...], skew: Skew, side: int
) -> pa.Table:
    """The rows of one side that the plan gives this rank. Collective."""
    classes = _classes(table, keys)
    to_all = _is_in(classes, skew.stays[1 - side])
    staying = _is_in(classes, skew.stays[side])
    own_rank = pa.scalar(spread.ranks.rank, pa.uint16())
    owners = pc.if_else(staying, own_rank, skew.owners.take(classes))
    column = unused_name("to", table.schema.names)
    addressed = table.append_column(pa.field(column, pa.uint16(), nullable=False), owners)
    moved_rows = spread.ranks.by_number(filter_rows(addressed, pc.invert(to_all)), column)
    if not skew.stays[1 - side]:
        return moved_rows
    return pa.concat_tables([moved_rows, spread.ranks.to_all(filter_rows(table, to_all))])


def settled(side: Placed, table: pa.Table) -> Placed:
    """Rows that lie so that pairs meet, and not so that all rows of a key do."""
    return replace(side, node=scan_of(table), keys=(), assignment=(), in_first=False)


def _is_even(ranks: Ranks, loads: list[float]) -> bool:
    by_rank = [0.0] * ranks.size
    for number, rows in enumerate(loads):
        by_rank[ranks.even[number]] += rows
    return max(by_rank) <= _UNEVEN * sum(by_rank) / ranks.size


def _seen(table: pa.Table, keys: tuple[str, ...], ranks: int) -> dict[str, Any]:
    """The rows of a side in this rank: by partition, and in the classes that have most, from a
    sample. Rows without a NULL in a key are looked at."""
    seen: dict[str, Any] = {"rows": table.num_rows, "partitions": [], "classes": []}
    if table.num_rows == 0:
        return seen
    counts, weight = _counted(table, keys)
    seen["partitions"] = _loads(counts, ranks, weight)
    several = np.flatnonzero(counts > 1)
    most = several[np.argsort(counts[several])[-8 * ranks :]]
    rows = np.rint(counts[most] * weight).astype(np.int64)
    seen["classes"] = list(zip(most.tolist(), rows.tolist(), strict=True))
    return seen


def _counted(table: pa.Table, keys: tuple[str, ...]) -> tuple[NDArray[np.int64], float]:
    """The rows of a sample by class, and the rows of the table that each stands for."""
    classes = _classes(_sample(table), keys).to_numpy()
    return np.bincount(classes, minlength=_CLASSES), table.num_rows / len(classes)


def _sample(table: pa.Table) -> pa.Table:
    rows = table.num_rows
    slices = min(_SAMPLE_SLICES, -(-rows // _SLICE_ROWS))
    return pa.concat_tables([table.slice(rows * i // slices, _SLICE_ROWS) for i in range(slices)])


def _loads(counts: NDArray[np.int64], ranks: int, weight: float) -> list[int]:
    """Rows by partition."""
    partitions = 1
    while partitions < 16 * ranks:
        partitions *= 2
    sums = counts.reshape(partitions, -1).sum(axis=1)
    loads: list[int] = np.rint(sums * weight).astype(np.int64).tolist()
    return loads


def _staying(
    node: Join, heavy: list[dict[int, float]], totals: list[int], ranks: int
) -> tuple[frozenset[int], frozenset[int]]:
    """The heavy classes by the side whose rows stay. The other side's must be the fewer, and be
    allowed in several ranks."""
    may_stay = (node.how in ("inner", "left", "semi", "anti"), node.how in ("inner", "right"))
    staying: tuple[set[int], set[int]] = (set(), set())
    for side in (0, 1):
        least = _HEAVY * totals[side] / ranks
        for key_class, rows in heavy[side].items():
            if may_stay[side] and rows > least and rows > heavy[1 - side].get(key_class, 0.0):
                staying[side].add(key_class)
    return frozenset(staying[0]), frozenset(staying[1] - staying[0])


def _dealt(loads: list[float], ranks: int) -> list[int]:
    """Partition -> rank: the largest first, each to the rank that has least."""
    have = [(0.0, rank) for rank in range(ranks)]
    owners = [0] * len(loads)
    for number in sorted(range(len(loads)), key=lambda at: -loads[at]):
        load, rank = min(have)
        owners[number] = rank
        # A partition that the sample did not see counts a little, so that none gets all of them.
        have[rank] = (load + max(loads[number], 0.0) + 1.0, rank)
    return owners


def _classes(table: pa.Table, keys: tuple[str, ...]) -> pa.Array:
    """The class of each row's key, as uint16."""
    parts = []
    for batch in to_engine(table.select(list(keys))).combine_chunks().to_batches():
        numbers = _native.row_partitions(batch, list(range(len(keys))), _CLASSES)
        buffers = [None, pa.py_buffer(numbers)]
        parts.append(pa.Array.from_buffers(pa.uint16(), batch.num_rows, buffers))
    return pa.concat_arrays(parts) if parts else pa.array([], pa.uint16())


def _is_in(classes: pa.Array, numbers: frozenset[int]) -> pa.Array:
    return pc.is_in(classes, pa.array(sorted(numbers), pa.uint16()))
