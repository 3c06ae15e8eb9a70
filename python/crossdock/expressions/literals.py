"""Python values as pyarrow scalars of the types that they meet."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any
from uuid import UUID

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import DIGITS
from crossdock.expressions.expression import ARITHMETIC, COMPARISONS, Call
from crossdock.values.arrow_kinds import is_number

# Literals take the types of the arguments beside them.
_OF_ONE_TYPE = COMPARISONS | ARITHMETIC | {
    "coalesce", "concat", "greatest", "least", "bit_and", "bit_or", "bit_xor", "gcd", "lcm",
    "date_diff", "list_of",
}  # fmt: skip


def fit_literal(value: Any, target: pa.DataType) -> pa.Scalar:
    """A Python literal as a Scalar of the type that fits `target`, the type it meets: text as a
    date or time, a number as a decimal of its digits or a float of the same width."""
    if isinstance(value, pa.Scalar):
        return value
    if value is None:
        return pa.scalar(None, _plain_null(target))
    if isinstance(value, UUID):
        return pa.scalar(value.bytes, pa.binary(16))
    if isinstance(value, bytes) and target == pa.binary(len(value)):
        return pa.scalar(value, target)
    if isinstance(value, str) and pa.types.is_temporal(target):
        return _moment(value, target)
    if isinstance(value, bool) or not isinstance(value, int | float | Decimal):
        return pa.scalar(value)
    if pa.types.is_decimal(target) or isinstance(value, Decimal):
        return _decimal_literal(value)
    if pa.types.is_floating(target):
        return _float_literal(float(value), target)
    if isinstance(value, int) and pa.types.is_uint64(target) and 0 <= value < 2**64:
        return pa.scalar(value, pa.uint64())
    if isinstance(value, int) and not -(2**63) <= value < 2**63:
        return _decimal_literal(value)
    return pa.scalar(value)


def literal_types(expression: Call, types: Sequence[pa.DataType | None]) -> list[pa.DataType]:
    """Per argument, the type that a literal in its place should fit; `types` has None for those
    that are literals."""
    results = range(len(types))
    if expression.function == "case":
        results = range(1, len(types), 2)
        results = sorted({*results, len(types) - 1})  # type: ignore[assignment]
    elif expression.function in ("and_kleene", "or_kleene", "invert"):
        return [pa.bool_()] * len(types)
    elif expression.function not in _OF_ONE_TYPE:
        return [pa.null()] * len(types)
    known = [types[i] for i in results if types[i] is not None and not pa.types.is_null(types[i])]
    target = known[0] if known else pa.null()
    return [target if i in results else pa.null() for i in range(len(types))]


def value_set(values: tuple[Any, ...], target: pa.DataType) -> pa.Array:
    """`values` as an array of the type `target`, without NULL and without numbers that no value of
    the type equals. Floats have both zeros or none: they are equal."""
    plain = target.value_type if pa.types.is_dictionary(target) else target
    if pa.types.is_null(plain):
        return pa.nulls(0)
    listed = _plain_values(values, plain)
    if listed is None:
        listed = [literal for value in values if (literal := _listed(value, plain)) is not None]
    if pa.types.is_floating(plain) and any(value.as_py() == 0 for value in listed):
        listed += [pa.scalar(0.0, plain), pa.scalar(-0.0, plain)]
    return pa.array(listed, plain)


def _float_literal(value: float, target: pa.DataType) -> pa.Scalar:
    """The number rounded to the float type `target`; a float64 where that makes infinity or 0 of
    another number."""
    rounded = pa.scalar(value, target)
    number = rounded.as_py()
    same_kind = math.isinf(number) == math.isinf(value) and (number == 0) == (value == 0)
    return rounded if same_kind else pa.scalar(value)


def _decimal_literal(value: int | float | Decimal) -> pa.Scalar:
    """The number as a decimal of its own digits; as it is where it has too many."""
    if isinstance(value, float) and not math.isfinite(value):
        return pa.scalar(value)
    exact = Decimal(repr(value)) if isinstance(value, float) else Decimal(value)
    if not exact.is_finite():
        return pa.scalar(exact)
    _, digits, exponent = exact.as_tuple()
    scale = max(0, -int(exponent))
    precision = max(len(digits) + max(0, int(exponent)), scale, 1)
    if precision > DIGITS:
        return pa.scalar(value)
    return pa.scalar(exact, pa.decimal128(precision, scale))


def _plain_null(target: pa.DataType) -> pa.DataType:
    return target.value_type if pa.types.is_dictionary(target) else target


def _moment(text: str, target: pa.DataType) -> pa.Scalar:
    """A text read as a date or time; one without an offset is in the zone of `target`."""
    if not pa.types.is_timestamp(target) or target.tz is None:
        return pa.scalar(text).cast(target)
    try:
        return pa.scalar(text).cast(target)
    except pa.ArrowInvalid:
        local = pa.scalar(text).cast(pa.timestamp(target.unit))
        return pc.assume_timezone(local, target.tz)


def _plain_values(values: tuple[Any, ...], plain: pa.DataType) -> list[Any] | None:
    """The values themselves where all are Python integers or strings for a type of these; a list
    may be long."""
    kinds = set(map(type, values))
    if kinds <= {int} and pa.types.is_integer(plain):
        low = -(1 << plain.bit_width - 1) if pa.types.is_signed_integer(plain) else 0
        return [value for value in values if low <= value < low + (1 << plain.bit_width)]
    return list(values) if kinds <= {str} and plain in (pa.string(), pa.large_string()) else None


def _listed(value: Any, plain: pa.DataType) -> pa.Scalar | None:
    """One value of a list as a Scalar of the type `plain`; None for NULL, and for a number or a
    moment that is none of this type, as a half second is none of a column of seconds."""
    literal = fit_literal(value, plain)
    if not literal.is_valid:
        return None
    try:
        members = literal.cast(plain)
    except pa.ArrowInvalid:
        if any(is_kind(literal.type) and is_kind(plain) for is_kind in (is_number, _is_moment)):
            return None
        raise
    is_float = pa.types.is_floating(plain) and pa.types.is_floating(literal.type)
    return (
        None if is_float and math.isinf(members.as_py()) != math.isinf(literal.as_py()) else members
    )


def _is_moment(data_type: pa.DataType) -> bool:
    return bool(pa.types.is_timestamp(data_type) or pa.types.is_date(data_type))
