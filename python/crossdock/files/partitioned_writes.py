"""Writes rows into folders `name=value` by the values of columns, in bounded memory."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import quote

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import make_error, unknown_column
from crossdock.expressions.evaluation import plain_schema
from crossdock.files.path_values import NULL_FOLDER
from crossdock.files.paths import PathLike
from crossdock.files.replacement import replacing_folder, replacing_parts, require_parent
from crossdock.files.writers import (
    GROUP_BYTES,
    GROUP_ROWS,
    WriteOptions,
    opened_writer,
    writing_errors,
)
from crossdock.values.engine_types import with_schema
from crossdock.values.row_taking import table_bytes, take

_HELD_BYTES = 256 << 20  # of rows of all folders that wait to become row groups
_OPEN_FILES = 100  # of the 1024 that a process mostly may have
_ENDINGS = {"parquet": "parquet", "ipc": "arrow", "csv": "csv", "json": "ndjson"}


@dataclass(frozen=True)
class Layout:
    """Which columns are folders, in which order, and how files are written and named. A folder has
    no ending that says what they are: of no kind, they are Parquet."""

    keys: tuple[str, ...]
    options: WriteOptions = field(default_factory=WriteOptions)
    prefix: str = "part"

    def check(self, schema: pa.Schema) -> None:
        """ColumnError, OptionError where the columns cannot be folders."""
        for number, key in enumerate(self.keys):
            if key not in schema.names:
                raise unknown_column(key, schema.names, "partition_by=")
            data_type = schema.field(key).type
            if key in self.keys[:number]:
                raise make_error("CD-104", f"partition_by names {key!r} twice")
            if not _names_folders(data_type):
                raise make_error(
                    "CD-105", f"column {key!r} of type {data_type} cannot name folders",
                    try_="a column of integers, strings, dates or booleans",
                )  # fmt: skip
        if len(self.keys) == len(schema.names):
            raise make_error(
                "CD-105", "partition_by takes all columns, and leaves none for the files",
                columns=", ".join(schema.names), try_="fewer columns",
            )  # fmt: skip


def require_free_parts(path: PathLike, overwrite: bool) -> None:
    """PathError for a folder that is not to be written to: one that is there, and not empty."""
    folder = Path(path).expanduser()
    require_parent(folder)
    if not folder.exists():
        return
    if not folder.is_dir() or (not overwrite and any(folder.iterdir())):
        raise make_error(
            "CD-502", f"{str(folder)!r} is there already, and is not an empty folder",
            try_="another folder, or overwrite=True, which replaces folders of the same values",
        )  # fmt: skip


def write_partitioned(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    path: PathLike,
    layout: Layout,
    overwrite: bool = False,
) -> int:
    """Rows written into folders below `path`; gives their number.

    The folder appears when all is written; of no rows it has one file with all columns, so that it
    can be read. overwrite: folders of the same values are replaced then, and others stay.
    Errors: PathError, ColumnError, OptionError, those of `batches`.
    """
    layout.check(schema)
    require_free_parts(path, overwrite)
    is_new = not overwrite or not Path(path).expanduser().exists()
    whole = replacing_parts(path) if overwrite else replacing_folder(path)
    with whole as folder:
        rows = write_parts(batches, schema, folder, layout)
        if not rows and is_new:
            with _Parts(folder, plain_schema(schema), replace(layout, keys=())) as parts:
                parts.open_empty()
        return rows


def write_parts(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, folder: Path, layout: Layout
) -> int:
    """The same into a folder that is there."""
    plain = plain_schema(schema)
    rows = 0
    with writing_errors(folder.name, layout.options.kind), _Parts(folder, plain, layout) as parts:
        for batch in batches:
            rows += batch.num_rows
            if batch.num_rows:
                parts.add(with_schema(batch, plain))
    return rows


@dataclass
class _Part:
    """The rows of a folder that are not written yet, and its file, if one is open."""

    place: Path
    held: list[pa.RecordBatch] = field(default_factory=list)
    rows: int = 0
    bytes: int = 0
    files: int = 0
    opened: contextlib.ExitStack | None = None
    writer: Any = None


class _Parts:
    """The folders that rows go to. Those that wait for a row group weigh no more than a bound, and
    no more than some files are open: one that is needed again gets a further file."""

    def __init__(self, folder: Path, schema: pa.Schema, layout: Layout) -> None:
        self._folder = folder
        self._layout = layout
        self._names = [name for name in schema.names if name not in layout.keys]
        self._schema = pa.schema([schema.field(name) for name in self._names])
        self._parts: dict[Path, _Part] = {}
        self._open: dict[Path, _Part] = {}  # the one that was used last stands last
        self._held_bytes = 0

    def __enter__(self) -> _Parts:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None:
            for part in self._parts.values():
                self._write(part)
        # What closing a file says of an error before is not what happened.
        with contextlib.nullcontext() if error is None else contextlib.suppress(Exception):
            for part in list(self._open.values()):
                self._close(part)

    def add(self, batch: pa.RecordBatch) -> None:
        """The rows of a batch, each to its folder."""
        columns = [batch.column(name) for name in self._names]
        for place, positions in _split(batch, self._layout.keys):
            taken = [take(column, positions) for column in columns]
            self._hold(place, pa.RecordBatch.from_arrays(taken, schema=self._schema))
        while self._held_bytes > _HELD_BYTES:
            self._write(max(self._parts.values(), key=lambda part: part.bytes))

    def open_empty(self) -> None:
        """A file of no rows beside the folders."""
        self._open_file(_Part(Path()))

    def _hold(self, place: Path, rows: pa.RecordBatch) -> None:
        part = self._parts.get(place)
        if part is None:
            part = self._parts[place] = _Part(place)
        size = table_bytes(rows)
        part.held.append(rows)
        part.rows += rows.num_rows
        part.bytes += size
        self._held_bytes += size
        group_rows = self._layout.options.row_group_rows
        if part.rows >= (group_rows or GROUP_ROWS) or part.bytes >= GROUP_BYTES:
            self._write(part, group_rows)

    def _write(self, part: _Part, only_groups_of: int | None = None) -> None:
        """The rows that wait, as one row group, or several of the wanted size; those that fill no
        group may go on waiting."""
        if not part.held:
            return
        if part.writer is None:
            self._open_file(part)
        self._open[part.place] = self._open.pop(part.place)
        table = pa.Table.from_batches(part.held, self._schema)
        group_rows = self._layout.options.row_group_rows or part.rows
        left = part.rows % (only_groups_of or 1)
        for begin in range(0, part.rows - left, group_rows):
            part.writer.write_table(table.slice(begin, min(group_rows, part.rows - left - begin)))
        self._held_bytes -= part.bytes
        part.held = table.slice(part.rows - left).to_batches() if left else []
        part.rows, part.bytes = left, sum(map(table_bytes, part.held))
        self._held_bytes += part.bytes

    def _open_file(self, part: _Part) -> None:
        while len(self._open) >= _OPEN_FILES:
            self._close(next(iter(self._open.values())))
        options = self._layout.options
        options = replace(options, kind=options.kind or "parquet")
        folder = self._folder / part.place
        folder.mkdir(parents=True, exist_ok=True)
        name = f"{self._layout.prefix}-{part.files:05d}.{_ENDINGS[options.kind]}"
        part.files += 1
        part.opened = contextlib.ExitStack()
        stream: BinaryIO = part.opened.enter_context((folder / name).open("xb"))
        part.writer = part.opened.enter_context(
            opened_writer(stream, name, self._schema, options, is_one_of_many=True)
        )
        self._open[part.place] = part

    def _close(self, part: _Part) -> None:
        del self._open[part.place]
        opened, part.opened, part.writer = part.opened, None, None
        if opened is not None:
            opened.close()


def _split(batch: pa.RecordBatch, keys: Sequence[str]) -> Iterator[tuple[Path, pa.RecordBatch]]:
    """The folders of the rows of a batch, with the positions of those of each, in their order."""
    encoded = [_encoded(batch.column(key)) for key in keys]
    codes = pa.repeat(pa.scalar(0, pa.int64()), batch.num_rows)
    for column in encoded:
        wider = pc.multiply(codes, pa.scalar(len(column.dictionary), pa.int64()))
        codes = pc.add(wider, column.indices.cast(pa.int64()))
    order = pc.sort_indices(codes)
    runs = pc.run_end_encode(codes.take(order))
    begin = 0
    for end, code in zip(runs.run_ends.to_pylist(), runs.values.to_pylist(), strict=True):
        parts = []
        for key, column in zip(reversed(keys), reversed(encoded), strict=True):
            code, number = divmod(code, len(column.dictionary))
            parts.append(f"{quote(key, safe=' ')}={_folder_value(column.dictionary[number])}")
        yield Path(*reversed(parts)), order.slice(begin, end - begin)
        begin = end


def _encoded(column: pa.Array) -> pa.Array:
    if pa.types.is_dictionary(column.type):
        column = column.cast(column.type.value_type)
    return pc.dictionary_encode(column, null_encoding="encode")


def _folder_value(value: pa.Scalar) -> str:
    if not value.is_valid:
        return NULL_FOLDER
    python_value = value.as_py()
    text = str(python_value).lower() if isinstance(python_value, bool) else str(python_value)
    return quote(text, safe=" :+")


def _names_folders(data_type: pa.DataType) -> bool:
    kinds = (
        pa.types.is_integer, pa.types.is_boolean, pa.types.is_date, pa.types.is_decimal,
        pa.types.is_timestamp, pa.types.is_time, pa.types.is_string, pa.types.is_large_string,
        pa.types.is_string_view,
    )  # fmt: skip
    values = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    return any(is_kind(values) for is_kind in kinds)
