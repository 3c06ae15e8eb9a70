"""Sources in pickles: rows of tables in memory as Arrow IPC, and of files their paths, which are
opened again where the pickle is loaded. Imported by what makes pickles of queries."""

from __future__ import annotations

import copyreg
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.files.csv_files import CsvKeptRows, CsvLines, CsvRejects, CsvSource
from crossdock.files.far_files import FarFile
from crossdock.files.far_paths import is_url
from crossdock.files.file_sources import FileSource
from crossdock.files.ipc_files import IpcSource
from crossdock.files.json_files import JsonSource
from crossdock.files.parquet_files import ParquetSource
from crossdock.files.sources import ArrowSource


def _reduced_table(source: ArrowSource) -> tuple[Any, ...]:
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, source.data.schema) as writer:
        writer.write_table(source.data)
    return _table, (sink.getvalue().to_pybytes(), source.name, source.files, source.is_replicated)


def _table(stream: bytes, name: str, files: Sequence[str], is_replicated: bool) -> ArrowSource:
    table = pa.ipc.open_stream(stream).read_all()
    return ArrowSource(table, name, files, is_replicated)


def _reduced_files(source: FileSource) -> tuple[Any, ...]:
    if isinstance(source, ParquetSource) and source.keys is not None:
        raise make_error(
            "CD-105", f"a relation over the encrypted files {source.name!r} is not pickled: "
            "its keys would be in it", try_="read_parquet(..., decryption=...) where it is loaded",
        )  # fmt: skip
    paths, *others = source._opened_by
    is_one = not isinstance(paths, list | tuple)
    whole = _absolute(paths) if is_one else [_absolute(path) for path in paths]
    return _files, (type(source), (whole, *others), source.schema)


def _absolute(path: Any) -> Any:
    if isinstance(path, FarFile) or is_url(path):
        return path
    return str(Path(path).expanduser().absolute())


def _files(kind: type, arguments: tuple[Any, ...], schema: pa.Schema) -> FileSource:
    source: FileSource = kind(*arguments)
    if not source.schema.equals(schema):
        raise make_error(
            "CD-302", f"{source.kind} source {source.name!r} has changed since it was pickled",
            columns=", ".join(map(str, source.schema)), before=", ".join(map(str, schema)),
            try_="a new relation over the files as they are",
        )  # fmt: skip
    return source


copyreg.pickle(ArrowSource, _reduced_table)
for _kind in (
    ParquetSource,
    IpcSource,
    CsvSource,
    CsvLines,
    CsvKeptRows,
    CsvRejects,
    JsonSource,
):
    copyreg.pickle(_kind, _reduced_files)
