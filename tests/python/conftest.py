"""What the tests of the Python package share: an open dock, and small tables."""

from __future__ import annotations

import signal
from collections.abc import Callable, Iterator

import crossdock as xd
import pyarrow as pa
import pytest


@pytest.fixture(autouse=True, scope="session")
def ctrl_c() -> None:
    """Started by a shell in the background, the tests would inherit that Ctrl-C is ignored."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2, memory="1GiB") as opened:
        yield opened


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


Rows = Callable[[pa.Table], list[tuple[object, ...]]]


@pytest.fixture
def rows_of() -> Rows:
    """The rows of a table as tuples, sorted; NULL before anything else."""

    def sorted_rows(table: pa.Table) -> list[tuple[object, ...]]:
        rows = [tuple(row.values()) for row in table.to_pylist()]
        return sorted(rows, key=lambda row: [(value is not None, value) for value in row])

    return sorted_rows
