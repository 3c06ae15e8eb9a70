"""A progress bar on standard error, for runs that take longer than two seconds on a terminal.

A thread asks the dock ten times a second; the run itself does nothing for it.
"""

from __future__ import annotations

import contextlib
import sys
import threading
from collections.abc import Iterator
from typing import Any

import crossdock as xd

from crossdock_cli import output

_PATIENCE_S = 2.0
_PERIOD_S = 0.1


@contextlib.contextmanager
def progress_bar(dock: xd.Dock, is_shown: bool = True) -> Iterator[None]:
    """Shows the progress of what runs on `dock` inside, if standard error is a terminal."""
    if not is_shown or output.is_hushed() or not sys.stderr.isatty():
        yield
        return
    done = threading.Event()
    watcher = threading.Thread(target=_watch, args=(dock, done), daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()


def _watch(dock: xd.Dock, done: threading.Event) -> None:
    if done.wait(_PATIENCE_S):
        return
    with make_bar(sys.stderr) as bar:
        task, phase = None, ""
        while not done.wait(_PERIOD_S):
            state = dock.progress()
            if state is None:
                continue
            if task is None or state[0] != phase:
                if task is not None:
                    bar.remove_task(task)
                phase = state[0]
                task = bar.add_task(phase, total=state[2] or None)
            bar.update(task, completed=state[1], total=state[2] or None)


def make_bar(stream: Any) -> Any:
    """The bar: phase, bar, percentage, rows per second, time to go. Obeys NO_COLOR."""
    from crossdock.sizes import format_count
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        Progress,
        TaskProgressColumn,
        TextColumn,
        TimeRemainingColumn,
    )

    class Rate(TextColumn):
        """Rows per second of the running phase."""

        def __init__(self) -> None:
            super().__init__("")

        def render(self, task: Any) -> Any:
            from rich.text import Text

            return Text(f"{format_count(task.speed)} rows/s" if task.speed else "")

    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        TaskProgressColumn(),
        Rate(),
        TextColumn("eta"),
        TimeRemainingColumn(),
        console=Console(file=stream),
        transient=True,
    )
