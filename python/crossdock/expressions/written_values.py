"""Strings of values, and values of strings, as people and SQL write them.

A cast knows one form of each type, and is fast. Here that form is tried first, and the strings that
have another one are looked at once each.
"""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import cast
from crossdock.expressions.native_kernels import zone_offsets
from crossdock.expressions.try_casts import try_cast
from crossdock.values.arrow_kinds import Datum

_FINEST = pa.decimal128(38, 18)
_YES, _NO = ("t", "yes", "y"), ("f", "no", "n")
_DATES = ("%Y-%m-%d", "%Y/%m/%d")
_MOMENTS = ("%Y-%m-%d %H:%M:%S", "%Y/%m/%d %H:%M:%S")
_LONG, _LONGER = 1e15, 1e16  # whole numbers from which exponents are written: by Arrow, by SQL
_TINY = 1e-4  # below which SQL writes an exponent
_TINY_DIGITS = ((r"^(-?)0\.0000([1-9])(\d*)$", "05"), (r"^(-?)0\.00000([1-9])(\d*)$", "06"))


def parsed_as(value: Datum, data_type: pa.DataType) -> Datum:
    """Strings as values of a type, in whatever form they are written. ArrowInvalid for one that is
    none."""
    if pa.types.is_time(data_type):
        return _times(value, data_type)
    try:
        return cast(value, data_type)
    except pa.ArrowInvalid:
        values = try_parsed_as(value, data_type)
    wrong = pc.and_(pc.is_null(values), pc.is_valid(value))
    if isinstance(value, pa.Scalar):
        return cast(value, data_type) if wrong.as_py() else values
    if pc.any(wrong).as_py():
        cast(value.filter(wrong).slice(0, 1), data_type)
    return values


def try_parsed_as(value: Datum, data_type: pa.DataType) -> Datum:
    """The same, with NULL for a string that is no value."""
    if pa.types.is_time(data_type):
        days = _of_first_day(value)
        return _time_of(try_cast(days, pa.timestamp("us")), data_type)
    if isinstance(value, pa.Scalar):
        return try_parsed_as(pa.array([value.as_py()], value.type), data_type)[0]
    if isinstance(value, pa.ChunkedArray):
        value = value.combine_chunks()
    if pa.types.is_dictionary(value.type):
        return try_parsed_as(value.dictionary, data_type).take(value.indices)
    strict = try_cast(value, data_type)
    if strict.null_count == value.null_count:
        return strict
    others = pc.unique(value.filter(pc.and_(pc.is_null(strict), pc.is_valid(value))))
    values = _in_other_forms(pc.utf8_trim_whitespace(others), data_type)
    return pc.coalesce(strict, values.take(pc.index_in(value, value_set=others)))


def _times(value: Datum, data_type: pa.DataType) -> Datum:
    return _time_of(cast(_of_first_day(value), pa.timestamp("us")), data_type)


def _of_first_day(value: Datum) -> Datum:
    """Times of a day as instants, which Arrow reads."""
    return pc.binary_join_element_wise("1970-01-01", value, " ")


def _time_of(instants: Datum, data_type: pa.DataType) -> Datum:
    return pc.cast(pc.cast(instants, pa.time64("us")), data_type)


