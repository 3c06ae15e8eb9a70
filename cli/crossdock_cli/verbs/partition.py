"""crossdock partition: the rows of a file, folder or glob in parts, one file per part."""

from __future__ import annotations

import contextlib
import time
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, output, results
from crossdock_cli.termination import removing_unfinished

if TYPE_CHECKING:
    from pathlib import Path

    from crossdock.partitions import Partitions
    from crossdock.reports.profile import Profile
    from crossdock.session import Dock

HOW = ("hash", "range", "explicit")
FORMATS = ("parquet", "arrow", "csv")


@verbs.verb(
    "partition",
    examples=(
        "crossdock partition lineitem.parquet --by l_orderkey --partitions 64 --out parts",
        "crossdock partition sales.csv --by day --partitions 8 --how range --out days --format csv",
        "crossdock partition 'log/*.parquet' --by user,day --partitions 16 --json",
    ),
    short_help="Partition the rows of files by keys.",
    epilog=file_options.EPILOG,
)
@click.argument("files", nargs=-1, required=True)
@click.option("--by", required=True, metavar="A,B",
              help='Keys: columns, or name=expression: "user, h=id % 7".')  # fmt: skip
@click.option("--partitions", type=click.IntRange(1), default=64, show_default=True, metavar="N",
              help="Number of parts.")  # fmt: skip
@click.option("--how", type=verbs.Word(HOW), default="hash", show_default=True, metavar="WAY",
              help="hash: spread evenly; range: ascending ranges of keys; explicit: the key is the "
              "part's number.")  # fmt: skip
@click.option("--out", metavar="FOLDER", help="Write part-00000.parquet and so on to a new folder.")
@click.option("--format", type=verbs.Word(FORMATS), default="parquet", show_default=True,
              metavar="FORM", help=f"Files to write: {', '.join(FORMATS)}.")  # fmt: skip
@click.option("--select", metavar="A,B", help="Columns of the parts, in this order.")
@verbs.WHERE
@click.option("--limit", type=click.IntRange(0), default=10, show_default=True, metavar="N",
              help="Parts to show.")  # fmt: skip
@file_options.READ
@results.plan_options("partition nothing")
def command(files: tuple[str, ...], **options: Any) -> None:
    """Partitions the rows of FILES so that rows with equal keys are in one part, and prints the
    number of rows of each part. With --out the parts are written, one file each, in the order of
    the input.
    """
    if options["explain"] and (options["out"] or options["profile"]):
        other = "out" if options["out"] else "profile"
        raise click.UsageError(f"--explain and --{other} cannot go together.")
    if options["explain"] or options["out"]:
        results.refuse_limit("explain" if options["explain"] else "out")
    keys, computed = _keys(options["by"])
    with results.open_dock(options) as dock:
        relation = file_options.relation_of(dock, files, options["read"])
        relation = file_options.taken(relation, options)
        parts = relation.partition_by(
            *keys, partitions=options["partitions"], how=options["how"], **computed
        )
        if options["explain"]:
            results.show_plan(dock, lambda: parts.explain(read=True), options["json"])
            return
        _run(dock, parts, options)


def _keys(text: str) -> tuple[list[str], dict[str, Any]]:
    """Keys that are columns, and computed ones by name."""
    from crossdock.expressions.expression import Column

    from crossdock_cli import listings

    keys = listings.parse_group_keys(text)
    plain = [key.name for key in keys.values() if isinstance(key, Column)]
    computed = {name: key for name, key in keys.items() if not isinstance(key, Column)}
    for name in ("partitions", "how"):
        if name in computed:
            raise click.UsageError(f"--by: a computed key cannot be named {name!r}.")
    return plain, computed


def _run(dock: Dock, parts: Partitions, options: dict[str, Any]) -> None:
    from crossdock_cli.progress import progress_bar

    if options["out"]:
        parts.require_target(options["out"])
    start = time.perf_counter()
    paths: list[Path] = []
    writing = removing_unfinished() if options["out"] else contextlib.nullcontext()
    with progress_bar(dock), writing:
        profile = parts.profile() if options["profile"] else None
        rows = parts.rows
        if options["out"]:
            paths = parts.write(options["out"], format=options["format"])
    seconds = time.perf_counter() - start
    if options["json"]:
        _show_json(rows, paths, profile, seconds)
    else:
        _show(rows, profile, options, seconds)


def _show_json(rows: list[int], paths: list[Path], profile: Profile | None, seconds: float) -> None:
    parts: list[dict[str, Any]] = [{"part": i, "rows": count} for i, count in enumerate(rows)]
    for part, path in zip(parts, paths, strict=False):
        part["file"] = str(path)
    report: dict[str, Any] = {"rows": sum(rows), "parts": parts, "seconds": seconds}
    if profile is not None:
        report["profile"] = profile.data
    output.show_json(report)


def _show(
    rows: list[int], profile: Profile | None, options: dict[str, Any], seconds: float
) -> None:
    import pyarrow as pa
    from crossdock.reports.display import Preview
    from crossdock.sizes import format_seconds

    if not options["out"]:
        table = pa.table({"part": range(len(rows)), "rows": rows})
        output.show(Preview.of_table(table, options["limit"]).text())
    if profile is not None:
        output.show(profile.text)
    shown = format_seconds(seconds)
    if options["out"]:
        files = f"{len(rows):,} files of {options['out']}"
        output.say(f"wrote {sum(rows):,} rows to {files} in {shown}")
    else:
        output.say(f"partitioned and counted in {shown}")
