"""The functions of values that expressions have as methods: of strings, numbers and instants.

What a function takes beside its value is constants, which are checked here and become the option of
the call: one constant, or a tuple of them. function_kernels.py computes them with pyarrow, the
engine under the same names (src/expressions).
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from crossdock.errors import make_error
from crossdock.option_checks import (
    like_pattern,
    require_choice,
    require_count,
    require_integer,
    require_text,
)

if TYPE_CHECKING:
    from crossdock.expressions import Expr

TEXT_TESTS = frozenset(("starts_with", "ends_with", "contains", "like", "ilike"))
TEXT_CHANGES = frozenset(("lower", "upper", "strip"))  # that readers of files know
DATE_PARTS = frozenset(("year", "month", "day", "weekday", "hour", "minute", "second"))
# Never an error, whatever the value.
TOTAL_FUNCTIONS = (
    TEXT_TESTS | TEXT_CHANGES | DATE_PARTS
    | {"length", "substring", "replace", "lpad", "rpad", "is_nan", "try_cast"}
    | {"quarter", "week", "day_of_year", "sqrt", "exp", "ln", "log2", "log10"}
)  # fmt: skip
PERIODS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
_MOST_PADDED = 1_000_000


class StringFunctions:
    """Functions of strings. Characters are those of Unicode, and counted from 0."""

    __slots__ = ()

    def _called(self, function: str, option: Any = None) -> Expr:
        raise NotImplementedError

    def starts_with(self, text: str) -> Expr:
        """True where a string begins with `text`."""
        return self._called("starts_with", require_text(text, "starts_with()", "'abc'"))

    def ends_with(self, text: str) -> Expr:
        """True where a text ends with `text`."""
        return self._called("ends_with", require_text(text, "ends_with()", "'abc'"))

    def contains(self, text: str) -> Expr:
        """True where a text has `text` somewhere in it."""
        return self._called("contains", require_text(text, "contains()", "'abc'"))

    def like(self, pattern: str, escape: str = "\\") -> Expr:
        """True where the whole string fits SQL's `pattern`: % is any string, _ any one character,
        and `escape` takes the character after it as it is; "" = there is none."""
        return self._called("like", like_pattern(pattern, escape, "like()"))

    def ilike(self, pattern: str, escape: str = "\\") -> Expr:
        """The same as `like` of both sides in lower case."""
        return self._called("ilike", like_pattern(pattern, escape, "ilike()"))

    def lower(self) -> Expr:
        """The text in lower case."""
        return self._called("lower")

    def upper(self) -> Expr:
        """The text in upper case."""
        return self._called("upper")

    def strip(self, characters: str | None = None) -> Expr:
        """The text without white space, or without `characters`, at its ends."""
        if characters is not None:
            require_text(characters, "strip()", "strip('-')")
        return self._called("strip", characters)

    def length(self) -> Expr:
        """Number of characters of a text, of bytes of a binary: int64."""
        return self._called("length")

    def substring(self, start: int, length: int | None = None) -> Expr:
        """`length` characters from the character `start` on, all if it is None. As in a slice of
        Python, the first character is 0, and a negative `start` counts from the end."""
        first = require_integer(start, "substring() takes a position", "substring(0, 2)")
        if length is None:
            return self._called("substring", (first,))
        return self._called("substring", (first, require_count(length, "substring()", "length")))

    def left(self, length: int) -> Expr:
        """The first `length` characters."""
        return self._called("substring", (0, require_count(length, "left()", "length")))

    def right(self, length: int) -> Expr:
        """The last `length` characters."""
        last = require_count(length, "right()", "length")
        return self._called("substring", (-last, last) if last else (0, 0))

    def replace(self, part: str, by: str) -> Expr:
        """The text with every `part` replaced; an empty `part` is nowhere."""
        require_text(part, "replace()", "replace('-', ' ')")
        return self._called("replace", (part, require_text(by, "replace()", "replace('-', ' ')")))

    def lpad(self, width: int, fill: str = " ") -> Expr:
        """The text with as many `fill` before it as make it `width` characters long; a longer one
        is cut behind that many."""
        return self._called("lpad", _padding(width, fill, "lpad()"))

    def rpad(self, width: int, fill: str = " ") -> Expr:
        """The same with `fill` behind the text."""
        return self._called("rpad", _padding(width, fill, "rpad()"))


def _padding(width: int, fill: str, what: str) -> tuple[int, str]:
    characters = require_count(width, what, "width")
    if characters > _MOST_PADDED:
        raise make_error(
            "CD-105", f"{what} to {characters} characters", limits=f"{_MOST_PADDED} characters",
            try_="a smaller width",
        )  # fmt: skip
    if len(require_text(fill, what, "'0'")) != 1:
        raise make_error("CD-105", f"{what} fills with one character, not {fill!r}", try_="'0'")
    return characters, fill


class NumberFunctions:
    """Functions of numbers. What has no value is NaN or an infinity, as in a division of floats."""

    __slots__ = ()

    def _called(self, function: str, option: Any = None) -> Expr:
        raise NotImplementedError

    def abs(self) -> Expr:
        """The value without its sign."""
        return self._called("abs")

    def round(self, digits: int = 0) -> Expr:
        """The nearest value with `digits` after the point (before it, if negative); halves are
        rounded away from zero. The type stays."""
        found = require_integer(digits, "round() takes a number of digits", "round(2)")
        return self._called("round", found)

    def floor(self) -> Expr:
        """The largest whole number that is not above the value. The type stays."""
        return self._called("floor")

    def ceil(self) -> Expr:
        """The smallest whole number that is not below the value. The type stays."""
        return self._called("ceil")

    def sign(self) -> Expr:
        """-1, 0 or 1: int8 of integers and decimals, of floats one of their type, with NaN."""
        return self._called("sign")

    def sqrt(self) -> Expr:
        """The square root: float64; NaN of a number below 0."""
        return self._called("sqrt")

    def exp(self) -> Expr:
        """e to the power of the value: float64."""
        return self._called("exp")

    def ln(self) -> Expr:
        """The natural logarithm: float64; minus infinity of 0, and NaN of a number below."""
        return self._called("ln")

    def log2(self) -> Expr:
        """The logarithm to the base of 2: float64."""
        return self._called("log2")

    def log10(self) -> Expr:
        """The logarithm to the base of 10: float64."""
        return self._called("log10")

    def is_nan(self) -> Expr:
        """True where a float is not a number; NULL where there is none."""
        return self._called("is_nan")


class DateFunctions:
    """Functions of dates and instants. Timestamps with a zone count in that zone."""

    __slots__ = ()

    def _called(self, function: str, option: Any = None) -> Expr:
        raise NotImplementedError

    def year(self) -> Expr:
        """The year of a date or timestamp: int64. Timestamps with a zone count in that zone."""
        return self._called("year")

    def quarter(self) -> Expr:
        """The quarter of a date or timestamp, 1 to 4."""
        return self._called("quarter")

    def month(self) -> Expr:
        """The month of a date or timestamp, 1 to 12."""
        return self._called("month")

    def week(self) -> Expr:
        """The week of a date or timestamp as ISO 8601 counts them, 1 to 53."""
        return self._called("week")

    def day(self) -> Expr:
        """The day of the month of a date or timestamp, 1 to 31."""
        return self._called("day")

    def day_of_year(self) -> Expr:
        """The day of the year of a date or timestamp, 1 to 366."""
        return self._called("day_of_year")

    def weekday(self) -> Expr:
        """The day of the week of a date or timestamp, Monday = 0 to Sunday = 6."""
        return self._called("weekday")

    def hour(self) -> Expr:
        """The hour of a time or timestamp, 0 to 23."""
        return self._called("hour")

    def minute(self) -> Expr:
        """The minute of a time or timestamp, 0 to 59."""
        return self._called("minute")

    def second(self) -> Expr:
        """The whole second of a time or timestamp, 0 to 59."""
        return self._called("second")

    def date(self) -> Expr:
        """The date of a timestamp: date32."""
        return self._called("date")

    def truncate(self, period: str) -> Expr:
        """The beginning of the year, quarter, month, week (Monday), day, hour, minute or second in
        which a date or timestamp lies. The type stays."""
        return self._called("truncate", require_choice(period, PERIODS, "truncate()"))

    def add_months(self, months: int) -> Expr:
        """The date or timestamp so many months later; the last day of the month where that has no
        such day. The type stays."""
        count = require_integer(months, "add_months() takes a number of months", "add_months(3)")
        return self._called("add_months", count)
