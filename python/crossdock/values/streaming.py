"""Reads Arrow streams, so that Ctrl-C works while they are awaited."""

from __future__ import annotations

import _thread
import atexit
import contextlib
import queue
import time
import weakref
from collections.abc import Callable, Iterator
from typing import Any, TypeAlias

import pyarrow as pa

from crossdock.errors import system_limits


def read_stream(source: Any) -> pa.Table:
    """All of an Arrow stream as a pyarrow.Table, zero copy. (`pyarrow.table(source)` is the same,
    but imports pandas where it is installed, which takes most of a second.) Batches without rows
    are left out: where they are slices, pyarrow takes their buffers to be empty and writes IPC that
    begins before them, which nothing reads."""
    reader = pa.RecordBatchReader.from_stream(source)
    return pa.Table.from_batches([batch for batch in reader if batch.num_rows], reader.schema)


def interruptible(
    reader: pa.RecordBatchReader, cancel: Callable[[], None]
) -> Iterator[pa.RecordBatch]:
    """The batches of `reader`, which another thread waits for, one ahead.

    pyarrow waits for a batch without looking for signals, and the first batch of a large join can
    take seconds; a queue of Python does look. When this iterator is left early, by an error or
    because no more is needed, `cancel` is called and the other thread has ended.
    """
    pump = _Pump(reader, cancel)
    try:
        pump.start()
        yield from pump.batches()
    finally:
        pump.end()


def unawaited(reader: pa.RecordBatchReader) -> Iterator[pa.RecordBatch]:
    """The batches of a `reader` of files, each read by another thread when it is asked for. A read
    that takes long does not hold up Ctrl-C, nor who leaves this iterator: it goes on by itself, and
    is the last one. What the reader holds ends in its thread, for which the interpreter waits."""
    asked: queue.SimpleQueue[bool] = queue.SimpleQueue()
    ready: queue.SimpleQueue[_Answer] = queue.SimpleQueue()

    def read() -> None:
        nonlocal reader
        while asked.get():
            try:
                with under_way():
                    batch = next(reader, None)
                ready.put((batch, None))
                batch = None
            except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
                ready.put((None, error))
        reader = None
        _under_way.pop()

    with system_limits("a result that is streamed"):
        _thread.start_new_thread(read, ())
    try:
        yield from _asked_for(asked, ready)
    finally:
        _under_way.append(None)  # here, or the interpreter could be gone before the thread runs
        asked.put(False)


_Answer: TypeAlias = (
    "tuple[pa.RecordBatch | None, BaseException | None]"  # a batch, None at the end; or an error
)


def _asked_for(
    asked: queue.SimpleQueue[bool], ready: queue.SimpleQueue[_Answer]
) -> Iterator[pa.RecordBatch]:
    """The batches of another thread, each asked for when it is wanted."""
    while True:
        asked.put(True)
        batch, error = ready.get()
        if error is not None:
            try:
                raise error
            finally:
                error = None  # or it and its trace-back would hold each other, and the stream
        if batch is None:
            return
        yield batch


def in_pieces(batches: Iterator[pa.RecordBatch], most_rows: int) -> Iterator[pa.RecordBatch]:
    """The batches, those of more rows than `most_rows` in several."""
    for batch in batches:
        for begin in range(0, max(1, batch.num_rows), most_rows):
            yield batch.slice(begin, most_rows)


def limited_batches(
    batches: Iterator[pa.RecordBatch], rows: int, offset: int
) -> Iterator[pa.RecordBatch]:
    """`rows` rows after the first `offset`. Nothing is read after the last of them; what runs below
    ends when its iterator is dropped, with this one."""
    skip, left = offset, rows
    while left > 0:
        batch = next(batches, None)
        if batch is None:
            return
        kept = batch.slice(min(skip, batch.num_rows), left)
        skip -= min(skip, batch.num_rows)
        left -= kept.num_rows
        if kept.num_rows:
            yield kept


class _Pump:
    """A thread that reads batches, one ahead of who takes them. Whatever interrupts its making or
    its use, `end` leaves no thread behind: nothing here waits but in calls that a signal cannot
    leave half done, as it can those of queue.Queue, threading.Event and threading.Thread."""

    def __init__(self, reader: pa.RecordBatchReader, cancel: Callable[[], None]) -> None:
        self._reader = reader
        self._cancel = cancel
        self._wanted: queue.SimpleQueue[bool] = queue.SimpleQueue()  # one True a batch
        self._ready: queue.SimpleQueue[_Answer] = queue.SimpleQueue()
        # Who takes the token decides: the thread, that it reads, or `end`, that it never will. Who
        # is interrupted in `start` cannot know whether there is a thread already.
        self._token = [True]
        self._ended = False
        _pumps.add(self)

    def start(self) -> None:
        self._wanted.put(True)
        with system_limits("a result that is streamed"):
            _thread.start_new_thread(self._run, ())

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from _asked_for(self._wanted, self._ready)

    def end(self) -> None:
        """Waits until nothing reads, and nothing will. May be called twice."""
        if self._take_token():
            self._ended = True
        interruption: BaseException | None = None
        while not self._ended:
            try:
                self._wanted.put(False)
                self._cancel()
                time.sleep(0.001)
            except BaseException as error:  # noqa: BLE001 - a signal; raised when all is ended
                interruption = error
        if interruption is not None:
            raise interruption
        with contextlib.suppress(queue.Empty):  # an error in it would hold the stream
            while True:
                self._ready.get_nowait()

    def _take_token(self) -> bool:
        with contextlib.suppress(IndexError):
            return self._token.pop()
        return False

    def _run(self) -> None:
        if not self._take_token():
            return
        try:
            while self._wanted.get() and (batch := next(self._reader, None)) is not None:
                self._ready.put((batch, None))
            self._ready.put((None, None))
        except BaseException as error:  # noqa: BLE001 - it is raised in the thread that waits
            self._ready.put((None, error))
        finally:
            self._ended = True


# Iterators still open when the interpreter ends: its end would stop their threads in the middle of
# the engine, and then wait for them.
_pumps: weakref.WeakSet[_Pump] = weakref.WeakSet()


# Reads that no thread waits for any more: one that called Python when the interpreter is gone would
# end the process with an error.
_under_way: list[None] = []
_END_S = 3.0


@contextlib.contextmanager
def under_way() -> Iterator[None]:
    """While a thread reads that may be left alone. The end of the interpreter waits for it a
    little."""
    _under_way.append(None)
    try:
        yield
    finally:
        _under_way.pop()


@atexit.register
def _end_reads() -> None:
    for pump in list(_pumps):
        pump.end()
    last = time.monotonic() + _END_S
    while _under_way and time.monotonic() < last:
        time.sleep(0.01)
