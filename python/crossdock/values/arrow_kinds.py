"""Kinds of Arrow data that functions take alike, under the names that Arrow has for them."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

ArrayLike: TypeAlias = pa.Array | pa.ChunkedArray
Datum: TypeAlias = pa.Array | pa.ChunkedArray | pa.Scalar  # a scalar stands for all rows
Rows: TypeAlias = pa.Table | pa.RecordBatch


def is_number(data_type: pa.DataType) -> bool:
    """Of integers, floats and decimals."""
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return any(is_kind(data_type) for is_kind in kinds)


def is_moment(data_type: pa.DataType) -> bool:
    """Of dates, timestamps and times of day."""
    kinds = (pa.types.is_date, pa.types.is_timestamp, pa.types.is_time)
    return any(is_kind(data_type) for is_kind in kinds)
