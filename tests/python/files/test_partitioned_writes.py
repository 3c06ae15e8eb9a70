"""Results in folders by the values of columns, and the options of Parquet files: what DuckDB and
crossdock read back is what was written."""

from __future__ import annotations

import datetime
import random
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.files import partitioned_writes
from crossdock.files.partitioned_writes import Layout, write_partitioned
from crossdock.files.writers import WriteOptions

DRAW = random.Random(1)
TABLE = pa.table({
    "k": pa.array(range(5000)),
    "city": [DRAW.choice(["Bern", "a/b", "x y=1", "", "ü", None]) for _ in range(5000)],
    "day": [DRAW.choice([datetime.date(2024, 2, 29), datetime.date(1999, 1, 1), None])
            for _ in range(5000)],
    "year": [DRAW.choice([2024, -3, None]) for _ in range(5000)],
    "list": [[i] * (i % 3) for i in range(5000)],
})  # fmt: skip


def by_key(table: pa.Table) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = table.sort_by("k").select(sorted(table.column_names)).to_pylist()
    return rows


@pytest.mark.parametrize(
    ("values", "read"),
    [(["01234", "9"], ["01234", "9"]), (["007", "7"], ["007", "7"]), (["01", "12"], [1, 12])],
)  # fmt: skip
def test_strings_of_digits_keep_their_zeros(
    dock: xd.Dock, tmp_path: Path, values: list[str], read: list[str | int]
) -> None:
    dock.from_arrow(pa.table({"k": values, "v": [0, 1]})).write_parquet(
        tmp_path / "out", partition_by="k"
    )
    assert dock.read(tmp_path / "out").sort("v").collect()["k"].to_pylist() == read


@pytest.mark.parametrize("keys", [["year"], ["city"], ["day", "city"], ["year", "day", "city"]])
def test_folders_come_back(dock: xd.Dock, tmp_path: Path, keys: list[str]) -> None:
    folder = tmp_path / "out"
    assert dock.from_arrow(TABLE).write_parquet(folder, partition_by=keys) == 5000
    assert by_key(dock.read_parquet(folder).collect()) == by_key(TABLE)
    ours = by_key(TABLE)
    types = ", hive_types={'year': bigint}" if "year" in keys else ""
    files = f"read_parquet('{folder}/**/*.parquet', hive_partitioning=true{types})"
    others = duckdb.sql(f"select * from {files}").to_arrow_table()
    assert set(others.column_names) == set(TABLE.column_names)
    assert [row["k"] for row in by_key(others)] == list(range(5000))
    if keys == ["year"]:
        assert by_key(others) == ours
    whole = dock.read_parquet(folder).filter(xd.col("year") == 2024)
    assert whole.count() == sum(year == 2024 for year in TABLE["year"].to_pylist())


@pytest.mark.parametrize("form", ["parquet", "csv", "arrow"])
def test_a_folder_of_no_rows_can_be_read(dock: xd.Dock, tmp_path: Path, form: str) -> None:
    folder = tmp_path / "out"
    names = [f.name for f in TABLE.schema if form != "csv" or not pa.types.is_nested(f.type)]
    dock.register("t", TABLE.slice(0, 0).select(names))
    dock.sql(f"copy t to '{folder}' (format {form}, partition_by (year, city))")
    back = dock.read(folder)
    assert sorted(back.columns) == sorted(names)
    assert back.count() == 0


def test_a_folder_of_no_rows_that_may_be_replaced(dock: xd.Dock, tmp_path: Path) -> None:
    none = dock.from_arrow(TABLE.slice(0, 0))
    none.write_parquet(tmp_path / "new", partition_by="year", overwrite=True)
    assert sorted(dock.read(tmp_path / "new").columns) == sorted(TABLE.column_names)
    dock.from_arrow(TABLE).write_parquet(tmp_path / "old", partition_by="year")
    none.write_parquet(tmp_path / "old", partition_by="year", overwrite=True)
    assert dock.read(tmp_path / "old").count() == TABLE.num_rows


@pytest.mark.parametrize("batch_rows", [7, 1000])
def test_rows_keep_their_order_in_a_folder(tmp_path: Path, batch_rows: int) -> None:
    batches = TABLE.to_batches(batch_rows)
    write_partitioned(batches, TABLE.schema, tmp_path / "out", Layout(("year",)))
    for folder in (tmp_path / "out").iterdir():
        (file,) = folder.iterdir()
        rows = pq.ParquetFile(file).read()["k"].to_pylist()
        assert rows == sorted(rows)


VALUES: dict[str, pa.Array] = {
    "booleans": pa.array([True, False, None]),
    "decimals": pa.array([Decimal("1.50"), None, Decimal("-2.00")]),
    "timestamps": pa.array([datetime.datetime(2024, 1, 2, 3, 4, 5), None, None]),
    "dictionaries": pa.array(["b", None, "a"]).dictionary_encode(),
    "views": pa.array(["b", None, "a"], pa.string_view()),
    "unsigned": pa.array([2**63, 1, None], pa.uint64()),
}


