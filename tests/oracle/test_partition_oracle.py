"""Partitioning of generated tables: every row once, equal keys together (as DuckDB groups them),
the order of the input kept, and the counts right.

A failing case prints itself; `check(engine, PartitionCase(...))` replays it. Another seed for all
cases: CROSSDOCK_ORACLE_SEED=7.
"""

from __future__ import annotations

import os
from dataclasses import replace
from typing import Any

import pyarrow as pa
import pytest
from conftest import EngineOf
from covering import covering_rows
from crossdock import _native
from group_by_cases import ARRANGEMENTS, GROUPS, INTEGER, KEYS
from made_tables import CHUNKS
from partition_run import PartitionCase, check

SEED = int(os.environ.get("CROSSDOCK_ORACLE_SEED", "1"))
CASES = int(os.environ.get("CROSSDOCK_ORACLE_CASES", "300"))

PARAMETERS: dict[str, list[Any]] = {
    "keys": [key for key in KEYS if key],
    "by": ["hash", "range", "explicit"],
    "partitions": [1, 2, 3, 64, 1000],
    "rows": [0, 1, 2, 100, 1000, 5000, 70_000],
    "groups": list(GROUPS),
    "arrangement": ARRANGEMENTS,
    "nulls": ["none", "some", "most", "all"],
    "chunks": CHUNKS,
    "threads": [1, 2, 3, 4],
    "run": ["collect", "stream"],
}


def legal(case: PartitionCase) -> PartitionCase:
    """The case with what its way of partitioning takes: explicit is one integer without nulls."""
    if case.by != "explicit":
        return case
    kind = case.keys[0] if case.keys[0] in INTEGER else INTEGER[case.seed % len(INTEGER)]
    return replace(case, keys=(kind,), nulls="none")


def cases() -> list[PartitionCase]:
    rows = covering_rows(PARAMETERS, SEED, CASES)
    return [legal(PartitionCase(seed=SEED * 100_000 + i, **row)) for i, row in enumerate(rows)]


@pytest.mark.parametrize("case", [pytest.param(case, id=case.label()) for case in cases()])
def test_generated_partitions(engine_of: EngineOf, case: PartitionCase) -> None:
    engine = engine_of(case.threads)
    check(engine, case)
    assert engine.memory_used_bytes == 0


@pytest.mark.parametrize("by", ["hash", "range"])
@pytest.mark.parametrize("keys", [("int64",), ("utf8",), ("float64", "int32"), ("bool", "utf8")])
def test_many_different_keys_spread_evenly(
    engine_of: EngineOf, keys: tuple[str, ...], by: str
) -> None:
    case = PartitionCase(
        seed=3, keys=keys, by=by, partitions=64, rows=400_000, groups="distinct", threads=4,
        nulls="none",
    )  # fmt: skip
    counts = check(engine_of(4), case)
    assert max(counts) < 1.5 * 400_000 / 64


@pytest.mark.parametrize("value", [-1, 5, 2**40, None])
def test_an_explicit_part_that_is_not_there_is_an_error(
    engine_of: EngineOf, value: int | None
) -> None:
    engine = engine_of(2)
    table = pa.table({"k": pa.array([0, 1, 4, value, 2], pa.int64())})
    imported = _native.Table.from_stream(engine, table)

    def run() -> pa.Table:
        partition = _native.Partition(
            engine, imported, keys=["k"], partitions=5, how="explicit", output=["k"]
        )
        return pa.table(partition.collect())

    with pytest.raises((_native.NativeError, pa.ArrowException, OSError), match="CD-") as raised:
        run()
    del raised
    assert engine.memory_used_bytes == 0
