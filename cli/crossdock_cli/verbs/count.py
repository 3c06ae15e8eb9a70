"""crossdock count: how many rows files have."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, output
from crossdock_cli.progress import progress_bar


@verbs.verb(
    "count",
    examples=(
        "crossdock count lineitem.parquet",
        "crossdock count 'logs/**/*.csv' --where 'status >= 500'",
        "cat sales.csv | crossdock count -",
    ),
    short_help="Count the rows of files.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@click.option("--where", metavar="EXPR", help="Rows to count: \"qty > 10 and mode = 'AIR'\".")
@file_options.output_options
@file_options.reading_options
def command(files: tuple[str, ...], **options: Any) -> None:
    """Prints the number of rows of FILES together; of Parquet and Arrow IPC without reading any."""
    with file_options.opened(files, options) as (dock, relation):
        with progress_bar(dock):
            rows = relation.count()
        if not options["out"] and options["kind"] in (None, "table"):
            output.show(str(rows))
            return
        import pyarrow as pa

        table = pa.table({"rows": pa.repeat(pa.scalar(rows, pa.int64()), 1)})
        file_options.show(dock, dock.from_arrow(table), options, 1)
