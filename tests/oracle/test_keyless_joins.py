"""Joins without keys, and unions, inside larger queries: beside DuckDB."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from crossdock import col

EVENTS = pa.table({
    "event": list(range(40)),
    "moment": [(i * 37) % 101 for i in range(40)],
    "kind": ["abc"[i % 3] if i % 7 else None for i in range(40)],
})  # fmt: skip
PERIODS = pa.table({"first": [0, 20, 50, 90], "end": [10, 60, 80, 91], "name": list("pqrs")})


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2) as dock:
        yield dock


def rows_of(table: Any) -> list[tuple[Any, ...]]:
    rows = [tuple(row.values()) for row in table.to_pylist()]
    return sorted(rows, key=repr)


def expected(query: str) -> list[tuple[Any, ...]]:
    with duckdb.connect() as connection:
        connection.register("events", EVENTS)
        connection.register("periods", PERIODS)
        return rows_of(connection.sql(query).to_arrow_table())


@pytest.mark.parametrize("how", ["inner", "left", "right", "full", "semi", "anti"])
def test_a_condition_decides_about_every_pair(dock: xd.Dock, how: str) -> None:
    within = (col("moment") >= col("first")) & (col("moment") < col("end"))
    joined = dock.from_arrow(EVENTS).join(PERIODS, how=how, residual=within)
    query = f'SELECT * FROM events {how.upper()} JOIN periods ON moment >= first AND moment < "end"'
    assert rows_of(joined.collect()) == expected(query)
    assert joined.count() == len(expected(query))


def test_each_row_with_each(dock: xd.Dock) -> None:
    joined = dock.from_arrow(EVENTS).join(PERIODS, how="cross")
    assert joined.columns == ["event", "moment", "kind", "first", "end", "name"]
    assert rows_of(joined.collect()) == expected("SELECT * FROM events CROSS JOIN periods")
    grouped = joined.filter(col("moment") > col("first")).group_by("name").agg(n=xd.count())
    assert rows_of(grouped.collect()) == expected(
        "SELECT name, count(*) FROM events, periods WHERE moment > first GROUP BY name"
    )


def test_what_a_join_without_keys_refuses(dock: xd.Dock) -> None:
    events = dock.from_arrow(EVENTS)
    with pytest.raises(xd.OptionError, match='how="cross"'):
        events.join(PERIODS, on={"moment": "first"}, how="cross")
    with pytest.raises(xd.OptionError, match="takes keys"):
        events.join(PERIODS)


def test_unions_below_joins_and_groups(dock: xd.Dock) -> None:
    events = dock.from_arrow(EVENTS)
    both = events.filter(col("moment") < 50).union(events.filter(col("event") > 20))
    query = both.join(PERIODS, on={"moment": "first"}).group_by("kind").agg(n=xd.count())
    assert "the query runs in pipelines" in str(query.explain())
    assert rows_of(query.collect()) == expected("""
        SELECT kind, count(*) FROM (SELECT * FROM events WHERE moment < 50 UNION ALL
                                    SELECT * FROM events WHERE event > 20)
        JOIN periods ON moment = first GROUP BY kind
    """)
