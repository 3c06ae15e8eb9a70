"""Group-by, sort and partition against the memory budget: too small a one is a typed error that
leaves nothing behind, wherever it strikes; the peak stays within it."""

from __future__ import annotations

import gc
import re
from typing import Any

import pyarrow as pa
import pytest
from crossdock import _native
from operator_calls import OPERATIONS, spread_table

MIB = 1 << 20
ROWS, GROUPS = 1_000_000, 800_000
BUDGETS = [16, 18, 20, 23, 26, 30, 36, 48, 64, 96, 160, 512]


def collected(run: Any) -> int:
    return pa.RecordBatchReader.from_stream(run.collect()).read_all().num_rows


RUNS = {
    "collect": collected,
    "stream": lambda run: sum(b.num_rows for b in pa.RecordBatchReader.from_stream(run.stream(1))),
}


@pytest.fixture(scope="module")
def source() -> pa.Table:
    return spread_table(ROWS, GROUPS)


STREAMED = ["group_by radix", "sort msd", "partition hash"]
TRIED = [(name, "collect") for name in OPERATIONS] + [(name, "stream") for name in STREAMED]


@pytest.mark.parametrize(("name", "run"), TRIED)
def test_a_budget_too_small_is_named_and_leaves_nothing(
    source: pa.Table, name: str, run: str
) -> None:
    """The budget grows until the work fits: every smaller one fails in another place."""
    rows = set()
    failures = 0
    for mebibytes in BUDGETS:
        engine = _native.Engine(threads=2, memory_bytes=mebibytes * MIB)
        table = _native.Table.from_stream(engine, source)
        operation = OPERATIONS[name](engine, table)
        try:
            rows.add(RUNS[run](operation))
        except (_native.NativeError, pa.ArrowException, OSError) as error:
            failures += 1
            text = str(error.args)
            assert "CD-201" in text
            assert re.search(r"needs [\d.]+ [KMG]?i?B, but only [\d.]+ [KMG]?i?B of", text), text
            assert f"budget of {mebibytes}.0 MiB" in text
            assert name.split()[0] in text, text
            del error
        gc.collect()
        assert engine.memory_used_bytes == 0
        assert engine.memory_peak_bytes <= mebibytes * MIB
        if rows:
            break
    assert failures > 0 or run == "stream"  # which may fit where a whole result does not
    assert rows == {wanted_rows(name)}


def wanted_rows(name: str) -> int:
    if name.startswith("group_by"):
        return GROUPS
    return 150_000 if name == "sort limit" else ROWS


# A limited sort needs little more than what it keeps, which fits.
@pytest.mark.parametrize("name", [name for name in OPERATIONS if name != "sort limit"])
def test_an_engine_works_on_after_a_failure(source: pa.Table, name: str) -> None:
    engine = _native.Engine(threads=2, memory_bytes=16 * MIB)
    large = _native.Table.from_stream(engine, source)
    small = _native.Table.from_stream(engine, spread_table(500, 100))
    for _ in range(3):
        with pytest.raises((_native.NativeError, pa.ArrowException, OSError), match="CD-201"):
            collected(OPERATIONS[name](engine, large))
        gc.collect()
        assert engine.memory_used_bytes == 0
        assert collected(OPERATIONS[name](engine, small)) in (100, 500)
        gc.collect()
        assert engine.memory_used_bytes == 0


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_results_outlive_operation_table_and_engine(name: str) -> None:
    source = spread_table(50_000, 20_000)
    engine = _native.Engine(threads=2, memory_bytes=256 * MIB)
    run = OPERATIONS[name](engine, _native.Table.from_stream(engine, source))
    result = pa.RecordBatchReader.from_stream(run.collect()).read_all()
    del run, engine, source
    gc.collect()
    result.validate(full=True)
    assert len(set(result.column("k").to_pylist())) == 20_000


@pytest.mark.parametrize("name", [name for name in OPERATIONS if "group_by" not in name])
def test_a_sort_takes_little_more_than_twice_its_input(name: str) -> None:
    """Of 16 bytes and more a row; the text column's bytes are counted with it."""
    source = spread_table(2_000_000, 2_000_000)
    engine = _native.Engine(threads=2, memory_bytes=2048 * MIB)
    run = OPERATIONS[name](engine, _native.Table.from_stream(engine, source))
    rows = collected(run)
    assert rows == (150_000 if name == "sort limit" else 2_000_000)
    assert engine.memory_peak_bytes <= 2.2 * source.nbytes
