"""Functions of strings and numbers that Python computes one row after the other: NULL of NULL.
Values are pyarrow Scalars, Arrays and ChunkedArrays; all is pure and thread-safe. ArrowException
for values that a function has no result for."""

from __future__ import annotations

import hashlib
import math
import unicodedata
import urllib.parse
from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from crossdock.expressions.distinct_values import once_per_value
from crossdock.values.arrow_kinds import Datum

_LARGEST_FACTORIAL = 33  # whose digits fit decimal128(38, 0)


def _hashed(algorithm: str) -> Callable[[str], str]:
    return lambda text: hashlib.new(algorithm, text.encode(), usedforsecurity=False).hexdigest()


def levenshtein(a: str, b: str) -> int:
    """How many letters are inserted, left out or replaced to get from one string to the other."""
    row = list(range(len(b) + 1))
    for i, x in enumerate(a, 1):
        before, row[0] = row[0], i
        for j, y in enumerate(b, 1):
            before, row[j] = row[j], min(row[j] + 1, row[j - 1] + 1, before + (x != y))
    return row[-1]


def hamming(a: str, b: str) -> int:
    """In how many places two strings of one length differ."""
    if len(a) != len(b):
        raise pa.ArrowInvalid(f"hamming of {a!r} and {b!r}, which are not of one length")
    return sum(x != y for x, y in zip(a, b, strict=True))


def jaccard(a: str, b: str) -> float:
    """The share of the letters of either string that both have."""
    left, right = set(a), set(b)
    if not left or not right:
        raise pa.ArrowInvalid(f"jaccard of {a!r} and {b!r}, of which one has no letter")
    return len(left & right) / len(left | right)


def jaro(a: str, b: str) -> float:
    """The similarity of Jaro (1989), between 0 and 1."""
    window = max(max(len(a), len(b)) // 2 - 1, 0)
    taken, left = [False] * len(b), []
    for i, letter in enumerate(a):
        for j in range(max(i - window, 0), min(i + window + 1, len(b))):
            if not taken[j] and b[j] == letter:
                taken[j] = True
                left.append(letter)
                break
    right = [letter for letter, is_taken in zip(b, taken, strict=True) if is_taken]
    if not left:
        return 0.0
    moved = sum(x != y for x, y in zip(left, right, strict=True)) // 2
    count = len(left)
    return (count / len(a) + count / len(b) + (count - moved) / count) / 3


def jaro_winkler(a: str, b: str) -> float:
    """That of Jaro, higher by what up to four first letters have in common (Winkler, 1990)."""
    similarity, same = jaro(a, b), 0
    if similarity <= 0.7:
        return similarity
    for x, y in zip(a[:4], b[:4], strict=False):
        if x != y:
            break
        same += 1
    return similarity + same * 0.1 * (1 - similarity)


def _strip_accents(text: str) -> str:
    parts = unicodedata.normalize("NFD", text)
    return unicodedata.normalize("NFC", "".join(c for c in parts if not unicodedata.combining(c)))


def _url_decode(text: str) -> str:
    try:
        return urllib.parse.unquote(text, errors="strict")
    except UnicodeDecodeError:
        raise pa.ArrowInvalid(f"{text!r} is no URL of UTF-8") from None


def _translate(text: str, letters: str, others: str) -> str:
    """Each of some letters as the other one in its place; left out where there is none."""
    by_letter: dict[int, str] = {}
    for place, letter in enumerate(letters):
        by_letter.setdefault(ord(letter), others[place : place + 1])
    return text.translate(by_letter)


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


def _even(number: float) -> float:
    away = math.ceil(abs(number))
    return math.copysign(away + away % 2, number)


_STRING, _NUMBER, _REAL = pa.string(), pa.int64(), pa.float64()
_WORD = (1 << 64) - 1
# By name: what computes a row, the types of its arguments, and that of the result.
ROW_FUNCTIONS: dict[str, tuple[Callable[..., Any], tuple[pa.DataType, ...], pa.DataType]] = {
    **{name: (_hashed(name), (_STRING,), _STRING) for name in ("md5", "sha1", "sha256")},
    "levenshtein": (levenshtein, (_STRING, _STRING), _NUMBER),
    "hamming": (hamming, (_STRING, _STRING), _NUMBER),
    "jaccard": (jaccard, (_STRING, _STRING), _REAL),
    "jaro_similarity": (jaro, (_STRING, _STRING), _REAL),
    "jaro_winkler_similarity": (jaro_winkler, (_STRING, _STRING), _REAL),
    "strip_accents": (_strip_accents, (_STRING,), _STRING),
    "url_encode": (lambda text: urllib.parse.quote(text, safe=""), (_STRING,), _STRING),
    "url_decode": (_url_decode, (_STRING,), _STRING),
    "translate": (_translate, (_STRING, _STRING, _STRING), _STRING),
    "bin": (lambda number: f"{number & _WORD:b}", (_NUMBER,), _STRING),
    "to_base": (_to_base, (_NUMBER, _NUMBER), _STRING),
    "factorial": (_factorial, (_NUMBER,), pa.decimal128(38, 0)),
    "even": (_even, (_REAL,), _REAL),
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
