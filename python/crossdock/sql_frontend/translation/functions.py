"""The functions of SQL that expressions have, by the names that DataFusion gives them in plans."""

from __future__ import annotations

import math
from collections.abc import Callable

import pyarrow as pa

from crossdock.expressions.expression import Call, Expr, Literal, lit, when
from crossdock.expressions.free_functions import (
    coalesce,
    concat,
    greatest,
    least,
    make_date,
    nullif,
)
from crossdock.expressions.functions import PERIODS
from crossdock.expressions.list_kernels import LIST_FOLDS
from crossdock.expressions.native_kernels import OF_JSON
from crossdock.expressions.row_kernels import ROW_FUNCTIONS
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import KEEPS_ALL, ONE_ROW
from crossdock.sql_frontend.translation.conversions import is_cast_to
from crossdock.sql_frontend.translation.folding import constant, folded
from crossdock.sql_frontend.translation.intervals import by_months
from crossdock.sql_frontend.translation.string_functions import FUNCTIONS as STRING_FUNCTIONS

_NO_ELEMENTS = pa.scalar([], pa.list_(pa.null()))
Build = Callable[[list[Expr]], Expr]
_PARTS = {
    "year": "year", "years": "year", "quarter": "quarter", "month": "month", "months": "month",
    "week": "week", "day": "day", "days": "day", "dayofmonth": "day",
    "weekofyear": "week", "weeks": "week", "doy": "day_of_year", "dayofyear": "day_of_year",
    "hour": "hour", "hours": "hour", "minute": "minute", "minutes": "minute", "second": "second",
    "seconds": "second", "isoyear": "iso_year", "millisecond": "millisecond",
    "milliseconds": "millisecond", "microsecond": "microsecond", "microseconds": "microsecond",
    "epoch": "epoch",
}  # fmt: skip
_OF_REALS = (
    "cbrt", "sin", "cos", "tan", "asin", "acos", "atan", "atan2", "degrees", "radians",
)  # fmt: skip
_OF_STRINGS = (
    "md5", "sha1", "sha256", "url_encode", "translate", "levenshtein", "hamming", "jaccard",
    "jaro_similarity", "jaro_winkler_similarity",
)  # fmt: skip


_MICROSECONDS = {
    "microsecond": 1, "millisecond": 1000, "second": 1_000_000, "minute": 60_000_000,
    "hour": 3_600_000_000, "day": 86_400_000_000, "week": 604_800_000_000,
}  # fmt: skip
_MONTHS = {
    "month": 1, "quarter": 3, "year": 12, "decade": 120, "century": 1200, "millennium": 12_000
}  # fmt: skip


def is_null(argument: Expr) -> bool:
    """Whether an argument is the constant NULL, of a type or of none."""
    return isinstance(argument, Literal) and constant(argument, "a value") is None


def _called(name: str) -> Build:
    return lambda arguments: Call(name, tuple(arguments))


def _same(a: Expr, b: Expr) -> Expr:
    """IS NOT DISTINCT FROM: never NULL."""
    if is_null(a) and is_null(b):
        return true()
    if any(isinstance(side, Literal) and not is_null(side) for side in (a, b)):
        return coalesce(a == b, False)
    return coalesce(a == b, a.is_null() & b.is_null())


