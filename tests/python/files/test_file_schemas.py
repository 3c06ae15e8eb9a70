"""Files whose schemas differ: unified by name, or an error that names them; nothing is lost."""

from __future__ import annotations

import datetime
import operator
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet
import pytest

US = datetime.datetime(2020, 1, 1, 0, 0, 0, 1)


def write(folder: Path, ending: str, *tables: pa.Table) -> Path:
    for number, table in enumerate(tables):
        path = folder / f"{number}.{ending}"
        if ending == "parquet":
            pyarrow.parquet.write_table(table, path)
        elif ending == "arrow":
            pyarrow.feather.write_feather(table, str(path))
        elif ending == "arrows":
            with pa.ipc.new_stream(str(path), table.schema) as stream:
                stream.write_table(table)
        else:
            pyarrow.csv.write_csv(table, path)
    return folder


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows", "csv"])
def test_columns_are_matched_by_name(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    one, other = pa.table({"a": [1, 2], "b": ["x", "y"]}), pa.table({"c": [0.5], "a": [3]})
    rows = dock.read(write(tmp_path, ending, one, other))
    assert rows.collect().to_pylist() == [
        {"a": 1, "b": "x", "c": None},
        {"a": 2, "b": "y", "c": None},
        {"a": 3, "b": None, "c": 0.5},
    ]
    assert rows.filter(xd.col("b").is_null()).collect()["a"].to_pylist() == [3]
    assert rows.filter(~(xd.col("c") > 1)).collect()["a"].to_pylist() == [3]
    assert rows.filter(xd.col("c").is_null()).count() == 2
    assert rows.count() == 3
    assert rows.sort("a").collect() == rows.collect()


WIDER: dict[str, tuple[pa.Array, pa.Array, pa.DataType]] = {
    "integers": (pa.array([1, 2], pa.int32()), pa.array([1 << 40]), pa.int64()),
    "integer and float": (pa.array([1, 2]), pa.array([1.5, float("nan")]), pa.float64()),
    "floats": (pa.array([1.5], pa.float32()), pa.array([0.1]), pa.float64()),
    "null": (pa.nulls(2), pa.array(["a"]), pa.string()),
    "units": (pa.array([US], pa.timestamp("us")), pa.array([US, None], pa.timestamp("ns")),
              pa.timestamp("ns")),
    "dates": (pa.array([US.date(), None]), pa.array([US], pa.timestamp("us")), pa.timestamp("us")),
    "decimals": (pa.array([Decimal("1.5")]), pa.array([Decimal("10.25")]), pa.decimal128(4, 2)),
    "decimal and integers": (pa.array([Decimal("1.25")], pa.decimal128(10, 2)),
                             pa.array([-(1 << 63), (1 << 63) - 1]), pa.decimal128(21, 2)),
    "integers and decimal": (pa.array([255], pa.uint8()), pa.array([Decimal("0.5")]),
                             pa.decimal128(4, 1)),
    "dictionary": (pa.array(["a", "b"]).dictionary_encode(), pa.array(["c"]), pa.string()),
    "strings": (pa.array(["a"]), pa.array(["b"], pa.large_string()), pa.large_string()),
    "view": (pa.array(["a"], pa.string_view()), pa.array(["b"]), pa.string()),
}  # fmt: skip
COMPARISONS = (operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge)


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
@pytest.mark.parametrize("name", WIDER)
def test_types_are_widened(dock: xd.Dock, tmp_path: Path, name: str, ending: str) -> None:
    one, other, wide = WIDER[name]
    tables = [pa.table({"i": range(len(part)), "x": part}) for part in (one, other)]
    rows = dock.read(write(tmp_path, ending, *tables))
    assert rows.schema.field("x").type == wide
    whole = [*one.cast(wide), *other.cast(wide)]
    result = rows.collect()
    assert [str(value) for value in result["x"]] == [str(value) for value in whole]
    memory = dock.from_arrow(result)
    for value in {str(v): v.as_py() for v in whole if v.is_valid}.values():
        for compare in COMPARISONS:
            predicate = compare(xd.col("x"), value)
            expected = memory.filter(predicate).collect().combine_chunks()
            kept = rows.filter(predicate).collect().combine_chunks()
            assert str(kept) == str(expected), predicate
            assert rows.filter(predicate).count() == expected.num_rows, predicate


def test_dates_beside_timestamps_of_text(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "1.csv").write_text("t\n2020-01-01\n")
    (tmp_path / "2.csv").write_text("t\n2020-01-02 03:04:05\n")
    rows = dock.read_csv(tmp_path).collect()["t"].to_pylist()
    assert rows == [datetime.datetime(2020, 1, 1), datetime.datetime(2020, 1, 2, 3, 4, 5)]


def typed(data_type: pa.DataType) -> pa.Table:
    return pa.table({"x": pa.nulls(1, data_type)})


@pytest.mark.parametrize(
    ("tables", "message"),
    [
        ((pa.table({"x": [1]}), pa.table({"x": ["a"]})),
         r"column 'x' is of type int64 in '.*0\.parquet', and of type string in '.*1\.parquet'"),
        ((typed(pa.timestamp("us", "UTC")), typed(pa.timestamp("us"))), "of type timestamp"),
        ((typed(pa.string()), typed(pa.binary())), "of type string in"),
        ((pa.table({"Id": [1], "v": [1]}), pa.table({"id": [2], "v": [2]})),
         r"column 'id' of '.*1\.parquet' is 'Id' in '.*0\.parquet'"),
        ((pa.table({"a": [1]}), pa.table({"b": [2]})), r"1\.parquet' has no column of '.*0"),
    ],
)  # fmt: skip
def test_what_cannot_be_unified(
    dock: xd.Dock, tmp_path: Path, tables: tuple[pa.Table, ...], message: str
) -> None:
    with pytest.raises(xd.DataError, match=message):
        dock.read(write(tmp_path, "parquet", *tables))


def test_names_that_differ_in_case_within_a_file(dock: xd.Dock, tmp_path: Path) -> None:
    both = pa.table({"a": [1], "A": [2]})
    rows = dock.read(write(tmp_path, "parquet", both, both.select(["a"])))
    assert rows.collect().to_pydict() == {"a": [1, 1], "A": [2, None]}


def test_a_bad_file_among_others_is_named(dock: xd.Dock, tmp_path: Path) -> None:
    folder = write(tmp_path, "parquet", pa.table({"a": [1]}))
    (folder / "1.parquet").write_bytes(b"not a table")
    with pytest.raises(xd.DataError, match=r"where .*/1\.parquet"):
        dock.read(folder)


Partitioned = Callable[[Any], Path]


@pytest.fixture
def partitioned(tmp_path: Path) -> Partitioned:
    """A folder of `key=value` folders; `stored` is what the files hold of the key, by value."""

    def make(stored: dict[int, Any]) -> Path:
        for value, table in stored.items():
            (tmp_path / f"year={value}").mkdir()
            pyarrow.parquet.write_table(table, tmp_path / f"year={value}" / "a.parquet")
        return tmp_path

    return make


def test_a_glob_keeps_the_columns_of_folders(dock: xd.Dock, partitioned: Partitioned) -> None:
    folder = partitioned({year: pa.table({"k": [year - 2000]}) for year in (2023, 2024)})
    for paths in (folder, f"{folder}/**/*.parquet", f"{folder}/year=*/*.parquet"):
        rows = dock.read(paths)
        assert rows.collect().to_pydict() == {"k": [23, 24], "year": [2023, 2024]}
        assert rows.filter(xd.col("year") == 2024).collect()["k"].to_pylist() == [24]


def test_the_column_of_a_folder_in_the_files_as_well(
    dock: xd.Dock, partitioned: Partitioned
) -> None:
    folder = partitioned({
        1: pa.table({"k": [10], "year": pa.array([1], pa.int64())}),
        2: pa.table({"year": pa.array([2], pa.int64()), "k": [20]}),
        3: pa.table({"k": [30]}),
    })  # fmt: skip
    rows = dock.read(folder)
    assert rows.schema.field("year").type == pa.int64()
    assert rows.select("k", "year").collect().to_pydict() == {"k": [10, 20, 30], "year": [1, 2, 3]}
    for predicate, expected in ((xd.col("year") == 2, [20]), (xd.col("year") > 1, [20, 30])):
        assert rows.filter(predicate).collect()["k"].to_pylist() == expected
        assert rows.filter(predicate).count() == len(expected)


def test_folders_of_arrow_files(dock: xd.Dock, tmp_path: Path) -> None:
    for year in ("2023", "__HIVE_DEFAULT_PARTITION__"):
        (tmp_path / f"year={year}").mkdir()
        pyarrow.feather.write_feather(pa.table({"k": [1, 2]}), f"{tmp_path}/year={year}/a.arrow")
    rows = dock.read(tmp_path)
    assert rows.collect()["year"].to_pylist() == [2023, 2023, None, None]
    assert rows.filter(xd.col("year") == 2023).count() == 2
    assert rows.select("year").collect().to_pydict() == {"year": [2023, 2023, None, None]}
