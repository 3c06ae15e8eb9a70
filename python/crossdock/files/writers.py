"""Writes a stream of batches to a file, in bounded memory, whole or not at all."""

from __future__ import annotations

import contextlib
import stat
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from crossdock.errors import make_error, system_limits, unknown_choice
from crossdock.expressions.evaluation import plain_schema
from crossdock.files.parquet_writes import ParquetGroups, encoding_threads
from crossdock.files.paths import FILE_KINDS, PathLike, delimiter_of, format_of
from crossdock.files.replacement import path_errors, replacing_file, require_parent
from crossdock.files.text_formats import JsonWriter
from crossdock.option_checks import require_count, require_flag
from crossdock.values.engine_types import with_schema
from crossdock.values.row_taking import table_bytes

GROUP_ROWS = 1 << 17
GROUP_BYTES = 64 << 20
COMPRESSIONS = ("zstd", "snappy", "lz4", "gzip", "brotli", "none")
_LEVELS = {"zstd": (1, 22), "gzip": (1, 9), "brotli": (0, 11)}
_OF_PARQUET = ("compression", "level", "row_group_rows")
_OF_CSV = ("delimiter", "header")
_ARRAYS = (".json", ".json.gz", ".json.zst")  # other files of JSON have an object per line
_TEXT_CODECS = {".gz": "gzip", ".zst": "zstd"}


