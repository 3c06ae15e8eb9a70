"""Integers of text files that 64 bits do not hold: pyarrow takes their columns for doubles, which
lose digits. They are decimals of 38 digits here."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import pyarrow as pa

EXACT_INTEGER = pa.decimal128(38, 0)
_INTEGERS = r"^[+-]?[0-9]{1,38}$"


def with_exact_integers(
    schema: pa.Schema,
    given: Mapping[str, pa.DataType],
    first_rows: Callable[[Mapping[str, pa.DataType]], pa.RecordBatch | pa.Table],
) -> pa.Schema:
    """`schema`, as it was inferred but for the types that are `given`, with decimals for columns of
    doubles whose first rows are integers alone. `first_rows`: those of a file, of the columns of
    these types and no others."""
    doubles = [
        field.name for field in schema if field.type == pa.float64() and field.name not in given
    ]
    if not doubles:
        return schema
    rows = first_rows(dict.fromkeys(doubles, pa.string()))
    exact = {name for name in doubles if _are_integers(rows.column(name))}
    return pa.schema([
        field.with_type(EXACT_INTEGER) if field.name in exact else field for field in schema
    ])  # fmt: skip


def _are_integers(values: pa.Array | pa.ChunkedArray) -> bool:
    import pyarrow.compute as pc

    return bool(pc.all(pc.match_substring_regex(values, _INTEGERS)).as_py())
