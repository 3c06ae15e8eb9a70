"""Rows of CSV files that are left out, and counted with their lines and reasons."""

from __future__ import annotations

import contextlib
import gzip
import io
import pickle
import random
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import fsspec
import pyarrow as pa
import pytest
from crossdock.sql_frontend.standard_input import read_standard_input

SKIPS: dict[str, Any] = {"ragged": "skip", "bad_values": "skip"}
TYPES = {"k": "int64", "v": "float64", "d": "date32"}


def write(path: Path, text: str, encoding: str = "utf-8") -> str:
    path.write_bytes(text.encode(encoding))
    return str(path)


def rejects_of(dock: xd.Dock, path: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Line, column, value, reason and text of each."""
    rows = dock.read_csv_rejects(path, **options).drop("filename").collect().to_pylist()
    return [tuple(row.values()) for row in rows]


def test_rows_of_other_numbers_of_values(dock: xd.Dock, tmp_path: Path) -> None:
    a = write(tmp_path / "a.csv", "# none\nk;t\n1;x\n2\n3;y;z\n4;w\n")
    b = write(tmp_path / "b.csv", "k;t\n5;x\n")
    assert dock.read_csv([a, b], ragged="skip", comment="#").count() == 3
    of_number = {"filename": a, "column": None, "value": None}
    rejects = dock.read_csv_rejects([a, b], comment="#")
    assert rejects.collect().to_pylist() == [
        of_number | {"line": 4, "reason": "1 values instead of 2", "text": "2"},
        of_number | {"line": 5, "reason": "3 values instead of 2", "text": "3;y;z"},
    ]
    assert rejects.filter(xd.col("line") > 4).count() == 1
    assert rejects.select("line").collect().to_pydict() == {"line": [4, 5]}
    assert dock.read_csv_rejects(b).count() == 0


def test_values_of_another_type(dock: xd.Dock, tmp_path: Path) -> None:
    text = "k,v,d\n1,1.5,2024-01-01\nx,2,2024-01-02\n3,y,z\n4,4\n5,5,2024-13-01\n,,\n6, 6 ,\n"
    path = write(tmp_path / "x.csv", text)
    rows = dock.read_csv(path, types=TYPES, **SKIPS)
    assert rows.collect()["k"].to_pylist() == [1, None, 6]
    assert rows.schema.types == [pa.int64(), pa.float64(), pa.date32()]
    assert rejects_of(dock, path, types=TYPES) == [
        (3, "k", "x", "is no int64", "x,2,2024-01-02"),
        (4, "v", "y", "is no double", "3,y,z"),
        (5, None, None, "2 values instead of 3", "4,4"),
        (6, "d", "2024-13-01", "is no date32[day]", "5,5,2024-13-01"),
    ]
    # The rows are the same ones whichever columns are read.
    assert rows.count() == 3
    assert rows.select("v").collect()["v"].to_pylist() == [1.5, None, 6.0]
    assert rows.filter(xd.col("k") > 1).select("d").collect()["d"].to_pylist() == [None]
    with pytest.raises(xd.DataError, match=r"x\.csv, line 5: Expected 3 columns, got 2"):
        dock.read_csv(path, types=TYPES, bad_values="skip").collect()
    with pytest.raises(xd.DataError, match=r"(?s)x\.csv, line 3: .*'x'.*bad_values='skip'"):
        dock.read_csv(path, types=TYPES, ragged="skip").collect()
    later = write(tmp_path / "later.csv", "k\n" + "1\n" * 600_000 + "x\n")
    with pytest.raises(xd.DataError, match=r"(?s)line 600002, column 'k': 'x' .*bad_values='skip'"):
        dock.read_csv(later).collect()
    assert rejects_of(dock, later) == [(600_002, "k", "x", "is no int64", "x")]
    with pytest.raises(xd.ColumnError, match="'w'"):
        dock.read_csv_rejects(path, types={"w": "int64"})


def test_only_one_of_both(dock: xd.Dock, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "k,v\n1\nx,2\n3,4\n")
    options = {"types": {"k": "int64"}, "bad_values": "skip", "ragged": "fill"}
    assert dock.read_csv(path, **options).collect().to_pydict() == {"k": [1, 3], "v": [None, 4]}
    assert rejects_of(dock, path, **options) == [(3, "k", "x", "is no int64", "x,2")]
    with pytest.raises(xd.DataError, match="line 2: Expected 2 columns, got 1"):
        rejects_of(dock, path, types={"k": "int64"}, ragged="error")


DIALECTS: dict[str, tuple[str, dict[str, Any], list[tuple[int, Any]]]] = {
    "lines in values": ('k,t\n1,"a\n\nb"\nx,"c\nd"\n\n2,e\n"y","f"\n', {}, [(5, "x"), (9, "y")]),
    "doubled quotes": ('k,t\n"x""\n",1\n1,"\n"""\ny,3\n', {}, [(2, 'x"\n'), (6, "y")]),
    "quotes within values": ('k,t\n1,5"\nx,6"\n2,7\ny,"8\n"\n', {}, [(3, "x"), (5, "y")]),
    "Windows": ('k,t\r\n1,"a\r\nb"\r\n\r\nx,2\r\ny,3', {}, [(5, "x"), (6, "y")]),
    "skip, comments": ("by me\n\n# c\nk,t\n# d\nx,1\n#\ny,2\n", {"skip": 1, "comment": "#"},
                       [(6, "x"), (8, "y")]),
    "no header": ("x,1\n2,3\ny,4\n", {"header": False, "names": ["k", "t"]}, [(1, "x"), (3, "y")]),
    "other names": ("a,b\nx,1\ny,4\n", {"names": ["k", "t"]}, [(2, "x"), (3, "y")]),
    "escapes": ('k;t\nx;"\\"\n\\\\"\n1;"\\";"\ny;2\n', {"escape": "\\"}, [(2, "x"), (5, "y")]),
    "decimal commas": ("k;t\n1;2,5\nx;3,5\n1,5;1\n", {"decimal": ","}, [(3, "x"), (4, "1,5")]),
    "no quotes": ('k,t\n1,"\nx,"\n"y,2\n', {"quote": None}, [(3, "x"), (4, '"y')]),
    "filled": ("k,t,u\n\n1\nx\n\n2,3,4\ny,5\n", {"ragged": "fill"}, [(4, "x"), (7, "y")]),
}  # fmt: skip


