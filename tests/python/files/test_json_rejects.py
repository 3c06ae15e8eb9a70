"""Objects of JSON files that are left out, and counted with their lines and reasons."""

from __future__ import annotations

import io
import json
import random
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.sql_frontend.standard_input import read_standard_input

TYPES = {"a": "int64", "b": "string", "d": "date32"}
LINES = """\
{"a": 1, "b": "x", "d": "2024-01-01"}
{"a": 2, "b": "y"
{"a": "z", "b": "y", "d": "2024-01-02"}

{"a": 3, "b": null}
[1]
{"a": 4, "b": {"c": 1}}
{"a": 5} {"a": 6}
{"a": 7.5}
{"a": 7, "late": 1}
{"a": 8, "d": "2024-13-01"}
{"a": 9, "late": null}
"""


def rejects_of(dock: xd.Dock, path: Any, **options: Any) -> list[tuple[Any, ...]]:
    """Line, column, value, reason and text of each."""
    rows = dock.read_json_rejects(path, **options).drop("filename").collect().to_pylist()
    return [tuple(row.values()) for row in rows]


@pytest.fixture
def lines(tmp_path: Path) -> str:
    path = tmp_path / "x.ndjson"
    path.write_text(LINES)
    return str(path)


@pytest.mark.parametrize(
    ("lines", "kept", "reject"),
    [
        (b'{"a": 1}\n{"a": "\\ud800"}\n', [1], ("a", "?", "is no int64")),
        (b'{"a": 1}\n{"\\ud800": 2}\n', [1], ("?", "2", "no object of the first 4 MiB has it")),
        (b'{"a": 1}\n{"a": "\xff"}\n', [1], (None, None, "It is no UTF-8.")),
        (
            b'{"a": %s}\n{"a": 1}\n' % (b"[" * 3000 + b"]" * 3000),
            [1], (None, None, "It is nested deeper than 100."),
        ),
        (b'{"a": 1, "b": "\xc2\x85"}\nx\n', [1], (None, None, "Invalid value.")),
    ],
    ids=["half a pair", "half a pair in a name", "no UTF-8", "deep", "next line in a string"],
)  # fmt: skip
def test_odd_strings_and_depths(
    dock: xd.Dock, tmp_path: Path, lines: bytes, kept: list[int], reject: tuple[Any, ...]
) -> None:
    path = tmp_path / "x.ndjson"
    path.write_bytes(lines)
    rows = dock.read_json(path, types={"a": "int64"}, bad_values="skip")
    assert rows.collect()["a"].to_pylist() == kept
    assert [one[1:4] for one in rejects_of(dock, path, types={"a": "int64"})] == [reject]


