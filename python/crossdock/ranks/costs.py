"""What moving rows and joining them takes of a rank, to choose how the rows of a join go.

In nanoseconds, as measured with four ranks on two cores (TPC-H at SF5, Granite Rapids).
"""

from __future__ import annotations

_BUILD_NS = 60.0  # of a row of a build side
_ROW_NS = 40.0  # of a row that becomes one of a table that moves
_BYTE_NS = 1.0
STEPS_NS = 4e6  # of the exchanges of a filter, and of a second side by its keys


def built_ns(rows: float) -> float:
    """A hash table of so many rows."""
    return rows * _BUILD_NS


def moved_ns(rows: float, size: float) -> float:
    """So many rows, of so many bytes, from a query to where they go."""
    return rows * _ROW_NS + arrived_ns(size)


def arrived_ns(size: float) -> float:
    """So many bytes that come from other ranks."""
    return size * _BYTE_NS
