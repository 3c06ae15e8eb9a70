"""What Python computes of a column value by value, once for each value that comes again."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from crossdock.values.arrow_kinds import ArrayLike


def once_per_value(column: ArrayLike, compute: Callable[[pa.Array], pa.Array]) -> pa.Array:
    """`compute` of strings or integers, and NULL of NULL: of the distinct values where they are
    fewer than half of the rows, and else of all rows."""
    whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    encoded = whole.dictionary_encode()
    if 2 * len(encoded.dictionary) >= len(whole):
        return compute(whole)
    return compute(encoded.dictionary).take(encoded.indices)
