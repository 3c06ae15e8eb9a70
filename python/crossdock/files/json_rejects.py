"""Blocks of JSON as tables, by pyarrow; and objects that are set aside since they are no JSON, or
have a value that is none of its column's type.

Blocks without such objects cost what they cost without the option. Of others pyarrow often says
which row it cannot read; else halves of the rows are tried, down to single ones."""

from __future__ import annotations

import functools
import itertools
import json
import re
from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.files.json_blocks import is_object
from crossdock.files.rejects import Reject

_ROW_ERROR = re.compile(r" in row (\d+)$")
_ERROR_FRAME = re.compile(r"^JSON (?:parse|conversion) error: | in row \d+$")
_NULL_FIRST = re.compile(rb"\A(\s*)null\b")
_DEPTH_MOST = 100
_DEEP = re.compile(rb"[\[{]{%d}" % _DEPTH_MOST)
_NO_BRACKETS = bytes(set(range(256)) - set(b"[]{}"))
_LATE = "no object of the first 4 MiB has it"

_ROWS_AT_ONCE = 256  # of a block that is not as it should be

Row: TypeAlias = tuple[int, bytes]  # its line
Refused: TypeAlias = tuple[Row, str]
ParsedBlock: TypeAlias = tuple[list[pa.Table], list[Refused]]


def parsed(block: bytes, schema: pa.Schema, unexpected: str) -> pa.Table:
    """The rows of whole objects, by one thread: others parse other blocks. `unexpected` says what
    becomes of members that the schema lacks: "infer" or "error"."""
    import pyarrow.json

    _require_utf8(block)
    if _is_deep(block):  # which ends pyarrow's process
        raise pa.ArrowInvalid(f"JSON parse error: It is nested deeper than {_DEPTH_MOST}.")
    # As does a block that begins with null; behind an object it is a row of NULLs.
    block = _NULL_FIRST.sub(rb"\1{}", block)
    # Without fields it would be one that no member is in.
    explicit = _read_schema(schema) if schema.names else None
    return pyarrow.json.read_json(
        pa.BufferReader(block),
        read_options=pyarrow.json.ReadOptions(block_size=max(1, len(block)), use_threads=False),
        parse_options=pyarrow.json.ParseOptions(
            explicit_schema=explicit, unexpected_field_behavior=unexpected
        ),
    )


def _require_utf8(block: bytes) -> None:
    """pyarrow takes any bytes for strings. ArrowInvalid for those that are none."""
    try:
        block.isascii() or block.decode()
    except UnicodeDecodeError as error:
        row = block.count(b"\n", 0, error.start)
        raise pa.ArrowInvalid(f"JSON parse error: It is no UTF-8. in row {row}") from None


def _is_deep(block: bytes) -> bool:
    """Whether values are in more than 100 others: each round takes the innermost brackets out."""
    brackets = block.translate(None, _NO_BRACKETS)
    for _ in range(_DEPTH_MOST):
        around = brackets.replace(b"[]", b"").replace(b"{}", b"")
        if len(around) == len(brackets):  # the rest stands in strings, or is not closed
            return _DEEP.search(brackets) is not None
        brackets = around
    return bool(brackets)


def _read_schema(schema: pa.Schema) -> pa.Schema:
    """In which pyarrow reads: dates are cast from strings."""
    return pa.schema([
        field.with_type(pa.string()) if pa.types.is_date(field.type) else field for field in schema
    ])  # fmt: skip


