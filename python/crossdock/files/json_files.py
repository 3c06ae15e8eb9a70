"""Reads files of JSON: an object per line (or one after the other), or one array of objects. Blocks
of whole objects are parsed by pyarrow, a few at once: its own reader of streams runs 32 blocks
ahead of the rows that are taken, and threads of it that are still reading when the interpreter ends
abort the process."""

from __future__ import annotations

import itertools
import re
from collections import deque
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error, unknown_choice
from crossdock.files.batch_files import BatchFiles
from crossdock.files.exact_integers import EXACT_INTEGER
from crossdock.files.far_files import open_stream
from crossdock.files.file_sources import FileOptions
from crossdock.files.json_blocks import JsonText
from crossdock.files.json_rejects import (
    ObjectParser,
    ParsedBlock,
    inferred_schema,
    members_of,
    parsed,
)
from crossdock.files.paths import Paths
from crossdock.files.rejects import REJECTS, Reject, reject_batches
from crossdock.files.sources import Source
from crossdock.option_checks import require_types

_LONG_NUMBER = re.compile(rb"[0-9]{19}")
_PARSING_THREADS = 4  # at most; each holds a block and its rows
_TIMES = pa.timestamp("s")  # what pyarrow takes dates and times for
_UNEXPECTED = "unexpected field"
_BAD_VALUES = ("error", "skip")

JSON_OPTIONS = ("types", "bad_values")


@dataclass(frozen=True)
class JsonOptions:
    """Types of columns by name, and whether objects that cannot be read are left out."""

    types: Mapping[str, pa.DataType]
    sets_aside: bool

    @classmethod
    def checked(cls, types: object, bad_values: object) -> JsonOptions:
        """Errors: OptionError."""
        if bad_values not in _BAD_VALUES:
            raise unknown_choice("bad_values", bad_values, _BAD_VALUES)
        return cls(require_types(types, "read_json"), bad_values == "skip")


def open_json(
    paths: Paths,
    types: Mapping[str, Any] | None = None,
    bad_values: str = "error",
    options: FileOptions | None = None,
) -> Source:
    """A source over files of JSON; columns and types are inferred from the first block of each file
    (4 MiB), and `types` says those that it does not tell. Errors: PathError, DataError,
    OptionError."""
    return JsonSource(paths, JsonOptions.checked(types, bad_values), options or FileOptions())


def json_rejects(
    paths: Paths, types: Mapping[str, Any] | None = None, options: FileOptions | None = None
) -> Source:
    """A source over the objects that bad_values="skip" leaves out. Errors as for open_json."""
    places = replace(options or FileOptions(), hive_partitioning=False)
    return JsonRejects(paths, JsonOptions.checked(types, "skip"), places)


def json_table(content: bytes, types: object = None, bad_values: object = "error") -> pa.Table:
    """A pyarrow.Table of standard input. Errors: DataError, OptionError, those of pyarrow."""
    options = JsonOptions.checked(types, bad_values)
    text = JsonText(
        "standard input", lambda: pa.BufferReader(content), finds_lines=options.sets_aside
    )
    schema = _schema_of(text, options)
    blocks = _parsed_blocks(text, ObjectParser(schema, options.sets_aside))
    return pa.concat_tables(
        [schema.empty_table(), *(table for block, _ in blocks for table in block)]
    )


class JsonSource(BatchFiles):
    """Objects, whose members are columns. A member that comes first behind the first block is an
    error: rows before it might have had one, too."""

    advice = (
        "types={'member': 'string'} for what the first 4 MiB of the file do not tell; "
        "bad_values='skip' for objects that cannot be read"
    )

    def __init__(self, paths: Paths, json: JsonOptions, options: FileOptions) -> None:
        self._json = json
        self._schemas: dict[str, pa.Schema] = {}  # by file
        super().__init__(paths, "json", options)

    def schema_of_file(self, path: str) -> pa.Schema:
        schema = _schema_of(self._text(path), self._json)
        self._schemas[path] = schema
        return schema

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        try:
            for tables, _ in _parsed_blocks(self._text(path), self._parser(path, columns)):
                for table in tables:
                    yield from table.to_batches()
        except pa.ArrowInvalid as error:
            raise self._located(path, error) from error

    def rejects_of(self, path: str) -> Iterator[Reject]:
        """The objects of a file that are set aside."""
        parser = self._parser(path, ())
        for _, refused in _parsed_blocks(self._text(path), parser):
            yield from itertools.starmap(parser.reject, refused)

    def _parser(self, path: str, columns: Sequence[str]) -> ObjectParser:
        """Of columns in the types of all files where they are wider; those that are not read are
        parsed, too, to be checked. The same rows are set aside, whichever columns are read."""
        sets_aside = self._json.sets_aside
        wider = set(self.schema.names if sets_aside else columns) - self.path_columns()
        schema = pa.schema([
            self.schema.field(field.name) if field.name in wider else field
            for field in self._schemas[path]
        ])  # fmt: skip
        return ObjectParser(schema, sets_aside)

    def _text(self, path: str) -> JsonText:
        return JsonText(path, lambda: open_stream(path), finds_lines=self._json.sets_aside)

    def _located(self, path: str, error: Exception) -> Exception:
        """The error with the name of a member that is not expected, which pyarrow leaves out."""
        if _UNEXPECTED not in str(error):
            return error
        known = set(self._schemas[path].names)
        for number, line in enumerate(self._text(path).lines(), 1):
            for member in members_of(line):
                if member not in known:
                    return make_error(
                        "CD-302",
                        f"{path!r} cannot be read: no object of its first 4 MiB has a member "
                        f"{member!r}",
                        where=f"object {number}",
                        try_=f"types={{{member!r}: 'string'}}",
                    )
        return error


