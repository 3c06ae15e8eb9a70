"""Rows of files of text that are set aside since they are not as their columns say, as rows of a
table."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa

_ROWS_AT_ONCE = 1024

REJECTS = pa.schema([
    ("filename", pa.string()), ("line", pa.int64()), ("column", pa.string()),
    ("value", pa.string()), ("reason", pa.string()), ("text", pa.string()),
])  # fmt: skip


@dataclass(frozen=True)
class Reject:
    """A row that was set aside: where it begins in its file, and why."""

    line: int  # from 1; of JSON without an object per line, its number
    column: str | None  # None: what is wrong is not one value
    value: str | None
    reason: str
    text: str


TakeReject: TypeAlias = Callable[[Reject], None]


def reject_batches(rejects: Iterable[Reject], path: str) -> Iterator[pa.RecordBatch]:
    """Rejects of a file as rows of REJECTS."""
    left = iter(rejects)
    while some := list(itertools.islice(left, _ROWS_AT_ONCE)):
        columns = [
            [path] * len(some),
            *([getattr(one, name) for one in some] for name in REJECTS.names[1:]),
        ]
        arrays = [
            pa.array(column, field.type) for column, field in zip(columns, REJECTS, strict=True)
        ]
        yield pa.RecordBatch.from_arrays(arrays, schema=REJECTS)