def test_null_in_place_of_an_object(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    path.write_text('null\n{"a": 1}\nnull\nx\nnull\n')
    rows = dock.read_json(path, bad_values="skip").collect()
    assert rows["a"].to_pylist() == [None, 1, None, None]
    assert [one[:2] for one in rejects_of(dock, path)] == [(4, None)]


def test_objects_that_cannot_be_read(dock: xd.Dock, lines: str) -> None:
    rows = dock.read_json(lines, types=TYPES | {"late": "bool"}, bad_values="skip")
    assert rows.collect()["a"].to_pylist() == [1, 3, 5, 6, 9]
    rejects = rejects_of(dock, lines, types=TYPES | {"late": "bool"})
    number = '{"a": 7.5}'
    assert [reject[:4] for reject in rejects] == [
        (2, None, None, "Missing a comma or '}' after an object member."),
        (3, "a", "z", "is no int64"),
        (6, None, None, "Column() changed from object to array"),
        (7, "b", '{"c": 1}', "is no string"),
        (9, "a", "7.5", "is no int64"),
        (10, "late", "1", "is no bool"),
        (11, "d", "2024-13-01", "is no date32[day]"),
    ]
    assert rejects[4][4] == number
    # The rows are the same ones whichever columns are read.
    assert rows.count() == 5
    assert rows.select("b").collect()["b"].to_pylist() == ["x", None, None, None, None]
    with pytest.raises(xd.DataError, match=r"(?s)x\.ndjson.*bad_values='skip'"):
        dock.read_json(lines, types=TYPES).collect()
    with pytest.raises(xd.OptionError, match="bad_values='null' is not a choice"):
        dock.read_json(lines, bad_values="null")


def test_types_are_those_of_most_rows(dock: xd.Dock, tmp_path: Path) -> None:
    path = tmp_path / "x.ndjson"
    objects = [{"n": "x", "t": "2024-01-01"}, {"n": 1, "t": "2024-01-02"}, {"n": 2.5, "t": None}]
    path.write_text("{\n" + "".join(json.dumps(one) + "\n" for one in objects))
    rows = dock.read_json(path, bad_values="skip")
    assert rows.schema == pa.schema([("n", pa.float64()), ("t", pa.date32())])
    assert rows.collect()["n"].to_pylist() == [1, 2.5]
    assert [reject[:3] for reject in rejects_of(dock, path)] == [(1, None, None), (2, "n", "x")]
    assert dock.read_json_rejects(path).collect()["filename"].to_pylist() == [str(path)] * 2
    path.write_text("{\n[]\n{]\n")
    with pytest.raises(xd.DataError, match=r"x\.ndjson"):
        dock.read_json(path, bad_values="skip")


def test_members_that_come_late(dock: xd.Dock, tmp_path: Path) -> None:
    """Those of structs, too, are never dropped in silence."""
    path = tmp_path / "x.ndjson"
    padding = json.dumps({"a": 1, "s": {"x": "y" * 90}}) + "\n"
    late = ['{"a": 2, "u": 1}\n', '{"a": 3, "s": {"x": "y", "z": 1}}\n', '{"a": 4, "u": null}\n']
    path.write_text(padding * 60_000 + "".join(late) + padding)
    rows = dock.read_json(path, bad_values="skip")
    assert rows.columns == ["a", "s"]
    assert rows.filter(xd.col("a") > 1).select("a").collect()["a"].to_pylist() == [4]
    assert rows.count() == 60_002
    assert [reject[:4] for reject in rejects_of(dock, path)] == [
        (60_001, "u", "1", "no object of the first 4 MiB has it"),
        (60_002, "s", '{"x": "y", "z": 1}', "is no struct<x: string>"),
    ]


def test_array(dock: xd.Dock, tmp_path: Path) -> None:
    """Its elements have numbers; what is no JSON leaves nothing to go on with."""
    path = tmp_path / "x.json"
    path.write_text('[{"a": 1},\n\n {"a":\n "x"}, {"a": 3}]')
    assert dock.read_json(path, bad_values="skip", types={"a": "int8"}).count() == 2
    assert rejects_of(dock, path, types={"a": "int8"}) == [
        (2, "a", "x", "is no int8", '{"a":  "x"}')
    ]
    path.write_text('[{"a": 1}, {"a": 2 {"a": 3}]')
    with pytest.raises(xd.DataError, match="element 1 of its array"):
        dock.read_json(path, bad_values="skip").count()


def test_values_that_other_files_have_room_for(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "a.ndjson").write_text('{"n": 1, "m": 1}\n' * 300_000 + '{"n": 1.5, "m": "x"}\n')
    (tmp_path / "b.ndjson").write_text('{"n": 2.5, "m": 2}\n')
    rows = dock.read_json(tmp_path, bad_values="skip")
    assert rows.schema.field("n").type == pa.float64()
    assert rows.count() == rows.select("m").collect().num_rows == 300_001
    rejects = dock.read_json_rejects(tmp_path)
    assert rejects.select("line", "column").collect().to_pydict() == {
        "line": [300_001], "column": ["m"],
    }  # fmt: skip


@pytest.mark.parametrize("share", [0.0, 0.001, 0.05, 1.0])
def test_files_of_several_blocks(dock: xd.Dock, tmp_path: Path, share: float) -> None:
    draw = random.Random(3)
    path = tmp_path / "x.ndjson"
    text, good, bad = [], [], []
    for line in range(1, (5_000 if share > 0.5 else 40_000) + 1):
        if draw.random() < share:
            text.append(draw.choice(['{"n": "x"}', '{"n": 1,', "[]", "word", '{"n": 2.5}']))
            bad.append(line)
        else:
            text.append(json.dumps({"n": line, "t": "ä" * 20}))
            good.append(line)
    path.write_text("\n".join(text))
    types = {"n": "int64", "t": "string"}
    rows = dock.read_json(path, types=types, bad_values="skip")
    assert rows.collect()["n"].to_pylist() == good
    assert [reject[0] for reject in rejects_of(dock, path, types=types)] == bad
    assert dock.read_json_rejects(path, types=types).count() == len(bad)


def test_sql(dock: xd.Dock, lines: str) -> None:
    columns = "columns={'a': 'BIGINT', 'b': 'VARCHAR', 'd': 'DATE', 'late': 'BOOLEAN'}"
    result = dock.sql(f"select sum(a) s from read_json('{lines}', {columns}, ignore_errors=true)")
    assert result.collect().to_pydict() == {"s": [24]}
    rejects = f"""select min(line) l, count(*) n from read_json_rejects('{lines}', {columns})"""
    assert dock.sql(rejects).collect().to_pydict() == {"l": [2], "n": [7]}
    with pytest.raises(xd.SqlError, match=r"read_json_rejects\(\) does not read standard input"):
        dock.sql("select * from read_json_rejects('-')")
    with pytest.raises(xd.SqlError, match="has no option 'null_padding'"):
        dock.sql(f"select * from read_json('{lines}', null_padding=true)")


def test_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    def read(text: str, method: str = "read", **options: Any) -> list[Any]:
        stream = io.TextIOWrapper(io.BytesIO(text.encode()))
        monkeypatch.setattr("sys.stdin", stream)
        result: list[Any] = read_standard_input(options, method).to_pylist()
        return result

    text = '{"a": 1}\n{"a": \n{"a": 2}\n'
    assert read(text, bad_values="skip") == [{"a": 1}, {"a": 2}]
    assert read('{"a": 1}\n', "read_json", types={"a": "int8"}) == [{"a": 1}]
    assert read("[\n" + '{"a":\n 1}]') == [{"a": 1}]
    with pytest.raises(xd.DataError, match="standard input"):
        read(text)
