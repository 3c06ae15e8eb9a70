"""Comparisons of floats as SQL has them: NaN equals itself and is above all numbers."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.expressions.expression import Expr, Literal
from crossdock.expressions.free_functions import coalesce


def with_nan(name: str, plain: Expr, sides: tuple[Expr, Expr], has_nan: Sequence[bool]) -> Expr:
    """A comparison that is `plain` where neither side is NaN; `has_nan` says which may be."""
    left, right = sides
    if name in ("lt", "lte"):
        turned = {"lt": "gt", "lte": "gte"}[name]
        return with_nan(turned, plain, (right, left), (has_nan[1], has_nan[0]))
    if name == "gt":
        return plain | (left.is_nan() & _is_number(right)) if has_nan[0] else plain
    if name == "gte":
        return plain | (left.is_nan() & _is_known(right, has_nan[1])) if has_nan[0] else plain
    if not all(has_nan):
        return plain
    both = left.is_nan() if isinstance(right, Literal) else left.is_nan() & right.is_nan()
    if "distinct" in name:  # which is never NULL
        both = coalesce(both, False)
    is_equal = name in ("equal", "is_not_distinct_from")
    return plain | both if is_equal else plain & ~both


def _is_number(value: Expr) -> Expr:
    """Whether a value is no NaN; NULL of NULL."""
    return Literal(True) if isinstance(value, Literal) else value == value


def _is_known(value: Expr, has_nan: bool) -> Expr:
    """True; NULL of NULL."""
    return _is_number(value) | value.is_nan() if has_nan else _is_number(value)
