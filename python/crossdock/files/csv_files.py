"""Reads CSV files: by the engine while its plan runs; by pyarrow.dataset what that does not read;
where lines are left out or filled up, or the compression asks for it, one after the other. (The
dataset of version 26 takes a header behind skipped lines for a row, and counts rows that it leaves
out.)"""

from __future__ import annotations

import itertools
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeAlias

import pyarrow as pa

from crossdock.errors import make_error, unknown_column
from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Expr, conjuncts
from crossdock.files.batch_files import BatchFiles, completed, keeps
from crossdock.files.csv_lines import behind_empty_lines, lines_in, lines_of
from crossdock.files.csv_options import CSV_ADVICE, CsvOptions, csv_cause
from crossdock.files.csv_rejects import RowParser
from crossdock.files.exact_integers import with_exact_integers
from crossdock.files.far_files import of_each_far, open_stream, path_of, stream_in
from crossdock.files.file_sources import DatasetFiles, FileOptions, path_values
from crossdock.files.paths import Paths, delimiter_of, find_files
from crossdock.files.rejects import REJECTS, Reject, TakeReject, reject_batches
from crossdock.files.sources import Source, read_for
from crossdock.files.text_streams import LinesFile, decoded_blocks, first_text
from crossdock.values.engine_types import distinct_names

if TYPE_CHECKING:
    from pyarrow.dataset import CsvFileFormat, FileFragment

_UNDECODED_BYTES = 1 << 20  # that are looked through for what is not UTF-8
_FIRST_BYTES = 1 << 16
_STANDARD_INPUT = "standard input"
_OLD_LINE_END = re.compile(rb"\r[^\n]")
_PACKED = (".gz", ".bz2", ".zst")

# Of each file its path, lines to skip, whether there is a header, values of a line and places of
# the columns; then the delimiter, the quote and what stands for NULL.
ScannedFiles: TypeAlias = tuple[
    list[tuple[str, int, bool, int, list[int]]], tuple[str, str, list[str]]
]


@dataclass(frozen=True)
class Dialect:
    """Options, and what the first file says where they are silent."""

    options: CsvOptions
    delimiter: str
    names: Sequence[str]  # of the columns; none: the header has them


def open_csv(
    paths: Paths, given: Mapping[str, Any] | None = None, options: FileOptions | None = None
) -> Source:
    """A source over CSV files, with the options of CsvOptions by name; types are inferred from the
    first block of each file. Errors: PathError, DataError; ColumnError (a type for no column),
    OptionError."""
    csv_options = CsvOptions.checked(given or {})
    places = options or FileOptions()
    files = find_files(paths, "csv", places.filesystem)
    csv_options = _with_single_names(files, csv_options)
    leaves_out = csv_options.header and (csv_options.skip or csv_options.names)
    changes = csv_options.comment or csv_options.ragged == "fill"
    # pyarrow calls Python to decode, from threads that may meet an interpreter that is gone.
    decodes = csv_options.encoding != "utf-8"
    by_lines = leaves_out or changes or decodes or any(map(_is_packed, files))
    source: CsvLines | CsvSource
    if csv_options.sets_rows_aside:
        source = CsvKeptRows(paths, csv_options, places)
    else:
        source = (CsvLines if by_lines else CsvSource)(paths, csv_options, places)
    require_columns(csv_options, source)
    return source


def csv_rejects(
    paths: Paths, given: Mapping[str, Any] | None = None, options: FileOptions | None = None
) -> Source:
    """A source over the rows that are left out where the options say "skip", as all do that do not
    say otherwise. Errors as for open_csv."""
    csv_options = CsvOptions.checked({"ragged": "skip", "bad_values": "skip", **(given or {})})
    places = replace(options or FileOptions(), hive_partitioning=False)
    files = find_files(paths, "csv", places.filesystem)
    return CsvRejects(paths, _with_single_names(files, csv_options), places)


def require_columns(options: CsvOptions, source: CsvLines | CsvSource) -> None:
    """ColumnError for a type of no column."""
    for name in options.types:
        if name not in source.schema.names:
            raise unknown_column(name, source.schema.names, "types=")


