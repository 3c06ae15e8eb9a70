"""Reads Parquet files: by the engine while its plan runs, else by pyarrow.dataset.

Opening reads each footer once, in the engine; pyarrow says the Arrow schema of those that differ.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.errors import public_errors
from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Expr
from crossdock.files.batch_files import completed
from crossdock.files.far_parquet import open_far, read_footers
from crossdock.files.file_sources import DatasetFiles, FileOptions, Opened, path_values
from crossdock.files.paths import Paths
from crossdock.files.reader_filters import to_pyarrow
from crossdock.files.sources import Source, read_for
from crossdock.values.engine_types import engine_table
from crossdock.values.streaming import interruptible
from crossdock.values.type_checks import checking_engine

_BATCH_BYTES = 8 << 20
_BATCH_ROWS = 1 << 17
# Of each column: by itself pyarrow reads row groups as a whole, and all of them ahead.
_BUFFER_BYTES = 1 << 20
_FAR_BUFFER_BYTES = 8 << 20


class ParquetSource(DatasetFiles):
    """Parquet files, whose footers are open for the engine's reader if it can read them."""

    is_counted = True
    _read: _native.ParquetFiles | str = ""
    _footers: tuple[Opened, _native.ParquetFiles | str] | None = None
    _footer_bytes: list[bytes] | None = None  # of files that lie elsewhere
    _metadata: tuple[Opened, list[Any]] | None = None

    def __init__(self, paths: Paths, options: FileOptions) -> None:
        super().__init__(paths, "parquet", options)

    def dataset_format(self) -> Any:
        import pyarrow.dataset as dataset

        return dataset.ParquetFileFormat()

    def read_schemas(self) -> Sequence[Any]:
        import pyarrow.parquet as parquet

        numbers = list(range(len(self.files)))
        footers = read_footers(self.files) if self.is_far else None
        self._footer_bytes = None if footers is None else [one.tail for one in footers]
        try:
            if footers is None:
                self._read = _native.ParquetFiles.open(self.files)
            else:
                self._read = open_far(footers)
            numbers = self._read.schema_numbers()
        except _native.NativeError as error:
            self._read = str(error)  # pyarrow says what is wrong, or reads what the engine does not
        different = sorted(set(numbers))
        read = self.of_each(
            different,
            lambda number: parquet.read_schema(self._footer_file(number)),
            self.files.__getitem__,
        )
        schemas = dict(zip(different, read, strict=True))
        return [schemas[number] for number in numbers]

    def footers(self) -> _native.ParquetFiles | str:
        if self.is_part:
            return "parts of files"
        with self.data_errors():
            opened = self.current()
        known = self._footers
        if known is None or known[0] is not opened:
            known = self._footers = opened, self._with_values(opened)
        return known[1]

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        """By all threads, which read ahead what is wanted as a whole."""
        with self.data_errors(), public_errors():
            reader = super().reader(columns, predicate)
            batches = interruptible(reader, lambda: None)
            return engine_table(engine, pa.RecordBatchReader.from_batches(reader.schema, batches))

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> Any:
        """Batch by batch: a dataset would have whole row groups of several files under way."""
        with self.data_errors():
            return pa.RecordBatchReader.from_batches(
                self.schema_of(columns), self._streamed(columns, predicate)
            )

    def _streamed(self, columns: tuple[str, ...], predicate: Expr | None) -> Iterator[Any]:
        import pyarrow.parquet as parquet

        opened = self.current()
        projected = self.schema_of(read_for(columns, predicate))
        condition = None if predicate is None else to_pyarrow(predicate, self.schema)
        for fragment in opened.fragments:
            values = path_values(fragment, opened.values.schema)
            groups = fragment.row_groups
            if condition is not None:
                kept = fragment.split_by_row_group(condition, opened.filterable.schema)
                groups = [group for part in kept for group in part.row_groups]
            buffered = _FAR_BUFFER_BYTES if self.is_far else _BUFFER_BYTES
            with (
                self.data_errors(fragment.path),
                fragment.filesystem.open_input_file(fragment.path) as stream,
                parquet.ParquetFile(stream, buffer_size=buffered, pre_buffer=False) as file,
            ):
                stored = [name for name in projected.names
                          if name in file.schema_arrow.names and name not in values]  # fmt: skip
                read = stored or file.schema_arrow.names[:1]  # which tells how many rows there are
                for batch in file.iter_batches(
                    _batch_rows(groups), [group.id for group in groups], read
                ):
                    whole = completed(batch, projected, values)
                    if predicate is not None:
                        whole = keep_rows(whole, predicate)
                    yield whole.select(columns)

    def count_rows(self, predicate: Expr | None) -> int:
        files = self.footers() if predicate is None else ""
        return super().count_rows(predicate) if isinstance(files, str) else files.num_rows

    def metadata(self) -> list[Any]:
        """What pyarrow says of the footers, for modules of this package. (A fragment would say it,
        too, but pyarrow.dataset imports pandas: 0.2 s.) Call it inside `data_errors`."""
        import pyarrow.parquet as parquet

        opened = self.current()
        if self._metadata is None or self._metadata[0] is not opened:
            numbers = range(len(self.files))
            self._metadata = (
                opened,
                self.of_each(
                    numbers,
                    lambda number: parquet.read_metadata(self._footer_file(number)),
                    self.files.__getitem__,
                ),
            )
        return self._metadata[1]

    def _footer_file(self, number: int) -> Any:
        """What pyarrow reads the footer from: the file, or all that was read of one far away."""
        if self._footer_bytes is None:
            return self.files[number]
        return pa.BufferReader(b"PAR1" + self._footer_bytes[number])

    def _with_values(self, opened: Opened) -> _native.ParquetFiles | str:
        if isinstance(self._read, str) or not opened.values.column_names:
            return self._read
        try:
            return self._read.with_values(engine_table(checking_engine(), opened.values))
        except _native.NativeError as error:
            return str(error)


def _batch_rows(groups: Sequence[Any]) -> int:
    """Of batches of some 8 MiB, as large as all columns of the row groups are without
    compression."""
    rows = sum(group.num_rows for group in groups)
    stored = sum(group.total_byte_size for group in groups)
    return int(max(1, min(_BATCH_ROWS, rows * _BATCH_BYTES // max(stored, 1))))


def open_parquet(paths: Paths, options: FileOptions | None = None) -> Source:
    """A source over Parquet files. PathError or DataError when there is none to read."""
    return ParquetSource(paths, options or FileOptions())
