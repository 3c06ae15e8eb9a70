"""Decimals of Parquet files, which pipelines carry in 64 bits where these hold whatever the file
may store: every operator over them, against DuckDB over the same rows; values beyond what their
type says, which are those that are stored."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal, localcontext
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 5_000
# Name, digits, decimal places. The last two stay 128 bits wide.
COLUMNS = [("a", 4, 2), ("b", 9, 0), ("c", 15, 2), ("d", 18, 18), ("e", 19, 3), ("f", 38, 4)]
STORED = {
    "integers": {"store_decimal_as_integer": True},
    "bytes": {},
    "plain integers": {"store_decimal_as_integer": True, "use_dictionary": False},
}


def decimals(random: np.random.Generator, digits: int, places: int) -> pa.Array:
    """Values of all lengths, the longest ones and NULLs among them."""
    numbers = [int(number) * 10**29 // 7 for number in random.integers(-(10**9), 10**9, ROWS)]
    lengths = random.integers(0, digits + 1, ROWS)
    unscaled = [
        number % 10 ** int(length) * (1 if number > 0 else -1)
        for number, length in zip(numbers, lengths, strict=True)
    ]
    unscaled[:2] = [10**digits - 1, 1 - 10**digits]
    with localcontext(prec=digits):
        values = [Decimal(number).scaleb(-places) for number in unscaled]
    return pa.array(values, pa.decimal128(digits, places), mask=random.random(ROWS) < 0.1)


def table(seed: int) -> pa.Table:
    random = np.random.default_rng(seed)
    columns: dict[str, Any] = {"n": pa.array(range(ROWS)), "g": random.integers(0, 7, ROWS)}
    for name, digits, places in COLUMNS:
        columns[name] = decimals(random, digits, places)
    few = [Decimal(int(n)).scaleb(-2) for n in random.integers(-9, 9, ROWS)]
    columns["k"] = pa.array(few, pa.decimal128(12, 2), mask=random.random(ROWS) < 0.05)
    columns["h"] = pa.array(few, pa.decimal128(7, 2))
    return pa.table(columns)


QUERIES = [
    "SELECT * FROM t",
    "SELECT n, a, c FROM t WHERE c > 1.5 AND a <= 0 AND n > 100",
    "SELECT n, -c AS m, CAST(c AS DECIMAL(30, 2)) * a AS p, c + a AS s, h * (1 - k) AS q, d FROM t",
    "SELECT n FROM t WHERE a IS NULL OR c * 3 < h",
    "SELECT CAST(c AS BIGINT) AS i, CAST(a AS DOUBLE) AS r, CAST(b AS VARCHAR) AS s FROM t",
    "SELECT n, CASE WHEN c > 0 THEN c ELSE a END AS x, coalesce(a, h) AS y FROM t",
    # Sums that need more than 64 bits, and extremes.
    "SELECT sum(a) AS a, sum(b) AS b, sum(c) AS c, sum(d) AS d, sum(e) AS e, count(c) AS n FROM t",
    """SELECT g, sum(c) AS s, min(c) AS lo, max(d) AS hi, min(a) AS a, max(b) AS b, avg(h) AS m,
       sum(h * (1 - k)) AS p, count(*) AS n FROM t WHERE c < 1000000 GROUP BY g""",
    "SELECT g, sum(c) FILTER (WHERE a > 0) AS s FROM t GROUP BY g",
    # Groups by decimals, and how many values there are.
    "SELECT k, h, sum(c) AS s, count(*) AS n FROM t GROUP BY k, h",
    "SELECT k, a, count(*) AS n FROM t GROUP BY k, a",
    "SELECT g, count(DISTINCT k) AS n, count(DISTINCT c) AS m FROM t GROUP BY g",
    "SELECT DISTINCT k FROM t",
    # Orders, all of one and its first rows.
    "SELECT n, c FROM t ORDER BY c NULLS LAST, n",
    "SELECT n, c, a, d FROM t ORDER BY c DESC NULLS LAST, n LIMIT 20",
    "SELECT n, k, sum(c) OVER (PARTITION BY g ORDER BY k NULLS FIRST, n) AS s FROM t",
    "SELECT n, rank() OVER (PARTITION BY k ORDER BY c NULLS FIRST) AS r FROM t",
    # Keys of joins: alone and beside others, of one number of places and of two.
    "SELECT t.n, u.n AS m, u.c FROM t JOIN u ON t.c = u.c",
    "SELECT t.n, u.n AS m FROM t JOIN u ON t.a = u.h AND t.g = u.g WHERE u.n < 300",
    "SELECT t.n, u.n AS m, t.d, u.d AS v FROM t LEFT JOIN u ON t.n = u.n AND t.c > u.c",
    "SELECT t.n, t.b, u.a FROM t FULL JOIN u ON t.n = u.n + 2500 AND u.g = 3",
    "SELECT n, c FROM t WHERE EXISTS (SELECT 1 FROM u WHERE u.c = t.c)",
    "SELECT n, c FROM t WHERE k NOT IN (SELECT k FROM u WHERE k IS NOT NULL AND n < 5)",
    """SELECT t.g, sum(CAST(u.c AS DECIMAL(30, 2)) * t.a) AS s, sum(u.d) AS d
       FROM t JOIN u ON t.n = u.n GROUP BY t.g""",
    "SELECT t.n, u.n AS m FROM t JOIN u ON t.g = u.g AND t.c < u.a AND u.n < 40 AND t.n < 200",
    "SELECT c, a FROM t UNION ALL SELECT c, h FROM u",
    "SELECT c FROM t INTERSECT SELECT c FROM u",
    "SELECT s.n, s.x FROM (SELECT n, c * 2 AS x, c FROM t ORDER BY c, n LIMIT 99) s WHERE s.x < 0",
]


@pytest.fixture(scope="module", params=sorted(STORED))
def engines(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[xd.Dock, Any]]:
    folder = tmp_path_factory.mktemp("decimals")
    with xd.connect(threads=2) as dock, duckdb.connect(config={"threads": 1}) as connection:
        for seed, name in enumerate(("t", "u")):
            rows = table(seed)
            pq.write_table(
                rows, folder / f"{name}.parquet", row_group_size=1_700, **STORED[request.param]
            )
            dock.register(name, dock.read(folder / f"{name}.parquet"))
            connection.register(name, rows)
        yield dock, connection


def plain(value: Any) -> Any:
    """Decimals by value, floats as far as their sums agree."""
    if isinstance(value, Decimal):
        return f"{value:f}".rstrip("0").rstrip(".") if "." in f"{value:f}" else f"{value:f}"
    return f"{value:.9g}" if isinstance(value, float) else value


def counted(rows: pa.Table) -> list[str]:
    return sorted(str([plain(value) for value in row.values()]) for row in rows.to_pylist())


@pytest.mark.parametrize("query", QUERIES)
def test_rows_are_those_of_duckdb(engines: tuple[xd.Dock, Any], query: str) -> None:
    dock, connection = engines
    expected = connection.sql(query).to_arrow_table()
    assert counted(dock.sql(query).collect()) == counted(expected)


def test_sketches_are_those_of_the_same_rows_in_memory(engines: tuple[xd.Dock, Any]) -> None:
    dock, _ = engines
    query = "SELECT g, approx_distinct(c) AS n, approx_distinct(a) AS m FROM {} GROUP BY g"
    dock.register("kept", table(0))
    assert counted(dock.sql(query.format("t")).collect()) == counted(
        dock.sql(query.format("kept")).collect()
    )


def beyond(kind: pa.DataType, numbers: list[int]) -> pa.Array:
    """Decimals whose digits are not checked against their type."""
    words = b"".join(number.to_bytes(16, "little", signed=True) for number in numbers)
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(words)])


@pytest.mark.parametrize(
    ("digits", "most"), [(4, 2**31 - 1), (12, 2**63 - 1), (18, 2**63 - 1)], ids=str
)
def test_values_beyond_their_type_are_those_that_are_stored(
    tmp_path: Path, digits: int, most: int
) -> None:
    numbers = [most, -most - 1, most // 3, 7] * 300
    file = tmp_path / "t.parquet"
    pq.write_table(
        pa.table({"c": beyond(pa.decimal128(digits, 2), numbers), "n": range(len(numbers))}),
        file,
        store_decimal_as_integer=True,
    )
    with xd.connect(threads=1) as dock:
        dock.register("t", dock.read(file))
        assert unscaled(dock.sql("SELECT c FROM t").collect()["c"]) == numbers
        assert unscaled(dock.sql("SELECT c FROM t ORDER BY c").collect()["c"]) == sorted(numbers)
        sums = dock.sql("SELECT sum(c) AS s, min(c) AS lo, max(c) AS hi FROM t").collect()
        expected = [sum(numbers), min(numbers), max(numbers)]
        assert [unscaled(sums[name])[0] for name in ("s", "lo", "hi")] == expected
        few = dock.sql("SELECT c FROM t WHERE c > 1.00").collect()["c"]
        assert unscaled(few) == [number for number in numbers if number > 100]


def unscaled(column: pa.ChunkedArray) -> list[int]:
    """The numbers that are stored; Decimal would not print those beyond the type."""
    buffers = [chunk for chunk in column.chunks if len(chunk)]
    return [
        int.from_bytes(
            chunk.buffers()[1][at * 16 : at * 16 + 16].to_pybytes(), "little", signed=True
        )
        for chunk in buffers
        for at in range(chunk.offset, chunk.offset + len(chunk))
    ]
