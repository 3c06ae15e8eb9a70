"""Joins by comparisons of values against DuckDB: types, kinds, NULLs, NaN, equal values; with and
without the rule that orders the build side."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from decimal import Decimal
from typing import Any

import crossdock as xd
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from crossdock.engine.execution import Execution

ROWS = (250, 300)
KINDS = ("inner", "left", "right", "full")
CONDITIONS = (
    "b.x >= a.x AND b.x < a.y",
    "a.x <= b.y AND b.x <= a.y",
    "a.x < b.x AND a.y > b.y",
    "a.x < b.x",
    "b.x BETWEEN a.x AND a.y AND a.id <> b.id",
    "a.k = b.k AND b.x BETWEEN a.x AND a.y",
    "a.k = b.k AND a.x < b.x AND a.y < b.x",
)


def values_of(kind: str, random: np.random.Generator, rows: int) -> Any:
    """Few distinct values, so that bounds are met, and the extremes of the type."""
    numbers = random.integers(-300, 300, rows)
    missing = random.random(rows) < 0.1
    if kind == "int64":
        numbers[:4] = (2**63 - 1, -(2**63), 2**63 - 1, 0)
        return pa.array(numbers, pa.int64(), mask=missing)
    if kind == "uint64":
        unsigned = numbers.astype(np.uint64)
        return pa.array(unsigned, pa.uint64(), mask=missing)
    if kind == "double":
        reals = numbers / 8
        reals[:5] = (np.inf, -np.inf, -0.0, 0.0, 1e300)
        return pa.array(reals, pa.float64(), mask=missing)
    if kind == "decimal":
        digits = [Decimal(int(number)) * 10**20 / 100 for number in numbers]
        return pa.array(digits, pa.decimal128(38, 2), mask=missing)
    if kind == "date":
        return pa.array(numbers.astype(np.int32), pa.int32(), mask=missing).cast(pa.date32())
    if kind == "timestamp":
        return pa.array(numbers * 10**6, pa.int64(), mask=missing).cast(pa.timestamp("us"))
    prefix = "the same first eight bytes " if kind == "long string" else ""
    return pa.array([f"{prefix}{number}é" for number in numbers], mask=missing)


def side(kind: str, seed: int, rows: int) -> pa.Table:
    random = np.random.default_rng(seed)
    return pa.table({
        "id": pa.array(range(rows), pa.int64()),
        "k": pa.array(random.integers(0, 5, rows), mask=random.random(rows) < 0.05),
        "x": values_of(kind, random, rows),
        "y": values_of(kind, random, rows),
    })  # fmt: skip


class Both:
    """A query in both engines over the same tables."""

    def __init__(self, tables: dict[str, pa.Table], stack: ExitStack) -> None:
        self._dock = stack.enter_context(xd.connect(threads=2))
        self._oracle = stack.enter_context(duckdb.connect())
        for name, table in tables.items():
            self._dock.register(name, table)
            self._oracle.register(name, table)

    def check(self, query: str) -> None:
        ours = [tuple(row.values()) for row in self._dock.sql(query).collect().to_pylist()]
        theirs = self._oracle.execute(query).fetchall()
        assert sorted(ours, key=repr) == sorted(theirs, key=repr), query


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2) as dock:
        yield dock


@pytest.mark.parametrize(
    "kind",
    ["int64", "uint64", "double", "decimal", "date", "timestamp", "string", "long string"],
)
@pytest.mark.parametrize("ordered", [True, False])
def test_range_joins(kind: str, ordered: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    if not ordered:
        monkeypatch.setattr(Execution, "without", ("ordered_runs",))
    tables = {"a": side(kind, 1, ROWS[0]), "b": side(kind, 2, ROWS[1])}
    with ExitStack() as stack:
        both = Both(tables, stack)
        for condition in CONDITIONS:
            for how in KINDS:
                if how == "full" and " = " not in condition:
                    continue  # DuckDB has no full join without an equality
                both.check(f"SELECT a.id, b.id FROM a {how} JOIN b ON {condition}")
            for exists in ("EXISTS", "NOT EXISTS"):
                both.check(f"SELECT a.id FROM a WHERE {exists} (SELECT 1 FROM b WHERE {condition})")


def test_rows_of_intervals_are_found_and_not_tried(dock: xd.Dock) -> None:
    """Trying all pairs would take minutes."""
    rows = 200_000
    trips = pa.table({"start": pa.array(range(0, 10 * rows, 10), pa.int64())})
    trips = trips.append_column("stop", pa.array(range(7, 10 * rows + 7, 10), pa.int64()))
    pings = pa.table({"at": pa.array(range(0, 10 * rows, 10), pa.int64())})
    dock.register("trips", trips)
    dock.register("pings", pings)
    result = dock.sql("SELECT count(*) AS n FROM pings JOIN trips ON at >= start AND at < stop")
    assert result.collect().to_pylist() == [{"n": rows}]
    assert "in order of a value" in str(result.profile())


def test_a_bound_without_a_value_is_an_error_of_its_pairs(dock: xd.Dock) -> None:
    """`x + 1` overflows in one row, which other conditions keep from any pair, or do not."""
    largest = 2**63 - 1
    left = pa.table({"x": pa.array([largest, *range(100)], pa.int64()), "k": [9] + [1] * 100})
    right = pa.table({"y": pa.array(range(100), pa.int64()), "k": [1] * 100})
    dock.register("l", left)
    dock.register("r", right)
    query = "SELECT count(*) AS n FROM l JOIN r ON l.k = r.k AND l.x + 1 < r.y"
    assert dock.sql(query).collect().to_pylist() == [{"n": 98 * 99 // 2}]
    with pytest.raises(xd.ExpressionError):
        dock.sql("SELECT count(*) FROM l JOIN r ON l.x + 1 < r.y").collect()
