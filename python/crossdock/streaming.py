"""Reads Arrow streams and runs joins so that Ctrl-C works while they are awaited."""

from __future__ import annotations

import contextlib
import queue
import threading
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa


def read_stream(source: Any) -> Any:
    """All of an Arrow stream as a pyarrow.Table, zero copy. (`pyarrow.table(source)` is the same,
    but imports pandas where it is installed, which takes most of a second.)"""
    return pa.RecordBatchReader.from_stream(source).read_all()


def call_interruptibly(
    work: Callable[[], Any], cancel: Callable[[], None], may_be_long: bool
) -> Any:
    """What `work` returns or raises. If it may be long, another thread does it, and this one waits
    where Ctrl-C reaches it: then `cancel` is called and waited for."""
    if not may_be_long:
        return work()
    result: list[Any] = []
    failure: list[BaseException] = []
    # Not Thread.join: interrupted, it takes a thread that still runs for one that has ended.
    done = threading.Event()

    def attempt() -> None:
        try:
            result.append(work())
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            failure.append(error)
        finally:
            done.set()

    threading.Thread(target=attempt, daemon=True).start()
    try:
        done.wait()
        if failure:
            raise failure[0]
        return result[0]
    except BaseException:
        if not done.is_set():
            cancel()
            done.wait()
        raise
    finally:
        failure.clear()  # or the failure and its trace-back would hold each other, and the join


def interruptible(reader: Any, cancel: Callable[[], None]) -> Iterator[Any]:
    """The batches of `reader`, which another thread waits for, one ahead.

    pyarrow waits for a batch without looking for signals, and the first batch of a large join can
    take seconds; a queue of Python does look. When this iterator is left early, by an error or
    because nobody wants more, `cancel` is called and the other thread has ended.
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(1)
    done = threading.Event()
    threading.Thread(target=_pump, args=(reader, ready, done), daemon=True).start()
    finished = False
    try:
        while not finished:
            batch, error = ready.get()
            finished = batch is None
            if error is not None:
                raise error
            if batch is not None:
                yield batch
    finally:
        if not finished:
            cancel()
        while not done.wait(0.001):
            _empty(ready)
        # An error left in the queue, or here, would hold its trace-back, and that the queue, the
        # stream and a batch.
        _empty(ready)
        error = None


def _empty(ready: queue.Queue[tuple[Any, BaseException | None]]) -> None:
    with contextlib.suppress(queue.Empty):
        while True:
            ready.get_nowait()


def _pump(
    reader: Any, ready: queue.Queue[tuple[Any, BaseException | None]], done: threading.Event
) -> None:
    try:
        for batch in reader:
            ready.put((batch, None))
    except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
        ready.put((None, error))
    else:
        ready.put((None, None))
    finally:
        done.set()
