"""Functions of JSON in strings, read by Python's own parser: NULL stays NULL, and where an object
has a key twice, the first counts. Values are pyarrow Scalars, Arrays and ChunkedArrays; everything
is pure and thread-safe. ArrowException for what is no JSON and for paths that are none."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import pyarrow as pa

from crossdock.expressions.distinct_values import once_per_value
from crossdock.values.arrow_kinds import Datum

_STEP = re.compile(r"""\.(?:"([^"]+)"|([^.\["*]+))|\[(#-)?(-?\d+)\]""")
_NOTHING = object()  # at the end of a path that leads nowhere
# A key; a place in a list; or a part of a pointer, /a/0, which is either.
Step = str | int | tuple[str]


def _first_ones(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        result = {}
        for key, value in pairs:
            result.setdefault(key, value)
    return result


_DECODER = json.JSONDecoder(object_pairs_hook=_first_ones)


@lru_cache(256)
def steps_of(path: str) -> tuple[Step, ...]:
    """The keys and places of `$.a[0]` or `/a/0`; any other string is one key. ArrowInvalid."""
    if path.startswith("/"):
        parts = [part.replace("~1", "/").replace("~0", "~") for part in path[1:].split("/")]
        return tuple((part,) for part in parts)
    if not path.startswith("$"):
        return (path,)
    steps: list[Step] = []
    place = 1
    while place < len(path):
        match = _STEP.match(path, place)
        if match is None:
            raise pa.ArrowInvalid(f"the path {path!r} cannot be read; '$.key[0]' can")
        quoted, plain, from_end, number = match.groups()
        if number is None:
            steps.append(quoted or plain)
        else:
            steps.append(-int(number) if from_end else int(number))
        place = match.end()
    return tuple(steps)


def _parsed(text: str) -> Any:
    try:
        return _DECODER.decode(text)
    except (ValueError, RecursionError) as error:
        raise pa.ArrowInvalid(f"{text[:40]!r} is no JSON: {error}") from None


def _at(value: Any, steps: tuple[Step, ...]) -> Any:
    for step in steps:
        if isinstance(step, tuple):
            step = int(step[0]) if isinstance(value, list) and step[0].isdecimal() else step[0]
        if isinstance(value, dict) and isinstance(step, str):
            value = value.get(step, _NOTHING)
        elif isinstance(value, list) and isinstance(step, int):
            value = value[step] if -len(value) <= step < len(value) else _NOTHING
        else:
            return _NOTHING
    return value


def _text(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def _string(value: Any) -> str | None:
    if value is None:
        return None
    return value if isinstance(value, str) else _text(value)


def _type(value: Any) -> str:
    if isinstance(value, bool):
        return "BOOLEAN"
    if isinstance(value, int):
        return "BIGINT" if value < 0 else "UBIGINT"
    names = {type(None): "NULL", float: "DOUBLE", str: "VARCHAR", list: "ARRAY", dict: "OBJECT"}
    return names[type(value)]


def _is_valid(strings: Datum, _: object) -> Datum:
    def is_json(text: str) -> bool:
        try:
            _DECODER.decode(text)
        except (ValueError, RecursionError):
            return False
        return True

    return _mapped(strings, is_json, pa.bool_())


def _mapped(strings: Datum, of_text: Callable[[str], Any], data_type: pa.DataType) -> Datum:
    if not (pa.types.is_string(strings.type) or pa.types.is_large_string(strings.type)):
        raise pa.ArrowNotImplementedError(f"functions of JSON take strings, not {strings.type}")
    if isinstance(strings, pa.Scalar):
        text = strings.as_py()
        return pa.scalar(None if text is None else of_text(text), data_type)

    def computed(each: pa.Array) -> pa.Array:
        values = [None if text is None else of_text(text) for text in each.to_pylist()]
        return pa.array(values, data_type)

    return once_per_value(strings, computed)


def _of_value(
    of_value: Callable[[Any], Any], data_type: pa.DataType
) -> Callable[[Datum, str], Datum]:
    """A function of the value at a path; NULL where there is none."""

    def computed(strings: Datum, path: str) -> Datum:
        steps = steps_of(path)

        def of_text(text: str) -> Any:
            value = _at(_parsed(text), steps)
            return None if value is _NOTHING else of_value(value)

        return _mapped(strings, of_text, data_type)

    return computed


def _exists(strings: Datum, path: str) -> Datum:
    steps = steps_of(path)
    return _mapped(strings, lambda text: _at(_parsed(text), steps) is not _NOTHING, pa.bool_())


# Functions of strings and the path that is their option.
OF_JSON: dict[str, Callable[[Datum, str], Datum]] = {
    "json_extract": _of_value(_text, pa.string()),
    "json_extract_string": _of_value(_string, pa.string()),
    "json_array_length": _of_value(lambda v: len(v) if isinstance(v, list) else 0, pa.int64()),
    "json_type": _of_value(_type, pa.string()),
    "json_keys": _of_value(lambda v: list(v) if isinstance(v, dict) else [], pa.list_(pa.string())),
    "json_exists": _exists,
    "json_valid": _is_valid,
}
