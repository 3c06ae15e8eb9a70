"""Reads files of JSON: an object per line (or one after the other), or one array of objects. Blocks
of whole objects are parsed by pyarrow, a few at once: its own reader of streams runs 32 blocks
ahead of the rows that are taken, and threads of it that are still reading when the interpreter ends
abort the process."""

from __future__ import annotations

import codecs
import json
from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error
from crossdock.files.batch_files import BatchFiles
from crossdock.files.far_files import open_stream
from crossdock.files.file_sources import FileOptions
from crossdock.files.paths import Paths
from crossdock.files.sources import Source
from crossdock.files.text_streams import decoded_blocks, first_text, whole_lines
from crossdock.option_checks import require_types

_BLOCK_BYTES = 4 << 20  # an object that is longer is an error
_PARSING_THREADS = 4  # at most; each holds a block and its rows
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

    def __init__(self, paths: Paths, types: dict[str, pa.DataType], options: FileOptions) -> None:
        self._types = types
        self._schemas: dict[str, Any] = {}  # by file
        super().__init__(paths, "json", options)

    def schema_of_file(self, path: str) -> pa.Schema:
        schema = _first_rows(path, pa.schema(list(self._types.items()))).schema
        for name, data_type in {**_dates_in(path, schema), **self._types}.items():
            schema = schema.set(schema.get_field_index(name), pa.field(name, data_type))
        if self._types:  # pyarrow puts the columns of given types first
            names = [name for name in _first_members(path) if name in schema.names]
            names += [name for name in schema.names if name not in names]
            schema = pa.schema([schema.field(name) for name in names])
        self._schemas[path] = schema
        return schema

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # In the types of all files where they are wider; other columns are read to be checked.
        wider = set(columns) - self.path_columns()
        whole = pa.schema([
            self.schema.field(field.name) if field.name in wider else field
            for field in self._schemas[path]
        ])  # fmt: skip
        try:
            for table in _parsed_blocks(_blocks(path), whole):
                yield from table.to_batches()
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


def _dates_in(path: str, schema: pa.Schema) -> dict[str, pa.DataType]:
    """Columns whose values are dates alone in the first block, which pyarrow takes for times."""
    names = [field.name for field in schema if field.type == pa.timestamp("s")]
    if not names:
        return {}
    rows = _first_rows(path, pa.schema([(name, pa.string()) for name in names]))
    return {name: pa.date32() for name in names if _are_dates(rows.column(name))}


def _are_dates(strings: pa.Array) -> bool:
    try:
        strings.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True


def _read_as(data_type: pa.DataType) -> pa.DataType:
    """The type in which pyarrow reads a member: dates are cast from strings."""
    return pa.string() if pa.types.is_date(data_type) else data_type


def json_table(content: bytes) -> pa.Table:
    """A pyarrow.Table of a file that lies in memory. Errors: those of pyarrow."""
    text = content.decode()
    if text.lstrip(_SPACE).startswith("["):
        content = "".join(_elements([text], "standard input")).encode()
    return _parsed(content, None, "infer", over_lines=True)


def _parsed(
    block: bytes, schema: pa.Schema | None, unexpected: str, *, over_lines: bool = False
) -> pa.Table:
    """The rows of whole objects, by one thread: others parse other blocks."""
    import pyarrow.json

    return pyarrow.json.read_json(
        pa.BufferReader(block),
        read_options=pyarrow.json.ReadOptions(
            block_size=max(_BLOCK_BYTES, len(block)), use_threads=False
        ),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=schema,
            unexpected_field_behavior=unexpected,
            newlines_in_values=over_lines,
        ),
    )


def _read_schema(schema: Any) -> Any:
    """None: pyarrow takes a schema without fields for one that no member is in."""
    fields = [field.with_type(_read_as(field.type)) for field in schema]
    return pa.schema(fields) if fields else None


def _first_rows(path: str, schema: Any) -> Any:
    """The rows of the first block, with types of `schema`, and inferred ones."""
    return _parsed(next(_blocks(path), b""), _read_schema(schema), "infer")


def _parsed_blocks(blocks: Iterator[bytes], schema: Any) -> Iterator[Any]:
    """Tables of the blocks in order; a few more are parsed while the first one is waited for."""
    schema = _read_schema(schema)
    threads = max(1, min(_PARSING_THREADS, pa.cpu_count()))
    under_way: deque[Future[Any]] = deque()
    with ThreadPoolExecutor(threads) as pool:
        for block in blocks:
            under_way.append(pool.submit(_parsed, block, schema, "error"))
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()


