"""Parquet files that the engine reads itself: the rows are those that pyarrow reads, whatever wrote
the files; what it does not read goes the old way; damaged files are errors."""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock import _native
from crossdock.engine.file_plans import scanned_files
from crossdock.files.parquet_files import open_parquet
from crossdock.values.engine_types import empty_table, engine_table, with_schema
from crossdock.values.streaming import read_stream

col = xd.col
ROWS = 3000
NUMBERS: dict[str, tuple[Any, Callable[[random.Random], Any]]] = {
    "i8": (pa.int8(), lambda r: r.randrange(-128, 128)),
    "i16": (pa.int16(), lambda r: r.randrange(-(2**15), 2**15)),
    "i32": (pa.int32(), lambda r: r.randrange(-(2**31), 2**31)),
    "i64": (pa.int64(), lambda r: r.randrange(-(2**63), 2**63)),
    "few": (pa.int64(), lambda r: r.randrange(-3, 40)),
    "u8": (pa.uint8(), lambda r: r.randrange(256)),
    "u16": (pa.uint16(), lambda r: r.randrange(2**16)),
    "u32": (pa.uint32(), lambda r: r.randrange(2**32)),
    "u64": (pa.uint64(), lambda r: r.randrange(2**64)),
    "f32": (pa.float32(), lambda r: r.choice([0.0, -0.0, 1.5, r.gauss(0, 1e10), float("inf")])),
    "f64": (pa.float64(), lambda r: r.choice([0.0, -0.0, r.gauss(0, 1), float("nan")])),
    "flag": (pa.bool_(), lambda r: r.random() < 0.3),
    "d7": (pa.decimal128(7, 2), lambda r: Decimal(r.randrange(-(10**7) + 1, 10**7)).scaleb(-2)),
    "d15": (pa.decimal128(15, 2), lambda r: Decimal(r.randrange(10**6)).scaleb(-2)),
    "d30": (pa.decimal128(30, 4), lambda r: Decimal(r.randrange(-(10**25), 10**25)).scaleb(-4)),
}
OTHERS: dict[str, tuple[Any, Callable[[random.Random], Any]]] = {
    "day": (
        pa.date32(),
        lambda r: datetime.date(1950, 1, 1) + datetime.timedelta(r.randrange(9**5)),
    ),
    "t_ms": (pa.time32("ms"), lambda r: r.randrange(86_400_000)),
    "t_us": (pa.time64("us"), lambda r: r.randrange(86_400_000_000)),
    "t_ns": (pa.time64("ns"), lambda r: r.randrange(86_400_000_000_000)),
    "at_ms": (pa.timestamp("ms"), lambda r: r.randrange(-(10**12), 10**12)),
    "at_us": (pa.timestamp("us", "UTC"), lambda r: r.randrange(-(10**15), 10**15)),
    "at_ns": (pa.timestamp("ns"), lambda r: r.randrange(-(10**18), 10**18)),
    "text": (pa.string(), lambda r: "x" * r.randrange(20) + str(r.randrange(10**6))),
    "kind": (pa.string(), lambda r: r.choice(["", "a", "bb", "a text that is no short one"])),
    "view": (pa.string_view(), lambda r: "ä" * r.randrange(9)),
    "large": (pa.large_string(), lambda r: str(r.randrange(50)) * r.randrange(5)),
    "bytes": (pa.binary(), lambda r: r.randbytes(r.randrange(30))),
}


def table_of_all_types(null_share: float, seed: int = 1, rows: int = ROWS) -> pa.Table:
    draw = random.Random(seed)
    columns = {}
    for name, (data_type, value) in {**NUMBERS, **OTHERS}.items():
        values = [None if draw.random() < null_share else value(draw) for _ in range(rows)]
        columns[name] = pa.array(values, data_type)
    return pa.table(columns)


def scanned(path: Path | str, columns: list[str] | None = None, where: str = "") -> pa.Table:
    """The rows of a file by the engine's own reader, with the types that pyarrow gives them."""
    schema = pq.read_schema(path)
    schema = pa.schema([f for f in schema if columns is None or f.name in columns])
    engine = _native.Engine(threads=2)
    like = engine_table(engine, empty_table(schema))
    plan = _native.Plan.scan_parquet(_native.ParquetFiles.open([str(path)]), like, "rows")
    if where:
        plan = plan.filter(where)
    return with_schema(read_stream(_native.Query(engine, plan).collect()), schema)


