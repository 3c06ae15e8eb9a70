"""The functions of values computed with pyarrow: what evaluation.py calls for the methods of
functions.py. Values are pyarrow Scalars, Arrays and ChunkedArrays; all is pure and
thread-safe. ArrowException where a type has no such function, or a value does not fit.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import cast, common_type
from crossdock.expressions.match_kernels import all_matches, split_matches
from crossdock.expressions.native_kernels import add_months, computed, truncate
from crossdock.expressions.try_casts import try_cast
from crossdock.expressions.written_values import (
    instant_of_zone,
    local_time,
    parsed_as,
    try_parsed_as,
    written,
)
from crossdock.values.arrow_kinds import Datum

_STRINGS = (pa.string(), pa.large_string())
_DIGITS_OF_ENGINE = 10  # and of each sign, to which it rounds
Kernel = Callable[[Datum, Any], Datum]  # of a value and an option


def are_strings(types: Sequence[pa.DataType]) -> bool:
    """Whether values of all `types` are strings, as they are or in a dictionary, or NULL."""
    plain = [t.value_type if pa.types.is_dictionary(t) else t for t in types]
    known = [t for t in plain if not pa.types.is_null(t)]
    return bool(known) and all(t in _STRINGS for t in known)


def decoded(value: Datum) -> Datum:
    """The values of a dictionary; other values as they are."""
    if pa.types.is_dictionary(value.type):
        return pc.cast(value, value.type.value_type)
    return value


def concat(values: Sequence[Datum]) -> Datum:
    """Strings one behind the other; NULL where one is NULL."""
    both = common_type([value.type for value in values])
    if both not in _STRINGS:
        types = ", ".join(str(value.type) for value in values)
        raise pa.ArrowTypeError(f"concat takes strings, not {types}")
    strings = [cast(decoded(value), both) for value in values]
    return pc.binary_join_element_wise(*strings, pa.scalar("", both))


def extreme(function: str, values: Sequence[Datum]) -> Datum:
    """ "greatest" or "least" of values that are not NULL; NaN is above all, as in DuckDB."""
    both = common_type([value.type for value in values])
    if pa.types.is_boolean(both):
        raise pa.ArrowTypeError(f"{function} has no meaning for bool")
    first, *others = (cast(decoded(value), both) for value in values)
    for other in others:
        first = _further(function, first, other)
    return first


def _further(function: str, a: Datum, b: Datum) -> Datum:
    better = pc.greater(b, a) if function == "greatest" else pc.less(b, a)
    if pa.types.is_floating(a.type):
        better = pc.or_kleene(better, pc.is_nan(b if function == "greatest" else a))
    taken = pc.and_kleene(pc.is_valid(b), pc.or_kleene(pc.is_null(a), better))
    return pc.if_else(taken, b, a)


def power(base: Datum, exponent: Datum) -> Datum:
    """Of any numbers as float64s."""
    return pc.power(_real(base), _real(exponent))


def _real(value: Datum) -> Datum:
    """The value as float64, rounded where it must be."""
    if pa.types.is_decimal(value.type):
        return cast(value, pa.float64())
    numbers = (pa.types.is_integer, pa.types.is_floating)
    if not any(is_kind(value.type) for is_kind in numbers):
        raise pa.ArrowNotImplementedError(f"no function of numbers has a meaning for {value.type}")
    return pc.cast(value, pa.float64(), safe=False)


def _length(strings: Datum, _: None) -> Datum:
    binary = pa.types.is_binary(strings.type) or pa.types.is_large_binary(strings.type)
    return pc.cast((pc.binary_length if binary else pc.utf8_length)(strings), pa.int64())


def _lower(pattern: str) -> str:
    return str(pc.utf8_lower(pa.scalar(pattern)).as_py())


def _strip(strings: Datum, characters: str | None) -> Datum:
    if characters is None:
        return pc.utf8_trim_whitespace(strings)
    return pc.utf8_trim(strings, characters=characters)


def _substring(strings: Datum, option: tuple[int, ...]) -> Datum:
    start, *length = option
    stop = start + length[0] if length else None
    if start < 0 and stop is not None and stop >= 0:
        stop = None  # a slice to the end, not to the character 0
    return pc.utf8_slice_codeunits(strings, start=start, stop=stop)


def _replace(strings: Datum, option: tuple[str, str]) -> Datum:
    part, by = option
    return pc.replace_substring(strings, pattern=part, replacement=by) if part else strings


def _padded(kernel: Callable[..., Datum]) -> Kernel:
    def pad(strings: Datum, option: tuple[int, str]) -> Datum:
        width, fill = option
        padded = kernel(strings, width=width, padding=fill)
        return pc.utf8_slice_codeunits(padded, start=0, stop=width)

    return pad


def _sign(value: Datum, _: None) -> Datum:
    sign = pc.sign(value)
    return sign if pa.types.is_floating(sign.type) else pc.cast(sign, pa.int8())


def _with_room(value: Datum, kernel: Callable[[Datum], Datum]) -> Datum:
    """What is rounded. pyarrow looks at the digits of decimals that are rounded up where it casts,
    not where it rounds: 999.99 of five digits would become 0."""
    data_type = value.type
    if not pa.types.is_decimal128(data_type):
        return kernel(value)
    wide = pa.decimal256(data_type.precision + 1, data_type.scale)
    return pc.cast(kernel(pc.cast(value, wide)), data_type)


def _whole(kernel: Callable[..., Datum]) -> Kernel:
    def of(value: Datum, _: None) -> Datum:
        return value if pa.types.is_integer(value.type) else _with_room(value, kernel)

    return of


def _rounded(value: Datum, digits: int) -> Datum:
    if pa.types.is_float64(value.type) and abs(digits) <= _DIGITS_OF_ENGINE:
        return computed("round", [value], digits)
    mode = "half_towards_infinity"
    return _with_room(value, lambda wide: pc.round(wide, digits, round_mode=mode))


def _of_real(kernel: Callable[..., Datum]) -> Kernel:
    return lambda value, _: kernel(_real(value))


# Functions of one value and an option. Those of strings get dictionaries decoded, and are handed to
# the readers as they stand, so they take pyarrow's expressions too.
OF_STRINGS: dict[str, Kernel] = {
    "starts_with": lambda value, text: pc.starts_with(value, pattern=text),
    "ends_with": lambda value, text: pc.ends_with(value, pattern=text),
    "contains": lambda value, text: pc.match_substring(value, pattern=text),
    "like": lambda value, pattern: pc.match_like(value, pattern=pattern),
    "ilike": lambda value, pattern: pc.match_like(pc.utf8_lower(value), pattern=_lower(pattern)),
    "lower": lambda value, _: pc.utf8_lower(value),
    "upper": lambda value, _: pc.utf8_upper(value),
    "strip": _strip,
    "length": _length,
    "substring": _substring,
    "replace": _replace,
    "lpad": _padded(pc.utf8_lpad),
    "rpad": _padded(pc.utf8_rpad),
}
OF_VALUES: dict[str, Kernel] = {
    "cast": cast,
    "instant_of_zone": instant_of_zone,
    "local_time": local_time,
    "all_matches": lambda value, option: all_matches(decoded(value), option),
    "split_matches": lambda value, by: split_matches(decoded(value), by),
    "split": lambda value, by: pc.split_pattern(decoded(value), by),
    "try_cast": try_cast,
    "parsed_as": parsed_as,
    "try_parsed_as": try_parsed_as,
    "written": written,
    "negate": lambda value, _: pc.negate_checked(value),
    "abs": lambda value, _: pc.abs_checked(value),
    "round": _rounded,
    "floor": _whole(pc.floor),
    "ceil": _whole(pc.ceil),
    "sign": _sign,
    "sqrt": _of_real(pc.sqrt),
    "exp": _of_real(pc.exp),
    "ln": _of_real(pc.ln),
    "log2": _of_real(pc.log2),
    "log10": _of_real(pc.log10),
    "is_nan": lambda value, _: pc.is_nan(value),
    "date": lambda value, _: pc.cast(value, pa.date32()),
    "weekday": lambda value, _: pc.day_of_week(value),
    "truncate": truncate,
    "add_months": add_months,
}