def csv_table(content: bytes, given: Mapping[str, Any]) -> pa.Table:
    """A pyarrow.Table of standard input. Errors: OptionError, UnicodeError, those of pyarrow."""
    import pyarrow.csv as csv

    options = CsvOptions.checked(given)
    errors = "surrogateescape" if options.encoding == "utf-8" else "strict"
    text = content.decode(options.encoding, errors).removeprefix("\ufeff")
    dialect = _dialect(options, options.sniffed(text[:_UNDECODED_BYTES]), text)
    lines = list(lines_in([text], options, dialect.delimiter, _STANDARD_INPUT))
    if options.sets_rows_aside:
        return _kept_table(lines, dialect)
    width = len(dialect.names) or options.count_columns(text, dialect.delimiter)

    def read(types: Mapping[str, pa.DataType], columns: Sequence[str] = ()) -> pa.Table:
        each = iter(lines)
        return csv.read_csv(
            LinesFile(behind_empty_lines(each) if options.header else each),
            read_options=options.lines_read_options(dialect.names),
            parse_options=options.parse_options(dialect.delimiter, width),
            convert_options=options.convert_options(types, columns),
        )

    table = read(options.types)
    exact = with_exact_integers(table.schema, options.types, lambda types: read(types, list(types)))
    if exact != table.schema:
        table = read({**options.types, **dict(zip(exact.names, exact.types, strict=True))})
    return table.cast(with_strings(table.schema))


