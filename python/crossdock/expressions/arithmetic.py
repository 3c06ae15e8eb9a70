"""Types and arithmetic of expressions: what pyarrow's kernels lack or do otherwise.

Decimals are computed as SQL does: + - * are exact, the precision of a result stops at 38 and its
scale is kept, and a value with more digits is an error. pyarrow refuses such a result as soon as
the precision could pass 38; here it is computed in 256 bits, and the value decides.

Values are pyarrow Scalars, Arrays and ChunkedArrays. Everything is pure and thread-safe.
"""

from __future__ import annotations

from collections.abc import Sequence

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.native_kernels import divide_floats
from crossdock.values.arrow_kinds import Datum

DIGITS = 38  # of a decimal128
_INTEGER_DIGITS = {8: 3, 16: 5, 32: 10, 64: 19}
_CHECKED = {
    "add": pc.add_checked,
    "subtract": pc.subtract_checked,
    "multiply": pc.multiply_checked,
}


def arithmetic(function: str, left: Datum, right: Datum) -> Datum:
    """`function` (a name of expressions.ARITHMETIC) of two values. ArrowException when a value
    does not fit or the types have no such function."""
    if function == "divide":
        return _divide(left, right)
    if pa.types.is_date32(left.type) or pa.types.is_date32(right.type):
        return _date_arithmetic(function, left, right)
    left, right = _as_floats(left, right)
    decimals = _as_decimals(left, right)
    if function in ("floor_divide", "remainder"):
        if decimals is not None:
            raise pa.ArrowNotImplementedError(f"{function} has no meaning for decimals here")
        return _floor_divide(function, left, right)
    if decimals is None:
        return _checked(function, left, right)
    return _decimal_arithmetic(function, *decimals)


def _checked(function: str, left: Datum, right: Datum) -> Datum:
    """With 0 under NULLs of times: pyarrow computes with what lies there, which may overflow."""
    both = [_with_zeros(side) for side in (left, right)]
    result = _CHECKED[function](*both)
    if both[0] is left and both[1] is right:
        return result
    is_known = pc.and_(pc.is_valid(left), pc.is_valid(right))
    return pc.if_else(is_known, result, pa.scalar(None, result.type))


def _with_zeros(value: Datum) -> Datum:
    if isinstance(value, pa.Scalar) or value.null_count == 0:
        return value
    if not (pa.types.is_temporal(value.type) and pa.types.is_primitive(value.type)):
        return value
    return pc.fill_null(value, pa.scalar(0, value.type))


def _date_arithmetic(function: str, left: Datum, right: Datum) -> Datum:
    """A date and a literal of whole days are a date, as in Python; a date and another duration are
    an instant, as in SQL."""
    for this, other in ((left, right), (right, left)):
        if pa.types.is_integer(other.type):
            raise pa.ArrowNotImplementedError(
                f"{function} has no meaning for {this.type} and {other.type}, only for a date and "
                "a duration, such as datetime.timedelta(days=1)"
            )
    days = _whole_days(right)
    if function == "subtract" and days is not None and pa.types.is_date32(left.type):
        function, days = "add", -days
    elif function == "add" and pa.types.is_date32(right.type):
        left, days = right, _whole_days(left)
    if function != "add" or days is None:
        return _checked(function, left, right)
    return pc.add_checked(left.cast(pa.int32()), pa.scalar(days, pa.int32())).cast(pa.date32())


def _whole_days(value: Datum) -> int | None:
    """The days of a literal that has days alone."""
    if not isinstance(value, pa.Scalar) or value.type != pa.duration("us") or not value.is_valid:
        return None
    return None if value.value % 86_400_000_000 else value.value // 86_400_000_000


def compare(function: str, left: Datum, right: Datum) -> Datum:
    """A comparison of two values, exact for all integers and decimals."""
    wide = comparison_type(left.type, right.type)
    if wide is not None:
        left, right = _cast_anyhow(left, wide), _cast_anyhow(right, wide)
    return pc.call_function(function, [left, _in_zone_of(left.type, right)])


def _in_zone_of(target: pa.DataType, value: Datum) -> Datum:
    """Instants under the time zone of `target`, which are the same instants: pyarrow compares those
    of two zones only where their units are one, too."""
    data_type = value.type
    if not (pa.types.is_timestamp(data_type) and pa.types.is_timestamp(target)):
        return value
    if data_type.tz is None or target.tz is None or data_type.tz == target.tz:
        return value
    return pc.cast(value, pa.timestamp(data_type.unit, target.tz))


