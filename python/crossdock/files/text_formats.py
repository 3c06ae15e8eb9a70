"""Rows as text and as streams, batch by batch: csv, json, ndjson, markdown, arrow, parquet."""

from __future__ import annotations

import json
import math
from base64 import b64encode
from collections.abc import Callable, Iterable
from decimal import Decimal
from typing import Any, BinaryIO

import pyarrow as pa

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
    counted = _Counted(with_schema(pa.Table.from_batches([b]), plain) for b in batches)
    _WRITERS[kind](counted, plain, stream)
    return counted.rows


class _Counted:
    """Tables, whose rows are counted as they pass."""

    def __init__(self, tables: Iterable[pa.Table]) -> None:
        self._tables = tables
        self.rows = 0

    def __iter__(self) -> pa.Table:
        for table in self._tables:
            self.rows += table.num_rows
            yield table


def _csv(tables: Iterable[pa.Table], schema: pa.Schema, stream: BinaryIO) -> None:
    import pyarrow.csv as csv

    with csv.CSVWriter(stream, schema) as writer:
        for table in tables:
            writer.write_table(table)


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
        for row in table.to_pylist():
            text = _object(row).encode()
            if self._is_array:
                self._stream.write((b",\n  " if self._any else b"[\n  ") + text)
            else:
                self._stream.write(text + b"\n")
            self._any = True


def _ndjson(tables: Iterable[pa.Table], schema: pa.Schema, stream: BinaryIO) -> None:
    _write_json(tables, schema, JsonWriter(stream, is_array=False))


def _json(tables: Iterable[pa.Table], schema: pa.Schema, stream: BinaryIO) -> None:
    _write_json(tables, schema, JsonWriter(stream, is_array=True))


def _write_json(tables: Iterable[pa.Table], schema: pa.Schema, writer: JsonWriter) -> None:
    del schema
    with writer:
        for table in tables:
            writer.write_table(table)


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


def _markdown(tables: Iterable[pa.Table], schema: pa.Schema, stream: BinaryIO) -> None:
    numbers = [
        pa.types.is_integer(f.type) or pa.types.is_floating(f.type) or pa.types.is_decimal(f.type)
        for f in schema
    ]
    rules = ["---:" if is_number else "---" for is_number in numbers]
    for cells in (map(_cell, schema.names), rules):
        stream.write(f"| {' | '.join(cells)} |\n".encode())
    for table in tables:
        for row in zip(*(column.to_pylist() for column in table.columns), strict=True):
            stream.write(f"| {' | '.join(map(_cell, row))} |\n".encode())


def _cell(value: Any) -> str:
    if value is None:
        return ""
    shown = format(value, "f") if isinstance(value, Decimal) else str(value)
    return shown.replace("\\", "\\\\").replace("|", "\\|").replace("\n", " ").replace("\r", " ")


def _arrow(tables: Iterable[pa.Table], schema: pa.Schema, stream: BinaryIO) -> None:
    with pa.ipc.new_stream(stream, schema) as writer:
        for table in tables:
            writer.write_table(table)


def _parquet(tables: Iterable[pa.Table], schema: pa.Schema, stream: BinaryIO) -> None:
    import pyarrow.parquet as parquet

    with parquet.ParquetWriter(stream, schema, compression="zstd") as writer:
        for table in tables:
            writer.write_table(table)


_WRITERS: dict[str, Callable[[Iterable[pa.Table], pa.Schema, BinaryIO], None]] = {
    "csv": _csv,
    "json": _json,
    "ndjson": _ndjson,
    "markdown": _markdown,
    "arrow": _arrow,
    "parquet": _parquet,
}
