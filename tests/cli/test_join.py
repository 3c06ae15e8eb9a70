"""crossdock join: what it prints, writes and reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

JOIN = ("join", "people.parquet", "visits.parquet", "--on", "id=who")


def test_a_preview_on_standard_output_and_talk_on_standard_error(
    crossdock: Any, folder: Path
) -> None:
    ended = crossdock(*JOIN, "--select", "id,name,cost", "--where", "cost < 2")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "┌───────┬────────┬────────┐",
        "│  id   │  name  │  cost  │",
        "│ int64 │ string │ double │",
        "├───────┼────────┼────────┤",
        "│     2 │ bob    │    1.5 │",
        "├───────┴────────┴────────┤",
        "│ 1 row   3 columns       │",
        "└─────────────────────────┘",
    ]
    assert ended.err.startswith("read, joined and shown in ")


@pytest.mark.parametrize("left", ["people.parquet", "people.arrow", "people.csv"])
@pytest.mark.parametrize("right", ["parts", "parts/*.parquet"])
def test_every_input(crossdock: Any, folder: Path, left: str, right: str) -> None:
    assert crossdock("join", left, right, "--on", "id=who", "--count").out == "6\n"


@pytest.mark.parametrize(
    ("how", "rows"),
    [("inner", 3), ("left", 4), ("right", 3), ("full", 4), ("semi", 2), ("anti", 1),
     ("anti_null_aware", 1)],
)  # fmt: skip
def test_kinds(crossdock: Any, folder: Path, how: str, rows: int) -> None:
    assert crossdock(*JOIN, "--how", how, "--count").out == f"{rows}\n"


def test_a_cross_join_has_no_keys(crossdock: Any, folder: Path) -> None:
    sides = ("join", "people.parquet", "visits.parquet")
    assert crossdock(*sides, "--how", "cross", "--count").out == "9\n"
    for wrong in (sides, (*JOIN, "--how", "cross")):
        ended = crossdock(*wrong)
        assert ended.code == 2
        assert "--on L=R says the keys; --how cross alone has none" in ended.err


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.csv"])
@pytest.mark.parametrize("profile", [(), ("--profile",)], ids=repr)
def test_written_results(crossdock: Any, folder: Path, name: str, profile: tuple[str, ...]) -> None:
    ended = crossdock(*JOIN, "--out", name, *profile)
    assert ended.err.splitlines()[-1].startswith(f"wrote 3 rows to {name} in ")
    assert bool(ended.out) == bool(profile)
    again = crossdock("join", name, "people.csv", "--on", "id", "--how", "semi", "--count")
    assert again.out == "3\n", again.err


def test_all_rows_in_a_format_on_standard_output(crossdock: Any, folder: Path) -> None:
    rows = crossdock(*JOIN, "--select", "id,name,cost", "--where", "cost < 2", "--format", "csv")
    assert rows.out.splitlines() == ['"id","name","cost"', '2,"bob",1.5']
    assert rows.err.startswith("read, joined and shown in ")
    lines = crossdock(*JOIN, "--format", "ndjson", "--profile")
    assert len(list(map(json.loads, lines.out.splitlines()))) == 3
    assert "total" in lines.err
    sorted_rows = crossdock("sort", "people.parquet", "--by", "id desc", "--format", "ndjson")
    assert [json.loads(line)["id"] for line in sorted_rows.out.splitlines()] == [3, 2, 1]
    counted = crossdock("groupby", "visits.parquet", "--agg", "n=count(*)", "--format", "markdown")
    assert counted.out.splitlines()[0].split() == ["|", "n", "|"]


def test_a_format_of_a_file(crossdock: Any, folder: Path) -> None:
    assert crossdock(*JOIN, "--out", "rows.txt", "--format", "csv").code == 0
    assert len((folder / "rows.txt").read_text().splitlines()) == 4
    assert crossdock(*JOIN, "--out", "rows.txt", "--format", "table").code == 0
    assert "3 rows" in (folder / "rows.txt").read_text()
    kept = (folder / "people.csv").read_bytes()
    refused = crossdock(
        "sort", "people.csv", "--by", "id", "--out", "people.csv", "--format", "csv"
    )
    assert refused.code == 1
    assert "is an input of this result" in refused.err
    assert (folder / "people.csv").read_bytes() == kept
    for other in ("--count", "--explain", "--json"):
        ended = crossdock(*JOIN, "--format", "csv", other)
        assert (ended.code, ended.out) == (2, "")
        assert f"--format and {other} cannot go together." in ended.err
    assert "--format shows all rows" in crossdock(*JOIN, "--format", "csv", "--limit", "3").err


def test_json(crossdock: Any, folder: Path) -> None:
    report = json.loads(crossdock(*JOIN, "--json", "--limit", "1", "--profile").out)
    assert report["schema_version"] == 1
    assert report["rows"] == 3
    assert report["columns"][0] == {"name": "id", "type": "int64"}
    assert len(report["preview"]) == 1
    assert report["profile"]["result_rows"] == 3
    assert json.loads(crossdock(*JOIN, "--json", "--count").out)["rows"] == 3
    plan = json.loads(crossdock(*JOIN, "--json", "--explain").out)
    assert plan["plan"]["operator"] == "join"
    written = json.loads(crossdock(*JOIN, "--json", "--out", "x.parquet").out)
    assert (written["out"], written["rows"]) == ("x.parquet", 3)
    assert pyarrow.parquet.read_table(folder / "x.parquet").num_rows == 3


def test_explain_and_profile(crossdock: Any, folder: Path) -> None:
    plan = crossdock(*JOIN, "--explain", "--where", "cost > 2").out
    assert "inner join on id = who " in plan
    assert "filter cost > 2 " in plan
    profile = crossdock(*JOIN, "--profile", "--threads", "1", "--memory", "64MiB").out
    assert "measured" in profile
    assert "threads 1" in profile


def test_suffix_and_several_keys(crossdock: Any, folder: Path) -> None:
    report = json.loads(crossdock(*JOIN, "--json", "--suffix", "_2").out)
    assert [c["name"] for c in report["columns"]] == ["id", "name", "who", "cost", "name_2"]
    both = crossdock(
        "join", "visits.parquet", "parts", "--on", "who,cost", "--on", "name", "--count"
    )
    assert both.out == "6\n"
