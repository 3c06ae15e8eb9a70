"""Intervals of SQL, and what dates and timestamps become by them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from crossdock.expressions.expression import Call, Expr, Literal
from crossdock.expressions.free_functions import make_date
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.translation.folding import folded

_DAY_S = 86_400
_DAY_US = _DAY_S * 1_000_000
_PART = re.compile(r"\s*([+-]?\d+(?:\.\d+)?)\s*([A-Za-z]+)\s*")
_MONTHS = {"month": 1, "mon": 1, "quarter": 3, "year": 12, "yr": 12, "decade": 120, "century": 1200}
_DAYS = {"day": 1, "week": 7}
_MICROSECONDS = {
    "hour": 3_600_000_000, "hr": 3_600_000_000, "minute": 60_000_000, "min": 60_000_000,
    "second": 1_000_000, "sec": 1_000_000, "millisecond": 1000, "microsecond": 1,
}  # fmt: skip


@dataclass(frozen=True)
class Interval:
    """Months, days and microseconds: what a date or a timestamp can be moved by."""

    months: int
    days: int
    microseconds: int

    def __neg__(self) -> Interval:
        return Interval(-self.months, -self.days, -self.microseconds)


@dataclass(frozen=True)
class Days:
    """A number of days that is another one per row."""

    count: Expr

    def __neg__(self) -> Days:
        return Days(-self.count)


Moving = Interval | Days


def interval_of(value: Expr, *, counts_seconds: bool) -> Moving:
    """A cast to an interval: a string says its parts, and a number of seconds is what DataFusion
    makes of the days that are added to a date. SqlError for others."""
    if counts_seconds and isinstance(value, Call) and value.function == "multiply":
        count, seconds = value.arguments
        if isinstance(seconds, Literal) and seconds.value == _DAY_S:
            return Days(count)
    result = value.value if isinstance(value, Literal) else None
    if counts_seconds and isinstance(result, int):
        return Interval(0, result // _DAY_S, result % _DAY_S * 1_000_000)
    if not counts_seconds and isinstance(result, str):
        return parsed_interval(result)
    raise unsupported("an interval of this value", try_="interval '1' day")


def parsed_interval(text: str) -> Interval:
    """Such as '1 day 2 hours'. SqlError for what is none."""
    months = days = microseconds = place = 0
    while place < len(text):
        match = _PART.match(text, place)
        if match is None:
            raise sql_error(f"the interval {text!r} cannot be read", try_="'1 day 2 hours'")
        try:
            count = Decimal(match[1])
        except InvalidOperation:
            raise sql_error(f"the interval {text!r} cannot be read") from None
        unit = match[2].lower()
        unit = unit if unit in _MONTHS | _DAYS | _MICROSECONDS else unit.removesuffix("s")
        if unit in _MICROSECONDS:
            microseconds += int(count * _MICROSECONDS[unit])
        elif unit in _DAYS | _MONTHS and count == count.to_integral_value():
            months += int(count) * _MONTHS.get(unit, 0)
            days += int(count) * _DAYS.get(unit, 0)
        else:
            raise sql_error(f"the interval {text!r} cannot be read", try_="'1 day 2 hours'")
        place = match.end()
    return Interval(months, days, microseconds)


def computed(name: str, arguments: Sequence[Expr | Moving]) -> Expr | Moving:
    """A function of which an argument is an interval. SqlError for others than moving by one."""
    first = arguments[0]
    if name == "negate" and not isinstance(first, Expr):
        return -first
    if name not in ("add", "subtract") or len(arguments) != 2:
        raise unsupported(f"{name} of intervals")
    subject, moving = arguments
    if name == "add" and not isinstance(subject, Expr):
        subject, moving = moving, subject
    if isinstance(moving, Expr):
        raise unsupported(f"{name} of intervals")
    moving = -moving if name == "subtract" else moving
    if isinstance(subject, Interval) and isinstance(moving, Interval):
        return Interval(
            subject.months + moving.months, subject.days + moving.days,
            subject.microseconds + moving.microseconds,
        )  # fmt: skip
    if not isinstance(subject, Expr):
        raise unsupported(f"{name} of intervals")
    return folded(_by_days(subject, moving) if isinstance(moving, Days) else _by(subject, moving))


# Where buckets of days and less, and of months, are counted from.
_MONDAY_US = (datetime.date(2000, 1, 3) - datetime.date(1970, 1, 1)).days * _DAY_US
_FIRST_MONTH = 2000 * 12


def bucket(width: Expr | Moving, subject: Expr) -> Expr:
    """The beginning of the bucket of a width in which a timestamp lies. SqlError for widths that
    are none."""
    is_width = isinstance(width, Interval) and bool(width.months) != bool(
        width.days or width.microseconds
    )
    if not isinstance(width, Interval) or not is_width:
        raise unsupported(
            "time_bucket by this width",
            word="time_bucket",
            try_="interval '1 month', or '90 minutes'",
        )
    if width.months:
        months = Call("year", (subject,)) * 12 + Call("month", (subject,)) - 1 - _FIRST_MONTH
        begin = months // width.months * width.months + _FIRST_MONTH
        return make_date(begin // 12, begin % 12 + 1, 1).cast(pa.timestamp("us"))
    us = width.days * _DAY_US + width.microseconds
    if us <= 0:
        raise unsupported("time_bucket by a width below 0", word="time_bucket")
    since = subject.cast(pa.timestamp("us")).cast(pa.int64()) - _MONDAY_US
    return (since // us * us + _MONDAY_US).cast(pa.timestamp("us"))


def _by_days(subject: Expr, moving: Days) -> Expr:
    return (subject.cast(pa.int32()) + moving.count.cast(pa.int32())).cast(pa.date32())


def _by(subject: Expr, moving: Interval) -> Expr:
    if moving.months:
        subject = subject.add_months(moving.months)
    days, rest = moving.days, moving.microseconds
    if rest % _DAY_US == 0:
        days, rest = days + rest // _DAY_US, 0
    if days or rest:
        subject = subject + datetime.timedelta(days=days, microseconds=rest)
    return subject
