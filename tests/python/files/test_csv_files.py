"""CSV files: encodings, compressions, and text that is none."""

from __future__ import annotations

import bz2
import gzip
import io
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest

TEXT = "id,city\n1,Bern\n2,Zürich\n"
ROWS = {"id": [1, 2], "city": ["Bern", "Zürich"]}


def test_strings_that_are_not_utf8(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(TEXT.encode("latin-1"))
    with pytest.raises(
        xd.DataError, match=r"column 'city' of '.*x.csv'(.|\n)*line 3, the byte 0xfc(.|\n)*latin-1"
    ):
        dock.read(path)
    with pytest.raises(xd.DataError, match="not UTF-8"):
        dock.read_csv(path, types={"id": "int32"})
    assert dock.read_csv(path, encoding="latin-1").collect().to_pydict() == ROWS
    assert dock.read_csv(path, types={"city": "binary"}).collect()["city"].to_pylist() == [
        b"Bern", b"Z\xfcrich",
    ]  # fmt: skip
    late = tmp_path / "late.csv"
    late.write_bytes(b"id,city\n" + b"1,Bern\n" * 400_000 + b"2,Z\xfcrich\n")
    with pytest.raises(xd.DataError, match=r"line 400002, column 'city': .* is no UTF-8.*latin-1"):
        dock.read(late).collect()


@pytest.mark.parametrize("encoding", ["utf-16", "latin1", "cp1252", "utf-8-sig"])
def test_encodings(dock: xd.Dock, tmp_path: Path, encoding: str) -> None:
    (tmp_path / "x.csv").write_bytes(TEXT.encode(encoding))
    rows = dock.read_csv(tmp_path / "x.csv", encoding=encoding)
    assert rows.collect().to_pydict() == ROWS
    assert rows.filter(xd.col("city") == "Zürich").count() == 1


def test_encodings_that_are_none(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text(TEXT)
    with pytest.raises(xd.OptionError, match="encoding='latin-x'"):
        dock.read_csv(tmp_path / "x.csv", encoding="latin-x")


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.bz2", "csv.zst"])
@pytest.mark.parametrize("encoding", ["utf-8", "latin-1"])
def test_compressed_files(dock: xd.Dock, tmp_path: Path, ending: str, encoding: str) -> None:
    path = tmp_path / f"x.{ending}"
    data = TEXT.encode(encoding)
    if ending.endswith("zst"):
        with pa.output_stream(path) as stream:
            stream.write(data)
    else:
        squeeze = {"gz": gzip.compress, "bz2": bz2.compress}.get(ending.rpartition(".")[2], bytes)
        path.write_bytes(squeeze(data))
    rows = dock.read_csv(path, encoding=encoding)
    assert rows.collect().to_pydict() == ROWS
    assert rows.filter(xd.col("id") == 2).collect()["city"].to_pylist() == ["Zürich"]
    if encoding != "utf-8":
        with pytest.raises(xd.DataError, match="not UTF-8"):
            dock.read_csv(path)


def test_a_file_that_is_not_what_it_is_called(dock: xd.Dock, tmp_path: Path) -> None:
    """What pyarrow says of it is no text either."""
    (tmp_path / "x.csv").write_bytes(b"a,b\n\xff\xfe\n1\n")
    (tmp_path / "x.csv.zst").write_bytes(b"a,b\n\xff\xfe\n1\n")
    for name in ("x.csv", "x.csv.zst"):
        with pytest.raises(xd.DataError, match=r"x\.csv"):
            dock.read(tmp_path / name)


def test_a_folder_with_a_compressed_file(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("id\n1\n")
    with pa.output_stream(tmp_path / "b.csv.zst") as stream:
        stream.write(b"id,city\n2.5,Bern\n")
    assert dock.read(tmp_path).collect().to_pydict() == {"id": [1.0, 2.5], "city": [None, "Bern"]}


def write(path: Path, text: str, encoding: str = "utf-8") -> Path:
    path.write_bytes(text.encode(encoding))
    return path


def rows_of(dock: xd.Dock, path: Path, **options: Any) -> list[dict[str, Any]]:
    rows: list[dict[str, Any]] = dock.read_csv(path, **options).collect().to_pylist()
    return rows


AB = [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]
ONE_COLUMN: list[dict[str, Any]] = [{"a": 1}, {"a": None}, {"a": 3}, {"a": None}]
DIALECTS: dict[str, tuple[str, dict[str, Any], list[dict[str, Any]]]] = {
    "no header": ("1,x\n2,y\n", {"header": False}, [
        {"column0": 1, "column1": "x"}, {"column0": 2, "column1": "y"}]),
    "no header but names": ("1,x\n2,y\n", {"header": False, "names": ["a", "b"]}, AB),
    "other names": ("n,m\n1,x\n2,y\n", {"names": ["a", "b"]}, AB),
    "skip": ("made by\nsomebody\na,b\n1,x\n2,y\n", {"skip": 2}, AB),
    "skip, no header": ("made by\n1,x\n2,y\n", {"skip": 1, "header": False, "names": ["a", "b"]},
                        AB),
    "semicolons": ("a;b\n1;x\n2;y\n", {}, AB),
    "tabs": ("a\tb\n1\tx\n2\ty\n", {}, AB),
    "bars": ("a|b\n1|x\n2|y\n", {}, AB),
    "semicolons beside commas": ("a;b\n1;x,z\n2;y\n", {}, [{"a": 1, "b": "x,z"}, AB[1]]),
    "commas in quotes": ('a;b\n1;"x,,z"\n2;"y,,"\n', {}, [
        {"a": 1, "b": "x,,z"}, {"a": 2, "b": "y,,"}]),
    "given": ("a;b,c\n1;x,z\n", {"delimiter": ","}, [{"a;b": "1;x", "c": "z"}]),
    "one column": ("a\n1\n2\n", {}, [{"a": 1}, {"a": 2}]),
    "quote": ("a,b\n1,'x,z'\n", {"quote": "'"}, [{"a": 1, "b": "x,z"}]),
    "no quote": ('a,b\n1,"x\n', {"quote": None}, [{"a": 1, "b": '"x'}]),
    "doubled quotes": ('a,b\n1,"x ""z"""\n', {}, [{"a": 1, "b": 'x "z"'}]),
    "escape": ('a,b\n1,"x \\"z\\""\n', {"escape": "\\"}, [{"a": 1, "b": 'x "z"'}]),
    "escape and comments": ('a,b\n1,"\\"\n#"\n#\n', {"escape": "\\", "comment": "#"}, [
        {"a": 1, "b": '"\n#'}]),
    "escape and fill": ('a,b\n1,"\\"x"\n2\n', {"escape": "\\", "ragged": "fill"}, [
        {"a": 1, "b": '"x'}, {"a": 2, "b": None}]),
    "lines in values": ('a,b\n1,"x\nz"\n2,y\n', {}, [{"a": 1, "b": "x\nz"}, AB[1]]),
    "comments": ("#c\na,b\n#,,\n1,x\n# 3\n2,y\n#", {"comment": "#"}, AB),
    "no comment in quotes": ('a,b\n1,"x\n#z"\n#\n2,y\n', {"comment": "#"}, [
        {"a": 1, "b": "x\n#z"}, AB[1]]),
    "skip and comments": ("1\n2\n#\na,b\n1,x\n2,y\n", {"skip": 2, "comment": "#"}, AB),
    "null values": ("a,b\n1,-\n-,y\n", {"null_values": "-"}, [
        {"a": 1, "b": None}, {"a": None, "b": "y"}]),
    "several null values": ("a,b\n1,NA\n-,\n", {"null_values": ["-", "NA"]}, [
        {"a": 1, "b": None}, {"a": None, "b": ""}]),
    "decimal commas": ("a;b\n1,5;x\n2,25;y\n", {"decimal": ","}, [
        {"a": 1.5, "b": "x"}, {"a": 2.25, "b": "y"}]),
    "types": ("a,b\n01,x\n", {"types": {"a": "string"}}, [{"a": "01", "b": "x"}]),
    "filled": ("a,b,c\n1\n2,y\n3,z,4\n", {"ragged": "fill"}, [
        {"a": 1, "b": None, "c": None}, {"a": 2, "b": "y", "c": None},
        {"a": 3, "b": "z", "c": 4}]),
    "filled with quotes": ('a;b;c\n"1"\n2;"y;""\n"\n', {"ragged": "fill"}, [
        {"a": 1, "b": None, "c": None}, {"a": 2, "b": 'y;"\n', "c": None}]),
    "filled by names": ("1\n2,y\n", {"ragged": "fill", "header": False, "names": ["a", "b"]}, [
        {"a": 1, "b": None}, {"a": 2, "b": "y"}]),
    "skipped": ("a,b\n1\n2,y\n3,z,4\n", {"ragged": "skip"}, [{"a": 2, "b": "y"}]),
    "empty lines": ("\na,b\n1,x\n\n2,y\n\n", {}, AB),
    "empty rows of one column": ("\r\n\na\r\n1\r\n\r\n3\n\n", {}, ONE_COLUMN),
    "the same with decimal commas": ("\na\n1\n\n3\n\n", {"decimal": ","}, ONE_COLUMN),
    "the same, filled": ("\na\n1\n\n3\n\n", {"ragged": "fill"}, ONE_COLUMN),
    "the same, skipped": ("\na\n1\n\n3\n,\n\n", {"ragged": "skip"}, ONE_COLUMN),
    "the same, bad values": ("\na\n1\n\n3\nx\n\n",
                             {"bad_values": "skip", "types": {"a": "int64"}}, ONE_COLUMN),
    "the same behind names": ("1\n\n3\n\n", {"header": False, "names": ["a"]}, ONE_COLUMN),
    "comments of one column": ("a\n1\n#\n\n3\n", {"comment": "#"}, [{"a": 1}, {"a": 3}]),
    "a column without values": ("a,b\n1,\n2,\n", {}, [{"a": 1, "b": None}, {"a": 2, "b": None}]),
    "no line at the end": ("a,b\r\n1,x\r\n2,y", {}, AB),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16"])
@pytest.mark.parametrize("name", DIALECTS)
def test_dialects(dock: xd.Dock, tmp_path: Path, name: str, encoding: str) -> None:
    text, options, expected = DIALECTS[name]
    path = write(tmp_path / "x.csv", text, encoding)
    relation = dock.read_csv(path, encoding=encoding, **options)
    assert relation.collect().to_pylist() == expected
    assert relation.count() == len(expected)
    for column in relation.columns:
        assert relation.select(column).collect()[column].to_pylist() == [
            row[column] for row in expected
        ]
    first = relation.columns[0]
    kept = relation.filter(~xd.col(first).is_null()).collect().to_pylist()
    assert kept == [row for row in expected if row[first] is not None]


@pytest.mark.parametrize("options", [{}, {"comment": "#"}, {"ragged": "fill"}], ids=str)
def test_ragged_rows_are_errors(dock: xd.Dock, tmp_path: Path, options: dict[str, Any]) -> None:
    path = write(tmp_path / "x.csv", "a,b\n1,x\n2,y,3\n")
    with pytest.raises(
        xd.DataError, match=r"(?s)Expected 2 columns, got 3: 2,y,3.*try +ragged='skip'"
    ):
        rows_of(dock, path, **options)
    write(path, "a,b\n1,x\n2\n")
    if options.get("ragged") != "fill":
        with pytest.raises(xd.DataError, match=r"(?s)Expected 2 columns, got 1: 2.*ragged='fill'"):
            rows_of(dock, path, **options)


@pytest.mark.parametrize("options", [{}, {"comment": "#"}], ids=str)
def test_types_that_the_first_block_does_not_tell(
    dock: xd.Dock, tmp_path: Path, options: dict[str, Any]
) -> None:
    path = write(tmp_path / "x.csv", "a,b\n" + "1,x\n" * 600_000 + "word,y\n")
    relation = dock.read_csv(path, **options)
    with pytest.raises(xd.DataError, match=r"(?s)'word'.*types="):
        relation.collect()
    rows = dock.read_csv(path, types={"a": "string"}, **options)
    assert rows.count() == 600_001
    assert rows.filter(xd.col("a") == "word").count() == 1


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"sep": ";"}, r"(?s)read_csv\(\) has no option 'sep'.*try\s+delimiter"),
        ({"usecols": ["a"]}, r"(?s)no option 'usecols'.*try\s+select"),
        ({"header": None}, r"(?s)header=None.*try\s+header=False"),
        ({"delimiter": ";;"}, r"delimiter=';;'\) is not one ASCII character"),
        ({"quote": "ä"}, "quote='ä'"),
        ({"header": "yes"}, "header='yes'"),
        ({"names": "a"}, "names='a'"),
        ({"names": ["a", "a"]}, "a name twice"),
        ({"skip": -1}, "from 0 on"),
        ({"skip": "x"}, "skip"),
        ({"ragged": "pad"}, "ragged='pad' is not a choice"),
        ({"bad_values": "null"}, "bad_values='null' is not a choice"),
        ({"null_values": 3}, "null_values=3"),
        ({"decimal": ",", "delimiter": ","}, "is the delimiter too"),
        ({"types": ["a"]}, "says no types by column"),
        ({"union_by_name": 1}, "union_by_name=1"),
        ({"hive_partitioning": "x"}, "hive_partitioning='x'"),
    ],
    ids=str,
)
def test_options_that_are_none(
    dock: xd.Dock, tmp_path: Path, options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path / "x.csv", "a,b\n1,x\n")
    with pytest.raises(xd.OptionError, match=message):
        dock.read_csv(path, **options)


def test_several_files_have_one_dialect(dock: xd.Dock, tmp_path: Path) -> None:
    write(tmp_path / "1.csv", "a;b\n1;x\n")
    write(tmp_path / "2.csv", "b;c\ny;2,5\n")
    rows = dock.read_csv(tmp_path, decimal=",", filename="file").collect().to_pylist()
    assert [(row["a"], row["b"], row["c"]) for row in rows] == [(1, "x", None), (None, "y", 2.5)]


@pytest.mark.parametrize("options", [{}, {"comment": "#"}, {"ragged": "fill"}], ids=str)
def test_large_files_stream_in_bounded_memory(
    dock: xd.Dock, tmp_path: Path, options: dict[str, Any]
) -> None:
    """Also where the rows are taken more slowly than they could be read."""
    path = tmp_path / "x.csv"
    path.write_text("a,b\n" + f"1,{'x' * 90}\n" * 1_200_000)
    before = pa.total_allocated_bytes()
    most = rows = 0
    for number, batch in enumerate(dock.read_csv(path, **options).to_batches()):
        rows += batch.num_rows
        most = max(most, pa.total_allocated_bytes() - before + dock.memory_used_bytes)
        if number < 20:
            time.sleep(0.05)
    assert rows == 1_200_000
    assert most < 48 << 20  # of 113 MB, blocks that are read ahead, here or by pyarrow.csv