@dataclass(frozen=True)
class ObjectParser:
    """Objects of one file as tables of all of its columns."""

    schema: pa.Schema
    sets_aside: bool

    def tables(self, block: bytes, line: int) -> ParsedBlock:
        """The rows of a block that begins at a line, and those that are set aside. ArrowInvalid for
        what is neither."""
        try:
            return [self._parsed(block)], []
        except pa.ArrowInvalid:
            if not self.sets_aside:
                raise
        refused: list[Refused] = []
        rows = [row for row in enumerate(_lines_of(block), line) if row[1].strip()]
        starts = range(0, len(rows), _ROWS_AT_ONCE)
        parts = (self._kept_tables(rows[at : at + _ROWS_AT_ONCE], refused) for at in starts)
        return list(itertools.chain(*parts)), refused

    def reject(self, row: Row, message: str) -> Reject:
        """What is wrong with an object that was set aside."""
        line, text = row
        shown = text.decode(errors="replace").rstrip("\r\n")
        for name, value in members_of(text).items():
            reason = self._what_is_wrong(name, value)
            if reason:
                written = value if isinstance(value, str) else _json_of(value)
                return Reject(line, _plain(name), _plain(written), reason, shown)
        return Reject(line, None, None, _ERROR_FRAME.sub("", message), shown)

    def _parsed(self, block: bytes) -> pa.Table:
        return self._cast(parsed(block, self.schema, "error"))

    def _cast(self, table: pa.Table) -> pa.Table:
        """Dates are read as strings. ArrowInvalid, too, for members of structs that the schema
        lacks, of which a cast loses the values."""
        if not table.schema.equals(_read_schema(self.schema)):
            raise pa.ArrowInvalid(_LATE)
        return table.cast(self.schema)

    def _kept_tables(self, rows: Sequence[Row], refused: list[Refused]) -> Iterator[pa.Table]:
        """Where pyarrow says which row it cannot read, it has read those before."""
        while rows:
            try:
                yield self._without_late(rows, refused)
                return
            except pa.ArrowInvalid as error:
                message = str(error)
            if len(rows) == 1:
                refused.append((rows[0], message))
                return
            match = _ROW_ERROR.search(message)
            place = min(int(match[1]), len(rows) - 1) if match else len(rows) // 2
            yield from self._kept_tables(rows[:place], refused)
            if match:
                yield from self._kept_tables(rows[place : place + 1], refused)
                place += 1
            rows = rows[place:]

    def _without_late(self, rows: Sequence[Row], refused: list[Refused]) -> pa.Table:
        """Without the objects with members that are not columns. ArrowInvalid for others."""
        block = b"".join(text for _, text in rows)
        table = parsed(block, self.schema, "infer")
        late = table.drop_columns(self.schema.names)
        if late.num_columns == 0:
            return self._cast(table)
        if table.num_rows != len(rows):
            raise pa.ArrowInvalid(_LATE)  # several in a line
        has_late = functools.reduce(pc.or_, (column.is_valid() for column in late.itercolumns()))
        kept = self._cast(table.select(self.schema.names).filter(pc.invert(has_late)))
        for row, is_refused in zip(rows, has_late.to_pylist(), strict=True):
            if is_refused:
                refused.append((row, _LATE))
        return kept

    def _what_is_wrong(self, name: str, value: object) -> str:
        if name not in self.schema.names:
            return _LATE
        field = self.schema.field(name)
        alone = ObjectParser(pa.schema([field]), sets_aside=False)
        try:
            alone._parsed(json.dumps({name: value}).encode())
        except pa.ArrowInvalid:
            return f"is no {field.type}"
        return ""


def _lines_of(block: bytes) -> list[bytes]:
    return [line + b"\n" for line in block.split(b"\n")]


def _json_of(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)


def _plain(text: str) -> str:
    """Without halves of surrogate pairs, which no UTF-8 has."""
    return text.encode(errors="replace").decode()


def members_of(text: str | bytes) -> Mapping[str, object]:
    """Of one object by name; none of what is no JSON."""
    return json.loads(text) if is_object(text) else {}


def inferred_schema(block: bytes, given: Mapping[str, pa.DataType]) -> pa.Schema:
    """The columns of a block of which some objects may not be read: types that are not given are
    those that most rows have, and wider ones that hold others, too. ArrowInvalid where no object
    is one."""
    seen: dict[str, Counter[pa.DataType]] = defaultdict(Counter)
    lines = [line for line in _lines_of(block) if line.strip()]
    _count_types(lines, seen)
    if not seen and not given:
        parsed(block, pa.schema([]), "infer")  # which says what is wrong
    types = {name: _widest(counted) for name, counted in seen.items()}
    return pa.schema(list({**types, **given}.items()))


def _count_types(lines: Sequence[bytes], seen: Mapping[str, Counter[pa.DataType]]) -> None:
    try:
        table = parsed(b"".join(lines), pa.schema([]), "infer")
    except pa.ArrowInvalid:
        if len(lines) > 1:
            middle = len(lines) // 2
            _count_types(lines[:middle], seen)
            _count_types(lines[middle:], seen)
        return
    for field in table.schema:
        seen[field.name][field.type] += table.num_rows


def _widest(counted: Counter[pa.DataType]) -> pa.DataType:
    (widest, _), *others = counted.most_common()
    for other, _ in others:
        widest = _unified(widest, other)
    return widest


def _unified(one: pa.DataType, other: pa.DataType) -> pa.DataType:
    """What holds values of both; the first where nothing does."""
    if {one, other} == {pa.string(), pa.timestamp("s")}:
        return pa.string()
    schemas = [pa.schema([("", each)]) for each in (one, other)]
    try:
        return pa.unify_schemas(schemas, promote_options="permissive").field(0).type
    except (pa.ArrowInvalid, pa.ArrowTypeError):
        return one
