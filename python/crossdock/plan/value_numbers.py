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


def number_unit(data_type: pa.DataType) -> tuple[float, float] | None:
    """How a value that lies as a whole number becomes that of `number_of`: divided by the first
    number, plus the second; None for types that it has no numbers for."""
    if pa.types.is_timestamp(data_type):
        return _TICKS_PER_SECOND[data_type.unit], 0
    if pa.types.is_date32(data_type):
        return 1, _EPOCH_DAY
    if pa.types.is_decimal128(data_type):
        return 10.0**data_type.scale, 0
    return (1, 0) if pa.types.is_integer(data_type) or pa.types.is_floating(data_type) else None
