"""Casts that give NULL for a value that does not fit, where `cast` ends with an error."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import cast
from crossdock.values.arrow_kinds import Datum

# Strings that no parser of numbers or of moments takes: the others are tried, which is slow for
# those that fail.
_NUMBERS = r"^[-+0-9.eExXa-fA-F]+$"
_MOMENTS = r"^[-+0-9:./TZ ]+$"


def try_cast(value: Datum, data_type: pa.DataType) -> Datum:
    """The value as another type; NULL where it does not fit. ArrowException where no value of the
    type can be one of the other."""
    cast(pa.array([], value.type), data_type)  # of types that have no cast, no value is tried
    try:
        return cast(value, data_type)
    except (pa.ArrowInvalid, OverflowError):
        pass
    if isinstance(value, pa.Scalar):
        return pa.scalar(None, data_type)
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if pa.types.is_dictionary(value.type):
        value = value.cast(value.type.value_type)
    codes = value.dictionary_encode()  # each value is tried once
    return _tried(_possible(codes.dictionary, data_type), data_type).take(codes.indices)


def _possible(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The values, those that cannot be cast as NULL."""
    if values.type not in (pa.string(), pa.large_string()):
        return values
    pattern = ""
    if pa.types.is_integer(data_type) or pa.types.is_decimal(data_type):
        pattern = _NUMBERS
    elif pa.types.is_date(data_type) or pa.types.is_timestamp(data_type):
        pattern = _MOMENTS
    if not pattern:
        return values
    fits = pc.match_substring_regex(values, pattern)
    return pc.if_else(fits, values, pa.scalar(None, values.type))


def _tried(values: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The values, halved until those that fail are alone."""
    try:
        return cast(values, data_type)
    except (pa.ArrowInvalid, OverflowError):
        if len(values) == 1:
            return pa.nulls(1, data_type)
    middle = len(values) // 2
    halves = (values.slice(0, middle), values.slice(middle))
    return pa.concat_arrays([_tried(half, data_type) for half in halves])
