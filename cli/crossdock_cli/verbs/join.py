"""crossdock join: joins two files, folders or globs."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, results

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware", "cross")


@verbs.verb(
    "join",
    examples=(
        "crossdock join lineitem.parquet orders.parquet --on l_orderkey=o_orderkey",
        "crossdock join 'sales/*.parquet' shops.csv --on shop --select day,city --out sold.parquet",
        "crossdock join a.arrow b.arrow --on id,day=date --how anti --count",
    ),
    short_help="Join two files, folders or globs.",
    epilog=file_options.EPILOG,
)
@click.argument("left")
@click.argument("right")
@click.option(
    "--on", "keys", multiple=True, metavar="L=R[,..]",
    help="Key columns: left=right, or one name that both sides have; none of cross.",
)  # fmt: skip
@click.option("--how", type=verbs.Word(KINDS), default="inner", show_default=True, metavar="KIND",
              help=f"Kind of join: {', '.join(KINDS)}.")  # fmt: skip
@click.option("--select", metavar="A,B", help="Columns of the result, in this order.")
@click.option("--where", metavar="EXPR", help="Rows of the result: \"qty > 10 and mode = 'AIR'\".")
@click.option("--suffix", default="_right", show_default=True, metavar="TEXT",
              help="Put after a right column's name that the left side also has.")  # fmt: skip
@file_options.read_option("read", " of both, such as header=false")
@file_options.read_option("read-left", " of LEFT alone")
@file_options.read_option("read-right", " of RIGHT alone")
@results.result_options("join nothing")
def command(left: str, right: str, keys: tuple[str, ...], **options: Any) -> None:
    """Joins LEFT with RIGHT and prints the first and last rows of the result and their number.

    Only the columns that the result needs are read; simple conditions of --where reach the reader.
    """
    from crossdock_cli import listings

    if left == right == "-":
        raise click.UsageError("standard input, '-', is one table: LEFT or RIGHT.")
    if bool(keys) == (options["how"] == "cross"):
        raise click.UsageError("--on L=R says the keys; --how cross alone has none.")
    pairs = [pair for text in keys for pair in listings.parse_key_pairs(text)]
    request = results.Request.from_options(options)
    with results.open_dock(options) as dock:
        rows, others = (
            file_options.relation_of(dock, (files,), options["read"] + options[f"read_{side}"])
            for side, files in (("left", left), ("right", right))
        )
        relation = rows.join(others, on=pairs or None, how=options["how"], suffix=options["suffix"])
        results.run(dock, file_options.taken(relation, options), request, "read, joined and shown")
