"""Pages and row groups that are left out by the page index and by Bloom filters: by counters, and
with the rows that reading all of them gives."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

ROWS = 60_000
TABLE = pa.table(
    {
        "k": pa.array([i * 2 for i in range(ROWS)], pa.int64()),
        "n": pa.array([None if i // 5000 == 2 else i % 7919 for i in range(ROWS)], pa.int32()),
        "t": [f"string {i:08}" for i in range(ROWS)],
        "d": pa.array([None if i % 3 == 0 else i * 10 for i in range(ROWS)], pa.int32()).cast(
            pa.decimal128(12, 2)
        ),
        "f": [float(i) for i in range(ROWS)],
        "scattered": pa.array([(i * 7919) % 100_003 * 2 for i in range(ROWS)], pa.int64()),
        "word": [f"word {(i * 7919) % 100_003}" for i in range(ROWS)],
    }
)
CONDITIONS = [
    xd.col("k") == 50_000,
    xd.col("k") == 50_001,
    (xd.col("k") > 119_990) | (xd.col("k") < 4),
    xd.col("k").is_in([2, 60_000, 119_998]),
    xd.col("n").is_null() & (xd.col("k") < 25_000),
    (xd.col("n") > 7900) & (xd.col("t") < "string 00030000"),
    xd.col("t") == "string 00041234",
    xd.col("d") == 500,
    (xd.col("f") >= 59_990) & ~xd.col("d").is_null(),
    xd.col("scattered") == 4242,
    xd.col("scattered") == 4243,
    xd.col("word").is_in(["word 77", "none"]),
]


def by_pyarrow(path: Path) -> None:
    pq.write_table(
        TABLE, path, row_group_size=30_000, write_page_index=True, data_page_size=4096,
        max_rows_per_page=1000, bloom_filter_options={"scattered": True, "word": True},
    )  # fmt: skip


def by_pyarrow_v2(path: Path) -> None:
    pq.write_table(
        TABLE, path, row_group_size=ROWS, write_page_index=True, data_page_size=8192,
        data_page_version="2.0", use_dictionary=False,
    )  # fmt: skip


def by_duckdb(path: Path) -> None:
    rows = TABLE
    assert rows.num_rows
    duckdb.sql(f"COPY (FROM rows) TO '{path}' (FORMAT parquet, ROW_GROUP_SIZE 10000)")


def by_polars(path: Path) -> None:
    pl.DataFrame(TABLE).write_parquet(path, row_group_size=30_000, data_page_size=8192)


@pytest.mark.parametrize("write", [by_pyarrow, by_pyarrow_v2, by_duckdb, by_polars])
def test_files_of_many_writers(dock: xd.Dock, tmp_path: Path, write: Any) -> None:
    path = tmp_path / "rows.parquet"
    write(path)
    rows = dock.read_parquet(path)
    whole = dock.from_arrow(pq.read_table(path))
    for condition in CONDITIONS:
        result = rows.filter(condition).sort("k").collect()
        assert result.to_pylist() == whole.filter(condition).sort("k").collect().to_pylist(), (
            condition
        )
        assert rows.filter(condition).count() == result.num_rows


def skipped(relation: xd.Relation, what: str) -> int:
    match = re.search(rf"(\d+) {what}", json.dumps(relation.profile().data))
    return int(match[1]) if match else 0


def test_pages_are_counted(dock: xd.Dock, tmp_path: Path) -> None:
    by_pyarrow(tmp_path / "rows.parquet")
    rows = dock.read_parquet(tmp_path / "rows.parquet")
    assert skipped(rows.filter(xd.col("k") == 50_000), "pages skipped") >= 25
    assert skipped(rows.filter(xd.col("scattered") < 0), "pages skipped") == 0
    result = rows.filter(xd.col("k") == 50_000).top_k(1, "f").collect()
    assert result["t"].to_pylist() == ["string 00025000"]


def test_ranges_of_floats_in_sql_leave_out_parts(dock: xd.Dock, tmp_path: Path) -> None:
    """NaN is above all numbers there, and statistics do not count it: a lower bound reads on."""
    floats = [*(float(i) for i in range(6000)), float("nan")]
    pq.write_table(pa.table({"f": floats}), tmp_path / "f.parquet", row_group_size=1000)
    few = dock.sql(f"select f from '{tmp_path}/f.parquet' where f >= 2500 and f < 2503")
    assert few.collect()["f"].to_pylist() == [2500.0, 2501.0, 2502.0]
    assert skipped(few, "of \\d+ parts skipped by statistics") >= 5
    assert dock.sql(f"select f from '{tmp_path}/f.parquet' where f > 5998").count() == 2


def test_row_groups_are_left_out_by_bloom_filters(dock: xd.Dock, tmp_path: Path) -> None:
    by_duckdb(tmp_path / "1.parquet")
    assert (
        dock.read_parquet(tmp_path / "1.parquet").filter(xd.col("word") == "word 1x").count() == 0
    )
    by_pyarrow(tmp_path / "0.parquet")
    path = tmp_path / "0.parquet"
    rows = dock.read_parquet(path)
    absent = next(n for n in range(2, 200_000, 2) if n not in set(TABLE["scattered"].to_pylist()))
    relation = rows.filter(xd.col("scattered") == absent).select("k", "t")
    assert relation.count() == 0
    assert skipped(relation, "by Bloom filters") >= 2


def test_keys_of_a_build_side_leave_out_parts(dock: xd.Dock, tmp_path: Path) -> None:
    """By statistics of row groups, pages and Bloom filters, as a condition on the keys would."""
    by_pyarrow(tmp_path / "rows.parquet")
    rows = dock.read_parquet(tmp_path / "rows.parquet")
    whole = dock.from_arrow(TABLE)

    def keys(name: str, values: list[int]) -> xd.Relation:
        return dock.from_arrow(pa.table({name: pa.array(values, pa.int64())}))

    one = rows.join(keys("k", [50_000]), on="k")
    assert one.collect()["t"].to_pylist() == ["string 00025000"]
    assert skipped(one, "of \\d+ parts skipped by statistics") >= 1
    assert skipped(one, "pages skipped") >= 25
    wide = keys("k", list(range(30_000, 40_000, 2)))  # too many to be listed
    assert rows.join(wide, on="k").count() == 5000
    assert skipped(rows.join(wide, on="k"), "pages skipped") >= 20
    absent = next(n for n in range(2, 200_000, 2) if n not in set(TABLE["scattered"].to_pylist()))
    none = rows.join(keys("scattered", [absent]), on="scattered")
    assert none.count() == 0
    assert skipped(none, "by Bloom filters") >= 2
    assert rows.join(keys("k", []), on="k").count() == 0
    for how in ("inner", "semi", "anti", "left", "right", "full"):
        few = keys("k", [2, 50_000, 50_001, 119_998])
        expected = whole.join(few, on="k", how=how).sort("k").collect().to_pylist()
        assert rows.join(few, on="k", how=how).sort("k").collect().to_pylist() == expected, how
        nulls = dock.from_arrow(pa.table({"n": pa.array([None, 7], pa.int32())}))
        expected = whole.join(nulls, on="n", how=how).sort("k").collect().to_pylist()
        assert rows.join(nulls, on="n", how=how).sort("k").collect().to_pylist() == expected, how


@pytest.mark.parametrize("descending", [False, True])
def test_the_best_rows_leave_out_parts(dock: xd.Dock, tmp_path: Path, descending: bool) -> None:
    """Of a file in order, row groups behind the first cannot have one of them."""
    path = tmp_path / "rows.parquet"
    ordered = TABLE.sort_by([("k", "descending" if descending else "ascending")])
    pq.write_table(ordered, path, row_group_size=3000)
    rows = dock.read_parquet(path)
    for name in ("k", "d", "n"):
        for nulls in ("last", "first"):
            order = (xd.desc if descending else xd.asc)(name, nulls)
            best = rows.sort(order, "k", limit=5).collect().to_pylist()
            whole = dock.from_arrow(ordered).sort(order, "k", limit=5).collect().to_pylist()
            assert best == whole, (name, nulls)
    # What is not read may be damaged.
    content = bytearray(path.read_bytes())
    metadata = pq.read_metadata(path)
    begin = metadata.row_group(10).column(0).dictionary_page_offset
    last = metadata.row_group(metadata.num_row_groups - 1).column(metadata.num_columns - 1)
    end = last.data_page_offset
    content[begin:end] = b"\xff" * (end - begin)
    path.write_bytes(content)
    rows = dock.read_parquet(path).select("k", "f")  # dictionaries of strings are read first
    best = rows.sort(xd.desc("k") if descending else "k", limit=5).collect()["k"].to_pylist()
    assert best == ordered["k"][:5].to_pylist()
    with pytest.raises(xd.DataError):
        rows.agg(s=xd.sum("k")).collect()


def test_an_index_that_contradicts_itself(dock: xd.Dock, tmp_path: Path) -> None:
    """Bytes of the page indexes and filters are changed one after the other: rows are those of the
    file, or there is an error."""
    path = tmp_path / "rows.parquet"
    small = TABLE.slice(0, 3000)
    pq.write_table(
        small, path, write_page_index=True, max_rows_per_page=500,
        bloom_filter_options={"scattered": True},
    )  # fmt: skip
    content = path.read_bytes()
    chunk = pq.read_metadata(path).row_group(0).column(6)
    data_end = chunk.data_page_offset + chunk.total_compressed_size
    footer = len(content) - 8 - int.from_bytes(content[-8:-4], "little")
    for at in range(data_end, footer, max(1, (footer - data_end) // 150)):
        broken = bytearray(content)
        broken[at] ^= 0xFF
        path.write_bytes(broken)
        # A bound may have become another one, which nothing tells: all rows are asked for.
        assert dock.read_parquet(path).filter(xd.col("n") >= 0).count() <= small.num_rows
        result = dock.read_parquet(path).collect()
        assert result.num_rows == small.num_rows
