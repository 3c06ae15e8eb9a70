"""Writing results: every format, whole files or none."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Iterator
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.files.writers import WriteOptions, write_file

TABLE = pa.table(
    {"k": range(1000), "v": pa.array([f"v{i}" for i in range(1000)], pa.string_view())}
)


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows", "csv", "csv.gz", "tsv"])
def test_a_result_comes_back(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    path = tmp_path / f"out.{ending}"
    assert dock.from_arrow(TABLE).write(path) == 1000
    assert dock.read(path).collect().to_pydict() == TABLE.to_pydict()
    assert [entry.name for entry in tmp_path.iterdir()] == [path.name]


def test_a_name_says_how_a_file_is_written(dock: xd.Dock, tmp_path: Path) -> None:
    for name in ("x.tsv", "x.arrows", "x.arrow"):
        dock.from_arrow(TABLE).write(tmp_path / name)
    assert (tmp_path / "x.tsv").read_text().startswith('"k"\t"v"\n0\t"v0"\n')
    with pa.ipc.open_stream(tmp_path / "x.arrows") as stream:
        assert stream.read_all() == TABLE.cast(stream.schema)
    assert pa.ipc.open_file(tmp_path / "x.arrow").num_record_batches == 1


@pytest.mark.parametrize("overwrite", [False, True])
def test_what_is_no_file_is_not_replaced(dock: xd.Dock, tmp_path: Path, overwrite: bool) -> None:
    os.mkfifo(tmp_path / "pipe.parquet")
    (tmp_path / "null.csv").symlink_to("/dev/null")
    for name, kind in (("pipe.parquet", "a pipe"), ("null.csv", "a device")):
        with pytest.raises(xd.PathError, match=f"it is {kind}, not a file"):
            dock.from_arrow(TABLE).write(tmp_path / name, overwrite=overwrite)
    assert stat.S_ISFIFO((tmp_path / "pipe.parquet").stat().st_mode)
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_parquet_with_a_compression(dock: xd.Dock, tmp_path: Path) -> None:
    dock.from_arrow(TABLE).write_parquet(tmp_path / "x.parquet", compression="snappy")
    column = pq.ParquetFile(tmp_path / "x.parquet").metadata.row_group(0).column(0)
    assert column.compression == "SNAPPY"


def test_small_batches_become_one_row_group(tmp_path: Path) -> None:
    write_file(TABLE.to_batches(10), TABLE.schema, tmp_path / "x.parquet")
    assert pq.ParquetFile(tmp_path / "x.parquet").metadata.num_row_groups == 1


def test_an_empty_result_is_a_file(dock: xd.Dock, tmp_path: Path) -> None:
    assert dock.from_arrow(TABLE.slice(0, 0)).write_parquet(tmp_path / "x.parquet") == 0
    assert dock.read(tmp_path / "x.parquet").columns == ["k", "v"]


@pytest.mark.parametrize("kept", [None, xd.col("x") >= 0])
def test_batches_without_rows_are_no_part_of_an_ipc_file(
    dock: xd.Dock, tmp_path: Path, kept: xd.Expr | None
) -> None:
    """Of a stream, and of a table: pyarrow wrote such slices as blocks that no reader takes."""
    values = pa.array(range(300), pa.int64())
    pieces = pa.chunked_array([values.slice(5, 0), values.slice(0, 3), values.slice(136, 0)])
    table = pa.table({"x": pieces})
    for number, data in enumerate((table, table.to_reader())):
        rows = dock.from_arrow(data)
        file = tmp_path / f"{number}.arrow"
        (rows if kept is None else rows.filter(kept)).write(file)
        assert pa.ipc.open_file(file).read_all().column("x").to_pylist() == [0, 1, 2]


def test_json_has_moments_and_days_that_python_has_not(dock: xd.Dock, tmp_path: Path) -> None:
    zoned = pa.array([0, 253402300799 * 2000 + 5, None], pa.timestamp("ms", "America/New_York"))
    table = pa.table({
        "zoned": zoned,
        "utc": pa.array([0, -1, None], pa.timestamp("ns", "UTC")),
        "plain": pa.array([0, 500_000, -(10**18)], pa.timestamp("us")),
        "time": pa.array([0, 1, 86399 * 10**9], pa.time64("ns")),
        "day": pa.array([0, -800_000, 4_000_000], pa.int32()).cast(pa.date32()),
    })  # fmt: skip
    dock.from_arrow(table).write(tmp_path / "x.json")
    first, second, third = json.loads((tmp_path / "x.json").read_text(encoding="utf-8"))
    assert first == {
        "zoned": "1969-12-31 19:00:00-05:00",
        "utc": "1970-01-01 00:00:00+00:00",
        "plain": "1970-01-01 00:00:00",
        "time": "00:00:00",
        "day": "1970-01-01",
    }
    assert second == {
        "zoned": "18029-12-30 18:59:58.005-05:00",
        "utc": "1969-12-31 23:59:59.999999999+00:00",
        "plain": "1970-01-01 00:00:00.500000",
        "time": "00:00:00.000000001",
        "day": "-0221-09-04",
    }
    assert (third["plain"], third["day"]) == ("-29719-04-05 22:13:20", "12921-08-18")


def test_a_run_that_fails_leaves_nothing(tmp_path: Path) -> None:
    def failing() -> Iterator[pa.RecordBatch]:
        yield from TABLE.to_batches()
        raise KeyboardInterrupt

    (tmp_path / "x.parquet").write_text("the old one")
    with pytest.raises(KeyboardInterrupt):
        write_file(failing(), TABLE.schema, tmp_path / "x.parquet")
    assert (tmp_path / "x.parquet").read_text() == "the old one"
    assert len(list(tmp_path.iterdir())) == 1


def test_where_nothing_can_be_written(dock: xd.Dock, tmp_path: Path) -> None:
    relation = dock.from_arrow(TABLE)
    with pytest.raises(xd.PathError, match="no folder"):
        relation.write_parquet(tmp_path / "missing" / "x.parquet")
    with pytest.raises(xd.PathError, match="CD-503"):
        relation.write(tmp_path / "x.xlsx")


def test_what_a_format_cannot_hold(dock: xd.Dock, tmp_path: Path) -> None:
    nested = dock.from_arrow(pa.table({"x": [[1], [2]]}))
    with pytest.raises(xd.PathError, match=r"cannot hold this result(.|\n)*parquet"):
        nested.write(tmp_path / "x.csv")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("name", ["/proc/x.parquet", "/proc/x.csv", "/proc/x.arrow"])
def test_where_the_system_refuses(dock: xd.Dock, name: str) -> None:
    with pytest.raises(
        xd.PathError, match=rf"CD-502\] '{name}' cannot be written: (.|\n)*try"
    ) as e:
        dock.from_arrow(TABLE).write(name)
    assert "partial" not in str(e.value)


def test_a_folder_and_a_long_name_in_the_way(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "x.parquet").mkdir()
    with pytest.raises(xd.PathError, match=r"it is a folder(.|\n)*try"):
        dock.from_arrow(TABLE).write(tmp_path / "x.parquet")
    with pytest.raises(xd.PathError, match=r"it is a folder(.|\n)*partition_by="):
        dock.from_arrow(TABLE).write_parquet(f"{tmp_path}/new/")
    with pytest.raises(xd.PathError, match=r"too long(.|\n)*a shorter name"):
        dock.from_arrow(TABLE).write(tmp_path / ("x" * 300 + ".parquet"))
    with pytest.raises(xd.PathError, match=r"'/proc/x' cannot be written(.|\n)*try"):
        dock.from_arrow(TABLE).partition_by("k", 2).write("/proc/x")


@pytest.fixture
def stored(tmp_path: Path) -> Path:
    """A file that is read, in a folder, and two links to it."""
    (tmp_path / "in").mkdir()
    path = tmp_path / "in" / "k.parquet"
    pq.write_table(pa.table({"k": [2, 1]}), path)
    (tmp_path / "soft.parquet").symlink_to(path)
    (tmp_path / "hard.parquet").hardlink_to(path)
    return path


@pytest.mark.parametrize("out", ["in/k.parquet", "in/../in/k.parquet", "soft.parquet",
                                 "hard.parquet"])  # fmt: skip
@pytest.mark.parametrize("read", ["in/k.parquet", "in", "in/*.parquet", "soft.parquet"])
def test_an_input_is_not_replaced_unawares(
    dock: xd.Dock, tmp_path: Path, stored: Path, read: str, out: str
) -> None:
    relation = dock.read(tmp_path / read).sort("k")
    for write in (relation.write, relation.write_parquet):
        with pytest.raises(xd.PathError, match=r"is an input of this result(.|\n)*overwrite=True"):
            write(tmp_path / out)
    assert pq.read_table(stored)["k"].to_pylist() == [2, 1]
    assert relation.write(tmp_path / out, overwrite=True) == 2
    assert pq.read_table(tmp_path / out)["k"].to_pylist() == [1, 2]


def test_a_link_stays_one_and_other_files_are_replaced(
    dock: xd.Dock, tmp_path: Path, stored: Path
) -> None:
    dock.from_arrow(TABLE).write(tmp_path / "soft.parquet")
    assert (tmp_path / "soft.parquet").is_symlink()
    assert pq.read_table(stored).num_rows == 1000
    joined = dock.read(stored).join(dock.from_arrow(TABLE), on="k")
    joined.write(tmp_path / "new.parquet")
    assert joined.union(joined).files() == [str(stored)] * 2
    joined.write(tmp_path / "new.parquet")
    assert sorted(entry.name for entry in tmp_path.iterdir()) == [
        "hard.parquet", "in", "new.parquet", "soft.parquet",
    ]  # fmt: skip
    assert [entry.name for entry in (tmp_path / "in").iterdir()] == ["k.parquet"]


def test_parquet_says_its_order_and_the_bounds_of_pages(dock: xd.Dock, tmp_path: Path) -> None:
    table = pa.table({"k": [3, 1, 2, None], "t": ["c", "a", "b", "d"], "l": [[1], [2], [3], [4]]})
    rows = dock.from_arrow(table).select("t", "k")
    path = tmp_path / "rows.parquet"
    rows.sort(xd.desc("k", "first"), "t").write_parquet(path)
    group = pq.read_metadata(path).row_group(0)
    assert group.sorting_columns == (
        pq.SortingColumn(1, descending=True, nulls_first=True), pq.SortingColumn(0),
    )  # fmt: skip
    assert group.column(0).has_column_index
    assert group.column(0).has_offset_index
    rows.sort(xd.col("k") + 1).write_parquet(path)
    assert pq.read_metadata(path).row_group(0).sorting_columns == ()
    rows.assume_sorted("k").write_parquet(path)  # which is not checked
    assert pq.read_metadata(path).row_group(0).sorting_columns == ()
    dock.from_arrow(table).sort("k").write_parquet(path)  # nested columns
    assert pq.read_metadata(path).row_group(0).sorting_columns == ()


@pytest.mark.parametrize("rows", [0, 1, 4000])
def test_row_groups_of_several_threads_are_one_file(
    tmp_path: Path, rows: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Their parts and indexes lie where the footer says, for readers of four kinds."""
    monkeypatch.setattr("crossdock.files.writers.encoding_threads", lambda: 3)
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    table = pa.table(
        {
            "k": pa.array(range(rows), pa.int64()),
            "t": [f"string {n % 700}" for n in range(rows)],
            "x": pa.array([None if n % 7 == 0 else n / 3 for n in range(rows)], pa.float64()),
            "l": pa.array([[n, n + 1] for n in range(rows)], pa.list_(pa.int64())),
            "none": pa.nulls(rows, pa.int32()),
        }
    )
    path = tmp_path / "rows.parquet"
    options = WriteOptions(row_group_rows=130)
    assert write_file(table.to_batches(77), table.schema, path, options) == rows
    assert pq.read_table(path).equals(table)
    assert duckdb.sql(f"SELECT count(*), sum(k) FROM '{path}'").fetchall()[0][0] == rows
    if rows:
        assert polars.read_parquet(path)["k"].sum() == sum(range(rows))
    metadata = pq.read_metadata(path)
    assert metadata.num_row_groups == -(-rows // 130)
    assert metadata.num_rows == rows
    begins = [
        metadata.row_group(g).column(c).data_page_offset
        for g in range(metadata.num_row_groups)
        for c in range(5)
    ]
    assert begins == sorted(begins)
    dock = xd.connect(threads=2)
    for k in (0, 131, 3999):
        kept = dock.read_parquet(path).filter(xd.col("k") == k).collect()["t"].to_pylist()
        assert kept == ([f"string {k % 700}"] if k < rows else [])
    chunks = [metadata.row_group(g).column(c) for g in range(len(begins) // 5) for c in range(5)]
    assert all(chunk.has_offset_index for chunk in chunks)


def test_a_failing_thread_leaves_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A value that Parquet cannot hold is an error of the write, whichever thread meets it."""
    monkeypatch.setattr("crossdock.files.writers.encoding_threads", lambda: 3)
    batch = pa.record_batch({"m": pa.array([(1, 2, 3)], pa.month_day_nano_interval())})
    with pytest.raises(xd.CrossdockError):
        write_file([batch], batch.schema, tmp_path / "rows.parquet")
    assert list(tmp_path.iterdir()) == []
