"""Checks Arrow data that come from outside: pyarrow's kernels trust them, and would crash."""

from __future__ import annotations

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.values.arrow_kinds import Rows


def require_valid(rows: Rows, source: str) -> None:
    """DataError for a column of a Table or RecordBatch whose lengths, offsets, views or indices
    lead out of its buffers.

    Whether strings are UTF-8 is not checked, which no kernel trusts. Of 2 M strings on an EPYC it
    takes 1.3 ms, of views 21 ms, of dictionary indices 4 ms; with UTF-8 it took 16, 49 and 23 ms.
    """
    for field, column in zip(rows.schema, rows.columns, strict=True):
        for chunk in column.chunks if isinstance(column, pa.ChunkedArray) else (column,):
            try:
                chunk.validate()
                _without_encoding(chunk).validate(full=True)
            except pa.ArrowException as error:
                raise make_error(
                    "CD-301",
                    f"column {field.name!r} of {source} breaks the Arrow format: {error}",
                ) from error


def _without_encoding(array: pa.Array) -> pa.Array:
    """The same array with strings as bytes, zero copy."""
    data_type = array.type
    if isinstance(data_type, pa.BaseExtensionType):
        return _without_encoding(array.storage)
    if pa.types.is_dictionary(data_type):
        values = _without_encoding(array.dictionary)
        return pa.DictionaryArray.from_arrays(array.indices, values, safe=False)
    for text, plain in _BYTES:
        if data_type == text:
            return array.view(plain)
    return array


_BYTES = (
    (pa.string(), pa.binary()),
    (pa.large_string(), pa.large_binary()),
    (pa.string_view(), pa.binary_view()),
)