FIRST_ROWS = """
import sys, crossdock as xd
with xd.connect(threads=2) as dock:
    print(dock.read_csv(sys.argv[1], encoding="latin1").limit(5).collect().num_rows)
"""


def test_a_process_that_reads_a_few_rows_ends(tmp_path: Path) -> None:
    """pyarrow's threads read on when the interpreter ends, which one of twelve did not survive."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "".join(f"{i},some words {i}\n" for i in range(1_000_000)))
    for _ in range(8):
        command = [sys.executable, "-c", FIRST_ROWS, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr


def test_a_header_that_has_a_name_twice(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text('a,"a",b,a_1\n1,2,3,4\n5,6,7,8\n')
    rows = dock.read_csv(path)
    assert rows.columns == ["a", "a_1", "b", "a_1_1"]
    assert rows.filter(xd.col("a_1") > 2).collect().to_pylist() == [
        {"a": 5, "a_1": 6, "b": 7, "a_1_1": 8}
    ]
    path.write_text("# c\nx;x\n1;2\n")
    assert dock.read_csv(path, comment="#").columns == ["x", "x_1"]


@pytest.mark.parametrize("ending", ["csv", "csv.gz", "csv.zst"])
def test_nulls_of_one_column_are_read_again(dock: xd.Dock, tmp_path: Path, ending: str) -> None:
    table = pa.table({"a": [None, 1, None, 2, None]})
    dock.from_arrow(table).write(tmp_path / f"rows.{ending}")
    rows = dock.read_csv(tmp_path / f"rows.{ending}")
    assert rows.collect().equals(table)
    assert rows.count() == table.num_rows
    assert dock.read_csv(io.BytesIO(b"a\n\n1\n")).collect()["a"].to_pylist() == [None, 1]


@pytest.mark.parametrize("options", [{}, {"comment": "#"}, {"bad_values": "skip"}], ids=str)
def test_values_that_come_late(dock: xd.Dock, tmp_path: Path, options: dict[str, Any]) -> None:
    """A column without a value in the first block may hold any."""
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n" + "1,\n" * 600_000 + "2,late\n")
    rows = dock.read_csv(path, **options)
    assert rows.filter(xd.col("b").is_not_null()).collect().to_pylist() == [{"a": 2, "b": "late"}]
    (tmp_path / "more.csv").write_text("a,b\n3,0.5\n")
    both = dock.read_csv([tmp_path / "more.csv", path], types={"b": "string"}, **options)
    assert both.filter(xd.col("b").is_not_null()).collect()["b"].to_pylist() == ["0.5", "late"]


def test_an_empty_file_says_so(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("")
    with pytest.raises(xd.DataError, match="is empty, or no line end is behind its header"):
        dock.read_csv(path)


def test_a_file_that_is_gone_says_so(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("a\n1\n")
    rows = dock.read_csv(path)
    path.unlink()
    with pytest.raises(xd.PathError, match="was there when it was opened"):
        rows.collect()


def test_a_wrong_value_is_named_as_users_count(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text('a,price\n1,2.5\n2,"1,200.5"\n')
    wrong = r"(?s)'1,200\.5' in column 2 of row 3 is no double.*try .*types=.*bad_values='skip'"
    with pytest.raises(xd.DataError, match=wrong) as refused:
        dock.read_csv(tmp_path / "x.csv", types={"price": "float64"}).collect()
    assert "Could not open" not in str(refused.value)
