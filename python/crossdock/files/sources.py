"""Where rows come from, and Arrow data in memory as the plainest case.

A source knows its schema without reading rows, and reads only the columns and rows asked for.
"""

from __future__ import annotations

import re
import threading
from collections.abc import Sequence
from os import PathLike
from typing import Protocol, TypeAlias

import pyarrow as pa

from crossdock import _native
from crossdock.errors import CrossdockError, first_line, make_error
from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Expr
from crossdock.values.engine_types import engine_table
from crossdock.values.streaming import read_stream
from crossdock.values.validation import require_valid

Split: TypeAlias = tuple[tuple[Expr, ...], tuple[Expr, ...]]
_EXTENSION = b"ARROW:extension:"
_INDEX = re.compile(r"__index_level_\d+__")


class Source(Protocol):
    """One table to read. Instances are immutable and may be used from several threads."""

    schema: pa.Schema  # pyarrow.Schema without metadata
    name: str  # for plans: "orders.parquet"
    kind: str  # "arrow", "parquet", "ipc" or "csv"
    files: list[str]  # paths of what it reads; none for data in memory

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        """(conditions that may be part of a `predicate`, those of `parts` that must be evaluated on
        the rows that come). Readers take some conditions to skip rows by, and return more."""

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table:
        """A pyarrow.Table of `columns` where `predicate` holds. DataError if the data are bad."""

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader:
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
        table: pa.Table,
        name: str = "arrow",
        files: Sequence[str] = (),
        is_replicated: bool = False,
        is_valid: bool = False,
    ) -> None:
        """is_valid: the engine has made the table, so that nothing is to be checked."""
        schema = table.schema
        self.is_replicated = is_replicated  # over ranks: all of them have the same rows
        self.name = name
        self.files = list(files)
        self.schema = bare_schema(schema)
        bare = self.schema is schema
        self.data = table if bare else pa.Table.from_arrays(table.columns, schema=self.schema)
        self._imported: _native.Table | None = None  # with the columns that were asked for so far
        self._rows_of: ArrowSource | None = None  # which this one has, and a column more
        # Whether the memory is that of an object whose values may be set between runs.
        self.may_change = False
        self._valid = set(schema.names if is_valid else ())  # columns that need no check any more
        self._lock = threading.Lock()

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return tuple(parts), ()

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table:
        rows = self._checked(read_for(columns, predicate))
        return rows if predicate is None else keep_rows(rows, predicate).select(columns)

    def _checked(self, columns: tuple[str, ...]) -> pa.Table:
        """These columns, which any kernel may read: each is checked when it is first asked for."""
        if self._rows_of is not None:
            of_rows = set(self._rows_of.schema.names)
            self._rows_of._checked(tuple(name for name in columns if name in of_rows))
            return self.data.select(columns)
        new = [name for name in dict.fromkeys(columns) if name not in self._valid]
        require_valid(self.data.select(new), self.name)
        self._valid.update(new)
        return self.data.select(columns)

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader:
        return self.table(columns, predicate).to_reader()

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        if predicate is not None:
            return engine_table(engine, self.table(columns, predicate))
        if self._rows_of is not None:
            return self._native_beside(engine, columns, self._rows_of)
        with self._lock:
            known = () if self._imported is None else self._imported.column_names
            new = tuple(name for name in dict.fromkeys(columns) if name not in known)
            if new or self._imported is None:
                imported = engine_table(engine, self._checked(new))
                if self.may_change:
                    imported = imported.with_changing_values()
                if self._imported is not None and known:
                    imported = self._imported.with_columns_of(imported)
                self._imported = imported
            return self._imported

    def _native_beside(
        self, engine: _native.Engine, columns: tuple[str, ...], rows: ArrowSource
    ) -> _native.Table:
        """Columns of `rows`, which keeps what is imported, and the one that is added to them."""
        added = self.schema.names[-1]
        of_rows = tuple(name for name in columns if name != added)
        table = rows.native(engine, of_rows, None)
        if added not in columns:
            return table
        with self._lock:
            if self._imported is None:
                self._imported = engine_table(engine, self.data.select([added]))
            return table.with_columns_of(self._imported)

    def with_column(self, field: pa.Field, values: pa.Array) -> ArrowSource:
        """The same rows with a further column, which is known to be valid. What is imported and
        checked of the others serves both."""
        data = self.data.append_column(field, values)
        whole = ArrowSource(data, self.name, self.files, self.is_replicated)
        whole._rows_of = self
        return whole

    def count_rows(self, predicate: Expr | None) -> int:
        if predicate is None:
            return int(self.data.num_rows)
        return int(self.table(tuple(sorted(predicate.columns())), predicate).num_rows)

    def known_rows(self) -> int | None:
        return int(self.data.num_rows)

    def stored_bytes(self) -> int:
        return int(self.data.get_total_buffer_size())


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
            table = read_stream(data)
            source = ArrowSource(_without_index(table), name)
            source.may_change = b"pandas" in (table.schema.metadata or {})
            return source
        except CrossdockError:
            raise
        except (pa.ArrowException, ValueError) as error:  # pandas refuses a name that comes twice
            raise _not_imported(data, name, error) from error
    raise make_error(
        "CD-506",
        f"{name} exports no Arrow data (it has no __arrow_c_stream__)",
        try_=way_to_arrow(data),
    )


def _without_index(table: pa.Table) -> pa.Table:
    """The table of a pandas frame without the index that has no name, a column of numbers of rows
    that a filter has left."""
    if b"pandas" not in (table.schema.metadata or {}):
        return table
    return table.drop_columns([name for name in table.column_names if _INDEX.fullmatch(name)])


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
    way = f"frame.drop({shown}), or cast to Decimal(38, 0) if it is a 128-bit integer"
    if not refused:
        way = ".to_frame() on it first" if hasattr(data, "to_frame") else ""
    return make_error(
        "CD-302", f"{name} cannot be read: {first_line(error)}", columns=shown, try_=way
    )


def way_to_arrow(data: object) -> str:
    """What makes Arrow data of an object that exports none."""
    if isinstance(data, str | PathLike):
        return f"dock.read({str(data)!r}) for a file, dock.sql(...) for a query"
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


def bare_schema(schema: pa.Schema) -> pa.Schema:
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


def _extension_of(field: pa.Field) -> dict[bytes, bytes] | None:
    """What says that a column is of an extension type, such as a geometry, that pyarrow has not."""
    metadata = field.metadata or {}
    kept = {key: value for key, value in metadata.items() if key.startswith(_EXTENSION)}
    return kept or None


def read_for(columns: tuple[str, ...], predicate: Expr | None) -> tuple[str, ...]:
    """What must be read to filter `columns`."""
    if predicate is None:
        return columns
    return tuple(dict.fromkeys((*columns, *sorted(predicate.columns()))))
