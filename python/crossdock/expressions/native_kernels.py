"""What expressions compute in the engine because pyarrow has no such kernel, or one of 16 bits.

Values are pyarrow Scalars, Arrays and ChunkedArrays, and so are results. Pure and thread-safe.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock import _native
from crossdock.errors import from_native
from crossdock.values.arrow_kinds import Datum
from crossdock.values.type_checks import checking_engine

CALENDAR_PARTS = frozenset(("year", "quarter", "month", "week", "day", "day_of_year"))
# pyarrow's years have 16 bits: these bounds, some 28,000 years around 1970, are within.
_SAFE_DAYS = 10_000_000
_FORMAT_PARTS = re.compile(r"%-?.|[^%]+|%", re.S)
_TIMES = frozenset(("hour", "minute", "second", "millisecond", "microsecond"))  # of date_diff
_OF_YEARS = frozenset(("millennium", "century", "decade"))  # which pyarrow does not know
_OF_ZONE = frozenset(("%z", "%Z"))
_PER_DAY = {"s": 86_400, "ms": 86_400_000, "us": 86_400_000_000}


_FORMATS = {
    pa.bool_(): "b", pa.int8(): "c", pa.int16(): "s", pa.int32(): "i", pa.int64(): "l",
    pa.uint8(): "C", pa.uint16(): "S", pa.uint32(): "I", pa.uint64(): "L",
    pa.float32(): "f", pa.float64(): "g", pa.date32(): "tdD", pa.date64(): "tdm",
    pa.string(): "u", pa.large_string(): "U",
}  # fmt: skip
_UNITS = {"s": "s", "ms": "m", "us": "u", "ns": "n"}

# Of a JSON document, at a path.
OF_JSON = frozenset((
    "json_extract", "json_extract_string", "json_type", "json_array_length", "json_exists",
))  # fmt: skip
# Functions that pyarrow has not, or has with another meaning.
COMPUTED = OF_JSON | frozenset((
    "matches", "replace_matches", "extract", "find", "lstrip", "rstrip", "initcap", "reverse",
    "repeat", "split_part", "code_point", "character", "hex", "strptime", "try_strptime",
    "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "degrees", "radians", "trunc",
    "bit_and", "bit_or", "bit_xor", "bit_not", "shift_left", "shift_right", "gcd", "lcm", "one_row",
    "iso_year", "millisecond", "microsecond", "epoch", "strftime", "date_diff", "make_date",
    "last_day", "round_even", "md5", "sha1", "sha256", "url_encode", "translate", "levenshtein",
    "hamming", "jaccard", "jaro_similarity", "jaro_winkler_similarity",
    "json_valid",
))  # fmt: skip
# Functions whose options are constants: integers and periods as arguments, strings as values.
WITH_VALUES = OF_JSON | frozenset((
    "strip", "lstrip", "rstrip", "substring", "replace", "lpad", "rpad", "matches",
    "replace_matches", "extract",
))  # fmt: skip
WITH_ARGUMENTS = frozenset((
    "round", "trunc", "truncate", "add_months", "strftime", "strptime", "try_strptime", "date_diff",
))  # fmt: skip


# Functions whose option is the type of their values: strings as SQL writes values, and values of
# strings as people do.
OF_A_TYPE = frozenset(("written", "parsed_as", "try_parsed_as"))


def arrow_format(data_type: pa.DataType) -> str | None:
    """The Arrow format string of a type that literals and casts can have."""
    if pa.types.is_decimal128(data_type):
        return f"d:{data_type.precision},{data_type.scale}"
    if pa.types.is_timestamp(data_type):
        return f"ts{_UNITS[data_type.unit]}:{data_type.tz or ''}"
    if pa.types.is_time(data_type):
        return f"tt{_UNITS[data_type.unit]}"
    if pa.types.is_duration(data_type):
        return f"tD{_UNITS[data_type.unit]}"
    return _FORMATS.get(data_type)


def of_a_type(function: str, value: Datum, data_type: pa.DataType) -> Datum:
    """One of OF_A_TYPE. ArrowException for a string that is no value of the type, and for types
    that the engine has no values of."""
    if pa.types.is_null(value.type):
        return value.cast(data_type)
    format = arrow_format(data_type)
    if format is None:
        raise pa.ArrowNotImplementedError(f"no {function} of {value.type} to {data_type}")
    column = _computed(function, value, type=format)
    return column if column.type == data_type else column.cast(data_type)


def computed(function: str, values: Sequence[Datum], option: Any) -> Datum:
    """One of COMPUTED of values of plain types."""
    constants = option if isinstance(option, tuple) else () if option is None else (option,)
    literals: list[tuple[Any, str]] = [(c, "l") for c in constants if isinstance(c, int)]
    strings = [c for c in constants if isinstance(c, str)]
    if function in WITH_ARGUMENTS:
        literals += [(c, "u") for c in strings]
        strings = []
    zones = [v.type.tz for v in values if getattr(v.type, "tz", None)]
    if zones:
        zone = next((z for z in zones if z != "UTC"), "UTC")  # constants have UTC
        if function == "strftime" and not _OF_ZONE.isdisjoint(_FORMAT_PARTS.findall(option)):
            return _formatted_with_zone(values[0], option)
        if function == "epoch" or (len(zones) == len(values) and option in _TIMES):
            zone = "UTC"  # whose clocks are not put forward and back
        values = [_on_clocks_of(zone, value) for value in values]
    known = [value.type for value in values if not pa.types.is_null(value.type)]
    typed = [v.cast(known[0]) if known and pa.types.is_null(v.type) else v for v in values]
    column = _computed(function, *typed, literals=literals, strings=strings)
    if column.type != pa.string_view():
        return column
    strings_type = known[0] if known[0] == pa.large_string() else pa.string()
    return column.cast(strings_type)


def _on_clocks_of(zone: str, value: Datum) -> Datum:
    """What clocks in a zone show."""
    if getattr(value.type, "tz", None) is None:
        return value
    return pc.local_timestamp(value.cast(pa.timestamp(value.type.unit, zone)))


def _formatted_with_zone(value: Datum, format: str) -> Datum:
    """Instants by a format that asks for their zone, which the native one has not."""
    parts, constant = [], ""
    for part in _FORMAT_PARTS.findall(format):
        if part != "%z":
            constant += value.type.tz.replace("%", "%%") if part == "%Z" else part
            continue
        parts += [computed("strftime", [value], constant), zone_offsets(value)]
        constant = ""
    parts.append(computed("strftime", [value], constant))
    return pc.binary_join_element_wise(*parts, "")


def zone_offsets(value: Datum) -> Datum:
    """The offsets of zoned timestamps from UTC as SQL writes them: +01, -03:30."""
    strings = pc.strftime(value, format="%z")
    strings = pc.replace_substring_regex(strings, r"00$", "")
    return pc.replace_substring_regex(strings, r"^(...)(..)$", r"\1:\2")


def divide_floats(function: str, left: Datum, right: Datum) -> Datum:
    """ "floor_divide" or "remainder" of two floats of one type, as in Python."""
    return _computed(function, left, right)


def calendar_part(part: str, value: Datum) -> Datum:
    """One of CALENDAR_PARTS of a date or timestamp, of whatever year."""
    if not _leaves_16_bits(value):
        return pc.call_function("iso_week" if part == "week" else part, [value])
    local = pc.local_timestamp(value) if getattr(value.type, "tz", None) else value
    return _computed(part, local)


def truncate(value: Datum, period: str) -> Datum:
    """The beginning of the period in which a date or timestamp lies."""
    if pa.types.is_date(value.type) and period.endswith(("hour", "minute", "second")):
        return value
    is_of_years = period in _OF_YEARS
    if not is_of_years and not _leaves_16_bits(value):
        return pc.floor_temporal(value, unit=period)
    if getattr(value.type, "tz", None):
        what = period if is_of_years else "years as far as these"
        raise pa.ArrowNotImplementedError(f"truncate of {what} in {value.type}")
    return _computed("truncate", value, literals=[(period, "u")])


def add_months(value: Datum, months: int) -> Datum:
    """The date or timestamp so many months later, which pyarrow has no kernel for."""
    data_type = value.type
    if not (pa.types.is_date32(data_type) or pa.types.is_timestamp(data_type)):
        raise pa.ArrowNotImplementedError(f"add_months has no meaning for {data_type}")
    zone = getattr(data_type, "tz", None)
    local = pc.local_timestamp(value) if zone else value
    later = _computed("add_months", local, literals=[(str(months), "l")])
    if not zone:
        return later
    return pc.assume_timezone(later, zone, ambiguous="earliest", nonexistent="latest")


def _leaves_16_bits(value: Datum) -> bool:
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


def _computed(
    function: str,
    *values: Datum,
    literals: Sequence[tuple[Any, str]] = (),
    strings: Sequence[str] = (),
    type: str = "",
) -> Datum:
    """`literals`: last arguments, each with its Arrow format; `strings`: further constants; `type`:
    the format of what OF_A_TYPE give."""
    if all(pa.types.is_null(value.type) for value in values):
        return values[0]  # of no type, and so is what is computed of it
    rows = max((len(value) for value in values if not isinstance(value, pa.Scalar)), default=1)
    columns = [pa.repeat(v, rows) if isinstance(v, pa.Scalar) else v for v in values]
    names = [f"{i}" for i in range(len(columns))]
    engine = checking_engine()
    table = _native.Table.from_stream(engine, pa.table(columns, names=names))
    of = [table.column(name) for name in names]
    of += [_native.Expr.literal(*literal) for literal in literals]
    try:
        call = _native.Expr.call(function, of, list(strings), type)
        computed = _native.compute_columns(engine, table, [("value", call)])
    except _native.NativeError as error:
        refused = from_native(error)
        if refused.code == "CD-105":  # a constant of the call, not a value
            raise refused from None
        raise pa.ArrowInvalid(error.args[2]) from None
    reader = pa.RecordBatchReader.from_stream(computed)
    column = reader.read_all()["value"]
    if any(isinstance(value, pa.ChunkedArray) for value in values):
        return column
    whole = pa.concat_arrays([pa.array([], column.type), *column.chunks])
    return whole[0] if all(isinstance(value, pa.Scalar) for value in values) else whole
