"""The first rows of an order of Parquet files, most of which are left out by statistics: those that
DuckDB has, whatever files say of their rows, and that few are read."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

ROWS = 12_000  # of a file
WRITTEN: list[dict[str, Any]] = [
    {"write_page_index": True},
    {},
    {"write_statistics": False},
    {"write_statistics": ["near", "id", "day"], "use_dictionary": False},
]
TYPES: dict[str, pa.DataType] = {
    "near": pa.int64(),
    "time": pa.timestamp("us"),
    "day": pa.date32(),
    "small": pa.int16(),
    "unsigned": pa.uint64(),
    "price": pa.decimal128(12, 2),
    "wide": pa.decimal128(38, 2),
    "real": pa.float64(),
    "string": pa.string(),
}
ORDERS = ("", " DESC", " NULLS FIRST", " DESC NULLS FIRST", " NULLS LAST", " DESC NULLS LAST")
CONDITIONS = ("", "WHERE few = 3", "WHERE id % 7 = 1", "WHERE near > 10000 AND few < 5")


def table(seed: int, begin: int) -> pa.Table:
    """Rows nearly in the order of each column, NULLs and NaN among them."""
    draw = random.Random(seed)
    near = [begin + row + draw.randrange(400) for row in range(ROWS)]
    numbers = pa.array(near, pa.int64())
    longs = numbers.cast(pa.decimal128(19, 0))
    columns = {"id": pa.array(range(begin, begin + ROWS)), "few": [n * 7919 % 11 for n in near]}
    for name, data_type in TYPES.items():
        if name == "string":
            values = pa.array([f"{number:08}" for number in near])
        elif name == "real":
            values = pa.array([math.nan if n % 997 == 0 else float(n - 20_000) for n in near])
        elif name == "day":
            values = pc.cast(pc.cast(pc.divide(numbers, 50), pa.int32()), data_type)
        elif name == "small":
            values = pc.cast(pc.subtract(pc.divide(numbers, 100), 200), data_type)
        else:
            values = pc.cast(longs if name in ("price", "wide") else numbers, data_type)
        nulls = pa.array([draw.random() < 0.01 for _ in near])
        columns[name] = pc.if_else(nulls, pa.scalar(None, data_type), values)
    return pa.table(columns)


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Files in folders, in another order than their rows; one of them says nothing of these."""
    folder = tmp_path_factory.mktemp("ordered")
    for number, options in enumerate(WRITTEN):
        part = folder / f"part={(number * 3) % 4}"
        part.mkdir()
        rows = table(number, (number * 5 % 4) * ROWS)
        sizes = {"row_group_size": 3_000, "data_page_size": 2_000, "write_batch_size": 200}
        pq.write_table(rows, part / "rows.parquet", **sizes, **options)
    return folder


@pytest.fixture(scope="module", params=[1, 3])
def dock(request: pytest.FixtureRequest, folder: Path) -> Iterator[xd.Dock]:
    with xd.connect(threads=request.param) as opened:
        opened.register("t", opened.read_parquet(str(folder)))
        one = str(folder / "part=0" / "rows.parquet")
        opened.register("one", opened.read_parquet(one, hive_partitioning=True))
        yield opened


@pytest.fixture(scope="module")
def base(folder: Path) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as opened:
        files = f"read_parquet('{folder}/*/*.parquet', hive_partitioning=true)"
        opened.execute(f"CREATE TABLE t AS FROM {files}")
        opened.execute("CREATE VIEW one AS FROM t WHERE part = 0")
        yield opened


def rows_of(rows: list[tuple[Any, ...]]) -> list[str]:
    return [repr(list(row)) for row in rows]


@pytest.mark.parametrize("column", [*TYPES, "part"])
def test_first_rows_are_those_of_duckdb(
    dock: xd.Dock, base: duckdb.DuckDBPyConnection, column: str
) -> None:
    draw = random.Random(column)
    for order in ORDERS:
        for rows in ("t", "one"):
            limit = draw.choice((1, 10, 300))
            query = (
                f"SELECT id, {column}, few FROM {rows} {draw.choice(CONDITIONS)} "
                f"ORDER BY {column}{order}, id LIMIT {limit} OFFSET {draw.choice((0, 0, 25))}"
            )
            ours = [tuple(row.values()) for row in dock.sql(query).collect().to_pylist()]
            assert rows_of(ours) == rows_of(base.sql(query).fetchall()), query


@pytest.mark.parametrize("order", ["", " DESC"])
@pytest.mark.parametrize("column", ["near", "time", "unsigned", "price", "part"])
def test_few_rows_are_read(dock: xd.Dock, column: str, order: str) -> None:
    """Of the row groups that have statistics of the column, one, or those of one folder."""
    rows = f"SELECT * FROM t WHERE few < 9 ORDER BY {column}{order} LIMIT 10"
    profile = dock.sql(f"SELECT sum(id) AS i, sum(few) AS f FROM ({rows})").profile()
    skipped = re.search(r"(\d+) of 16 parts skipped", profile.json)
    assert skipped is not None
    assert int(skipped[1]) >= {"near": 11, "part": 12}.get(column, 7)
