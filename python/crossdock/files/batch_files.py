"""Files that are read one after the other, batch by batch, by a reader of their own format."""

from __future__ import annotations

import itertools
from abc import abstractmethod
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Expr
from crossdock.files.far_files import of_each_far
from crossdock.files.file_sources import FileSource, rows_of_values
from crossdock.files.sources import Split, read_for


@dataclass(frozen=True)
class FilePart:
    """A file, and what all of its rows have in the columns that its path stands for."""

    path: str
    values: dict[str, Any]  # pyarrow scalars
    count_rows: Callable[[], int]


class BatchFiles(FileSource):
    """Files of a format that pyarrow.dataset does not read, or not with our options."""

    @abstractmethod
    def schema_of_file(self, path: str) -> pa.Schema:
        """The schema of a file. Raises what pyarrow raises."""

    @abstractmethod
    def batches_of_file(self, path: str, columns: Sequence[str]) -> Iterator[pa.RecordBatch]:
        """The rows of a file with at least those of `columns` that it has, in bounded memory."""

    def rows_of_file(self, path: str) -> int:
        """The number of rows of a file."""
        return sum(batch.num_rows for batch in self.batches_of_file(path, ()))

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        """Conditions on what paths say leave whole files out; others are for the rows."""
        known = self.path_columns()
        given = tuple(part for part in parts if part.columns() and part.columns() <= known)
        return given, tuple(part for part in parts if not any(part is one for one in given))

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table:
        """An interrupt ends the wait for the batch that is read, and this is the last one."""
        goes_on = [True]

        def read(reader: pa.RecordBatchReader) -> pa.Table:
            batches = itertools.takewhile(lambda _: bool(goes_on), reader)
            return pa.Table.from_batches(batches, reader.schema)

        try:
            return of_each_far([self.reader(columns, predicate)], read)[0]
        finally:
            goes_on.clear()

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader:
        with self.data_errors():
            projected = self.schema_of(columns)
            read = self.schema_of(read_for(columns, predicate))
            batches = self._batches(read, self._kept(predicate))
            if predicate is not None:
                batches = (keep_rows(batch, predicate).select(columns) for batch in batches)
            return pa.RecordBatchReader.from_batches(projected, batches)

    def count_rows(self, predicate: Expr | None) -> int:
        if predicate is None or predicate.columns() <= self.path_columns():
            with self.data_errors():
                return sum(part.count_rows() for part in self._kept(predicate))
        return int(self.table(tuple(sorted(predicate.columns())), predicate).num_rows)

    def path_columns(self) -> frozenset[str]:
        """Columns whose values are those of paths."""
        return frozenset(self._opened.values.column_names)

    def read_schemas(self) -> Sequence[pa.Schema]:
        return self.of_each(self.files, self.schema_of_file, str)

    def plain_fragments(self, values: pa.Table = None) -> list[FilePart]:
        rows = rows_of_values(values, len(self.files))
        return [
            FilePart(file, dict(row), lambda file=file: self._counted(file))  # type: ignore[misc]
            for file, row in zip(self.files, rows, strict=True)
        ]

    def _counted(self, path: str) -> int:
        with self.data_errors(path):
            return self.rows_of_file(path)

    def _kept(self, predicate: Expr | None) -> list[FilePart]:
        """The files of which a row may be kept."""
        parts = self.fragments()
        if predicate is None or not predicate.columns() <= self.path_columns():
            return parts
        return [part for part in parts if keeps(part.values, predicate)]

    def _batches(self, projected: pa.Schema, parts: Sequence[FilePart]) -> Iterator[pa.RecordBatch]:
        for part in parts:
            with self.data_errors(part.path):
                for batch in self.batches_of_file(part.path, projected.names):
                    yield completed(batch, projected, part.values)


def keeps(values: dict[str, pa.Scalar], predicate: Expr) -> bool:
    """Whether a condition on what the path of a file says holds for its rows."""
    names = sorted(predicate.columns())
    row = [pa.repeat(values[name], 1) for name in names]
    return bool(keep_rows(pa.RecordBatch.from_arrays(row, names), predicate).num_rows)


def completed(
    batch: pa.RecordBatch, projected: pa.Schema, values: dict[str, pa.Scalar]
) -> pa.RecordBatch:
    """The rows of a file with the columns `projected`: those of `values` have these in all rows,
    others that the file lacks have NULL."""
    if not projected.names:
        return batch.select([])
    arrays = [
        batch.column(field.name).cast(field.type)
        if field.name in batch.schema.names and field.name not in values
        else pa.repeat(_value(values, field), batch.num_rows)
        for field in projected
    ]
    return pa.RecordBatch.from_arrays(arrays, schema=projected)


def _value(values: dict[str, pa.Scalar], field: pa.Field) -> pa.Scalar:
    result = values.get(field.name)
    return pa.scalar(None, field.type) if result is None else result.cast(field.type)