@pytest.mark.parametrize("name", VALUES)
def test_types_of_folders(dock: xd.Dock, tmp_path: Path, name: str) -> None:
    values = VALUES[name]
    table = pa.table({"n": [1, 2, 3], "x": values})
    dock.from_arrow(table).write_parquet(tmp_path / "out", partition_by="x")
    result = dock.read_parquet(tmp_path / "out").sort("n").collect()
    plain = values.cast(values.type.value_type) if name == "dictionaries" else values
    expected = [None if v is None else str(v).replace("True", "true").replace("False", "false")
                for v in plain.to_pylist()]  # fmt: skip
    assert [None if v is None else str(v) for v in result["x"].to_pylist()] == expected


@pytest.mark.parametrize(
    ("keys", "error", "message"),
    [
        (["nope"], xd.ColumnError, "no column 'nope' in partition_by="),
        (["k", "k"], xd.ColumnError, "'k' twice"),
        (["list"], xd.OptionError, "column 'list' of type list.* cannot name folders"),
        (TABLE.column_names[:4], None, ""),
        (TABLE.column_names, xd.OptionError, "cannot name folders"),
    ],
    ids=str,
)
def test_columns_that_are_no_folders(
    dock: xd.Dock, tmp_path: Path, keys: list[str], error: type[Exception] | None, message: str
) -> None:
    rows = dock.from_arrow(TABLE.slice(0, 20))
    if error is None:
        assert rows.write_parquet(tmp_path / "out", partition_by=keys) == 20
        return
    with pytest.raises(error, match=message):
        rows.write_parquet(tmp_path / "out", partition_by=keys)
    with pytest.raises(xd.OptionError, match="leaves none"):
        rows.select("k").write_parquet(tmp_path / "out", partition_by=["k"])
    assert not (tmp_path / "out").exists()


