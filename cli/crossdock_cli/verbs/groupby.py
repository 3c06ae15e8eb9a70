"""crossdock groupby: aggregates of a file, folder or glob."""

from __future__ import annotations

from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, results

FUNCTIONS = (
    "count, count_distinct, approx_distinct, sum, min, max, mean, var, stddev, median, quantile, "
    "median_exact, quantile_exact, quantile_disc, first, last, any, arg_min, arg_max, string_agg, "
    "list_agg, count_if, bool_and, bool_or, bit_and, bit_or, bit_xor, product, entropy, mad, "
    "skewness, kurtosis, kurtosis_pop"
)
OPTIONS = (
    "sum(x, wide=true), sum(x, floats=exact), mean(x, floats=exact), var(x, ddof=0), "
    "arg_max(x, by=y), first(x, order_by=y), string_agg(x, ' ')"
)


@verbs.verb(
    "groupby",
    examples=(
        'crossdock groupby lineitem.parquet --by l_shipmode --agg "n=count(*), q=sum(l_quantity)"',
        'crossdock groupby sales.csv --by "city, year=year(day)" --agg "mean(price)" --sort city',
        'crossdock groupby log.parquet --agg "sum(ms)/count(*) as m, n=count(*) where ok" --json',
    ),
    short_help="Aggregate the rows of files by keys.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@click.option("--by", metavar="A,B", help='Keys: columns, or name=expression: "city, y=year(day)".')
@click.option("--agg", metavar="N=F(X)",
              help=f"Aggregates, with commas: {FUNCTIONS}. Options: {OPTIONS}.")  # fmt: skip
@verbs.WHERE
@click.option("--sort", metavar="A,B", help='Order of the result: "n desc, city".')
@file_options.READ
@results.result_options("group nothing")
def command(files: tuple[str, ...], **options: Any) -> None:
    """Groups the rows of FILES by the values of keys and prints a row of aggregates for each group.

    Without --by there is one row over all rows; without --agg each combination of keys is shown
    once. An aggregate may have a condition of its own: sum(x) where y > 0. What ends with AS and a
    name is SQL, computed from aggregates. NULL keys are a group.
    """
    from crossdock.plan.group_planning import group_keys

    from crossdock_cli import listings

    if not options["by"] and not options["agg"]:
        raise click.UsageError("--by or --agg is missing.")
    keys = listings.parse_group_keys(options["by"]) if options["by"] else {}
    items = listings.parse_aggregates(options["agg"]) if options["agg"] else {}
    orders = listings.parse_orders(options["sort"], "--sort") if options["sort"] else []
    request = results.Request.from_options(options)
    with results.open_dock(options) as dock:
        relation = file_options.relation_of(dock, files, options["read"])
        relation = file_options.taken(relation, options)
        if not items:
            keys_by_name = group_keys((), keys, relation.schema, "group_by()")
            relation = relation.grouped(keys_by_name, {})
        else:
            relation = relation.group_by(**keys).agg(**items) if keys else relation.agg(**items)
        if orders:
            relation = relation.sort(*orders)
        results.run(dock, relation, request, "read, grouped and shown")
