"""Kinds of Arrow data that functions take alike, under the names that Arrow has for them."""

from __future__ import annotations

from typing import TypeAlias

import pyarrow as pa

ArrayLike: TypeAlias = pa.Array | pa.ChunkedArray
Datum: TypeAlias = pa.Array | pa.ChunkedArray | pa.Scalar  # a scalar stands for all rows
Rows: TypeAlias = pa.Table | pa.RecordBatch
