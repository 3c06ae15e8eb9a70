"""Every kind of join over generated tables, held against DuckDB.

Parameters are combined so that nearly every pair of values meets in some case (see covering.py).
A failing case prints itself; `check(engine, Case(...))` replays it. Another seed for all cases:
CROSSDOCK_ORACLE_SEED=7.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pytest
from conftest import EngineOf
from covering import covering_rows
from join_cases import KEYS, PAYLOADS, SIZES, Case
from join_run import check

SEED = int(os.environ.get("CROSSDOCK_ORACLE_SEED", "1"))
CASES = int(os.environ.get("CROSSDOCK_ORACLE_CASES", "600"))

PARAMETERS: dict[str, list[Any]] = {
    "keys": KEYS,
    "how": ["inner", "left", "right", "full", "semi", "anti", "anti_null_aware"],
    "sizes": SIZES,
    "nulls": ["none", "some", "most", "all"],
    "nulls_equal": [False, True],
    "residual": [False, True],
    "duplicates": ["none", "few", "heavy"],
    "skew": ["uniform", "zipf", "equal"],
    "match": ["none", "some", "all"],
    "chunks": ["one", "sliced", "chunked", "empty"],
    "payload": [(a, b) for a in PAYLOADS for b in PAYLOADS if a == b or "none" in (a, b)],
    "strategy": ["auto", "radix", "direct", "dense", "merge"],
    "build": ["auto", "left", "right"],
    "materialize": ["auto", "early", "late"],
    "filter": ["auto", "bloom", "off"],
    "bits": [-1, 0, 3, 9],
    "threads": [1, 2],
    "run": ["collect", "stream"],
    "swap": [False, True],
}


def legal(case: Case) -> Case:
    """The case without what its kind, key or strategy excludes."""
    if case.how == "anti_null_aware":
        case = replace(case, keys=case.keys[:1], residual=False, nulls_equal=False)
        case = replace(case, strategy="auto" if case.strategy == "dense" else case.strategy)
    return case


def cases() -> list[Case]:
    rows = covering_rows(PARAMETERS, SEED, CASES)
    return [legal(Case(seed=SEED * 100_000 + i, **row)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in cases()])
def test_generated_join(engine_of: EngineOf, case: Case) -> None:
    engine = engine_of(case.threads)
    check(engine, case)
    assert engine.memory_used_bytes == 0


INT32, INT64, TEXT = (((name, name),) for name in ("int32", "int64", "utf8"))
LARGE = [
    Case(keys=INT64, how="full", sizes=(700_000, 500_000), strategy="merge"),
    Case(keys=TEXT, how="left", sizes=(300_000, 400_000), strategy="merge", nulls="some"),
    Case(keys=INT64, how="inner", sizes=(1_000_000, 500_000), strategy="radix"),
    Case(keys=INT64, how="left", sizes=(1_000_000, 200_000), nulls="none", filter="bloom"),
    Case(keys=INT32, how="full", sizes=(1_000_000, 1_000_000), chunks="chunked"),
    Case(keys=INT64, how="anti", sizes=(1_000_000, 300_000), match="none", strategy="direct"),
    Case(keys=INT64, how="anti_null_aware", sizes=(900_000, 300_000), nulls="none"),
    Case(keys=TEXT, how="right", sizes=(200_000, 400_000), residual=True, run="stream"),
    Case(keys=TEXT, how="semi", sizes=(300_000, 300_000), duplicates="heavy", build="left"),
    # One key of the left side on every row: partitions too heavy for one worker.
    Case(keys=INT64, how="full", sizes=(700_000, 100_000), skew="equal", nulls="none"),
    Case(keys=TEXT, how="inner", sizes=(700_000, 100_000), skew="equal", nulls="none"),
    Case(keys=INT64, how="semi", sizes=(700_000, 100_000), skew="zipf"),
]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in LARGE])
def test_large_join_of_two_workers(engine_of: EngineOf, case: Case) -> None:
    at = LARGE.index(case)
    forced = {} if case.strategy != "auto" else {"strategy": ("radix", "direct", "merge")[at % 3]}
    if case.skew != "uniform":
        skewed = ("radix", "merge")[at % 2]
        forced = {"strategy": skewed, "build": "right", "duplicates": "none", "match": "all"}
    case = replace(
        case, seed=at, threads=2, pairs_max=2_000_000, payload=("one word", "narrow"), **forced
    )
    profile = check(engine_of(2), case)
    assert profile["threads"] == 2
