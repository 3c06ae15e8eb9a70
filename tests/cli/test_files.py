"""The verbs that look at files: head, schema, count, describe and convert."""

from __future__ import annotations

import csv
import io
import json
import sys
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from .conftest import Command

FORMATS = ("people.parquet", "people.arrow", "people.csv")


def lines(text: str) -> list[list[str]]:
    return list(csv.reader(io.StringIO(text)))


@pytest.mark.parametrize("file", FORMATS)
def test_head(folder: Path, crossdock: Command, file: str) -> None:
    shown = crossdock("head", file, "-n", "2")
    assert (shown.code, shown.err) == (0, "")
    assert "2 rows" in shown.out
    ended = crossdock("head", file, "-n", "2", "--format", "csv")
    assert lines(ended.out) == [["id", "name"], ["1", "ann"], ["2", "bob"]]
    ended = crossdock("head", file, "--where", "id > 1", "--select", "name", "--format", "json")
    assert json.loads(ended.out) == [{"name": "bob"}, {"name": None}]
    ended = crossdock("head", file, "-n", "1", "--format", "ndjson")
    assert json.loads(ended.out) == {"id": 1, "name": "ann"}
    ended = crossdock("head", file, "-n", "0", "--format", "markdown")
    assert ended.out.splitlines()[0] == "| id | name |"
    ended = crossdock("head", file, "-n", "2", "-o", "out.parquet")
    assert (ended.code, ended.err) == (0, "wrote 2 rows to out.parquet\n")
    assert pq.read_table("out.parquet").num_rows == 2


def test_schema(folder: Path, crossdock: Command) -> None:
    ended = crossdock("schema", "people.parquet", "visits.parquet", "--format", "csv")
    assert lines(ended.out) == [
        ["column_name", "column_type", "null"], ["id", "int64", "YES"], ["name", "string", "YES"],
        ["who", "int64", "YES"], ["cost", "double", "YES"],
    ]  # fmt: skip
    ended = crossdock("schema", "people.parquet", "visits.parquet", "--read", "union_by_name=false")
    assert ended.code == 1
    assert "'visits.parquet' has other columns than 'people.parquet'" in ended.err
    assert "│ id          │ int64" in crossdock("schema", "people.csv").out


def test_count(folder: Path, crossdock: Command) -> None:
    for files, rows in ((FORMATS[:1], 3), (("parts",), 6), (("parts/*.parquet",), 6),
                        (("people.parquet", "visits.parquet"), 6), (FORMATS[1:2], 3),
                        (FORMATS[2:], 3)):  # fmt: skip
        assert crossdock("count", *files).out == f"{rows}\n"
    assert crossdock("count", "parts", "--where", "cost > 2").out == "4\n"
    assert crossdock("count", "parts", "--format", "csv").out == '"rows"\n6\n'
    assert crossdock("count", "parts", "-o", "rows.ndjson").code == 0
    assert json.loads(Path("rows.ndjson").read_text()) == {"rows": 6}


def test_describe(folder: Path, crossdock: Command) -> None:
    ended = crossdock("describe", "visits.parquet", "people.parquet", "--format", "json")
    report = {row["column_name"]: row for row in json.loads(ended.out)}
    theirs = duckdb.sql(
        "summarize from read_parquet(['visits.parquet', 'people.parquet'], union_by_name=true)"
    ).to_arrow_table()
    for row in theirs.to_pylist():
        ours = report[row["column_name"]]
        assert (ours["min"], ours["max"]) == (row["min"], row["max"])
        assert ours["count"] == row["count"] == 6
        assert ours["null_percentage"] == pytest.approx(float(row["null_percentage"]), abs=0.01)
    shown = crossdock("describe", "visits.parquet", "--select", "cost")
    assert "2.5" in shown.out


ENDINGS = (
    "parquet",
    "arrow",
    "csv",
    "json",
    "ndjson",
    "csv.gz",
    "ndjson.zst",
    "arrows",
    "tsv",
    "tsv.gz",
)