@pytest.mark.parametrize("encoding", ["utf-8", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("name", DIALECTS)
def test_lines_of_dialects(dock: xd.Dock, tmp_path: Path, name: str, encoding: str) -> None:
    text, options, expected = DIALECTS[name]
    path = write(tmp_path / "x.csv", text, encoding)
    options = {"types": {"k": "int64"}, "encoding": encoding, **options}
    assert [(line, value) for line, _, value, *_ in rejects_of(dock, path, **options)] == expected
    kept = dock.read_csv(path, bad_values="skip", **options)
    assert (
        kept.count() + len(expected)
        == dock.read_csv(path, **options | {"types": {"k": "string"}}).count()
    )
    assert set(kept.collect()["k"].to_pylist()) <= {1, 2}


@pytest.mark.parametrize("share", [0.0, 0.0001, 0.05, 1.0])
def test_files_of_several_blocks(dock: xd.Dock, tmp_path: Path, share: float) -> None:
    """Quoted line ends lie on both sides of where blocks of 1 MiB end."""
    chance = random.Random(7)
    lines, expected, kept, line = ["k,t\n"], [], 0, 2
    for number in range(4_000 if share == 1 else 40_000):
        fits = chance.random() >= share
        key = str(number) if fits else chance.choice(["x", "1.5", "99999999999999999999"])
        text = f'{key},"{"y" * chance.randrange(60)}\n\nz"\n'
        if not fits:
            expected.append((line, key, text.rstrip("\n")))
        kept += fits
        lines.append(text)
        line += 3
    path = write(tmp_path / "x.csv", "".join(lines))
    types = {"k": "int64"}
    rows = dock.read_csv(path, types=types, bad_values="skip").collect()
    assert rows.num_rows == kept
    assert rows["k"].to_pylist() == sorted(rows["k"].to_pylist())
    rejects = rejects_of(dock, path, types=types)
    assert [(line, value, text) for line, _, value, _, text in rejects] == expected


def test_rejects_are_those_of_duckdb(dock: xd.Dock, tmp_path: Path) -> None:
    chance = random.Random(3)
    values = ["1", "20", "x", "1e", "", "2024-01-01", "2024-02-30", "abc", "-7"]
    lines = [
        ",".join(chance.choice(values) for _ in range(chance.choice([3] * 9 + [2, 4])))
        for _ in range(3000)
    ]
    # DuckDB takes a delimiter behind all values.
    lines = [line for line in lines if line.count(",") != 3 or not line.endswith(",")]
    path = write(tmp_path / "x.csv", "k,v,d\n" + "\n".join(lines) + "\n")
    with duckdb.connect() as connection:
        columns = "{'k': 'BIGINT', 'v': 'DOUBLE', 'd': 'DATE'}"
        kept = connection.execute(
            f"SELECT * FROM read_csv('{path}', header=true, columns={columns}, store_rejects=true,"
            " auto_detect=false, delim=',')"
        ).fetchall()
        of_lines = connection.execute("SELECT DISTINCT line FROM reject_errors").fetchall()
    rows = dock.read_csv(path, types=TYPES, **SKIPS).collect().to_pylist()
    assert [tuple(row.values()) for row in rows] == kept
    rejects = rejects_of(dock, path, types=TYPES)
    assert {line for line, *_ in rejects} == {line for (line,) in of_lines}
    assert len(rejects) == len(of_lines)


def test_strings_that_are_not_utf8(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_bytes(b"k,t\n1,a\n2,\xff\n3,b\n")
    types = {"t": "string"}
    rows = dock.read_csv(path, types=types, bad_values="skip")
    assert rows.collect().to_pydict() == {"k": [1, 3], "t": ["a", "b"]}
    assert rejects_of(dock, path, types=types) == [(3, "t", "�", "is no UTF-8", "2,�")]


def test_a_quote_that_is_not_closed_swallows_no_rows(dock: xd.Dock, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", 'k,t\n1,a\n2,"b\n' + "3,c\n" * 10)
    with pytest.raises(xd.DataError, match=r"x\.csv, line 3: a quote is not closed"):
        dock.read_csv(path, types={"k": "int64"}, **SKIPS).collect()


def test_many_files_of_folders_and_archives(dock: xd.Dock, tmp_path: Path) -> None:
    for year, text in ((2025, "k\n1\nx\n"), (2026, "k,v\n2,\ny,1\n")):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "a.csv.gz").write_bytes(gzip.compress(text.encode()))
    types = {"k": "int64"}
    rows = dock.read_csv(tmp_path, types=types, bad_values="skip", filename=True)
    assert rows.select("k", "year").collect().to_pydict() == {"k": [1, 2], "year": [2025, 2026]}
    rejects = dock.read_csv_rejects(tmp_path, types=types).collect()
    assert rejects["value"].to_pylist() == ["x", "y"]
    assert [Path(name).parent.name for name in rejects["filename"].to_pylist()] == [
        "year=2025", "year=2026",
    ]  # fmt: skip


def test_rejects_of_files_elsewhere_and_in_pickles(dock: xd.Dock, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "k\n1\nx\n")
    far = dock.read_csv_rejects(path, types={"k": "int64"}, filesystem=fsspec.filesystem("file"))
    assert far.select("line", "value").collect().to_pylist() == [{"line": 3, "value": "x"}]
    rejects = dock.read_csv_rejects(path, types={"k": "int64"})
    assert pickle.loads(pickle.dumps(rejects)).collect() == rejects.collect()


def test_types_of_all_files_decide(dock: xd.Dock, tmp_path: Path) -> None:
    """What is an integer in one file is read as the float that another one made of the column."""
    paths = [write(tmp_path / "a.csv", "k\n1\n"), write(tmp_path / "b.csv", "k\n1.5\n")]
    assert dock.read_csv(paths, bad_values="skip").collect()["k"].to_pylist() == [1.0, 1.5]
    assert dock.read_csv_rejects(paths).count() == 0


def test_a_file_that_has_changed(dock: xd.Dock, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "k,t\n1,a\nx,b\n")
    rejects = dock.read_csv_rejects(path, types={"k": "int64"})
    assert rejects.count() == 1
    write(tmp_path / "x.csv", "k,t\n1,a\nx,b\ny,c\n")
    assert rejects.count() == 2


def test_rejects_in_sql(dock: xd.Dock, tmp_path: Path) -> None:
    path = write(tmp_path / "x.csv", "k,v\n1\nx,2\n3,4\n5,6,7\n")
    columns = "columns={'k': 'BIGINT', 'v': 'BIGINT'}"

    def rows(text: str) -> list[tuple[Any, ...]]:
        return [tuple(row.values()) for row in dock.sql(text).collect().to_pylist()]

    kept = f"select * from read_csv('{path}', {columns}, ignore_errors=true)"
    assert rows(kept) == [(3, 4)]
    padded = f"select * from read_csv('{path}', {columns}, null_padding=true, ignore_errors=true)"
    with pytest.raises(xd.DataError, match="line 5: Expected 2 columns, got 3"):
        rows(padded)
    rejects = f"select line, \"column\", value from read_csv_rejects('{path}', {columns})"
    assert sorted(rows(rejects)) == [(2, None, None), (3, "k", "x"), (5, None, None)]
    assert rows(f"select count(*) from read_csv_rejects('{path}', {columns})") == [(3,)]


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    text = b"k,t\n1,a\nx,b\n2\n"
    options: dict[str, Any] = {"types": {"k": "int64"}}

    def read(**more: Any) -> dict[str, Any]:
        monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(text)))
        result: dict[str, Any] = read_standard_input(options | more).to_pydict()
        return result

    assert read(**SKIPS) == {"k": [1], "t": ["a"]}
    with pytest.raises(xd.DataError, match="standard input, line 4: Expected 2 columns"):
        read(bad_values="skip")


def test_rows_stream_in_bounded_memory(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.csv"
    path.write_text("k,t\n" + f"1,{'x' * 90}\nx,{'y' * 90}\n" * 300_000)
    before = pa.total_allocated_bytes()
    most = 0
    rejects = dock.read_csv_rejects(path, types={"k": "int64"})
    for number, batch in enumerate(rejects.to_batches()):
        assert batch.num_rows <= 1024
        most = max(most, pa.total_allocated_bytes() - before)
        if number == 40:
            break
    assert most < 24 << 20  # of 55 MB


CHECKED_VALUES = [
    "0", "-1", "+1", " 7 ", "1.0", "1e3", "0x1F", "127", "128", "255", "256", "-129", "65536",
    "4294967296", "9223372036854775807", "9223372036854775808", "18446744073709551616", "nan",
    "inf", "-inf", "1e400", "1.5.2", "true", "True", "TRUE", "t", "false", "yes", "", "NULL", "x",
    "2024-02-29", "2023-02-29", "2024-1-1", "2024-01-01 10:00", "2024-01-01T10:00:61",
    "2024-01-01 10:00:00.123", "2024-01-01 10:00:00.123456789", "2024-01-01T00:00:00Z", "12:30:00",
    "99999.99", "100000.00", "1.234", "1.5E+2", "100e-2", "12300000e-4", "12345e-3", "1e", "e3",
    "1e+-3", "1e99", "0e9999", ".5", "5.", "0.10000", "1" + "0" * 37 + "e-35", "ä", "1,5", "1_000",
]  # fmt: skip
CHECKED_TYPES = [
    pa.bool_(), pa.int8(), pa.uint8(), pa.int16(), pa.int32(), pa.uint32(), pa.int64(),
    pa.uint64(), pa.float32(), pa.float64(), pa.decimal128(7, 2), pa.date32(), pa.timestamp("s"),
    pa.timestamp("ms"), pa.timestamp("us"), pa.timestamp("ns"), pa.timestamp("us", "UTC"),
    pa.time32("s"), pa.string(), pa.binary(), pa.dictionary(pa.int32(), pa.string()),
]  # fmt: skip


@pytest.mark.parametrize("decimal", [".", ","])
@pytest.mark.parametrize("data_type", CHECKED_TYPES, ids=str)
def test_bad_values_are_those_of_pyarrow(
    dock: xd.Dock, tmp_path: Path, data_type: pa.DataType, decimal: str
) -> None:
    """Whichever of the two readers says so."""
    lines = [f'{number};"{value}"\n' for number, value in enumerate(CHECKED_VALUES)]
    options: dict[str, Any] = {"types": {"v": data_type}, "decimal": decimal, "delimiter": ";"}
    expected = []
    for line in lines:
        alone = write(tmp_path / "alone.csv", "n;v\n" + line)
        with contextlib.suppress(xd.DataError):
            expected += dock.read_csv(alone, comment="#", **options).collect().to_pylist()
    path = write(tmp_path / "x.csv", "n;v\n" + "".join(lines))
    kept = dock.read_csv(path, bad_values="skip", **options).collect().to_pylist()
    assert str(kept) == str(expected)  # NaN is no NaN
    rejects = dock.read_csv_rejects(path, **options).collect()
    left_out = set(range(len(lines))) - {row["n"] for row in expected}
    assert rejects["line"].to_pylist() == [number + 2 for number in sorted(left_out)]
    assert rejects["value"].to_pylist() == [CHECKED_VALUES[number] for number in sorted(left_out)]
