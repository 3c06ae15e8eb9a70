"""Writes a stream of batches to a file, in bounded memory, whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error, unknown_choice
from crossdock.evaluation import plain_schema
from crossdock.option_checks import require_flag
from crossdock.paths import PathLike, format_of

_GROUP_ROWS = 1 << 20
_GROUP_BYTES = 256 << 20
_COMPRESSIONS = ("zstd", "snappy", "lz4", "gzip", "brotli", "none")
_NEXT_STEPS = {
    errno.ENOSPC: "free space, or another disk",
    errno.EDQUOT: "free space, or another disk",
    errno.ENAMETOOLONG: "a shorter name",
}


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
        if require_flag(overwrite, "overwrite", "write") or not target.exists():
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

    Holds at most one row group (1 Mi rows or 256 MiB) beside what the batches hold. Writes to a
    neighbouring file that is renamed at the end and removed on any error: a file that is there is
    replaced, as a whole; of a link, the file it leads to.
    Errors: PathError (not to be written there, unknown ending), OptionError, those of `batches`.
    """
    kind = format_name or format_of(path)
    if compression not in _COMPRESSIONS:
        raise unknown_choice("compression", compression, _COMPRESSIONS)
    require_target(path, ())
    target = Path(path).expanduser()
    rows = 0
    with replacing(target) as partial:
        try:
            # Views are a type for memory; as strings any reader of the file understands them.
            plain = plain_schema(schema)
            with _writer(partial, kind, plain, compression) as writer:
                for table in _row_groups(batches, schema):
                    whole = table if plain is schema else table.cast(plain)
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
def replacing(path: PathLike) -> Iterator[Path]:
    """A name beside `path` for what will take its place: renamed at the end, and removed where the
    work inside fails. PathError where it cannot be there."""
    target = Path(path).expanduser()
    with path_errors(target):
        real = target.resolve()
        # Its ending is the target's: the compression of a .csv.gz is told by the name.
        partial = real.with_name(f".{os.getpid()}.partial.{real.name}")
        try:
            yield partial
            partial.replace(real)
        finally:
            if partial.is_dir():
                shutil.rmtree(partial, ignore_errors=True)
            partial.unlink(missing_ok=True)


@contextlib.contextmanager
def path_errors(target: Path) -> Iterator[None]:
    """Turns what the system raises for a file or folder into a PathError."""
    try:
        yield
    except CrossdockError:
        raise
    except OSError as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0]
        if error.errno is not None:
            reason = os.strerror(error.errno)  # without the name of the neighbouring file
        raise make_error(
            "CD-502", f"{str(target)!r} cannot be written: {reason}",
            try_=_NEXT_STEPS.get(error.errno or 0, "another folder"),
        ) from error  # fmt: skip


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
