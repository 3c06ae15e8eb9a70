"""CSV files that the engine reads itself, chunk by chunk: the rows are those that pyarrow reads,
wherever chunks are cut; what it does not read goes through pyarrow; faults name file and line."""

from __future__ import annotations

import datetime
import random
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.csv as csv
import pytest
from crossdock.engine.file_plans import scanned_files

col = xd.col
MANY = 45_000  # of several chunks of 1 MiB
LONG = "a string that does not fit into a view; "


def cells(draw: random.Random, row: int, quoting: str, line_end: str) -> list[str]:
    day = datetime.date(1969, 12, 1) + datetime.timedelta(draw.randrange(40_000))
    text = draw.choice(["", "x", "NULL", "ä ö", LONG + str(row), LONG * 3])
    hard = draw.choice(["plain", 'says "a"', "one,two", f"line{line_end}line", '"', ",", "\n\n,"])
    if quoting != "all" and quoting != "some":
        hard = draw.choice(["a", "b c", ""])
    values = [
        str(row),
        draw.choice(["", str(draw.randrange(-(2**63), 2**63))]),
        draw.choice(["", "NaN", "1e300", "-0.0", repr(draw.gauss(0, 1e6))]),
        draw.choice(["true", "false", "NA"]),
        day.isoformat(),
        f"{day} {draw.randrange(24):02}:{draw.randrange(60):02}:00",
        text,
        hard,
    ]
    return [quoted(value, quoting) for value in values]


def quoted(value: str, quoting: str) -> str:
    needs = any(sign in value for sign in '",\r\n')
    if quoting == "all" or (quoting == "some" and needs):
        return '"' + value.replace('"', '""') + '"'
    return value


NAMES = ["n", "big", "x", "flag", "day", "at", "text", "hard"]


def written(path: Path, quoting: str, line_end: str = "\n", rows: int = MANY) -> Path:
    draw = random.Random(f"{quoting} {line_end!r}")
    lines = [",".join(NAMES)]
    lines += [",".join(cells(draw, row, quoting, line_end)) for row in range(rows)]
    path.write_bytes((line_end.join(lines) + (line_end if draw.random() < 0.5 else "")).encode())
    return path


def by_pyarrow(path: Path) -> pa.Table:
    return csv.read_csv(
        path,
        parse_options=csv.ParseOptions(newlines_in_values=True),
        convert_options=csv.ConvertOptions(strings_can_be_null=True),
    )


def is_read(relation: xd.Relation) -> bool:
    """Whether the engine reads the file itself."""
    return "csv" in str(relation.agg(n=xd.count()).profile()) and not isinstance(
        scanned_files(relation._node.source, tuple(relation.columns)),
        str,  # type: ignore[attr-defined]
    )


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("quoting", ["none", "some", "all"])
def test_rows_are_those_of_pyarrow(
    dock: xd.Dock, tmp_path: Path, quoting: str, line_end: str
) -> None:
    path = written(tmp_path / "rows.csv", quoting, line_end)
    rows = dock.read_csv(path)
    assert is_read(rows)
    expected = by_pyarrow(path)
    assert expected.num_rows == MANY
    actual = rows.collect()
    for name in NAMES:
        a, b = actual[name].combine_chunks(), expected[name].combine_chunks()
        if name == "x":
            a, b = a.cast(pa.string()), b.cast(pa.string())
        assert a.equals(b), name
    assert pa.Table.from_batches(rows.to_batches())["n"].to_pylist() == list(range(MANY))
    groups = rows.group_by("flag").agg(s=xd.sum("n"), t=xd.max("text")).sort("flag").collect()
    again = dock.from_arrow(expected).group_by("flag").agg(s=xd.sum("n"), t=xd.max("text"))
    assert groups.to_pylist() == again.sort("flag").collect().to_pylist()
    kept = rows.filter((col("n") % 1000 == 7) & col("text").is_not_null()).select("n", "hard")
    assert (
        kept.count()
        == dock.from_arrow(expected)
        .filter((col("n") % 1000 == 7) & col("text").is_not_null())
        .count()
    )
    assert rows.limit(10, 20_000).collect()["n"].to_pylist() == list(range(20_000, 20_010))


