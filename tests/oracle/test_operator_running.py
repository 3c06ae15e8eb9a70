"""Group-by, sort and partition while they run: cancelled, interrupted, several at once, streams
dropped half way. Whatever happens, no memory stays behind."""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator
from typing import Any

import pyarrow as pa
import pytest
from background import Ended, interrupt_python, run_python
from crossdock import _native
from operator_calls import OPERATIONS, spread_table

LONG_ROWS = 6_000_000


@pytest.fixture
def engine() -> Iterator[_native.Engine]:
    opened = _native.Engine(threads=2, memory_bytes=2 << 30)
    yield opened
    gc.collect()
    assert opened.memory_used_bytes == 0


@pytest.fixture(scope="module")
def streamed() -> pa.Table:
    """Of many batches, whatever becomes of it."""
    return spread_table(600_000, 500_000)


@pytest.fixture(scope="module")
def long_table() -> pa.Table:
    return spread_table(LONG_ROWS, LONG_ROWS)


def read(run: Any) -> pa.Table:
    return pa.RecordBatchReader.from_stream(run.collect()).read_all()


@pytest.mark.parametrize("wait_s", [0.01, 0.15])
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_cancel_ends_a_run_within_a_second(
    engine: _native.Engine, long_table: pa.Table, name: str, wait_s: float
) -> None:
    """Of work after the call: how long that takes on a busy machine says nothing. Or the run was
    done before."""
    run = OPERATIONS[name](engine, _native.Table.from_stream(engine, long_table))
    ended = Ended(lambda: read(run))
    while run.progress()[0] in ("", "waiting") and not ended.wait(0.001):
        pass
    time.sleep(wait_s)
    start = time.process_time()
    run.cancel()
    assert ended.wait(30)
    if ended.error is not None:
        assert time.process_time() - start < 1
        assert isinstance(ended.error, _native.NativeError | pa.ArrowException | OSError)
        assert "CD-401" in str(ended.error.args)
    ended.error = ended.result = None


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_a_cancelled_operation_runs_again(engine: _native.Engine, name: str) -> None:
    run = OPERATIONS[name](engine, _native.Table.from_stream(engine, spread_table(100_000, 5_000)))
    run.cancel()
    assert run.count() == read(run).num_rows


@pytest.mark.parametrize("batches", [0, 1, 3])
@pytest.mark.parametrize("name", list(OPERATIONS))
def test_a_stream_dropped_half_way_frees_everything(
    engine: _native.Engine, name: str, batches: int
) -> None:
    run = OPERATIONS[name](
        engine, _native.Table.from_stream(engine, spread_table(600_000, 500_000))
    )
    reader = run.stream(1)
    if batches:
        reader = pa.RecordBatchReader.from_stream(reader)
    for _ in range(batches):
        assert reader.read_next_batch().num_rows > 0
    del reader
    gc.collect()
    assert engine.memory_used_bytes == 0
    assert run.count() > 0


@pytest.mark.parametrize("name", list(OPERATIONS))
def test_a_stream_reader_hears_of_cancel(engine: _native.Engine, name: str) -> None:
    run = OPERATIONS[name](
        engine, _native.Table.from_stream(engine, spread_table(600_000, 500_000))
    )
    reader = pa.RecordBatchReader.from_stream(run.stream(1))
    reader.read_next_batch()
    run.cancel()
    with pytest.raises((pa.ArrowException, OSError), match="CD-401"):
        reader.read_all()


def test_operations_of_one_engine_at_once(engine: _native.Engine) -> None:
    table = _native.Table.from_stream(engine, spread_table(200_000, 50_000))

    def rows_of(name: str) -> list[int]:
        return [read(OPERATIONS[name](engine, table)).num_rows for _ in range(3)]

    names = ["group_by adaptive", "sort stable", "partition hash", "group_by text"]
    runs = [Ended(lambda name=name: rows_of(name)) for name in names]  # type: ignore[misc]
    assert all(ended.wait(60) for ended in runs)
    assert [ended.result for ended in runs] == [
        [50_000] * 3, [200_000] * 3, [200_000] * 3, [50_000] * 3,
    ]  # fmt: skip


def test_an_unread_stream_holds_up_no_other_operation(engine: _native.Engine) -> None:
    table = _native.Table.from_stream(engine, spread_table(600_000, 500_000))
    waiting = pa.RecordBatchReader.from_stream(OPERATIONS["sort stable"](engine, table).stream(1))
    rows = waiting.read_next_batch().num_rows
    for name in ("group_by radix", "sort msd", "partition hash"):
        ended = Ended(OPERATIONS[name](engine, table).count)
        assert ended.wait(30)
        assert ended.result in (500_000, 600_000)
    rows += sum(batch.num_rows for batch in waiting)
    assert rows == 600_000


def test_progress_ends_at_its_total(engine: _native.Engine) -> None:
    table = _native.Table.from_stream(engine, spread_table(300_000, 50_000))
    for name, make in OPERATIONS.items():
        run = make(engine, table)
        read(run)
        phase, done, total = run.progress()
        assert phase, name
        assert 0 <= done <= total or total == 0, name


SCRIPT = """
import gc, numpy as np, pyarrow as pa, crossdock as xd
numbers = np.arange(4_000_000)
keys = (numbers * 2654435761) % 3_999_971
table = pa.table({{"k": keys, "v": numbers, "t": pa.array(keys).cast(pa.utf8())}})
with xd.connect(threads=2, memory="2GiB") as dock:
    rows = dock.from_arrow(table)
    print("started", flush=True)
    try:
        while True:
            {run}
    except KeyboardInterrupt:
        interrupted = True  # what the interrupted frames hold is theirs until here
    gc.collect()
    print(f"interrupted {{interrupted}}, used {{dock.memory_used_bytes}}", flush=True)
"""
RUNS = {
    "group_by": "rows.group_by('k').agg(n=xd.count(), s=xd.sum('v'), t=xd.max('t')).collect()",
    "sort": "rows.sort('t', xd.desc('k')).collect()",
    "top_k": "rows.top_k(1000, 't').collect()",
    "to_batches": "[None for _ in rows.sort('k', stable=True).to_batches()]",
    "distinct": "rows.distinct('t').count()",
    "partition_by": "rows.partition_by('k', partitions=64).rows",
}


@pytest.mark.parametrize("name", list(RUNS))
def test_ctrl_c_ends_an_operation(name: str) -> None:
    output, errors = interrupt_python(SCRIPT.format(run=RUNS[name]))
    assert output == "interrupted True, used 0\n", errors


def test_an_iterator_left_open_does_not_hold_up_the_end_of_the_interpreter() -> None:
    ended = run_python(
        """
import numpy as np, pyarrow as pa, crossdock as xd
keys = (np.arange(1_500_000) * 2654435761) % 999_983
table = pa.table({"k": keys, "t": pa.array(keys).cast(pa.utf8())})
rows = xd.connect(threads=2).from_arrow(table)
batches = [rows.sort("t").to_batches(), rows.join(rows, on="k", suffix="_b").to_batches()]
for each in batches:
    next(each)
print("left open")
""",
        30,
    )
    assert (ended.returncode, ended.stdout) == (0, "left open\n"), ended.stderr