def _in_other_forms(strings: pa.Array, data_type: pa.DataType) -> pa.Array:
    """The value of each text; NULL where it is none."""
    if pa.types.is_boolean(data_type):
        words = pc.utf8_lower(strings)
        is_yes = pc.is_in(words, value_set=pa.array(_YES))
        is_no = pc.is_in(words, value_set=pa.array(_NO))
        return pc.if_else(is_yes, True, pc.if_else(is_no, False, pa.scalar(None, pa.bool_())))
    if pa.types.is_integer(data_type) or pa.types.is_decimal(data_type):
        digits = pc.replace_substring(strings, "_", "")
        scale = data_type.scale if pa.types.is_decimal(data_type) else 0
        numbers = try_cast(digits, _FINEST)
        rounded = pc.round(numbers, ndigits=scale, round_mode="half_towards_infinity")
        return try_cast(rounded, data_type)
    if pa.types.is_date(data_type):
        instants = [*_instants(strings, _DATES), try_cast(strings, pa.timestamp("us"))]
        return pc.coalesce(*(each.cast(data_type) for each in instants))
    if pa.types.is_timestamp(data_type) and data_type.tz is None:
        local = pc.replace_substring_regex(strings, r"[Zz]$", "")
        instants = [try_cast(local, data_type), *_instants(local, (*_MOMENTS, *_DATES))]
        return pc.coalesce(*(each.cast(data_type) for each in instants))
    if pa.types.is_timestamp(data_type):  # without an offset: what clocks of the zone show
        clocks = try_parsed_as(strings, pa.timestamp(data_type.unit))
        instants = pc.assume_timezone(
            clocks, data_type.tz, ambiguous="latest", nonexistent="latest"
        )
        return pc.coalesce(try_cast(strings, data_type), instants)
    return try_cast(strings, data_type)


def _instants(strings: pa.Array, formats: tuple[str, ...]) -> list[pa.Array]:
    return [pc.strptime(strings, format=f, unit="us", error_is_null=True) for f in formats]


def written(value: Datum, data_type: pa.DataType) -> Datum:
    """Values as SQL writes them, in a type of strings: instants without zeros behind the second,
    whole doubles with .0, and exponents of two digits."""
    if pa.types.is_timestamp(value.type):
        if value.type.tz is None:
            return _written_instants(value, data_type)
        clocks = _written_instants(pc.local_timestamp(value), data_type)
        return pc.binary_join_element_wise(clocks, zone_offsets(value).cast(data_type), "")
    strings = cast(value, data_type)
    return _written_doubles(value, strings) if pa.types.is_float64(value.type) else strings


def _written_instants(value: Datum, data_type: pa.DataType) -> Datum:
    try:
        return pc.cast(pc.cast(value, pa.timestamp("s")), data_type)
    except pa.ArrowInvalid:  # some have a fraction of a second
        return pc.replace_substring_regex(pc.cast(value, data_type), r"\.?0+$", "")


def _written_doubles(value: Datum, strings: Datum) -> Datum:
    size = pc.abs(value)
    is_whole = pc.equal(value, pc.trunc(value))
    is_plain = pc.and_(is_whole, pc.less(size, _LONG))
    behind = pa.scalar(".0", strings.type)
    shown = pc.if_else(is_plain, _joined(strings, behind), strings)
    is_long = pc.and_(pc.greater_equal(size, _LONG), pc.less(size, _LONGER))
    if _is_any(is_long):
        digits = pc.cast(pc.if_else(is_long, value, 0.0), pa.int64(), safe=False)
        digits = _joined(pc.cast(digits, strings.type), behind)
        shown = pc.if_else(pc.and_(is_long, is_whole), digits, shown)
    has_exponent = pc.or_(pc.less(size, _TINY), pc.greater_equal(size, _LONGER))
    if _is_any(pc.and_(has_exponent, pc.not_equal(size, 0.0))):
        for pattern, exponent in _TINY_DIGITS:
            shown = pc.replace_substring_regex(shown, pattern, rf"\1\2.\3e-{exponent}")
        shown = pc.replace_substring(shown, ".e", "e")
        shown = pc.replace_substring_regex(shown, r"e([-+])(\d)$", r"e\10\2")
    return shown


def _joined(value: Datum, behind: pa.Scalar) -> Datum:
    return pc.binary_join_element_wise(value, behind, pa.scalar("", behind.type))


def _is_any(mask: Datum) -> bool:
    return bool(mask.as_py() if isinstance(mask, pa.Scalar) else pc.any(mask).as_py())


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