def test_records_longer_than_chunks(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    long = "\n".join(["word"] * 600_000)
    path.write_text(f'k,t\n1,short\n2,"{long}"\n3,"{long}"\n4,end')
    actual = dock.read_csv(path).sort("k").collect()
    assert actual["k"].to_pylist() == [1, 2, 3, 4]
    assert [len(t) for t in actual["t"].to_pylist()] == [5, len(long), len(long), 3]


FILES: dict[str, tuple[str, dict[str, Any]]] = {
    "no line end": ("a,b\n1,2\n3,4", {}),
    "empty lines": ("a,b\n\n1,2\n\r\n\n3,4\n\n", {}),
    "one column": ("a\n1\n\n2\n", {}),
    "one quoted column": ('a\n"x"\n""\n\n"y"\n', {}),
    "three signs in a line": ('a,b,c\n"1"\n'.replace('"1"', "1,2,3") + "4,5,6\n", {}),
    "only a header": ("a,b\n", {}),
    "a mark of UTF-8": ("\ufeffa,b\n1,2\n", {}),
    "spaces": ("a,b\n 1 ,x \n2, y\n", {}),
    "quotes within": ('a,b\n1,5" pipe\n2,"7"" pipe"\n', {}),
    "quoted numbers": ('a,b\n"1","x"\n"2",y\n', {}),
    "names": ("1,x\n2,y\n", {"header": False, "names": ["k", "t"]}),
    "no names": ("1,x\n2,y\n", {"header": False}),
    "semicolons": ("a;b\n1;x,y\n2;z\n", {}),
    "no quotes": ('a,b\n1,"x\n2,y"\n', {"quote": None}),
    "other nulls": ("a,b\n1,-\n-1,x\n", {"null_values": ["-", "-1"]}),
    "names with quotes": ('"a\nb","c"\n1,2\n', {}),
    "hexadecimal": ("a,b\n0x1F,1\n2,2\n", {}),
    "signs": ("a,b,c\n+1,+.5,-1\n+1e5,1e400,+inf\n-1e400,1e-400,-inf\n", {}),
    "types": ("d,i,f\n1.50,7,2\n-0.05,,NaN\n",
              {"types": {"d": pa.decimal128(9, 2), "i": pa.int16(), "f": pa.float32()}}),
    "moments": ("a,b\n2024-02-29 01:02:03.25,2024-02-29\n1969-12-31 23:59:59.5,1969-12-31\n", {}),
}  # fmt: skip


@pytest.mark.parametrize("name", FILES)
def test_forms(dock: xd.Dock, tmp_path: Path, name: str) -> None:
    text, options = FILES[name]
    path = tmp_path / "rows.csv"
    path.write_bytes(text.encode())
    rows = dock.read_csv(path, **options)
    source = rows._node.source  # type: ignore[attr-defined]
    if "header" not in name:  # columns of no type
        assert not isinstance(scanned_files(source, tuple(rows.columns)), str)
    expected = source.table(tuple(rows.columns), None)  # by pyarrow
    assert rows.collect().to_pydict().__repr__() == expected.to_pydict().__repr__()


def test_several_files(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text("k,t\n1,x\n2,y\n")
    (tmp_path / "b.csv").write_text("t,extra,k\nz,1.5,3\n")
    (tmp_path / "c.csv").write_text("k\n4\n")
    rows = dock.read_csv(str(tmp_path / "*.csv"))
    assert rows.sort("k").collect().to_pydict() == {
        "k": [1, 2, 3, 4], "t": ["x", "y", "z", None], "extra": [None, None, 1.5, None],
    }  # fmt: skip
    assert rows.group_by("extra").agg(n=xd.count()).sort("n").collect()["n"].to_pylist() == [1, 3]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("x,1", "line 200002, column 'k': 'x' is no int64"),
        ("1", "line 200002: 1 values instead of 2"),
        ("1,2,3", "line 200002: 3 values instead of 2"),
        ('1,"2"3', "line 200002: a quote is not closed, or something follows"),
        ("99999999999999999999,1", "'99999999999999999999' is no int64"),
    ],
)
def test_faults_name_the_line(dock: xd.Dock, tmp_path: Path, line: str, message: str) -> None:
    path = tmp_path / "rows.csv"
    lines = ["k,n", *(f"{k},{k}" for k in range(200_000)), line, *["5,5"] * 300_000]
    path.write_text("\n".join(lines))
    rows = dock.read_csv(path)
    with pytest.raises(xd.DataError, match=message):
        rows.agg(s=xd.sum("k"), n=xd.sum("n")).collect()
    assert rows.limit(100).collect().num_rows == 100


def test_bytes_that_are_no_strings(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"k,t\n" + b"1,fine\n" * 400_000 + b"2,\xff\xfe\n")
    rows = dock.read_csv(path)
    assert rows.agg(s=xd.sum("k")).collect()["s"].to_pylist() == [400_002]
    with pytest.raises(xd.DataError, match=r"line 400002, column 't': '..' is no UTF-8"):
        rows.group_by("t").agg(n=xd.count()).collect()


def test_what_pyarrow_reads(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_bytes(b"k;x\n1;2,5\n")
    source = dock.read_csv(path, decimal=",")._node.source  # type: ignore[attr-defined]
    assert "decimal comma" in str(scanned_files(source, ("k",)))
    path.write_bytes(b"k,x\r1,2\r3,4\r")
    rows = dock.read_csv(path)
    assert "CR alone" in str(scanned_files(rows._node.source, ("k",)))  # type: ignore[attr-defined]
    assert rows.collect()["x"].to_pylist() == [2, 4]


def test_a_file_that_changes(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "rows.csv"
    path.write_text("k\n1\n")
    rows = dock.read_csv(path)
    assert rows.collect()["k"].to_pylist() == [1]
    path.write_text("k\n2\n3\n")
    assert rows.collect()["k"].to_pylist() == [2, 3]