def comparison_type(left: pa.DataType, right: pa.DataType) -> pa.DataType | None:
    """The type in which two types must be compared where pyarrow's own choice cannot hold all
    their values; None where it can."""
    if pa.types.is_integer(left) and pa.types.is_integer(right):
        signs = {pa.types.is_signed_integer(left), pa.types.is_signed_integer(right)}
        return pa.decimal128(20, 0) if len(signs) == 2 and pa.uint64() in (left, right) else None
    if pa.types.is_floating(left) != pa.types.is_floating(right):
        return _common_float(left, right)
    if not (pa.types.is_decimal128(left) or pa.types.is_decimal128(right)):
        return None
    if not all(pa.types.is_decimal128(t) or pa.types.is_integer(t) for t in (left, right)):
        return None
    (p1, s1), (p2, s2) = decimal_digits(left), decimal_digits(right)
    scale = max(s1, s2)
    precision = max(p1 - s1, p2 - s2) + scale
    return None if precision <= DIGITS else pa.decimal256(precision, scale)


def cast(value: Datum, data_type: pa.DataType) -> Datum:
    """The value as another type. Integers become the nearest float, as in SQL, where pyarrow
    refuses those that are none; decimals the nearest float64, where pyarrow multiplies by an
    inexact power of ten: 0.07 would become 0.07000000000000001."""
    source = value.type
    if pa.types.is_integer(source) and pa.types.is_floating(data_type):
        return pc.cast(value, data_type, safe=False)
    if not (pa.types.is_decimal128(source) and data_type == pa.float64() and source.scale > 0):
        return pc.cast(value, data_type)
    unscaled = pc.cast(_relabelled(value, pa.decimal128(source.precision, 0)), data_type)
    return pc.divide(unscaled, pa.scalar(float(10**source.scale)))


def common_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """The type that holds the values of all `types` (the branches of a choice). ArrowTypeError
    when there is none."""
    common = pa.null()
    for each in types:
        plain = each.value_type if pa.types.is_dictionary(each) else each
        common = _common_of_two(common, plain)
    return common


