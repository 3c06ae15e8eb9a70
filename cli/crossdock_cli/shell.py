"""The interactive shell of `crossdock sql`: what a line does, dot commands among them."""

from __future__ import annotations

import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from crossdock.errors import CrossdockError, make_error

from crossdock_cli import output, rows

if TYPE_CHECKING:
    from crossdock.session import Dock

_HELP = """.tables            the tables that have names
.schema [NAME]     columns and types of a table, or of all
.read FILE         runs the statements of a file
.format [NAME]     how results are shown: table, csv, json, ndjson, markdown
.limit [N]         rows of a table to show
.timing [on|off]   whether times are shown
.help              this list
.quit              ends the shell, as Ctrl-D does
Statements end with a semicolon and may have several lines. Ctrl-C drops a line, or stops a run."""
_WORDS = """
SELECT FROM WHERE GROUP BY HAVING ORDER LIMIT OFFSET JOIN LEFT RIGHT FULL INNER CROSS ON USING
AS AND OR NOT IN EXISTS BETWEEN LIKE ILIKE IS NULL CASE WHEN THEN ELSE END CAST DISTINCT UNION
ALL INTERSECT EXCEPT WITH VALUES CREATE VIEW REPLACE DROP COPY TO DESCRIBE SUMMARIZE SHOW TABLES
EXPLAIN ANALYZE SET ASC DESC NULLS FIRST LAST ROLLUP CUBE GROUPING SETS FILTER INTERVAL DATE
TIMESTAMP EXTRACT SUBSTRING COUNT SUM AVG MIN MAX COALESCE READ_PARQUET READ_CSV
"""
KEYWORDS = _WORDS.split()
COMMANDS = (".tables", ".schema", ".read", ".format", ".limit", ".timing", ".help", ".quit")


# What ends other shells, or helps there.
_OTHERS_SAY = {"exit": ".quit", "quit": ".quit", "\\q": ".quit", "help": ".help", "\\?": ".help",
               "\\d": ".tables", "\\dt": ".tables", ".exit": ".quit"}  # fmt: skip
_FAMILIAR = {
    ".mode": ".format", ".timer": ".timing", ".maxrows": ".limit", ".import": "FROM 'x.csv'",
    ".open": "FROM 'x.parquet'", ".output": "COPY ... TO 'x.csv'",
}  # fmt: skip


