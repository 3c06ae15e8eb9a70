"""Every aggregate by every type of key over generated tables, held against DuckDB.

Parameters are combined so that nearly every pair of values meets in some case (see covering.py).
A failing case prints itself; `check(engine, GroupCase(...))` replays it. Another seed for all
cases: CROSSDOCK_ORACLE_SEED=7.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import duckdb_rows
import numpy as np
import pytest
from conftest import EngineOf
from covering import covering_rows
from group_by_cases import (
    ARRANGEMENTS,
    FILTERS,
    FLOAT,
    FUNCTIONS,
    GROUPS,
    KEYS,
    NUMBER,
    VALUES,
    GroupCase,
    aggregates,
    make_table,
)
from group_by_oracle import Exactly, Near, expected, group
from group_by_run import check
from made_tables import CHUNKS

SEED = int(os.environ.get("CROSSDOCK_ORACLE_SEED", "1"))
CASES = int(os.environ.get("CROSSDOCK_ORACLE_CASES", "600"))

STRATEGIES = ["auto", "table", "radix", "adaptive", "dense", "sorted"]
PARAMETERS: dict[str, list[Any]] = {
    "keys": KEYS,
    "function": ["all", *FUNCTIONS],
    "values": VALUES,
    "extreme": [False, True],
    "rows": [0, 1, 2, 100, 1000, 5000, 30_000],
    "groups": list(GROUPS),
    "arrangement": ARRANGEMENTS,
    "nulls": ["none", "some", "most", "all"],
    "value_nulls": ["none", "some", "most", "all"],
    "filter": FILTERS,
    "chunks": CHUNKS,
    "strategy": STRATEGIES,
    "batch_rows": [0, 1024, 3000],
    "threads": [1, 2, 3, 4],
    "run": ["collect", "stream"],
}


def legal(case: GroupCase) -> GroupCase:
    """The case with a function that takes the values, rows in order if the strategy wants it."""
    if case.function != "all" and case.values not in FUNCTIONS[case.function]:
        takes = FUNCTIONS[case.function]
        case = replace(case, values=takes[case.seed % len(takes)])
    if case.strategy == "sorted":
        case = replace(case, arrangement="grouped")
    return case


def cases() -> list[GroupCase]:
    rows = covering_rows(PARAMETERS, SEED, CASES)
    return [legal(GroupCase(seed=SEED * 100_000 + i, **row)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in cases()])
def test_generated_group_by(engine_of: EngineOf, case: GroupCase) -> None:
    engine = engine_of(case.threads)
    check(engine, case)
    assert engine.memory_used_bytes == 0


LARGE = [
    GroupCase(keys=("int64",), rows=300_000, groups="many", function="sum"),
    GroupCase(keys=("int64",), rows=300_000, groups="distinct", function="count"),
    GroupCase(keys=("int32",), rows=300_000, groups="few", arrangement="grouped", function="max"),
    GroupCase(keys=("utf8",), rows=150_000, groups="many", arrangement="zipf", function="mean"),
    GroupCase(keys=("utf8",), rows=60_000, groups="distinct", function="any", run="stream"),
    GroupCase(keys=("int32", "utf8"), rows=90_000, groups="many", function="count_distinct"),
    GroupCase(keys=("int64",), rows=150_000, arrangement="zipf", function="var", values="float64"),
    GroupCase(keys=("dict32",), rows=150_000, groups="few", function="min", values="utf8"),
    GroupCase(keys=(), rows=300_000, function="first", value_nulls="most"),
]


@pytest.mark.parametrize("forced", [False, True])
@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in LARGE])
def test_large_group_by_of_several_workers(
    engine_of: EngineOf, case: GroupCase, forced: bool
) -> None:
    at = LARGE.index(case)
    threads = 4 if at % 2 else 2
    strategy = ("table", "radix", "adaptive")[at % 3] if forced else "auto"
    check(engine_of(threads), replace(case, seed=at, threads=threads, strategy=strategy))


# --- the oracle itself


DUCKDB_SQL = {
    "sum": "sum(v)",
    "mean": "avg(v)",
    "var": "var_samp(v)",
    "stddev": "stddev_samp(v)",
    "first": "first(v ORDER BY i) FILTER (WHERE v IS NOT NULL)",
}


@pytest.mark.parametrize("values", [name for name in NUMBER if name != "decimal_full"])
@pytest.mark.parametrize("function", list(DUCKDB_SQL))
def test_what_is_computed_here_agrees_with_duckdb(function: str, values: str) -> None:
    case = GroupCase(seed=3, keys=("int32",), values=values, function=function, rows=2000)
    table = make_table(case)
    groups = group(case, table)
    item = next(item for item in aggregates(case) if item.function == function)
    want = expected(case, table, groups, item)
    duckdb_rows.register("grouped", table, ["k0", "v"])
    # Groups by their smallest row, which is how the two answers find each other.
    result = duckdb_rows.query(
        f"SELECT min(i) AS i, CAST({DUCKDB_SQL[function]} AS DOUBLE) AS x FROM grouped GROUP BY k0"
    ).sort_by("i")
    firsts = groups.rows[groups.starts[:-1]]
    order = np.argsort(firsts)
    np.testing.assert_array_equal(result.column("i").to_numpy(), firsts[order])
    have = result.column("x").to_numpy()
    if isinstance(want, Exactly):
        numbers = want.values
        if values in FLOAT:
            numbers = numbers.view("float64" if values == "float64" else "float32")
        required = np.array([np.nan if x is None else float(x) for x in numbers.to_pylist()])
    else:
        assert isinstance(want, Near)
        required = np.where(want.null, np.nan, want.values)
    np.testing.assert_allclose(have, required[order], rtol=1e-9, atol=1e-9)
