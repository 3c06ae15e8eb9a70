"""Distinct values and extremes of a column of Parquet: the reader leaves repeated rows out."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

_COLUMNS = ("few", "many", "word", "phrase", "day")
_CONDITIONS = ("true", "{c} is not null", "few > 3", "word <> 'b'", "many % 3 = 1 and few < 7")
_STATEMENTS = (
    "select distinct {c} from t where {w}",
    "select count(distinct {c}) from t where {w}",
    "select min({c}), max({c}) from t where {w}",
    "select {c}, min({c}), count(distinct {c}) from t where {w} group by {c}",
    "select {c}, count(*) from t where {w} group by {c}",
    "select count(distinct {c}), count(*) from t where {w}",
)


def rows_of(count: int, draw: random.Random) -> pa.Table:
    def column(make: Any, kind: pa.DataType) -> pa.Array:
        return pa.array([None if draw.random() < 0.1 else make() for _ in range(count)], kind)

    return pa.table(
        {
            "few": column(lambda: draw.randrange(10), pa.int32()),
            "many": column(lambda: draw.randrange(count), pa.int64()),
            "word": column(lambda: draw.choice("abc"), pa.string()),
            "phrase": column(lambda: f"a phrase of words {draw.randrange(900)}", pa.string()),
            "day": column(lambda: draw.randrange(3), pa.int32()).cast(pa.date32()),
        }
    )


@pytest.mark.parametrize("dictionaries", ["of all pages", "of the first pages", "none"])
def test_rows_that_repeat_a_value_change_nothing(
    dock: xd.Dock, tmp_path: Path, dictionaries: str
) -> None:
    draw = random.Random(dictionaries)
    rows = rows_of(30_000, draw)
    path = str(tmp_path / "t.parquet")
    pq.write_table(
        rows,
        path,
        row_group_size=9_000,
        data_page_size=2_000,
        use_dictionary=dictionaries != "none",
        dictionary_pagesize_limit=2_000 if dictionaries == "of the first pages" else 1 << 20,
        write_page_index=True,
    )
    dock.register("t", dock.read_parquet(path))
    connection = duckdb.connect()
    connection.register("t", rows)
    for statement in _STATEMENTS:
        for column in _COLUMNS:
            text = statement.format(c=column, w=draw.choice(_CONDITIONS).format(c=column))
            ours = [tuple(row.values()) for row in dock.sql(text).collect().to_pylist()]
            assert sorted(ours, key=repr) == sorted(
                connection.execute(text).fetchall(), key=repr
            ), text


def test_the_reader_passes_each_value_of_a_row_group_once(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    rows = pa.table({"day": [i % 5 for i in range(40_000)], "n": list(range(40_000))})
    pq.write_table(rows, path, row_group_size=20_000)
    read = dock.read_parquet(path)
    profile = str(read.select("day").distinct().profile())
    assert "values of day once" in profile
    assert "10 rows" in profile
    assert "once" not in str(read.group_by("day").agg(n=xd.count()).profile())
