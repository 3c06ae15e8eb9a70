"""What the path of a file says of its rows: the folders `name=value` above it, and its name."""

from __future__ import annotations

import datetime
import re
from array import array
from collections.abc import Sequence
from itertools import accumulate
from pathlib import Path
from urllib.parse import unquote

import pyarrow as pa

from crossdock.errors import make_error

NULL_FOLDER = "__HIVE_DEFAULT_PARTITION__"
# Months, days and hours have a zero in front; strings with others, such as 01234, would lose it.
_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,17})|0\d")
_DATE = re.compile(r"\d{4}-\d{2}-\d{2}")


def folder_values(files: Sequence[str]) -> dict[str, list[str | None]]:
    """The values that folders `name=value` above the files stand for, by name and file; None where
    there is no such folder, or it stands for NULL."""
    result: dict[str, list[str | None]] = {}
    for number, file in enumerate(files):
        for folder in Path(file).parts[:-1]:
            name, sign, value = folder.partition("=")
            if sign and name:
                values = result.setdefault(unquote(name), [None] * len(files))
                values[number] = None if value == NULL_FOLDER else unquote(value)
    return result


def values_as(
    name: str, values: Sequence[str | None], data_type: pa.DataType | None, files: Sequence[str]
) -> pa.Array:
    """The values of folders in a type: that of a column which the files hold as well, else int64,
    date32 or string, whichever all of them are. DataError for one that the type does not have."""
    target = _common_type(values) if data_type is None else data_type
    try:
        return string_array(values).cast(target)
    except pa.ArrowException:
        pass
    for value, file in zip(values, files, strict=True):
        try:
            string_array([value]).cast(target)
        except pa.ArrowException:
            raise make_error(
                "CD-302",
                f"the folder '{name}={value}' of {file!r} says no {target}, which is the type of "
                f"column {name!r} in the files",
                try_="hive_partitioning=False, which takes the values of the files alone",
            ) from None
    raise AssertionError(name)


def string_array(values: Sequence[str | None]) -> pa.Array:
    """The strings as an Array. (pyarrow's own way from a list imports pandas, where that is
    installed: 0.2 s of a process that only opens files.)"""
    strings = [b"" if value is None else value.encode() for value in values]
    valid = bytearray((len(values) + 7) // 8)
    for number, value in enumerate(values):
        valid[number // 8] |= (value is not None) << (number % 8)
    offsets = array("i", accumulate(map(len, strings), initial=0))
    buffers = [pa.py_buffer(part) for part in (bytes(valid), offsets, b"".join(strings))]
    return pa.Array.from_buffers(pa.string(), len(values), buffers)


def _common_type(values: Sequence[str | None]) -> pa.DataType:
    known = [value for value in values if value is not None]
    if known and all(map(_INTEGER.fullmatch, known)):
        return pa.int64()
    return pa.date32() if known and all(map(_is_date, known)) else pa.string()


def _is_date(value: str) -> bool:
    if not _DATE.fullmatch(value):
        return False
    try:
        datetime.date.fromisoformat(value)
    except ValueError:
        return False
    return True
