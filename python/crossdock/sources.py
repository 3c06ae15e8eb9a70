"""Where rows come from: Arrow data in memory, and files read through pyarrow.dataset.

A source knows its schema without reading rows, and reads only the columns and rows asked for.
`pyarrow.dataset` is imported when the first file is opened, not before.
"""

from __future__ import annotations

import contextlib
import copy
import threading
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from crossdock import _native
from crossdock.engine_types import engine_table
from crossdock.errors import CrossdockError, make_error, public_errors, unknown_column
from crossdock.evaluation import keep_rows
from crossdock.expressions import Expr
from crossdock.option_checks import require_type
from crossdock.paths import Paths, delimiter_of, find_files, is_folder, shown_name
from crossdock.reader_filters import split_filter, to_pyarrow
from crossdock.row_taking import is_selectable, selectable_schema
from crossdock.streaming import read_stream

Split: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
_CACHED_TABLES = 4  # imported column sets kept per in-memory source


class Source(Protocol):
    """One table to read. Instances are immutable and may be used from several threads."""

    schema: Any  # pyarrow.Schema without metadata
    name: str  # for plans: "orders.parquet"
    kind: str  # "arrow", "parquet", "ipc" or "csv"
    files: list[str]  # paths of what it reads; none for data in memory

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        """(conditions that may be part of a `predicate`, those of `parts` that must be evaluated on
        the rows that come). Readers take some conditions to skip rows by, and return more."""

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        """A pyarrow.Table of `columns` where `predicate` holds. DataError if the data are bad."""

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        """The same as a pyarrow.RecordBatchReader, in bounded memory."""

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        """The same as a table of the engine, zero copy."""

    def count_rows(self, predicate: Expr | None) -> int:
        """Rows for which `predicate` holds; from the footers where it is None."""

    def known_rows(self) -> int | None:
        """Rows, if that costs no reading of rows."""

    def stored_bytes(self) -> int:
        """Bytes in memory or on disk, of all columns."""


class ArrowSource:
    """A pyarrow.Table in memory. Its imports into the engine are kept, so that the second join
    over the same table starts at once."""

    kind = "arrow"

    def __init__(
        self,
        table: Any,
        name: str = "arrow",
        files: Sequence[str] = (),
        is_replicated: bool = False,
    ) -> None:
        found = table.schema
        self.is_replicated = is_replicated  # over ranks: all of them have the same rows
        self.name = name
        self.files = list(files)
        self.schema = bare_schema(found)
        bare = self.schema is found
        self.data = table if bare else pa.Table.from_arrays(table.columns, schema=self.schema)
        self._imported: dict[tuple[str, ...], _native.Table] = {}
        self._lock = threading.Lock()

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return tuple(parts), ()

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        if predicate is None:
            return self.data.select(columns)
        wanted = dict.fromkeys((*columns, *sorted(predicate.columns())))
        return keep_rows(self.data.select(list(wanted)), predicate).select(columns)

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        return self.table(columns, predicate).to_reader()

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        if predicate is not None:
            return engine_table(engine, self.table(columns, predicate))
        with self._lock:
            found = self._imported.get(columns)
            if found is None:
                found = engine_table(engine, self.data.select(columns))
                while len(self._imported) >= _CACHED_TABLES:
                    self._imported.pop(next(iter(self._imported)))
                self._imported[columns] = found
        return found

    def count_rows(self, predicate: Expr | None) -> int:
        if predicate is None:
            return int(self.data.num_rows)
        return int(keep_rows(self.data.select(sorted(predicate.columns())), predicate).num_rows)

    def known_rows(self) -> int | None:
        return int(self.data.num_rows)

    def stored_bytes(self) -> int:
        return int(self.data.get_total_buffer_size())


