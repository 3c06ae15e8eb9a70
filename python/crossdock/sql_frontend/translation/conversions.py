"""Casts of SQL: rounded where the other type has fewer digits, and of strings as they are written
by hand."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from crossdock.expressions.expression import Call, Expr, when
from crossdock.sql_frontend.errors import unsupported

_MOST_DIGITS = 38  # of a decimal128

_STRINGS = (pa.string(), pa.large_string(), pa.string_view())

Cast = Callable[[Expr, pa.DataType], Expr]


def converted(
    value: Expr, data_type: pa.DataType, target: pa.DataType, *, tries: bool = False
) -> Expr:
    """A value of a type as another type; NULL where it does not fit, if it only tries."""
    cast: Cast = Expr.try_cast if tries else Expr.cast
    if pa.types.is_dictionary(data_type):
        data_type = data_type.value_type
    if data_type == pa.float16():
        value, data_type = value.cast(pa.float32()), pa.float32()
    if data_type in _STRINGS:
        return _of_string(value, target, tries)
    if target in _STRINGS:
        kinds = (pa.types.is_floating, pa.types.is_timestamp, pa.types.is_decimal128)
        is_written = any(is_kind(data_type) for is_kind in kinds)
        return Call("written", (value,), target) if is_written else value.cast(target)
    if pa.types.is_timestamp(data_type) and pa.types.is_date(target):
        return value.date()
    if pa.types.is_integer(target):
        return cast(_whole(value, data_type), target)
    if pa.types.is_decimal(target):
        return _as_decimal(value, data_type, target, cast)
    return cast(value, target)


def _whole(value: Expr, data_type: pa.DataType) -> Expr:
    if pa.types.is_decimal(data_type):
        return with_room(value, data_type).round()
    return Call("round_even", (value,)) if pa.types.is_floating(data_type) else value


def _as_decimal(value: Expr, data_type: pa.DataType, target: pa.DataType, cast: Cast) -> Expr:
    if pa.types.is_decimal(data_type) and data_type.scale > target.scale:
        return cast(with_room(value, data_type).round(target.scale), target)
    if pa.types.is_floating(data_type):
        power = 10.0**target.scale  # halves are those of the product, as in DuckDB's casts
        rounded = (value * power).round() / power
        return cast(when(abs(value) < 1e38).then(rounded).otherwise(value), target)
    if pa.types.is_integer(data_type):
        # By a type that holds all integers: the cast looks at types, the next one at values.
        wide = pa.decimal128(min(_MOST_DIGITS, 20 + target.scale), target.scale)
        return value.cast(wide) if wide == target else cast(value.cast(wide), target)
    return cast(value, target)


def with_room(value: Expr, data_type: pa.DataType) -> Expr:
    """A decimal with a digit more, which rounding up may need."""
    if data_type.precision >= _MOST_DIGITS:
        return value
    return value.cast(pa.decimal128(data_type.precision + 1, data_type.scale))


def _of_string(value: Expr, target: pa.DataType, tries: bool) -> Expr:
    if target in _STRINGS or pa.types.is_binary(target):
        return value.cast(target)
    if pa.types.is_nested(target):
        raise unsupported(
            "a cast of strings to lists, structs or maps", try_="string_split(s, ',')"
        )
    return Call("try_parsed_as" if tries else "parsed_as", (value,), target)


def is_double_beside_decimal(data_type: pa.DataType, target: pa.DataType) -> bool:
    """Whether a cast is to a type that DataFusion gives a double beside decimals: 15 digits on each
    side of the point, or more where the others have more. Here all become doubles."""
    digits = {pa.float64(): 15, pa.float32(): 7}.get(data_type)
    if digits is None or not pa.types.is_decimal128(target) or target.scale < digits:
        return False
    return bool(target.precision == _MOST_DIGITS or target.precision - target.scale >= digits)


def widens(data_type: pa.DataType, target: pa.DataType) -> bool:
    """Whether all values of one integer type are values of another."""
    if not (pa.types.is_integer(data_type) and pa.types.is_integer(target)):
        return False
    if pa.types.is_signed_integer(data_type) == pa.types.is_signed_integer(target):
        return bool(data_type.bit_width <= target.bit_width)
    return bool(pa.types.is_unsigned_integer(data_type) and data_type.bit_width < target.bit_width)


def is_cast_to(expression: Expr, is_kind: Callable[[pa.DataType], bool]) -> bool:
    """Whether an expression is a cast to a type of a kind."""
    return (
        isinstance(expression, Call)
        and expression.function == "cast"
        and is_kind(expression.option)
    )
