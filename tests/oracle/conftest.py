"""What the oracle tests share: their modules on the path, and one engine per number of threads."""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from crossdock import _native

sys.path.insert(0, str(Path(__file__).parent))

MEMORY_BYTES = 2 << 30

EngineOf = Callable[[int], _native.Engine]


@pytest.fixture(scope="session")
def engine_of() -> EngineOf:
    """The engine with so many worker threads."""
    engines: dict[int, _native.Engine] = {}

    def engine(threads: int) -> _native.Engine:
        if threads not in engines:
            engines[threads] = _native.Engine(threads=threads, memory_bytes=MEMORY_BYTES)
        return engines[threads]

    return engine