class FileSource:
    """Files of one format and schema, read by pyarrow.dataset on all its threads."""

    def __init__(self, paths: Paths, kind: str, dataset_format: Any) -> None:
        import pyarrow.dataset as dataset

        self.kind = kind
        self.name = shown_name(paths)
        self.files = find_files(paths, kind)
        layout = {"format": dataset_format, "partitioning": "hive" if is_folder(paths) else None}
        with self.data_errors():
            self._dataset = dataset.dataset(self.files, **layout)
            self.schema = bare_schema(self._dataset.schema)
            # Selection has no kernel for views: filtered scans read plain strings instead.
            plain = selectable_schema(self.schema)
            self._filterable = self._dataset
            # The reader filters whole batches, also columns that are not asked for.
            self._filters = all(is_selectable(field.type) for field in plain)
            if plain is not self.schema:
                self._filterable = dataset.dataset(self.files, schema=plain, **layout)

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return split_filter(parts, self.schema) if self._filters else ((), tuple(parts))

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        with self.data_errors():
            found = self._scanner(columns, predicate).to_table()
            if not columns:
                return found  # what follows would forget how many rows there are
            return found.replace_schema_metadata(None).cast(self._schema_of(columns))

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        with self.data_errors():
            found = self._scanner(columns, predicate).to_reader()
            wanted = self._schema_of(columns)
            return found if found.schema == wanted else found.cast(wanted)

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        with self.data_errors(), public_errors():
            return engine_table(engine, self.reader(columns, predicate))

    def count_rows(self, predicate: Expr | None) -> int:
        with self.data_errors():
            if predicate is None:
                return int(self._dataset.count_rows())
            return int(self._scanner((), predicate).count_rows())

    def known_rows(self) -> int | None:
        return self.count_rows(None) if self.kind in ("parquet", "ipc") else None

    def stored_bytes(self) -> int:
        return sum(Path(name).stat().st_size for name in self.files)

    def _scanner(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        if predicate is None:
            return self._dataset.scanner(columns=list(columns))
        condition = to_pyarrow(predicate, self.schema)
        return self._filterable.scanner(columns=list(columns), filter=condition)

    def _schema_of(self, columns: tuple[str, ...]) -> Any:
        return pa.schema([self.schema.field(name) for name in columns])

    def fragments(self) -> list[Any]:
        """The files, one by one, for modules of this package. Call it inside `data_errors`."""
        return list(self._dataset.get_fragments())

    def of_fragments(self, fragments: Sequence[Any]) -> FileSource:
        """The same source with these files, or parts of them, alone."""
        import pyarrow.dataset as dataset

        def only(whole: Any) -> Any:
            layout = (whole.schema, whole.format, whole.filesystem)
            return dataset.FileSystemDataset(list(fragments), *layout)

        part = copy.copy(self)
        part._dataset = only(self._dataset)
        plain = self._filterable is not self._dataset
        part._filterable = only(self._filterable) if plain else part._dataset
        return part

    @contextlib.contextmanager
    def data_errors(self) -> Iterator[None]:
        """Turns what reading raises into a DataError that names the source."""
        try:
            yield
        except CrossdockError:
            raise
        except (pa.ArrowException, OSError) as error:
            raise make_error(
                "CD-302",
                f"{self.kind} source {self.name!r} cannot be read: {_first_line(error)}",
                where=self.files[0] + (" …" if len(self.files) > 1 else ""),
            ) from error


def open_parquet(paths: Paths) -> Source:
    """A source over Parquet files. PathError or DataError when there is none to read."""
    import pyarrow.dataset as dataset

    return FileSource(paths, "parquet", dataset.ParquetFileFormat())


def open_ipc(paths: Paths) -> Source:
    """A source over Arrow IPC files (Feather version 2); a file in the IPC stream format, which
    cannot be read in parts, is read into memory at once."""
    import pyarrow.dataset as dataset

    files = find_files(paths, "ipc")
    if len(files) == 1 and not _is_ipc_file(files[0]):
        try:
            with pa.OSFile(files[0], "rb") as file, pa.ipc.open_stream(file) as stream:
                return ArrowSource(stream.read_all(), shown_name(paths), files)
        except (pa.ArrowException, OSError) as error:
            raise make_error(
                "CD-302",
                f"{files[0]!r} is neither an Arrow IPC file nor a stream: {_first_line(error)}",
            ) from error
    return FileSource(paths, "ipc", dataset.IpcFileFormat())


def open_csv(paths: Paths, delimiter: str | None, types: Mapping[str, Any]) -> Source:
    """A source over CSV files with a header line; types are inferred from the first block of the
    first file unless `types` names them. The delimiter is by default "," ("\\t" for .tsv).
    Errors: as open_parquet; ColumnError (a type for no column), OptionError."""
    import pyarrow.csv as csv
    import pyarrow.dataset as dataset

    if delimiter is None:
        delimiter = delimiter_of(find_files(paths, "csv")[0])
    if not isinstance(delimiter, str) or len(delimiter.encode()) != 1:
        raise make_error(
            "CD-105", f"read_csv(delimiter={delimiter!r}) is not one ASCII character",
            try_="delimiter=';'",
        )  # fmt: skip
    wanted = {name: require_type(found, f"types[{name!r}]") for name, found in types.items()}
    csv_format = dataset.CsvFileFormat(
        parse_options=csv.ParseOptions(delimiter=delimiter),
        convert_options=csv.ConvertOptions(column_types=wanted, strings_can_be_null=True),
    )
    source = FileSource(paths, "csv", csv_format)
    for name in types:
        if name not in source.schema.names:
            raise unknown_column(name, source.schema.names, "types=")
    return source


def import_arrow(data: object) -> Source:
    """A source over anything that exports Arrow data: pyarrow, Polars, DuckDB, pandas. Streams
    (and DuckDB relations) are run and read now; tables are taken without a copy."""
    name = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
    if isinstance(data, pa.Table):
        return ArrowSource(data, name)
    if isinstance(data, pa.RecordBatch):
        return ArrowSource(pa.Table.from_batches([data]), name)
    if hasattr(data, "__arrow_c_stream__"):
        try:
            return ArrowSource(read_stream(data), name)
        except pa.ArrowException as error:
            raise _not_imported(data, name, error) from error
    raise make_error(
        "CD-506",
        f"{name} exports no Arrow data (it has no __arrow_c_stream__)",
        try_=".collect() on it first" if hasattr(data, "collect") else "pyarrow.table(...)",
    )


def _not_imported(data: object, name: str, error: BaseException) -> CrossdockError:
    """The error for Arrow data that pyarrow cannot read; of a frame, it names the columns."""
    refused = []
    for column in getattr(data, "columns", ()) if hasattr(data, "head") else ():
        try:
            read_stream(data.head(0)[[column]])  # type: ignore[attr-defined]
        except pa.ArrowException:
            refused.append(str(column))
        except Exception:  # noqa: BLE001 - no frame after all: the first error says what there is
            break
    shown = ", ".join(map(repr, refused))
    return make_error(
        "CD-302",
        f"{name} cannot be read: {_first_line(error)}",
        columns=shown,
        try_=f"frame.drop({shown}), or cast to Decimal(38, 0) if it is a 128-bit integer"
        if refused
        else "",
    )


def bare_schema(schema: Any) -> Any:
    """`schema` without metadata, which no operator keeps; ColumnError when a name repeats."""
    names = schema.names
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise make_error(
            "CD-104", f"columns {', '.join(map(repr, twice))} occur more than once in a source"
        )
    fields = list(schema)
    if schema.metadata is None and all(field.metadata is None for field in fields):
        return schema
    return pa.schema([field.remove_metadata() for field in fields])


def _is_ipc_file(name: str) -> bool:
    with Path(name).open("rb") as file:
        return file.read(6) == b"ARROW1"


def _first_line(error: BaseException) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
