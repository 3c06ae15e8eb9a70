"""Scans of tables in memory that leave out rows by the ranges of their zones say what DuckDB says:
columns in order, nearly so, and in runs, of every type that has zones; conditions, joins, and the
first rows of orders."""

from __future__ import annotations

import random
import re
from collections.abc import Iterator

import crossdock as xd
import duckdb
import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

_ROWS = 200_000
_TYPES = {
    "i8": pa.int8(), "i32": pa.int32(), "i64": pa.int64(), "u64": pa.uint64(),
    "day": pa.date32(), "instant": pa.timestamp("us"), "price": pa.decimal128(25, 2),
}  # fmt: skip


def _numbers(form: str, draw: np.random.Generator) -> np.ndarray:
    """About 0 to 100, by row."""
    places = np.arange(_ROWS) / (_ROWS / 100)
    if form == "ascending":
        return places
    if form == "descending":
        return 100 - places
    if form == "nearly":
        return np.clip(places + draw.normal(0, 2, _ROWS), 0, 100)
    return draw.permutation(20)[(places / 5).astype(int) % 20] * 5.0  # in runs


def _table(form: str, seed: int) -> pa.Table:
    draw = np.random.default_rng(seed)
    columns = {"id": pa.array(np.arange(_ROWS))}
    for name, data_type in _TYPES.items():
        missing = draw.random(_ROWS) < 0.1 if seed % 2 else None
        whole = pa.array(_numbers(form, draw).astype(np.int64), pa.int64(), mask=missing)
        stored = pa.int32() if name == "day" else pa.int64()
        columns[name] = whole.cast(stored).cast(data_type)
    batches = pa.table(columns).to_batches(max_chunksize=int(draw.integers(5_000, 90_000)))
    return pa.Table.from_batches(batches)


def _literal(name: str, value: int) -> str:
    if name == "day":
        return f"date '1970-01-01' + {value}"
    if name == "instant":
        return f"timestamp '1970-01-01' + interval '{value} microseconds'"
    return str(value)


def _condition(draw: random.Random) -> str:
    name = draw.choice(list(_TYPES))
    low, high = sorted(draw.randrange(-5, 106) for _ in range(2))
    low_text, high_text = _literal(name, low), _literal(name, high)
    return draw.choice(
        [
            f"{name} between {low_text} and {high_text}",
            f"{name} < {low_text}",
            f"{name} >= {high_text}",
            f"{name} = {low_text}",
            f"({name} = {low_text} or {name} > {high_text})",
            f"({name} is null or {name} <= {low_text})",
            f"{name} in ({low_text}, {high_text})",
            f"{name} <> {low_text}",
            f"not ({name} > {low_text})",
        ]
    )


def _statement(draw: random.Random) -> str:
    conditions = [_condition(draw) for _ in range(draw.choice([0, 1, 1, 2]))]
    where = f" where {' and '.join(conditions)}" if conditions else ""
    name = draw.choice(list(_TYPES))
    form = draw.randrange(4)
    if form == 0:
        return f"select count(*), sum(id), min({name}), max({name}) from t{where}"
    if form == 1:
        nulls = draw.choice(["", " nulls first", " nulls last"])
        order = f"{name}{draw.choice(['', ' desc'])}{nulls}, id{draw.choice(['', ' desc'])}"
        rows = draw.choice(["1", "10", "300", "10 offset 1000"])
        return f"select * from t{where} order by {order} limit {rows}"
    if form == 2:
        low = draw.randrange(100)
        dimension = (
            f"(select {name} as k from t where id % 997 = 0 and i64 between {low} and {low + 3}) d"
        )
        kind = draw.choice(["join", "left join", "semi join", "anti join"])
        return f"select count(*), sum(id) from t {kind} {dimension} on t.{name} = d.k{where}"
    return f"select {name}, count(*) from t{where} group by {name}"


@pytest.fixture(scope="module", params=[1, 3])
def dock(request: pytest.FixtureRequest) -> Iterator[xd.Dock]:
    with xd.connect(threads=request.param) as opened:
        yield opened


@pytest.mark.parametrize("form", ["ascending", "descending", "nearly", "runs"])
@pytest.mark.parametrize("seed", [0, 1])
def test_random_statements(dock: xd.Dock, form: str, seed: int) -> None:
    table = _table(form, seed)
    dock.register("t", table)
    draw = random.Random(f"{form}{seed}")
    with duckdb.connect() as base:
        base.register("t", table)
        for _ in range(40):
            statement = _statement(draw)
            theirs = base.sql(statement).fetchall()
            ours = [tuple(row.values()) for row in dock.sql(statement).collect().to_pylist()]
            assert sorted(ours, key=repr) == sorted(theirs, key=repr), statement


@pytest.mark.parametrize(
    "statement",
    [
        "select count(*) from t where i64 between 20 and 21",
        "select count(*) from (select id from t order by instant desc limit 3) q",
        "select sum(id) from t where i32 in (3, 4) and price > 2",
    ],
)
def test_that_zones_are_left_out(dock: xd.Dock, statement: str) -> None:
    dock.register("t", _table("ascending", 1))
    rows = re.search(r"([\d,]+) rows in", str(dock.sql(statement).profile()))
    assert rows is not None
    assert int(rows[1].replace(",", "")) < _ROWS / 2


def test_frames_of_pandas_may_change_between_queries(dock: xd.Dock) -> None:
    """A frame shares its memory with the table that is registered, and its values may be set: a
    condition sees the values that one sees that no zone can tell."""
    frame = pd.DataFrame({"a": np.arange(_ROWS), "b": 1.5})
    dock.register("f", frame)
    statement = "select count(*) as c, sum(b) as s from f where {} between 10 and 20"
    for row in (_ROWS - 1, _ROWS // 2):
        frame.loc[row, "a"] = 15
        counted = dock.sql(statement.format("a")).collect()
        assert counted.equals(dock.sql(statement.format("(a + 0)")).collect())
    assert counted.to_pylist() == [{"c": 13, "s": 19.5}]
