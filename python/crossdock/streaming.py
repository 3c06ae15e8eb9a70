"""Reads Arrow streams: at once, or batch by batch so that Ctrl-C works while one is awaited."""

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


def interruptible(reader: Any, cancel: Callable[[], None]) -> Iterator[Any]:
    """The batches of `reader`, which another thread waits for, one ahead.

    pyarrow waits for a batch without looking for signals, and the first batch of a large join can
    take seconds; a queue of Python does look. When this iterator is left early, by an error or
    because nobody wants more, `cancel` is called and the other thread has ended.
    """
    ready: queue.Queue[tuple[Any, BaseException | None]] = queue.Queue(1)
    pump = threading.Thread(target=_pump, args=(reader, ready), daemon=True)
    pump.start()
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
        while pump.is_alive():
            with contextlib.suppress(queue.Empty):
                ready.get(timeout=0.01)
            pump.join(0.001)


def _pump(reader: Any, ready: queue.Queue[tuple[Any, BaseException | None]]) -> None:
    try:
        for batch in reader:
            ready.put((batch, None))
    except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
        ready.put((None, error))
    else:
        ready.put((None, None))
