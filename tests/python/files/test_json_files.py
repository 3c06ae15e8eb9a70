"""Files of JSON: lines, objects over several lines, arrays; what only shows later is an error."""

from __future__ import annotations

import datetime
import io
import json
import random
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

ROWS = [{"a": 1, "b": "x", "c": None}, {"a": 2, "b": 'y "\n', "c": {"d": [1, 2]}}]
LINES = "".join(json.dumps(row) + "\n" for row in ROWS)
FORMS = {
    "lines": LINES,
    "no line at the end": LINES[:-1],
    "empty lines": "\n" + LINES.replace("\n", "\n\n"),
    "several in a line": LINES.replace("\n", " "),
    "over lines": "\n".join(json.dumps(row, indent=2) for row in ROWS),
    "array": json.dumps(ROWS),
    "array over lines": "\n " + json.dumps(ROWS, indent=2) + "\n",
    "with a byte order mark": "\ufeff" + json.dumps(ROWS),
}


@pytest.mark.parametrize("ending", ["json", "ndjson", "jsonl", "json.gz", "ndjson.zst"])
@pytest.mark.parametrize("form", FORMS)
def test_forms(dock: xd.Dock, tmp_path: Path, form: str, ending: str) -> None:
    path = tmp_path / f"x.{ending}"
    with pa.output_stream(str(path)) as stream:
        stream.write(FORMS[form].encode())
    rows = dock.read(path)
    assert rows.collect().to_pylist() == ROWS
    assert rows.count() == 2
    assert rows.filter(xd.col("a") == 2).select("b").collect().to_pylist() == [{"b": 'y "\n'}]
    assert dock.read_json(path).columns == ["a", "b", "c"]


def test_rows_are_those_of_duckdb(dock: xd.Dock, tmp_path: Path) -> None:
    draw = random.Random(1)
    rows = [
        {"n": draw.randrange(-(2**40), 2**40), "x": draw.random(), "s": "ä" * draw.randrange(5),
         "day": f"2024-0{draw.randrange(1, 9)}-15", "at": "2024-01-15 00:00:00",
         "flag": draw.random() < 0.5, "list": list(range(draw.randrange(3))),
         "none": None if draw.random() < 0.5 else "z"}
        for _ in range(30_000)
    ]  # fmt: skip
    (tmp_path / "a.json").write_text(json.dumps(rows))
    (tmp_path / "b.ndjson").write_text("".join(json.dumps(row) + "\n" for row in rows))
    expected = duckdb.sql(f"select * from read_json('{tmp_path}/a.json')").to_arrow_table()
    for name in ("a.json", "b.ndjson"):
        result = dock.read_json(tmp_path / name).collect()
        assert result.to_pylist() == expected.to_pylist()


def test_several_files(dock: xd.Dock, tmp_path: Path) -> None:
    for year, row in ((1, {"a": 1}), (2, {"a": 1.5, "b": "x"})):
        (tmp_path / f"year={year}").mkdir()
        (tmp_path / f"year={year}" / "a.ndjson").write_text(json.dumps(row) + "\n")
    rows = dock.read(tmp_path, filename=True)
    assert rows.drop("filename").collect().to_pylist() == [
        {"a": 1.0, "b": None, "year": 1}, {"a": 1.5, "b": "x", "year": 2},
    ]  # fmt: skip
    assert rows.filter(xd.col("year") == 2).count() == 1
    with pytest.raises(xd.DataError, match=r"has other columns than .*a further column 'b'"):
        dock.read(tmp_path, union_by_name=False)


def test_json_beside_tables_says_something_about_them(dock: xd.Dock, tmp_path: Path) -> None:
    dock.from_arrow(pa.table({"a": [1]})).write(tmp_path / "a.parquet")
    (tmp_path / "about.json").write_text("{}")
    assert dock.read(tmp_path).collect().to_pydict() == {"a": [1]}


@pytest.mark.parametrize("ending", ["json", "ndjson"])
def test_files_without_objects(
    dock: xd.Dock, tmp_path: Path, ending: str, capsys: pytest.CaptureFixture[str]
) -> None:
    """Such as those that results of no rows become."""
    (tmp_path / f"a.{ending}").write_text('{"a": 1}')
    assert dock.read(tmp_path).filter(xd.col("a") > 1).write(tmp_path / f"b.{ending}") == 0
    assert dock.read(tmp_path).collect().to_pydict() == {"a": [1]}
    alone = dock.read(tmp_path / f"b.{ending}")
    assert (alone.columns, alone.count()) == ([], 0)
    alone.show()
    assert capsys.readouterr().out == "0 rows   0 columns\n"
    assert repr(alone).startswith("crossdock.Relation: json b.")
    typed = dock.read_json(tmp_path / f"b.{ending}", types={"a": "int64"})
    assert typed.collect().to_pydict() == {"a": []}
    assert dock.read_json(io.BytesIO(b" \n")).count() == 0


