"""crossdock describe: what the columns of files hold."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options
from crossdock_cli.progress import progress_bar


@verbs.verb(
    "describe",
    examples=(
        "crossdock describe lineitem.parquet",
        "crossdock describe sales.csv --select price,city --format markdown -o sales.md",
        "crossdock describe orders.parquet --where \"o_orderstatus = 'F'\" --format json",
    ),
    short_help="Show what the columns of files hold.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@file_options.row_options
@file_options.output_options
@file_options.reading_options
def command(files: tuple[str, ...], **options: Any) -> None:
    """Reads FILES once, and prints of each column its type, least and largest value, how many
    different ones there are (about), mean, standard deviation and quartiles, rows, and how many per
    cent are NULL."""
    from crossdock.sql_frontend.summaries import summary_of

    with file_options.opened(files, options) as (dock, relation):
        with progress_bar(dock):
            table = summary_of(relation)
        file_options.show(dock, dock.from_arrow(table), options, file_options.MOST_COLUMNS)
