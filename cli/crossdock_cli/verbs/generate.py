"""crossdock generate: the inputs of a join as the literature measures it, as Parquet."""

from __future__ import annotations

import time
from typing import Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import output
from crossdock_cli.termination import removing_unfinished


@verbs.verb(
    "generate",
    examples=(
        "crossdock generate /tmp/pairs --rows 10M",
        "crossdock generate /tmp/pairs --rows 2M --ratio 8 --selectivity 0.5 --keys sparse",
        "crossdock generate /tmp/pairs --rows 10M --ratio 4 --zipf 1.2 --files 8",
        "mpirun -n 4 crossdock generate /shared/pairs --rows 1G --files 64",
    ),
    short_help="Make two tables to join, as Parquet.",
)
@click.argument("folder")
@click.option("--rows", default="1M", show_default=True, metavar="N",
              help="Rows of the inner side, whose keys are unique; 10M, 1G and so on.")  # fmt: skip
@click.option("--ratio", type=click.FloatRange(0, min_open=True), default=1.0, show_default="1",
              metavar="N", help="Rows of the outer side for each of the inner one.")  # fmt: skip
@click.option("--selectivity", type=click.FloatRange(0, 1), default=1.0, show_default="1",
              metavar="SHARE", help="Share of the outer rows that have a partner.")  # fmt: skip
@click.option("--zipf", type=click.FloatRange(0, 8), default=0.0, show_default="0",
              metavar="THETA", help="Skew of the outer side's keys; 0: none.")  # fmt: skip
@click.option("--keys", type=verbs.Word(("dense", "sparse")), default="dense", show_default=True,
              metavar="KIND", help="dense: 0 to rows - 1; sparse: from all 64 bits.")  # fmt: skip
@click.option("--seed", type=click.IntRange(0), default=1, show_default=True, metavar="N",
              help="Another seed gives other orders.")  # fmt: skip
@click.option("--files", type=click.IntRange(1, 99_999), metavar="N",
              help="Files of each side; by default one for each rank.")  # fmt: skip
@click.option("--row-group", "row_group", default="1M", show_default=True, metavar="N",
              help="Rows of a row group, which bounds the memory.")  # fmt: skip
@verbs.JSON
def command(folder: str, files: int | None, as_json: bool, **options: Any) -> None:
    """Writes FOLDER/inner and FOLDER/outer: rows of 16 bytes, an int64 `key` and an int64 `row`, in
    random order. Every outer row has one partner in the inner side, or none; without --zipf every
    inner row has as many as any other. Join them by `crossdock join FOLDER/outer FOLDER/inner --on
    key`.

    Under mpirun or srun each rank writes its share of the files, and rank 0 says what it wrote.
    """
    from crossdock import _native
    from crossdock.errors import public_errors
    from crossdock.workload import Workload

    with public_errors():
        rank, ranks = _native.launch_place()
    workload = Workload(
        rows=_count(options["rows"], "--rows"),
        ratio=options["ratio"],
        selectivity=options["selectivity"],
        zipf=options["zipf"],
        sparse=options["keys"] == "sparse",
        seed=options["seed"],
    )
    row_group_rows = _count(options["row_group"], "--row-group")
    count = ranks if files is None else files
    start = time.perf_counter()
    with removing_unfinished():
        written = workload.write(folder, count, row_group_rows, rank, ranks)
    seconds = time.perf_counter() - start
    if rank > 0:
        return
    facts = {
        "folder": folder,
        "inner_rows": workload.rows,
        "outer_rows": workload.rows_of("outer"),
        "result_rows": workload.result_rows,
        "rank": rank,
        "ranks": ranks,
        **written,
        "seconds": seconds,
    }
    if as_json:
        output.show_json(facts)
    else:
        _show(facts)


def _count(text: str, option: str) -> int:
    """A number of rows: 1000000, 1M, 2.5G."""
    units = {"k": 10**3, "m": 10**6, "g": 10**9, "t": 10**12}
    unit = units.get(text[-1:].lower(), 1)
    try:
        rows = float(text[:-1] if unit > 1 else text) * unit
    except ValueError:
        rows = 0.0
    if not 1 <= rows < 2**63 or rows != int(rows):
        raise click.UsageError(f"{option} {text} is no number of rows, such as 500000 or 10M.")
    return int(rows)


def _show(facts: dict[str, Any]) -> None:
    from crossdock.sizes import format_bytes, format_count, format_seconds

    output.show(f"inner         {facts['inner_rows']:,} rows, unique keys")
    output.show(
        f"outer         {facts['outer_rows']:,} rows, {facts['result_rows']:,} with partner"
    )
    share = f", rank 0 of {facts['ranks']}" if facts["ranks"] > 1 else ""
    rate = format_count(facts["rows"] / facts["seconds"])
    output.show(
        f"wrote         {facts['files']} files, {format_bytes(facts['bytes'])}{share}, in "
        f"{format_seconds(facts['seconds'])}: {rate} rows/s"
    )
    output.show(
        f"join them by  crossdock join {facts['folder']}/outer {facts['folder']}/inner --on key"
    )
