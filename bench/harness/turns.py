"""Processes that make the same files take turns: tests run several benches side by side."""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def turn_at(folder: Path) -> Iterator[None]:
    """Waits until no other process has its turn at `folder`, which need not exist."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    with folder.with_name(f"{folder.name}.lock").open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield
