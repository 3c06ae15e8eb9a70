"""Sources: files of every format, folders, globs, and Arrow objects of other libraries."""

from __future__ import annotations

import datetime
import gc
from decimal import Decimal
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.csv
import pyarrow.dataset
import pyarrow.feather
import pyarrow.parquet
import pytest

TABLE = pa.table(
    {
        "k": pa.array([1, 2, 3, None], pa.int64()),
        "s": ["a", "b", None, "d"],
        "v": pa.array(["a", None, "c", "a longer text than twelve"], pa.string_view()),
        "d": pa.array([Decimal("1.10"), None, Decimal("3.30"), Decimal("4.40")]),
        "t": [datetime.date(2020, 1, day) for day in (1, 2, 3, 4)],
    }
)
PLAIN = TABLE.select(["k", "s", "t"])


def write_all(folder: Path) -> None:
    pyarrow.parquet.write_table(TABLE, folder / "x.parquet")
    pyarrow.feather.write_feather(PLAIN, str(folder / "x.arrow"))
    pyarrow.csv.write_csv(PLAIN, folder / "x.csv")
    with pa.ipc.new_stream(str(folder / "x.arrows"), PLAIN.schema) as stream:
        stream.write_table(PLAIN)


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.csv", "x.arrows"])
def test_every_format(dock: xd.Dock, tmp_path: Path, name: str) -> None:
    write_all(tmp_path)
    relation = dock.read(tmp_path / name).select("k", "s", "t")
    assert relation.schema.types == PLAIN.schema.types
    assert relation.collect().to_pydict() == PLAIN.to_pydict()
    assert relation.count() == 4
    assert pa.Table.from_batches(relation.to_batches()).to_pydict() == PLAIN.to_pydict()
    kept = relation.filter((xd.col("k") > 1) & (xd.col("t") < "2020-01-03"))
    assert kept.collect().to_pydict() == PLAIN.slice(1, 1).to_pydict()
    assert kept.count() == 1


@pytest.mark.parametrize(
    ("predicate", "expected"),
    [
        (xd.col("v") == "a", [1]),
        (xd.col("v").is_in(["a", "c"]), [1, 3]),
        (~xd.col("v").is_in(["a"]), [3, None]),
        (xd.col("v").is_null(), [2]),
        (xd.col("s") >= "b", [2, None]),
        (xd.col("d") > 2, [3, None]),
        (xd.col("d") == Decimal("1.10"), [1]),
        (xd.col("t").is_in([datetime.date(2020, 1, 2)]), [2]),
        (xd.col("k") != 2, [1, 3]),
    ],
    ids=repr,
)
def test_filters_in_the_reader_keep_types(
    dock: xd.Dock, tmp_path: Path, predicate: xd.Expr, expected: list[int | None]
) -> None:
    write_all(tmp_path)
    for relation in (dock.read_parquet(tmp_path / "x.parquet"), dock.from_arrow(TABLE)):
        kept = relation.filter(predicate)
        assert kept.collect().schema == TABLE.schema
        assert kept.collect()["k"].to_pylist() == expected
        assert pa.Table.from_batches(kept.to_batches(), kept.schema)["k"].to_pylist() == expected
        assert kept.count() == len(expected)


def test_folders_globs_and_lists(dock: xd.Dock, tmp_path: Path) -> None:
    parts = tmp_path / "parts"
    for year in (2020, 2021):
        (parts / f"year={year}").mkdir(parents=True)
        pyarrow.parquet.write_table(PLAIN, parts / f"year={year}" / "part-0.parquet")
    (parts / "_SUCCESS").write_text("")
    (parts / "notes.txt").write_text("not data")
    assert dock.read(parts).filter(xd.col("year") == 2021).count() == 4
    assert dock.read_parquet(parts).columns == ["k", "s", "t", "year"]
    assert dock.read(str(parts / "*" / "*.parquet")).count() == 8
    assert dock.read(str(parts / "**" / "*")[:-2] + "/part-0.parquet").count() == 8
    files = sorted(parts.glob("*/*.parquet"))
    assert dock.read_parquet(files).count() == 8
    assert dock.read_parquet(files[:1]).columns == ["k", "s", "t"]


def test_files_are_closed_with_what_reads_them(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.parquet"
    pyarrow.parquet.write_table(pa.table({"k": [1, 2]}), path)
    gc.collect()
    gc.disable()
    try:
        for _ in range(3):
            dock.read(path).filter(xd.col("k") > 1).collect()
            dock.sql(f"select count(*) from '{path}'").collect()
        links = (fd.readlink() for fd in Path("/proc/self/fd").iterdir() if fd.is_symlink())
        assert path not in list(links)
    finally:
        gc.enable()


def test_what_is_not_there(dock: xd.Dock, tmp_path: Path) -> None:
    write_all(tmp_path)
    with pytest.raises(xd.PathError, match=r"try\s+'.*x\.parquet'"):
        dock.read(tmp_path / "y.parquet")
    with pytest.raises(FileNotFoundError, match="no file matches"):
        dock.read_parquet(str(tmp_path / "*.pq"))
    (tmp_path / "x.xlsx").write_bytes(b"a sheet")
    with pytest.raises(xd.PathError, match="CD-503"):
        dock.read(tmp_path / "x.xlsx")
    (tmp_path / "empty").mkdir()
    with pytest.raises(xd.PathError, match="holds no"):
        dock.read(tmp_path / "empty")
    with pytest.raises(xd.PathError, match="list of paths is empty"):
        dock.read_parquet([])


@pytest.mark.parametrize("name", ["bad.parquet", "bad.arrow"])
def test_what_is_not_the_format(dock: xd.Dock, tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_bytes(b"these are not the bytes of any table")
    with pytest.raises(xd.DataError, match=r"bad"):
        dock.read(tmp_path / name).collect()


@pytest.mark.parametrize("name", ["x.parquet", "x.arrow", "x.csv"])
def test_a_file_that_is_replaced_is_read_again(dock: xd.Dock, tmp_path: Path, name: str) -> None:
    write_all(tmp_path)
    relation = dock.read(tmp_path / name).select("k", "s", "t")
    assert relation.count() == relation.collect().num_rows == 4
    dock.from_arrow(PLAIN.slice(0, 3)).union(PLAIN).write(tmp_path / f"new-{name}")
    (tmp_path / f"new-{name}").replace(tmp_path / name)
    whole = dock.read(tmp_path / name)
    assert whole.count() == 7
    if name != "x.parquet":  # whose columns are others now
        assert relation.count() == relation.collect().num_rows == 7
    dock.from_arrow(pa.table({"other": [1]})).write(tmp_path / name)
    for run in (relation.count, relation.collect, whole.count, whole.collect):
        with pytest.raises(xd.DataError, match=r"has changed since it was opened(.|\n)*open it"):
            run()
    (tmp_path / name).unlink()
    with pytest.raises(xd.PathError, match="which was there when it was opened"):
        relation.count()


def test_what_exports_no_arrow_data(dock: xd.Dock, tmp_path: Path) -> None:
    write_all(tmp_path)
    dataset = pyarrow.dataset.dataset(tmp_path / "x.parquet")
    for data, way in (
        (dataset, r"\.scanner\(\)\.to_reader\(\)"),
        (dataset.scanner(), r"\.to_reader\(\)"),
        ([{"a": 1}], "from_pylist"),
        (PLAIN.to_batches(), "from_batches"),
        ({"a": [1]}, r"pyarrow\.table\(\.\.\.\)"),
        (7, r'pyarrow\.table\({"name"'),
    ):
        with pytest.raises(xd.TypeError, match=way):
            dock.from_arrow(data)
    assert dock.from_arrow(dataset.scanner().to_reader()).count() == 4


def test_csv_options(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a;b\n1;x\n2;\n")
    (tmp_path / "x.tsv").write_text("a\tb\n1\tx\n")
    relation = dock.read_csv(tmp_path / "x.csv", delimiter=";", types={"a": pa.string()})
    assert relation.collect().to_pydict() == {"a": ["1", "2"], "b": ["x", None]}
    assert dock.read(tmp_path / "x.tsv").columns == ["a", "b"]


def test_polars(dock: xd.Dock) -> None:
    polars = pytest.importorskip("polars")
    frame = polars.DataFrame({"k": [1, 2, 3], "s": ["a", "b", "c"]})
    joined = dock.from_arrow(frame).join(polars.DataFrame({"k": [2, 3], "x": [5, 6]}), on="k")
    back = polars.from_arrow(joined.collect()).sort("k")
    assert back.rows() == [(2, "b", 5), (3, "c", 6)]
    assert polars.DataFrame(joined).sort("k").rows() == back.rows()
    with pytest.raises(xd.TypeError, match=r"\.collect\(\)"):
        dock.from_arrow(object.__new__(type("Lazy", (), {"collect": None})))


def test_duckdb(dock: xd.Dock) -> None:
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select range as k, 'r' || range as s from range(1000)")
    joined = dock.from_arrow(relation).join(pa.table({"k": [7, 8]}), on="k")
    assert sorted(joined.collect()["s"].to_pylist()) == ["r7", "r8"]
    with duckdb.connect() as connection:
        connection.register("joined", pa.RecordBatchReader.from_stream(joined))
        result = connection.sql("select count(*), max(s) from joined").fetchall()
    assert result == [(2, "r8")]


def test_pandas(dock: xd.Dock) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [1, 2, 3], "s": ["a", "b", "c"]})
    joined = dock.from_arrow(frame).select("k", "s").join(pa.table({"k": [3]}), on="k")
    assert joined.collect().to_pandas().to_dict("records") == [{"k": 3, "s": "c"}]


def test_an_index_of_pandas_is_a_column_where_it_has_a_name(dock: xd.Dock) -> None:
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"k": [1, 2, 3]})
    assert dock.from_arrow(frame[frame.k > 1]).collect().to_pydict() == {"k": [2, 3]}
    named = frame.set_index(pandas.Index(["a", "b", "c"], name="s"))
    assert dock.from_arrow(named).columns == ["k", "s"]


def test_what_is_no_table_is_refused_with_what_makes_it_one(dock: xd.Dock, tmp_path: Path) -> None:
    polars, pandas = pytest.importorskip("polars"), pytest.importorskip("pandas")
    for data, way in [
        ("x.parquet", r"dock\.read\('x\.parquet'\)"),
        (tmp_path, r"dock\.read\("),
        ({"a": [1]}, r"pyarrow\.table\("),
        ([{"a": 1}], r"pyarrow\.Table\.from_pylist\("),
        (polars.LazyFrame({"a": [1]}), r"\.collect\(\)"),
    ]:
        with pytest.raises(xd.TypeError, match=rf"exports no Arrow data(.*\n)*  try +{way}"):
            dock.from_arrow(data)
    for series in (polars.Series("a", [1]), pandas.Series([1])):
        with pytest.raises(xd.DataError, match=r"\.to_frame\(\) on it first"):
            dock.from_arrow(series)
    with pytest.raises(xd.DataError, match="Duplicate column names"):
        dock.from_arrow(pandas.DataFrame([[1, 2]], columns=["a", "a"]))


def test_a_file_of_another_format_names_its_reader(dock: xd.Dock, tmp_path: Path) -> None:
    table = dock.from_arrow(PLAIN)
    table.write_parquet(tmp_path / "rows.csv")
    table.write(tmp_path / "rows.arrow")
    (tmp_path / "rows.arrow").rename(tmp_path / "rows.pq")
    (tmp_path / "rows.parquet").write_text("a,b\n1,2\n")
    for name, way in [
        ("rows.csv", r"read_parquet\(\.\.\.\): its first bytes are b'PAR1'"),
        ("rows.pq", r"read_ipc\(\.\.\.\): its first bytes are b'ARROW1'"),
        ("rows.parquet", r"read_csv\(\.\.\.\) or read_json\(\.\.\.\), if it is text"),
    ]:
        with pytest.raises(xd.DataError, match=rf"'{name}' cannot be read: (.*\n)*  try +{way}"):
            dock.read(tmp_path / name).collect()


def test_pyarrow_objects(dock: xd.Dock) -> None:
    batch = PLAIN.to_batches()[0]
    for data in (PLAIN, batch, PLAIN.to_reader(), dock.from_arrow(PLAIN)):
        relation = dock.from_arrow(data)
        assert relation.collect().to_pydict() == PLAIN.to_pydict()
        assert relation.collect().to_pydict() == PLAIN.to_pydict(), "a stream must be read once"


def test_metadata_and_double_names(dock: xd.Dock) -> None:
    tagged = PLAIN.replace_schema_metadata({"a": "b"})
    assert dock.from_arrow(tagged).collect().schema.metadata is None
    twice = pa.Table.from_arrays([pa.array([1]), pa.array([2])], names=["x", "x"])
    with pytest.raises(xd.ColumnError, match="'x'"):
        dock.from_arrow(twice)
