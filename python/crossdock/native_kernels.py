"""What expressions compute in the engine because pyarrow has no such kernel, or one of 16 bits.

Values are pyarrow Scalars, Arrays and ChunkedArrays, and so are results. Pure and thread-safe.
"""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock import _native
from crossdock.type_checks import checking_engine

CALENDAR_PARTS = frozenset(("year", "month", "day"))
# pyarrow's years have 16 bits: these bounds, some 28,000 years around 1970, are within.
_SAFE_DAYS = 10_000_000
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


def divide_floats(function: str, left: Any, right: Any) -> Any:
    """ "floor_divide" or "remainder" of two floats of one type, as in Python."""
    return _computed(function, left, right)


def calendar_part(part: str, value: Any) -> Any:
    """One of CALENDAR_PARTS of a date or timestamp, of whatever year."""
    if not _leaves_16_bits(value):
        return pc.call_function(part, [value])
    local = pc.local_timestamp(value) if getattr(value.type, "tz", None) else value
    return _computed(part, local)


def _leaves_16_bits(value: Any) -> bool:
    data_type = value.type
    if pa.types.is_date32(data_type):
        bound, ticks = _SAFE_DAYS, pa.int32()
    elif pa.types.is_timestamp(data_type) and data_type.unit != "ns":
        bound, ticks = _SAFE_DAYS * _PER_DAY[data_type.unit], pa.int64()
    elif pa.types.is_date64(data_type):
        bound, ticks = _SAFE_DAYS * _PER_DAY["ms"], pa.int64()
    else:
        return False
    ends = pc.min_max(value if not isinstance(value, pa.Scalar) else pa.array([value], data_type))
    least, largest = (ends[end].cast(ticks).as_py() for end in ("min", "max"))
    return least is not None and (least < -bound or largest > bound)


def _computed(function: str, *values: Any) -> Any:
    rows = max((len(value) for value in values if not isinstance(value, pa.Scalar)), default=1)
    columns = [pa.repeat(v, rows) if isinstance(v, pa.Scalar) else v for v in values]
    names = [f"{i}" for i in range(len(columns))]
    engine = checking_engine()
    table = _native.Table.from_stream(engine, pa.table(columns, names=names))
    call = json.dumps({"call": function, "of": [{"column": name} for name in names]})
    made = pa.RecordBatchReader.from_stream(
        _native.compute_columns(engine, table, [("value", call)])
    )
    found = made.read_all()["value"]
    if any(isinstance(value, pa.ChunkedArray) for value in values):
        return found
    whole = pa.concat_arrays([pa.array([], found.type), *found.chunks])
    return whole[0] if all(isinstance(value, pa.Scalar) for value in values) else whole
