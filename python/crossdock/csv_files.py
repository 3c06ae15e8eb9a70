"""Reads CSV files: their options, and what pyarrow would pass over without a word."""

from __future__ import annotations

import codecs
from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error, unknown_column
from crossdock.file_schemas import unified_schema
from crossdock.option_checks import require_text, require_type
from crossdock.paths import Paths, delimiter_of, find_files, shown_name
from crossdock.sources import ArrowSource, FileSource, Source, bare_schema

_FIRST_BLOCK_BYTES = 1 << 20  # whose values decide on the types


def open_csv(
    paths: Paths, delimiter: str | None, types: Mapping[str, Any], encoding: str = "utf-8"
) -> Source:
    """A source over CSV files with a header line; types are inferred from the first block of each
    file unless `types` names them. The delimiter is by default "," ("\\t" for .tsv).
    Errors: PathError, DataError; ColumnError (a type for no column), OptionError."""
    import pyarrow.csv as csv
    import pyarrow.dataset as dataset

    files = find_files(paths, "csv")
    if delimiter is None:
        delimiter = delimiter_of(files[0])
    if not isinstance(delimiter, str) or len(delimiter.encode()) != 1:
        raise make_error(
            "CD-105", f"read_csv(delimiter={delimiter!r}) is not one ASCII character",
            try_="delimiter=';'",
        )  # fmt: skip
    wanted = {name: require_type(found, f"types[{name!r}]") for name, found in types.items()}
    options = {
        "read_options": csv.ReadOptions(encoding=_known_encoding(encoding)),
        "parse_options": csv.ParseOptions(delimiter=delimiter),
        "convert_options": csv.ConvertOptions(column_types=wanted, strings_can_be_null=True),
    }
    source: Source
    if any(name.lower().endswith(".zst") for name in files):
        source = _read_whole(paths, options)
    else:
        source = CsvSource(paths, wanted, dataset.CsvFileFormat(**options))
    for name in types:
        if name not in source.schema.names:
            raise unknown_column(name, source.schema.names, "types=")
    return source


class CsvSource(FileSource):
    """CSV files, whose string columns must be valid UTF-8."""

    def __init__(self, paths: Paths, types: Mapping[str, Any], csv_format: Any) -> None:
        self._types = types
        super().__init__(paths, "csv", csv_format)

    def schema_of_file(self, fragment: Any) -> Any:
        found = super().schema_of_file(fragment)
        _require_texts(fragment.path, found, self._types)
        return found


def _read_whole(paths: Paths, options: Mapping[str, Any]) -> Source:
    """A source over files of which one is compressed with Zstandard: pyarrow's scan of CSV files
    does not take these, so they are read into memory at once."""
    import pyarrow.csv as csv

    files = find_files(paths, "csv")
    tables = []
    for name in files:
        try:
            tables.append(csv.read_csv(name, **options))
        except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
            raise make_error("CD-302", f"{name!r} cannot be read: {error}") from error
        _require_texts(name, tables[-1].schema, options["convert_options"].column_types)
    schema, _ = unified_schema(files, [bare_schema(table.schema) for table in tables])
    whole = pa.concat_tables(tables, promote_options="permissive")
    return ArrowSource(whole.cast(schema), shown_name(paths), files)


def _known_encoding(encoding: str) -> str:
    example = "encoding='latin-1'"
    try:
        return codecs.lookup(require_text(encoding, "read_csv(encoding=...)", example)).name
    except LookupError:
        raise make_error(
            "CD-105", f"read_csv(encoding={encoding!r}) is no encoding that Python has",
            try_=example,
        ) from None  # fmt: skip


def _require_texts(file: str, schema: Any, types: Mapping[str, Any]) -> None:
    """DataError for columns that came out as bytes, since values of theirs are not in UTF-8."""
    for field in schema:
        if pa.types.is_binary(field.type) and field.name not in types:
            raise make_error(
                "CD-302",
                f"column {field.name!r} of {file!r} holds texts that are not UTF-8",
                where=_first_undecodable(file),
                try_=f"encoding='latin-1', or types={{{field.name!r}: 'binary'}} to take the bytes",
            )


def _first_undecodable(file: str) -> str:
    """The line of the first bytes that are not UTF-8, and these."""
    with pa.input_stream(file) as stream:
        block = stream.read(_FIRST_BLOCK_BYTES)
    try:
        block.decode()
    except UnicodeDecodeError as error:
        line = block.count(b"\n", 0, error.start) + 1
        return f"line {line}, the byte 0x{block[error.start]:02x}"
    return ""
