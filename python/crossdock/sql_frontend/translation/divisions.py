"""Quotients of whole numbers, and remainders, as SQL has them."""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

import pyarrow as pa

from crossdock.expressions.expression import Expr, Literal, when
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.translation.folding import constant

TypeOf = Callable[[Expr], pa.DataType]


def whole_quotient(left: Expr, right: Expr, type_of: TypeOf) -> Expr:
    """Towards zero, where ours is rounded down; of 0 it is NULL, as the remainder."""
    if not all(pa.types.is_integer(type_of(side)) for side in (left, right)):
        raise unsupported("// of other than integers", try_="a / b, or floor(a / b)")
    quotient = left // right
    wrong = ((left < 0) != (right < 0)) & (left % right != 0)
    null = Literal(pa.scalar(None, type_of(left)))
    return when(right == 0).then(null).when(wrong).then(quotient + 1).otherwise(quotient)


def remainder(left: Expr, right: Expr, type_of: TypeOf) -> Expr:
    """SQL's remainder has the sign of the dividend, ours that of the divisor; of 0 it is
    NULL."""
    scales = [
        data_type.scale
        for data_type in map(type_of, (left, right))
        if pa.types.is_decimal(data_type)
    ]
    if scales:  # by whole numbers of the smallest unit
        scale = max(scales)
        whole = [_units(side, scale) for side in (left, right)]
        units = remainder(whole[0], whole[1], type_of)
        return units.cast(pa.decimal128(38, 0)) * Literal(Decimal(1).scaleb(-scale))
    divisor = constant(right, "a divisor") if isinstance(right, Literal) else None
    if divisor is not None:
        if divisor == 0 and not pa.types.is_floating(type_of(left)):
            return Literal(pa.scalar(None, type_of(left)))
        rest = left % right
        wrong = (left < 0) if divisor > 0 else (left > 0)
        return when(wrong & (rest != 0)).then(rest - right).otherwise(rest)
    rest = left % right
    wrong = ((left < 0) != (right < 0)) & (rest != 0)
    if any(pa.types.is_floating(type_of(side)) for side in (left, right)):
        return when(wrong).then(rest - right).otherwise(rest)
    null = Literal(pa.scalar(None, type_of(left)))
    return when(right == 0).then(null).when(wrong).then(rest - right).otherwise(rest)


def _units(value: Expr, scale: int) -> Expr:
    """A decimal or an integer as a number of units of 10^-scale."""
    if isinstance(value, Literal):
        number = constant(value, "a number")
        return Literal(None if number is None else int(Decimal(number).scaleb(scale)))
    return (value * Literal(Decimal(10**scale))).cast(pa.int64())