class CsvSource(DatasetFiles):
    """CSV files, whose string columns must be valid UTF-8. What pyarrow reads of them comes file by
    file, since a dataset reads ahead by up to 1 GiB where its reader is slow (version 26)."""

    advice = CSV_ADVICE

    def __init__(self, paths: Paths, csv_options: CsvOptions, options: FileOptions) -> None:
        self._csv = csv_options
        self._dialect: Dialect | None = None
        self._names: dict[str, list[str]] = {}  # of columns, by file
        super().__init__(paths, "csv", options)

    def cause_and_advice(self, error: Exception) -> tuple[str, str]:
        cause, advice = super().cause_and_advice(error)
        return csv_cause(cause) if advice == CSV_ADVICE else (cause, advice)

    def scanned_files(self, columns: Sequence[str]) -> ScannedFiles | str:
        """The files for the engine's reader of CSV, which reads these columns, or why it does not.
        DataError if they have changed."""
        opened, options = self.current(), self._csv
        reason = self._other_reader(frozenset(columns) & frozenset(opened.values.column_names))
        if reason:
            return reason
        files = []
        for file in self.files:
            names = self._names[file]
            places = [names.index(name) if name in names else -1 for name in columns]
            files.append((file, options.skip, options.header, len(names), places))
        return files, (self._known_dialect().delimiter, options.quote, options.nulls())

    def _other_reader(self, of_paths: frozenset[str]) -> str:
        """Why the engine does not read the files; "": it does."""
        options = self._csv
        if self.is_part or self.is_far or of_paths:
            return "parts of files, files elsewhere, or columns of their paths"
        if options.escape or options.decimal != ".":
            return "escapes or a decimal comma"
        if any(file.lower().endswith(_PACKED) for file in self.files):
            return "compressed files"
        return "lines that end with CR alone" if self._has_old_line_ends() else ""

    def _has_old_line_ends(self) -> bool:
        return any(_OLD_LINE_END.search(first_bytes(file)) for file in self.files)

    def dataset_format(self, file: str) -> CsvFileFormat:
        import pyarrow.dataset as dataset

        dialect = self._known_dialect()
        columns = len(self._names.get(file, ()))
        empty_lines = 0
        if self._csv.header and self._csv.has_empty_rows(columns):
            empty_lines = self._csv.empty_lines(first_text(file, self._csv.encoding))
        return dataset.CsvFileFormat(
            read_options=self._csv.read_options(dialect.names, empty_lines),
            parse_options=self._csv.parse_options(dialect.delimiter, columns),
            convert_options=self._csv.convert_options(self._csv.types),
        )

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table:
        """Files are read by several threads; an interrupt ends the wait for them."""
        goes_on = [True]

        def read(fragment: FileFragment) -> list[pa.RecordBatch]:
            batches = self._file_batches(fragment, columns, predicate)
            return list(itertools.takewhile(lambda _: bool(goes_on), batches))

        try:
            with self.data_errors():
                parts = of_each_far(list(self._kept(predicate)), read)
        finally:
            goes_on.clear()
        return pa.Table.from_batches(itertools.chain(*parts), self.schema_of(columns))

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader:
        with self.data_errors():
            batches = (
                batch
                for fragment in self._kept(predicate)
                for batch in self._file_batches(fragment, columns, predicate)
            )
            return pa.RecordBatchReader.from_batches(self.schema_of(columns), batches)

    def _kept(self, predicate: Expr | None) -> Iterator[FileFragment]:
        """The files, without those of whose rows their paths say that none is wanted."""
        opened = self.current()
        known = frozenset(opened.values.column_names)
        parts = () if predicate is None else conjuncts(predicate)
        of_paths = [part for part in parts if part.columns() and part.columns() <= known]
        for fragment in opened.fragments:
            values = path_values(fragment, opened.values.schema)
            if all(keeps(values, part) for part in of_paths):
                yield fragment

    def _file_batches(
        self, fragment: FileFragment, columns: tuple[str, ...], predicate: Expr | None
    ) -> Iterator[pa.RecordBatch]:
        opened = self._opened
        projected = self.schema_of(read_for(columns, predicate))
        known = frozenset(opened.values.column_names)
        types = {field.name: field.type for field in self.schema if field.name not in known}
        stored = [name for name in projected.names if name in types] or list(types)[:1]
        values = path_values(fragment, opened.values.schema)
        with self.data_errors(fragment.path):
            for batch in self._opened_file(fragment, types, stored):
                whole = completed(batch, projected, values)
                if predicate is not None:
                    whole = keep_rows(whole, predicate)
                yield whole.select(columns)

    def _opened_file(
        self, fragment: FileFragment, types: Mapping[str, pa.DataType], columns: Sequence[str]
    ) -> pa.RecordBatchReader:
        import pyarrow.csv as csv

        options = fragment.format
        return csv.open_csv(
            stream_in(fragment.filesystem, fragment.path),
            read_options=options.default_fragment_scan_options.read_options,
            parse_options=options.parse_options,
            convert_options=self._csv.convert_options(types, columns),
        )

    def settled(self, schema: pa.Schema) -> pa.Schema:
        return with_strings(schema)

    def read_schemas(self) -> Sequence[pa.Schema]:
        def exact(pair: tuple[FileFragment, pa.Schema]) -> pa.Schema:
            fragment, schema = pair
            return with_exact_integers(
                schema,
                self._csv.types,
                lambda types: _first_rows(self._opened_file(fragment, types, list(types))),
            )

        inferred = super().read_schemas()
        pairs = list(zip(self.plain_fragments(), inferred, strict=True))
        schemas = self.of_each(pairs, exact, lambda pair: pair[0].path)
        for file, schema in zip(self.files, schemas, strict=True):
            _require_strings(file, schema, self._csv.types)
        self._names = {file: schema.names for file, schema in zip(self.files, schemas, strict=True)}
        return schemas

    def _known_dialect(self) -> Dialect:
        if self._dialect is None:
            self._dialect = _dialect_of(self.files[0], self._csv)
        return self._dialect


