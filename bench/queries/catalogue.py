"""All queries, by suite and name."""

from __future__ import annotations

import difflib
from collections.abc import Callable
from functools import partial
from importlib import import_module
from typing import Any

from queries import ssb_sql, tpch_sql
from queries.query import Query, Tables

TPCH_FRAMES = frozenset({1, 3, 4, 5, 6, 9, 10, 12, 13, 14, 18, 19, 21})


def form(module: str, name: str) -> Callable[[Tables], Any]:
    """A function of a module that is imported when it is called: a process loads only the engines
    that it measures."""
    return lambda tables: getattr(import_module(f"queries.{module}"), name)(tables)


def tpch_query(number: int) -> Query:
    half = "1_to_11" if number <= 11 else "12_to_22"
    return Query(
        name=str(number),
        sql=partial(tpch_sql.sql_of, number),
        relation=form(f"tpch_relations_{half}", f"q{number}"),
        frame=form("tpch_frames", f"q{number}") if number in TPCH_FRAMES else None,
        order=tpch_sql.ORDERS.get(number, ()),
        limit=tpch_sql.LIMITS.get(number),
    )


def ssb_query(name: str) -> Query:
    return Query(
        name=name,
        sql=partial(ssb_sql.sql_of, name),
        relation=form("ssb_relations", name.lower().replace(".", "_")),
        order=ssb_sql.ORDERS.get(name, ()),
    )


SUITES: dict[str, dict[str, Query]] = {
    "tpch": {str(number): tpch_query(number) for number in tpch_sql.SQL},
    "ssb": {name: ssb_query(name) for name in ssb_sql.SQL},
}


def chosen(suite: str, names: list[str]) -> list[Query]:
    """The queries with these names, in the order of the suite; all where there is no name."""
    queries = SUITES[suite]
    for name in names:
        if name not in queries:
            near = difflib.get_close_matches(name, queries, 1, 0.0)[0]
            raise SystemExit(f"bench: {suite} has no query {name!r}; did you mean {near}?")
    return [query for name, query in queries.items() if not names or name in names]
