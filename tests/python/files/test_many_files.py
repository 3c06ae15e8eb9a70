"""Many files as one table: columns that some lack or have in narrower types, folders that stand for
columns, globs. DuckDB reads the same files; the engine's reader reads all that is Parquet."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
from collections.abc import Sequence
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
from crossdock.engine.file_plans import scanned_files
from crossdock.files.parquet_files import open_parquet
from crossdock.ranks.shares import share_of

col = xd.col
DAY = datetime.date(2024, 2, 29)
NOON = datetime.datetime(2024, 2, 29, 12, 0, 0, 1000)


def require_own_reader(paths: Any) -> None:
    source = open_parquet(paths)
    schema = scanned_files(source, tuple(source.schema.names))
    assert not isinstance(schema, str), schema


def write(path: Path, rows: Any, **options: Any) -> Path:
    table = rows if isinstance(rows, pa.Table) else pa.table(rows)
    path.parent.mkdir(parents=True, exist_ok=True)
    if path.suffix == ".parquet":
        pq.write_table(table, path, **options)
    elif path.suffix == ".csv":
        pyarrow.csv.write_csv(table, path)
    else:
        pyarrow.feather.write_feather(table, str(path))
    return path


def sorted_rows(table: pa.Table) -> list[str]:
    return sorted(map(repr, table.to_pylist()))


WIDER: dict[str, tuple[pa.Array, ...]] = {
    "signed": tuple(pa.array([1, None, -(2**low)], f"int{low + 1}") for low in (7, 15, 31, 63)),
    "unsigned": tuple(pa.array([1, None, 2**n - 1], f"uint{n}") for n in (8, 16, 32, 64)),
    "into signed": (
        pa.array([2**32 - 1, None], pa.uint32()), pa.array([-5], pa.int64()),
        pa.array([255], pa.uint8()), pa.array([2**16 - 1], pa.uint16()),
    ),
    "reals": (
        pa.array([1.5, None, float("nan")], pa.float32()), pa.array([0.1, -0.0]),
        pa.array([-(2**31), 7], pa.int32()), pa.array([2**32 - 1], pa.uint32()),
        pa.array([-(2**53), 2**53, None], pa.int64()), pa.array([2**53], pa.uint64()),
    ),
    "floats": (pa.array([1.5, None], pa.float32()), pa.array([-7, 2**15 - 1], pa.int16())),
    "decimals": (
        pa.array([Decimal("1.5"), None]), pa.array([Decimal("-10.25")]),
        pa.array([Decimal("12345678901234567890.1")]), pa.array([-3], pa.int32()),
    ),
    "timestamps": tuple(pa.array([NOON, None], pa.timestamp(unit)) for unit in ("ms", "us", "ns")),
    "dates beside timestamps": (
        pa.array([DAY, None, datetime.date(1, 1, 1)]), pa.array([NOON], pa.timestamp("us")),
        pa.array([NOON], pa.timestamp("ms")),
    ),
    "instants": (
        pa.array([NOON], pa.timestamp("us", "UTC")), pa.array([NOON], pa.timestamp("ms", "UTC")),
    ),
    "times": (
        pa.array([1, 86_399_999], pa.time32("ms")), pa.array([2, None], pa.time64("us")),
        pa.array([3], pa.time64("ns")),
    ),
    "nothing": (pa.nulls(3), pa.array(["a", "a longer one than twelve"])),
    "nothing and numbers": (pa.array([7], pa.int64()), pa.nulls(2)),
    "strings": (
        pa.array(["a"]), pa.array(["b" * 20], pa.large_string()), pa.array(["c"], pa.string_view()),
    ),
    "bytes": (pa.array([b"a"]), pa.array([b"\xff" * 20], pa.large_binary())),
}  # fmt: skip
LAYOUTS: dict[str, dict[str, Any]] = {
    "coded": {},
    "plain": {"use_dictionary": False, "row_group_size": 2},
    "integers as decimals": {"store_decimal_as_integer": True},
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("name", WIDER)
def test_the_engine_widens_itself(dock: xd.Dock, tmp_path: Path, name: str, layout: str) -> None:
    parts = WIDER[name]
    for number, part in enumerate(parts):
        rows = pa.table({"x": part, f"only{number}": [number] * len(part)})
        write(tmp_path / f"{number}.parquet", rows, **LAYOUTS[layout])
    require_own_reader(tmp_path)
    relation = dock.read_parquet(tmp_path)
    wide = relation.schema.field("x").type
    expected = [value for part in parts for value in part.cast(wide)]
    assert list(map(str, relation.collect()["x"])) == list(map(str, expected))
    assert relation.filter(col("x").is_null()).count() == sum(not v.is_valid for v in expected)
    for number, part in enumerate(parts):
        only = relation.filter(col(f"only{number}").is_null()).select("x").collect()["x"]
        assert len(only) == len(expected) - len(part)
    memory = dock.from_arrow(relation.collect())
    for value in {str(v): v.as_py() for v in expected if v.is_valid}.values():
        for condition in (col("x") == value, col("x") <= value, col("x") > value):
            result, required = relation.filter(condition), memory.filter(condition)
            assert sorted_rows(result.collect()) == sorted_rows(required.collect()), condition
    grouped = [t.group_by("x").agg(n=xd.count()).collect() for t in (relation, memory)]
    assert sorted_rows(grouped[0]) == sorted_rows(grouped[1])


@pytest.mark.parametrize("threads", [1, 2])
def test_rows_are_those_of_duckdb(tmp_path: Path, threads: int) -> None:
    for number in range(40):
        columns: dict[str, Any] = {"k": pa.array(range(50), [pa.int32(), pa.int64()][number % 2])}
        if number % 3:
            columns["price"] = pa.array([Decimal(i).scaleb(-(number % 3)) for i in range(50)])
        if number % 4:
            columns["city"] = [f"city {i % number}" for i in range(50)]
        write(tmp_path / f"year={2000 + number % 5}" / f"{number:02}.parquet", columns)
    require_own_reader(tmp_path)
    oracle = duckdb.connect()
    files = f"read_parquet('{tmp_path}/**/*.parquet', union_by_name=true, hive_partitioning=true)"
    with xd.connect(threads=threads) as dock:
        rows = dock.read_parquet(tmp_path)
        assert rows.columns == ["k", "price", "city", "year"] or set(rows.columns) == {
            "k", "price", "city", "year"
        }  # fmt: skip
        dock.register("t", rows)
        for query in (
            "SELECT k, price, city, year FROM t",
            "SELECT year, city, count(*) n, sum(price) s, max(k) m FROM t GROUP BY year, city",
            "SELECT k, city FROM t WHERE year = 2003 AND price > 1",
            "SELECT year, count(*) n FROM t WHERE year IN (2001, 2004) OR city IS NULL GROUP BY 1",
            "SELECT a.year, count(*) n FROM t a JOIN t b USING (year, k) GROUP BY a.year",
            "SELECT * FROM (SELECT k, year, city FROM t ORDER BY year DESC, k, city LIMIT 30)",
        ):
            expected = oracle.sql(query.replace("FROM t", f"FROM {files}").replace(
                "JOIN t b", f"JOIN {files} b").replace(f"{files} a", f"{files} a")
            ).to_arrow_table()  # fmt: skip
            result = dock.sql(query).collect().select(expected.column_names)
            assert sorted(map(str, result.to_pylist())) == sorted(
                str(dict(zip(result.column_names, row.values(), strict=True)))
                for row in expected.cast(result.schema).to_pylist()
            ), query


FOLDERS: dict[str, tuple[Sequence[str], pa.DataType, list[Any]]] = {
    "integers": (("1", "-2", "03"), pa.int64(), [1, -2, 3]),
    "dates": (("2024-02-29", "2023-01-01"), pa.date32(), [DAY, datetime.date(2023, 1, 1)]),
    "no dates": (("2024-02-30", "2023-01-01"), pa.string(), ["2024-02-30", "2023-01-01"]),
    "strings": (("a b", "1"), pa.string(), ["a b", "1"]),
    "quoted": (("a%2Fb", "%C3%A4"), pa.string(), ["a/b", "ä"]),
    "nulls": (("7", "__HIVE_DEFAULT_PARTITION__"), pa.int64(), [7, None]),
    "long": (("9" * 19, "1"), pa.string(), ["9" * 19, "1"]),
}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("name", FOLDERS)
def test_folders_are_columns(dock: xd.Dock, tmp_path: Path, name: str, ending: str) -> None:
    folders, data_type, values = FOLDERS[name]
    for number, folder in enumerate(folders):
        write(tmp_path / f"key={folder}" / f"a.{ending}", {"n": [number] * 3})
    rows = dock.read(tmp_path)
    assert rows.schema.field("key").type == data_type
    result = rows.select("n", "key").collect().to_pylist()
    assert {(row["n"], row["key"]) for row in result} == set(enumerate(values))
    for number, value in enumerate(values):
        one = rows.filter(col("key").is_null() if value is None else col("key") == value)
        assert one.collect()["n"].to_pylist() == [number] * 3
        assert one.count() == 3
    alone = dock.read(tmp_path, hive_partitioning=False)
    assert alone.columns == ["n"]
    paths = sorted(map(str, tmp_path.glob(f"*/a.{ending}")))
    assert dock.read(paths).columns == ["n"]
    assert dock.read(paths, hive_partitioning=True).columns == ["n", "key"]


def test_files_of_other_folders_are_not_read(dock: xd.Dock, tmp_path: Path) -> None:
    for year in range(2000, 2010):
        for month in (1, 2):
            folder = tmp_path / f"year={year}" / f"month={month}"
            write(folder / "a.parquet", {"n": range(10), "city": [f"c{year}"] * 10})
    rows = dock.read_parquet(tmp_path)
    for condition, skipped in (
        (col("year") == 2004, 18), (col("year").is_in([2001, 2002]) & (col("month") == 2), 18),
        ((col("year") > 2007) | (col("year") < 2001), 14), (col("city") == "c2001", 18),
    ):  # fmt: skip
        profile = rows.filter(condition).profile()
        assert f"{skipped} of 20 parts skipped" in profile.text
        assert profile.table.num_rows == (20 - skipped) * 10
    # What a filter leaves out is not opened again: rows of broken files are not asked for.
    broken = tmp_path / "year=2000" / "month=1" / "a.parquet"
    content = bytearray(broken.read_bytes())
    content[4:40] = b"\xff" * 36
    broken.write_bytes(content)
    assert dock.read_parquet(tmp_path).filter(col("year") > 2000).count() == 180
    with pytest.raises(xd.DataError):
        dock.read_parquet(tmp_path).collect()


@pytest.mark.parametrize("ending", ["arrow", "csv", "ndjson", "csv.zst"])
def test_files_of_other_folders_are_not_opened(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    for year in (2000, 2001):
        (tmp_path / f"year={year}").mkdir()
        rows = dock.from_arrow(pa.table({"n": [1, 2, 3]}))
        rows.write(tmp_path / f"year={year}" / f"a.{ending}")
    rows = dock.read(tmp_path, filename="file")
    broken = tmp_path / "year=2000" / f"a.{ending}"
    stat = broken.stat()
    broken.write_bytes(b"?" * stat.st_size)
    os.utime(broken, ns=(stat.st_atime_ns, stat.st_mtime_ns))  # it looks as it was
    kept = rows.filter((col("year") > 2000) & (col("n") > 1))
    assert kept.collect().to_pydict()["n"] == [2, 3]
    assert kept.count() == 2
    assert rows.filter(col("year") == 2001).count() == 3
    assert rows.filter(col("file").like("%2001%")).select("n").count() == 3
    assert rows.filter(col("year") == 1).count() == 0


def test_a_folder_that_says_no_value_of_its_column(dock: xd.Dock, tmp_path: Path) -> None:
    write(tmp_path / "year=old" / "a.parquet", {"year": [1], "n": [1]})
    with pytest.raises(xd.DataError, match=r"'year=old' of '.*a\.parquet' says no int64"):
        dock.read_parquet(tmp_path)
    assert dock.read_parquet(tmp_path, hive_partitioning=False).collect()["year"][0].as_py() == 1


DIFFERENT: dict[str, tuple[dict[str, Any], str]] = {
    "fewer": ({"a": [1]}, "no column 'b'"),
    "more": ({"a": [1], "b": ["x"], "c": [1]}, "a further column 'c'"),
    "types": ({"a": [1.5], "b": ["x"]}, "column 'a' of type double instead of int64"),
}


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
@pytest.mark.parametrize("name", DIFFERENT)
def test_files_that_must_be_alike(dock: xd.Dock, tmp_path: Path, name: str, ending: str) -> None:
    columns, message = DIFFERENT[name]
    write(tmp_path / f"1.{ending}", {"a": [1], "b": ["x"]})
    write(tmp_path / f"2.{ending}", {"b": ["y"], "a": [2]})
    assert dock.read(tmp_path, union_by_name=False).count() == 2
    write(tmp_path / f"3.{ending}", columns)
    assert dock.read(tmp_path).count() == 3
    with pytest.raises(
        xd.DataError, match=rf"3\.{ending}' has other columns than '.*1\.\w+'"
    ) as raised:
        dock.read(tmp_path, union_by_name=False)
    assert message in str(raised.value)


def test_values_that_the_wider_type_has_not(dock: xd.Dock, tmp_path: Path) -> None:
    times = [pa.array([10**14], pa.timestamp("ms")), pa.array([1], pa.timestamp("ns"))]
    for number, values in enumerate(times):
        write(tmp_path / "times" / f"{number}.parquet", {"x": values})
    with pytest.raises(xd.DataError, match="not in range"):
        dock.read_parquet(tmp_path / "times").collect()
    for value in (2**53 + 1, -(2**53) - 1):
        for number, values in enumerate(([1, value], [0.5])):
            write(tmp_path / "reals" / f"{number}.parquet", {"x": values})
        require_own_reader(tmp_path / "reals")
        with pytest.raises(xd.DataError, match="not in range"):
            dock.read_parquet(tmp_path / "reals").collect()


def test_structs_that_some_files_lack(dock: xd.Dock, tmp_path: Path) -> None:
    write(tmp_path / "1.parquet", {"a": [1], "s": [{"x": 1}]})
    write(tmp_path / "2.parquet", {"a": [2]})
    rows = dock.read_parquet(tmp_path)
    assert rows.sort("a").collect().to_pydict() == {"a": [1, 2], "s": [{"x": 1}, None]}
    assert "reader   pyarrow, since column 's' is of type struct" in rows.sort("a").explain()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "csv"])
def test_names_of_files(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    paths = [write(tmp_path / f"{name}.{ending}", {"n": [1, 2]}) for name in ("a", "b")]
    rows = dock.read(tmp_path, filename=True)
    assert rows.collect()["filename"].to_pylist() == [str(p) for p in paths for _ in range(2)]
    assert rows.filter(col("filename") == str(paths[1])).count() == 2
    assert dock.read(paths, filename="path").columns == ["n", "path"]
    assert dock.read(paths, filename=False).columns == ["n"]
    with pytest.raises(xd.ColumnError, match=r"filename='n' is the name of a column"):
        dock.read(paths, filename="n")
    with pytest.raises(xd.OptionError, match=r"filename=3\) is neither"):
        dock.read(paths, filename=3)


def test_globs(dock: xd.Dock, tmp_path: Path) -> None:
    for number, name in enumerate(("a", "b", "_c", ".d", "x/a", "x/y/b", "_x/a", ".y/a", "z/{q}")):
        write(tmp_path / f"{name}.parquet", {"n": [number]})

    def numbers(*patterns: str) -> list[int]:
        paths = [f"{tmp_path}/{pattern}" for pattern in patterns]
        return sorted(dock.read_parquet(paths).collect()["n"].to_pylist())

    assert numbers("*.parquet") == [0, 1]
    assert numbers("{a,b,nothing}.parquet") == [0, 1]
    assert numbers("{x/{a,y/b},b}.parquet") == [1, 4, 5]
    assert numbers("**/*.parquet") == [0, 1, 4, 5, 8]
    assert numbers("**/a.parquet") == [0, 4]
    assert numbers("_*.parquet", "_x/*.parquet") == [2, 6]
    assert numbers(".d.parquet", ".y/*.parquet") == [3, 7]
    assert numbers("z/{q}.parquet") == [8]
    assert numbers("") == [0, 1, 4, 5, 8]
    with pytest.raises(xd.PathError, match="no file matches"):
        numbers("{p,q}.parquet")


def test_more_files_than_a_process_may_open(dock: xd.Dock, tmp_path: Path) -> None:
    """Every tenth without a row."""
    for number in range(2000):
        rows = 0 if number % 10 == 0 else 1
        columns = {"n": pa.array([number] * rows, pa.int64()), "city": [f"c{number % 7}"] * rows}
        write(
            tmp_path / f"{number:04}.parquet",
            pa.table(columns, pa.schema({"n": pa.int64(), "city": pa.string()})),
        )
    rows = dock.read_parquet(tmp_path)
    require_own_reader(tmp_path)
    assert rows.count() == 1800
    expected = sum(number for number in range(2000) if number % 10)
    assert rows.agg(s=xd.sum("n")).collect()["s"].to_pylist() == [expected]
    assert rows.group_by("city").agg(n=xd.count()).count() == 7
    assert rows.filter(col("n") == 1999).collect().to_pylist() == [{"n": 1999, "city": "c4"}]


def test_two_thousand_columns(dock: xd.Dock, tmp_path: Path) -> None:
    """Of two files, the second of which has other ones, too; and of one without a row."""
    names = [f"c{number}" for number in range(2000)]
    first = pa.table({name: pa.array([1, None, number] * 10) for number, name in enumerate(names)})
    write(tmp_path / "0.parquet", first, row_group_size=10)
    second = pa.table({name: pa.array([7], pa.int32()) for name in [*names[1000:], "further"]})
    write(tmp_path / "1.parquet", second)
    write(tmp_path / "2.parquet", first.slice(0, 0))
    rows = dock.read_parquet(tmp_path)
    require_own_reader(tmp_path)
    assert rows.columns == [*names, "further"]
    files = f"'{tmp_path}/*.parquet'"
    reads = f"read_parquet([{files}], union_by_name=true)"
    expected = duckdb.sql(f"FROM {reads}").to_arrow_table()
    assert sorted_rows(rows.collect()) == sorted_rows(expected)
    chosen = rows.filter(col("c1999") > 5).agg(n=xd.count(), s=xd.sum("c1000"), f=xd.sum("further"))
    sums = "count(*) AS n, sum(c1000) AS s, sum(further) AS f"
    expected = duckdb.sql(f"SELECT {sums} FROM {reads} WHERE c1999 > 5").to_arrow_table()
    assert chosen.collect().to_pylist() == expected.to_pylist()


@pytest.mark.parametrize("ending", ["parquet", "arrow", "arrows", "csv", "csv.zst", "ndjson"])
def test_parts_of_files_have_their_values(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    """Shares of ranks read parts of a source."""
    for year in (1, 2, 3):
        (tmp_path / f"year={year}").mkdir()
        rows = dock.from_arrow(pa.table({"n": range(year * 10)}))
        rows.write(tmp_path / f"year={year}" / f"a.{ending}")
    source: Any = dock.read(tmp_path, filename=True)._node.source  # type: ignore[attr-defined]
    columns, second = ("n", "year", "filename"), col("year") == 2
    for predicate in (None, second):
        whole = source.table(columns, None).to_pylist()
        kept = [row for row in whole if predicate is None or row["year"] == 2]
        for ranks in (1, 2, 5):
            shares = [share_of(source, rank, ranks) for rank in range(ranks)]
            tables = [share.table(columns, predicate) for share in shares]
            assert pa.concat_tables(tables).to_pylist() == kept
            assert [share.count_rows(predicate) for share in shares] == [
                table.num_rows for table in tables
            ]


def test_opening_loads_neither_datasets_nor_pandas(tmp_path: Path) -> None:
    """Each is a part of a second in a process of its own, such as the command line's."""
    path = write(tmp_path / "year=1" / "a.parquet", {"n": [1], "city": ["x"]})
    program = (
        "import sys, crossdock as xd\n"
        f"for path in ({str(path)!r}, {str(tmp_path)!r}):\n"
        "    rows = xd.read_parquet(path)\n"
        "    assert rows.join(rows, on='n').select('n').count() == 1\n"
        "    assert rows.limit(10).collect().num_rows == rows.count() == 1\n"
        "print([name for name in ('pyarrow.dataset', 'pandas') if name in sys.modules])\n"
    )
    ended = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True)
    assert ended.stdout.decode().strip() == "[]"
