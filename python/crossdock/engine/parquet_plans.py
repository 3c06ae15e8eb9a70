"""Which scans of Parquet files the engine reads itself, while its plan runs, and which it is given
as tables that pyarrow read: decided from the footers, so that nothing fails that pyarrow can read.
"""

from __future__ import annotations

from typing import Any

from crossdock import _native
from crossdock.files.file_sources import FileSource
from crossdock.values.engine_types import empty_table, engine_table, lies_as_it_is
from crossdock.values.type_checks import checking_engine


def scanned_files(
    source: Any, columns: tuple[str, ...], with_codes: bool = False
) -> _native.Plan | str:
    """A plan that reads these columns of the files of `source`, strings that are few as codes if
    asked to, or why pyarrow has to."""
    if not isinstance(source, FileSource) or source.kind != "parquet":
        return "no Parquet file"
    files = source.footers()
    if isinstance(files, str):
        return files
    schema = source.schema_of(columns)
    for field in schema:
        if not lies_as_it_is(field.type):
            return f"column {field.name!r} is of type {field.type}"
    engine = checking_engine()
    try:
        like = engine_table(engine, empty_table(schema))
        # Codes need a look at all dictionaries first, which are far apart in a file far away.
        with_codes = with_codes and not source.is_far
        return _native.Plan.scan_parquet(files, like, source.name, with_codes)
    except _native.NativeError as error:
        return str(error)
