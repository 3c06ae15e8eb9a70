"""Delta and Iceberg tables: rows are those that their own packages read, conditions leave out files
by the bounds of log and manifests, and what is not read is refused."""

from __future__ import annotations

import datetime
import pickle
import random
import re
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

col = xd.col
ROWS = 60
NOON = datetime.datetime(2024, 3, 1, 12)


def part_from(first: int, seed: int = 1) -> pa.Table:
    draw = random.Random(seed + first)
    numbers = range(first, first + ROWS)

    def some(value: Any) -> Any:
        return None if draw.random() < 0.1 else value

    return pa.table(
        {
            "k": pa.array(numbers, pa.int64()),
            "n": pa.array([some(n % 7) for n in numbers], pa.int32()),
            "x": pa.array([some(draw.choice([n / 2, -0.0])) for n in numbers], pa.float64()),
            "s": pa.array([some(f"ä{n:05} " + "x" * 80) for n in numbers], pa.string()),
            "d": pa.array([some(Decimal(n).scaleb(-2)) for n in numbers], pa.decimal128(12, 2)),
            "wide": pa.array([some(Decimal(n) * 10**20) for n in numbers], pa.decimal128(30, 2)),
            "day": pa.array([some(NOON.date() + datetime.timedelta(n)) for n in numbers]),
            "at": pa.array(
                [NOON + datetime.timedelta(seconds=n, microseconds=n) for n in numbers],
                pa.timestamp("us"),
            ),
            "flag": pa.array([some(n % 2 == 0) for n in numbers]),
            "none": pa.nulls(ROWS, pa.int32()),
            "part": pa.array([some(f"p/{n % ROWS * 3 // ROWS} %") for n in numbers]),
        }
    )


PARTS = [part_from(0), part_from(1000), part_from(2000)]
CONDITIONS = [
    col("k") == 1007,
    col("k") < 3,
    col("k") >= 2055,
    (col("k") > 1500) & (col("n") == 3),
    (col("k") < 5) | (col("k") > 2050),
    col("k").is_in([3, 2007, None]),
    col("x") > 1020.0,
    col("x") == float("nan"),
    col("s") > "ä02050",
    col("d") <= Decimal("0.05"),
    col("wide") == Decimal(2001) * 10**20,
    col("day") == datetime.date(2024, 3, 11),
    col("at") > NOON + datetime.timedelta(seconds=2058, microseconds=2058),
    col("at") <= NOON + datetime.timedelta(microseconds=1),
    ~col("none").is_null(),
    col("none") == 1,
    col("n").is_null(),
    col("flag") & (col("part") == "p/0 %"),
    col("part").is_null(),
    ~(col("k") < 2000),
    col("k") > 10_000,
]


def delta_table(folder: Path, partition_by: list[str] | None = None) -> Any:
    deltalake = pytest.importorskip("deltalake")
    for part in PARTS:
        deltalake.write_deltalake(folder, part, mode="append", partition_by=partition_by)
    return deltalake.DeltaTable(folder)


def iceberg_table(folder: Path, partition_by: list[str] | None = None) -> Any:
    catalogs = pytest.importorskip("pyiceberg.catalog.sql")
    catalog = catalogs.SqlCatalog(
        "test", uri=f"sqlite:///{folder}/catalog.db", warehouse=f"file://{folder}"
    )
    catalog.create_namespace("n")
    table = catalog.create_table("n.t", schema=PARTS[0].schema)
    if partition_by:
        with table.update_spec() as update:
            for name in partition_by:
                update.add_identity(name)
    for part in PARTS:
        table.append(part)
    return table


def opened(dock: xd.Dock, kind: str, folder: Path, partition_by: list[str] | None) -> xd.Relation:
    if kind == "delta":
        delta_table(folder, partition_by)
        return dock.read_delta(folder)
    return dock.read_iceberg(iceberg_table(folder, partition_by))


def files_read(relation: xd.Relation) -> tuple[int, int]:
    """How many files are left, and of how many."""
    match = re.search(r"(\d+) of (\d+) files", str(relation.explain()))
    return (int(match[1]), int(match[2])) if match else (0, 0)


@pytest.mark.parametrize("partition_by", [None, ["part"], ["n", "flag"]], ids=str)
@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_rows_are_those_that_were_written(
    dock: xd.Dock, tmp_path: Path, kind: str, partition_by: list[str] | None
) -> None:
    rows = opened(dock, kind, tmp_path, partition_by)
    whole = dock.from_arrow(pa.concat_tables(PARTS))
    assert rows.columns == whole.columns
    assert rows.count() == 3 * ROWS
    assert rows.sort("k").collect().to_pylist() == whole.sort("k").collect().to_pylist()
    for condition in CONDITIONS:
        kept = rows.filter(condition).sort("k").collect().to_pylist()
        assert kept == whole.filter(condition).sort("k").collect().to_pylist(), condition


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_bounds_leave_files_out(dock: xd.Dock, tmp_path: Path, kind: str) -> None:
    """They are not even opened: two of three are gone."""
    rows = opened(dock, kind, tmp_path, None)
    for file in list(tmp_path.rglob("*.parquet")):
        if pq.read_table(file).column("k")[0].as_py() != 1000:
            file.unlink()
    for condition in (
        col("k") == 1007,
        (col("s") > "ä01010") & (col("d") < 15),
        col("k").is_in([1001, 1002]),
        (col("k") > 1000) & (col("day") < datetime.date(2028, 1, 1)),
        (col("x") > 100.0) & (col("at") < NOON + datetime.timedelta(seconds=1500)),
    ):
        relation = rows.filter(condition)
        assert files_read(relation) == (1, 3), condition
        assert relation.count() > 0
    assert rows.count() == 3 * ROWS  # from the log
    with pytest.raises(xd.CrossdockError, match=r"nothing to read|cannot be read"):
        rows.filter(col("k") < 10).collect()


