"""What the verbs that look at files have in common: which files, how they are read, and where the
rows go."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import rows

if TYPE_CHECKING:
    from crossdock.relation import Relation
    from crossdock.session import Dock

MOST_COLUMNS = 10_000  # that a table shows of what it says of columns
EPILOG = """FILES are Parquet, Arrow IPC (.arrow, .feather, .ipc), CSV or JSON (.json, .ndjson,
.jsonl): names, folders or 'globs', which are one table; '-' is standard input. Options of the
reader are those of Python: header=false, names=a,b, skip=1, delimiter=';', null_values=NA,-,
types=id:int64,name:string, filename=true, union_by_name=false.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 over the memory budget, 130 interrupted."""

_LISTS = ("names", "null_values")
_NUMBERS = ("skip",)


# Of reading, and of the dock.
reading_options = verbs.all_of(
    click.option("--read", "reading", multiple=True, metavar="NAME=VALUE",
                 help="An option of the reader, such as header=false; may be given again."),
    verbs.THREADS,
    verbs.MEMORY,
)  # fmt: skip
# Which rows and columns of the files are taken.
row_options = verbs.all_of(
    verbs.WHERE,
    click.option("--select", metavar="A,B", help="Columns to take, in this order."),
)
# Where rows go.
output_options = verbs.all_of(
    click.option("--format", "kind", type=verbs.Word(rows.KINDS), metavar="FORMAT",
                 help=f"{', '.join(rows.KINDS)}.  [default: table, or as --out ends]"),
    click.option("-o", "--out", metavar="FILE",
                 help="Write to a file, in place of one that is there."),
    click.option("--overwrite", is_flag=True, help="Let --out replace an input."),
)  # fmt: skip


@contextlib.contextmanager
def opened(files: tuple[str, ...], options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """A dock, and the relation of the files: the rows and columns of them that are taken."""
    import crossdock as xd

    if options.get("overwrite") and not options.get("out"):
        raise click.UsageError("--overwrite goes with --out FILE.")
    reading = dict(map(_reader_option, options["reading"]))
    with xd.connect(threads=options["threads"], memory=options["memory"], ranks="off") as dock:
        yield dock, _taken(_relation(dock, files, reading), options)


def show(dock: Dock, relation: Relation, options: dict[str, Any], most_rows: int) -> None:
    """Prints the rows, of a table so many, or writes them to --out."""
    from crossdock_cli import output

    if not options["out"]:
        rows.show_rows(dock, relation, rows.Shown(options["kind"] or "table", most_rows))
        return
    target = rows.Target(Path(options["out"]), options["kind"], options["overwrite"])
    written = rows.write(dock, relation, target)
    output.say(f"wrote {written:,} rows to {options['out']}")


def _relation(dock: Dock, files: tuple[str, ...], reading: dict[str, Any]) -> Relation:
    if files == ("-",):
        from crossdock.sql_frontend.standard_input import read_standard_input

        return dock.from_arrow(read_standard_input(reading))
    return dock.read(files[0] if len(files) == 1 else list(files), **reading)


def _taken(relation: Relation, options: dict[str, Any]) -> Relation:
    from crossdock_cli import listings, results

    relation = results.filtered(relation, options.get("where"))
    if options.get("select"):
        relation = relation.select(*listings.parse_names(options["select"], "--select"))
    return relation


def _reader_option(given: str) -> tuple[str, Any]:
    """A name and the value that the reader takes for it."""
    name, sign, value = given.partition("=")
    if not sign or not name:
        raise click.UsageError(f"--read takes NAME=VALUE, not {given!r}.")
    if name in _LISTS:
        return name, value.split(",")
    if name == "types":
        pairs = [pair.partition(":") for pair in value.split(",")]
        return name, {column: data_type for column, _, data_type in pairs}
    if name in _NUMBERS and value.isdecimal():
        return name, int(value)
    return name, {"true": True, "false": False}.get(value.lower(), value)
