"""Where rows come from: Arrow data in memory, and files read through pyarrow.dataset.

A source knows its schema without reading rows, and reads only the columns and rows asked for.
`pyarrow.dataset` is imported when the first file is opened, not before.
"""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol, TypeAlias

import pyarrow as pa

from crossdock import _native
from crossdock.engine_types import engine_table, with_schema
from crossdock.errors import CrossdockError, make_error, public_errors, system_limits
from crossdock.evaluation import keep_rows, plain_type
from crossdock.expressions import Expr
from crossdock.file_schemas import unified_schema
from crossdock.paths import Paths, find_files, has_partitions, shown_name
from crossdock.reader_filters import split_filter, to_pyarrow
from crossdock.row_taking import is_selectable, selectable_schema
from crossdock.streaming import read_stream
from crossdock.validation import require_valid

Split: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
_EXTENSION = b"ARROW:extension:"
_OPENING_THREADS = 8  # that read schemas of files, which may lie far away


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
        """The same as a table of the engine, zero copy; it may have further columns."""

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
        self._imported: _native.Table | None = None  # with the columns that were asked for so far
        self._valid: set[str] = set()  # columns that have been checked
        self._lock = threading.Lock()

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return tuple(parts), ()

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        rows = self._checked(read_for(columns, predicate))
        return rows if predicate is None else keep_rows(rows, predicate).select(columns)

    def _checked(self, columns: tuple[str, ...]) -> Any:
        """These columns, which any kernel may read: each is checked when it is first asked for."""
        new = [name for name in dict.fromkeys(columns) if name not in self._valid]
        require_valid(self.data.select(new), self.name)
        self._valid.update(new)
        return self.data.select(columns)

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        return self.table(columns, predicate).to_reader()

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        if predicate is not None:
            return engine_table(engine, self.table(columns, predicate))
        with self._lock:
            known = () if self._imported is None else self._imported.column_names
            new = tuple(name for name in dict.fromkeys(columns) if name not in known)
            if new or self._imported is None:
                imported = engine_table(engine, self._checked(new))
                if self._imported is not None and known:
                    imported = self._imported.with_columns_of(imported)
                self._imported = imported
            return self._imported

    def count_rows(self, predicate: Expr | None) -> int:
        if predicate is None:
            return int(self.data.num_rows)
        return int(self.table(tuple(sorted(predicate.columns())), predicate).num_rows)

    def known_rows(self) -> int | None:
        return int(self.data.num_rows)

    def stored_bytes(self) -> int:
        return int(self.data.get_total_buffer_size())


@dataclass(frozen=True)
class Opened:
    """Files as they were when their schemas were read."""

    dataset: Any
    filterable: Any  # the same without views, for which selection has no kernel; None where other
    # columns have none either: the reader filters whole batches, also columns not asked for
    schema: Any
    uneven: frozenset[str]  # columns whose type differs, or that some lack: no filter is pushed to
    versions: tuple[tuple[int, ...], ...]  # what tells whether a file is still the same


