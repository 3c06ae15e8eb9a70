"""Writes a stream of batches to a file, in bounded memory, whole or not at all."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.evaluation import plain_schema
from crossdock.paths import PathLike, format_of

_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 256 << 20


def write_file(
    batches: Iterable[Any],
    schema: Any,
    path: PathLike,
    format_name: str = "",
    compression: str = "zstd",
) -> int:
    """Rows written to `path` as parquet, ipc or csv (by default what the name's ending says).

    Holds at most one row group (1 Mi rows or 256 MiB) beside what the batches hold. Writes to a
    neighbouring file that is renamed at the end and removed on any error.
    Errors: PathError (no such folder, unknown ending), and those of `batches`.
    """
    target = Path(path).expanduser()
    kind = format_name or format_of(target)
    if not target.parent.is_dir():
        raise make_error("CD-502", f"no folder {str(target.parent)!r} to write {target.name!r} in")
    # Its ending is the target's: the compression of a .csv.gz is told by the name.
    partial = target.with_name(f".{os.getpid()}.partial.{target.name}")
    # Views are a type for memory; as strings any reader of the file understands them.
    plain = plain_schema(schema)
    rows = 0
    try:
        with _writer(partial, kind, plain, compression) as writer:
            for table in _row_groups(batches, schema):
                whole = table if plain is schema else table.cast(plain)
                writer.write_table(whole)
                rows += whole.num_rows
        partial.replace(target)
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise make_error(
            "CD-503",
            f"{target.name!r} cannot hold this result: {reason}",
            try_="a .parquet file, or select(...) without the column" if kind == "csv" else "",
        ) from error
    finally:
        partial.unlink(missing_ok=True)
    return rows


@contextlib.contextmanager
def _writer(path: Path, kind: str, schema: Any, compression: str) -> Iterator[Any]:
    name = str(path)
    if kind == "csv":
        import pyarrow.csv as csv

        with pa.output_stream(name) as stream, csv.CSVWriter(stream, schema) as writer:
            yield writer
    elif kind == "ipc":
        with pa.ipc.new_file(name, schema) as writer:
            yield writer
    else:
        import pyarrow.parquet as parquet

        with parquet.ParquetWriter(name, schema, compression=compression) as writer:
            yield writer


def _row_groups(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    held: list[Any] = []
    rows = held_bytes = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        held_bytes += batch.nbytes
        if rows >= _GROUP_ROWS or held_bytes >= _GROUP_BYTES:
            yield pa.Table.from_batches(held, schema)
            held = []
            rows = held_bytes = 0
    if held:
        yield pa.Table.from_batches(held, schema)
