"""Functions in FROM that make rows of constants: range, generate_series and unnest of a list; and
glob, of the names of files."""

from __future__ import annotations

import calendar
import datetime
from decimal import Decimal

import pyarrow as pa

from crossdock.files.paths import find_files
from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.text.rewritten import FileCall
from crossdock.sql_frontend.translation.intervals import Interval

ROW_FUNCTIONS = ("range", "generate_series", "unnest", "glob")
_MOST_ROWS = 100_000_000
_MOST_TIMES = 1_000_000


def rows_of_call(call: FileCall, text: str) -> pa.Table:
    """The rows of a call as a table of one column. SqlError."""
    if call.options:
        raise sql_error(f"{call.function}() has no options", text, call.place)
    if call.function == "unnest":
        return pa.table({"unnest": _elements(call, text)})
    if call.function == "glob":
        return pa.table({"file": _files(call, text)})
    if any(isinstance(value, datetime.datetime) for value in call.arguments):
        return pa.table({call.function: _times(call, text)})
    start, end, step = _bounds(call, text)
    if call.function == "generate_series":
        end += 1 if step > 0 else -1
    numbers = range(start, end, step)
    if len(numbers) > _MOST_ROWS:
        raise sql_error(
            f"{call.function}() of {len(numbers):,} rows; up to {_MOST_ROWS:,} are made", text,
            call.place, try_="a table, or a join of two ranges",
        )  # fmt: skip
    return pa.table({call.function: pa.arange(numbers.start, numbers.stop, numbers.step)})


def _files(call: FileCall, text: str) -> pa.Array:
    """The names of files like a pattern, in their order. PathError where there is none."""
    patterns = [value for value in call.arguments if isinstance(value, str)]
    if len(patterns) != 1 or len(call.arguments) != 1:
        raise sql_error("glob() takes one pattern", text, call.place, "glob('2026/*.parquet')")
    return pa.array(find_files(patterns[0], ""), pa.string())


def _times(call: FileCall, text: str) -> pa.Array:
    """The timestamps from one to another, each an interval behind the one before it."""
    given = call.arguments
    kinds = [type(value) for value in given]
    if kinds != [datetime.datetime, datetime.datetime, Interval]:
        raise sql_error(
            f"{call.function}() of times takes two of them and an interval", text, call.place,
            try_=f"{call.function}(date '2026-01-01', date '2026-12-31', interval '1 day')",
        )  # fmt: skip
    begin, end, step = given
    assert isinstance(begin, datetime.datetime)
    assert isinstance(end, datetime.datetime)
    assert isinstance(step, Interval)
    parts = (step.months, step.days, step.microseconds)
    if not any(parts) or (min(parts) < 0 < max(parts)):
        raise sql_error(f"{call.function}() by this interval", text, call.place, "interval '1 day'")
    is_down, times = min(parts) < 0, list[datetime.datetime]()
    with_end = call.function == "generate_series"
    while begin > end if is_down else begin < end:
        times.append(begin)
        if len(times) > _MOST_TIMES:
            raise sql_error(
                f"{call.function}() of more than {_MOST_TIMES:,} times", text, call.place,
                "a longer interval",
            )  # fmt: skip
        begin = _moved(begin, step)
    if with_end and begin == end:
        times.append(end)
    return pa.array(times, pa.timestamp("us"))


def _moved(time: datetime.datetime, step: Interval) -> datetime.datetime:
    """A time by an interval; days that a month has not are its last one."""
    month = time.year * 12 + time.month - 1 + step.months
    year, month = month // 12, month % 12 + 1
    day = min(time.day, calendar.monthrange(year, month)[1])
    moved = time.replace(year=year, month=month, day=day)
    return moved + datetime.timedelta(days=step.days, microseconds=step.microseconds)


def _elements(call: FileCall, text: str) -> pa.Array:
    values = call.arguments[0] if len(call.arguments) == 1 else None
    if not isinstance(values, list):
        raise sql_error(
            "unnest() takes a list of constants here", text, call.place,
            try_="unnest([1, 2, 3]), or a table with a row per element",
        )  # fmt: skip
    kinds = {type(value) for value in values}
    if kinds == {int, float}:
        values = [float(value) for value in values]
    elif len(kinds) > 1:
        raise sql_error("a list of values of several types", text, call.place)
    return pa.array(values, pa.int64() if kinds == {int} else None)


def _bounds(call: FileCall, text: str) -> tuple[int, int, int]:
    """Where the numbers begin, where they end, and the distance between them."""
    given = call.arguments
    whole = [value for value in given if isinstance(value, int) and not isinstance(value, bool)]
    if not 1 <= len(given) <= 3 or len(whole) != len(given):
        raise sql_error(
            f"{call.function}() takes one to three whole numbers", text, call.place,
            try_=f"{call.function}(1, 10, 2)",
        )  # fmt: skip
    if len(whole) == 1:
        whole = [0, *whole]
    step = whole[2] if len(whole) == 3 else 1
    most = Decimal(1 << 62)
    if step == 0 or any(abs(value) > most for value in whole):
        raise sql_error(
            f"{call.function}() of these numbers", text, call.place,
            try_="a step that is not 0, and numbers below 2^62",
        )  # fmt: skip
    return whole[0], whole[1], step
