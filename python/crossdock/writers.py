"""Writes a stream of batches to a file, in bounded memory, whole or not at all."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from crossdock.engine_types import with_schema
from crossdock.errors import make_error, system_limits, unknown_choice
from crossdock.evaluation import plain_schema
from crossdock.option_checks import require_flag
from crossdock.paths import FILE_KINDS, PathLike, delimiter_of, format_of
from crossdock.replacement import path_errors, replacing_file
from crossdock.row_taking import table_bytes

_GROUP_ROWS = 1 << 17
_GROUP_BYTES = 64 << 20
_COMPRESSIONS = ("zstd", "snappy", "lz4", "gzip", "brotli", "none")
_CSV_CODECS = {".gz": "gzip", ".zst": "zstd"}


def require_target(path: PathLike, inputs: Iterable[str], overwrite: object = False) -> None:
    """PathError for a file that cannot be written, or is one of `inputs` (by whatever link) and is
    not to be overwritten. Looks, and writes nothing: call it before the work."""
    target = Path(path).expanduser()
    with path_errors(target):
        if not target.parent.is_dir():
            raise make_error(
                "CD-502", f"no folder {str(target.parent)!r} to write {target.name!r} in",
                try_="mkdir, or another folder",
            )  # fmt: skip
        if target.is_dir():
            raise make_error(
                "CD-502", f"{str(target)!r} cannot be written: it is a folder",
                try_=repr(str(target / "result.parquet")),
            )  # fmt: skip
        may_replace_input = require_flag(overwrite, "overwrite", "write")
        if not target.exists():
            return
        kind = FILE_KINDS.get(stat.S_IFMT(target.stat().st_mode))
        if kind is not None:
            raise make_error(
                "CD-502", f"{str(target)!r} cannot be written: it is {kind}, not a file",
                where="" if target.resolve() == target.absolute() else str(target.resolve()),
                try_="the name of a file",
            )  # fmt: skip
        if may_replace_input:
            return
        for name in inputs:
            if Path(name).exists() and target.samefile(name):
                raise make_error(
                    "CD-502", f"{str(target)!r} is an input of this result",
                    where="" if str(target) == name else f"it is the same file as {name!r}",
                    try_="another name; to replace the input, overwrite=True or --overwrite",
                )  # fmt: skip


def write_file(
    batches: Iterable[Any],
    schema: Any,
    path: PathLike,
    format_name: str = "",
    compression: str = "zstd",
) -> int:
    """Rows written to `path` as parquet, ipc or csv (by default what the name's ending says).

    Holds at most one row group (131,072 rows or 64 MiB) beside what the batches hold. A file
    that is there is replaced as a whole when all is written, as `replacing_file` does it.
    Errors: PathError (not to be written there, unknown ending), OptionError, those of `batches`.
    """
    kind = format_name or format_of(path)
    if compression not in _COMPRESSIONS:
        raise unknown_choice("compression", compression, _COMPRESSIONS)
    require_target(path, ())
    target = Path(path).expanduser()
    rows = 0
    with replacing_file(target) as stream:
        try:
            # Views are a type for memory; as strings any reader of the file understands them.
            plain = plain_schema(schema)
            with (
                system_limits(f"writing {target.name!r}"),
                _writer(stream, target, kind, plain, compression) as writer,
            ):
                for table in _row_groups(batches, schema):
                    whole = with_schema(table, plain)
                    writer.write_table(whole)
                    rows += whole.num_rows
        except pa.ArrowException as error:
            reason = str(error).splitlines()[0]
            raise make_error(
                "CD-503",
                f"{target.name!r} cannot hold this result: {reason}",
                try_="a .parquet file, or select(...) without the column" if kind == "csv" else "",
            ) from error
    return rows


@contextlib.contextmanager
def _writer(
    stream: BinaryIO, target: Path, kind: str, schema: Any, compression: str
) -> Iterator[Any]:
    name = target.name.lower()
    if kind == "csv":
        import pyarrow.csv as csv

        codec = next((codec for end, codec in _CSV_CODECS.items() if name.endswith(end)), None)
        options = csv.WriteOptions(delimiter=delimiter_of(name))
        with (
            pa.output_stream(stream, compression=codec) as compressed,
            csv.CSVWriter(compressed, schema, write_options=options) as writer,
        ):
            yield writer
    elif kind == "ipc":
        new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
        with new(stream, schema) as writer:
            yield writer
    else:
        import pyarrow.parquet as parquet

        with parquet.ParquetWriter(stream, schema, compression=compression) as writer:
            yield writer


def _row_groups(batches: Iterable[Any], schema: Any) -> Iterator[Any]:
    held: list[Any] = []
    rows = held_bytes = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        held_bytes += table_bytes(batch)
        if rows >= _GROUP_ROWS or held_bytes >= _GROUP_BYTES:
            yield pa.Table.from_batches(held, schema)
            held = []
            rows = held_bytes = 0
    if held:
        yield pa.Table.from_batches(held, schema)
