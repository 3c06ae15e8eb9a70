"""Operators that are stopped or have too little memory: clear errors, and nothing left behind."""

from __future__ import annotations

import _thread
import gc
import os
import signal
import threading
import time
from collections.abc import Callable
from pathlib import Path
from types import FrameType

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

ROWS = 2_000_000
WEAK_REFERENCES = ("_weakrefset.py", "weakref.py")  # of Python's library
PATIENCE_S = 60  # for what comes at once on an idle machine


@pytest.fixture(scope="module")
def scattered() -> pa.Table:
    """Keys that are all different and in no order."""
    keys = pc.random(ROWS, initializer=7)
    return pa.table({"k": pc.cast(pc.multiply(keys, 2.0**62), pa.int64(), safe=False),
                     "v": pa.array(range(ROWS), pa.int64())})  # fmt: skip


RUNS: dict[str, Callable[[xd.Relation], object]] = {
    "group_by": lambda rows: rows.group_by("k").agg(s=xd.sum("v")).count(),
    "distinct": lambda rows: rows.distinct("k").collect(),
    "sort": lambda rows: rows.sort("k").collect(),
    "sorted batches": lambda rows: [b.num_rows for b in rows.sort("k", "v").to_batches()],
    "arg_sort": lambda rows: rows.arg_sort(xd.desc("k")).collect(),
    "merge_join": lambda rows: rows.join(rows, on="k", strategy="merge").collect(),
    "partition_by": lambda rows: rows.partition_by("k").rows,
}


def wait_until_free(dock: xd.Dock) -> int:
    """Bytes in use once threads that end have ended."""
    give_up_s = time.monotonic() + PATIENCE_S
    dock.trim()
    while dock.memory_used_bytes > 0 and time.monotonic() < give_up_s:
        time.sleep(0.01)
        dock.trim()
    return dock.memory_used_bytes


@pytest.mark.parametrize("name", list(RUNS))
def test_over_the_budget_is_an_error_and_gives_all_memory_back(
    scattered: pa.Table, name: str
) -> None:
    with xd.connect(threads=2, memory="16MiB") as dock:
        with pytest.raises(xd.CapacityError, match=r"16.0[0 ]*MiB(.|\n)*try") as caught:
            RUNS[name](dock.from_arrow(scattered))
        assert caught.value.code == "CD-201"
        del caught
        assert wait_until_free(dock) == 0
        few = dock.from_arrow(scattered.slice(0, 100))
        assert few.group_by("k").agg(s=xd.sum("v")).sort("k").count() == 100


def work_after_ctrl_c(run: Callable[[], object]) -> float:
    """Seconds of processor time that a run, begun again and again, takes from Ctrl-C to its end:
    how long those are on a busy machine says nothing."""
    sent_at_s: list[float] = []

    def interrupt() -> None:
        sent_at_s.append(time.process_time())
        os.kill(os.getpid(), signal.SIGINT)

    def run_again_and_again() -> None:
        for _ in range(1000):
            run()

    timer = threading.Timer(0.1, interrupt)
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            run_again_and_again()
    finally:
        timer.cancel()
    return time.process_time() - sent_at_s[0]


@pytest.mark.parametrize("name", list(RUNS))
def test_ctrl_c_stops_a_run_and_the_dock_works_on(scattered: pa.Table, name: str) -> None:
    with xd.connect(threads=2, memory="2GiB") as dock:
        rows = dock.from_arrow(scattered)
        assert work_after_ctrl_c(lambda: RUNS[name](rows)) < 2
        assert dock.progress() is None
        assert rows.limit(100).sort("v", limit=2).count() == 2


def threads_beyond(before: int) -> int:
    """How many more threads Python has than `before`, once those that end have ended. pytest-xdist
    has threads of its own."""
    give_up_s = time.monotonic() + PATIENCE_S
    while _thread._count() > before and time.monotonic() < give_up_s:
        time.sleep(0.01)
    return _thread._count() - before