@pytest.mark.parametrize("kind", ["delta", "iceberg"])
def test_files_of_other_partitions_are_left_out(dock: xd.Dock, tmp_path: Path, kind: str) -> None:
    rows = opened(dock, kind, tmp_path, ["part"])
    left, of = files_read(rows.filter(col("part") == "p/1 %"))
    assert of >= 9
    assert left == 3
    assert files_read(rows.filter(col("part").is_null()))[0] < of
    joined = rows.join(rows.filter(col("k") < 10), on="k").filter(col("part") == "p/0 %")
    assert joined.count() > 0


def test_versions_of_a_delta_table(dock: xd.Dock, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    table = delta_table(tmp_path)
    table.delete("k < 1000")
    assert dock.read_delta(tmp_path).count() == 2 * ROWS
    assert dock.read(tmp_path).count() == 2 * ROWS
    assert dock.read_delta(tmp_path, version=1).agg(n=xd.max("k")).collect()["n"][0].as_py() == 1059
    assert dock.read_delta(deltalake.DeltaTable(tmp_path, version=0)).count() == ROWS
    sql = dock.sql(f"select count(*) as n from delta_scan('{tmp_path}', version=2)").collect()
    assert sql["n"].to_pylist() == [3 * ROWS]
    with pytest.raises(xd.PathError, match="nothing to read"):
        dock.read_delta(tmp_path, version=99)
    with pytest.raises(xd.PathError):
        dock.read_delta(tmp_path / "elsewhere")


def test_columns_that_came_later(dock: xd.Dock, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    delta_table(tmp_path)
    later = pa.table({"k": pa.array([5000], pa.int64()), "later": ["x"]})
    deltalake.write_deltalake(tmp_path, later, mode="append", schema_mode="merge")
    rows = dock.read_delta(tmp_path)
    assert rows.filter(col("later").is_null()).count() == 3 * ROWS
    assert rows.filter(col("later") == "x").collect()["k"].to_pylist() == [5000]


def test_an_empty_table(dock: xd.Dock, tmp_path: Path) -> None:
    deltalake = pytest.importorskip("deltalake")
    delta_table(tmp_path).delete()
    assert dock.read_delta(tmp_path).count() == 0
    assert dock.read_delta(deltalake.DeltaTable(tmp_path)).collect().num_rows == 0


def test_snapshots_of_an_iceberg_table(dock: xd.Dock, tmp_path: Path) -> None:
    table = iceberg_table(tmp_path)
    first = table.history()[0].snapshot_id
    assert dock.read_iceberg(table, snapshot=first).count() == ROWS
    path = table.metadata_location.removeprefix("file://")
    rows = dock.read_iceberg(path)
    assert rows.count() == 3 * ROWS
    assert pickle.loads(pickle.dumps(rows)).filter(col("k") == 7).count() == 1
    sql = dock.sql(f"select count(*) as n from iceberg_scan('{path}', snapshot={first})").collect()
    assert sql["n"].to_pylist() == [ROWS]
    with pytest.raises(xd.PathError, match="nothing to read"):
        dock.read_iceberg(tmp_path / "v9.metadata.json")


def test_columns_that_were_renamed_are_refused(dock: xd.Dock, tmp_path: Path) -> None:
    """By their names alone, files would have NULL there."""
    table = iceberg_table(tmp_path)
    with table.update_schema() as update:
        update.rename_column("n", "m")
    with pytest.raises(xd.DataError, match="'m', which was 'n' before"):
        dock.read_iceberg(table)


def test_what_delta_readers_must_know_is_refused(dock: xd.Dock, tmp_path: Path) -> None:
    """The protocol names features; a mapping of columns gives files other names than the table."""
    delta_table(tmp_path)
    log = tmp_path / "_delta_log" / f"{2:020}.json"
    good = log.read_text()
    action = (
        '{"protocol":{"minReaderVersion":3,"minWriterVersion":7,'
        '"readerFeatures":["timestampNtz","somethingNew"],"writerFeatures":["timestampNtz"]}}\n'
    )
    log.write_text(good + action)
    with pytest.raises(xd.CrossdockError, match="somethingNew"):
        dock.read_delta(tmp_path)


def test_what_is_not_installed(
    dock: xd.Dock, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "deltalake", None)
    monkeypatch.setitem(sys.modules, "pyiceberg.table", None)
    with pytest.raises(xd.PathError, match=r"crossdock\[delta\]"):
        dock.read_delta(tmp_path)
    with pytest.raises(xd.PathError, match=r"crossdock\[iceberg\]"):
        dock.read_iceberg(tmp_path / "x.metadata.json")
