"""Reads Arrow IPC files and streams. They hold arrays as they lie in memory, so these are checked
before anything else reads them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.evaluation import keep_rows
from crossdock.expressions import Expr
from crossdock.file_schemas import unified_schema
from crossdock.paths import Paths, find_files, shown_name
from crossdock.sources import (
    ArrowSource,
    FileSource,
    Opened,
    Source,
    Split,
    bare_schema,
    first_line,
    read_for,
)
from crossdock.validation import require_valid


def open_ipc(paths: Paths) -> Source:
    """A source over Arrow IPC files (Feather version 2). Where one is in the IPC stream format,
    which cannot be read in parts, all are read into memory at once."""
    files = find_files(paths, "ipc")
    if all(map(_is_ipc_file, files)):
        return IpcSource(paths)
    tables = [_read_whole(name) for name in files]
    schema, _ = unified_schema(files, [bare_schema(table.schema) for table in tables])
    try:
        rows = pa.concat_tables(tables, promote_options="permissive").cast(schema)
    except pa.ArrowException as error:
        raise make_error(
            "CD-302", f"{shown_name(paths)!r} cannot be read: {first_line(error)}"
        ) from error
    return ArrowSource(rows, shown_name(paths), files)


class IpcSource(FileSource):
    """Arrow IPC files, read batch by batch. pyarrow.dataset is not used for the rows: its kernels
    would see them before they are checked, and its scan has crashed when it ended with the error
    of a damaged file while it read ahead (version 26)."""

    def __init__(self, paths: Paths) -> None:
        import pyarrow.dataset as dataset

        super().__init__(paths, "ipc", dataset.IpcFileFormat())

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return (), tuple(parts)

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        return self.reader(columns, predicate).read_all()

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        with self.data_errors():
            wanted = self.schema_of(columns)
            batches = self._batches(self.current(), self.schema_of(read_for(columns, predicate)))
            if predicate is not None:
                batches = (keep_rows(batch, predicate).select(columns) for batch in batches)
            return pa.RecordBatchReader.from_batches(wanted, batches)

    def count_rows(self, predicate: Expr | None) -> int:
        if predicate is None:
            return super().count_rows(None)
        return int(self.table(tuple(sorted(predicate.columns())), predicate).num_rows)

    def _batches(self, opened: Opened, wanted: Any) -> Iterator[Any]:
        import pyarrow.dataset as dataset

        for fragment in opened.dataset.get_fragments():
            keys = dataset.get_partition_keys(fragment.partition_expression)
            with self.data_errors():
                yield from _file_batches(fragment.path, wanted, keys)


def _file_batches(path: str, wanted: Any, keys: dict[str, Any]) -> Iterator[Any]:
    """The batches of a file with the columns `wanted`: those that it lacks have the value of the
    partition, or NULL."""
    with pa.OSFile(path, "rb") as file:
        stored = pa.ipc.open_file(file).schema.names
        numbers = [stored.index(name) for name in wanted.names if name in stored]
        # No numbers would mean all columns, of which one tells the number of rows as well.
        options = pa.ipc.IpcReadOptions(included_fields=sorted(numbers) or [0])
        with pa.ipc.open_file(file, options=options) as reader:
            for number in range(reader.num_record_batches):
                batch = reader.get_batch(number)
                require_valid(batch, repr(path))
                if not wanted.names:
                    yield batch.select([])
                    continue
                arrays = [
                    batch.column(field.name).cast(field.type)
                    if field.name in stored
                    else pa.repeat(pa.scalar(keys.get(field.name), field.type), batch.num_rows)
                    for field in wanted
                ]
                yield pa.RecordBatch.from_arrays(arrays, schema=wanted)


def _read_whole(name: str) -> Any:
    """All rows of a file in either format."""
    try:
        with pa.OSFile(name, "rb") as file:
            read = pa.ipc.open_file if _is_ipc_file(name) else pa.ipc.open_stream
            with read(file) as opened:
                found = opened.read_all()
    except (pa.ArrowException, OSError) as error:
        raise make_error(
            "CD-302", f"{name!r} is neither an Arrow IPC file nor a stream: {first_line(error)}"
        ) from error
    require_valid(found, repr(name))
    return found


def _is_ipc_file(name: str) -> bool:
    with Path(name).open("rb") as file:
        return file.read(6) == b"ARROW1"
