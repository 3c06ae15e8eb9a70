"""The functions of SQL that expressions have, by the names that DataFusion gives them in plans."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from crossdock.expressions import (
    Call,
    Expr,
    Literal,
    coalesce,
    concat,
    greatest,
    least,
    lit,
    nullif,
    when,
)
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.rewritten import KEEPS_ALL

Build = Callable[[list[Expr]], Expr]
_PARTS = {
    "year": "year", "years": "year", "quarter": "quarter", "month": "month", "months": "month",
    "week": "week", "day": "day", "days": "day", "doy": "day_of_year", "dayofyear": "day_of_year",
    "hour": "hour", "hours": "hour", "minute": "minute", "minutes": "minute", "second": "second",
    "seconds": "second",
}  # fmt: skip


def constant(argument: Expr, what: str) -> Any:
    """The value of an argument that must be a constant. SqlError if it is none."""
    if not isinstance(argument, Literal):
        raise unsupported(
            f"{what} that is no constant", try_="a constant, or a join that computes it"
        )
    value = argument.value
    return value.as_py() if hasattr(value, "as_py") else value


def is_null(argument: Expr) -> bool:
    """Whether an argument is the constant NULL, of a type or of none."""
    return isinstance(argument, Literal) and constant(argument, "a value") is None


def _called(name: str) -> Build:
    return lambda arguments: Call(name, tuple(arguments))


def _same(a: Expr, b: Expr) -> Expr:
    """IS NOT DISTINCT FROM: never NULL."""
    return coalesce(a == b, a.is_null() & b.is_null())


def _like(name: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        pattern = constant(arguments[1], "a pattern of LIKE")
        escape = constant(arguments[2], "an escape of LIKE") if len(arguments) > 2 else None
        if pattern is None:
            return Literal(None).cast("bool")
        subject = arguments[0]
        found = subject.like if name == "like" else subject.ilike
        return found(pattern, escape or "\\") if escape is not None else found(pattern, "")

    return build


def _substring(arguments: list[Expr]) -> Expr:
    """Characters are counted from 1, and with a negative start from the end; a length that begins
    before the first is cut."""
    start = constant(arguments[1], "a position of SUBSTRING")
    length = constant(arguments[2], "a length of SUBSTRING") if len(arguments) > 2 else None
    if start is None or (len(arguments) > 2 and length is None):
        return Literal(None).cast("string")
    if start < 0:
        return arguments[0].substring(start, length)
    if start == 0 and length is not None:
        length = max(0, length - 1)
    return arguments[0].substring(max(start - 1, 0), length)


def _padded(name: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        width = constant(arguments[1], f"a width of {name}")
        fill = constant(arguments[2], f"a filling of {name}") if len(arguments) > 2 else " "
        subject = arguments[0]
        return subject.lpad(width, fill) if name == "lpad" else subject.rpad(width, fill)

    return build


def _date_part(arguments: list[Expr]) -> Expr:
    part = str(constant(arguments[0], "a part of a date")).lower()
    subject = arguments[1]
    if part in ("dow", "weekday", "dayofweek"):
        return (Call("weekday", (subject,)) + 1) % 7
    if part == "isodow":
        return Call("weekday", (subject,)) + 1
    if part not in _PARTS:
        raise unsupported(
            f"the part {part!r} of a date", try_="one of " + ", ".join(sorted(set(_PARTS.values())))
        )
    return Call(_PARTS[part], (subject,))


def _of_text(name: str) -> Build:
    """A function of a text and a constant text."""

    def build(arguments: list[Expr]) -> Expr:
        return Call(name, (arguments[0],), constant(arguments[1], f"the second argument of {name}"))

    return build


def _named_struct(arguments: list[Expr]) -> Expr:
    names = [str(constant(name, "the name of a field")) for name in arguments[::2]]
    return Call("struct_of", tuple(arguments[1::2]), tuple(names))


def _list_element(arguments: list[Expr]) -> Expr:
    """Counted from 1, from the end where it is below 0; there is none at 0."""
    place = constant(arguments[1], "a place in a list")
    element = arguments[0].list_element(max(place - 1, 0) if place >= 0 else place)
    return element if place else nullif(element, element)


def _count_of(name: str, side: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        count = constant(arguments[1], f"a length of {name}")
        return arguments[0].left(count) if side == "left" else arguments[0].right(count)

    return build


def _strip(arguments: list[Expr]) -> Expr:
    if len(arguments) > 1:
        return arguments[0].strip(constant(arguments[1], "the characters of TRIM"))
    return arguments[0].strip(" ")


def _replace(arguments: list[Expr]) -> Expr:
    part = constant(arguments[1], "a part of REPLACE")
    return arguments[0].replace(part, constant(arguments[2], "a replacement of REPLACE"))


def _round(arguments: list[Expr]) -> Expr:
    digits = constant(arguments[1], "a number of digits of ROUND") if len(arguments) > 1 else 0
    return arguments[0].round(digits)


def _truncated(arguments: list[Expr]) -> Expr:
    if len(arguments) > 1:
        raise unsupported("TRUNC to a number of digits", try_="floor(x * 100) / 100")
    value = arguments[0]
    return when(value < 0).then(value.ceil()).otherwise(value.floor())


def _bits(value: Expr, mask: int) -> Expr:
    """The bits of a number that a mask has, one by one."""
    if mask < 0:
        raise unsupported("& with a number below 0")
    found: Expr = lit(0)
    for place in range(mask.bit_length()):
        if mask >> place & 1:
            found = found + (value // (1 << place)) % 2 * (1 << place)
    return found


def _concat(arguments: list[Expr]) -> Expr:
    """The function concat() leaves NULL out; the operator || is NULL then."""
    return concat(*(coalesce(argument, "") for argument in arguments))


FUNCTIONS: dict[str, Build] = {
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
    "bitwise_and": lambda a: _bits(a[0], constant(a[1], "a mask of &")),
    "bitwise_shift_right": lambda a: a[0] // (1 << constant(a[1], "a width of >>")),
    "concat": _concat,
    "lower": lambda a: a[0].lower(),
    "upper": lambda a: a[0].upper(),
    "btrim": _strip,
    "character_length": lambda a: a[0].length(),
    "substr": _substring,
    "substring": _substring,
    "left": _count_of("LEFT", "left"),
    "right": _count_of("RIGHT", "right"),
    "replace": _replace,
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "starts_with": _of_text("starts_with"),
    "ends_with": _of_text("ends_with"),
    "contains": _of_text("contains"),
    "like": _like("like"),
    "ilike": _like("ilike"),
    "make_array": _called("list_of"),
    "named_struct": _named_struct,
    "array_element": _list_element,
    "array_length": lambda a: a[0].list_length(),
    "cardinality": lambda a: a[0].list_length(),
    "array_has": lambda a: a[0].list_contains(constant(a[1], "an element of LIST_CONTAINS")),
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
