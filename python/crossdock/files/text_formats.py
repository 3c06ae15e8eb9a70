"""Rows as text and as streams, batch by batch: csv, json, ndjson, markdown, arrow, parquet."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Iterable
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import unknown_choice
from crossdock.expressions.evaluation import plain_schema
from crossdock.values.engine_types import with_schema

FORMATS = ("csv", "json", "ndjson", "markdown", "arrow", "parquet")


def write_rows(
    batches: Iterable[pa.RecordBatch], schema: pa.Schema, stream: BinaryIO, kind: str
) -> int:
    """The rows as one of FORMATS to a stream that need not be a file; gives their number. json is
    one array of objects, ndjson an object per line, arrow Arrow's stream format.

    Errors: OptionError (no such format), those of `batches`, OSError of the stream.
    """
    if kind not in FORMATS:
        raise unknown_choice("format", kind, FORMATS)
    plain = plain_schema(schema)
    rows = 0
    with _opened(kind, plain, stream) as writer:
        for batch in batches:
            writer.write_table(with_schema(pa.Table.from_batches([batch]), plain))
            rows += batch.num_rows
    return rows


def _opened(kind: str, schema: pa.Schema, stream: BinaryIO) -> Any:
    """What writes tables to the stream, and leaves it open."""
    if kind == "csv":
        import pyarrow.csv as csv

        return csv.CSVWriter(stream, schema)
    if kind == "parquet":
        import pyarrow.parquet as parquet

        return parquet.ParquetWriter(stream, schema, compression="zstd")
    if kind == "arrow":
        return pa.ipc.new_stream(stream, schema)
    if kind == "markdown":
        return _MarkdownWriter(stream, schema)
    return JsonWriter(stream, is_array=kind == "json")


def _spelled(table: pa.Table) -> pa.Table:
    """Moments, days and times as strings: Python has not all years, and no nanoseconds."""
    columns = [
        _spelled_column(column) if _is_spelled(column.type) else column for column in table.columns
    ]
    return pa.Table.from_arrays(columns, names=table.column_names)


def _is_spelled(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_timestamp, pa.types.is_date, pa.types.is_time)
    return any(is_kind(data_type) for is_kind in kinds)


def _spelled_column(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """As isoformat() has it, but for the digits of the unit, which are left out where all are 0."""
    strings = pc.replace_substring_regex(
        column.cast(pa.string()), pattern=r"\.0+(Z|[+-]\d+)?$", replacement=r"\1"
    )
    if getattr(column.type, "tz", None) is None:
        return strings
    return pc.replace_substring_regex(
        pc.replace_substring(strings, "Z", "+00:00"),
        pattern=r"([+-]\d\d)(\d\d)$",
        replacement=r"\1:\2",
    )


class JsonWriter:
    """Objects to a stream: a line each, or the elements of one array."""

    def __init__(self, stream: BinaryIO, is_array: bool) -> None:
        self._stream = stream
        self._is_array = is_array
        self._any = False

    def __enter__(self) -> JsonWriter:
        return self

    def __exit__(self, error: object, *_: object) -> None:
        if error is None and self._is_array:
            self._stream.write(b"\n]\n" if self._any else b"[]\n")

    def write_table(self, table: pa.Table) -> None:
        """Its rows, behind those of the tables before."""
        for row in _spelled(table).to_pylist():
            text = _object(row).encode()
            if self._is_array:
                self._stream.write((b",\n  " if self._any else b"[\n  ") + text)
            else:
                self._stream.write(text + b"\n")
            self._any = True


def _object(row: dict[str, Any]) -> str:
    return json.dumps(_known(row), ensure_ascii=False, default=_as_json, allow_nan=False)


def _known(value: Any) -> Any:
    """JSON has no NaN and no infinities: they are strings there."""
    if isinstance(value, float) and not math.isfinite(value):
        return str(value)
    if isinstance(value, dict):
        return {str(name): _known(item) for name, item in value.items()}
    return [_known(item) for item in value] if isinstance(value, list | tuple) else value


def _as_json(value: Any) -> Any:
    """Decimals, dates and times as their text; bytes in base 64."""
    return b64encode(value).decode() if isinstance(value, bytes) else str(value)


class _MarkdownWriter:
    """A table of text, with numbers on the right."""

    def __init__(self, stream: BinaryIO, schema: pa.Schema) -> None:
        numbers = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
        rules = ["---:" if any(is_number(f.type) for is_number in numbers) else "---"
                 for f in schema]  # fmt: skip
        self._stream = stream
        self._write(map(_cell, schema.names))
        self._write(rules)

    def __enter__(self) -> _MarkdownWriter:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def write_table(self, table: pa.Table) -> None:
        """Its rows, behind those of the tables before."""
        columns = [column.to_pylist() for column in _spelled(table).columns]
        for row in zip(*columns, strict=True):
            self._write(map(_cell, row))

    def _write(self, cells: Iterable[str]) -> None:
        self._stream.write(f"| {' | '.join(cells)} |\n".encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    shown = format(value, "f") if isinstance(value, Decimal) else str(value)
    return shown.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("\r", " ")
