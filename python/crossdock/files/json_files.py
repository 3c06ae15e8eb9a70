"""Reads files of JSON: an object per line (or one after the other), or one array of objects, which
becomes lines on its way to pyarrow. All of it block by block."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error
from crossdock.files.batch_files import BatchFiles
from crossdock.files.far_files import open_stream
from crossdock.files.file_sources import FileOptions
from crossdock.files.paths import Paths
from crossdock.files.sources import Source
from crossdock.files.text_streams import LinesFile, decoded_blocks, first_text, whole_lines
from crossdock.option_checks import require_types

_BLOCK_BYTES = 4 << 20  # an object that is longer is an error
_SPACE = " \t\r\n"
_UNEXPECTED = "unexpected field"


def open_json(
    paths: Paths, types: Mapping[str, Any] | None = None, options: FileOptions | None = None
) -> Source:
    """A source over files of JSON; columns and types are inferred from the first block of each file
    (4 MiB), and `types` says those that it does not tell. Errors: PathError, DataError,
    OptionError."""
    return JsonSource(paths, require_types(types, "read_json"), options or FileOptions())


class JsonSource(BatchFiles):
    """Objects, whose members are columns. A member that comes first behind the first block is an
    error: rows before it might have had one, too."""

    advice = "types={'member': 'string'} for what the first 4 MiB of the file do not tell"

    def __init__(self, paths: Paths, types: dict[str, Any], options: FileOptions) -> None:
        self._types = types
        self._schemas: dict[str, Any] = {}  # by file
        super().__init__(paths, "json", options)

    def schema_of_file(self, path: str) -> Any:
        with _opened(path, pa.schema(list(self._types.items())), "infer") as reader:
            schema = reader.schema
        for name, data_type in {**_dates_in(path, schema), **self._types}.items():
            schema = schema.set(schema.get_field_index(name), pa.field(name, data_type))
        if self._types:  # pyarrow puts the columns of given types first
            names = [name for name in _first_members(path) if name in schema.names]
            names += [name for name in schema.names if name not in names]
            schema = pa.schema([schema.field(name) for name in names])
        self._schemas[path] = schema
        return schema

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[Any]:
        # In the types of all files where they are wider; other columns are read to be checked.
        wider = set(columns) - self.path_columns()
        whole = pa.schema([
            self.schema.field(field.name) if field.name in wider else field
            for field in self._schemas[path]
        ])  # fmt: skip
        try:
            with _opened(path, whole, "error") as reader:
                yield from reader
        except pa.ArrowInvalid as error:
            raise self._located(path, error) from error

    def _located(self, path: str, error: Exception) -> Exception:
        """The error with the name of a member that is not expected, which pyarrow leaves out."""
        if _UNEXPECTED not in str(error):
            return error
        known = set(self._schemas[path].names)
        for number, line in enumerate(_lines(path), 1):
            for member in _members(line):
                if member not in known:
                    return make_error(
                        "CD-302",
                        f"{path!r} cannot be read: no object of its first 4 MiB has a member "
                        f"{member!r}",
                        where=f"object {number}",
                        try_=f"types={{{member!r}: 'string'}}",
                    )
        return error


def _first_members(path: str) -> list[str]:
    """Names of the first object, in their order; none where it is longer than the first block."""
    text = first_text(path, "utf-8").lstrip(_SPACE + "[")
    try:
        member, _ = json.JSONDecoder().raw_decode(text)
    except ValueError:
        return []
    return list(member) if isinstance(member, dict) else []


def _dates_in(path: str, schema: Any) -> dict[str, Any]:
    """Columns whose values are dates alone in the first block, which pyarrow takes for times."""
    names = [field.name for field in schema if field.type == pa.timestamp("s")]
    if not names:
        return {}
    strings = pa.schema([(name, pa.string()) for name in names])
    with _opened(path, strings, "infer") as reader:
        batch = reader.read_next_batch()
    return {name: pa.date32() for name in names if _are_dates(batch.column(name))}


def _are_dates(strings: Any) -> bool:
    try:
        strings.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True


def _read_as(data_type: Any) -> Any:
    """The type in which pyarrow reads a member: dates are cast from strings."""
    return pa.string() if pa.types.is_date(data_type) else data_type


def json_table(content: bytes) -> Any:
    """A pyarrow.Table of a file that lies in memory. Errors: those of pyarrow."""
    import pyarrow.json

    text = content.decode()
    if text.lstrip(_SPACE).startswith("["):
        content = "".join(_elements([text], "standard input")).encode()
    return pyarrow.json.read_json(
        pa.BufferReader(content),
        read_options=pyarrow.json.ReadOptions(block_size=max(_BLOCK_BYTES, len(content))),
    )


def _opened(path: str, schema: Any, unexpected: str) -> Any:
    import pyarrow.json

    schema = pa.schema([field.with_type(_read_as(field.type)) for field in schema])
    text = first_text(path, "utf-8").lstrip(_SPACE)
    if text.startswith("["):
        stream: Any = LinesFile(_elements(decoded_blocks(path, "utf-8"), path))
    else:
        stream = open_stream(path)
    return pyarrow.json.open_json(
        stream,
        read_options=pyarrow.json.ReadOptions(block_size=_BLOCK_BYTES),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=schema if len(schema) else None,
            unexpected_field_behavior=unexpected,
            newlines_in_values=not _is_line(text),
        ),
    )


def _is_line(text: str) -> bool:
    """Whether an object ends where the first line ends."""
    line = text.partition("\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _elements(blocks: Iterable[str], path: str) -> Iterator[str]:
    """The elements of an array as lines, those of a block at a time."""
    decode = json.JSONDecoder().raw_decode
    text, expected, number = "", "array", 0
    for block in blocks:
        text += block
        at, lines = 0, []
        while (at := _behind_space(text, at)) < len(text):
            sign = _SIGNS.get((expected, text[at]))
            if sign is not None:
                expected, at = sign, at + 1
                continue
            if expected not in ("first", "item"):
                raise _malformed(path, number, f"{text[at : at + 20]!r} stands there")
            try:
                value, end = decode(text, at)
            except ValueError:
                break  # its end may be in the next block
            if end == len(text):
                break  # a number may go on there
            if not isinstance(value, dict):
                raise _malformed(path, number, "it is no object")
            lines.append(text[at:end].replace("\n", " ") + "\n")
            expected, number, at = "next", number + 1, end
        text = text[at:]
        yield "".join(lines)
        if len(text) > 2 * _BLOCK_BYTES:
            break
    if expected != "end" or text:
        raise _malformed(path, number, "it does not end, or is longer than 4 MiB")


# What a sign of an array's own means where something is expected: what is expected then.
_SIGNS = {
    ("array", "["): "first", ("first", "]"): "end", ("next", ","): "item", ("next", "]"): "end",
}  # fmt: skip


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _malformed(path: str, number: int, why: str) -> CrossdockError:
    return make_error(
        "CD-302", f"{path!r} cannot be read: element {number} of its array: {why}",
        try_="an array of objects, or an object per line",
    )  # fmt: skip


def _lines(path: str) -> Iterator[str]:
    """The objects of a file, one or more a line; what is none is left out."""
    blocks = decoded_blocks(path, "utf-8")
    if first_text(path, "utf-8").lstrip(_SPACE).startswith("["):
        blocks = _elements(blocks, path)
    for block in whole_lines(blocks):
        yield from block.split("\n")[:-1]


def _members(line: str) -> list[str]:
    try:
        members = json.loads(line)
    except ValueError:
        return []
    return list(members) if isinstance(members, dict) else []