class CsvLines(BatchFiles):
    """CSV files whose lines go through Python before they are parsed."""

    advice = CSV_ADVICE

    def __init__(self, paths: Paths, csv_options: CsvOptions, options: FileOptions) -> None:
        self._csv = csv_options
        self._dialect: Dialect | None = None
        self._columns: dict[str, list[str]] = {}  # by file
        super().__init__(paths, "csv", options)

    def cause_and_advice(self, error: Exception) -> tuple[str, str]:
        cause, advice = super().cause_and_advice(error)
        return csv_cause(cause) if advice == CSV_ADVICE else (cause, advice)

    def read_schemas(self) -> Sequence[pa.Schema]:
        with self.data_errors(self.files[0]):
            self._dialect = _dialect_of(self.files[0], self._csv)
        return super().read_schemas()

    def settled(self, schema: pa.Schema) -> pa.Schema:
        return with_strings(schema)

    def _known_dialect(self) -> Dialect:
        assert self._dialect is not None
        return self._dialect

    def schema_of_file(self, path: str) -> pa.Schema:
        schema = with_exact_integers(
            self._opened_file(path, self._csv.types, ()).schema,
            self._csv.types,
            lambda types: _first_rows(self._opened_file(path, types, list(types))),
        )
        _require_strings(path, schema, self._csv.types)
        self._columns[path] = schema.names
        return schema

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        # In the types of all files; one column tells how many rows there are.
        types = {
            field.name: field.type for field in self.schema if field.name not in self.path_columns()
        }
        stored = [name for name in columns if name in types]
        yield from self._opened_file(path, types, stored or list(types)[:1])

    def _opened_file(
        self, path: str, types: Mapping[str, pa.DataType], columns: Sequence[str]
    ) -> pa.RecordBatchReader:
        import pyarrow.csv as csv

        dialect = self._known_dialect()
        return csv.open_csv(
            lines_of(path, self._csv, dialect.delimiter),
            read_options=self._csv.lines_read_options(dialect.names),
            parse_options=self._csv.parse_options(
                dialect.delimiter, len(self._columns.get(path, ()))
            ),
            convert_options=self._csv.convert_options(types, columns),
        )


class CsvKeptRows(CsvLines):
    """CSV files of which rows are left out that are not as the columns say. Where that goes by
    values, too, all of them are converted, whichever columns are read."""

    def schema_of_file(self, path: str) -> pa.Schema:
        dialect = self._known_dialect()
        schema = _first_types(lambda: lines_of(path, self._csv, dialect.delimiter), dialect)
        _require_strings(path, schema, self._csv.types)
        self._columns[path] = schema.names
        return schema

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        read = None if self._csv.bad_values == "skip" else columns
        for table in self.tables_of(path, read=read):
            yield from table.to_batches()

    def tables_of(
        self, path: str, take: TakeReject | None = None, read: Sequence[str] | None = None
    ) -> Iterator[pa.Table]:
        """The rows of a file with all of its columns, those that are not `read` unconverted; `take`
        gets what is left out."""
        dialect = self._known_dialect()
        known = {*self.path_columns()}
        if read is not None:
            known |= {*self._columns[path]} - {*read}
        types = {
            name: pa.binary() if name in known else self.schema.field(name).type
            for name in self._columns[path]
        }
        parser = RowParser(path, dialect.options, dialect.delimiter, self._columns[path], types)
        text = decoded_blocks(path, self._csv.encoding)
        yield from parser.tables(lines_in(text, self._csv, dialect.delimiter, path), take)


class CsvRejects(BatchFiles):
    """The rows that CsvKeptRows leaves out."""

    advice = CSV_ADVICE

    def __init__(self, paths: Paths, csv_options: CsvOptions, options: FileOptions) -> None:
        self._rows = CsvKeptRows(paths, csv_options, options)
        require_columns(csv_options, self._rows)
        super().__init__(paths, "csv", options)

    def schema_of_file(self, path: str) -> pa.Schema:
        return REJECTS

    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        self._rows.current()
        return reject_batches(self._rejects_of(path), path)

    def _rejects_of(self, path: str) -> Iterator[Reject]:
        rejects: list[Reject] = []
        for _ in self._rows.tables_of(path, rejects.append):
            yield from sorted(rejects, key=lambda reject: reject.line)
            rejects.clear()