def raise_interrupt(signum: int, frame: FrameType | None) -> None:
    """Python drops what is raised within the callback of a weak reference: then a moment later."""
    if frame is not None and Path(frame.f_code.co_filename).name in WEAK_REFERENCES:
        signal.setitimer(signal.ITIMER_REAL, 0.0001)
    else:
        raise KeyboardInterrupt


def interrupted_after(seconds: float, run: Callable[[], object]) -> bool:
    try:
        signal.setitimer(signal.ITIMER_REAL, seconds)
        run()
        signal.setitimer(signal.ITIMER_REAL, 0)
        time.sleep(0)  # where a signal that came before this is seen
    except KeyboardInterrupt:
        return True
    return False


@pytest.mark.parametrize("name", ["distinct", "sorted batches"])
def test_an_interrupt_at_any_moment_leaves_nothing_behind(name: str) -> None:
    values = pa.array(range(1_200_000), pa.int64())
    before = signal.signal(signal.SIGALRM, raise_interrupt)
    threads = _thread._count()
    # Python drops what a signal's handler raises within a callback of the collector (Hypothesis has
    # one), and pytest keeps it, with the frames below and all that they hold.
    gc.disable()
    try:
        with xd.connect(threads=2) as dock:
            rows = dock.from_arrow(pa.table({"k": values, "v": values}))
            interrupted = 0
            for step in range(60):
                interrupted += interrupted_after(0.0003 * (step + 1), lambda: RUNS[name](rows))
                assert wait_until_free(dock) == 0
                assert threads_beyond(threads) == 0
            assert interrupted > 0
    finally:
        gc.enable()
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("name", ["group_by", "sort"])
def test_an_iterator_that_is_dropped_ends_its_run(scattered: pa.Table, name: str) -> None:
    with xd.connect(threads=2, memory="1GiB") as dock:
        rows = dock.from_arrow(scattered)
        relation = rows.sort("k") if name == "sort" else rows.group_by("k").agg(n=xd.count())
        batches = relation.to_batches()
        assert next(batches).num_rows > 0
        del batches
        assert dock.progress() is None
        reader = pa.RecordBatchReader.from_stream(relation)
        assert reader.read_next_batch().num_rows > 0
        del reader, rows, relation
        assert wait_until_free(dock) == 0


def test_progress_names_a_phase(scattered: pa.Table) -> None:
    with xd.connect(threads=1) as dock:
        seen: set[str] = set()
        done = threading.Event()

        def watch() -> None:
            while not done.is_set():
                state = dock.progress()
                if state is not None:
                    seen.add(state[0])
                    assert state[1] >= 0
                time.sleep(0.001)

        watcher = threading.Thread(target=watch)
        watcher.start()
        try:
            dock.from_arrow(scattered).sort("k", "v").collect()
        finally:
            done.set()
            watcher.join()
        assert len(seen - {"waiting"}) >= 2


def test_threads_may_share_a_dock(scattered: pa.Table) -> None:
    with xd.connect(threads=2, memory="2GiB") as dock:
        rows = dock.from_arrow(scattered.slice(0, 50_000))
        result: list[int] = []

        def work() -> None:
            for _ in range(5):
                result.append(rows.group_by("k").agg(n=xd.count()).count())
                result.append(rows.sort("k").collect().num_rows)
                result.append(sum(rows.partition_by("k").rows))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert result == [50_000] * 60


def test_what_an_expression_raises_comes_out_of_the_operator_above(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"t": ["1", "x"], "v": [1, 2]}))
    number = rows.select(n=xd.col("t").cast("int64"), v="v")
    for run in (number, number.sort("n"), number.group_by("n").agg(s=xd.sum("v"))):
        with pytest.raises(xd.ExpressionError) as caught:
            run.collect()
        assert "Traceback" not in str(caught.value)


def test_ctrl_c_reaches_a_run_of_few_rows(dock: xd.Dock) -> None:
    few = pa.array(range(400_000), pa.int64())
    rows = dock.from_arrow(pa.table({"k": few, "v": few}))
    many = {f"q{i}": xd.quantile("v", i / 40) for i in range(40)}
    assert work_after_ctrl_c(lambda: rows.group_by("k").agg(**many).collect()) < 5