class JsonRejects(BatchFiles):
    """The objects that JsonSource leaves out."""

    advice = JsonSource.advice

    def __init__(self, paths: Paths, json: JsonOptions, options: FileOptions) -> None:
        self._rows = JsonSource(paths, json, options)
        super().__init__(paths, "json", options)

    def schema_of_file(self, path: str) -> pa.Schema:
        return REJECTS

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self._rows.current()
        return reject_batches(self._rows.rejects_of(path), path)


def _schema_of(text: JsonText, options: JsonOptions) -> pa.Schema:
    """The columns by the first block; those whose values are dates alone, which pyarrow takes for
    times, are dates."""
    block = text.first_block()
    if not block.strip():
        return pa.schema(list(options.types.items()))
    if options.sets_aside:
        schema = inferred_schema(block, options.types)
        times = [field.name for field in schema if field.type == _TIMES]
    else:
        rows = parsed(block, pa.schema(list(options.types.items())), "infer")
        schema = rows.schema
        times = [name for name in schema.names if _may_be_dates(rows.column(name))]
    better = {**_dates_in(block, schema, times, options), **_exact_integers_in(block, schema)}
    for name, data_type in {**better, **options.types}.items():
        schema = schema.set(schema.get_field_index(name), pa.field(name, data_type))
    if not options.types:
        return schema
    # pyarrow puts the columns of given types first.
    names = [name for name in text.first_member_names() if name in schema.names]
    names += [name for name in schema.names if name not in names]
    return pa.schema([schema.field(name) for name in names])


def _may_be_dates(column: pa.ChunkedArray) -> bool:
    """Whether all are midnights: only these are parsed once more, as strings."""
    import pyarrow.compute as pc

    if column.type != _TIMES:
        return False
    days = pc.floor_temporal(column, unit="day")
    return bool(pc.all(pc.equal(days, column), min_count=0).as_py())


def _dates_in(
    block: bytes, schema: pa.Schema, names: Sequence[str], options: JsonOptions
) -> dict[str, pa.DataType]:
    """Those of the columns of times that are dates."""
    if not names:
        return {}
    as_strings = pa.schema([
        field.with_type(pa.string()) if field.name in names else field for field in schema
    ])  # fmt: skip
    tables, _ = ObjectParser(as_strings, options.sets_aside).tables(block, 1)
    strings = pa.concat_tables([as_strings.empty_table(), *tables])
    return {name: pa.date32() for name in names if _are_dates(strings.column(name))}


def _exact_integers_in(block: bytes, schema: pa.Schema) -> dict[str, pa.DataType]:
    """Columns of integers that 64 bits do not hold, which pyarrow takes for doubles."""
    if not _LONG_NUMBER.search(block):
        return {}
    doubles = [field.name for field in schema if field.type == pa.float64()]
    return {name: EXACT_INTEGER for name in doubles if _are_long_integers(block, name)}


def _are_long_integers(block: bytes, name: str) -> bool:
    import pyarrow.compute as pc

    try:
        values = parsed(block, pa.schema([(name, EXACT_INTEGER)]), "ignore").column(name)
    except pa.ArrowInvalid:
        return False
    ends = pc.min_max(values).as_py()
    return bool(ends["min"] < -(2**63) or ends["max"] >= 2**63)


def _are_dates(strings: pa.ChunkedArray) -> bool:
    try:
        strings.cast(pa.date32())
    except pa.ArrowInvalid:
        return False
    return True


def _parsed_blocks(text: JsonText, parser: ObjectParser) -> Iterator[ParsedBlock]:
    """The blocks in order; a few more are parsed while the first one is waited for."""
    threads = max(1, min(_PARSING_THREADS, pa.cpu_count()))
    under_way: deque[Future[ParsedBlock]] = deque()
    line = 1
    with ThreadPoolExecutor(threads) as pool:
        for block in text.blocks():
            under_way.append(pool.submit(parser.tables, block, line))
            line += block.count(b"\n")
            if len(under_way) > threads:
                yield under_way.popleft().result()
        while under_way:
            yield under_way.popleft().result()
