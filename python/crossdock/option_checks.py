"""Refuses what an option cannot be where it is written: a value of another type is an error, and
never taken for something it does not say. All functions are pure and raise OptionError."""

from __future__ import annotations

import operator
import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from crossdock.errors import make_error, nearest

if TYPE_CHECKING:
    import pyarrow as pa

# Names to propose for a misspelled type; pyarrow knows more.
_TYPES = ("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64",
          "float32", "float64", "string", "binary", "date32", "timestamp[us]")  # fmt: skip
_ZONED = re.compile(r"timestamp\[(s|ms|us|ns), ?tz=([^\]]+)\]$")
_DECIMAL = re.compile(r"decimal128\((\d+), ?(-?\d+)\)$")
# What SQL and Python call types, by the names to propose.
_OTHERS_CALL_IT = {
    "str": "string", "varchar": "string", "text": "string", "int": "int64", "bigint": "int64",
    "integer": "int32", "smallint": "int16", "tinyint": "int8", "float": "float64",
    "real": "float32", "boolean": "bool", "date": "date32", "datetime": "timestamp[us]",
    "timestamp": "timestamp[us]", "timestamptz": "timestamp[us, tz=UTC]",
    "decimal": "decimal128(18, 2)", "bytes": "binary", "blob": "binary",
}  # fmt: skip


def require_flag(value: object, option: str, method: str) -> bool:
    """`value`, which must be True or False: a text such as "no" would count as true."""
    if isinstance(value, bool):
        return value
    raise make_error(
        "CD-105", f"{method}({option}={value!r}) is neither True nor False", try_=f"{option}=True"
    )


def require_text(value: object, what: str, example: str) -> str:
    """`value`, which must be a text."""
    if isinstance(value, str):
        return value
    raise make_error("CD-105", f"{what} takes a text, not {value!r}", try_=example)


def like_pattern(pattern: object, escape: object, what: str) -> str:
    """A pattern of LIKE, with a backslash before what `escape` protects."""
    text = require_text(pattern, what, "'abc%'")
    if not isinstance(escape, str) or len(escape) > 1:
        raise make_error(
            "CD-105", f"{what} takes one character as escape, or '' for none, not {escape!r}",
            try_="escape='!'",
        )  # fmt: skip
    parts = []
    letters = iter(text)
    for letter in letters:
        if letter == escape:
            protected = next(letters, None)
            if protected is None:
                raise make_error(
                    "CD-105", f"the pattern {text!r} of {what} ends with its escape {escape!r}",
                    try_=f"{text + escape!r} for the character itself, or escape=''",
                )  # fmt: skip
            parts.append(f"\\{protected}")
        else:
            parts.append("\\\\" if letter == "\\" else letter)
    return "".join(parts)


def require_integer(value: object, what: str, example: str) -> int:
    """`value` as an integer of 32 bits, whatever kind of integer it is; closer limits are those
    of its callers."""
    number = integer_of(value)
    if number is not None and -(1 << 31) <= number < 1 << 31:
        return number
    raise make_error("CD-105", f"{what}, not {value!r}", try_=example)


def require_count(value: object, what: str, option: str) -> int:
    """`value` as an integer of 31 bits that is not negative."""
    number = require_integer(value, f"{what} takes a number as {option}", f"{option}=2")
    if number >= 0:
        return number
    raise make_error("CD-105", f"{what} takes a {option} from 0 on, not {value!r}", try_="2")


def require_choice(value: object, choices: tuple[str, ...], what: str) -> str:
    """`value`, which must be one of `choices`."""
    if isinstance(value, str) and value in choices:
        return value
    close = nearest(value, choices) if isinstance(value, str) else ""
    raise make_error(
        "CD-105", f"{what} takes one of {', '.join(choices)}, not {value!r}",
        try_=repr(close or choices[0]),
    )  # fmt: skip


def require_rows(rows: object, what: str) -> int:
    """`rows` as a number of rows, whatever kind of integer it is."""
    number = integer_of(rows)
    if number is not None and 0 <= number < 1 << 63:
        return number
    raise make_error(
        "CD-105", f"{what} takes a number of rows, not {rows!r}",
        limits="0 to 2^63 - 1", try_="10",
    )  # fmt: skip


def require_type(data_type: pa.DataType | str, what: str) -> pa.DataType:
    """`data_type` as a pyarrow.DataType, of which it may be the name."""
    import pyarrow as pa

    if isinstance(data_type, pa.DataType):
        return data_type
    if isinstance(data_type, str):
        if zoned := _ZONED.match(data_type):
            return pa.timestamp(zoned[1], zoned[2])
        if decimal := _DECIMAL.match(data_type):
            return pa.decimal128(int(decimal[1]), int(decimal[2]))
        try:
            return pa.type_for_alias(data_type)
        except ValueError:
            pass
    close = nearest(data_type, _TYPES) if isinstance(data_type, str) else ""
    name = getattr(data_type, "__name__", str(data_type)).lower()
    close = _OTHERS_CALL_IT.get(name, close)
    raise make_error(
        "CD-105", f"{what} takes an Arrow type, not {data_type!r}", try_=repr(close or "int64")
    )


def require_types(types: object, method: str) -> dict[str, pa.DataType]:
    """Types of columns by name; None is none of them."""
    if types is None:
        return {}
    if not isinstance(types, Mapping):
        raise make_error(
            "CD-105", f"{method}(types={types!r}) says no types by column",
            try_="types={'id': 'int64'}",
        )  # fmt: skip
    return {name: require_type(data_type, f"types[{name!r}]") for name, data_type in types.items()}


def require_values(values: Any, what: str) -> tuple[Any, ...]:
    """`values` as a tuple; a text is no list of its letters."""
    if isinstance(values, Iterable) and not isinstance(values, str | bytes):
        return tuple(values)
    if hasattr(values, "collect"):
        raise make_error(
            "CD-105",
            f"{what} takes a list of values, not a {type(values).__name__}",
            try_='join(other, on=..., how="semi"), which keeps the rows with a partner',
        )
    raise make_error(
        "CD-105", f"{what} takes a list of values, not {values!r}", try_=f"[{values!r}]"
    )


def integer_of(number: object) -> int | None:
    """`number` as an int; None if it is no integer (True and False are none)."""
    if isinstance(number, bool) or not hasattr(number, "__index__"):
        return None
    return operator.index(number)
