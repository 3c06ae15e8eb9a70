"""Tables as DuckDB takes them, and queries that answer in row numbers.

A column of a type that DuckDB lacks or compares otherwise is stood in for by one with the same
equality and order: integers for date64, time32 and durations, binary for its other layouts.
"""

from __future__ import annotations

import functools

import duckdb
import numpy as np
import pyarrow as pa
from same_rows import plain

FOREIGN = ("date64", "time32", "duration", "large_binary", "binary_view")


@functools.cache
def connection() -> duckdb.DuckDBPyConnection:
    """One for all tests: opening one costs more than a small query."""
    opened = duckdb.connect(config={"threads": 2})
    opened.execute("SET TimeZone = 'UTC'")
    return opened


def type_name(kind: pa.DataType) -> str:
    """The name of a type without its parameters, with views spelled as the pools spell them."""
    views = {pa.string_view(): "string_view", pa.binary_view(): "binary_view"}
    return views.get(kind) or str(kind).split("[")[0]


def stand_in(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column itself, or one that DuckDB groups and orders as the engine does this one."""
    return pa.chunked_array([plain(column)]) if type_name(column.type) in FOREIGN else column


def register(name: str, table: pa.Table, columns: list[str]) -> None:
    """Makes these columns known to queries under the name, with the row number `i`."""
    named = {column: stand_in(table.column(column)) for column in columns}
    connection().register(name, pa.table({**named, "i": np.arange(table.num_rows)}))


def query(text: str) -> pa.Table:
    return connection().sql(text).to_arrow_table()


def numbers_of(column: pa.ChunkedArray) -> np.ndarray:
    """An integer column, -1 where it is null."""
    return column.combine_chunks().fill_null(-1).to_numpy().astype(np.int64)
