"""crossdock schema: the columns of files."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options


@verbs.verb(
    "schema",
    examples=(
        "crossdock schema lineitem.parquet",
        "crossdock schema 2024/*.csv 2025/*.csv --format json",
        "crossdock schema sales --read union_by_name=false",
    ),
    short_help="Show the columns of files and their types.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@file_options.output_options
@file_options.reading_options
def command(files: tuple[str, ...], **options: Any) -> None:
    """Prints the columns of FILES with their Arrow types, those of several files as one table;
    reads no rows of formats that say their schemas."""
    import pyarrow as pa
    from crossdock.files.path_values import string_array

    with file_options.opened(files, options) as (dock, relation):
        columns = {
            "column_name": relation.columns,
            "column_type": [str(field.type) for field in relation.schema],
            "null": ["YES" if field.nullable else "NO" for field in relation.schema],
        }
        table = pa.table({name: string_array(values) for name, values in columns.items()})
        file_options.show(dock, dock.from_arrow(table), options, file_options.MOST_COLUMNS)