class Shell:
    """What a shell knows between two lines."""

    def __init__(self, dock: Dock, shown: rows.Shown) -> None:
        self._dock = dock
        self._shown = shown
        self._shows_time = True
        self._files: list[str] = []  # that are being read, so that none reads itself

    def enter(self, text: str) -> bool:
        """Runs a line or several; False if the shell is to end. Errors are shown, not raised."""
        text = _OTHERS_SAY.get(text.strip().rstrip(";").lower(), text)
        try:
            return self._command(text.strip()) if text.lstrip().startswith(".") else self._run(text)
        except CrossdockError as error:
            output.say(error.report())
        except KeyboardInterrupt:
            output.say("interrupted")
        return True

    def is_complete(self, text: str) -> bool:
        """Whether Enter ends what is being entered: a dot command, or a semicolon at its end."""
        stripped = text.strip()
        if not stripped or stripped.startswith(".") or stripped.lower() in _OTHERS_SAY:
            return True
        from crossdock.sql_frontend.text.tokens import tokens_of

        try:
            tokens = tokens_of(text)
        except CrossdockError:
            return False  # a string or a comment goes on
        return bool(tokens) and tokens[-1].is_operator(";")

    def opened(self, text: str) -> str:
        """What the text opens and does not close, "string" or "comment"; "" where there is none."""
        from crossdock.sql_frontend.text.tokens import tokens_of

        try:
            tokens_of(text)
        except CrossdockError as error:
            return error.text.split()[1]
        return ""

    def tables(self) -> list[str]:
        """Names of tables, for completion."""
        return list(self._dock.sql_session().catalog.names())

    def columns(self) -> list[str]:
        """Names of their columns."""
        catalog = self._dock.sql_session().catalog
        columns_by_table: dict[str, None] = {}
        for name in catalog.names():
            relation = catalog.find(name)
            columns_by_table.update(dict.fromkeys(relation.columns if relation is not None else ()))
        return list(columns_by_table)

    def _run(self, text: str) -> bool:
        from crossdock.sql_frontend.session import split_statements

        for statement in split_statements(text):
            start = time.perf_counter()
            rows.show(self._dock, self._dock.sql_session().run_one(statement), self._shown)
            if self._shows_time:
                output.say(rows.seconds_since(start))
        return True

    def _command(self, line: str) -> bool:
        name, _, rest = line.partition(" ")
        rest = rest.strip().rstrip(";").strip()
        if name in (".quit", ".exit", ".q"):
            return False
        if name == ".help":
            output.show(_HELP)
        elif name == ".tables":
            output.show("\n".join(self.tables()) or "no table has a name")
        elif name == ".schema":
            self._schema(rest)
        elif name == ".read":
            self._read(rest)
        elif name == ".format":
            self._format(rest)
        elif name == ".limit":
            self._limit(rest)
        elif name == ".timing":
            self._shows_time = rest != "off" if rest else not self._shows_time
            output.say(f"timing {'on' if self._shows_time else 'off'}")
        else:
            from crossdock.errors import nearest

            close = _FAMILIAR.get(name) or nearest(name, COMMANDS)
            raise make_error("CD-512", f"no command {name!r}", try_=close or ".help")
        return True

    def _schema(self, name: str) -> None:
        from crossdock.sql_frontend.errors import sql_error
        from crossdock.sql_frontend.type_names import shown_type

        catalog = self._dock.sql_session().catalog
        for table in [name] if name else catalog.names():
            relation = catalog.find(table)
            if relation is None:
                raise sql_error(f"no table {table!r}", try_=catalog.advice(table))
            columns = ", ".join(f"{f.name} {shown_type(f.type)}" for f in relation.schema)
            output.show(f"{table} ({columns})")

    def _read(self, name: str) -> None:
        from crossdock.files.replacement import path_errors

        path = Path(name).expanduser()
        if not path.is_file():
            raise make_error(
                "CD-502", f"nothing to read at {name!r}: no such file",
                where=f"working folder {Path.cwd()}", try_=".read FILE, without quotes",
            )  # fmt: skip
        with path_errors(path):
            text = path.read_text(encoding="utf-8")
        place = str(path.resolve())
        if place in self._files:
            raise make_error("CD-512", f"{name!r} reads itself", try_="a file without this .read")
        self._files.append(place)
        try:
            for part in _parts(text):
                if not self.enter(part):
                    return
        finally:
            self._files.pop()

    def _format(self, kind: str) -> None:
        from crossdock.errors import unknown_choice

        kinds = [each for each in rows.KINDS if each not in ("arrow", "parquet")]
        if kind and kind not in kinds:
            raise unknown_choice(".format", kind, kinds)
        self._shown = replace(self._shown, kind=kind or self._shown.kind)
        output.say(f"format {self._shown.kind}")

    def _limit(self, count: str) -> None:
        if count and not count.isdecimal():
            raise make_error(
                "CD-105", f".limit {count!r} is not a number of rows", try_=".limit 40"
            )
        self._shown = replace(self._shown, limit=int(count) if count else self._shown.limit)
        output.say(f"limit {self._shown.limit}")


def _parts(text: str) -> Iterator[str]:
    """Dot commands of a file, and the statements between them."""
    held: list[str] = []
    for line in text.splitlines(keepends=True):
        if line.startswith(".") and not "".join(held).strip():
            yield line.strip()
        else:
            held.append(line)
            if line.rstrip().endswith(";"):
                yield "".join(held)
                held = []
    if "".join(held).strip():
        yield "".join(held)
