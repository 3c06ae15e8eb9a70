"""Intervals of SQL, and what dates and timestamps become by them."""

from __future__ import annotations

import datetime
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation

import pyarrow as pa

from crossdock.expressions.expression import Call, Expr, Literal, when
from crossdock.expressions.free_functions import least, make_date
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.translation.folding import constant, folded

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
class Multiple:
    """So many times an interval, with a number that is another one per row."""

    count: Expr
    interval: Interval
    is_whole: bool = True

    def __neg__(self) -> Multiple:
        return Multiple(self.count, -self.interval, self.is_whole)


Moving = Interval | Multiple
_DAY = Interval(0, 1, 0)


def interval_of(value: Expr, *, counts_seconds: bool) -> Moving:
    """A cast to an interval: a string says its parts, and a number of seconds is what DataFusion
    makes of the days that are added to a date. SqlError for others."""
    if counts_seconds and isinstance(value, Call) and value.function == "multiply":
        count, seconds = value.arguments
        if isinstance(seconds, Literal) and seconds.value == _DAY_S:
            return Multiple(count, _DAY)
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


def multiplied(count: Expr, interval: Expr | Moving, data_type: pa.DataType) -> Moving:
    """A number of intervals. SqlError for what is no interval by itself."""
    if not isinstance(interval, Interval):
        raise unsupported(
            "a product of this interval", word="interval", try_="n * interval '1 day'"
        )
    is_whole = pa.types.is_integer(data_type)
    if interval.months and not is_whole:
        raise unsupported("a part of a month", word="interval", try_="interval '1 day'")
    number = count.value if isinstance(count, Literal) else None
    if isinstance(number, int):
        parts = (interval.months, interval.days, interval.microseconds)
        return Interval(*(number * part for part in parts))
    return Multiple(count, interval, is_whole)


def as_duration(value: Expr | Moving) -> Expr:
    """An interval as what a difference of timestamps is compared with: a month has 30 days."""
    if isinstance(value, Expr):
        return value
    if not isinstance(value, Interval):
        raise unsupported("a comparison with this interval", try_="date_diff('day', a, b) > n")
    us = (value.months * 30 + value.days) * _DAY_US + value.microseconds
    return Literal(pa.scalar(us, pa.duration("us")))


_TIMES = {"hour": (3600, 24), "minute": (60, 60), "second": (1, 60)}  # seconds, of how many


def part_of_duration(part: Expr, value: Expr) -> Expr:
    """Days and the times that are left, or all seconds; below 0 where the whole is."""
    name = str(constant(part, "a part of a difference of times")).lower().removesuffix("s")
    us = value.cast(pa.duration("us")).cast(pa.int64())
    if name == "epoch":
        return us / 1_000_000
    seconds = when(us < 0).then(-(-us // 1_000_000)).otherwise(us // 1_000_000)
    if name == "day":
        return when(us < 0).then(-(-us // _DAY_US)).otherwise(us // _DAY_US)
    if name not in _TIMES:
        raise unsupported(
            f"the part {name!r} of a difference of times", try_="epoch, day, hour, minute, second"
        )
    unit, count = _TIMES[name]
    return when(us < 0).then(-(-seconds // unit % count)).otherwise(seconds // unit % count)


def computed(
    name: str, arguments: Sequence[Expr | Moving], type_of: Callable[[Expr], pa.DataType]
) -> Expr | Moving:
    """A function of which an argument is an interval. SqlError for others than moving by one."""
    first = arguments[0]
    if name == "negate" and not isinstance(first, Expr):
        return -first
    if name in ("range", "generate_series"):
        return _series(name, arguments)
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
    if isinstance(moving, Interval):
        return folded(_by(subject, moving))
    return folded(_by_multiple(subject, moving, type_of(subject)))


def _series(name: str, arguments: Sequence[Expr | Moving]) -> Expr:
    """The timestamps from one to another as a list, each an interval behind the one before it."""
    first, last, step = arguments if len(arguments) == 3 else (None, None, None)
    us = step.days * _DAY_US + step.microseconds if isinstance(step, Interval) else 0
    is_plain = isinstance(step, Interval) and not step.months and us
    if not is_plain or not isinstance(first, Expr) or not isinstance(last, Expr):
        raise unsupported(
            f"{name} by this interval as a value", word=name,
            try_=f"FROM {name}(date '2026-01-01', date '2026-12-31', interval '1 month')",
        )  # fmt: skip
    ticks = [each.cast(pa.timestamp("us")).cast(pa.int64()) for each in (first, last)]
    numbers = Call("list_range", (*ticks, Literal(us)), name == "generate_series")
    return numbers.cast(pa.list_(pa.timestamp("us")))


# Where buckets of days and less, and of months, are counted from.
_MONDAY_US = (datetime.date(2000, 1, 3) - datetime.date(1970, 1, 1)).days * _DAY_US
_FIRST_MONTH = 2000 * 12


def bucket(width: Expr | Moving, subject: Expr, type_of: Callable[[Expr], pa.DataType]) -> Expr:
    """The beginning of the bucket of a width in which a date or timestamp lies: of dates by days
    and months a date, else a timestamp. SqlError for widths that are none."""
    start = _bucket(width, subject)
    assert isinstance(width, Interval)
    is_date = pa.types.is_date(type_of(subject)) and not width.microseconds
    return start.cast(pa.date32()) if is_date else start


def _bucket(width: Expr | Moving, subject: Expr) -> Expr:
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


def _by_multiple(subject: Expr, moving: Multiple, data_type: pa.DataType) -> Expr:
    """By so many months, then by what is left: dates stay dates where that is whole days."""
    interval, count = moving.interval, moving.count
    if interval.months:
        subject = by_months(subject, count * interval.months, data_type)
    us = interval.days * _DAY_US + interval.microseconds
    if us == 0:
        return subject
    if pa.types.is_date(data_type) and us % _DAY_US == 0 and moving.is_whole:
        days = count * (us // _DAY_US)
        return (subject.cast(pa.int32()) + days.cast(pa.int32())).cast(pa.date32())
    if pa.types.is_date(data_type):
        subject = subject.cast(pa.timestamp("us"))
    moved = count * us if moving.is_whole else (count.cast(pa.float64()) * us).round()
    return subject + moved.cast(pa.int64()).cast(pa.duration("us"))


def by_months(subject: Expr, months: Expr, data_type: pa.DataType) -> Expr:
    """To the same day of another month, or to its last one."""
    month = Call("year", (subject,)) * 12 + Call("month", (subject,)) - 1 + months.cast(pa.int64())
    first = make_date(month // 12, month % 12 + 1, 1)
    day = least(Call("day", (subject,)), Call("day", (first.last_day(),)))
    days = first.cast(pa.int32()) + day.cast(pa.int32()) - 1
    moved = days.cast(pa.int32()).cast(pa.date32())
    if pa.types.is_date(data_type):
        return moved
    if getattr(data_type, "tz", None) is not None:
        raise unsupported("months per row of a timestamp with a zone", try_="x::timestamp")
    return moved.cast(pa.timestamp("us")) + (subject - subject.truncate("day"))


def _by(subject: Expr, moving: Interval) -> Expr:
    if moving.months:
        subject = subject.add_months(moving.months)
    days, rest = moving.days, moving.microseconds
    if rest % _DAY_US == 0:
        days, rest = days + rest // _DAY_US, 0
    if days or rest:
        subject = subject + datetime.timedelta(days=days, microseconds=rest)
    return subject
