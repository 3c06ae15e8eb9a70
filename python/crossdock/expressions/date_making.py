"""Dates that are made of numbers."""

from __future__ import annotations

from crossdock.expressions.expression import Call, Expr, lit


def make_date(year: object, month: object, day: object) -> Expr:
    """The date of these numbers: date32; an error where the calendar has no such day."""
    return Call("make_date", (lit(year), lit(month), lit(day)))