@pytest.mark.parametrize("ending", ENDINGS)
def test_convert_there_and_back(folder: Path, crossdock: Command, ending: str) -> None:
    ended = crossdock("convert", "people.parquet", f"out.{ending}")
    assert ended.code == 0, ended.err
    assert ended.err.startswith(f"wrote 3 rows to out.{ending} in ")
    assert crossdock("convert", f"out.{ending}", "-o", "back.parquet").code == 0
    assert pq.read_table("back.parquet").to_pydict() == pq.read_table("people.parquet").to_pydict()


def test_convert_several_files(folder: Path, crossdock: Command) -> None:
    ended = crossdock("convert", "people.parquet", "visits.parquet", "all.parquet",
                      "--read", "filename=true", "--where", "id > 1 or cost > 3",
                      "--select", "name,filename")  # fmt: skip
    assert ended.code == 0, ended.err
    assert pq.read_table("all.parquet").to_pydict() == {
        "name": ["bob", None, "z"],
        "filename": ["people.parquet", "people.parquet", "visits.parquet"],
    }
    assert crossdock("convert", "parts", "all.md").code == 0
    assert Path("all.md").read_text().count("\n") == 8
    assert crossdock("convert", "parts", "out", "--format", "csv").code == 0
    assert Path("out").read_text().startswith('"who"')


def test_convert_to_folders_and_with_a_codec(folder: Path, crossdock: Command) -> None:
    ended = crossdock("convert", "parts", "out", "--partition-by", "who,name", "--level", "5")
    assert ended.code == 0, ended.err
    assert (folder / "out" / "who=3" / "name=z" / "part-00000.parquet").exists()
    assert crossdock("count", "out", "--where", "who == 3").out == "4\n"
    assert crossdock("convert", "parts", "out", "--partition-by", "who").code == 1
    assert crossdock("convert", "parts", "out", "--partition-by", "who", "--overwrite").code == 0
    ended = crossdock("convert", "parts", "x.parquet", "--compression", "gzip",
                      "--row-group-rows", "4")  # fmt: skip
    assert ended.code == 0, ended.err
    metadata = pq.ParquetFile("x.parquet").metadata
    assert [metadata.row_group(i).num_rows for i in range(2)] == [4, 2]
    assert metadata.row_group(0).column(0).compression == "GZIP"


def test_reader_options(folder: Path, crossdock: Command) -> None:
    Path("x.csv").write_text("made\n1;a;NA\n2;b;-\n")
    options = [part for option in ("header=false", "names=n,s,x", "skip=1", "null_values=NA,-",
                                   "types=n:string,x:double")
               for part in ("--read", option)]  # fmt: skip
    ended = crossdock("head", "x.csv", "--format", "json", *options)
    assert json.loads(ended.out) == [
        {"n": "1", "s": "a", "x": None}, {"n": "2", "s": "b", "x": None},
    ]  # fmt: skip


class Stdin(io.TextIOWrapper):
    def isatty(self) -> bool:
        return False


def test_standard_input(folder: Path, crossdock: Command, monkeypatch: pytest.MonkeyPatch) -> None:
    for file in FORMATS:
        monkeypatch.setattr(sys, "stdin", Stdin(io.BytesIO(Path(file).read_bytes())))
        assert crossdock("count", "-").out == "3\n"
    monkeypatch.setattr(sys, "stdin", Stdin(io.BytesIO(b"1;x\n")))
    ended = crossdock("head", "-", "--read", "header=false", "--format", "ndjson")
    assert json.loads(ended.out) == {"column0": 1, "column1": "x"}


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["head"], 2, "Missing argument 'FILES...'"),
        (["head", "none.parquet"], 1, "CD-502"),
        (["head", "people.parquet", "--overwrite"], 2, "--overwrite goes with --out FILE"),
        (["head", "people.parquet", "--read", "header"], 2, "--read takes NAME=VALUE"),
        (["head", "people.parquet", "--read", "delimiter=;"], 1, "has no option 'delimiter'"),
        (["head", "people.csv", "--read", "skip=x"], 1, "skip"),
        (["head", "people.parquet", "--where", "nope > 1"], 1, "no column 'nope'"),
        (["count", "people.parquet", "people.csv"], 1, "several formats"),
        (["convert", "people.parquet"], 2, "convert takes FILES and a TARGET"),
        (["convert", "people.parquet", "x.xlsx"], 1, "no format is known for 'x.xlsx'"),
        (["convert", "people.parquet", "people.parquet"], 1, "is an input of this result"),
        (["convert", "people.parquet", "x.csv", "--level", "3"], 1, "option of Parquet"),
        (["convert", "people.parquet", "x", "--format", "csv", "--level", "3"], 2, "--level is of"),
        (["convert", "people.parquet", "x.parquet", "--level", "99"], 1, "1 to 22"),
        (["convert", "people.parquet", "x", "--partition-by", "nope"], 1, "no column 'nope'"),
    ],
    ids=str,
)  # fmt: skip
def test_what_is_refused(
    folder: Path, crossdock: Command, arguments: list[str], code: int, message: str
) -> None:
    ended = crossdock(*arguments)
    assert ended.code == code, ended.err
    assert message in ended.err
    assert "Traceback" not in ended.err


