"""crossdock sql: statements from the command line, a file or a shell."""

from __future__ import annotations

import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from crossdock_cli import command as verbs
from crossdock_cli import file_options, output, results, rows

if TYPE_CHECKING:
    from crossdock.session import Dock

_EPILOG = """FROM takes files ('x.parquet', read_csv('x.csv', delim=';')), names that --table gives,
and '-', which is standard input: Parquet, Arrow or CSV. In a shell the text stands in double
quotes, or comes from a file (-f). Without a text and at a terminal it is an interactive shell.

Exit codes: 0 done, 1 error, 2 wrong usage, 3 over the memory budget, 130 interrupted."""


@verbs.verb(
    "sql",
    examples=(
        "crossdock sql \"select l_shipmode, count(*) from 'lineitem.parquet' group by l_shipmode\"",
        "crossdock sql -f report.sql --format markdown -o report.md",
        "cat sales.csv | crossdock sql \"select city, sum(price) from '-' group by city\"",
        "crossdock sql --table orders=2026/*.parquet",
    ),
    short_help="Run SQL, or open its shell.",
    epilog=_EPILOG,
)
@click.argument("text", required=False)
@click.option("-f", "--file", metavar="FILE", help="Take the statements from a file.")
@click.option("--table", "tables", multiple=True, metavar="NAME=FILES",
              help="A name for files in FROM; may be given again.")  # fmt: skip
@file_options.FORMAT
@click.option("-o", "--out", metavar="FILE",
              help="Write the last result to a file, in place of one that is there.")  # fmt: skip
@file_options.OVERWRITE
@click.option("--limit", type=click.IntRange(0), default=40, show_default=True, metavar="N",
              help="Rows of a table to show.")  # fmt: skip
@verbs.THREADS
@verbs.MEMORY
@results.MOVES_OPTION
@results.OPEN_WITHIN
@results.STEP_WITHIN
def command(text: str | None, **options: Any) -> None:
    """Runs the statements of TEXT and prints their results; without TEXT, those of a file, of
    standard input, or of an interactive shell."""
    if text is not None and options["file"]:
        raise click.UsageError("a text and --file cannot go together.")
    if options["overwrite"] and not options["out"]:
        raise click.UsageError("--overwrite goes with --out FILE.")
    with results.open_dock(options) as dock:
        for given in options["tables"]:
            _register(dock, given)
        if text is None and not options["file"] and dock.size == 1 and sys.stdin.isatty():
            _open_shell(dock, options)
            return
        _run_all(dock, _statements_text(dock, text, options["file"]), options)


def _statements_text(dock: Dock, text: str | None, file: str | None) -> str:
    """Those of standard input are the first rank's: launchers give it to no other one."""
    if file:
        return _read(file)
    if text not in (None, "-"):
        return str(text)
    ranks = dock.over_ranks()
    if ranks is None:
        return sys.stdin.read()
    with ranks.call("standard input"):
        statements = ranks.agree("statements", sys.stdin.read() if ranks.rank == 0 else None)
    return str(statements[0])


def _read(file: str) -> str:
    from crossdock.errors import make_error

    try:
        return Path(file).expanduser().read_text(encoding="utf-8")
    except UnicodeDecodeError as error:
        raise make_error(
            "CD-302", f"{file!r} is no text of statements: {error.reason} at byte {error.start}",
            try_="a file of SQL in UTF-8",
        ) from None  # fmt: skip
    except OSError as error:
        raise make_error(
            "CD-502", f"{file!r} cannot be read: {error.strerror}",
            where=f"working folder {Path.cwd()}", try_="crossdock sql -f report.sql",
        ) from None  # fmt: skip


def _register(dock: Dock, given: str) -> None:
    name, sign, files = given.partition("=")
    if not sign or not name or not files:
        raise click.UsageError(f"--table takes NAME=FILES, not {given!r}.")
    dock.register(name, dock.read(files))


def _open_shell(dock: Dock, options: dict[str, Any]) -> None:
    from crossdock.errors import make_error

    try:
        from crossdock_cli.shell_lines import run_shell
    except ImportError as error:
        raise make_error(
            "CD-514", f"the shell needs a package that is not installed: {error}",
            try_="pip install 'crossdock[sql]'",
        ) from None  # fmt: skip
    if options["out"]:
        raise click.UsageError("--out goes with a text, a file or standard input.")
    run_shell(dock, rows.Shown(options["kind"] or "table", options["limit"]))


def _run_all(dock: Dock, text: str, options: dict[str, Any]) -> None:
    """Runs the statements one after the other; --out has the rows of the last one."""
    from crossdock.sql_frontend.errors import sql_error
    from crossdock.sql_frontend.session import split_statements

    statements = split_statements(text)
    if not statements:
        raise sql_error("the text has no statement", try_='crossdock sql "select 1"')
    shown = rows.Shown(options["kind"] or "table", options["limit"])
    for number, statement in enumerate(statements, 1):
        start = time.perf_counter()
        done = dock.sql_session().run_one(statement)
        if options["out"] and number == len(statements):
            target = rows.Target(Path(options["out"]), options["kind"], options["overwrite"])
            written = rows.write(dock, done.relation, target)
            seconds = rows.seconds_since(start)
            output.say(f"wrote {written:,} rows to {options['out']} in {seconds}")
        else:
            rows.show(dock, done, shown)