def test_folders_that_are_there(dock: xd.Dock, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    rows = dock.from_arrow(pa.table({"n": [1, 2], "x": ["a", "b"]}))
    rows.write_parquet(folder, partition_by="x")
    with pytest.raises(xd.PathError, match=r"(?s)is there already.*overwrite=True"):
        rows.write_parquet(folder, partition_by="x")
    more = dock.from_arrow(pa.table({"n": [3, 4], "x": ["b", "c"]}))
    assert more.write_parquet(folder, partition_by="x", overwrite=True) == 2
    assert dock.read_parquet(folder).sort("n").collect()["n"].to_pylist() == [1, 3, 4]
    # It may read what it replaces.
    read = dock.read_parquet(folder)
    assert read.filter(xd.col("x") == "a").with_columns(n=xd.col("n") * 10).write_parquet(
        folder, partition_by="x", overwrite=True
    ) == 1  # fmt: skip
    assert dock.read_parquet(folder).sort("n").collect()["n"].to_pylist() == [3, 4, 10]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    with pytest.raises(xd.PathError, match="no folder"):
        rows.write_parquet(tmp_path / "no" / "out", partition_by="x")


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Any:
        yield from TABLE.to_batches()
        raise KeyboardInterrupt

    for overwrite in (False, True):
        with pytest.raises(KeyboardInterrupt):
            write_partitioned(
                failing(), TABLE.schema, tmp_path / "out", Layout(("year",)), overwrite
            )
        assert list(tmp_path.iterdir()) == []


def test_many_folders_in_bounded_memory(
    dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of each folder in each batch keeps no batch alive, and few files are open at once."""
    monkeypatch.setattr(partitioned_writes, "_HELD_BYTES", 4 << 20)
    monkeypatch.setattr(partitioned_writes, "_OPEN_FILES", 7)
    before, most = pa.total_allocated_bytes(), 0

    def batches() -> Any:
        nonlocal most
        for number in range(150):
            text = [f"{number} {row} {'x' * 50}" for row in range(5000)]
            keys = [row % 20 if row % 100 == 0 else 20 for row in range(5000)]
            yield pa.record_batch({"text": text, "k": keys})
            most = max(most, pa.total_allocated_bytes() - before)

    schema = pa.schema([("text", pa.string()), ("k", pa.int64())])
    assert write_partitioned(batches(), schema, tmp_path / "out", Layout(("k",))) == 750_000
    assert most < 24 << 20  # of 45 MB
    assert dock.read_parquet(tmp_path / "out").count() == 750_000


def test_few_files_are_open_at_once(
    dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(partitioned_writes, "_HELD_BYTES", 4000)
    monkeypatch.setattr(partitioned_writes, "_OPEN_FILES", 7)
    table = pa.table({"n": range(5000), "k": [row % 20 for row in range(5000)]})
    layout = Layout(("k",))
    assert write_partitioned(table.to_batches(500), table.schema, tmp_path / "out", layout) == 5000
    assert len(list(tmp_path.glob("out/k=*/part-00001.parquet"))) == 20
    assert dock.read_parquet(tmp_path / "out").sort("n").collect() == table


@pytest.mark.parametrize("form", ["csv", "arrow", "json", "ndjson", "parquet"])
def test_copy_in_all_formats(dock: xd.Dock, tmp_path: Path, form: str) -> None:
    dock.register("t", pa.table({"a": [1, 2, 3], "k": ["x", "y", "x"]}))
    dock.sql(f"copy t to '{tmp_path}/out' (format {form}, partition_by k)")
    result = dock.read(tmp_path / "out").sort("a").collect()
    assert result.select(["a", "k"]).to_pydict() == {"a": [1, 2, 3], "k": ["x", "y", "x"]}
    with pytest.raises(xd.PathError):
        dock.sql(f"copy t to '{tmp_path}/out' (format {form}, partition_by k)")


def test_options_of_parquet(dock: xd.Dock, tmp_path: Path) -> None:
    rows = dock.from_arrow(pa.table({"n": range(10_000), "s": ["text"] * 10_000}))
    path = tmp_path / "x.parquet"
    for options in (
        {"row_group_rows": 3000}, {"row_group_rows": 3000, "level": 19},
        {"row_group_rows": 3000, "compression": "gzip", "level": 1},
    ):  # fmt: skip
        rows.write(path, **options)
        file = pq.ParquetFile(path).metadata
        groups = [file.row_group(i).num_rows for i in range(file.num_row_groups)]
        assert groups == [3000, 3000, 3000, 1000]
        assert file.row_group(0).column(0).compression == options.get("compression", "zstd").upper()
        assert dock.read_parquet(path).count() == 10_000
    rows.write_parquet(tmp_path / "out", partition_by="s", row_group_rows=4000)
    (file,) = tmp_path.glob("out/*/*")
    assert [pq.ParquetFile(file).metadata.row_group(i).num_rows for i in range(3)] == [
        4000, 4000, 2000,
    ]  # fmt: skip
    dock.register("t", rows)
    dock.sql(f"copy t to '{path}' (compression gzip, compression_level 9, row_group_size 5000)")
    assert pq.ParquetFile(path).metadata.num_row_groups == 2


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"level": 23}, "(?s)level=23.*1 to 22"),
        ({"level": 3, "compression": "snappy"}, "(?s)level=3.*it has none"),
        ({"level": "x"}, "level"),
        ({"row_group_rows": 0}, "row_group_rows=0"),
        ({"row_group_rows": -1}, "from 0 on"),
        ({"compression": "zip"}, "compression='zip' is not a choice"),
        ({"partition_by": 3}, "partition_by"),
    ],
    ids=str,
)
def test_options_that_are_none(
    dock: xd.Dock, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    rows = dock.from_arrow(TABLE)
    with pytest.raises(xd.OptionError, match=message):
        rows.write_parquet(tmp_path / "x.parquet", **options)
    with pytest.raises(xd.OptionError, match="is an option of Parquet, not of csv"):
        rows.write(tmp_path / "x.csv", level=3)
    with pytest.raises(xd.OptionError, match="has no option 'codec'"):
        rows.write(tmp_path / "x.parquet", codec="zstd")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("ending", ["json", "ndjson", "jsonl", "json.gz", "ndjson.zst"])
def test_json_comes_back(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    rows = dock.from_arrow(TABLE.select(["k", "city", "list"]))
    assert rows.write(tmp_path / f"x.{ending}") == 5000
    result = dock.read(tmp_path / f"x.{ending}")
    assert result.collect().to_pylist() == rows.collect().to_pylist()
    with pa.input_stream(str(tmp_path / f"x.{ending}")) as stream:
        assert stream.read(1) == (b"[" if "njson" not in ending and ending != "jsonl" and
                                  not ending.startswith("nd") else b"{")  # fmt: skip
    assert dock.from_arrow(TABLE.slice(0, 0)).write(tmp_path / "none.json") == 0
    assert (tmp_path / "none.json").read_text() == "[]\n"


def test_batches_of_any_size_make_row_groups(tmp_path: Path) -> None:
    from crossdock.files.writers import write_file

    for batch_rows in (1, 299, 5000):
        path = tmp_path / "x.parquet"
        options = WriteOptions(row_group_rows=700)
        write_file(TABLE.to_batches(batch_rows), TABLE.schema, path, options)
        file = pq.ParquetFile(path)
        assert [file.metadata.row_group(i).num_rows for i in range(8)] == [700] * 7 + [100]
        assert file.read().equals(TABLE)
