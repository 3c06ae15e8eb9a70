"""Standard input as a table: Parquet, Arrow (file or stream) or CSV, by its first bytes."""

from __future__ import annotations

import sys
from base64 import b64decode, b64encode
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.sources import first_line

if TYPE_CHECKING:
    from crossdock.ranks.members import Ranks

STANDARD_INPUT = ("-", "/dev/stdin")  # names of it in FROM
_STREAM = b"\xff\xff\xff\xff"  # begins a message of Arrow's stream format


def read_by_first(ranks: Ranks, options: Mapping[str, Any]) -> Any:
    """The same over ranks: launchers give standard input to the first one, which has the rows."""
    with ranks.call("standard input"):
        table = read_standard_input(**options) if ranks.rank == 0 else None
        mine = None if table is None else b64encode(table.schema.serialize()).decode()
        schema = ranks.agree("columns of standard input", mine)[0]
        if table is None:
            table = pa.ipc.read_schema(pa.py_buffer(b64decode(schema))).empty_table()
        return table


def read_standard_input(
    delimiter: str | None = None, types: Mapping[str, Any] | None = None, encoding: str = "utf-8"
) -> Any:
    """All of standard input as a pyarrow.Table; the options are those of CSV. DataError where it
    is none of the formats."""
    content = sys.stdin.buffer.read()
    try:
        if content[:4] == b"PAR1":
            import pyarrow.parquet as parquet

            return parquet.read_table(pa.BufferReader(content))
        if content[:6] == b"ARROW1":
            return pa.ipc.open_file(content).read_all()
        if content[:4] == _STREAM:
            return pa.ipc.open_stream(content).read_all()
        return _csv(content, delimiter, types, encoding)
    except (pa.ArrowException, UnicodeError, LookupError) as error:
        raise make_error(
            "CD-302", f"standard input cannot be read: {first_line(error)}",
            try_="Parquet, Arrow, or CSV with a header line",
        ) from error  # fmt: skip


def _csv(
    content: bytes, delimiter: str | None, types: Mapping[str, Any] | None, encoding: str
) -> Any:
    import pyarrow.csv as csv

    return csv.read_csv(
        pa.BufferReader(content),
        read_options=csv.ReadOptions(encoding=encoding),
        parse_options=csv.ParseOptions(delimiter=delimiter or ","),
        convert_options=csv.ConvertOptions(
            column_types=dict(types or {}), strings_can_be_null=True
        ),
    )
