"""SQL on a dock: its names and settings, and what each kind of statement does."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any

import pyarrow as pa

from crossdock.engine.execution import Execution
from crossdock.errors import make_error, nearest, unknown_choice
from crossdock.files.sources import ArrowSource
from crossdock.plan.planning import plan_scan
from crossdock.query_dock import QueryDock
from crossdock.relation import Relation
from crossdock.reports.display import PLAN
from crossdock.sql_frontend.binding import prepare
from crossdock.sql_frontend.catalog import Catalog, Variables
from crossdock.sql_frontend.copying import copy_to
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.queries import Parameters, Settings, plan_query
from crossdock.sql_frontend.recursion import is_recursive
from crossdock.sql_frontend.summaries import summary_of
from crossdock.sql_frontend.text.statements import Statement, statement_of
from crossdock.sql_frontend.text.tokens import forget_long, statements_of, tokens_of
from crossdock.sql_frontend.type_names import shown_type

_DRAWN = "drawn"
_SETTINGS = {
    "default_null_order": ("nulls_last", "nulls_first"),
    "join_order": ("by_cost", "as_written"),
    "seed": (_DRAWN,),  # or a whole number
}
# Settings of DuckDB that are those of a dock here.
_OF_CONNECT = {
    "threads": "connect(threads=4), --threads 4",
    **dict.fromkeys(("memory_limit", "max_memory"), 'connect(memory="8GiB"), --memory 8GiB'),
}


@dataclass(frozen=True)
class Done:
    """A statement's kind ("query", "create view", ...) and its relation."""

    kind: str
    relation: Relation


