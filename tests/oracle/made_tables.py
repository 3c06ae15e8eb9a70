"""Tables from codes: columns that draw from pools of values, cut into chunks in several ways."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise

import numpy as np
import pyarrow as pa
from value_pools import Pool, Random, column_of

CHUNKS = ["one", "sliced", "chunked", "empty"]


@dataclass(frozen=True)
class MadeColumn:
    """Row i holds pool[codes[i]], or null where nulls[i]."""

    name: str
    type_name: str
    pool: Pool
    codes: np.ndarray
    nulls: np.ndarray

    def piece(self, begin: int, end: int, padding: int, random: Random) -> pa.Array:
        """Rows [begin, end), as a slice of a longer array where there is padding."""
        count = end - begin + 2 * padding
        codes = random.integers(0, len(self.pool), count)
        nulls = random.random(count) < 0.5 * self.nulls.any()
        codes[padding : padding + end - begin] = self.codes[begin:end]
        nulls[padding : padding + end - begin] = self.nulls[begin:end]
        return column_of(self.pool, self.type_name, codes, nulls).slice(padding, end - begin)


def in_order(column: MadeColumn, order: np.ndarray) -> MadeColumn:
    """The column with its rows in another order."""
    return replace(column, codes=column.codes[order], nulls=column.nulls[order])


def cuts(chunks: str, rows: int, random: Random) -> list[tuple[int, int]]:
    """Where the chunks of a table begin and end."""
    if chunks in ("one", "sliced"):
        return [(0, rows)]
    places = sorted(int(place) for place in random.integers(0, rows + 1, 5))
    if chunks == "empty":
        places = sorted([0, 0, *places, places[0], rows, rows])
    bounds = [0, *places, rows]
    return list(pairwise(bounds))


def assemble(chunks: str, columns: Sequence[MadeColumn], rows: int, random: Random) -> pa.Table:
    """The first rows of the columns: in one chunk, one slice of longer arrays, some slices, or
    slices of which some are empty."""
    batches = []
    for begin, end in cuts(chunks, rows, random):
        arrays = []
        for column in columns:
            padding = 0 if chunks == "one" else int(random.integers(1, 20))
            arrays.append(column.piece(begin, end, padding, random))
        batches.append(pa.record_batch(arrays, names=[column.name for column in columns]))
    return pa.Table.from_batches(batches)