def require_target(path: PathLike, inputs: Iterable[str], overwrite: object = False) -> None:
    """PathError for a file that cannot be written, or is one of `inputs` (by whatever link) and is
    not to be overwritten. Looks, and writes nothing: call it before the work."""
    target = Path(path).expanduser()
    with path_errors(target):
        require_parent(target)
        if target.is_dir() or str(path).endswith("/"):
            raise make_error(
                "CD-502", f"{str(path)!r} cannot be written: it is a folder",
                try_=f"{str(target / 'result.parquet')!r}, or partition_by= for files in folders",
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


@dataclass(frozen=True)
class WriteOptions:
    """How rows become a file.

    kind: parquet, ipc, csv or json; "" = what the name's ending says. delimiter, header: of CSV;
    "" = by the ending. The others are of Parquet alone. compression: of COMPRESSIONS. level: of
    zstd 1 to 22, of gzip 1 to 9, of brotli 0 to 11; None = what the codec takes. row_group_rows:
    rows of each row group but the last; None = 131,072, or fewer of 64 MiB. sorted_by: what is
    known of the order of the rows, by column, whether it descends, and whether NULLs come first;
    files of Parquet say so.
    """

    kind: str = ""
    compression: str = "zstd"
    level: int | None = None
    row_group_rows: int | None = None
    sorted_by: tuple[tuple[str, bool, bool], ...] = ()
    delimiter: str = ""
    header: bool = True

    @staticmethod
    def checked(method: str, kind: str, given: Mapping[str, Any]) -> WriteOptions:
        """The options that users gave, by name. OptionError."""
        for name in given:
            if name in _OF_CSV and kind == "csv":
                continue
            if name not in (*_OF_PARQUET, *_OF_CSV):
                raise make_error(
                    "CD-105", f"{method}() has no option {name!r}",
                    choices=", ".join((*_OF_PARQUET, *_OF_CSV, "overwrite")),
                )  # fmt: skip
            of_kind = "csv" if name in _OF_CSV else "parquet"
            if kind not in ("", of_kind) or of_kind == "csv":
                shown = {"csv": "CSV", "parquet": "Parquet"}[of_kind]
                raise make_error(
                    "CD-105", f"{method}({name}=...) is an option of {shown}, not of {kind}",
                    try_=f"the name of a .{of_kind} file",
                )  # fmt: skip
        options = WriteOptions(kind, **given)
        require_flag(options.header, "header", method)
        if not isinstance(options.delimiter, str) or len(options.delimiter.encode()) > 1:
            raise make_error(
                "CD-105", f"{method}(delimiter={options.delimiter!r}) is no single character",
                try_="delimiter=';'",
            )  # fmt: skip
        if options.compression not in COMPRESSIONS:
            raise unknown_choice("compression", options.compression, COMPRESSIONS)
        if options.row_group_rows is not None:
            require_count(options.row_group_rows, f"{method}()", "row_group_rows")
            if options.row_group_rows == 0:
                raise make_error(
                    "CD-105", f"{method}(row_group_rows=0) would write no row",
                    try_="row_group_rows=131072",
                )  # fmt: skip
        options._check_level(method)
        return options

    def _check_level(self, method: str) -> None:
        if self.level is None:
            return
        level = require_count(self.level, f"{method}()", "level")
        limits = _LEVELS.get(self.compression)
        if limits is None or not limits[0] <= level <= limits[1]:
            raise make_error(
                "CD-105", f"{method}(level={level}) is no level of {self.compression}",
                limits="it has none" if limits is None else f"{limits[0]} to {limits[1]}",
                try_="compression='zstd', level=9",
            )  # fmt: skip


def write_file(
    batches: Iterable[pa.RecordBatch],
    schema: pa.Schema,
    path: PathLike,
    options: WriteOptions | None = None,
) -> int:
    """Rows written to `path`; gives their number.

    Holds at most one row group beside what the batches hold. A file that is there is replaced as a
    whole when all is written, as `replacing_file` does it.
    Errors: PathError (not to be written there, unknown ending), OptionError, those of `batches`.
    """
    write_options = options or WriteOptions()
    if not write_options.kind:
        write_options = replace(write_options, kind=format_of(path))
    require_target(path, ())
    target = Path(path).expanduser()
    # Views are a type for memory; as strings any reader of the file understands them.
    plain = plain_schema(schema)
    rows = 0
    with (
        replacing_file(target) as stream,
        writing_errors(target.name, write_options.kind),
        opened_writer(stream, target.name, plain, write_options) as writer,
    ):
        for table in _row_groups(batches, schema, write_options.row_group_rows):
            whole = with_schema(table, plain)
            writer.write_table(whole)
            rows += whole.num_rows
    return rows


@contextlib.contextmanager
def writing_errors(name: str, kind: str) -> Iterator[None]:
    """Turns what pyarrow raises of values that a format cannot hold into a PathError."""
    try:
        with system_limits(f"writing {name!r}"):
            yield
    except pa.ArrowException as error:
        reason = str(error).splitlines()[0]
        raise make_error(
            "CD-503",
            f"{name!r} cannot hold this result: {reason}",
            try_="a .parquet file, or select(...) without the column" if kind == "csv" else "",
        ) from error


@contextlib.contextmanager
def opened_writer(
    stream: BinaryIO,
    file_name: str,
    schema: pa.Schema,
    options: WriteOptions,
    is_one_of_many: bool = False,
) -> Iterator[Any]:
    """What writes tables of `schema`, without views, to a stream in the format of `options`.
    is_one_of_many: files are written by turns, so that none has threads of its own."""
    name = file_name.lower()
    codec = next((codec for end, codec in _TEXT_CODECS.items() if name.endswith(end)), None)
    if options.kind == "csv":
        import pyarrow.csv as csv

        write_options = csv.WriteOptions(
            include_header=options.header, delimiter=options.delimiter or delimiter_of(name)
        )
        with (
            pa.output_stream(stream, compression=codec) as compressed,
            csv.CSVWriter(compressed, schema, write_options=write_options) as writer,
        ):
            yield writer
    elif options.kind == "json":
        with (
            pa.output_stream(stream, compression=codec) as compressed,
            JsonWriter(compressed, is_array=name.endswith(_ARRAYS)) as writer,
        ):
            yield writer
    elif options.kind == "ipc":
        new = pa.ipc.new_stream if name.endswith(".arrows") else pa.ipc.new_file
        with new(stream, schema) as writer:
            yield writer
    elif options.kind != "parquet":  # a format that is read and not written
        raise make_error(
            "CD-503", f"{file_name!r} cannot be written: there is no writer of {options.kind}",
            try_="a .parquet file",
        )  # fmt: skip
    else:
        import pyarrow.parquet as parquet

        chosen = {
            "compression": options.compression,
            "compression_level": options.level,
            "write_page_index": True,
            "sorting_columns": _sorting_columns(schema, options.sorted_by),
        }
        threads = 1 if is_one_of_many else encoding_threads()
        if threads > 1:
            with ParquetGroups(stream, schema, threads, **chosen) as groups:
                yield groups
        else:
            with parquet.ParquetWriter(stream, schema, **chosen) as writer:
                yield writer


def _sorting_columns(
    schema: pa.Schema, sorted_by: Iterable[tuple[str, bool, bool]]
) -> list[Any] | None:
    """They have the numbers of leaves, which are those of columns where none is nested."""
    import pyarrow.parquet as parquet

    if any(pa.types.is_nested(field.type) for field in schema):
        return None
    columns = []
    for name, descending, nulls_first in sorted_by:
        if name not in schema.names:
            break
        number = schema.get_field_index(name)
        columns.append(parquet.SortingColumn(number, descending, nulls_first))
    return columns or None


def _row_groups(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, group_rows: int | None
) -> Iterator[pa.Table]:
    """Tables of so many rows each, but for the last; None: of about as many as do well."""
    held: list[pa.RecordBatch] = []
    rows = held_bytes = 0
    for batch in batches:
        held.append(batch)
        rows += batch.num_rows
        held_bytes += table_bytes(batch)
        is_full = rows >= (group_rows or GROUP_ROWS)
        if not is_full and (group_rows is not None or held_bytes < GROUP_BYTES):
            continue
        table = pa.Table.from_batches(held, schema)
        whole = rows if group_rows is None else rows - rows % group_rows
        for begin in range(0, whole, group_rows or whole):
            yield table.slice(begin, group_rows or whole)
        held = table.slice(whole).to_batches() if whole < rows else []
        rows -= whole
        held_bytes = sum(map(table_bytes, held))
    if held:
        yield pa.Table.from_batches(held, schema)
