"""Writes Parquet by several threads: each encodes row groups as files of their own in memory, whose
parts are put together, with one footer, in the order of the rows.

A footer says where parts of the file lie, and so do the indexes of pages: both are moved by as much
as the parts are (github.com/apache/parquet-format, parquet.thrift; numbers of fields are its own).
"""

from __future__ import annotations

import os
from collections import deque
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, BinaryIO

import pyarrow as pa

from crossdock.files.thrift_values import Struct, read_struct, written_struct

_MAGIC = b"PAR1"
_THREADS_MOST = 8  # each holds a row group
_CORES_LEAST = 4
_END_BYTES = 8  # length of the footer, and the magic
_ORDINALS = 1 << 15  # of row groups, which files number up to here
# Of FileMetaData, RowGroup, ColumnChunk and ColumnMetaData.
_ROWS, _GROUPS = 3, 4
_COLUMNS, _GROUP_OFFSET, _ORDINAL = 1, 5, 7
_CHUNK_OFFSET, _METADATA = 2, 3
_OFFSET_INDEX, _OFFSET_INDEX_BYTES, _COLUMN_INDEX, _COLUMN_INDEX_BYTES = 4, 5, 6, 7
_PAGE_OFFSETS = (9, 10, 11, 14)


def encoding_threads() -> int:
    """How many encode row groups: half of the cores, the others decode and run the query. On two
    cores both are busy with one thread, and more cost 17 % of CPU time and 180 MiB of a copy."""
    cores = len(os.sched_getaffinity(0))
    return min(cores // 2, _THREADS_MOST) if cores >= _CORES_LEAST else 1


class ParquetGroups:
    """Takes tables, each of which becomes a row group; used as a ParquetWriter is."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema, threads: int, **options: Any) -> None:
        self._stream, self._schema, self._options = stream, schema, options
        self._count = threads
        self._threads = ThreadPoolExecutor(self._count)
        self._encoding: deque[Future[Any]] = deque()
        self._at = 0
        self._footer: Struct | None = None  # of all row groups so far
        self._indexes: list[tuple[Struct, bytes, Struct]] = []  # column chunk, and its two

    def __enter__(self) -> ParquetGroups:
        self._write(_MAGIC)
        return self

    def __exit__(self, error: object, *_: object) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._threads.shutdown(wait=True, cancel_futures=True)

    def write_table(self, table: pa.Table) -> None:
        """A row group, behind those before."""
        if len(self._encoding) == self._count:
            self._add(self._encoding.popleft().result())
        self._encoding.append(self._threads.submit(self._encoded, table))

    def _encoded(self, table: pa.Table) -> pa.Buffer:
        import pyarrow.parquet as parquet

        sink = pa.BufferOutputStream()
        with parquet.ParquetWriter(sink, self._schema, **self._options) as writer:
            if table.num_rows:
                writer.write_table(table, row_group_size=table.num_rows)
        return sink.getvalue()

    def _write(self, part: bytes | memoryview) -> None:
        self._stream.write(part)
        self._at += len(part)

    def _add(self, file: pa.Buffer) -> None:
        """Appends the row groups of a file in memory."""
        content = memoryview(file)
        length = int.from_bytes(content[-_END_BYTES:-4], "little")
        footer = read_struct(content[len(content) - _END_BYTES - length : -_END_BYTES])
        groups = footer[_GROUPS]
        indexes = [
            self._taken_index(content, chunk) for group in groups for chunk in group[_COLUMNS]
        ]
        end = min((begin for begin, *_ in indexes), default=len(_MAGIC))
        moved = self._at - len(_MAGIC)
        self._write(content[len(_MAGIC) : end])
        if self._footer is None:
            self._footer = footer
            footer[_GROUPS] = []
            footer[_ROWS] = 0
        for group in groups:
            _move(group, moved)
            self._number(group)
            self._footer[_GROUPS].append(group)
            self._footer[_ROWS] += group[_ROWS]
        for _, chunk, columns, offsets in indexes:
            for page in offsets[1]:
                page[1] += moved
            self._indexes.append((chunk, columns, offsets))

    def _taken_index(self, content: memoryview, chunk: Struct) -> tuple[int, Struct, bytes, Struct]:
        """Where the indexes of a chunk begin, and what they are."""
        columns = chunk.get(_COLUMN_INDEX, 0)
        assert _OFFSET_INDEX in chunk, "every column is written with an index of its pages"
        begin, count = chunk[_OFFSET_INDEX], chunk[_OFFSET_INDEX_BYTES]
        offsets = read_struct(content[begin : begin + count])
        stored = b""
        if columns:
            stored = bytes(content[columns : columns + chunk[_COLUMN_INDEX_BYTES]])
        return min(columns or begin, begin), chunk, stored, offsets

    def _number(self, group: Struct) -> None:
        assert self._footer is not None
        number = len(self._footer[_GROUPS])
        if _ORDINAL in group and number < _ORDINALS:
            group[_ORDINAL] = number
        elif _ORDINAL in group:
            group.drop(_ORDINAL)

    def _finish(self) -> None:
        if not self._encoding:  # a file without rows has a schema all the same
            self.write_table(self._schema.empty_table())
        while self._encoding:
            self._add(self._encoding.popleft().result())
        assert self._footer is not None
        for chunk, stored, _ in self._indexes:
            if stored:
                chunk[_COLUMN_INDEX] = self._at
                self._write(stored)
        for chunk, _, offsets in self._indexes:
            written = written_struct(offsets)
            chunk[_OFFSET_INDEX], chunk[_OFFSET_INDEX_BYTES] = self._at, len(written)
            self._write(written)
        footer = written_struct(self._footer)
        self._write(footer + len(footer).to_bytes(4, "little") + _MAGIC)


def _move(group: Struct, moved: int) -> None:
    if _GROUP_OFFSET in group:
        group[_GROUP_OFFSET] += moved
    for chunk in group[_COLUMNS]:
        if chunk[_CHUNK_OFFSET]:  # 0: not said
            chunk[_CHUNK_OFFSET] += moved
        for field in _PAGE_OFFSETS:
            if field in chunk[_METADATA]:
                chunk[_METADATA][field] += moved
