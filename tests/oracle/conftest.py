"""What the oracle tests share: their modules on the path, and one engine per number of threads."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import duckdb
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


@pytest.fixture(scope="module")
def engine(engine_of: EngineOf) -> _native.Engine:
    return engine_of(2)


@pytest.fixture(scope="module")
def connection(request: pytest.FixtureRequest) -> Iterator[Any]:
    """DuckDB with the module's TABLE as `t`."""
    with duckdb.connect(config={"threads": 1}) as opened:
        opened.register("t", request.module.TABLE)
        yield opened
