"""crossdock convert: files in another format, or as one."""

from __future__ import annotations

import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, output, rows
from crossdock_cli.progress import progress_bar
from crossdock_cli.termination import removing_unfinished

if TYPE_CHECKING:
    from crossdock.relation import Relation
    from crossdock.session import Dock

_COMPRESSIONS = ("zstd", "snappy", "lz4", "gzip", "brotli", "none")


@verbs.verb(
    "convert",
    examples=(
        "crossdock convert sales.csv sales.parquet",
        "crossdock convert 'logs/*.ndjson' all.parquet --level 9 --row-group-rows 1000000",
        "crossdock convert sales.parquet by-year --partition-by year,month",
    ),
    short_help="Write files in another format, or as one.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@click.option("-o", "--out", metavar="TARGET",
              help="Where to write; all arguments are FILES then.")  # fmt: skip
@click.option("--format", "kind", type=rows.Format(rows.KINDS[1:]), metavar="FORMAT",
              help=f"{', '.join(rows.KINDS[1:])}.  [default: as TARGET ends]")  # fmt: skip
@click.option("--overwrite", is_flag=True,
              help="Let TARGET be an input, or a folder that is there.")  # fmt: skip
@click.option("--partition-by", metavar="A,B",
              help="Write a folder of Parquet files, A=.../B=.../part-00000.parquet.")  # fmt: skip
@click.option("--compression", type=verbs.Word(_COMPRESSIONS), metavar="CODEC",
              help=f"Of Parquet: {', '.join(_COMPRESSIONS)}.  [default: zstd]")  # fmt: skip
@click.option("--level", type=int, metavar="N", help="Level of the codec.")
@click.option("--row-group-rows", type=click.IntRange(1), metavar="N",
              help="Rows of each row group of Parquet.  [default: 131072]")  # fmt: skip
@file_options.row_options
@file_options.reading_options
def command(files: tuple[str, ...], **options: Any) -> None:
    """Writes the rows of FILES, in their order, to TARGET, the last argument: a .parquet, .arrow,
    .csv, .json, .ndjson or .md file. Rows stream, so files may be larger than the memory; TARGET
    appears when it is complete."""
    target = options.pop("out")
    if target is None:
        if len(files) < 2:
            raise click.UsageError("convert takes FILES and a TARGET.")
        *inputs, target = files
        files = tuple(inputs)
    overwrite = options.pop("overwrite")
    start = time.perf_counter()
    with (
        file_options.opened(files, options) as (dock, relation),
        progress_bar(dock),
        removing_unfinished(),
    ):
        written = _write(dock, relation, Path(target), {**options, "overwrite": overwrite})
    output.say(f"wrote {written:,} rows to {target} in {rows.seconds_since(start)}")


def _write(dock: Dock, relation: Relation, target: Path, options: dict[str, Any]) -> int:
    from crossdock_cli import listings

    names = ("compression", "level", "row_group_rows")
    of_parquet = {name: options[name] for name in names if options[name] is not None}
    if options["partition_by"]:
        keys = listings.parse_names(options["partition_by"], "--partition-by")
        if options["kind"] not in (None, "parquet"):
            raise click.UsageError("--partition-by writes Parquet.")
        return int(
            relation.write_parquet(
                target, partition_by=keys, overwrite=options["overwrite"], **of_parquet
            )
        )
    if options["kind"] is None and target.suffix.lower() != ".md":
        return int(relation.write(target, overwrite=options["overwrite"], **of_parquet))
    if of_parquet:
        if options["kind"] != "parquet":
            raise click.UsageError(f"--{next(iter(of_parquet)).replace('_', '-')} is of Parquet.")
        return int(relation.write_parquet(target, overwrite=options["overwrite"], **of_parquet))
    return rows.write(dock, relation, rows.Target(target, options["kind"], options["overwrite"]))
