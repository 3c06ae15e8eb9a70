"""Comparisons of floats as SQL has them: NaN equals itself and is above all numbers."""

from __future__ import annotations

import math
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.free_functions import coalesce


def with_nan(name: str, plain: Expr, sides: tuple[Expr, Expr], has_nan: Sequence[bool]) -> Expr:
    """A comparison that is `plain` where neither side is NaN; `has_nan` says which may be."""
    left, right = sides
    if name in ("lt", "lte"):
        turned = {"lt": "gt", "lte": "gte"}[name]
        return with_nan(turned, plain, (right, left), (has_nan[1], has_nan[0]))
    if name in ("gt", "gte"):
        if not has_nan[0]:
            return plain
        return plain | _both(left.is_nan(), _is_below(right, name == "gte" and has_nan[1]))
    if not all(has_nan):
        return plain
    both = left.is_nan() if isinstance(right, Literal) else left.is_nan() & right.is_nan()
    if "distinct" in name:  # which is never NULL
        both = coalesce(both, False)
    is_equal = name in ("equal", "is_not_distinct_from")
    return plain | both if is_equal else plain & ~both


def as_float(value: Expr, data_type: pa.DataType | None, target: pa.DataType) -> Expr:
    """A decimal as the float that it is compared with; None is the type of a constant, which
    compares with doubles as it is."""
    if data_type is not None:
        return value.cast(target) if pa.types.is_decimal(data_type) else value
    plain = value.value if isinstance(value, Literal) else None
    plain = plain.as_py() if isinstance(plain, pa.Scalar) else plain
    if target == pa.float32() and isinstance(plain, Decimal | float):
        return Literal(pa.scalar(float(plain), target))
    return value


def is_one_of(value: Expr, listed: Sequence[Any], data_type: pa.DataType) -> Expr:
    """Whether a value is one of constants. A float equals the float of a decimal."""
    if not pa.types.is_floating(data_type):
        return value.is_in(listed)
    plain = [each.as_py() if isinstance(each, pa.Scalar) else each for each in listed]
    numbers = [float(each) for each in plain if not math.isnan(each)]
    membership = value.is_in(numbers)
    return membership | value.is_nan() if len(numbers) < len(plain) else membership


def without_nan(parts: list[Expr]) -> list[Expr]:
    """The parts of a conjunction. A column that one of them bounds from above is no NaN where all
    hold, so that another one is its plain lower bound, by which files leave out row groups."""
    bounded = {name for part in parts if (name := _bounded(part, ("less", "less_equal", "equal")))}
    return [_plain(part, bounded) for part in parts]


def _plain(part: Expr, bounded: set[str]) -> Expr:
    if not isinstance(part, Call) or part.function != "or_kleene":
        return part
    plain, other = part.arguments
    is_nan = isinstance(other, Call) and other.function == "is_nan"
    name = _bounded(plain, ("greater", "greater_equal")) if is_nan else ""
    return plain if name in bounded and other.columns() == {name} else part


def _bounded(part: Expr, functions: tuple[str, ...]) -> str:
    """The name of a column that is compared with a constant; "" of other expressions."""
    if not isinstance(part, Call) or part.function not in functions:
        return ""
    left, right = part.arguments
    return left.name if isinstance(left, Column) and isinstance(right, Literal) else ""


def _is_below(value: Expr, or_is_nan: bool) -> Expr | None:
    """Whether a value is no NaN, or one or none; NULL of NULL. None where it is so."""
    if isinstance(value, Literal):
        return None
    return value.is_nan() | (value == value) if or_is_nan else value == value


def _both(condition: Expr, other: Expr | None) -> Expr:
    return condition if other is None else condition & other
