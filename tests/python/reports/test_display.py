"""How results and relations look."""

from __future__ import annotations

import datetime
import json
import math
import struct
from decimal import Decimal

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.reports.display import Preview

TABLE = pa.table(
    {
        "n": pa.array(range(100), pa.int64()),
        "text": [f"row {i}" if i % 7 else None for i in range(100)],
    }
)


BOX = """\
┌───────┬────────────────────────┐
│   n   │          text          │
│ int64 │         string         │
├───────┼────────────────────────┤
│     0 │ NULL                   │
│     1 │ row 1                  │
│     … │ …                      │
│    98 │ NULL                   │
│    99 │ row 99                 │
├───────┴────────────────────────┤
│ 100 rows (4 shown)   2 columns │
└────────────────────────────────┘"""


def test_a_box_of_head_and_tail() -> None:
    assert Preview.of_table(TABLE, 4).text(80) == BOX


@pytest.mark.parametrize("limit", [0, 1, 2, 5, 10, 99, 100, 101])
@pytest.mark.parametrize("batch_rows", [1, 7, 100])
def test_a_stream_gives_the_same_as_its_table(limit: int, batch_rows: int) -> None:
    whole = Preview.of_table(TABLE, limit)
    streamed = Preview.of_batches(TABLE.to_batches(batch_rows), TABLE.schema, limit)
    assert streamed.text(80) == whole.text(80)
    assert streamed.records() == whole.records()
    assert len(whole.records()) == min(limit, 100)


def test_every_line_is_equally_wide_and_fits() -> None:
    wide = pa.table({f"column_{i}": ["x" * i, "日本語", "tab\there\n"] for i in range(30)})
    for width in (40, 80, 200):
        lines = Preview.of_table(wide).text(width).splitlines()
        assert "…" in lines[1]
        assert len(lines[4]) <= width
        assert lines[0].startswith("┌")
        assert not any("\t" in line or "\n" in line for line in lines)


def test_values_of_every_type() -> None:
    when = datetime.datetime(2020, 1, 2, 3, 4, 5, 678)
    table = pa.table(
        {
            "time": pa.array([when], pa.timestamp("ns", "UTC")),
            "day": [when.date()],
            "money": [Decimal("12.30")],
            "bytes": [b"\x00\xff"],
            "float": [1 / 3],
            "flag": [True],
            "span": pa.array([5], pa.duration("s")),
            "view": pa.array(["a string view"], pa.string_view()),
            "label": pa.array(["x"]).dictionary_encode(),
        }
    )
    text = Preview.of_table(table).text(400)
    for part in (
        "2020-01-02 03:04:05.000678",
        "12.30",
        "0.333333333333",
        "True",
        "5 s",
        "a string",
    ):
        assert part in text


def test_records_have_json_values() -> None:
    table = pa.table(
        {
            "large": pa.array([2**53 + 1, None], pa.int64()),
            "float": [0.1 + 0.2, math.nan],
            "small": pa.array([-math.inf, math.inf], pa.float32()),
            "flag": [True, None],
            "coded": pa.array([7, 7]).dictionary_encode(),
            "money": [Decimal("12.30"), None],
            "day": [datetime.date(2026, 1, 2), None],
            "text": ["1", "NaN"],
        }
    )
    result = Preview.of_table(table).records()
    assert result == [
        {"large": 2**53 + 1, "float": 0.1 + 0.2, "small": "-Infinity", "flag": True, "coded": 7,
         "money": "12.30", "day": "2026-01-02", "text": "1"},
        {"large": None, "float": "NaN", "small": "Infinity", "flag": None, "coded": 7,
         "money": None, "day": None, "text": "NaN"},
    ]  # fmt: skip
    assert json.loads(json.dumps(result, allow_nan=False)) == result
    assert [type(value) for value in result[0].values()] == [
        int, float, str, bool, int, str, str, str,
    ]  # fmt: skip


def test_empty_results() -> None:
    assert "0 rows   2 columns" in Preview.of_table(TABLE.slice(0, 0)).text(80)
    assert "1 row   2 columns" in Preview.of_table(TABLE.slice(0, 1)).text(80)


def test_html_escapes() -> None:
    text = Preview.of_table(pa.table({"<b>": ["<script>"]})).html()
    assert "<script>" not in text
    assert "&lt;script&gt;" in text


def test_a_relation_shows_itself_without_running(
    dock: xd.Dock, people: pa.Table, capsys: pytest.CaptureFixture[str]
) -> None:
    relation = dock.from_arrow(people).join(dock.from_arrow(people), on="id")
    assert "inner join on id = id" in repr(relation)
    assert "age_right   int32" in repr(relation)
    assert "<th>age_right<br>" in relation._repr_html_()
    relation.show(2)
    assert "4 rows (2 shown)" in capsys.readouterr().out
    wide = dock.from_arrow(pa.table({f"c{i}": [1] for i in range(50)}))
    assert "… 30 more columns" in repr(wide)


def test_values_that_python_has_none_for() -> None:
    offsets = pa.py_buffer(struct.pack("<3i", 0, 1, 2))
    strings = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"\xffa")])
    table = pa.table(
        {
            "string": strings,
            "dictionary": pa.DictionaryArray.from_arrays(pa.array([0, 1]), strings),
            "date32": pa.array([1 << 30, 0], pa.date32()),
            "date64": pa.array([1 << 60, 0], pa.date64()),
            "list": pa.ListArray.from_arrays([0, 1, 2], strings),
        }
    )
    preview = Preview.of_table(table)
    assert list(preview.records()[0].values()) == [
        "\\xff", "\\xff", "1073741824 days", "1152921504606846976 ms", "(list<item: string>)",
    ]  # fmt: skip
    assert "1970-01-01" in preview.text(200)


def test_numbers_have_all_their_digits() -> None:
    doubles = [0.1 + 0.2, 1234567890123.45, 1e300, 5.0, -0.0, 2.0**53 + 2]
    table = pa.table({"d": doubles, "f": pa.array([1.1] * 6, pa.float32())})
    assert [[cell.strip() for cell in line.split("│")[1:3]] for line in
            Preview.of_table(table).text(80).splitlines()[4:10]] == [
        ["0.30000000000000004", "1.1"], ["1234567890123.45", "1.1"], ["1e+300", "1.1"],
        ["5", "1.1"], ["-0", "1.1"], ["9007199254740994", "1.1"],
    ]  # fmt: skip


def test_long_strings_take_the_room_that_there_is() -> None:
    table = pa.table({"k": [1], "s": ["x" * 200], "t": ["y" * 60]})
    for width in (40, 80, 110, 150, 450):
        lines = Preview.of_table(table).text(width).splitlines()
        assert {len(line) for line in lines} == {len(lines[0])}
        assert width < 80 or len(lines[0]) <= width
    assert len(Preview.of_table(table).text(110).splitlines()[0]) >= 108
    assert "x" * 200 in Preview.of_table(table).text(450)