def _first_types(opened: Callable[[], LinesFile], dialect: Dialect) -> pa.Schema:
    """The columns of a file by its first block, with the types that are given, of which no row is
    an error yet: columns of these types are not converted."""
    import pyarrow.csv as csv

    options = dialect.options
    given = options.types

    def read(types: Mapping[str, pa.DataType], columns: Sequence[str] = ()) -> pa.RecordBatchReader:
        return csv.open_csv(
            opened(),
            read_options=options.lines_read_options(dialect.names),
            parse_options=options.parse_options(dialect.delimiter, 0, lambda row: None),
            convert_options=options.convert_options(types, columns),
        )

    schema = with_exact_integers(
        read(dict.fromkeys(given, pa.binary())).schema,
        given,
        lambda types: _first_rows(read(types, list(types))),
    )
    return pa.schema([(each.name, given.get(each.name, each.type)) for each in schema])


def _first_rows(reader: pa.RecordBatchReader) -> pa.RecordBatch:
    return reader.read_next_batch()


def _kept_table(lines: Sequence[str], dialect: Dialect) -> pa.Table:
    """Standard input without the rows that the options leave out."""
    schema = with_strings(_first_types(lambda: LinesFile(iter(lines)), dialect))
    types = {field.name: field.type for field in schema}
    parser = RowParser(_STANDARD_INPUT, dialect.options, dialect.delimiter, schema.names, types)
    return pa.concat_tables([schema.empty_table(), *parser.tables(lines)])


def _with_single_names(files: Sequence[str], options: CsvOptions) -> CsvOptions:
    """With names where the header of the one file has some twice: a, a_1."""
    if not options.header or options.names or len(files) != 1:
        return options
    try:
        text = first_text(files[0], options.encoding)
    except (OSError, pa.ArrowException):  # which the reader of the file says with its name
        return options
    header = options.header_of(text, delimiter_of(files[0]).replace(",", ""))
    names = distinct_names(header)
    return options if names == header else replace(options, names=tuple(names))


def _dialect_of(file: str, options: CsvOptions) -> Dialect:
    text = first_text(file, options.encoding)
    given = options.delimiter or delimiter_of(file).replace(",", "")  # of .tsv
    return _dialect(options, given or options.sniffed(text), text)


def _dialect(options: CsvOptions, delimiter: str, text: str) -> Dialect:
    """Columns that nothing names have numbers."""
    names: Sequence[str] = options.names
    if not names and not options.header:
        count = options.count_columns(text, delimiter)
        names = [f"column{number}" for number in range(count)]
    return Dialect(options, delimiter, names)


def _is_packed(name: str) -> bool:
    """Whether it is in a compression that pyarrow.dataset does not read, or not tell."""
    path = path_of(name).lower()
    return path.endswith(".zst") or (path.endswith(".gz") and path != name.lower())


def with_strings(schema: pa.Schema) -> pa.Schema:
    """Columns of which the first blocks have no value are strings, which hold whatever comes."""
    return pa.schema([
        field.with_type(pa.string()) if pa.types.is_null(field.type) else field for field in schema
    ])  # fmt: skip


def _require_strings(file: str, schema: pa.Schema, types: Mapping[str, pa.DataType]) -> None:
    """DataError for columns that came out as bytes, since values of theirs are not in UTF-8."""
    for field in schema:
        if pa.types.is_binary(field.type) and field.name not in types:
            raise make_error(
                "CD-302",
                f"column {field.name!r} of {file!r} holds strings that are not UTF-8",
                where=_first_undecodable(file),
                try_=f"encoding='latin-1', or types={{{field.name!r}: 'binary'}} to take the bytes",
            )


def first_bytes(file: str) -> bytes:
    """The begin of a file of this machine."""
    with Path(file).open("rb") as stream:
        return stream.read(_FIRST_BYTES)


def _first_undecodable(file: str) -> str:
    """The line of the first bytes that are not UTF-8, and these."""
    with open_stream(file) as stream:
        block = stream.read(_UNDECODED_BYTES)
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = block.count(b"\n", 0, error.start) + 1
        return f"line {line}, the byte 0x{block[error.start]:02x}"
    return ""
