"""Delta tables, whose log the package deltalake reads: the files of a version, and their bounds."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import unquote, urlsplit

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import CrossdockError, first_line, make_error
from crossdock.files.far_files import FileSystemLike
from crossdock.files.far_paths import listed_places, nothing
from crossdock.files.listed_files import (
    Bounds,
    Listing,
    open_listing,
    plain_strings,
    single_values,
)
from crossdock.files.sources import Source

if TYPE_CHECKING:
    from deltalake import DeltaTable

# What a log may ask of readers, and is met here or by the package.
_READ = {"timestampNtz", "v2Checkpoint", "vacuumProtocolCheck", "deletionVectors", "typeWidening",
         "typeWidening-preview", "columnMapping"}  # fmt: skip
_MOST_READER_VERSION = 3
# Decimals are numbers of JSON there, and times are cut to milliseconds.
_DIGITS_MOST = 15
_CUT = datetime.timedelta(milliseconds=1)


def open_delta(
    table: Any, version: int | None = None, filesystem: FileSystemLike | None = None
) -> Source:
    """A source over a Delta table: its folder, URL, or a DeltaTable of deltalake. `filesystem`: in
    which its files are. PathError (no table, no package), DataError (what is not read)."""
    opened = _opened(table, version)
    _require_readable(opened)
    uri = str(opened.table_uri).rstrip("/")
    schema = plain_strings(pa.schema(opened.schema().to_arrow()))
    actions = pa.table(opened.get_add_actions(flatten=True))
    rows = tuple(_column(actions, "num_records", pa.int64()).to_pylist())
    names = [str(name) for name in opened.metadata().partition_columns]
    values = pa.table({
        name: _column(actions, f"partition.{name}", schema.field(name).type) for name in names
    })  # fmt: skip
    return open_listing(
        Listing(
            Path(uri).name,
            schema,
            listed_places(_files(uri, actions.column("path").to_pylist()), filesystem),
            tuple(actions.column("size_bytes").to_pylist()),
            rows,
            values,
            {**_bounds(actions, schema), **single_values(values, rows)},
        )
    )


def _opened(table: Any, version: int | None) -> DeltaTable:
    try:
        import deltalake
    except ImportError as error:
        raise nothing(
            str(table), "Delta tables need the package deltalake", "pip install 'crossdock[delta]'"
        ) from error
    if isinstance(table, deltalake.DeltaTable):
        if version is not None:
            raise make_error(
                "CD-105", "a DeltaTable has a version of its own",
                try_="deltalake.DeltaTable(path, version=...)",
            )  # fmt: skip
        return table
    try:
        return deltalake.DeltaTable(table, version=version)
    except Exception as error:  # of a package, whose errors have one class of their own each
        raise nothing(str(table), first_line(error)) from error


def _require_readable(table: DeltaTable) -> None:
    protocol = table.protocol()
    needed = set(protocol.reader_features or ()) - _READ
    mode = table.metadata().configuration.get("delta.columnMapping.mode", "none")
    what = ""
    if protocol.min_reader_version > _MOST_READER_VERSION or needed:
        what = f"version {protocol.min_reader_version} of its readers, with {sorted(needed)}"
    elif mode != "none":
        what = f"columns that have other names in the files (delta.columnMapping.mode is {mode!r})"
    elif "deletionVectors" in (protocol.reader_features or ()) and _has_deletion_vectors(table):
        what = "deletion vectors, rows of files that are no longer part of it"
    if what:
        raise _not_read(table.table_uri, what)


def _has_deletion_vectors(table: Any) -> bool:
    return bool(pa.table(table.deletion_vectors()).num_rows)


def _not_read(name: object, what: str) -> CrossdockError:
    return make_error(
        "CD-302", f"the Delta table {str(name)!r} has {what}, which is not read here",
        try_="dock.from_arrow(table.to_pyarrow_table()), where deltalake reads it",
    )  # fmt: skip


def _files(uri: str, paths: Sequence[str]) -> list[str]:
    """Paths of a log are relative to the table, or URLs of their own, and quoted as in URLs."""
    local = uri.startswith("file://")
    root = unquote(urlsplit(uri).path) if local else uri
    names = [unquote(path) for path in paths]
    return [name if "://" in name else f"{root}/{name}" for name in names]


def _bounds(actions: pa.Table, schema: pa.Schema) -> dict[str, Bounds]:
    bounds = {}
    for field in schema:
        kind = field.type
        is_exact = not pa.types.is_decimal(kind) or kind.precision <= _DIGITS_MOST
        if f"min.{field.name}" not in actions.column_names or not is_exact:
            continue
        largest = _column(actions, f"max.{field.name}", kind)
        if pa.types.is_timestamp(kind):
            largest = pc.add(largest, pa.scalar(_CUT, pa.duration("us"))).cast(kind)
        bounds[field.name] = Bounds(
            _column(actions, f"min.{field.name}", kind),
            largest,
            _column(actions, f"null_count.{field.name}", pa.int64()),
        )
    return bounds


def _column(actions: pa.Table, name: str, data_type: pa.DataType) -> pa.Array:
    """A column of the log; NULLs where it has none."""
    if name not in actions.column_names:
        return pa.nulls(actions.num_rows, data_type)
    return actions.column(name).combine_chunks().cast(data_type)
