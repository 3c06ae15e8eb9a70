"""Comparison of results: columns in a form that compares bit by bit, and rows as multisets."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc


def plain(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """The column as an array whose values compare bit by bit: dictionaries decoded, views as
    offsets, floats as integers (any NaN alike), times as integers."""
    array = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    if isinstance(array, pa.ChunkedArray):
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    kind = array.type
    if pa.types.is_dictionary(kind):
        return array.cast(kind.value_type)
    if kind in (pa.string_view(), pa.binary_view(), pa.large_utf8(), pa.large_binary()):
        text = kind in (pa.string_view(), pa.large_utf8())
        return array.cast(pa.utf8() if text else pa.binary())
    if pa.types.is_floating(kind):
        bits = pa.int32() if kind == pa.float32() else pa.int64()
        valid = array.is_valid().to_numpy(zero_copy_only=False)
        nans = array.is_nan().fill_null(False).to_numpy(zero_copy_only=False)
        values = array.view(bits).fill_null(0).to_numpy().copy()
        values[nans] = -1
        return pa.array(values, mask=~valid)
    if pa.types.is_temporal(kind):
        return array.view(pa.int32() if kind.bit_width == 32 else pa.int64())
    return array


def plain_keys(column: pa.ChunkedArray | pa.Array) -> pa.Array:
    """As plain, and the zeros of floats alike: equal values are equal keys."""
    values = plain(column)
    if not pa.types.is_floating(column.type):
        return values
    negative_zero = pa.scalar(-(2 ** (column.type.bit_width - 1)), values.type)
    return pc.if_else(pc.equal(values, negative_zero), pa.scalar(0, values.type), values)


def taken(column: pa.ChunkedArray, rows: np.ndarray) -> pa.Array:
    """column[rows], null where the row is -1, in plain form."""
    return plain(column).take(pa.array(rows, mask=rows < 0))


def codes_of(one: pa.Array, other: pa.Array) -> tuple[np.ndarray, np.ndarray]:
    """Numbers for the values of two plain columns: equal values, and nulls, have equal numbers."""
    indices = _codes(one, other)
    return indices[: len(one)], indices[len(one) :]


def _codes(one: pa.Array, other: pa.Array) -> np.ndarray:
    assert one.type == other.type, (one.type, other.type)
    encoded = pa.concat_arrays([one, other]).dictionary_encode("encode")
    indices: np.ndarray = encoded.indices.to_numpy()
    return indices


def _rows_as_numbers(columns: list[np.ndarray]) -> np.ndarray:
    """A number for each row: equal rows, and no others, have equal numbers."""
    rows, distinct = columns[0].astype(np.int64), int(columns[0].max()) + 1
    for column in columns[1:]:
        values = int(column.max()) + 1
        if distinct * values >= 1 << 63:
            rows = np.unique(rows, return_inverse=True)[1]
            distinct = int(rows.max()) + 1
        rows, distinct = rows * values + column, distinct * values
    return rows


def assert_same_rows(expected: list[pa.Array], actual: pa.Table) -> None:
    """Both hold the same rows, as multisets; otherwise shows some that only one has."""
    rows = len(expected[0])
    assert actual.num_rows == rows, f"{actual.num_rows} rows, expected {rows}"
    if rows == 0:
        return
    columns = [plain(column) for column in actual.columns]
    numbers = _rows_as_numbers(
        [_codes(want, column) for want, column in zip(expected, columns, strict=True)]
    )
    orders = [np.argsort(side) for side in (numbers[:rows], numbers[rows:])]
    wrong = np.flatnonzero(numbers[:rows][orders[0]] != numbers[rows:][orders[1]])
    if len(wrong):
        shown = [
            [column[int(orders[side][wrong[0]])].as_py() for column in compared]
            for side, compared in enumerate([expected, columns])
        ]
        raise AssertionError(
            f"{len(wrong)} of {rows} rows differ after sorting; first, by {actual.column_names}:\n"
            f"  expected {shown[0]}\n"
            f"  found    {shown[1]}"
        )