def _blocks(path: str) -> Iterator[bytes]:
    """Blocks of whole lines, which hold whole objects, of at most twice 4 MiB."""
    text = first_text(path, "utf-8").lstrip(_SPACE)
    if text.startswith("[") or not _is_line(text):
        for lines in _elements(decoded_blocks(path, "utf-8"), path, text[:1]):
            if lines:
                yield lines.encode(errors="surrogateescape")
        return
    held = b""
    with open_stream(path) as stream:
        while block := _filled(stream):
            held = (held + block).removeprefix(codecs.BOM_UTF8)
            if len(block) < _BLOCK_BYTES:
                break  # the end, whose last line is of this block
            end = held.rfind(b"\n") + 1
            if end:
                yield held[:end]
                held = held[end:]
            elif len(held) > _BLOCK_BYTES:
                raise _malformed(path, "a line", "it is longer than 4 MiB")
    if held:
        yield held + b"\n"  # pyarrow takes what no line ends for a block of its own


def _filled(stream: Any) -> bytes:
    """4 MiB, less at the end alone: streams of servers and archives give what they have."""
    parts: list[bytes] = []
    left = _BLOCK_BYTES
    while left and (part := stream.read(left)):
        parts.append(part)
        left -= len(part)
    return b"".join(parts)


def _is_line(text: str) -> bool:
    """Whether an object ends where the first line ends."""
    line = text.partition("\n")[0]
    try:
        return isinstance(json.loads(line), dict)
    except ValueError:
        return False


def _elements(blocks: Iterable[str], path: str, begin: str = "[") -> Iterator[str]:
    """The elements of an array, or objects that stand one after the other, as lines, those of a
    block at a time."""
    decode = json.JSONDecoder().raw_decode
    is_array = begin == "["
    text, expected, number = "", "array" if is_array else "item", 0

    def malformed(why: str) -> CrossdockError:
        what = f"element {number} of its array" if is_array else f"object {number} of its JSON"
        return _malformed(path, what, why)

    for block in blocks:
        text += block
        at, lines = 0, []
        while (at := _behind_space(text, at)) < len(text):
            sign = _SIGNS.get((expected, text[at]))
            if sign is not None:
                expected, at = sign, at + 1
                continue
            if expected not in ("first", "item"):
                raise malformed(f"{text[at : at + 20]!r} stands there")
            try:
                value, end = decode(text, at)
            except ValueError:
                break  # its end may be in the next block
            if end == len(text) and not isinstance(value, dict):
                break  # a number may go on there
            if not isinstance(value, dict):
                raise malformed("it is no object")
            lines.append(text[at:end].replace("\n", " ") + "\n")
            expected, number, at = "next" if is_array else "item", number + 1, end
        text = text[at:]
        yield "".join(lines)
        if len(text) > 2 * _BLOCK_BYTES:
            break
    if expected != ("end" if is_array else "item") or text:
        raise malformed("it does not end, or is longer than 4 MiB")


# What a sign of an array's own means where something is expected: what is expected then.
_SIGNS = {
    ("array", "["): "first", ("first", "]"): "end", ("next", ","): "item", ("next", "]"): "end",
}  # fmt: skip


def _behind_space(text: str, at: int) -> int:
    while at < len(text) and text[at] in _SPACE:
        at += 1
    return at


def _malformed(path: str, what: str, why: str) -> CrossdockError:
    return make_error(
        "CD-302", f"{path!r} cannot be read: {what}: {why}",
        try_="an array of objects, or an object per line",
    )  # fmt: skip


def _lines(path: str) -> Iterator[str]:
    """The objects of a file, one or more a line; what is none is left out."""
    blocks = decoded_blocks(path, "utf-8")
    text = first_text(path, "utf-8").lstrip(_SPACE)
    if text.startswith("[") or not _is_line(text):
        blocks = _elements(blocks, path, text[:1])
    for block in whole_lines(blocks):
        yield from block.split("\n")[:-1]


def _members(line: str) -> list[str]:
    try:
        members = json.loads(line)
    except ValueError:
        return []
    return list(members) if isinstance(members, dict) else []
