"""Statements that ask for the first rows of groups, of which the engine leaves out most before it
sorts, say what DuckDB says: up to a row number or rank, or the value of one row."""

from __future__ import annotations

import math
import random
from collections.abc import Iterator
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

_NUMBERS = ("row_number", "rank")
_ORDERS = (
    "x", "x desc", "x nulls first, id", "s desc, x", "long, id desc", "day desc, i", "id",
)  # fmt: skip
_GROUPS = ("few", "many", "s", "long", "few, s", "day", "x", "nothing")
_VALUES = (
    "arg_max({v}, {o})", "arg_min({v}, {o})", "first({v} order by {o}, id)",
    "last({v} order by {o}, id)", "arg_max(id, {o})",
)  # fmt: skip


def random_rows(rows: int, seed: int) -> pa.Table:
    draw = random.Random(seed)

    def values(make: Any, nulls: float) -> list[Any]:
        return [None if draw.random() < nulls else make() for _ in range(rows)]

    reals = (math.nan, math.inf, -math.inf, 0.0, -0.0, 1.5, -2.5, 1e300)
    ids = list(range(rows))
    draw.shuffle(ids)
    return pa.table(
        {
            "id": ids,
            "few": pa.array(values(lambda: draw.randrange(3), 0.1), pa.int32()),
            "many": pa.array(values(lambda: draw.randrange(max(1, rows // 3)), 0.05), pa.int64()),
            "x": pa.array(values(lambda: draw.choice(reals), 0.2), pa.float64()),
            "i": pa.array(values(lambda: draw.randrange(-5, 5), 0.3), pa.int64()),
            "s": pa.array(values(lambda: draw.choice("abcde"), 0.1), pa.string()),
            "long": pa.array(
                values(lambda: "the same beginning " + draw.choice("abcde"), 0.1), pa.string()
            ),
            "day": pa.array(values(lambda: draw.randrange(20), 0.1), pa.int32()).cast(pa.date32()),
            "nothing": pa.nulls(rows, pa.int64()),
        }
    )


def cut(table: pa.Table, batch_rows: int) -> pa.Table:
    return pa.Table.from_batches(table.to_batches(max_chunksize=batch_rows), table.schema)


def shown(rows: list[dict[str, Any]]) -> list[str]:
    return sorted(repr([_plain(value) for value in row.values()]) for row in rows)


def _plain(value: Any) -> Any:
    """-0.0 as 0.0, which is equal: equal rows come in any order."""
    return value + 0.0 if isinstance(value, float) else value


@pytest.fixture(scope="module", params=[1, 3])
def dock(request: pytest.FixtureRequest) -> Iterator[xd.Dock]:
    with xd.connect(threads=request.param) as opened:
        yield opened


def check(dock: xd.Dock, table: pa.Table, statements: list[str]) -> None:
    dock.register("t", table)
    with duckdb.connect() as base:
        base.register("t", table)
        for statement in statements:
            theirs = base.sql(statement).to_arrow_table().to_pylist()
            ours = dock.sql(statement).collect().to_pylist()
            assert shown(ours) == shown(theirs), statement


def numbered(draw: random.Random) -> str:
    """Row numbers need an order without equal rows; ranks do not."""
    function, group, order = draw.choice(_NUMBERS), draw.choice(_GROUPS), draw.choice(_ORDERS)
    if function == "row_number":
        order += ", id"
    over = f"{function}() over (partition by {group} order by {order})"
    test = draw.choice(["<= 1", "<= 3", "< 3", "= 2", "= 1", "<= 100000", "<= 0"])
    if draw.random() < 0.5:
        return f"select id, {group}, {over} as r from t qualify r {test} and r > 0"
    return f"select id, n from (select id, {over} as n from t) q where n {test}"


def valued(draw: random.Random) -> str:
    group = draw.choice(_GROUPS)
    names = {"v": draw.choice(["id", "i", "s", "long"]), "o": "id"}
    count = draw.choice([1, 1, 2])
    values = [f"{draw.choice(_VALUES).format(**names)} as v{i}" for i in range(count)]
    extra = draw.choice(["", "", ", count(*)"])
    return f"select {group}, {', '.join(values)}{extra} from t group by {group}"


@pytest.mark.parametrize("seed", range(12))
def test_random_statements(dock: xd.Dock, seed: int) -> None:
    draw = random.Random(seed)
    table = random_rows(draw.choice([0, 1, 30, 2_000]), seed)
    table = cut(table, draw.choice([1, 7, 100_000]) if len(table) < 100 else 900)
    check(dock, table, [make(draw) for make in (numbered, valued) for _ in range(6)])


def test_more_groups_than_a_worker_has_room_for(dock: xd.Dock) -> None:
    rows = 900_000
    table = pa.table({"k": [i * 7_919 % 450_001 for i in range(rows)], "id": range(rows)})
    number = "row_number() over (partition by k order by id desc)"
    statement = f"select sum(id)::bigint, count(*) from (select id from t qualify {number} = 1) q"
    ranked = f"select {number} as r, id % 2 as b from t"
    check(dock, table, [statement, f"select b, count(*) from ({ranked}) q where r < 2 group by b"])


@pytest.mark.parametrize("turn", [-1, 1])
def test_rows_that_are_in_order(dock: xd.Dock, turn: int) -> None:
    """Rows of which each is better than those before, and the other way around; and with both."""
    rows = 200_000
    ordered = pa.table({"g": [i % 3 for i in range(rows)], "x": range(rows)[::turn]})
    number = "row_number() over (partition by g order by x desc)"
    statements = [
        f"select g, x from t qualify {number} <= 2",
        "select g, arg_min(x, x), arg_max(x, x), last(x order by x) from t group by g",
        "select last(x order by x) from t",
        "select g, first(x) from t group by g",
    ]
    check(dock, ordered, statements)
    check(dock, pa.concat_tables([ordered, ordered.slice(0, 70_000)]), statements)


def test_distinct_on(dock: xd.Dock) -> None:
    table = random_rows(3_000, 5)
    check(dock, table, ["select distinct on (few, s) few, s, id from t order by few, s, id desc"])


def test_values_of_dictionaries_that_are_null(dock: xd.Dock) -> None:
    rows = 3_000
    codes = pa.array([i % 3 for i in range(rows)], pa.int32())
    values = pa.DictionaryArray.from_arrays(codes, pa.array([None, "a", "b"]))
    table = pa.table({"g": [i // 3 % 5 for i in range(rows)], "d": values, "id": range(rows)})
    groups = dock.from_arrow(table).group_by("g")
    for each, expected in ((xd.first("d"), "a"), (xd.last("d"), "b")):
        answers = groups.agg(v=each).collect()["v"].cast(pa.string()).to_pylist()
        assert answers == [expected] * 5
