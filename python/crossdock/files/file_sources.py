"""Files as the rows of one table: their schemas unified by name, and what their paths say of them.

Reading goes through pyarrow.dataset on all its threads; formats that have a reader of their own say
so in subclasses. A dataset is made when its rows are first asked for, not when files are opened.
"""

from __future__ import annotations

import contextlib
import functools
import operator
import threading
import weakref
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeVar

import pyarrow as pa

from crossdock import _native
from crossdock.errors import (
    CrossdockError,
    first_line,
    make_error,
    public_errors,
    system_limits,
)
from crossdock.expressions.evaluation import plain_type
from crossdock.expressions.expression import Expr
from crossdock.files.far_files import (
    FarFile,
    FileSystemLike,
    of_each_far,
    place_of,
    size_of,
    version_of,
)
from crossdock.files.far_paths import store_advice
from crossdock.files.file_schemas import require_same_schemas, unified_schema
from crossdock.files.path_values import folder_values, string_array, values_as
from crossdock.files.paths import Paths, find_files, has_partitions, shown_name
from crossdock.files.reader_filters import split_filter, to_pyarrow
from crossdock.files.sources import Split, bare_schema
from crossdock.option_checks import require_flag
from crossdock.values.engine_types import engine_table
from crossdock.values.row_taking import is_selectable, selectable_schema

if TYPE_CHECKING:
    import pyarrow.compute as pc
    from pyarrow.dataset import FileFragment, FileSystemDataset

_OPENING_THREADS = 8  # that read schemas of files, which may lie far away
_FILE_NAME = "filename"
_MAGIC = {b"PAR1": "parquet", b"ARROW1": "ipc"}
_BINARY = ("parquet", "ipc")
FILE_OPTIONS = ("union_by_name", "hive_partitioning", "filename", "filesystem")

Contents = TypeVar("Contents")


@dataclass(frozen=True)
class FileOptions:
    """How several files become one table.

    union_by_name: whether columns may differ; else all files have the same. hive_partitioning:
    whether folders `name=value` are columns; None: those of a folder or glob. filename: the name of
    a column with the path of each row's file; "" = none. filesystem: of pyarrow or fsspec, in which
    the paths are; None: on this machine, unless they are URLs.
    """

    union_by_name: bool = True
    hive_partitioning: bool | None = None
    filename: str = ""
    filesystem: FileSystemLike | None = None

    @staticmethod
    def checked(
        method: str,
        union_by_name: object,
        hive_partitioning: object,
        filename: object,
        filesystem: FileSystemLike | None = None,
    ) -> FileOptions:
        """The options of a method, as users gave them. OptionError."""
        by_name = require_flag(union_by_name, "union_by_name", method)
        hive = hive_partitioning
        if hive is not None:
            hive = require_flag(hive, "hive_partitioning", method)
        if isinstance(filename, bool):
            filename = _FILE_NAME if filename else ""
        if not isinstance(filename, str):
            raise make_error(
                "CD-105",
                f"{method}(filename={filename!r}) is neither True nor False nor a name",
                try_="filename=True",
            )
        return FileOptions(by_name, hive, filename, filesystem)


class Opened:
    """Files as they were when their schemas were read."""

    def __init__(
        self,
        schema: pa.Schema,
        uneven: frozenset[str],
        values: pa.Table,
        versions: tuple[tuple[Any, ...], ...],
        make_fragments: Callable[[Any], Sequence[Any]],
    ) -> None:
        self.schema = schema
        # Columns whose type differs, or that some files lack: no filter of them is pushed down.
        self.uneven = uneven
        self.values = values  # a pyarrow.Table: a row for each file, of what all of its rows have
        self.versions = versions  # what tells whether a file is still the same
        self.plans: dict[tuple[object, ...], _native.Plan | str] = {}  # of kept_plan()
        self._make_fragments = make_fragments
        plain = selectable_schema(schema)
        self._plain = plain
        # The reader filters whole batches, also columns not asked for, and needs kernels for all.
        self.can_filter = all(is_selectable(field.type) for field in plain)

    @functools.cached_property
    def fragments(self) -> list[Any]:
        """The files, one by one, each with its values."""
        return list(self._make_fragments(self.values))

    @functools.cached_property
    def dataset(self) -> FileSystemDataset:
        """All files."""
        return self._dataset_of(self.schema)

    @functools.cached_property
    def filterable(self) -> FileSystemDataset:
        """The same without views, for which selection has no kernel."""
        return self.dataset if self._plain is self.schema else self._dataset_of(self._plain)

    def of_fragments(self, fragments: Sequence[Any]) -> Opened:
        """The same with these fragments alone."""
        return Opened(self.schema, self.uneven, self.values, self.versions, lambda _: fragments)

    def _dataset_of(self, schema: pa.Schema) -> FileSystemDataset:
        import pyarrow.dataset as dataset
        import pyarrow.fs as file_systems

        parts = self.fragments
        return dataset.FileSystemDataset(
            parts, schema, parts[0].format, file_systems.LocalFileSystem()
        )


