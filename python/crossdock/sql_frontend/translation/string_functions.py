"""SQL's functions of strings by patterns, places and separators, as expressions."""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa

from crossdock.expressions.expression import Call, Expr, Literal, when
from crossdock.expressions.free_functions import coalesce, concat
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import CHARACTER, SLICED
from crossdock.sql_frontend.translation.conversions import converted
from crossdock.sql_frontend.translation.folding import constant

Build = Callable[[list[Expr]], Expr]
# Options of regular expressions: how RE2 writes them in a pattern; "g" and "l" are not its own.
_FLAGS = {"c": "-i", "i": "i", "s": "s", "m": "-s", "n": "-s", "p": "-s"}
_WHOLE = 1 << 40  # of a string: more characters than there are
_SPECIAL = frozenset(r"\.+*?()|[]{}^$")


def _pattern(arguments: list[Expr], place: int, options: str = "") -> str | None:
    """The pattern at a place, with `options` in it; None for NULL."""
    pattern = constant(arguments[place], "a regular expression")
    if pattern is None:
        return None
    if "l" in options:
        pattern = "".join(f"\\{c}" if c in _SPECIAL else c for c in pattern)
    return "".join(f"(?{_FLAGS[each]})" for each in options if each in _FLAGS) + str(pattern)


def _options(arguments: list[Expr], place: int, known: str = "cilmnps") -> str:
    if len(arguments) <= place:
        return ""
    letters = constant(arguments[place], "the options of a regular expression") or ""
    for option in letters:
        if option not in known:
            raise unsupported(
                f"the option {option!r} of a regular expression", try_="one of " + ", ".join(known)
            )
    return str(letters)


def _matches(arguments: list[Expr]) -> Expr:
    pattern = _pattern(arguments, 1, _options(arguments, 2))
    return Literal(None).cast("bool") if pattern is None else arguments[0].matches(pattern)


def _of_any_case(arguments: list[Expr]) -> Expr:
    pattern = _pattern(arguments, 1, "i")
    return Literal(None).cast("bool") if pattern is None else arguments[0].matches(pattern)


def _matches_whole(arguments: list[Expr]) -> Expr:
    pattern = _pattern(arguments, 1, _options(arguments, 2))
    if pattern is None:
        return Literal(None).cast("bool")
    return arguments[0].matches(rf"\A(?:{pattern})\z")


def _replace_matches(arguments: list[Expr]) -> Expr:
    options = _options(arguments, 3, "cgilmnps")
    pattern = _pattern(arguments, 1, options)
    by = constant(arguments[2], "a replacement of REGEXP_REPLACE")
    if pattern is None or by is None:
        return Literal(None).cast("string")
    return arguments[0].replace_matches(pattern, by, "g" in options)


def _extract(arguments: list[Expr]) -> Expr:
    pattern = _pattern(arguments, 1, _options(arguments, 3))
    group = constant(arguments[2], "a group of REGEXP_EXTRACT")
    if pattern is None:
        return Literal(None).cast("string")
    return arguments[0].extract(pattern, group or 0)


