"""Which scans of files the engine reads itself, while its plan runs, and which it is given as
tables that pyarrow read: decided from the footers of Parquet files and the options of CSV, so that
nothing fails that pyarrow can read.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from crossdock import _native
from crossdock.errors import reason_of
from crossdock.files.csv_files import CsvSource
from crossdock.files.file_sources import FileSource
from crossdock.files.parquet_files import ParquetSource
from crossdock.values.engine_types import empty_table, engine_table, lies_as_it_is
from crossdock.values.type_checks import checking_engine

if TYPE_CHECKING:
    from crossdock.files.sources import Source


def scanned_files(
    source: Source,
    columns: tuple[str, ...],
    with_codes: bool = False,
    keys: frozenset[str] = frozenset(),
) -> _native.Plan | str:
    """A plan that reads these columns of the files of `source`, strings that are few as codes if
    asked to, and of the keys by which all rows are grouped also more; or why pyarrow has to."""
    if isinstance(source, CsvSource):
        return source.kept_plan((columns,), lambda: _of_csv(source, columns))
    if isinstance(source, ParquetSource):
        # Codes need a look at all dictionaries first, which are far apart in a file far away.
        coded = keys if with_codes and not source.is_far else None
        key = columns, coded, tuple(source.paths.items())
        return source.kept_plan(key, lambda: _of_parquet(source, columns, coded))
    return "no file that the engine reads"


def _of_parquet(
    source: ParquetSource, columns: tuple[str, ...], coded_keys: frozenset[str] | None
) -> _native.Plan | str:
    files = source.footers()
    if isinstance(files, str):
        return files
    like = _like(source, columns)
    if isinstance(like, str):
        return like
    try:
        with_codes = coded_keys is not None
        keys = sorted(coded_keys or ())
        return _native.Plan.scan_parquet(files, like, source.name, with_codes, keys)
    except _native.NativeError as error:
        return reason_of(error)


def _of_csv(source: CsvSource, columns: tuple[str, ...]) -> _native.Plan | str:
    files = source.scanned_files(columns)
    like = _like(source, columns)
    if isinstance(files, str) or isinstance(like, str):
        return files if isinstance(files, str) else str(like)
    try:
        return _native.Plan.scan_csv(*files, like, source.name)
    except _native.NativeError as error:
        return reason_of(error)


def _like(source: FileSource, columns: tuple[str, ...]) -> _native.Table | str:
    """A table of these columns without rows, or why the engine has no such."""
    schema = source.schema_of(columns)
    for field in schema:
        if not lies_as_it_is(field.type):
            return f"column {field.name!r} is of type {field.type}"
    try:
        return engine_table(checking_engine(), empty_table(schema))
    except _native.NativeError as error:
        return reason_of(error)