def held_weakly(method: Callable[[Any], Sequence[Any]]) -> Callable[[Any], Sequence[Any]]:
    """A method of what keeps the result, which would hold files open until Python's collector
    runs."""
    reference = weakref.WeakMethod(method)

    def call(values: Any) -> Sequence[Any]:
        known = reference()
        assert known is not None
        return known(values)

    return call


class FileSource(ABC):
    """Files of one format. Those that change are opened again when they are next read, and must
    keep their schema."""

    is_counted = False  # whether the format says how many rows a file has
    advice = ""  # what to try where the data are not what they were taken for

    _opened_by: tuple[Any, ...]  # the arguments that it was made of, by which a pickle has it

    def __new__(cls, *arguments: Any) -> Self:
        source = super().__new__(cls)
        source._opened_by = arguments
        return source

    def __init__(self, paths: Paths, kind: str, options: FileOptions) -> None:
        files = find_files(paths, kind, options.filesystem)
        hive = options.hive_partitioning
        is_tree = hive is None and has_partitions(paths, files, options.filesystem)
        self._set_files(kind, shown_name(paths), files, options)
        self._has_folders = is_tree if hive is None else hive
        with self.data_errors():
            self._opened = self._open()
        self.schema = self._opened.schema

    def _set_files(self, kind: str, name: str, files: list[str], options: FileOptions) -> None:
        self.kind = kind
        self.name = name
        self.files = files
        self.is_far = any(isinstance(file, FarFile) for file in files)
        self.is_part = False
        self._options = options
        self._has_folders = False
        self._reopening = threading.Lock()

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        opened = self._opened
        if not opened.can_filter:
            return (), tuple(parts)
        uneven = self.uneven()
        even = [part for part in parts if not part.columns() & uneven]
        given, rest = split_filter(even, self.schema)
        return given, (*rest, *(part for part in parts if part.columns() & uneven))

    def uneven(self) -> frozenset[str]:
        """Columns that are not the same in all files."""
        return self._opened.uneven

    @abstractmethod
    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table: ...

    @abstractmethod
    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader: ...

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        with self.data_errors(), public_errors():
            return engine_table(engine, self.table(columns, predicate))

    def count_rows(self, predicate: Expr | None) -> int:
        with self.data_errors():
            opened = self.current()
            if predicate is None:
                return int(opened.dataset.count_rows())
            condition = self.to_pyarrow(predicate)
            return int(opened.filterable.scanner(columns=[], filter=condition).count_rows())

    def to_pyarrow(self, predicate: Expr) -> pc.Expression:
        """A condition that split_filter gave, as a filter of the dataset."""
        return to_pyarrow(predicate, self.schema)

    def known_rows(self) -> int | None:
        return self.count_rows(None) if self.is_counted else None

    def stored_bytes(self) -> int:
        return sum(self.sizes())

    def sizes(self) -> list[int]:
        """Bytes of each file."""
        with self.data_errors():
            return self.of_each(self.files, size_of, str)

    def fragments(self) -> list[Any]:
        """The files, one by one, for modules of this package. Call it inside `data_errors`."""
        return list(self.current().fragments)

    def of_fragments(self, fragments: Sequence[Any]) -> FileSource:
        """The same source with these files, or parts of them, alone."""
        part = object.__new__(type(self))
        part.__dict__.update(self.__dict__)  # copy.copy would take it for a pickle
        part._opened = self._opened.of_fragments(fragments)
        part.is_part = True
        return part

    @contextlib.contextmanager
    def data_errors(self, file: str = "") -> Iterator[None]:
        """Turns what reading raises into a DataError that names the source, and the file."""
        try:
            with system_limits(f"{self.kind} source {self.name!r}"):
                yield
        except CrossdockError:
            raise
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            if isinstance(error, FileNotFoundError) and not self.is_far:
                raise make_error(
                    "CD-502", f"nothing to read at {file or self.files[0]!r}, which was there when "
                    "it was opened", try_="open it again",
                ) from error  # fmt: skip
            if "Empty CSV file" in str(error):
                raise make_error(
                    "CD-302",
                    f"{file or self.files[0]!r} is empty, or no line end is behind its header",
                    try_="a file with a header line, or a list of the others",
                ) from error  # fmt: skip
            cause, advice = self.cause_and_advice(error)
            place = file or self.files[0] + (" …" if len(self.files) > 1 else "")
            other = "" if self.is_far else _other_reader(self.kind, file or self.files[0])
            raise make_error(
                "CD-302", f"{self.kind} source {self.name!r} cannot be read: {cause}",
                where="" if place == self.name else place, try_=other or advice,
            ) from error  # fmt: skip

    def cause_and_advice(self, error: Exception) -> tuple[str, str]:
        """Why reading raised an error, and what to try."""
        if not isinstance(error, OSError):
            return first_line(error), self.advice
        advice = store_advice(self.files[0]) if self.is_far else ""
        if isinstance(error, PermissionError):
            advice = advice or "another user, or chmod +r"
        return first_line(error), advice

    def settled(self, schema: pa.Schema) -> pa.Schema:
        """The schema of all files, with types for columns of which none tells one."""
        return schema

    @abstractmethod
    def read_schemas(self) -> Sequence[pa.Schema]:
        """The schemas of all files, read now. DataError for a file that has none."""

    @abstractmethod
    def plain_fragments(self, values: Any = None) -> list[Any]:
        """The files one by one, with a row of values for each."""

    def of_each(
        self, items: Sequence[Any], read: Callable[[Any], Contents], file_of: Callable[[Any], str]
    ) -> list[Contents]:
        """What `read` gives of each item, which it reads from a file."""

        def one(item: Any) -> Contents:
            with self.data_errors(file_of(item)):
                return read(item)

        if self.is_far:
            return of_each_far(items, one)
        if len(items) == 1:
            return [one(items[0])]
        with ThreadPoolExecutor(min(_OPENING_THREADS, len(items))) as threads:
            return list(threads.map(one, items))

    def _open(self) -> Opened:
        versions = self._versions()
        schemas = [bare_schema(schema) for schema in self.read_schemas()]
        if not self._options.union_by_name:
            require_same_schemas(self.files, schemas)
        schema, uneven = unified_schema(self.files, schemas)
        schema = self.settled(schema)
        values = self._values_of_files(schema)
        for field in values.schema:
            place = schema.get_field_index(field.name)
            schema = schema.append(field) if place < 0 else schema.set(place, field)
        uneven = uneven.difference(values.column_names)
        return Opened(schema, uneven, values, versions, held_weakly(self.plain_fragments))

    def _values_of_files(self, schema: pa.Schema) -> pa.Table:
        """What paths say of files whose own columns are those of `schema`."""
        columns = {}
        if self._has_folders:
            for name, values in folder_values(self.files).items():
                stored = None
                if name in schema.names:
                    stored = plain_type(schema.field(name).type)
                    stored = stored.value_type if pa.types.is_dictionary(stored) else stored
                columns[name] = values_as(name, values, stored, self.files)
        column = self._options.filename
        if column:
            if column in schema.names or column in columns:
                raise make_error(
                    "CD-104",
                    f"filename={column!r} is the name of a column of {self.name!r} already",
                    try_='filename="path"',
                )
            columns[column] = string_array(self.files)
        return pa.table(columns)

    def _versions(self) -> tuple[tuple[Any, ...], ...]:
        if self.is_far:
            return tuple(self.of_each(self.files, version_of, str))
        return tuple(map(version_of, self.files))

    def current(self) -> Opened:
        """The files as they are now: footers that were read are of no use when a file has been
        replaced. DataError if their columns are others by now. For modules of this package."""
        with self._reopening:
            return self._current()

    def _current(self) -> Opened:
        opened = self._opened
        if self._versions() == opened.versions:
            return opened
        again = None if self.is_part else self._open()
        if again is None or not (
            again.schema.equals(opened.schema) and again.uneven <= opened.uneven
        ):
            raise make_error(
                "CD-302", f"{self.kind} source {self.name!r} has changed since it was opened",
                where=self.files[0] + (" …" if len(self.files) > 1 else ""),
                try_="open it again",
            )  # fmt: skip
        self._opened = again
        return again

    def kept_plan(
        self,
        key: tuple[object, ...],
        make: Callable[[], _native.Plan | str],
    ) -> _native.Plan | str:
        """What `make` gives, made once for a key while the files are the same. For modules of this
        package."""
        with self.data_errors():
            plans = self.current().plans
        if key not in plans:
            plans[key] = make()
        return plans[key]

    def schema_of(self, columns: tuple[str, ...]) -> pa.Schema:
        """The schema of some columns, for modules of this package."""
        return pa.schema([self.schema.field(name) for name in columns])