@pytest.mark.parametrize("is_array", [False, True])
def test_what_the_first_block_does_not_tell(dock: xd.Dock, tmp_path: Path, is_array: bool) -> None:
    path = tmp_path / "x.json"
    rows: list[dict[str, Any]] = [{"a": 1, "s": "x" * 50}] * 100_000
    rows += [{"a": "word", "s": "y"}, {"a": 2, "s": "y", "late": 3}]

    def write(kept: list[dict[str, Any]]) -> None:
        text = json.dumps(kept) if is_array else "".join(json.dumps(r) + "\n" for r in kept)
        path.write_text(text)

    write(rows[:-1])
    with pytest.raises(xd.DataError, match=r"(?s)from number to string.*types="):
        dock.read_json(path).collect()
    write([*rows[:-2], rows[-1]])
    with pytest.raises(
        xd.DataError, match=r"(?s)has a member 'late'.*object 100001.*\{'late': 'string'\}"
    ):
        dock.read_json(path).collect()
    result = dock.read_json(path, types={"late": "int32"})
    assert result.filter(~xd.col("late").is_null()).collect()["late"].to_pylist() == [3]
    with pytest.raises(xd.OptionError, match="types=3"):
        dock.read_json(path, types=3)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[1, 2]", "it is no object"), ("[{}", "does not end"),
        ('[{"a": 1} {"a": 2}]', "stands there"), ('[{"a": 1}] x', "'x' stands there"),
        ('[{"a": 1},]', r"does not end|stands"), ("word", "JSON"), ('{"a": ', "JSON"),
        ('{"a": ' + "[" * 3000 + "]" * 3000 + "}", "nested too deeply"),
        ('{"a": "\udcff"}', "no UTF-8"),
    ],
)  # fmt: skip
def test_what_is_no_json(dock: xd.Dock, tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(text, errors="surrogateescape")
    with pytest.raises(xd.DataError, match=rf"(?s)x\.json.*{message}|{message}.*x\.json"):
        dock.read_json(path).collect()


def test_types_of_members(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text(
        '{"d": "2024-02-29", "t": "12:30:00", "n": "1.50", "s": "2024-01-01"}\n'
        '{"d": null, "t": null, "n": "2.25", "s": "x"}\n'
    )
    rows = dock.read_json(path, types={"n": pa.decimal128(9, 2), "s": "string"}).collect()
    assert rows.schema.types == [pa.date32(), pa.string(), pa.decimal128(9, 2), pa.string()]
    assert rows.to_pylist()[0] == {
        "d": datetime.date(2024, 2, 29), "t": "12:30:00", "n": Decimal("1.50"), "s": "2024-01-01",
    }  # fmt: skip
    assert dock.read_json(path, types={"d": "string"}).collect()["d"][0].as_py() == "2024-02-29"
    with path.open("a") as file:
        file.write('{"d": "2024-02-29 10:00:00"}\n')
    assert dock.read_json(path).schema.field("d").type == pa.timestamp("s")


def test_midnights_that_are_written_as_times_are_no_dates(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text('{"d": "2024-02-29", "m": "2024-02-29T00:00:00"}\n{"d": null, "m": null}\n')
    assert dock.read_json(path).schema.types == [pa.date32(), pa.timestamp("s")]


def numbered(path: Path, rows: int, *, over_lines: bool = False) -> Path:
    with path.open("w") as file:
        for i in range(rows):
            between = "\n" if over_lines else " "
            file.write(f'{{"n": {i},{between}"t": "a string of some length that is number {i}"}}\n')
    return path


READ = """
import sys, crossdock as xd
with xd.connect(threads=2) as dock:
    rows = dock.read_json(sys.argv[1])
    if sys.argv[2] == "streamed":
        count = sum(batch.num_rows for batch in rows.to_batches())
    elif sys.argv[2] == "grouped":
        count = rows.group_by(k=xd.col("n") % 7).agg(n=xd.count()).agg(n=xd.sum("n")).collect()
        count = count["n"].to_pylist()[0]
    else:
        count = rows.limit(5).collect().num_rows
with open("/proc/self/status") as file:
    peak = next(line for line in file if line.startswith("VmHWM"))
print(count, int(peak.split()[1]) // 1024)
"""


def read_in_a_process(path: Path, how: str) -> tuple[int, int]:
    """Rows, and the peak of its memory in MiB."""
    command = [sys.executable, "-c", READ, str(path), how]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    rows, peak = map(int, done.stdout.split())
    return rows, peak


def test_memory_does_not_grow_with_the_file(tmp_path: Path) -> None:
    small = numbered(tmp_path / "small.ndjson", 400_000)  # 27 MiB
    large = numbered(tmp_path / "large.ndjson", 3_000_000)  # 205 MiB
    for how in ("streamed", "grouped"):
        (few, peak_of_few), (many, peak) = (read_in_a_process(p, how) for p in (small, large))
        assert (few, many) == (400_000, 3_000_000)
        assert peak - peak_of_few < 80, (peak_of_few, peak)


def test_a_process_that_reads_a_few_rows_ends(tmp_path: Path) -> None:
    """Threads that read ahead must not meet an interpreter that is gone."""
    path = numbered(tmp_path / "a.ndjson", 400_000)
    for _ in range(4):
        assert read_in_a_process(path, "limited")[0] == 5


def test_blocks_end_where_objects_do(dock: xd.Dock, tmp_path: Path) -> None:
    for over_lines in (False, True):
        path = numbered(tmp_path / "a.json", 130_000, over_lines=over_lines)  # of three blocks
        result = dock.read_json(path).collect()
        assert result["n"].to_pylist() == list(range(130_000))
        assert result["t"][129_999].as_py().endswith("number 129999")
    path.write_bytes(b'\xef\xbb\xbf{"n": 1}\n{"n": 2}')
    assert dock.read_json(path).collect()["n"].to_pylist() == [1, 2]
    path.write_text('{"n": 1, "t": "' + "x" * (9 << 20) + '"}\n')
    with pytest.raises(xd.DataError, match="longer than 4 MiB"):
        dock.read_json(path)