def test_convert_in_bounded_memory(
    tmp_path: Path, crossdock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("x.csv").write_text("a,b\n" + f"1,{'x' * 190}\n" * 1_200_000)
    most = 0
    before = pa.total_allocated_bytes()
    whole = pq.ParquetWriter.write_table

    def watched(self: Any, table: Any, *rest: Any) -> None:
        nonlocal most
        most = max(most, pa.total_allocated_bytes() - before)
        whole(self, table, *rest)

    monkeypatch.setattr(pq.ParquetWriter, "write_table", watched)
    assert crossdock("convert", "x.csv", "x.parquet").code == 0
    assert 0 < most < 90 << 20  # of 232 MB, of which a row group has 25
    assert crossdock("count", "x.parquet").out == "1200000\n"


STDIN_VERBS = [
    ("sort - --by n", [{"n": 1, "s": "a"}, {"n": 2, "s": "b"}]),
    ("groupby - --by s --sort s", [{"s": "a"}, {"s": "b"}]),
    ("join - people.parquet --on n=id --select s,name", [{"s": "a", "name": "ann"},
                                                         {"s": "b", "name": "bob"}]),
]  # fmt: skip


@pytest.mark.parametrize(("line", "rows"), STDIN_VERBS)
def test_operators_read_standard_input(
    folder: Path,
    crossdock: Command,
    monkeypatch: pytest.MonkeyPatch,
    line: str,
    rows: list[dict[str, Any]],
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(io.BytesIO(b"made by hand\n2;b\n1;a\n")))
    read = "--read-left" if line.startswith("join") else "--read"
    options = [part for each in ("skip=1", "header=false", "names=n,s", "delimiter=;")
               for part in (read, each)]  # fmt: skip
    ended = crossdock(*line.split(), "--format", "jsonl", *options)
    assert ended.code == 0, ended.err
    got = [json.loads(each) for each in ended.out.splitlines()]
    assert sorted(got, key=str) == sorted(rows, key=str)


def test_partition_reads_standard_input(
    folder: Path, crossdock: Command, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", Stdin(io.BytesIO(b'[{"k": 3}, {"k": 3}]')))
    ended = crossdock("partition", "-", "--by", "k", "--partitions", "2", "--json")
    assert json.loads(ended.out)["rows"] == 2


def test_operators_read_several_files_as_one_table(folder: Path, crossdock: Command) -> None:
    words = ["sort", "people.parquet", "visits.parquet", "--by", "id"]
    ended = crossdock(*words, "--read", "filename=true", "--select", "filename", "--count")
    assert (ended.code, ended.out) == (0, "6\n")


@pytest.mark.parametrize(
    ("line", "says"),
    [("sort - people.parquet --by id", "is no table with other files"),
     ("join - - --on id", "is one table: LEFT or RIGHT"),
     ("join people.parquet parts --on id=who --read-left skip=1", "has no option 'skip'")],
)  # fmt: skip
def test_operators_refuse(folder: Path, crossdock: Command, line: str, says: str) -> None:
    ended = crossdock(*line.split())
    assert ended.code in (1, 2)
    assert says in ended.err


def test_types_with_commas(folder: Path, crossdock: Command) -> None:
    Path("x.csv").write_text("a,b\n1.5,'x\n")
    ended = crossdock("schema", "x.csv", "--format", "csv", "--read", "quote=none",
                      "--read", "types=a:decimal128(10, 2),b:string")  # fmt: skip
    assert lines(ended.out)[1][:2] == ["a", "decimal128(10, 2)"]