def _like(name: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        pattern = constant(arguments[1], "a pattern of LIKE")
        escape = constant(arguments[2], "an escape of LIKE") if len(arguments) > 2 else None
        if pattern is None:
            return Literal(None).cast("bool")
        subject = arguments[0]
        method = subject.like if name == "like" else subject.ilike
        return method(pattern, escape or "\\") if escape is not None else method(pattern, "")

    return build


def _years_in(count: int) -> Build:
    """The number of the period of so many years that a year is in, which begins with its 1st."""
    return lambda a: (Call("year", (a[0],)) - 1) // count + 1


def _since_epoch(unit_us: int) -> Build:
    """Whole units since 1970."""

    def build(arguments: list[Expr]) -> Expr:
        exact = arguments[0].cast(pa.timestamp("us")).cast(pa.int64())
        return exact // unit_us if unit_us > 1 else exact

    return build


_FURTHER_PARTS: dict[str, Build] = {
    "decade": lambda a: Call("year", (a[0],)) // 10,
    "century": _years_in(100),
    "millennium": _years_in(1000),
    "yearweek": lambda a: Call("iso_year", (a[0],)) * 100 + Call("week", (a[0],)),
    "epoch_ms": _since_epoch(1000),
    "epoch_us": _since_epoch(1),
}


def _date_part(arguments: list[Expr]) -> Expr:
    part = str(constant(arguments[0], "a part of a date")).lower().strip("'")
    subject = arguments[1]
    if part in _FURTHER_PARTS:
        return _FURTHER_PARTS[part]([subject])
    if part in ("dow", "weekday", "dayofweek"):
        return (Call("weekday", (subject,)) + 1) % 7
    if part == "isodow":
        return Call("weekday", (subject,)) + 1
    if part not in _PARTS:
        raise unsupported(
            f"the part {part!r} of a date", try_="one of " + ", ".join(sorted(set(_PARTS.values())))
        )
    return Call(_PARTS[part], (subject,))


def _struct(arguments: list[Expr]) -> Expr:
    """Of fields without names, which are called by their numbers."""
    names = tuple(f"c{i}" for i in range(len(arguments)))
    return Call("struct_of", tuple(arguments), names)


def _range(arguments: list[Expr], *, with_end: bool) -> Expr:
    first, last, *step = arguments if len(arguments) > 1 else [Literal(0), *arguments]
    return Call("list_range", (first, last, *(step or [Literal(1)])), with_end)


def _of_json(name: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        path = constant(arguments[1], f"a path of {name.upper()}") if len(arguments) > 1 else "$"
        return Literal(None) if path is None else Call(name, (arguments[0],), path)

    return build


def _named_struct(arguments: list[Expr]) -> Expr:
    names = [str(constant(name, "the name of a field")) for name in arguments[::2]]
    return Call("struct_of", tuple(arguments[1::2]), tuple(names))


def _list_element(arguments: list[Expr]) -> Expr:
    """Counted from 1, from the end where it is below 0; there is none at 0."""
    if not isinstance(folded(arguments[1]), Literal):
        return Call("list_at", tuple(arguments))
    place = constant(arguments[1], "a place in a list")
    element = arguments[0].list_element(max(place - 1, 0) if place >= 0 else place)
    return element if place else nullif(element, element)


def _contains(arguments: list[Expr]) -> Expr:
    listed, element = map(folded, arguments)
    if isinstance(listed, Literal):
        values = constant(listed, "a list") or ()
        return element.is_in([value for value in values if value is not None])
    if not isinstance(element, Literal) or is_null(element):
        return Call("list_has", (listed, element))
    return listed.list_contains(constant(element, "an element of LIST_CONTAINS"))


def _list_sort(arguments: list[Expr]) -> Expr:
    words = [str(constant(each, "an order of LIST_SORT")).lower() for each in arguments[1:]]
    order, nulls = [*words, *("asc", "nulls last")[len(words) :]]
    if order not in ("asc", "desc") or nulls not in ("nulls first", "nulls last"):
        raise unsupported("LIST_SORT by these words", try_="list_sort(l, 'desc', 'nulls first')")
    return Call("list_sort", (arguments[0],), (order == "desc", nulls == "nulls first"))


def _list_slice(arguments: list[Expr]) -> Expr:
    begin, end, *step = (constant(each, "a place in a list") for each in arguments[1:])
    if step not in ([], [1]):
        raise unsupported("a slice with a step", try_="l[2:4]")
    return Call("list_slice", (arguments[0],), (begin, end))


def _list_with_constant(function: str, what: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        return Call(function, (arguments[0],), constant(arguments[1], what))

    return build


def _without_cast(listed: Expr) -> Expr:
    """A list without the cast to one of doubles, which DataFusion sums."""
    is_cast = is_cast_to(listed, pa.types.is_list)
    return listed.arguments[0] if is_cast and isinstance(listed, Call) else listed


def _list_fold(name: str) -> Build:
    return lambda arguments: Call(name, (_without_cast(arguments[0]),))


def _list_resize(arguments: list[Expr]) -> Expr:
    return Call("list_resize", (*arguments, *[Literal(None)][len(arguments) - 2 :]))


def _list_concat(arguments: list[Expr]) -> Expr:
    """Two are the operator ||, which is NULL of NULL; the function has a third one, by which the
    rewritten text tells, and takes NULL for a list without elements."""
    if len(arguments) > 2:
        return Call("list_concat", tuple(arguments[:-1]))
    left, right = arguments
    joined = Call("list_concat", (left, right))
    return when(left.is_not_null() & right.is_not_null()).then(joined).otherwise(None)


def _list_append(arguments: list[Expr]) -> Expr:
    return Call("list_concat", (arguments[0], Call("list_of", (arguments[1],))))


def _list_prepend(arguments: list[Expr]) -> Expr:
    return Call("list_concat", (Call("list_of", (arguments[0],)), arguments[1]))


def _strip(arguments: list[Expr]) -> Expr:
    if len(arguments) > 1:
        return arguments[0].strip(constant(arguments[1], "the characters of TRIM"))
    return arguments[0].strip(" ")


def _round(arguments: list[Expr]) -> Expr:
    digits = constant(arguments[1], "a number of digits of ROUND") if len(arguments) > 1 else 0
    return arguments[0].round(digits)


def _truncated(arguments: list[Expr]) -> Expr:
    digits = constant(arguments[1], "a number of digits of TRUNC") if len(arguments) > 1 else 0
    return arguments[0].trunc(digits)


def _formatted(name: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        format = constant(arguments[1], f"a format of {name.upper()}")
        if format is None:
            return Literal(None).cast("string" if name == "strftime" else "timestamp[us]")
        return Call(name, (arguments[0],), format)

    return build


def _to_timestamp(arguments: list[Expr]) -> Expr:
    """Of a string and a format; of seconds since 1970."""
    if len(arguments) != 2:
        microseconds = (arguments[0] * 1_000_000.0).round().cast("int64")
        return microseconds.cast(pa.timestamp("us", "UTC"))
    format = str(constant(arguments[1], "a format of TO_TIMESTAMP"))
    if "%" not in format:
        raise unsupported(
            f"the format {format!r}", try_="one such as '%Y-%m-%d %H:%M:%S'", word="to_timestamp"
        )
    return arguments[0].strptime(format)


def _date_diff(arguments: list[Expr]) -> Expr:
    period = str(constant(arguments[0], "a period of DATE_DIFF")).lower()
    singular = period.removesuffix("s")
    return arguments[1].date_diff(arguments[2], singular if singular in PERIODS else period)


def _date_sub(arguments: list[Expr]) -> Expr:
    """Whole periods from one time to another, below 0 where that is before it."""
    period = str(constant(arguments[0], "a period of DATE_SUB")).lower().removesuffix("s")
    begin, end = (each.cast(pa.timestamp("us")) for each in arguments[1:])
    is_back = end < begin
    first = when(is_back).then(end).otherwise(begin)
    last = when(is_back).then(begin).otherwise(end)
    if period in _MICROSECONDS:
        count = (last.cast(pa.int64()) - first.cast(pa.int64())) // _MICROSECONDS[period]
    elif period in _MONTHS:
        months = first.date_diff(last, "month")
        reached = by_months(first, months, pa.timestamp("us"))
        count = when(reached > last).then(months - 1).otherwise(months) // _MONTHS[period]
    else:
        periods = ", ".join((*_MICROSECONDS, *_MONTHS))
        raise unsupported(f"DATE_SUB of the period {period!r}", try_=f"one of {periods}")
    return when(is_back).then(-count).otherwise(count)


def _concat(arguments: list[Expr]) -> Expr:
    """The function concat() leaves NULL out; the operator || is NULL then."""
    return concat(*(coalesce(argument, "") for argument in arguments))


FUNCTIONS: dict[str, Build] = {
    **STRING_FUNCTIONS,
    "equal": _called("equal"),
    "not_equal": _called("not_equal"),
    "lt": _called("less"),
    "lte": _called("less_equal"),
    "gt": _called("greater"),
    "gte": _called("greater_equal"),
    "is_not_distinct_from": lambda a: _same(*a),
    "is_distinct_from": lambda a: ~_same(*a),
    "and": _called("and_kleene"),
    "or": _called("or_kleene"),
    "not": _called("invert"),
    ONE_ROW: _called("one_row"),
    KEEPS_ALL: lambda a: true(),
    "is_null": lambda a: a[0].is_null(),
    "is_not_null": lambda a: a[0].is_not_null(),
    "is_true": lambda a: coalesce(a[0], False),
    "is_false": lambda a: coalesce(~a[0], False),
    "is_not_true": lambda a: ~coalesce(a[0], False),
    "is_not_false": lambda a: ~coalesce(~a[0], False),
    "is_unknown": lambda a: a[0].is_null(),
    "is_not_unknown": lambda a: a[0].is_not_null(),
    "negate": _called("negate"),
    "power": _called("power"),
    "abs": _called("abs"),
    "ceil": lambda a: a[0].ceil(),
    "floor": lambda a: a[0].floor(),
    "round": _round,
    "trunc": _truncated,
    "signum": lambda a: a[0].sign(),
    "sqrt": lambda a: a[0].sqrt(),
    "exp": lambda a: a[0].exp(),
    "ln": lambda a: a[0].ln(),
    "log2": lambda a: a[0].log2(),
    "logb": lambda a: a[0].log10() if len(a) == 1 else a[0].ln() / a[1].ln(),
    "log10": lambda a: a[0].log10(),
    "is_nan": lambda a: a[0].is_nan(),
    "str_concat": lambda a: concat(*a),
    "bitwise_and": lambda a: a[0].bit_and(a[1]),
    "bitwise_or": lambda a: a[0].bit_or(a[1]),
    "bitwise_xor": lambda a: a[0].bit_xor(a[1]),
    "bitwise_shift_left": lambda a: a[0].shift_left(a[1]),
    "bitwise_shift_right": lambda a: a[0].shift_right(a[1]),
    "gcd": lambda a: a[0].gcd(a[1]),
    "lcm": lambda a: a[0].lcm(a[1]),
    **{name: _called(name) for name in _OF_REALS},
    "pi": lambda a: Literal(math.pi),
    "even": lambda a: (a[0].abs() / 2.0).ceil() * 2.0 * a[0].sign(),
    "cot": lambda a: 1.0 / a[0].tan(),
    "strftime": _formatted("strftime"),
    "strptime": _formatted("strptime"),
    "try_strptime": _formatted("try_strptime"),
    "to_timestamp": _to_timestamp,
    "to_date": lambda a: _to_timestamp(a).date() if len(a) > 1 else a[0].cast("date32"),
    "dayname": lambda a: a[0].day_name(),
    "monthname": lambda a: a[0].month_name(),
    "last_day": lambda a: a[0].last_day(),
    "date_diff": _date_diff,
    "date_sub": _date_sub,
    "make_date": lambda a: make_date(*a),
    "concat": _concat,
    "lower": lambda a: a[0].lower(),
    "upper": lambda a: a[0].upper(),
    "btrim": _strip,
    "character_length": lambda a: a[0].length(),
    "octet_length": lambda a: a[0].cast("binary").length(),
    "like": _like("like"),
    "ilike": _like("ilike"),
    "make_array": lambda a: Call("list_of", tuple(a)) if a else Literal(_NO_ELEMENTS),
    "named_struct": _named_struct,
    "struct": _struct,
    **{name: _of_json(name) for name in (*OF_JSON, "json_keys")},
    "json_valid": _called("json_valid"),
    **{name: _called(name) for name in (*ROW_FUNCTIONS, *_OF_STRINGS)},
    "range": lambda a: _range(a, with_end=False),
    "generate_series": lambda a: _range(a, with_end=True),
    "array_element": _list_element,
    "array_length": lambda a: a[0].list_length(),
    "cardinality": lambda a: a[0].list_length(),
    "map": _called("map_of"),
    **{name: _called(name) for name in ("map_keys", "map_values", "map_entries", "map_extract")},
    "array_has": _contains,
    "array_sort": _list_sort,
    **{f"list_{name}": _list_fold(f"list_{name}") for name in LIST_FOLDS},
    "array_has_any": _called("list_has_any"),
    "array_has_all": _called("list_has_all"),
    "array_intersect": _called("list_intersect"),
    "array_resize": _list_resize,
    "array_reverse": _called("list_reverse"),
    "array_distinct": _called("list_distinct"),
    "array_slice": _list_slice,
    "array_position": _list_with_constant("list_position", "an element of LIST_POSITION"),
    "array_to_string": _list_with_constant("list_join", "a separator of ARRAY_TO_STRING"),
    "array_concat": _list_concat,
    "array_append": _list_append,
    "array_prepend": _list_prepend,
    "array_sum": lambda a: Call("list_sum", (_without_cast(a[0]),)),
    "array_avg": lambda a: Call("list_mean", (_without_cast(a[0]),)),
    "array_min": _called("list_min"),
    "array_max": _called("list_max"),
    "flatten": _called("list_flatten"),
    "get_field": lambda a: a[0].field(str(constant(a[1], "the name of a field"))),
    "coalesce": lambda a: coalesce(*a),
    "nvl": lambda a: coalesce(*a),
    "nullif": lambda a: a[0] if is_null(a[1]) else nullif(*a),
    "greatest": lambda a: greatest(*a),
    "least": lambda a: least(*a),
    "date_part": _date_part,
    "date_trunc": lambda a: a[1].truncate(str(constant(a[0], "a period of DATE_TRUNC")).lower()),
}  # fmt: skip


def true() -> Expr:
    """The condition that all rows meet."""
    return lit(True)