def plain(table: pa.Table) -> pa.Table:
    """The same with floats by their bits, and in one chunk."""
    arrays = []
    for column in table.combine_chunks().columns:
        array = pa.concat_arrays([*column.chunks, pa.array([], column.type)])
        bits = {pa.float32(): pa.int32(), pa.float64(): pa.int64()}.get(column.type)
        arrays.append(array if bits is None else array.view(bits))
    return pa.table(arrays, names=table.column_names)


def require_same(path: Path | str, columns: list[str] | None = None) -> None:
    expected = pq.read_table(path, columns=columns)
    result = scanned(path, columns)
    result.validate(full=True)
    for name in expected.column_names:
        assert plain(result.select([name])).equals(plain(expected.select([name]))), name


LAYOUTS: dict[str, dict[str, Any]] = {
    "as it comes": {},
    "small pages": {"data_page_size": 300, "write_batch_size": 50},
    "second version": {"data_page_version": "2.0", "data_page_size": 1000, "write_batch_size": 70},
    "no dictionaries": {"use_dictionary": False, "data_page_size": 2000},
    "dictionaries that end": {"dictionary_pagesize_limit": 700, "data_page_size": 500,
                              "write_batch_size": 40},
    "row groups": {"row_group_size": 701, "data_page_size": 900, "write_batch_size": 100},
    "integers as decimals": {"store_decimal_as_integer": True},
    "no statistics": {"write_statistics": False},
}  # fmt: skip


OLD_FILES = sorted(Path(pa.__file__).parent.glob("tests/data/parquet/*.parquet"))


@pytest.mark.parametrize("path", OLD_FILES, ids=lambda path: path.name)
def test_files_of_writers_of_2017(path: Path) -> None:
    """Of parquet-cpp 1.3, which pyarrow's package has: without meanings but converted types."""
    assert len(OLD_FILES) >= 4
    require_same(path)


@pytest.mark.parametrize("null_share", [0, 0.3, 1], ids=str)
@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_are_those_of_pyarrow(tmp_path: Path, layout: str, null_share: float) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of_all_types(null_share), path, **LAYOUTS[layout])
    require_same(path)


