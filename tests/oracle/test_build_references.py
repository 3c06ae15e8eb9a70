"""Build sides made of joins, which refer to rows of other build sides and keep decimals in 8 bytes,
against DuckDB: kinds of both joins, NULLs, empty sides, conditions on what is referred to, groups
by it; with and without the references."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from typing import Any

import crossdock as xd
import duckdb
import numpy as np
import pyarrow as pa
import pytest
from crossdock.engine.execution import Execution

GROUPS, ITEMS, LINES = 12, 400, 3_000
KINDS = ("JOIN", "LEFT JOIN", "RIGHT JOIN", "FULL JOIN")


def decimals(random: np.random.Generator, rows: int, precision: int, scale: int) -> Any:
    """Values of all lengths, the longest ones among them."""
    numbers = [int(number) * 10**29 // 7 for number in random.integers(-(10**9), 10**9, rows)]
    lengths = random.integers(0, precision + 1, rows)
    unscaled = [
        number % 10 ** int(digits) * (1 if number > 0 else -1)
        for number, digits in zip(numbers, lengths, strict=True)
    ]
    unscaled[:2] = [10**precision - 1, 1 - 10**precision]
    with localcontext(prec=precision):
        values = [Decimal(number).scaleb(-scale) for number in unscaled]
    return pa.array(values, pa.decimal128(precision, scale), mask=random.random(rows) < 0.1)


def tables() -> dict[str, pa.Table]:
    random = np.random.default_rng(5)

    def keys(rows: int, most: int) -> Any:
        return pa.array(random.integers(0, most, rows), mask=random.random(rows) < 0.05)

    names = pa.array([None if n == 3 else f"the name of group {n} é" for n in range(GROUPS)])
    groups = pa.table({
        "g": pa.array(range(GROUPS)),
        "name": names,
        "code": names.dictionary_encode(),
        "rate": decimals(random, GROUPS, 18, 18),
    })  # fmt: skip
    items = pa.table({
        "i": pa.array(range(ITEMS)),
        "ig": keys(ITEMS, GROUPS + 3),
        "title": pa.array([f"item {n % 90}" for n in range(ITEMS)], pa.string_view()),
        "price": decimals(random, ITEMS, 15, 2),
        "wide": decimals(random, ITEMS, 38, 4),
    })  # fmt: skip
    lines = pa.table({
        "li": keys(LINES, ITEMS + 50),
        "n": pa.array(range(LINES)),
        "cost": decimals(random, LINES, 12, 3),
    })  # fmt: skip
    return {"groups": groups, "items": items, "lines": lines}


QUERIES = [
    f"""SELECT n, title, price, wide, name, code, rate
        FROM lines {outer} (items {inner} groups ON ig = g) ON li = i"""
    for outer in KINDS
    for inner in KINDS
]
QUERIES += [
    f"""SELECT n, name, rate FROM lines
        {kind} (items JOIN groups ON ig = g AND rate > 0) ON li = i AND n % 7 < length(name) % 7"""
    for kind in KINDS
]
QUERIES += [
    # Groups by what is referred to, and by what follows from a key of it.
    """SELECT name, code, sum(price - cost) AS s, count(*) AS c, max(rate) AS r FROM lines
       JOIN (items JOIN groups ON ig = g) ON li = i GROUP BY name, code""",
    """SELECT g, name, rate, min(title) AS t, sum(cost) AS s FROM lines
       LEFT JOIN (items LEFT JOIN groups ON ig = g) ON li = i GROUP BY g, name, rate""",
    # Rows of the build side that leave by themselves.
    """SELECT title, name, price FROM items JOIN groups ON ig = g
       WHERE EXISTS (SELECT 1 FROM lines WHERE li = i AND n > 1000)""",
    """SELECT title, name, price FROM items LEFT JOIN groups ON ig = g
       WHERE NOT EXISTS (SELECT 1 FROM lines WHERE li = i AND n > 1000)""",
    # A build side of a build side of a build side.
    """SELECT a.n, b.n AS m, name, title, rate FROM lines a
       JOIN (lines b JOIN (items JOIN groups ON ig = g) ON b.li = i) ON a.n = b.n + 1
       WHERE b.cost > 0""",
    # Its rows in an order, the first of them.
    """SELECT n, name, rate, price FROM lines JOIN (items JOIN groups ON ig = g) ON li = i
       ORDER BY rate DESC, n LIMIT 40""",
    # Nothing is built.
    """SELECT n, name, rate FROM lines
       LEFT JOIN (items JOIN groups ON ig = g AND rate > 2) ON li = i""",
]


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[xd.Dock, Any]]:
    with xd.connect(threads=2) as dock, duckdb.connect(config={"threads": 1}) as connection:
        for name, table in tables().items():
            dock.register(name, table)
            connection.register(name, table)
        yield dock, connection


def counted(table: pa.Table) -> list[str]:
    return sorted(str(row) for row in table.to_pylist())


@pytest.mark.parametrize("without", [(), ("build_references",), ("build_side",)])
@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_duckdb(
    engines: tuple[xd.Dock, Any],
    query: str,
    without: tuple[str, ...],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    dock, connection = engines
    monkeypatch.setattr(Execution, "without", without)
    expected = connection.sql(query).to_arrow_table()
    assert counted(dock.sql(query).collect()) == counted(expected)


def test_groups_by_what_is_referred_to_need_no_table(engines: tuple[xd.Dock, Any]) -> None:
    query = next(query for query in QUERIES if "GROUP BY name" in query)
    text = str(engines[0].sql(query).profile())
    assert "behind it" in text
    assert "group-by of a table" not in text