class FileSource:
    """Files of one format, read by pyarrow.dataset on all its threads. Their schemas are unified by
    name. Files that change are opened again when they are next read, and must keep their schema."""

    def __init__(self, paths: Paths, kind: str, dataset_format: Any) -> None:
        self.kind = kind
        self.paths = paths
        self.files = find_files(paths, kind)
        self.name = shown_name(paths)
        self._format = dataset_format
        self._is_partitioned = has_partitions(paths)
        self._is_part = False
        self._footers: tuple[Any, _native.ParquetFiles | str] | None = None  # with their versions
        with self.data_errors():
            self._opened = self._open()
        self.schema = self._opened.schema

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        opened = self._opened
        if opened.filterable is None:
            return (), tuple(parts)
        even = [part for part in parts if not part.columns() & opened.uneven]
        given, rest = split_filter(even, self.schema)
        return given, (*rest, *(part for part in parts if part.columns() & opened.uneven))

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        with self.data_errors():
            found = self._scanner(self.current(), columns, predicate).to_table()
            if not columns:
                return found  # what follows would forget how many rows there are
            return with_schema(found.replace_schema_metadata(None), self.schema_of(columns))

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        with self.data_errors():
            found = self._scanner(self.current(), columns, predicate).to_reader()
            wanted = self.schema_of(columns)
            return found if found.schema == wanted else found.cast(wanted)

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        with self.data_errors(), public_errors():
            return engine_table(engine, self.reader(columns, predicate))

    def count_rows(self, predicate: Expr | None) -> int:
        with self.data_errors():
            opened = self.current()
            if predicate is None:
                return int(opened.dataset.count_rows())
            return int(self._scanner(opened, (), predicate).count_rows())

    def known_rows(self) -> int | None:
        return self.count_rows(None) if self.kind in ("parquet", "ipc") else None

    def stored_bytes(self) -> int:
        return sum(Path(name).stat().st_size for name in self.files)

    def footers(self) -> _native.ParquetFiles | str:
        """The files for the engine's reader of Parquet, or why it does not read them. DataError if
        they have changed."""
        if self._is_part or self._is_partitioned:
            return "parts of files, or folders that stand for columns"
        with self.data_errors():
            versions = self.current().versions
        known = self._footers
        if known is None or known[0] != versions:
            try:
                known = (versions, _native.ParquetFiles.open(self.files))
            except _native.NativeError as error:
                known = (versions, str(error))
            self._footers = known
        return known[1]

    def fragments(self) -> list[Any]:
        """The files, one by one, for modules of this package. Call it inside `data_errors`."""
        return list(self.current().dataset.get_fragments())

    def of_fragments(self, fragments: Sequence[Any]) -> FileSource:
        """The same source with these files, or parts of them, alone."""
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)  # copy.copy would take it for a pickle
        part._opened = self._with_fragments(
            fragments, self.schema, self._opened.uneven, self._opened.versions
        )
        part._is_part = True
        return part

    @contextlib.contextmanager
    def data_errors(self) -> Iterator[None]:
        """Turns what reading raises into a DataError that names the source."""
        try:
            with system_limits(f"{self.kind} source {self.name!r}"):
                yield
        except CrossdockError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise make_error(
                "CD-302",
                f"{self.kind} source {self.name!r} cannot be read: {first_line(error)}",
                where=self.files[0] + (" …" if len(self.files) > 1 else ""),
            ) from error

    def schema_of_file(self, fragment: Any) -> Any:
        """The schema of one file. DataError if it has none."""
        try:
            return bare_schema(fragment.physical_schema)
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise make_error(
                "CD-302",
                f"{self.kind} source {self.name!r} cannot be read: {first_line(error)}",
                where=fragment.path,
            ) from error

    def _open(self) -> Opened:
        versions = self._versions()
        fragments = self._fragments(pa.schema([]))
        with ThreadPoolExecutor(min(_OPENING_THREADS, len(fragments))) as threads:
            schemas = list(threads.map(self.schema_of_file, fragments))
        schema, uneven = unified_schema(self.files, schemas)
        keys = self._partition_keys(schema) if self._is_partitioned else pa.schema([])
        if keys.names:
            fragments = self._fragments(keys)
        added = [key for key in keys if key.name not in schema.names]
        return self._with_fragments(fragments, pa.schema([*schema, *added]), uneven, versions)

    def _partition_keys(self, schema: Any) -> Any:
        """The columns that folders named `key=value` above the files stand for. One that files of
        this schema hold as well has the type that it has there."""
        import pyarrow.dataset as dataset
        import pyarrow.fs as file_systems

        options = dataset.FileSystemFactoryOptions(partitioning=dataset.HivePartitioning.discover())
        place = (file_systems.LocalFileSystem(), self.files, self._format, options)
        *_, keys = dataset.FileSystemDatasetFactory(*place).inspect_schemas()
        stored = {field.name: plain_type(field.type) for field in schema}
        types = [stored.get(key.name, key.type) for key in keys]
        values = [t.value_type if pa.types.is_dictionary(t) else t for t in types]
        return pa.schema(list(zip(keys.names, values, strict=True)))

    def _fragments(self, keys: Any) -> list[Any]:
        """The files, and what the names of their folders say of the columns `keys`."""
        import pyarrow.dataset as dataset

        layout = dataset.HivePartitioning(keys) if keys.names else None
        whole = dataset.dataset(
            self.files, schema=pa.schema([]), format=self._format, partitioning=layout
        )
        return list(whole.get_fragments())

    def _with_fragments(
        self, fragments: Sequence[Any], schema: Any, uneven: frozenset[str], versions: Any
    ) -> Opened:
        import pyarrow.dataset as dataset
        import pyarrow.fs as file_systems

        def read_as(wanted: Any) -> Any:
            place = (self._format, file_systems.LocalFileSystem())
            return dataset.FileSystemDataset(list(fragments), wanted, *place)

        found = read_as(schema)
        plain = selectable_schema(schema)
        filterable = found if plain is schema else read_as(plain)
        if not all(is_selectable(field.type) for field in plain):
            filterable = None
        return Opened(found, filterable, schema, uneven, versions)

    def _versions(self) -> tuple[tuple[int, ...], ...]:
        found = (Path(name).stat() for name in self.files)
        return tuple((f.st_mtime_ns, f.st_size, f.st_ino) for f in found)

    def current(self) -> Opened:
        """The files as they are now: footers that were read are of no use when a file has been
        replaced. DataError if their columns are others by now. For modules of this package."""
        opened = self._opened
        if self._versions() == opened.versions:
            return opened
        again = None if self._is_part else self._open()
        if again is None or not (
            again.schema.equals(self.schema) and again.uneven <= opened.uneven
        ):
            raise make_error(
                "CD-302", f"{self.kind} source {self.name!r} has changed since it was opened",
                where=self.files[0] + (" …" if len(self.files) > 1 else ""),
                try_="open it again",
            )  # fmt: skip
        self._opened = again
        return again

    def _scanner(self, opened: Opened, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        if predicate is None:
            return opened.dataset.scanner(columns=list(columns))
        condition = to_pyarrow(predicate, self.schema)
        return opened.filterable.scanner(columns=list(columns), filter=condition)

    def schema_of(self, columns: tuple[str, ...]) -> Any:
        """The schema of some columns, for modules of this package."""
        return pa.schema([self.schema.field(name) for name in columns])


def open_parquet(paths: Paths) -> Source:
    """A source over Parquet files. PathError or DataError when there is none to read."""
    import pyarrow.dataset as dataset

    return FileSource(paths, "parquet", dataset.ParquetFileFormat())


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
        try_=_way_to_arrow(data),
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
        f"{name} cannot be read: {first_line(error)}",
        columns=shown,
        try_=f"frame.drop({shown}), or cast to Decimal(38, 0) if it is a 128-bit integer"
        if refused
        else "",
    )


