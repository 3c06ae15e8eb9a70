"""Two oracles that say which rows of two tables pair up.

DuckDB answers by SQL. The plain reference walks rows in Python; it stands in where DuckDB has no
such type or compares otherwise:
  - large_binary, binary_view, date64, time32 and durations are not or not exactly DuckDB's types;
  - timestamps of two units, which DuckDB converts with an error on overflow.
Both agree with the engine that NaN equals NaN, that the zeros are equal, and that uint64 and int64
are compared by value; test_oracles.py holds the two against each other.

Oracles answer row numbers: (left, right), -1 for a side that is absent.
"""

from __future__ import annotations

import functools
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
from join_cases import Case, Sides

Rows = tuple[np.ndarray, np.ndarray]

LEFT_ONLY = ("semi", "anti", "anti_null_aware")


def duckdb_knows(case: Case) -> bool:
    """Whether DuckDB has the key types of a case and compares them as the engine does."""
    foreign = ("large_binary", "binary_view", "date64", "time32", "duration")
    if any(name.startswith(foreign) for pair in case.keys for name in pair):
        return False
    return not any(
        left.startswith("timestamp") and left.split(",")[0] != right.split(",")[0]
        for left, right in case.keys
    )


def expected_rows(case: Case, sides: Sides) -> Rows:
    """The rows that the join of a case pairs, by DuckDB where it can tell."""
    answer = duckdb_rows if duckdb_knows(case) else reference_rows
    return answer(case, sides)


@functools.cache
def _connection() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(config={"threads": 2})


def _numbered(table: pa.Table, row: str) -> pa.Table:
    keep = [name for name in table.column_names if name[0] in "kpq"]
    return table.select(keep).append_column(row, pa.array(np.arange(table.num_rows)))


def duckdb_rows(case: Case, sides: Sides) -> Rows:
    """DuckDB's answer."""
    left, right = _numbered(sides.left, "i"), _numbered(sides.right, "j")
    equals = "IS NOT DISTINCT FROM" if case.nulls_equal else "="
    condition = " AND ".join(f"l.k{i} {equals} r.k{i}" for i in range(len(case.keys)))
    if case.residual:
        condition += " AND l.p < r.q"
    if case.how == "anti_null_aware":
        query = "SELECT i FROM l WHERE k0 NOT IN (SELECT k0 FROM r)"
    elif case.how in LEFT_ONLY:
        query = f"SELECT i FROM l {case.how.upper()} JOIN r ON {condition}"
    else:
        query = f"SELECT i, j FROM l {case.how.upper()} JOIN r ON {condition}"
    connection = _connection()
    connection.register("l", left)
    connection.register("r", right)
    result = connection.sql(query).to_arrow_table()
    numbers = [
        column.combine_chunks().fill_null(-1).to_numpy().astype(np.int64)
        for column in result.columns
    ]
    return numbers[0], numbers[1] if len(numbers) > 1 else np.full(len(numbers[0]), -1)


def _comparable(column: pa.ChunkedArray) -> list[Any]:
    """Values that Python compares as the engine compares keys."""
    kind = column.type
    if pa.types.is_floating(kind):
        return ["NaN" if value != value else value for value in column.to_pylist()]
    if pa.types.is_date(kind) or pa.types.is_date64(kind):
        day = 1 if kind == pa.date32() else 86_400_000
        return [None if v is None else v // day for v in _integers(column)]
    if pa.types.is_temporal(kind):
        factor = 10 ** (9 - 3 * ["s", "ms", "us", "ns"].index(kind.unit))
        return [None if v is None else v * factor for v in _integers(column)]
    return column.to_pylist()


def _integers(column: pa.ChunkedArray) -> list[int | None]:
    width = pa.int32() if column.type.bit_width == 32 else pa.int64()
    return [value for chunk in column.chunks for value in chunk.view(width).to_pylist()]


def _key_rows(table: pa.Table, count: int) -> list[tuple[Any, ...]]:
    columns = [_comparable(table.column(f"k{i}")) for i in range(count)]
    return list(zip(*columns, strict=True))


def reference_rows(case: Case, sides: Sides) -> Rows:
    """The answer of a walk over all rows, as slow and plain as it gets."""
    count = len(case.keys)
    left, right = _key_rows(sides.left, count), _key_rows(sides.right, count)
    places: dict[tuple[Any, ...], list[int]] = {}
    for j, key in enumerate(right):
        if case.nulls_equal or None not in key:
            places.setdefault(key, []).append(j)
    p, q = sides.left.column("p").to_pylist(), sides.right.column("q").to_pylist()
    pairs = [(i, j) for i, key in enumerate(left) for j in places.get(key, ())]
    if case.residual:
        pairs = [(i, j) for i, j in pairs if p[i] is not None and q[j] is not None and p[i] < q[j]]
    return _with_kind(case, pairs, left, right)


def _with_kind(case: Case, pairs: list[tuple[int, int]], left: list[Any], right: list[Any]) -> Rows:
    met_left = {i for i, _ in pairs}
    met_right = {j for _, j in pairs}
    null_extended_left = [(i, -1) for i in range(len(left)) if i not in met_left]
    null_extended_right = [(-1, j) for j in range(len(right)) if j not in met_right]
    if case.how == "semi":
        rows = [(i, -1) for i in sorted(met_left)]
    elif case.how == "anti":
        rows = null_extended_left
    elif case.how == "anti_null_aware":
        unknown = any(None in key for key in right)
        rows = (
            []
            if unknown
            else [(i, j) for i, j in null_extended_left if not right or None not in left[i]]
        )
    else:
        rows = pairs
        rows += null_extended_left if case.how in ("left", "full") else []
        rows += null_extended_right if case.how in ("right", "full") else []
    both = np.array(rows, np.int64).reshape(-1, 2)
    return both[:, 0], both[:, 1]