def _other_reader(kind: str, file: str) -> str:
    """The reader of a file whose first bytes are those of another format; "" where they are not."""
    try:
        with Path(file).open("rb") as opened:
            head = opened.read(6)
    except OSError:
        return ""
    for magic, other in _MAGIC.items():
        if head.startswith(magic):
            return "" if other == kind else f"read_{other}(...): its first bytes are {magic!r}"
    is_text = head.isascii() and head.decode("ascii").replace("\n", "").isprintable()
    return "read_csv(...) or read_json(...), if it is text" if is_text and kind in _BINARY else ""


def rows_of_values(values: pa.Table, files: int) -> Iterator[list[tuple[str, Any]]]:
    """Of each of so many files, the columns and values that a table has a row of for it."""
    if values is None:
        values = pa.table({})
    columns = [(name, values.column(name)) for name in values.column_names]
    for number in range(files):
        yield [(name, column[number]) for name, column in columns]


class DatasetFiles(FileSource):
    """Files that pyarrow.dataset reads, where the engine does not."""

    @abstractmethod
    def dataset_format(self, file: str) -> Any:
        """How pyarrow.dataset reads a file."""

    def read_schemas(self) -> Sequence[pa.Schema]:
        return self.of_each(list(zip(self.files, self.plain_fragments(), strict=True)),
                            lambda pair: pair[1].physical_schema, lambda pair: pair[0])  # fmt: skip

    def plain_fragments(self, values: pa.Table | None = None) -> list[FileFragment]:
        fragments = []
        for file, row in zip(self.files, rows_of_values(values, len(self.files)), strict=True):
            system, path = place_of(file)
            known = (_is_row(row),) if row else ()
            fragments.append(self.dataset_format(file).make_fragment(path, system, *known))
        return fragments


def path_values(fragment: FileFragment, schema: pa.Schema) -> dict[str, pa.Scalar]:
    """What the path of a file of pyarrow.dataset says, as scalars of the fields of `schema`."""
    import pyarrow.dataset as dataset

    values = dataset.get_partition_keys(fragment.partition_expression)
    return {field.name: pa.scalar(values.get(field.name), field.type) for field in schema}


def _is_row(row: Sequence[tuple[str, Any]]) -> pc.Expression:
    """That all rows have these values, as an expression of pyarrow.dataset."""
    import pyarrow.compute as pc

    parts = [
        pc.field(name) == value if value.is_valid else pc.field(name).is_null()
        for name, value in row
    ]
    return functools.reduce(operator.and_, parts)