def _common_of_two(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if a == b or pa.types.is_null(b):
        return a
    if pa.types.is_null(a):
        return b
    numbers = pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal128
    if all(any(is_kind(t) for is_kind in numbers) for t in (a, b)):
        return _common_number(a, b)
    for kinds in ((pa.string(), pa.large_string()), (pa.binary(), pa.large_binary())):
        if a in kinds and b in kinds:
            return kinds[1]
    if pa.types.is_temporal(a) and pa.types.is_temporal(b):
        return pc.coalesce(pa.nulls(0, a), pa.nulls(0, b)).type
    raise pa.ArrowTypeError(f"{a} and {b} have no type in common")


def _common_number(a: pa.DataType, b: pa.DataType) -> pa.DataType:
    if pa.types.is_floating(a) != pa.types.is_floating(b):
        return _common_float(a, b)
    if pa.types.is_decimal128(a) or pa.types.is_decimal128(b):
        (p1, s1), (p2, s2) = decimal_digits(a), decimal_digits(b)
        scale = max(s1, s2)
        return pa.decimal128(min(DIGITS, max(p1 - s1, p2 - s2) + scale), scale)
    return pc.add(pa.nulls(0, a), pa.nulls(0, b)).type


def decimal_digits(data_type: pa.DataType) -> tuple[int, int]:
    """(precision, scale) of a decimal, or of an integer type read as one."""
    if pa.types.is_decimal(data_type):
        return data_type.precision, data_type.scale
    return (20 if data_type == pa.uint64() else _INTEGER_DIGITS[data_type.bit_width]), 0


def _common_float(a: pa.DataType, b: pa.DataType) -> pa.DataType | None:
    """The float type for a float and a number of another kind; None if that is no number. pyarrow
    refuses integers that a float32 would round."""
    other, real = (a, b) if pa.types.is_floating(b) else (b, a)
    if pa.types.is_integer(other) and other.bit_width <= 16:
        return pa.float32() if real.bit_width <= 32 else real
    return pa.float64() if pa.types.is_integer(other) or pa.types.is_decimal(other) else None


def _as_floats(left: Datum, right: Datum) -> tuple[Datum, Datum]:
    """Both values as floats when just one is a float."""
    if pa.types.is_floating(left.type) == pa.types.is_floating(right.type):
        return left, right
    both = _common_float(left.type, right.type)
    if both is None:
        return left, right
    return _cast_anyhow(left, both), _cast_anyhow(right, both)


def _cast_anyhow(value: Datum, data_type: pa.DataType) -> Datum:
    """The value as another type, rounded where it must be."""
    if pa.types.is_decimal128(value.type) and pa.types.is_float64(data_type):
        return cast(value, data_type)
    return pc.cast(value, data_type, safe=False)


def _as_decimals(left: Datum, right: Datum) -> tuple[Datum, Datum] | None:
    """Both values as decimals when one is a decimal128 and the other one too or an integer."""
    types = (left.type, right.type)
    if not any(map(pa.types.is_decimal128, types)):
        return None
    if not all(pa.types.is_decimal128(t) or pa.types.is_integer(t) for t in types):
        return None
    as_decimal = [
        value if pa.types.is_decimal128(value.type) else pc.cast(value, pa.decimal128(digits, 0))
        for value, digits in zip((left, right), (decimal_digits(t)[0] for t in types), strict=True)
    ]
    return as_decimal[0], as_decimal[1]


def _decimal_arithmetic(function: str, left: Datum, right: Datum) -> Datum:
    (p1, s1), (p2, s2) = decimal_digits(left.type), decimal_digits(right.type)
    if function == "multiply":
        precision, scale = p1 + p2 + 1, s1 + s2
    else:
        scale = max(s1, s2)
        precision = max(p1 - s1, p2 - s2) + scale + 1
    if precision <= DIGITS:
        return _CHECKED[function](left, right)
    if scale > DIGITS:
        raise pa.ArrowInvalid(
            f"the result has {scale} digits after the point, {DIGITS} is the most"
        )
    wide_left, wide_right = _widened(left), _widened(right)
    if precision > 76:
        # 38 by 38 digits fit 256 bits, but pyarrow counts one more.
        wide_right = _relabelled(wide_right, pa.decimal256(p2 - 1, s2))
    result = _CHECKED[function](wide_left, wide_right)
    return pc.cast(result, pa.decimal128(DIGITS, scale))


def _widened(value: Datum) -> Datum:
    return pc.cast(value, pa.decimal256(value.type.precision, value.type.scale))


def _relabelled(value: Datum, data_type: pa.DataType) -> Datum:
    """The same decimals under a type of another precision, whether they fit it or not."""
    if isinstance(value, pa.Scalar):
        return _relabelled(pa.array([value.as_py()], value.type), data_type)[0]
    if isinstance(value, pa.ChunkedArray):
        chunks = [_relabelled(chunk, data_type) for chunk in value.chunks]
        return pa.chunked_array(chunks, data_type)
    return pa.Array.from_buffers(
        data_type, len(value), value.buffers(), value.null_count, value.offset
    )


def _divide(left: Datum, right: Datum) -> Datum:
    inexact = (pa.types.is_integer, pa.types.is_decimal)
    if any(is_kind(left.type) for is_kind in inexact):
        left = _cast_anyhow(left, pa.float64())
    if any(is_kind(right.type) for is_kind in inexact):
        right = _cast_anyhow(right, pa.float64())
    return pc.divide(left, right)


def _floor_divide(function: str, left: Datum, right: Datum) -> Datum:
    """Rounded towards minus infinity, and the remainder of that, as in Python."""
    both = _common_of_two(left.type, right.type)
    left, right = pc.cast(left, both), pc.cast(right, both)
    if not pa.types.is_integer(both):
        return divide_floats(function, left, right)
    divisor = right
    if function == "remainder" and pa.types.is_signed_integer(both):
        # -2^63 // -1 overflows, but nothing remains of it.
        divisor = pc.if_else(pc.equal(right, pa.scalar(-1, both)), pa.scalar(1, both), right)
    quotient = pc.divide_checked(left, divisor)
    rest = pc.subtract(left, pc.multiply(quotient, divisor))
    zero = pa.scalar(0, both)
    signs_differ = pc.not_equal(pc.less(rest, zero), pc.less(divisor, zero))
    cut = pc.and_(pc.not_equal(rest, zero), signs_differ)
    if function == "floor_divide":
        return pc.subtract(quotient, pc.cast(cut, both))
    return pc.if_else(cut, pc.add(rest, divisor), rest)