def _way_to_arrow(data: object) -> str:
    """What makes Arrow data of an object that exports none."""
    if isinstance(data, list | tuple):
        return (
            "pyarrow.Table.from_pylist(...)"
            if data and isinstance(data[0], dict)
            else 'pyarrow.Table.from_batches(...), or pyarrow.table({"name": ...})'
        )
    for method, way in _WAYS.items():
        if hasattr(data, method):
            return way
    return 'pyarrow.table({"name": ...})'


_WAYS = {
    "collect": ".collect() on it first",
    "scanner": ".scanner().to_reader() on it first",  # a pyarrow dataset
    "to_reader": ".to_reader() on it first",
    "keys": "pyarrow.table(...)",
}


def bare_schema(schema: Any) -> Any:
    """`schema` without metadata, but for the names of extension types; ColumnError when a name
    repeats."""
    names = schema.names
    if len(set(names)) != len(names):
        twice = sorted({name for name in names if names.count(name) > 1})
        raise make_error(
            "CD-104", f"columns {', '.join(map(repr, twice))} occur more than once in a source"
        )
    fields = list(schema)
    if schema.metadata is None and all(field.metadata is None for field in fields):
        return schema
    return pa.schema([field.with_metadata(_extension_of(field)) for field in fields])


def _extension_of(field: Any) -> dict[bytes, bytes] | None:
    """What says that a column is of an extension type, such as a geometry, that pyarrow has not."""
    metadata = field.metadata or {}
    kept = {key: value for key, value in metadata.items() if key.startswith(_EXTENSION)}
    return kept or None


def read_for(columns: tuple[str, ...], predicate: Expr | None) -> tuple[str, ...]:
    """What must be read to filter `columns`."""
    if predicate is None:
        return columns
    return tuple(dict.fromkeys((*columns, *sorted(predicate.columns()))))


def first_line(error: BaseException) -> str:
    """What an error says, without the stack of the library that raised it."""
    return (str(error).splitlines() or [type(error).__name__])[0]
