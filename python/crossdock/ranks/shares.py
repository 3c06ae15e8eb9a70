"""What a rank reads of a source that all ranks opened: its share.

Shares are one after the other in the order of the source, and about equally large. Of many files a
rank reads some; of few Parquet files some row groups, and of fewer row groups than ranks some rows;
of few other files some rows, for which it must go through all that lie before.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate, groupby
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.errors import public_errors
from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Expr
from crossdock.files.file_sources import FileSource
from crossdock.files.sources import Source, Split
from crossdock.values.engine_types import engine_table, with_schema
from crossdock.values.validation import require_valid

_FILES_PER_RANK = 8  # so many files or row groups for each rank are shares even enough


@dataclass(frozen=True)
class Piece:
    """Rows [begin, end) of a file, or of a row group of it; all of them unless it `is_cut`."""

    fragment: Any
    begin: int = 0
    end: int = -1  # -1: not known
    is_cut: bool = False


def share_of(source: Source, rank: int, ranks: int) -> Source:
    """The share of `rank` of a source that was opened from files; DataError if they are bad."""
    if ranks == 1 or not isinstance(source, FileSource):
        return source
    with source.data_errors():
        return FileShare(source, _pieces(source, rank, ranks), (rank, ranks))


def rows_of_rank(table: pa.Table, rank: int, ranks: int) -> pa.Table:
    """The share of `rank` of a table that all ranks have."""
    begin, end = _cut(table.num_rows, rank, ranks)
    return table.slice(begin, end - begin)


def plain_table(table: pa.Table) -> pa.Table:
    """The table with dictionaries as their values, which is how they travel between ranks.
    DataError for one that breaks the format of Arrow, which a cast would trust."""
    require_valid(table, "the rows of this rank")
    fields = [field.with_type(_plain(field.type)) for field in table.schema]
    return with_schema(table, pa.schema(fields))


class FileShare:
    """Some rows of a source of files."""

    def __init__(self, source: FileSource, pieces: Sequence[Piece], place: tuple[int, int]) -> None:
        self.kind = source.kind
        self.name = source.name
        self.files = source.files
        self.schema = pa.schema([f.with_type(_plain(f.type)) for f in source.schema])
        self.whole = source  # of which it is a share
        # Pieces side by side that are not cut are read as one.
        self._runs = [list(run) for _, run in groupby(pieces, lambda piece: piece.is_cut)]
        known = all(piece.end >= 0 for piece in pieces)
        self._rows = sum(piece.end - piece.begin for piece in pieces) if known else None
        self._place = place

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return self.whole.split_filter(parts)

    def table(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.Table:
        return pa.Table.from_batches(self._batches(columns, predicate), self._schema_of(columns))

    def reader(self, columns: tuple[str, ...], predicate: Expr | None) -> pa.RecordBatchReader:
        schema = self._schema_of(columns)
        return pa.RecordBatchReader.from_batches(schema, self._batches(columns, predicate))

    def native(
        self, engine: _native.Engine, columns: tuple[str, ...], predicate: Expr | None
    ) -> _native.Table:
        with public_errors():
            return engine_table(engine, self.table(columns, predicate))

    def count_rows(self, predicate: Expr | None) -> int:
        if predicate is None and self._rows is not None:
            return self._rows
        columns = tuple(sorted(predicate.columns())) if predicate is not None else ()
        columns = columns or tuple(self.schema.names[:1])
        return sum(batch.num_rows for batch in self._batches(columns, predicate))

    def known_rows(self) -> int | None:
        return self._rows

    def stored_bytes(self) -> int:
        return self.whole.stored_bytes() // self._place[1]

    def _batches(
        self, columns: tuple[str, ...], predicate: Expr | None
    ) -> Iterator[pa.RecordBatch]:
        schema = self._schema_of(columns)
        extra = () if predicate is None else sorted(predicate.columns())
        read = tuple(dict.fromkeys((*columns, *extra)))
        for run in self._runs:
            if not run[0].is_cut:
                with self.whole.data_errors():
                    part = self.whole.of_fragments([piece.fragment for piece in run])
                for batch in part.reader(columns, predicate):
                    yield with_schema(batch, schema)
                continue
            for piece in run:
                with self.whole.data_errors():
                    batches = self.whole.of_fragments([piece.fragment]).reader(read, None)
                for batch in _between(batches, piece.begin, piece.end):
                    kept = batch if predicate is None else keep_rows(batch, predicate)
                    if kept.num_rows:
                        yield with_schema(kept.select(list(columns)), schema)

    def _schema_of(self, columns: tuple[str, ...]) -> pa.Schema:
        return pa.schema([self.schema.field(name) for name in columns])


def _pieces(source: FileSource, rank: int, ranks: int) -> list[Piece]:
    fragments = source.fragments()
    if len(fragments) >= _FILES_PER_RANK * ranks:
        sizes = source.sizes()
        return [Piece(fragments[i]) for i in _within(sizes, rank, ranks)]
    if source.kind == "parquet":
        groups = [
            (fragment, group.id, group.num_rows)
            for fragment in fragments
            for group in fragment.row_groups
        ]
        if len(groups) >= _FILES_PER_RANK * ranks:
            mine = [groups[i] for i in _within([g[2] for g in groups], rank, ranks)]
            return [Piece(f.subset(row_group_ids=[i]), 0, rows) for f, i, rows in mine]
        units = [(f.subset(row_group_ids=[i]), rows) for f, i, rows in groups]
        return _cut_units(units, rank, ranks)
    # The rows of a text file are known when it has been read: they count from its begin.
    return _cut_units([(f, f.count_rows()) for f in fragments], rank, ranks)


def _cut_units(units: list[tuple[Any, int]], rank: int, ranks: int) -> list[Piece]:
    begin, end = _cut(sum(rows for _, rows in units), rank, ranks)
    cut_units = []
    before = 0
    for fragment, rows in units:
        first, last = max(begin - before, 0), min(end - before, rows)
        if first == 0 and last == rows and rows > 0:
            cut_units.append(Piece(fragment, 0, rows))
        elif first < last:
            cut_units.append(Piece(fragment, first, last, is_cut=True))
        before += rows
    return cut_units


def _within(sizes: list[int], rank: int, ranks: int) -> list[int]:
    """The items whose middle lies in the rank's part of all, so that each is in one part."""
    whole = max(1, sum(sizes))
    ends = list(accumulate(sizes))
    middles = [(2 * end - size) for end, size in zip(ends, sizes, strict=True)]
    owners = [min(middle * ranks // (2 * whole), ranks - 1) for middle in middles]
    return [i for i, owner in enumerate(owners) if owner == rank]


def _cut(rows: int, rank: int, ranks: int) -> tuple[int, int]:
    return rows * rank // ranks, rows * (rank + 1) // ranks


def _between(batches: pa.RecordBatchReader, begin: int, end: int) -> Iterator[pa.RecordBatch]:
    """Rows [begin, end) of a stream, which is read no further."""
    before = 0
    for batch in batches:
        first, last = max(begin - before, 0), min(end - before, batch.num_rows)
        if first < last:
            yield batch.slice(first, last - first)
        before += batch.num_rows
        if before >= end:
            return


def _plain(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type
