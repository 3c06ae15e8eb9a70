"""crossdock sort: the rows of a file, folder or glob in order."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, results


@verbs.verb(
    "sort",
    examples=(
        'crossdock sort lineitem.parquet --by "l_shipdate, l_orderkey desc" --out by_day.parquet',
        'crossdock sort sales.csv --by "price desc nulls first" --top 10 --select city,price',
        'crossdock sort a.arrow --by "lower(name)" --where "age > 30" --explain',
    ),
    short_help="Sort the rows of files.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@click.option("--by", required=True, metavar="A,B",
              help='Orders: "a, b desc, c nulls first"; NULLs are last otherwise.')  # fmt: skip
@click.option("--top", type=click.IntRange(0), metavar="K",
              help="Only the first K rows, without sorting the rest.")  # fmt: skip
@click.option("--offset", type=click.IntRange(0), default=0, metavar="N",
              help="Leave out the first N rows; --top counts from there.")  # fmt: skip
@click.option("--stable", is_flag=True, help="Keep the input's order among equal rows.")
@click.option("--select", metavar="A,B", help="Columns of the result, in this order.")
@verbs.WHERE
@file_options.READ
@results.result_options("sort nothing")
def command(files: tuple[str, ...], **options: Any) -> None:
    """Sorts the rows of FILES and prints the first and last of them, or writes them.

    An order is a column or an expression, then asc or desc, then nulls first or nulls last.
    """
    from crossdock_cli import listings

    orders = listings.parse_orders(options["by"])
    selected = {"select": options.pop("select")}
    request = results.Request.from_options(options)
    with results.open_dock(options) as dock:
        relation = file_options.relation_of(dock, files, options["read"])
        relation = file_options.taken(relation, options)
        cut = {"limit": options["top"], "offset": options["offset"]}
        relation = relation.sort(*orders, **cut, stable=options["stable"])
        relation = file_options.taken(relation, selected)
        results.run(dock, relation, request, "read, sorted and shown")
