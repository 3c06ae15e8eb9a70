"""Joins and the memory budget: too small a budget is a typed error that leaves nothing behind,
wherever it strikes; results larger than the budget stream through it."""

from __future__ import annotations

import functools
import gc
import re
from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from crossdock import _native

MIB = 1 << 20

Run = Callable[[_native.Join], Any]
RUNS: dict[str, Run] = {
    "count": lambda join: join.count(),
    "collect": lambda join: pa.RecordBatchReader.from_stream(join.collect()).read_all(),
}


@functools.cache
def sides(strategy: str, left_rows: int, right_rows: int) -> tuple[pa.Table, pa.Table]:
    """Keys that the strategy can take; the same for every kind of join and way to run it."""
    key_of = np.random.default_rng(1).permutation if strategy == "dense" else sparse
    return table("a", left_rows, key_of), table("b", right_rows, key_of)


def table(name: str, rows: int, key_of: Callable[[np.ndarray], np.ndarray]) -> pa.Table:
    numbers = np.arange(rows)
    strings = pa.array(numbers % 1000, pa.int64()).cast(pa.utf8())
    return pa.table({"k": key_of(numbers), name: numbers, f"{name}_text": strings})


def make_join(
    engine: _native.Engine, left: pa.Table, right: pa.Table, how: str = "inner", **options: Any
) -> _native.Join:
    output = [("left", "k", "k"), ("left", "a", "a"), ("left", "a_text", "a_text")]
    if how not in ("semi", "anti"):
        output += [("right", "b", "b"), ("right", "b_text", "b_text")]
    return _native.Join(
        engine,
        _native.Table.from_stream(engine, left),
        _native.Table.from_stream(engine, right),
        on=[("k", "k")],
        how=how,
        output=output,
        **options,
    )


def sparse(numbers: np.ndarray) -> np.ndarray:
    return (numbers * 2654435761) % (1 << 40)


@pytest.mark.parametrize("run", list(RUNS))
@pytest.mark.parametrize("strategy", ["radix", "direct", "dense", "merge"])
@pytest.mark.parametrize("how", ["inner", "full"])
def test_a_budget_too_small_is_named_and_leaves_nothing(how: str, strategy: str, run: str) -> None:
    """The budget grows until the join fits: every smaller one fails in another place."""
    # Rows that are only counted carry nothing and take least; three times as many of them do not
    # fit the smallest budget, whichever worker took most of them.
    left_rows, right_rows = (900_000, 1_500_000) if run == "count" else (300_000, 500_000)
    left, right = sides(strategy, left_rows, right_rows)
    failures = 0
    fits = False
    for mebibytes in [16, 18, 20, 23, 26, 30, 36, 48, 64, 96, 160]:
        engine = _native.Engine(threads=2, memory_bytes=mebibytes * MIB)
        join = make_join(engine, left, right, how, strategy=strategy)
        try:
            result = RUNS[run](join)
        except (_native.NativeError, pa.ArrowException, OSError) as error:
            failures += 1
            text = str(error.args)
            assert "CD-201" in text
            assert "hash_join" in text or "merge_join" in text, text
            assert re.search(r"needs [\d.]+ [KMG]iB, but only [\d.]+ [KMG]iB of", text), text
            assert f"budget of {mebibytes}.0 MiB" in text
            del error
        else:
            rows = result if run == "count" else result.num_rows
            assert rows == {"inner": left_rows, "full": right_rows}[how] or run == "aggregate"
            fits = True
            del result
        gc.collect()
        assert engine.memory_used_bytes == 0
        small = make_join(engine, table("a", 100, sparse), table("b", 1000, sparse), how)
        assert small.count() == (100 if how == "inner" else 1000)
        assert engine.memory_used_bytes == 0
        if fits:
            break
    assert failures > 0 or strategy == "dense"  # which needs little
    assert fits


def test_a_result_larger_than_the_budget_streams() -> None:
    """100,000 x 2,000 rows of four keys: 50 M pairs of 30 bytes and more, through 64 MiB."""
    engine = _native.Engine(threads=2, memory_bytes=64 * MIB)
    left = table("a", 100_000, lambda numbers: numbers % 4)
    right = table("b", 2_000, lambda numbers: numbers % 4)
    join = make_join(engine, left, right)
    reader = pa.RecordBatchReader.from_stream(join.stream(2))
    rows = 0
    for batch in reader:
        rows += batch.num_rows
        assert engine.memory_used_bytes <= 64 * MIB
    assert rows == 100_000 * 500
    assert engine.memory_peak_bytes <= 64 * MIB
    del batch, reader
    gc.collect()
    assert engine.memory_used_bytes == 0


@pytest.mark.parametrize("strategy", ["radix", "direct", "merge"])
@pytest.mark.parametrize("batches", [0, 1, 5])
def test_a_stream_dropped_half_way_frees_everything(strategy: str, batches: int) -> None:
    engine = _native.Engine(threads=2, memory_bytes=256 * MIB)
    left = table("a", 200_000, lambda numbers: numbers % 1000)
    right = table("b", 20_000, lambda numbers: numbers % 1000)
    join = make_join(engine, left, right, strategy=strategy)
    reader = pa.RecordBatchReader.from_stream(join.stream(2))
    for _ in range(batches):
        assert reader.read_next_batch().num_rows > 0
    del reader
    gc.collect()
    assert engine.memory_used_bytes == 0
    assert join.count() == 4_000_000


def test_results_outlive_join_tables_and_engine() -> None:
    engine = _native.Engine(threads=2, memory_bytes=256 * MIB)
    left, right = table("a", 100_000, sparse), table("b", 100_000, sparse)
    result = pa.RecordBatchReader.from_stream(make_join(engine, left, right).collect()).read_all()
    del left, right, engine
    gc.collect()
    result.validate(full=True)
    assert result.column("a").equals(result.column("b"))


def test_trim_gives_cached_memory_back() -> None:
    engine = _native.Engine(threads=1, memory_bytes=256 * MIB)
    left, right = table("a", 300_000, sparse), table("b", 300_000, sparse)
    assert make_join(engine, left, right).count() == 300_000
    engine.trim()
    assert engine.memory_used_bytes == 0
    assert make_join(engine, left, right).count() == 300_000
    assert engine.memory_peak_bytes > 0