class SqlSession:
    """The names and settings that SQL on a dock shares. Thread-safe."""

    def __init__(self, dock: QueryDock, readers: Mapping[str, Callable[..., Relation]]) -> None:
        """readers: the methods that open files, by their names."""
        self._dock = dock
        self.catalog = Catalog(dock, readers)
        self._settings = {name: choices[0] for name, choices in _SETTINGS.items()}
        prepare()

    def run(self, text: str, parameters: Parameters, frame: FrameType | None) -> Relation:
        """The relation of a text's last statement, after those before it have been done. `frame` is
        where variables are looked up."""
        if not isinstance(text, str):
            raise sql_error(
                f"sql() takes a text, not {type(text).__name__}", try_='sql("select 1")'
            )
        places = statements_of(text)
        if not places:
            raise sql_error("the text has no statement", try_='sql("select 1")')
        if len(places) > 1 and parameters is not None:
            raise sql_error(
                "parameters go with one statement", text, places[1][0], "a text of one statement"
            )
        outcome = None
        for start, end in places:
            outcome = self.run_one(_alone(text, start, end), parameters, frame).relation
        assert outcome is not None
        return outcome

    def run_one(
        self, text: str, parameters: Parameters = None, frame: FrameType | None = None
    ) -> Done:
        """One statement of a text that has spaces before it."""
        try:
            statement = statement_of(text)
            return Done(statement.kind, self._done_by(statement, parameters, frame))
        finally:
            forget_long()

    def _done_by(
        self, statement: Statement, parameters: Parameters, frame: FrameType | None
    ) -> Relation:
        variables = Variables(self.catalog, frame)

        def query() -> Relation:
            settings = Settings(
                nulls_first=self._settings["default_null_order"] == "nulls_first",
                as_written=self._settings["join_order"] == "as_written",
                seed=None if self._settings["seed"] == _DRAWN else int(self._settings["seed"]),
            )
            ranks = self._dock.over_ranks()
            with contextlib.nullcontext() if ranks is None else ranks.call("sql"):
                return plan_query(self.catalog, statement.query, parameters, (variables, settings))

        if statement.kind == "query":
            return query()
        act: Callable[[Statement, Callable[[], Relation]], Relation]
        act = getattr(self, "_" + statement.kind.replace(" ", "_"))
        return act(statement, query)

    def _explain(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        del statement
        return self._plan(str(query().explain()))

    def _explain_analyze(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        del statement
        return self._plan(query().profile().text)

    def _create_view(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        if is_recursive(tokens_of(statement.query)):
            raise unsupported(
                "CREATE VIEW of WITH RECURSIVE, whose rows are computed at once", statement.query,
                statement.query.lower().index("with"), f"CREATE TABLE {statement.name} AS ...",
            )  # fmt: skip
        return self._created(statement, lambda: _renamed(query(), statement))

    def _create_table(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        def filled_table() -> Relation:
            execution = self._dock.execution()
            rows = execution.table(_renamed(query(), statement).narrowed())
            is_everywhere = not isinstance(execution, Execution) and execution.is_everywhere
            return Relation(self._dock, self._dock.scan(rows, is_everywhere))

        return self._created(statement, filled_table)

    def _created(self, statement: Statement, make: Callable[[], Relation]) -> Relation:
        name = statement.name
        exists = self.catalog.find(name) is not None
        if exists and statement.options["if_not_exists"]:
            return self._done(f"{name} is there already")
        if exists and not statement.options["replace"]:
            raise sql_error(f"{name!r} is there already", try_="CREATE OR REPLACE ...")
        self.catalog.register(name, make())
        return self._done(f"created {name}")

    def _drop(self, statement: Statement, _: object) -> Relation:
        if self.catalog.find(statement.name) is None and statement.options["if_exists"]:
            return self._done(f"no {statement.name}")
        self.catalog.unregister(statement.name)
        return self._done(f"dropped {statement.name}")

    def _copy(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        rows = copy_to(query(), Path(statement.name), statement.options)
        return self._rows({"rows": [rows], "file": [statement.name]})

    def _describe(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        del statement
        schema = query().schema
        return self._rows(
            {
                "column_name": list(schema.names),
                "column_type": [shown_type(field.type) for field in schema],
                "null": ["YES" if field.nullable else "NO" for field in schema],
            }
        )

    def _summarize(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        del statement
        return self.catalog.shared_rows(summary_of(query()))

    def _show_tables(self, *_: object) -> Relation:
        return self._rows({"name": self.catalog.names()})

    def _show_settings(self, *_: object) -> Relation:
        return self._rows({"name": list(self._settings), "value": list(self._settings.values())})

    def _show(self, statement: Statement, query: Callable[[], Relation]) -> Relation:
        """A setting, or the columns of a table."""
        if statement.name.lower() not in _SETTINGS and self.catalog.find(statement.name):
            return self._describe(statement, query)
        name = _setting_named(statement.name)
        return self._rows({name: [self._settings[name]]})

    def _set(self, statement: Statement, _: object) -> Relation:
        name = _setting_named(statement.name)
        value = str(statement.options["value"]).lower()
        if value not in _SETTINGS[name] and not (name == "seed" and value.isdecimal()):
            raise unknown_choice(name, value, _SETTINGS[name])
        self._settings[name] = value
        return self._done(f"{name} is {value}")

    def _reset(self, statement: Statement, _: object) -> Relation:
        name = _setting_named(statement.name)
        self._settings[name] = _SETTINGS[name][0]
        return self._done(f"{name} is {self._settings[name]}")

    def _plan(self, text: str) -> Relation:
        table = pa.table({"plan": pa.array(text.splitlines(), pa.string())})
        return self.catalog.relation(plan_scan(ArrowSource(table, PLAN, is_replicated=True)))

    def _done(self, what: str) -> Relation:
        return self._rows({"done": [what]})

    def _rows(self, columns: dict[str, list[Any]]) -> Relation:
        types = {"rows": pa.int64()}
        arrays = [pa.array(v, types.get(name, pa.string())) for name, v in columns.items()]
        return self.catalog.shared_rows(pa.table(arrays, list(columns)))


def _setting_named(name: str) -> str:
    if name.lower() not in _SETTINGS:
        raise make_error(
            "CD-105", f"SQL has no setting {name!r}", choices=", ".join(_SETTINGS),
            try_=_OF_CONNECT.get(name.lower()) or nearest(name, _SETTINGS),
        )  # fmt: skip
    return name.lower()


def _renamed(relation: Relation, statement: Statement) -> Relation:
    names = statement.columns
    if not names:
        return relation
    if len(names) != len(relation.columns):
        raise sql_error(
            f"{statement.name} has {len(names)} names for {len(relation.columns)} columns"
        )
    return relation.rename(dict(zip(relation.columns, names, strict=True)))


def split_statements(text: str) -> list[str]:
    """The statements of a text, each with spaces before it, so that places stay the same."""
    return [_alone(text, start, end) for start, end in statements_of(text)]


def _alone(text: str, start: int, end: int) -> str:
    """A statement with spaces in place of what is before it, so that places stay the same."""
    blank = "".join(c if c == "\n" else " " for c in text[:start])
    return blank + text[start:end]
