"""Standard input as a table: Parquet, Arrow (file or stream), JSON or CSV, by its first bytes."""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import first_line, make_error
from crossdock.files.csv_files import csv_table
from crossdock.files.json_files import JSON_OPTIONS, json_table

if TYPE_CHECKING:
    from crossdock.ranks.members import Ranks

STANDARD_INPUT = ("-", "/dev/stdin")  # names of it in FROM
_STREAM = b"\xff\xff\xff\xff"  # begins a message of Arrow's stream format
_JSON = (b"{", b"[")


def read_by_first(ranks: Ranks, options: Mapping[str, Any], method: str) -> Any:
    """The same over ranks: launchers give standard input to the first one, which has the rows."""
    with ranks.call("standard input"):
        table = read_standard_input(options, method) if ranks.rank == 0 else None
        mine = None if table is None else b64encode(table.schema.serialize()).decode()
        schema = ranks.agree("columns of standard input", mine)[0]
        if table is None:
            table = pa.ipc.read_schema(pa.py_buffer(b64decode(schema))).empty_table()
        return table


def read_standard_input(options: Mapping[str, Any], method: str = "read") -> pa.Table:
    """All of standard input as a pyarrow.Table, with options of a reader of text: "read_csv",
    "read_json", or the one that its first bytes call for. DataError where it is none of the
    formats."""
    content = sys.stdin.buffer.read()
    try:
        if content[:4] == b"PAR1":
            import pyarrow.parquet as parquet

            return parquet.read_table(pa.BufferReader(content))
        if content[:6] == b"ARROW1":
            return pa.ipc.open_file(content).read_all()
        if content[:4] == _STREAM:
            return pa.ipc.open_stream(content).read_all()
        is_json = content.lstrip()[:1] in _JSON and options.keys() <= {*JSON_OPTIONS}
        if method == "read_json" or (is_json and method != "read_csv"):
            return json_table(content, **options)
        return csv_table(content, options)
    except (pa.ArrowException, UnicodeError) as error:
        raise make_error(
            "CD-302", f"standard input cannot be read: {first_line(error)}",
            try_="Parquet, Arrow, JSON, or CSV with a header line",
        ) from error  # fmt: skip
