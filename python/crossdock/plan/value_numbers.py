"""Values as numbers, for estimates: where in a range a value lies."""

from __future__ import annotations

import datetime
from decimal import Decimal
from typing import Any

import pyarrow as pa

_TICKS_PER_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_EPOCH_DAY = datetime.date(1970, 1, 1).toordinal()


def number_of(value: Any) -> float | None:
    """A value of Python or Arrow as a number, moments as seconds, dates as days, also of years that
    Python has not; None where it is none."""
    if isinstance(value, pa.Scalar):
        if value.is_valid and pa.types.is_timestamp(value.type):
            return float(value.cast(pa.int64()).as_py() / _TICKS_PER_SECOND[value.type.unit])
        if value.is_valid and pa.types.is_date(value.type):
            return float(value.cast(pa.date32()).cast(pa.int32()).as_py() + _EPOCH_DAY)
        value = value.as_py()
    if isinstance(value, bool) or value is None:
        return None
    if isinstance(value, int | float | Decimal):
        return float(value)
    if isinstance(value, datetime.datetime):
        return value.timestamp() if value.tzinfo else value.replace(tzinfo=datetime.UTC).timestamp()
    return float(value.toordinal()) if isinstance(value, datetime.date) else None
