"""What all verbs that open files have in common: how they are read, which rows and columns of them
are taken, and where rows go."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import rows

if TYPE_CHECKING:
    from crossdock.relation import Relation
    from crossdock.session import Dock

MOST_COLUMNS = 10_000  # that a table shows of what it says of columns
EPILOG = """Files are Parquet, Arrow IPC (.arrow, .feather, .ipc), CSV or JSON (.json, .ndjson,
.jsonl): names, folders or 'globs', which are one table; '-' is standard input. Options of the
reader are those of Python: header=false, names=a,b, skip=1, delimiter=';', quote=none,
null_values=NA,-, types=id:int64,name:string, filename=true, union_by_name=false.

Names of columns with spaces or signs stand in backquotes, and these in single quotes, or the shell
would run them: --select '`unit price`, city'.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 over the memory budget, 130 interrupted."""

_LISTS = ("names", "null_values")
_NUMBERS = ("skip",)
_CHARACTERS = ("quote", "escape", "comment")
_COMMA = re.compile(r",(?![^([]*[)\]])")  # between types, not in decimal128(10, 2)


def read_option(name: str, what: str) -> Callable[[verbs.Decorated], verbs.Decorated]:
    """An option that gives options of the reader."""
    return click.option(f"--{name}", name.replace("-", "_"), multiple=True, metavar="NAME=VALUE",
                        help=f"An option of the reader{what}; may be given again.")  # fmt: skip


READ = read_option("read", ", such as header=false")
FORMAT = click.option(
    "--format", "kind", type=rows.Format(), metavar="FORMAT",
    help=f"{', '.join(rows.KINDS)}: of --out, or of all rows on standard output; table shows the "
    "first and last.  [default: table, or as --out ends]",
)  # fmt: skip
OVERWRITE = click.option(
    "--overwrite", is_flag=True, help="Let --out replace an input, once the result is complete."
)
# Of reading, and of the dock.
reading_options = verbs.all_of(READ, verbs.THREADS, verbs.MEMORY)
SELECT = click.option("--select", metavar="A,B", help="Columns to take, in this order.")
# Which rows and columns of the files are taken.
row_options = verbs.all_of(verbs.WHERE, SELECT)
# Where rows go.
output_options = verbs.all_of(
    FORMAT,
    click.option("-o", "--out", metavar="FILE",
                 help="Write to a file, in place of one that is there."),
    OVERWRITE,
)  # fmt: skip


@contextlib.contextmanager
def opened(files: tuple[str, ...], options: dict[str, Any]) -> Iterator[tuple[Any, Any]]:
    """A dock, and the relation of the files: the rows and columns of them that are taken."""
    import crossdock as xd

    if options.get("overwrite") and not options.get("out"):
        raise click.UsageError("--overwrite goes with --out FILE.")
    with xd.connect(threads=options["threads"], memory=options["memory"], ranks="off") as dock:
        yield dock, taken(relation_of(dock, files, options["read"]), options)


def show(dock: Dock, relation: Relation, options: dict[str, Any], most_rows: int) -> None:
    """Prints the rows, of a table so many, or writes them to --out."""
    from crossdock_cli import output

    if not options["out"]:
        rows.show_rows(dock, relation, rows.Shown(options["kind"] or "table", most_rows))
        return
    target = rows.Target(Path(options["out"]), options["kind"], options["overwrite"])
    written = rows.write(dock, relation, target)
    output.say(f"wrote {written:,} rows to {options['out']}")


def relation_of(dock: Dock, files: tuple[str, ...], reading: tuple[str, ...]) -> Relation:
    """The relation of the files, or of standard input, with options of its reader."""
    options = dict(map(_reader_option, reading))
    if files == ("-",):
        return dock.sql_session().catalog.standard_input("read", options)
    if "-" in files:
        raise click.UsageError("'-', standard input, is no table with other files.")
    return dock.read(files[0] if len(files) == 1 else list(files), **options)


def taken(relation: Relation, options: dict[str, Any]) -> Relation:
    """The rows that --where keeps, and the columns of --select."""
    if options.get("where"):
        from crossdock_cli.predicates import parse_predicate

        relation = relation.filter(parse_predicate(options["where"]))
    if options.get("select"):
        from crossdock_cli import listings

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
        pairs = [pair.partition(":") for pair in _COMMA.split(value)]
        return name, {column: data_type for column, _, data_type in pairs}
    if name in _NUMBERS and value.isdecimal():
        return name, int(value)
    if name in _CHARACTERS and value.lower() == "none":
        return name, None
    return name, {"true": True, "false": False}.get(value.lower(), value)
