"""Functions of several values, which are methods of none."""

from __future__ import annotations

from crossdock.errors import make_error
from crossdock.expressions.expression import Call, Expr, Literal, lit


def coalesce(*values: object) -> Expr:
    """The first of `values` that is not NULL. A later one is computed only on the rows that need
    it."""
    return _call_of_values("coalesce", values, "coalesce(xd.col('a'), 0)")


def concat(*strings: object) -> Expr:
    """`strings` one behind the other; NULL where one of them is NULL."""
    if any(isinstance(each, list | tuple) or hasattr(each, "union") for each in strings):
        raise make_error(
            "CD-504", "concat() joins strings of a row, not relations",
            try_="one.union(other), for rows; concat(xd.col('a'), '-', xd.col('b'))",
        )  # fmt: skip
    return _call_of_values("concat", strings, "concat(xd.col('a'), '-', xd.col('b'))")


def greatest(*values: object) -> Expr:
    """The largest of `values` that are not NULL; NaN is above all. NULL where all are NULL."""
    return _call_of_values("greatest", values, "greatest(xd.col('a'), xd.col('b'))")


def least(*values: object) -> Expr:
    """The smallest of `values` that are not NULL; NaN is above all. NULL where all are NULL."""
    return _call_of_values("least", values, "least(xd.col('a'), xd.col('b'))")


def nullif(value: object, other: object) -> Expr:
    """`value`, and NULL where it equals `other`."""
    first = lit(value)
    return Call("case", (first == lit(other), Literal(None), first))


def _call_of_values(function: str, values: tuple[object, ...], example: str) -> Expr:
    if not values:
        raise make_error("CD-504", f"{function}() needs a value", try_=example)
    return Call(function, tuple(lit(value) for value in values))


def make_date(year: object, month: object, day: object) -> Expr:
    """The date of these numbers: date32; an error where the calendar has no such day."""
    return Call("make_date", (lit(year), lit(month), lit(day)))