def _stripped(side: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        characters = constant(arguments[1], f"characters of {side}") if arguments[1:] else " "
        return Call(side, (arguments[0],), characters)

    return build


def _joined(arguments: list[Expr]) -> Expr:
    """CONCAT_WS leaves NULL out: every part begins with the separator, and the first is cut."""
    separator = constant(arguments[0], "a separator of CONCAT_WS")
    if separator is None:
        return Literal(None).cast("string")
    parts = [coalesce(concat(separator, part), "") for part in arguments[1:]]
    return concat(*parts).substring(len(separator)) if parts else Literal("")


def _are_constants(arguments: list[Expr]) -> bool:
    return all(isinstance(argument, Literal) for argument in arguments)


def _substring(arguments: list[Expr]) -> Expr:
    """Characters are counted from 1, and with a negative start from the end; a length that begins
    before the first is cut."""
    if not _are_constants(arguments[1:]):
        first, *rest = arguments[1:]
        begin = when(first > 0).then(first - 1).otherwise(first)
        lengths = [when(first == 0).then(n - 1).otherwise(n) for n in rest]
        return Call("substring", (arguments[0], begin, *lengths))
    start = constant(arguments[1], "a position of SUBSTRING")
    length = constant(arguments[2], "a length of SUBSTRING") if len(arguments) > 2 else None
    if start is None or (len(arguments) > 2 and length is None):
        return Literal(None).cast("string")
    if start < 0:
        return arguments[0].substring(start, length)
    if start == 0 and length is not None:
        length = max(0, length - 1)
    return arguments[0].substring(max(start - 1, 0), length)


def _begin(text: Expr, place: Expr) -> Expr:
    """Where the character at a place begins, which is counted from 1, or from the end below 0."""
    return when(place < 0).then(text.length() + place).otherwise(place - 1)


def _character(arguments: list[Expr]) -> Expr:
    text, begin = arguments[0], _begin(*arguments[:2])
    places = [when(begin < 0).then(0).otherwise(each) for each in (begin, 1)]
    return Call("substring", (text, *places))


def _sliced(arguments: list[Expr]) -> Expr:
    text, first, last, _ = arguments
    begin = _begin(text, first)
    begin = when(begin < 0).then(0).otherwise(begin)
    end = _begin(text, last) + 1
    count = when(end < begin).then(0).otherwise(end - begin)
    return Call("substring", (text, begin, count))


def formatted(value: Expr, data_type: pa.DataType, how: str) -> Expr:
    """A value as `format` writes it, `how` being what stands behind the colon."""
    if pa.types.is_decimal(data_type) and data_type.scale:
        value, data_type = value.cast("float64"), pa.float64()
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    is_number = any(is_kind(data_type) for is_kind in kinds)
    if not is_number or how in ("", "s"):
        value = converted(value, data_type, pa.string())
    return Call("format", (value, Literal(how))) if how not in ("", "s") else value


def _left(arguments: list[Expr]) -> Expr:
    """Of a negative number, all but so many."""
    text, count = arguments
    if isinstance(count, Literal) and count.value is not None and count.value >= 0:
        return text.left(count.value)
    kept = when(count < 0).then(text.length() + count).otherwise(count)
    return Call("substring", (text, Literal(0), kept))


def _right(arguments: list[Expr]) -> Expr:
    text, count = arguments
    if isinstance(count, Literal) and count.value is not None and count.value >= 0:
        return text.right(count.value)
    kept = when(count < 0).then(_WHOLE).otherwise(count)
    return Call("substring", (text, -count, kept))


def _padded(name: str) -> Build:
    def build(arguments: list[Expr]) -> Expr:
        fill = constant(arguments[2], f"a filling of {name}") if len(arguments) > 2 else " "
        subject = arguments[0]
        if not isinstance(arguments[1], Literal):
            return Call(name, (subject, arguments[1]), fill)
        width = constant(arguments[1], f"a width of {name}")
        return subject.lpad(width, fill) if name == "lpad" else subject.rpad(width, fill)

    return build


def _replace(arguments: list[Expr]) -> Expr:
    if not _are_constants(arguments[1:]):
        return Call("replace", tuple(arguments))
    part = constant(arguments[1], "a part of REPLACE")
    return arguments[0].replace(part, constant(arguments[2], "a replacement of REPLACE"))


def _of_text(name: str, otherwise: Build) -> Build:
    """A function of a string and a constant one, or what it is of two strings."""

    def build(arguments: list[Expr]) -> Expr:
        if not isinstance(arguments[1], Literal):
            return otherwise(arguments)
        return Call(name, (arguments[0],), constant(arguments[1], f"the second argument of {name}"))

    return build


def _split(arguments: list[Expr]) -> Expr:
    separator = constant(arguments[1], "a separator of STRING_SPLIT")
    if not separator:
        raise unsupported("STRING_SPLIT by nothing", word="string_split", try_="a separator")
    return Call("split", (arguments[0],), separator)


def _split_by_pattern(arguments: list[Expr]) -> Expr:
    pattern = _pattern(arguments, 1, _options(arguments, 2))
    if pattern is None:
        return Literal(pa.scalar(None, pa.list_(pa.string())))
    if constant(Literal("").matches(pattern), "a pattern"):
        raise unsupported(
            f"STRING_SPLIT_REGEX by {pattern!r}, which matches an empty string",
            try_="a pattern of a character or more",
        )  # fmt: skip
    return Call("split_matches", (arguments[0],), pattern)


def _extract_all(arguments: list[Expr]) -> Expr:
    pattern = _pattern(arguments, 1, _options(arguments, 3))
    group = constant(arguments[2], "a group of REGEXP_EXTRACT_ALL")
    if pattern is None:
        return Literal(pa.scalar(None, pa.list_(pa.string())))
    return Call("all_matches", (arguments[0],), (pattern, group or 0))


def _ends_with(arguments: list[Expr]) -> Expr:
    text, end = arguments
    length = end.length()
    return Call("substring", (text, -length, length)) == end


FUNCTIONS: dict[str, Build] = {
    "substr": _substring,
    "substring": _substring,
    "left": _left,
    "right": _right,
    "replace": _replace,
    "lpad": _padded("lpad"),
    "rpad": _padded("rpad"),
    "starts_with": _of_text("starts_with", lambda a: a[0].find(a[1]) == 0),
    "ends_with": _of_text("ends_with", _ends_with),
    "contains": _of_text("contains", lambda a: a[0].find(a[1]) >= 0),
    "regexp_like": _matches,
    "regex_match": _matches,
    "regex_imatch": _of_any_case,
    "regex_not_match": lambda a: ~_matches(a),
    "regex_not_imatch": lambda a: ~_of_any_case(a),
    "regexp_full_match": _matches_whole,
    "regexp_replace": _replace_matches,
    "regexp_extract": _extract,
    "string_split": _split,
    "string_split_regex": _split_by_pattern,
    "regexp_extract_all": _extract_all,
    "strpos": lambda a: a[0].find(a[1]) + 1,
    "reverse": lambda a: a[0].reverse(),
    "repeat": lambda a: a[0].repeat(a[1]),
    "split_part": lambda a: a[0].split_part(a[1], a[2]),
    "initcap": lambda a: a[0].initcap(),
    "ltrim": _stripped("lstrip"),
    "rtrim": _stripped("rstrip"),
    "ascii": lambda a: a[0].code_point(),
    "chr": lambda a: a[0].character(),
    "hex": lambda a: a[0].hex(),
    "concat_ws": _joined,
    SLICED: _sliced,
    CHARACTER: _character,
}
