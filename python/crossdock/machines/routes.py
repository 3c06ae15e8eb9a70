"""Where rows go between ranks, as options of the engine."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error, unknown_column
from crossdock.option_checks import require_integer


def routing(
    schema: pa.Schema, by: str | Sequence[str] | None, to: str | None, broadcast: bool
) -> dict[str, Any]:
    """The rule of a channel, as options of the engine."""
    rules = {"by": by is not None, "to": to is not None, "broadcast": broadcast}
    given = [name for name, is_given in rules.items() if is_given]
    if len(given) > 1:
        raise make_error(
            "CD-105", f"channel() takes one of {' and '.join(given)}", try_=f"{given[0]}= alone"
        )
    if broadcast:
        return {"sends": "broadcast"}
    if not given:
        return {"sends": "named"}
    names = [to] if to is not None else [by] if isinstance(by, str) else list(by or ())
    if not names:
        raise make_error("CD-105", "channel(by=[]) names no column", try_='by="k"')
    keys = []
    for name in names:
        if name not in schema.names:
            raise unknown_column(str(name), schema.names, "the schema of the channel")
        keys.append(schema.names.index(name))
    return {"sends": "routed", "by": "explicit" if to is not None else "key", "keys": keys}


def range_of(bounds: pa.Table, by: str | Sequence[str] | None) -> dict[str, Any]:
    """The rule of a channel whose ranges are given, as options of the engine."""
    if by is None:
        raise make_error("CD-105", "channel(bounds=...) are bounds of columns", try_='by="k"')
    names = [by] if isinstance(by, str) else list(by)
    table = pa.table(bounds)
    for name in names:
        if name not in table.schema.names:
            raise unknown_column(str(name), table.schema.names, "the bounds of the channel")
    batches = table.select(names).combine_chunks().to_batches()
    none = pa.RecordBatch.from_pylist([], table.select(names).schema)
    return {"by": "range", "bounds": batches[0] if batches else none}


def hashed_to(assignment: Sequence[int], by: object) -> dict[str, Any]:
    """The rule of a channel whose partitions are assigned, as options of the engine."""
    if by is None:
        raise make_error(
            "CD-105", "channel(assignment=...) is one of partitions of columns", try_='by="k"'
        )
    what = "channel(assignment=...) takes numbers of destinations"
    numbers = list(assignment)
    if any(type(number) is not int for number in numbers):
        numbers = [require_integer(number, what, "[0, 1]") for number in numbers]
    if not numbers or min(numbers) < 0 or max(numbers) >= 1 << 16:
        raise make_error("CD-105", what, limits="0 to 65,535, at least one", try_="[0, 1]")
    return {"by": "hash", "assignment": numbers}