@pytest.mark.parametrize("codec", ["none", "snappy", "gzip", "zstd", "lz4", "brotli"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_codecs(tmp_path: Path, codec: str, version: str) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of_all_types(0.1), path, compression=codec, data_page_version=version)
    require_same(path)


ENCODINGS = {
    "DELTA_BINARY_PACKED": ["i8", "i32", "i64", "few", "u32", "day", "t_us", "at_ns"],
    "DELTA_LENGTH_BYTE_ARRAY": ["text", "kind", "view", "bytes"],
    "DELTA_BYTE_ARRAY": ["text", "kind", "bytes", "d30"],
    "BYTE_STREAM_SPLIT": ["f32", "f64", "i32", "i64", "d30"],
    "RLE": ["flag"],
    "PLAIN": ["i32", "text", "flag", "d30"],
}


@pytest.mark.parametrize("encoding", ENCODINGS)
@pytest.mark.parametrize("null_share", [0, 0.2], ids=str)
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_encodings(tmp_path: Path, encoding: str, null_share: float, version: str) -> None:
    path = tmp_path / "rows.parquet"
    names = ENCODINGS[encoding]
    rows = table_of_all_types(null_share).select(names)
    pq.write_table(
        rows, path, use_dictionary=False, column_encoding=dict.fromkeys(names, encoding),
        data_page_version=version, data_page_size=900, write_batch_size=64,
    )  # fmt: skip
    require_same(path)


def test_files_of_other_writers(tmp_path: Path) -> None:
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    rows = table_of_all_types(0.2, rows=ROWS * 3).drop_columns(["at_ns", "t_ns"])
    connection = duckdb.connect()
    for codec in ["snappy", "zstd", "uncompressed", "lz4_raw"]:
        path = tmp_path / f"duckdb_{codec}.parquet"
        connection.sql("SELECT * FROM rows").write_parquet(
            str(path), compression=codec, row_group_size=2048
        )
        names = [f.name for f in pq.read_schema(path) if f.name not in ("d30", "t_ms", "view")]
        require_same(path, names)
    for codec in ["snappy", "zstd", "gzip", "lz4"]:
        path = tmp_path / f"polars_{codec}.parquet"
        frame = polars.from_arrow(rows.drop_columns(["d30", "t_ms", "t_us"]))
        frame.write_parquet(path, compression=codec, row_group_size=1000, data_page_size=1000)
        require_same(path)


@pytest.mark.parametrize("codec", ["uncompressed", "snappy", "gzip(6)", "brotli(4)", "zstd(3)"])
@pytest.mark.parametrize("version", ["1.0", "2.0"])
def test_files_of_parquet_rs(tmp_path: Path, codec: str, version: str) -> None:
    datafusion = pytest.importorskip("datafusion")
    path = tmp_path / "rows.parquet"
    options = datafusion.ParquetWriterOptions(
        compression=codec, writer_version=version, data_pagesize_limit=2000,
        data_page_row_count_limit=300, max_row_group_size=4000, write_batch_size=100,
        bloom_filter_on_write=True,
    )  # fmt: skip
    rows = datafusion.SessionContext().from_arrow(table_of_all_types(0.2, rows=9000))
    rows.write_parquet_with_options(str(path), options)
    require_same(path)


def test_files_of_earlier_versions() -> None:
    """Those that pyarrow comes with."""
    folder = Path(pa.__file__).parent / "tests" / "data" / "parquet"
    files = sorted(folder.glob("*.parquet"))
    assert files
    for file in files:
        require_same(file)


def test_checksums_of_pages(tmp_path: Path) -> None:
    """A byte of a page that is another one is an error, or was none of a page."""
    path, damaged = tmp_path / "rows.parquet", tmp_path / "damaged.parquet"
    rows = table_of_all_types(0.2, rows=500).select(["few", "text", "d15"])
    for version in ("1.0", "2.0"):
        pq.write_table(
            rows, path, write_page_checksum=True, data_page_version=version, compression="none",
            data_page_size=700, write_batch_size=50,
        )  # fmt: skip
        require_same(path)
        whole = path.read_bytes()
        footer = len(whole) - 8 - int.from_bytes(whole[-8:-4], "little")
        refused = 0
        for at in range(4, footer, 7):
            damaged.write_bytes(whole[:at] + bytes([whole[at] ^ 0x10]) + whole[at + 1 :])
            try:
                actual = scanned(damaged)
            except _native.NativeError:
                refused += 1
            else:
                assert plain(actual).equals(plain(rows)), at
        assert refused > footer // 7 // 2


def test_two_thousand_columns(tmp_path: Path, dock: xd.Dock) -> None:
    columns = {f"c{n}": pa.array([n, None, n + 2], pa.int32()) for n in range(2000)}
    path = tmp_path / "rows.parquet"
    pq.write_table(pa.table(columns), path)
    require_same(path)
    rows = dock.read_parquet(path)
    assert rows.filter(col("c1999") == 2001).select("c7").collect()["c7"].to_pylist() == [9]
    assert rows.limit(1).collect().num_columns == 2000
    rows.write(tmp_path / "rows.csv")
    again = dock.read_csv(tmp_path / "rows.csv").agg(s=xd.sum("c1234")).collect()
    assert again["s"].to_pylist() == [1234 * 2 + 2]


def test_no_rows_and_no_columns(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.parquet"
    pq.write_table(table_of_all_types(0, rows=0), path)
    require_same(path)
    pq.write_table(table_of_all_types(0, rows=10), path)
    counted = dock.read_parquet(str(path)).agg(n=xd.count(), m=xd.count("few"))
    assert counted.collect().to_pylist() == [{"n": 10, "m": 10}]


def conditions() -> dict[str, xd.Expr]:
    return {
        "code": col("few") == 7,
        "range": (col("few") > 3) & (col("few") <= 20),
        "list": col("kind").is_in(["a", "no such text"]),
        "text": col("text").like("xx%") | (col("kind") == "bb"),
        "nothing": col("few") == 1000,
        "everything": col("few") < 1000,
        "null": col("few").is_null(),
        "two columns": (col("few") < 10) & (col("kind") != "") & col("flag"),
        "columns beside each other": col("few") < col("i8"),
        "days": col("day") < datetime.date(1960, 5, 5),
        "decimals": (col("d15") > Decimal("100.5")) & (col("d15") < 5000),
        "floats": (col("f64") > 0.5) | (col("f32") == 0.0),
        "not": ~(col("kind") == "a"),
    }


LAID_OUT = ["as it comes", "dictionaries that end", "row groups", "second version"]


@pytest.mark.parametrize("null_share", [0, 0.3], ids=str)
@pytest.mark.parametrize("layout", LAID_OUT)
def test_conditions(tmp_path: Path, dock: xd.Dock, layout: str, null_share: float) -> None:
    path = tmp_path / "rows.parquet"
    rows = table_of_all_types(null_share, seed=3).drop_columns(["view"]).sort_by("few")
    pq.write_table(rows, path, **LAYOUTS[layout])
    files, table = dock.read_parquet(str(path)), dock.from_arrow(rows)
    for name, condition in conditions().items():
        results = [
            relation.filter(condition)
            .group_by("kind", "few")
            .agg(n=xd.count(), s=xd.sum("d15"), m=xd.max("day"), t=xd.min("text"))
            .sort("kind", "few")
            .collect()
            for relation in (files, table)
        ]
        assert results[0].equals(results[1]), name


def test_joins_and_sorts_of_files(tmp_path: Path, dock: xd.Dock) -> None:
    left, right = table_of_all_types(0.1, seed=5), table_of_all_types(0.1, seed=6, rows=500)
    pq.write_table(left, tmp_path / "left.parquet", row_group_size=500)
    pq.write_table(right, tmp_path / "right.parquet")
    files = [dock.read_parquet(str(tmp_path / f"{name}.parquet")) for name in ("left", "right")]
    tables = [dock.from_arrow(left), dock.from_arrow(right)]
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        for key in ("few", "kind", "d15"):
            result = []
            for a, b in (files, tables):
                other = b.select(key, other="text", more="kind").filter(col("other") > "x")
                joined = a.select(key, "text", "i64").join(other, on=key, how=how)
                grouped = joined.group_by(key).agg(n=xd.count(), s=xd.max("text"))
                result.append(grouped.sort(key).collect())
            assert result[0].equals(result[1]), (how, key)


def test_statistics_skip_row_groups(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.parquet"
    numbers = pa.table({"n": range(10_000), "v": [i % 7 for i in range(10_000)]})
    pq.write_table(numbers, path, row_group_size=1000)
    query = dock.read_parquet(str(path)).filter(col("n") >= 8500).group_by("v").agg(n=xd.count())
    assert sum(query.collect()["n"].to_pylist()) == 1500
    assert "8 of 10 parts skipped by statistics" in str(query.profile())


def test_a_limit_ends_the_scan(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.parquet"
    rows = table_of_all_types(0.2, seed=8)
    pq.write_table(rows, path, row_group_size=700, data_page_size=500)
    files, table = dock.read_parquet(str(path)), dock.from_arrow(rows)
    for count, offset in [(10, 0), (0, 0), (700, 1), (1500, 699), (10**6, 2995), (5, 10**6)]:
        first = files.limit(count, offset=offset)
        assert plain(first.collect()).equals(plain(table.limit(count, offset=offset).collect()))
    assert "(1 columns)" in str(files.select("few").limit(5).profile())


def test_what_is_not_read_goes_the_old_way(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.parquet"
    rows = pa.table(
        {"k": [1, 2, 1], "l": [[1], [2], []], "d": pa.array([1, 2, 3], pa.duration("us"))}
    )
    pq.write_table(rows, path)
    source = open_parquet(str(path))
    assert not isinstance(scanned_files(source, ("k",)), str)
    assert "nested" in str(scanned_files(source, ("l",))) or "list" in str(
        scanned_files(source, ("l",))
    )
    assert "do not lie as duration" in str(scanned_files(source, ("k", "d")))
    grouped = dock.read_parquet(str(path)).group_by("k").agg(d=xd.max("d")).sort("k").collect()
    assert grouped["d"].to_pylist() == [datetime.timedelta(microseconds=u) for u in (3, 2)]


def test_unions_of_files_and_tables(tmp_path: Path, dock: xd.Dock) -> None:
    path = tmp_path / "rows.parquet"
    rows = table_of_all_types(0.1, seed=9, rows=300).select(["kind", "text", "few"])
    pq.write_table(rows, path)
    files, table = dock.read_parquet(str(path)), dock.from_arrow(rows)
    both = files.union(table).group_by("kind").agg(n=xd.count(), t=xd.max("text")).sort("kind")
    twice = table.union(table).group_by("kind").agg(n=xd.count(), t=xd.max("text")).sort("kind")
    assert both.collect().equals(twice.collect())
    streamed = pa.Table.from_batches(files.filter(col("few") > 5).sort("text").to_batches())
    assert streamed.schema.field("kind").type == pa.string()


def test_files_that_differ_go_the_old_way(tmp_path: Path, dock: xd.Dock) -> None:
    pq.write_table(pa.table({"k": pa.array([1], pa.int32())}), tmp_path / "a.parquet")
    pq.write_table(pa.table({"k": pa.array([2], pa.int64())}), tmp_path / "b.parquet")
    files = dock.read_parquet(str(tmp_path / "*.parquet"))
    assert files.group_by("k").agg(n=xd.count()).sort("k").collect()["k"].to_pylist() == [1, 2]


def test_damaged_files(tmp_path: Path, dock: xd.Dock) -> None:
    """An error, or rows: no crash, and nothing that does not end."""
    path = tmp_path / "rows.parquet"
    damaged = tmp_path / "damaged.parquet"
    pq.write_table(
        table_of_all_types(0.2, rows=400).select(["few", "text", "kind", "d15", "flag"]), path
    )
    whole = path.read_bytes()
    draw = random.Random(11)
    outcomes = {"rows": 0, "errors": 0}
    for _ in range(300):
        changed = bytearray(whole)
        for _ in range(draw.randrange(1, 4)):
            changed[draw.randrange(len(changed))] = draw.randrange(256)
        damaged.write_bytes(
            changed[: draw.randrange(len(changed))] if draw.random() < 0.1 else changed
        )
        try:
            files = _native.ParquetFiles.open([str(damaged)])
            like = engine_table(_native.Engine(), empty_table(pq.read_schema(path)))
            plan = _native.Plan.scan_parquet(files, like, "rows")
            read_stream(_native.Query(_native.Engine(2, 1 << 28), plan).collect())
            outcomes["rows"] += 1
        except (_native.NativeError, pa.ArrowException):
            outcomes["errors"] += 1
    assert min(outcomes.values()) > 20, outcomes


@pytest.mark.parametrize(
    ("column", "checksum", "why"),
    [("n", True, "checksum"), ("n", False, "decompress"), ("text", False, "decompress")],
)
def test_error_of_damaged_page_names_file_and_column(
    dock: xd.Dock, tmp_path: Path, column: str, checksum: bool, why: str
) -> None:
    sound, damaged = tmp_path / "sound.parquet", tmp_path / "damaged.parquet"
    rows = pa.table({"n": range(9000), "text": [f"text {row % 9}" for row in range(9000)]})
    for path in (sound, damaged):
        pq.write_table(rows, path, compression="snappy", write_page_checksum=checksum)
    number = rows.column_names.index(column)
    chunk = pq.read_metadata(damaged).row_group(0).column(number)
    whole = bytearray(damaged.read_bytes())
    dictionary = slice(chunk.dictionary_page_offset, chunk.data_page_offset)
    end_of_it = slice((dictionary.start + 2 * dictionary.stop) // 3, dictionary.stop)
    whole[end_of_it] = b"\xff" * (end_of_it.stop - end_of_it.start)
    damaged.write_bytes(whole)
    files = dock.read_parquet([sound, damaged])
    expected = f'damaged.parquet: column "{column}": a page .*{why}'
    with pytest.raises(xd.DataError, match=expected):
        files.collect()
    with pytest.raises(xd.DataError, match=expected):
        files.group_by(column).agg(rows=xd.count()).collect()
    with pytest.raises(xd.DataError, match=expected):
        files.filter(col(column) == rows[column][7].as_py()).agg(rows=xd.count()).collect()


def test_schema_is_read_without_row_groups(tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    fields = [
        pa.field("at", pa.timestamp("s", "Asia/Tokyo"), metadata={"unit": "s"}),
        pa.field("kind", pa.dictionary(pa.int8(), pa.string())),
        pa.field("size", pa.large_string(), nullable=False),
    ]
    rows = pa.table([[1, 2], ["a", "b"], ["s", "m"]], pa.schema(fields, {"made by": "hand"}))
    pq.write_table(rows, path, row_group_size=1)
    brief = _native.ParquetFiles.open([str(path)]).schema_file(0)
    assert pq.read_metadata(pa.BufferReader(brief)).num_row_groups == 0
    schema = pq.read_schema(pa.BufferReader(brief))
    assert schema.equals(pq.read_schema(path), check_metadata=True)
    assert schema.field("kind").type == rows.schema.field("kind").type
    with pytest.raises(IndexError):
        _native.ParquetFiles.open([str(path)]).schema_file(1)


def test_threads_share_the_columns_of_the_one_row_group_that_is_left(tmp_path: Path) -> None:
    path, rows = tmp_path / "rows.parquet", 90_000
    table = pa.table({"id": range(rows)} | {f"c{i}": np.arange(rows) * i for i in range(8)})
    pq.write_table(table, path, row_group_size=rows // 3)
    files = xd.connect(threads=2).read_parquet(path)
    one, two = (files.filter(col("id") < most) for most in (7, rows // 2))
    assert one.collect().equals(table.slice(0, 7))
    assert "shared among threads" in one.profile().text
    assert "shared among threads" not in two.profile().text
