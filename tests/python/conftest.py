"""What the tests of the Python package share: an open dock, and small tables."""

from __future__ import annotations

import functools
import os
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pytest
import rank_processes


@pytest.fixture(autouse=True, scope="session")
def built_in_rates() -> None:
    """What plans choose must not hang on what was measured on this machine before."""
    os.environ["CROSSDOCK_RATES"] = "none"


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2, memory="1GiB") as opened:
        yield opened


@pytest.fixture(scope="module")
def docks() -> Iterator[list[xd.Dock]]:
    """Docks of one, two and three threads."""
    opened = [xd.connect(threads=threads, memory="1GiB") for threads in (1, 2, 3)]
    yield opened
    for dock in opened:
        dock.close()


@pytest.fixture
def people() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([1, 2, 3, 4, None], pa.int64()),
            "name": ["ann", "bob", "cy", None, "eve"],
            "age": pa.array([31, 42, 53, 64, 75], pa.int32()),
        }
    )


@pytest.fixture
def visits() -> pa.Table:
    return pa.table(
        {
            "id": pa.array([2, 3, 3, 9, None], pa.int64()),
            "age": pa.array([1, 2, 3, 4, 5], pa.int32()),
            "cost": [1.5, 2.5, 3.5, 4.5, 5.5],
        }
    )


@pytest.fixture
def left(dock: xd.Dock, people: pa.Table) -> xd.Relation:
    return dock.from_arrow(people)


@pytest.fixture
def right(dock: xd.Dock, visits: pa.Table) -> xd.Relation:
    return dock.from_arrow(visits)


Rows = Callable[[pa.Table], list[tuple[object, ...]]]


@pytest.fixture
def rows_of() -> Rows:
    """The rows of a table as tuples, sorted; NULL before anything else."""

    def sorted_rows(table: pa.Table) -> list[tuple[object, ...]]:
        rows = [tuple(row.values()) for row in table.to_pylist()]
        return sorted(rows, key=lambda row: [(value is not None, value) for value in row])

    return sorted_rows


RunRanks = Callable[..., list[str]]


@pytest.fixture
def no_launcher_started_this(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in list(os.environ):
        if name.startswith(rank_processes.LAUNCHERS):
            monkeypatch.delenv(name)


@pytest.fixture
def group(no_launcher_started_this: None) -> Iterator[xd.Group]:
    """Of this process alone."""
    with xd.join_group(memory="256MiB") as joined:
        yield joined


@pytest.fixture
def run_ranks(tmp_path: Path, no_launcher_started_this: None) -> RunRanks:
    """Runs a program as some ranks of a group: `run_ranks(program, ranks, within_s=60)`."""
    return functools.partial(_run_ranks, folder=tmp_path)


def _run_ranks(program: str, ranks: int, *, folder: Path, within_s: float = 60) -> list[str]:
    """What each rank of `program` prints, by rank. AssertionError with its errors if one fails."""
    command = [sys.executable, "-c", program]
    # Small tables take the way of large ones, unless a test says otherwise.
    environment = {"CROSSDOCK_EAGER_BYTES": "0", **os.environ, "CROSSDOCK_JOB": "test"}
    meet = folder / "meet"
    ended = rank_processes.run_ranks(
        command, ranks, meet, within_s=within_s, environment=environment
    )
    for rank, one in enumerate(ended):
        assert one.code == 0, f"rank {rank}: {one.err}"
    return [one.out for one in ended]
