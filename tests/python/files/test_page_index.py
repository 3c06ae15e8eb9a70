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
        found = rows.filter(condition).sort("k").collect()
        assert found.to_pylist() == whole.filter(condition).sort("k").collect().to_pylist(), (
            condition
        )
        assert rows.filter(condition).count() == found.num_rows


def skipped(relation: xd.Relation, what: str) -> int:
    found = re.search(rf"(\d+) {what}", json.dumps(relation.profile().data))
    return int(found[1]) if found else 0


def test_pages_are_counted(dock: xd.Dock, tmp_path: Path) -> None:
    by_pyarrow(tmp_path / "rows.parquet")
    rows = dock.read_parquet(tmp_path / "rows.parquet")
    assert skipped(rows.filter(xd.col("k") == 50_000), "pages skipped") >= 25
    assert skipped(rows.filter(xd.col("scattered") < 0), "pages skipped") == 0
    found = rows.filter(xd.col("k") == 50_000).top_k(1, "f").collect()
    assert found["t"].to_pylist() == ["string 00025000"]


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
        found = dock.read_parquet(path).collect()
        assert found.num_rows == small.num_rows
