"""What is compared between engines before a time of theirs counts.

A fingerprint is small, so that results of gigabytes need not be kept: whole numbers are compared
exactly, floats and strings where the work asks for them. 64-bit sums wrap.
"""

from __future__ import annotations

import math
import zlib

import numpy as np
import numpy.typing as npt
import pyarrow as pa

Fingerprint = tuple[int | float | str, ...]
Words = npt.NDArray[np.uint64]

# Polars multiplies decimals at the scale of its operands and rounds, the others widen the scale;
# DataFusion rounds means of decimals to six places.
TOLERANCE = 1e-6


class WrongResultError(Exception):
    """Two engines disagree; no time of theirs means anything."""


def same(one: Fingerprint, other: Fingerprint) -> bool:
    """Whole numbers and strings exactly; floats within `TOLERANCE`, relative or absolute."""
    return len(one) == len(other) and all(
        math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
        if isinstance(a, float) or isinstance(b, float)
        else a == b
        for a, b in zip(one, other, strict=True)
    )


def is_text(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)
    return any(kind(data_type) for kind in kinds)


def low_words(column: pa.ChunkedArray) -> Words:
    """The low 64 bits of decimals: their whole value, since no sum here needs more."""
    wide = column.cast(pa.decimal128(38, column.type.scale))
    parts = [
        np.frombuffer(chunk.buffers()[1], dtype=np.uint64)[2 * chunk.offset :][: 2 * len(chunk) : 2]
        for chunk in wide.chunks
        if len(chunk)
    ]
    return np.concatenate(parts) if parts else np.zeros(0, dtype=np.uint64)


def as_words(column: pa.ChunkedArray) -> Words:
    """One 64-bit word per value: a number as it is, a text by the checksum of its bytes."""
    if pa.types.is_decimal(column.type):
        return low_words(column)
    if not is_text(column.type):
        numbers = column.cast(pa.int32()) if pa.types.is_date32(column.type) else column
        words: Words = numbers.to_numpy().astype(np.int64).view(np.uint64)
        return words
    strings = column.cast(pa.large_string()).combine_chunks().dictionary_encode()
    checksums = [zlib.crc32(text.encode()) for text in strings.dictionary.to_pylist()]
    by_code: Words = np.array(checksums, dtype=np.uint64)
    codes: npt.NDArray[np.intp] = strings.indices.to_numpy()
    return by_code[codes]


def of_scalars(result: pa.Table) -> Fingerprint:
    """The first row, as whole numbers; for ungrouped aggregates."""
    return tuple(int(column[0].as_py() or 0) for column in result.columns)


def of_rows(result: pa.Table) -> Fingerprint:
    """Equal for equal rows, whatever their order and the types of the engine's sums.

    Row count, the sum of every column, and the sum over the rows of the product of the columns'
    (odd) words, so a value beside a wrong key does not go unseen. All modulo 2**64.
    """
    product = np.ones(result.num_rows, dtype=np.uint64)
    sums = []
    for column in result.columns:
        words = as_words(column)
        sums.append(int(words.sum(dtype=np.uint64)))
        product *= words * np.uint64(2) + np.uint64(1)
    return (result.num_rows, *sums, int(product.sum(dtype=np.uint64)))


def of_sequence(column: pa.ChunkedArray) -> Fingerprint:
    """Checksum of the values in their order; of strings: of all bytes, and of all lengths."""
    if not is_text(column.type):
        return (zlib.crc32(np.ascontiguousarray(as_words(column))),)
    bytes_sum, lengths_sum = 0, 0
    for chunk in column.cast(pa.large_string()).chunks:
        offsets = np.frombuffer(chunk.buffers()[1], dtype=np.int64)
        offsets = offsets[chunk.offset : chunk.offset + len(chunk) + 1]
        lengths_sum = zlib.crc32(np.diff(offsets), lengths_sum)
        if len(chunk) and chunk.buffers()[2] is not None:
            values = np.frombuffer(chunk.buffers()[2], dtype=np.uint8)
            bytes_sum = zlib.crc32(values[offsets[0] : offsets[-1]], bytes_sum)
    return (len(column), bytes_sum, lengths_sum)


def of_groups(result: pa.Table, keys: list[str]) -> Fingerprint:
    """Every value of a small result, rows in the order of their keys, decimals as floats."""
    strings = result.select(keys).cast(pa.schema([(key, pa.string()) for key in keys]))
    others = [name for name in result.column_names if name not in keys]
    rows = zip(*(strings[key].to_pylist() for key in keys), strict=True)
    order = sorted(range(result.num_rows), key=list(rows).__getitem__)
    columns = [strings[key] for key in keys] + [result[name] for name in others]
    values = [column.to_pylist() for column in columns]
    return tuple(
        value if isinstance(value, int | str) else float(value)
        for row in order
        for value in (column[row] for column in values)
    )
