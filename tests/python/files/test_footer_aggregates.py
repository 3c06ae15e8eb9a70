"""Aggregates that the footers of Parquet files answer: those of the rows, without reading the row
groups that have statistics."""

from __future__ import annotations

import datetime
import decimal
import random
import re
from pathlib import Path

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.engine.execution import Execution

ROWS = 1000
GROUP_ROWS = 300  # four row groups in each file
WHOLE = {
    "i8": (pa.int8(), lambda draw: draw.randrange(-128, 128)),
    "u32": (pa.uint32(), lambda draw: draw.randrange(2**32)),
    "u64": (pa.uint64(), lambda draw: draw.randrange(2**63 - 10**6, 2**64)),
    "i64": (pa.int64(), lambda draw: draw.randrange(-(2**62), 2**62)),
    "day": (pa.date32(), lambda draw: datetime.date(1960, 1, 1) + _days(draw)),
    "s": (pa.timestamp("s"), lambda draw: datetime.datetime(1960, 1, 1) + _days(draw)),
    "us": (pa.timestamp("us"), lambda draw: datetime.datetime(1960, 1, 1) + _days(draw)),
    "time": (pa.time64("us"), lambda draw: datetime.time(draw.randrange(24), draw.randrange(60))),
    "money": (pa.decimal128(15, 2), lambda draw: decimal.Decimal(_cents(draw)).scaleb(-2)),
    "wide": (pa.decimal128(30, 2), lambda draw: decimal.Decimal(_cents(draw)).scaleb(-2)),
    "none": (pa.int64(), lambda draw: None),
    "text": (pa.string(), lambda draw: f"{draw.random():.200f}"),  # without a dictionary
    "word": (pa.string(), lambda draw: f"{draw.randrange(100)}"),
    "no": (pa.string(), lambda draw: None),
}
READ = {
    "real": (pa.float64(), lambda draw: draw.choice([draw.random(), float("nan")])),
    "yes": (pa.bool_(), lambda draw: draw.random() < 0.5),
}


def _days(draw: random.Random) -> datetime.timedelta:
    return datetime.timedelta(days=draw.randrange(40_000))


def _cents(draw: random.Random) -> int:
    return draw.randrange(-(10**9), 10**9)


def write(path: Path, seed: int, *, statistics: bool = True) -> None:
    draw = random.Random(seed)
    columns = {}
    for name, (value_type, drawn) in {**WHOLE, **READ}.items():
        values = [None if draw.random() < 0.1 else drawn(draw) for _ in range(ROWS)]
        columns[name] = pa.array(values, value_type)
    path.parent.mkdir(exist_ok=True)
    table = pa.table(columns)
    words = [name for name in columns if name != "text"]
    pq.write_table(
        table, path, row_group_size=GROUP_ROWS, write_statistics=statistics, use_dictionary=words
    )


def extremes(names: list[str]) -> str:
    return ", ".join(f"min({name}) as a_{name}, max({name}) as b_{name}" for name in names)


def answered(query: str) -> str | None:
    known = re.search(r"(\d+ of \d+) row groups answered", str(xd.sql(query).explain()))
    return None if known is None else known[1]


def check(query: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The rows with and without the rule, and DuckDB's."""
    rows = xd.sql(query).collect()
    assert [tuple(row.values()) for row in rows.to_pylist()] == duckdb.sql(query).fetchall()
    with monkeypatch.context() as patched:
        patched.setattr(Execution, "without", ("footer_aggregates",))
        assert xd.sql(query).collect() == rows


COUNTS = ", ".join(f"count({name}) as n_{name}" for name in [*WHOLE, *READ])


@pytest.mark.parametrize("items", [extremes([*WHOLE]), COUNTS, f"count(*) as n, {COUNTS}"])
def test_files_with_statistics(items: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for seed in range(3):
        write(tmp_path / f"{seed}.parquet", seed)
    query = f"select {items} from '{tmp_path}/*.parquet'"
    check(query, monkeypatch)
    assert answered(query) == "12 of 12"
    profile = str(xd.sql(query).profile())
    assert "1 table footers of *.parquet (12 of 12 row groups)" in profile
    assert "0 rows in, 1 out" in profile


def test_row_groups_without_statistics_are_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(3):
        write(tmp_path / f"{seed}.parquet", seed, statistics=seed != 1)
    query = f"select count(*) as n, {extremes([*WHOLE])}, {COUNTS} from '{tmp_path}/*.parquet'"
    check(query, monkeypatch)
    assert answered(query) == "8 of 12"


def test_values_of_folders_are_their_files_statistics(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed, year in enumerate([2019, 2021, 2020]):
        write(tmp_path / f"year={year}" / "rows.parquet", seed)
    query = (
        "select min(year) as a, max(year) as b, count(year) as n, max(i64) as c "
        f"from read_parquet('{tmp_path}/*/*.parquet', hive_partitioning=true)"
    )
    check(query, monkeypatch)
    assert answered(query) == "12 of 12"


@pytest.mark.parametrize(
    "query",
    [
        f"select {extremes(['real', 'i64'])} from {{}}",
        f"select {extremes(['yes'])} from {{}}",
        "select min(i64) as a, sum(i8) as b from {}",
        "select min(i64) as a from {} where i8 > 0",
        "select min(i64) filter (where i8 > 0) as a from {}",
        "select min(i64 // 2) as a from {}",
        "select min(i64) as a from (select * from {} limit 10)",
        "select count(distinct i64) as a from {}",
        "select min(i64) as a, i8 > 0 as k from {} group by k order by k",
    ],
)
def test_what_footers_do_not_hold_is_read(
    query: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write(tmp_path / "rows.parquet", 1)
    query = query.format(f"'{tmp_path}/rows.parquet'")
    assert answered(query) is None
    check(query, monkeypatch)


def test_parts_of_other_queries(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    write(tmp_path / "rows.parquet", 1)
    name = f"'{tmp_path}/rows.parquet'"
    check(
        f"select count(*) as n from {name} where i64 = (select max(i64) from {name})", monkeypatch
    )
    check(f"select max(i64) + 1 as a, max(day) - min(day) as b from {name} having count(*) > 5",
          monkeypatch)  # fmt: skip
