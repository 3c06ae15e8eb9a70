"""Conditions on the year of a date as bounds of the date, by which files and row groups are left
out."""

from __future__ import annotations

import datetime
from collections.abc import Callable

import pyarrow as pa

from crossdock.expressions.expression import Call, Expr, Literal


def bounds_of_year(condition: Expr, type_of: Callable[[Expr], pa.DataType]) -> Expr:
    """A comparison of the year of a date or a timestamp without a zone with a constant, as what it
    says about the date; other conditions as they are."""
    if not isinstance(condition, Call) or len(condition.arguments) != 2:
        return condition
    left, right = condition.arguments
    if not isinstance(left, Call) or left.function != "year" or not isinstance(right, Literal):
        return condition
    year, subject = right.value, left.arguments[0]
    if type(year) is not int or not datetime.MINYEAR <= year < datetime.MAXYEAR:
        return condition
    data_type = type_of(subject)
    if pa.types.is_date32(data_type):
        first, behind = datetime.date(year, 1, 1), datetime.date(year + 1, 1, 1)
    elif pa.types.is_timestamp(data_type) and data_type.tz is None:
        first, behind = datetime.datetime(year, 1, 1), datetime.datetime(year + 1, 1, 1)
    else:
        return condition
    bounds = {
        "less": lambda: subject < first, "less_equal": lambda: subject < behind,
        "greater": lambda: subject >= behind, "greater_equal": lambda: subject >= first,
        "equal": lambda: (subject >= first) & (subject < behind),
        "not_equal": lambda: (subject < first) | (subject >= behind),
    }  # fmt: skip
    return bounds[condition.function]() if condition.function in bounds else condition
