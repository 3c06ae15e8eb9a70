"""Iceberg tables, whose metadata the package pyiceberg reads: the files of a snapshot, and their
bounds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import pyarrow as pa

from crossdock.errors import CrossdockError, first_line, make_error
from crossdock.files.far_files import FileSystemLike
from crossdock.files.far_paths import is_url, listed_places, nothing
from crossdock.files.listed_files import (
    Bounds,
    Listing,
    open_listing,
    plain_strings,
    single_values,
)
from crossdock.files.sources import Source

if TYPE_CHECKING:
    from pyiceberg.manifest import DataFile
    from pyiceberg.schema import Schema
    from pyiceberg.table import FileScanTask, Table


def open_iceberg(
    table: Any, snapshot: int | None = None, filesystem: FileSystemLike | None = None
) -> Source:
    """A source over an Iceberg table: the path or URL of a metadata file, or a Table of pyiceberg.
    `filesystem`: in which its files are. PathError (no table, no package), DataError (what is not
    read)."""
    opened = _opened(table)
    from pyiceberg.io.pyarrow import schema_to_pyarrow

    try:
        scan = opened.scan(snapshot_id=snapshot)
        of_table = scan.projection()
        tasks = list(scan.plan_files())
    except Exception as error:  # of a package, whose errors have one class of their own each
        raise nothing(_name(opened), first_line(error)) from error
    _require_readable(opened, of_table, tasks)
    schema = plain_strings(schema_to_pyarrow(of_table, include_field_ids=False))
    files = [task.file for task in tasks]
    rows = tuple(int(file.record_count) for file in files)
    values = _values(opened, of_table, schema, files)
    return open_listing(
        Listing(
            _name(opened),
            schema,
            listed_places([str(file.file_path) for file in files], filesystem),
            tuple(int(file.file_size_in_bytes) for file in files),
            rows,
            values,
            {**_bounds(of_table, schema, files), **single_values(values, rows)},
        )
    )


def _opened(table: Any) -> Table:
    try:
        from pyiceberg.table import StaticTable, Table
    except ImportError as error:
        raise nothing(
            str(table), "Iceberg tables need the package pyiceberg",
            "pip install 'crossdock[iceberg]'",
        ) from error  # fmt: skip
    if isinstance(table, Table):
        return table
    location = str(table)
    if not is_url(location):
        location = str(Path(location.removeprefix("file://")).expanduser().absolute())
    try:
        return StaticTable.from_metadata(location)
    except Exception as error:  # of a package, whose errors have one class of their own each
        raise nothing(
            location, first_line(error), "the path of the table's newest .metadata.json"
        ) from error


def _name(table: Table) -> str:
    return Path(urlsplit(str(table.location())).path).name


def _require_readable(table: Table, schema: Schema, tasks: Sequence[FileScanTask]) -> None:
    for task in tasks:
        path = task.file.file_path
        if str(task.file.file_format).rpartition(".")[2] != "PARQUET":
            raise _not_read(table, f"files that are not Parquet, such as {path!r}")
        if task.delete_files:
            raise _not_read(table, f"rows of {path!r} that are deleted in other files")
    # Columns of files are found by their names, which tell nothing once they have changed.
    for field in schema.fields:
        for earlier in table.schemas().values():
            for other in earlier.fields:
                if (other.name == field.name) != (other.field_id == field.field_id):
                    was = other.name if other.field_id == field.field_id else "another column"
                    raise _not_read(table, f"the column {field.name!r}, which was {was!r} before")


def _not_read(table: Table, what: str) -> CrossdockError:
    return make_error(
        "CD-302", f"the Iceberg table {_name(table)!r} has {what}, which is not read here",
        try_="dock.from_arrow(table.scan().to_arrow()), which pyiceberg reads",
    )  # fmt: skip


def _values(
    table: Table, of_table: Schema, schema: pa.Schema, files: Sequence[DataFile]
) -> pa.Table:
    """Columns by which the table is partitioned as they are: files need not have them."""
    specs = table.specs()
    columns: dict[str, list[Any]] = {}
    for number, file in enumerate(files):
        for place, field in enumerate(specs[file.spec_id].fields):
            if str(field.transform) != "identity":
                continue
            name = of_table.find_column_name(field.source_id)
            if name is not None and name in schema.names:
                columns.setdefault(name, [_MISSING] * len(files))[number] = file.partition[place]
    return pa.table({
        name: pa.array(_of_type(values, schema.field(name).type), schema.field(name).type)
        for name, values in columns.items() if _MISSING not in values
    })  # fmt: skip


_MISSING = object()


def _of_type(values: Sequence[Any], data_type: pa.DataType) -> list[Any]:
    """Dates and times are numbers there."""
    if not pa.types.is_temporal(data_type):
        return list(values)
    width = pa.int32() if data_type.bit_width == 32 else pa.int64()
    return list(pa.array(values, width).cast(data_type).to_pylist())


def _bounds(of_table: Schema, schema: pa.Schema, files: Sequence[DataFile]) -> dict[str, Bounds]:
    bounds = {}
    for field in of_table.fields:
        if not field.field_type.is_primitive or field.name not in schema.names:
            continue
        data_type = schema.field(field.name).type
        try:
            least = _decoded(field, data_type, [file.lower_bounds for file in files])
            largest = _decoded(field, data_type, [file.upper_bounds for file in files])
        except (pa.ArrowException, TypeError, ValueError):
            continue  # of a type whose bounds are no values of the column's
        nulls = [dict(file.null_value_counts or {}).get(field.field_id) for file in files]
        bounds[field.name] = Bounds(least, largest, pa.array(nulls, pa.int64()))
    return bounds


def _decoded(
    field: Any, data_type: pa.DataType, bounds: Sequence[Mapping[int, bytes] | None]
) -> pa.Array:
    from pyiceberg.conversions import from_bytes

    values = []
    for of_file in bounds:
        stored = dict(of_file or {}).get(field.field_id)
        values.append(None if stored is None else from_bytes(field.field_type, stored))
    return pa.array(_of_type(values, data_type), data_type)
