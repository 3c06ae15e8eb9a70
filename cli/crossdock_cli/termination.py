"""Removes unfinished files when a signal ends a run that writes."""

from __future__ import annotations

import contextlib
import os
import signal
import threading
from collections.abc import Iterator

_SIGNALS = (signal.SIGTERM, signal.SIGHUP)


@contextlib.contextmanager
def removing_unfinished() -> Iterator[None]:
    """Inside, SIGTERM and SIGHUP end the process with 128 + their number, after what it has not
    finished writing is removed. A thread waits for them: the main thread may be in a long call,
    after which only it would look for signals."""
    receiver, sender = os.pipe()
    os.set_blocking(sender, False)  # as set_wakeup_fd asks
    heeded = [number for number in _SIGNALS if signal.getsignal(number) != signal.SIG_IGN]
    descriptor = signal.set_wakeup_fd(sender, warn_on_full_buffer=False)
    before = {number: signal.signal(number, lambda *_: None) for number in heeded}
    watcher = threading.Thread(target=_watch, args=(receiver,), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
        signal.set_wakeup_fd(descriptor)
        os.close(sender)
        watcher.join()
        os.close(receiver)


def _watch(receiver: int) -> None:
    from crossdock.files.replacement import remove_unfinished

    while number := os.read(receiver, 1):
        if number[0] in _SIGNALS:
            remove_unfinished()
            os._exit(128 + number[0])
