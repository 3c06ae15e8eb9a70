"""Functions of strings and numbers that Python computes one row after the other: NULL of NULL.
Values are pyarrow Scalars, Arrays and ChunkedArrays; all is pure and thread-safe. ArrowException
for values that a function has no result for."""

from __future__ import annotations

import math
import unicodedata
import urllib.parse
from collections.abc import Callable, Sequence
from decimal import Decimal
from typing import Any

import pyarrow as pa

from crossdock.expressions.distinct_values import once_per_value
from crossdock.values.arrow_kinds import Datum

_LARGEST_FACTORIAL = 33  # whose digits fit decimal128(38, 0)


def _strip_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def _url_decode(text: str) -> str:
    try:
        return urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise pa.ArrowInvalid(f"{text!r} is no URL of UTF-8") from None


def _factorial(number: int) -> int:
    if not 0 <= number <= _LARGEST_FACTORIAL:
        raise pa.ArrowInvalid(f"factorial of {number}; it takes 0 to {_LARGEST_FACTORIAL}")
    return math.factorial(number)


def _to_base(number: int, radix: int) -> str:
    if number < 0 or not 2 <= radix <= 36:
        raise pa.ArrowInvalid(f"to_base of {number} and {radix}; it takes 0 and above, and 2 to 36")
    digits = ""
    while number or not digits:
        number, digit = divmod(number, radix)
        digits = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ"[digit] + digits
    return digits


def _format_value(value: float | Decimal | str, how: str) -> str:
    try:
        return format(int(value) if isinstance(value, Decimal) else value, how)
    except ValueError as error:
        raise pa.ArrowInvalid(f"{value!r} in the format {how!r}: {error}") from None


_STRING, _NUMBER = pa.string(), pa.int64()
_WORD = (1 << 64) - 1
# By name: what computes a row, the types of its arguments, and that of the result.
ROW_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[pa.DataType, ...], pa.DataType]] = {
    "strip_accents": (_strip_accents, (_STRING,), _STRING),
    "url_decode": (_url_decode, (_STRING,), _STRING),
    "bin": (lambda number: f"{number & _WORD:b}", (_NUMBER,), _STRING),
    "format": (_format_value, (_STRING, _STRING), _STRING),  # of numbers, too
    "to_base": (_to_base, (_NUMBER, _NUMBER), _STRING),
    "factorial": (_factorial, (_NUMBER,), pa.decimal128(38, 0)),
}


def of_rows(name: str, values: Sequence[Datum]) -> Datum:
    """A function of ROW_FUNCTIONS of values of one length, or of one value for all rows."""
    columns = [i for i, value in enumerate(values) if not isinstance(value, pa.Scalar)]
    if len(columns) != 1 or pa.types.is_floating(values[columns[0]].type):
        return _of_each(name, values)
    place = columns[0]
    before, behind = values[:place], values[place + 1 :]
    return once_per_value(values[place], lambda each: _of_each(name, [*before, each, *behind]))


def _of_each(name: str, values: Sequence[Datum]) -> Datum:
    function, _, data_type = ROW_FUNCTIONS[name]
    lengths = [len(value) for value in values if not isinstance(value, pa.Scalar)]
    columns = [
        [value.as_py()] * (lengths or [1])[0] if isinstance(value, pa.Scalar) else value.to_pylist()
        for value in values
    ]
    results = [None if None in row else function(*row) for row in zip(*columns, strict=True)]
    array = pa.array(results, data_type)
    return array if lengths else array[0]
