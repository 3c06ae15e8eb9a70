"""Sorts of generated tables by every type of key, held against DuckDB's order.

Parameters are combined so that nearly every pair of values meets in some case (see covering.py).
A failing case prints itself; `check(engine, SortCase(...))` replays it. Another seed for all
cases: CROSSDOCK_ORACLE_SEED=7.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from conftest import EngineOf
from covering import covering_rows
from made_tables import CHUNKS
from sort_cases import (
    ARRANGEMENTS,
    DIRECTIONS,
    DISTINCT,
    KEYS,
    PAYLOAD_WORDS,
    SortCase,
    make_table,
    order_of,
)
from sort_run import check, duckdb_order

SEED = int(os.environ.get("CROSSDOCK_ORACLE_SEED", "1"))
CASES = int(os.environ.get("CROSSDOCK_ORACLE_CASES", "600"))

STRATEGIES = ["auto", "msd", "lsd", "topk", "presorted"]
PARAMETERS: dict[str, list[Any]] = {
    "keys": KEYS,
    "directions": list(DIRECTIONS),
    "rows": [0, 1, 2, 100, 1000, 5000, 70_000],
    "distinct": list(DISTINCT),
    "arrangement": ARRANGEMENTS,
    "nulls": ["none", "some", "most", "all"],
    "chunks": CHUNKS,
    "payload": PAYLOAD_WORDS,
    "limit": [-1, -1, 0, 1, 10, 0.02, 0.5, 1.0, 10**9],
    "offset": [0, 1, 0.3, 1.0, 10**9],
    "stable": [False, True],
    "row_index": [False, True],
    "strategy": STRATEGIES,
    "digit_bits": [0, 1, 5, 16],
    "batch_rows": [0, 1, 100],
    "threads": [1, 2, 3, 4],
    "run": ["collect", "stream"],
}


def legal(case: SortCase) -> SortCase:
    """The case with what its strategy needs; most offsets go, which leave little to look at."""
    if case.seed % 3:
        case = replace(case, offset=0)
    if case.strategy == "topk" and case.limit == -1:
        case = replace(case, limit=0.1)
    if case.strategy == "presorted":
        case = replace(case, arrangement="sorted")
    if case.batch_rows == 1:
        case = replace(case, rows=min(case.rows, 1000))
    return case


def cases() -> list[SortCase]:
    rows = covering_rows(PARAMETERS, SEED, CASES)
    return [legal(SortCase(seed=SEED * 100_000 + i, **row)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in cases()])
def test_generated_sort(engine_of: EngineOf, case: SortCase) -> None:
    engine = engine_of(case.threads)
    check(engine, case)
    assert engine.memory_used_bytes == 0


LARGE = [
    SortCase(keys=("int64",), rows=1_000_000, distinct="all", payload="keys only", nulls="none"),
    SortCase(keys=("int64",), rows=700_000, distinct="all", payload="none", nulls="none"),
    SortCase(keys=("float64",), rows=700_000, directions="down", payload="narrow"),
    SortCase(keys=("utf8",), rows=300_000, distinct="all", payload="one word"),
    SortCase(keys=("int32", "utf8"), rows=300_000, distinct="few", directions="mixed"),
    SortCase(keys=("int64",), rows=700_000, arrangement="zipf", stable=True),
    SortCase(keys=("int64",), rows=700_000, arrangement="equal", stable=True, row_index=True),
    SortCase(keys=("int64",), rows=700_000, arrangement="sorted", nulls="none"),
    SortCase(keys=("int64",), rows=700_000, arrangement="reversed", nulls="none", stable=True),
    SortCase(keys=("int64", "int64"), rows=500_000, arrangement="nearly sorted", payload="strings"),
    SortCase(keys=("decimal_full",), rows=300_000, distinct="many", limit=1000),
    SortCase(keys=("timestamp[us,UTC]",), rows=700_000, limit=0.3, offset=0.5, stable=True),
]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in LARGE])
def test_large_sort_of_several_workers(engine_of: EngineOf, case: SortCase, forced: bool) -> None:
    at = LARGE.index(case)
    threads = 4 if at % 2 else 2
    strategy = ("msd", "lsd")[at % 2] if forced else "auto"
    check(engine_of(threads), replace(case, seed=at, threads=threads, strategy=strategy))


@pytest.mark.parametrize("directions", list(DIRECTIONS))
@pytest.mark.parametrize(
    "keys", [("float64",), ("float32", "int32"), ("int64", "utf8"), ("bool", "uint8")]
)
def test_duckdb_orders_as_python_does(keys: tuple[str, ...], directions: str) -> None:
    """The order that the documentation states, spelled out: numbers below NaN, NaN equal to NaN,
    the zeros equal, strings by their bytes, nulls where they are asked for."""
    case = SortCase(seed=5, keys=keys, directions=directions, rows=300, distinct="few")
    table = make_table(case)
    order = list(range(table.num_rows))
    for name, descending, nulls_first in reversed(order_of(case)):
        values = table.column(name).to_pylist()

        def rank(row: int, values: list[Any] = values) -> Any:
            value = values[row]
            if isinstance(value, str):
                return (0, value.encode())
            return (1, 0.0) if value != value else (0, value)

        present = [row for row in order if values[row] is not None]
        present.sort(key=rank, reverse=descending)  # equal keys keep their order both ways
        absent = [row for row in order if values[row] is None]
        order = absent + present if nulls_first else present + absent
    rows, _ = duckdb_order(table, order_of(case))
    np.testing.assert_array_equal(rows, order)
