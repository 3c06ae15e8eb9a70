"""crossdock head: the first rows of files."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options


@verbs.verb(
    "head",
    examples=(
        "crossdock head lineitem.parquet",
        "crossdock head 'sales/**/*.csv' -n 20 --read filename=true",
        "crossdock head events.ndjson --where \"kind = 'click'\" --format csv",
    ),
    short_help="Show the first rows of files.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@click.option("-n", "--rows", type=click.IntRange(0), default=10, show_default=True, metavar="N",
              help="How many rows.")  # fmt: skip
@file_options.row_options
@file_options.output_options
@file_options.reading_options
def command(files: tuple[str, ...], rows: int, **options: Any) -> None:
    """Prints the first rows of FILES, and reads little more of them."""
    with file_options.opened(files, options) as (dock, relation):
        file_options.show(dock, relation.limit(rows), options, rows)
