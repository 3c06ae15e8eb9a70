"""Runs what recurses deep: DataFusion walks expressions and plans with the stack of its thread."""

from __future__ import annotations

import contextlib
import os
import queue
import threading
from collections.abc import Callable
from concurrent.futures import Future
from typing import Any, TypeVar

Result = TypeVar("Result")

_SHORT = 4_000  # characters: SQL of so many waits for no new thread
_STACK_BYTES = 64 << 20  # for these; of addresses: what is not used is no memory
_DEEP_STACK_BYTES = 512 << 20
_lock = threading.Lock()


class _Standing:
    """A thread that waits for work: to make one with a large stack takes milliseconds."""

    def __init__(self) -> None:
        self._work: queue.SimpleQueue[Callable[[], None]] = queue.SimpleQueue()
        self._process = os.getpid()
        _start(self._serve, _STACK_BYTES, is_daemon=True)

    def is_here(self) -> bool:
        """Whether the thread is one of this process: a fork has none of its parent's."""
        return self._process == os.getpid()

    def run(self, act: Callable[[], None]) -> None:
        self._work.put(act)

    def _serve(self) -> None:
        while True:
            self._work.get()()


_standing: _Standing | None = None


def with_deep_stack(act: Callable[[], Result], characters: int) -> Result:
    """What `act` gives, on a thread whose stack holds the deepest expression that is taken of a
    text of so many characters."""
    future: Future[Any] = Future()

    def run() -> None:
        try:
            future.set_result(act())
        except BaseException as error:  # noqa: BLE001 - raised again by result()
            future.set_exception(error)

    if characters > _SHORT:
        _start(run, _DEEP_STACK_BYTES)
    else:
        _standing_thread().run(run)
    return future.result()  # type: ignore[no-any-return]


def begin(act: Callable[[], object]) -> None:
    """Begins what statements will need; an error of it comes again where it is needed."""

    def run() -> None:
        with contextlib.suppress(Exception):
            act()

    _standing_thread().run(run)


def _standing_thread() -> _Standing:
    global _standing
    with _lock:
        if _standing is None or not _standing.is_here():
            _standing = _Standing()
        return _standing


def _start(act: Callable[[], None], stack_bytes: int, is_daemon: bool = False) -> None:
    """A thread with a stack of its size; others that start meanwhile may have it, too."""
    before = threading.stack_size(stack_bytes)
    try:
        threading.Thread(target=act, name="crossdock sql", daemon=is_daemon).start()
    finally:
        threading.stack_size(before)
