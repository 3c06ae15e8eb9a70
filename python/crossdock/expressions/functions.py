"""The functions of values that expressions have as methods: of strings, numbers, moments and lists.

What a function takes beside its value is constants, which are checked here and become the option of
the call: one constant, or a tuple of them. function_kernels.py computes them with pyarrow, the
engine under the same names (src/expressions); those of lists and structs nested_kernels.py alone,
for the engine has no nested columns.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Generic, TypeVar

from crossdock.errors import make_error
from crossdock.familiar_options import answering_class
from crossdock.option_checks import (
    like_pattern,
    require_choice,
    require_count,
    require_flag,
    require_integer,
    require_text,
)

Expr = TypeVar("Expr")  # the class that has these methods, and that they give

TEXT_TESTS = frozenset(("starts_with", "ends_with", "contains", "like", "ilike"))
TEXT_CHANGES = frozenset(("lower", "upper", "strip"))  # that readers of files know
DATE_PARTS = frozenset(("year", "month", "day", "weekday", "hour", "minute", "second"))
# Never an error, whatever the value.
TOTAL_FUNCTIONS = (
    TEXT_TESTS | TEXT_CHANGES | DATE_PARTS
    | {"length", "substring", "replace", "lpad", "rpad", "is_nan", "try_cast", "lstrip", "rstrip"}
    | {"try_parsed_as", "written", "round_even"}
    | {"matches", "replace_matches", "extract", "find", "reverse", "split_part", "initcap"}
    | {"md5", "sha1", "sha256", "url_encode", "translate", "levenshtein", "jaro_similarity"}
    | {"jaro_winkler_similarity", "code_point", "hex", "iso_year", "millisecond", "microsecond"}
    | {"epoch", "strftime"}
    | {"try_strptime", "bit_and", "bit_or", "bit_xor", "bit_not", "shift_right", "cbrt", "sin"}
    | {"cos", "tan", "asin", "acos", "atan", "atan2", "degrees", "radians"}
    | {"json_valid", "quarter", "week", "day_of_year", "sqrt", "exp", "ln", "log2", "log10"}
)  # fmt: skip
PERIODS = (
    "year", "quarter", "month", "week", "day", "hour", "minute", "second", "millisecond",
    "microsecond", "decade", "century", "millennium",
)  # fmt: skip
_MOST_PADDED = 1_000_000


class Functions(Generic[Expr]):
    """What the functions of a value are made with."""

    __slots__ = ()

    if TYPE_CHECKING:

        def _called(self, function: str, option: Any = None, *others: object) -> Expr: ...

        def _of_elements(self, name: str, function: Callable[[Expr], object]) -> Expr: ...


@answering_class
class StringFunctions(Functions[Expr]):
    """Functions of strings. Characters are those of Unicode, and counted from 0."""

    __slots__ = ()

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

    def matches(self, pattern: str) -> Expr:
        """True where the regular expression `pattern` matches some part of a string. Patterns are
        those of RE2: "^" and "$" are the ends of the string, "(?i)" begins one of any case."""
        return self._called("matches", require_text(pattern, "matches()", "'^a[0-9]+$'"))

    def replace_matches(self, pattern: str, by: str, all: bool = True) -> Expr:
        """The string with every match of a regular expression replaced, or the first one. In `by`,
        \\1 to \\9 stand for the groups of the pattern and \\0 for what it matches."""
        example = "replace_matches('[0-9]+', '#')"
        require_text(pattern, "replace_matches()", example)
        require_text(by, "replace_matches()", example)
        every = int(require_flag(all, "all", "replace_matches"))
        return self._called("replace_matches", (pattern, by, every))

    def extract(self, pattern: str, group: int = 0) -> Expr:
        """What the first match of a regular expression is, or a group of it; "" where there is
        none."""
        require_text(pattern, "extract()", "extract('([0-9]+) kg', 1)")
        return self._called("extract", (pattern, require_count(group, "extract()", "group")))

    def find(self, part: object) -> Expr:
        """The place of the character at which `part`, a text or an expression, begins for the first
        time, counted from 0: int64; -1 where it is nowhere."""
        return self._called("find", None, part)

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

    def lstrip(self, characters: str | None = None) -> Expr:
        """The same at its beginning alone."""
        if characters is not None:
            require_text(characters, "lstrip()", "lstrip('-')")
        return self._called("lstrip", characters)

    def rstrip(self, characters: str | None = None) -> Expr:
        """The same at its end alone."""
        if characters is not None:
            require_text(characters, "rstrip()", "rstrip('-')")
        return self._called("rstrip", characters)

    def initcap(self) -> Expr:
        """The text with the first letter of each word in upper case, and others in lower case."""
        return self._called("initcap")

    def reverse(self) -> Expr:
        """The characters of the text from the last to the first."""
        return self._called("reverse")

    def repeat(self, times: object) -> Expr:
        """The text so many times, a number or an expression; "" for 0 and less."""
        return self._called("repeat", None, times)

    def split_part(self, separator: object, place: object) -> Expr:
        """The part at `place` between separators: 1 is the first one, -1 the last, and "" where
        there is none. With "" as separator parts are characters."""
        return self._called("split_part", None, separator, place)

    def code_point(self) -> Expr:
        """The number that Unicode gives the first character: int64; 0 of an empty text."""
        return self._called("code_point")

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

    def strptime(self, format: str) -> Expr:
        """The instant that a text has in a format such as "%Y-%m-%d %H:%M": a timestamp in
        microseconds; an error where it is none."""
        return self._called("strptime", require_text(format, "strptime()", "'%Y-%m-%d'"))

    def try_strptime(self, format: str) -> Expr:
        """The same, but NULL where a text is no instant in the format."""
        return self._called("try_strptime", require_text(format, "try_strptime()", "'%Y-%m-%d'"))

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


@answering_class
class NumberFunctions(Functions[Expr]):
    """Functions of numbers. What has no value is NaN or an infinity, as in a division of floats."""

    __slots__ = ()

    def abs(self) -> Expr:
        """The value without its sign."""
        return self._called("abs")

    def round(self, digits: int = 0) -> Expr:
        """The nearest value with `digits` after the point (before it, if negative); halves are
        rounded away from zero. The type stays."""
        number = require_integer(digits, "round() takes a number of digits", "round(2)")
        return self._called("round", number)

    def trunc(self, digits: int = 0) -> Expr:
        """The same towards zero."""
        number = require_integer(digits, "trunc() takes a number of digits", "trunc(2)")
        return self._called("trunc", number)

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

    def cbrt(self) -> Expr:
        """The cube root: float64."""
        return self._called("cbrt")

    def sin(self) -> Expr:
        """The sine of an angle in radians: float64."""
        return self._called("sin")

    def cos(self) -> Expr:
        """The cosine of an angle in radians: float64."""
        return self._called("cos")

    def tan(self) -> Expr:
        """The tangent of an angle in radians: float64."""
        return self._called("tan")

    def asin(self) -> Expr:
        """The angle of a sine, in radians: float64; NaN beyond -1 and 1."""
        return self._called("asin")

    def acos(self) -> Expr:
        """The angle of a cosine, in radians: float64; NaN beyond -1 and 1."""
        return self._called("acos")

    def atan(self) -> Expr:
        """The angle of a tangent, in radians: float64."""
        return self._called("atan")

    def atan2(self, x: object) -> Expr:
        """The angle of the point that is at `x` and this high, in radians: float64."""
        return self._called("atan2", None, x)

    def degrees(self) -> Expr:
        """An angle in radians as degrees: float64."""
        return self._called("degrees")

    def radians(self) -> Expr:
        """An angle in degrees as radians: float64."""
        return self._called("radians")

    def bit_and(self, other: object) -> Expr:
        """The bits that both of two integers have, of the wider type."""
        return self._called("bit_and", None, other)

    def bit_or(self, other: object) -> Expr:
        """The bits that one of two integers has, of the wider type."""
        return self._called("bit_or", None, other)

    def bit_xor(self, other: object) -> Expr:
        """The bits that just one of two integers has, of the wider type."""
        return self._called("bit_xor", None, other)

    def bit_not(self) -> Expr:
        """The bits that an integer has not. The type stays."""
        return self._called("bit_not")

    def shift_left(self, places: object) -> Expr:
        """The bits of an integer from 0 on moved up by so many places. The type stays, and what
        does not fit it is an error."""
        return self._called("shift_left", None, places)

    def shift_right(self, places: object) -> Expr:
        """The bits of an integer moved down by so many places; 0 where these are more than it has
        bits, or below 0. The type stays."""
        return self._called("shift_right", None, places)

    def gcd(self, other: object) -> Expr:
        """The greatest common divisor of two integers, of the wider type."""
        return self._called("gcd", None, other)

    def lcm(self, other: object) -> Expr:
        """The least common multiple of two integers, of the wider type."""
        return self._called("lcm", None, other)

    def character(self) -> Expr:
        """The character that has the number in Unicode; an error where none has."""
        return self._called("character")

    def hex(self) -> Expr:
        """The digits of an integer to the base of 16; of one below 0 those of 2^64 more."""
        return self._called("hex")

    def is_nan(self) -> Expr:
        """True where a float is not a number; NULL where there is none."""
        return self._called("is_nan")


@answering_class
class DateFunctions(Functions[Expr]):
    """Functions of dates and instants. Timestamps with a zone count in that zone."""

    __slots__ = ()

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

    def iso_year(self) -> Expr:
        """The year that the ISO 8601 week of a date or timestamp belongs to."""
        return self._called("iso_year")

    def millisecond(self) -> Expr:
        """The milliseconds of a timestamp's minute, 0 to 59,999."""
        return self._called("millisecond")

    def microsecond(self) -> Expr:
        """The microseconds of a timestamp's minute, 0 to 59,999,999."""
        return self._called("microsecond")

    def epoch(self) -> Expr:
        """Seconds since 1970 in UTC: float64."""
        return self._called("epoch")

    def strftime(self, format: str) -> Expr:
        """A date or timestamp as a text of a format such as "%Y-%m-%d %H:%M"."""
        return self._called("strftime", require_text(format, "strftime()", "'%Y-%m-%d'"))

    def day_name(self) -> Expr:
        """The day of the week in English, "Monday" to "Sunday"."""
        return self._called("strftime", "%A")

    def month_name(self) -> Expr:
        """The month in English, "January" to "December"."""
        return self._called("strftime", "%B")

    def last_day(self) -> Expr:
        """The last day of the month of a date or timestamp: date32."""
        return self._called("last_day")

    def date_diff(self, until: object, period: str) -> Expr:
        """How many millenniums, centuries, decades, years, quarters, months, days, hours, minutes,
        seconds, milliseconds or microseconds begin between this date or timestamp and `until`, and
        how many weeks of seven days are between them: int64."""
        unit = require_choice(period, PERIODS, "date_diff()")
        return self._called("date_diff", unit, until)

    def date(self) -> Expr:
        """The date of a timestamp: date32."""
        return self._called("date")

    def truncate(self, period: str) -> Expr:
        """The beginning of the millennium, century, decade (2020), year, quarter, month, week
        (Monday), day, hour, minute or second in which a date or timestamp lies. The type stays."""
        return self._called("truncate", require_choice(period, PERIODS, "truncate()"))

    def add_months(self, months: int) -> Expr:
        """The date or timestamp so many months later; the last day of the month where that has no
        such day. The type stays."""
        count = require_integer(months, "add_months() takes a number of months", "add_months(3)")
        return self._called("add_months", count)


@answering_class
class NestedFunctions(Functions[Expr]):
    """Functions of lists, whose elements are counted from 0, and of structs."""

    __slots__ = ()

    def list_length(self) -> Expr:
        """The number of elements, NULL among them: int64."""
        return self._called("list_length")

    def list_element(self, index: int) -> Expr:
        """The element at `index`, counted from the end where that is below 0; NULL where a list has
        none there."""
        index = require_integer(index, "list_element() takes a place", "list_element(0)")
        return self._called("list_element", index)

    def list_contains(self, value: object) -> Expr:
        """True where an element equals `value`. NULL equals nothing."""
        return self._called("list_contains", value)

    def list_transform(self, function: Callable[[Expr], object]) -> Expr:
        """The list of what `function` gives of each element: `list_transform(lambda x: x + 1)`."""
        return self._of_elements("list_transform", function)

    def list_filter(self, function: Callable[[Expr], object]) -> Expr:
        """The elements for which the condition is true: `list_filter(lambda x: x > 0)`."""
        return self._of_elements("list_filter", function)

    def field(self, name: str) -> Expr:
        """A field of a struct; NULL where the struct is."""
        return self._called("field", require_text(name, "field()", "'city'"))
