"""Strings of values, and values of strings, as people and SQL write them: what the engine does not
know, which is times of a day and instants of time zones.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import cast
from crossdock.expressions.native_kernels import of_a_type, zone_offsets
from crossdock.expressions.try_casts import try_cast
from crossdock.values.arrow_kinds import Datum


def parsed_as(value: Datum, data_type: pa.DataType) -> Datum:
    """Strings as values of a type, in whatever form they are written. ArrowInvalid for one that is
    none."""
    if pa.types.is_time(data_type):
        return _time_of(cast(_of_first_day(value), pa.timestamp("us")), data_type)
    if not _has_zone(data_type):
        return of_a_type("parsed_as", value, data_type)
    values = _instants(value, data_type)
    wrong = pc.and_(pc.is_null(values), pc.is_valid(value))
    if isinstance(value, pa.Scalar):
        return cast(value, data_type) if wrong.as_py() else values
    if pc.any(wrong).as_py():
        cast(value.filter(wrong).slice(0, 1), data_type)
    return values


def try_parsed_as(value: Datum, data_type: pa.DataType) -> Datum:
    """The same, with NULL for a string that is no value."""
    if pa.types.is_time(data_type):
        return _time_of(try_cast(_of_first_day(value), pa.timestamp("us")), data_type)
    if _has_zone(data_type):
        return _instants(value, data_type)
    return of_a_type("try_parsed_as", value, data_type)


def written(value: Datum, data_type: pa.DataType) -> Datum:
    """Values as SQL writes them, in a type of strings."""
    if not _has_zone(value.type):
        return of_a_type("written", value, data_type)
    clocks = of_a_type("written", pc.local_timestamp(value), data_type)
    return pc.binary_join_element_wise(clocks, zone_offsets(value).cast(data_type), "")


def _has_zone(data_type: pa.DataType) -> bool:
    return pa.types.is_timestamp(data_type) and data_type.tz is not None


def _of_first_day(value: Datum) -> Datum:
    """Times of a day as instants, which Arrow reads."""
    return pc.binary_join_element_wise("1970-01-01", value, " ")


def _time_of(instants: Datum, data_type: pa.DataType) -> Datum:
    return pc.cast(pc.cast(instants, pa.time64("us")), data_type)


def _instants(value: Datum, data_type: pa.DataType) -> Datum:
    """Strings with an offset as instants, the others as what clocks of the zone show; NULL for what
    is neither."""
    if pa.types.is_dictionary(value.type):
        value = pc.cast(value, value.type.value_type)
    strings = pc.utf8_trim_whitespace(value)
    clocks = pc.assume_timezone(
        try_parsed_as(strings, pa.timestamp(data_type.unit)),
        data_type.tz,
        ambiguous="latest",
        nonexistent="latest",
    )
    return pc.coalesce(try_cast(strings, data_type), clocks)


def instant_of_zone(value: Datum, zone: str) -> Datum:
    """Timestamps without a zone as instants: times that clocks of a zone show twice are the second
    one, and those that they skip are counted on from the time before."""
    zoned = pc.assume_timezone(value, zone, ambiguous="latest", nonexistent="latest")
    utc = pa.timestamp(value.type.unit, "UTC")
    instant = pc.cast(zoned, utc)
    is_skipped = pc.not_equal(pc.local_timestamp(zoned), value)
    if not pc.any(is_skipped).as_py():
        return instant
    before = pc.assume_timezone(value, zone, ambiguous="latest", nonexistent="earliest")
    offset = pc.subtract(pc.local_timestamp(pc.cast(before, utc)), pc.local_timestamp(before))
    counted_on = pc.assume_timezone(pc.add(value, offset), "UTC")
    return pc.if_else(is_skipped, counted_on, instant)


def local_time(value: Datum, zone: str) -> Datum:
    """What clocks of a zone show at instants."""
    return pc.local_timestamp(pc.cast(value, pa.timestamp(value.type.unit, zone)))
