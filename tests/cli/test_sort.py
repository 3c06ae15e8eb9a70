"""crossdock sort: what it prints, writes and reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

BY_NAME = ("sort", "people.parquet", "--by", "name desc nulls first")


def test_a_preview_on_standard_output_and_talk_on_standard_error(
    crossdock: Any, folder: Path
) -> None:
    ended = crossdock(*BY_NAME)
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "┌───────┬────────────┐",
        "│  id   │    name    │",
        "│ int64 │   string   │",
        "├───────┼────────────┤",
        "│     3 │ NULL       │",
        "│     2 │ bob        │",
        "│     1 │ ann        │",
        "├───────┴────────────┤",
        "│ 3 rows   2 columns │",
        "└────────────────────┘",
    ]
    assert ended.err.startswith("read, sorted and shown in ")


def ids(crossdock: Any, *words: str) -> list[int]:
    ended = crossdock("sort", *words, "--json")
    assert ended.code == 0, ended.err
    return [row["id"] for row in json.loads(ended.out)["preview"]]


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow", "people.csv"])
def test_every_input(crossdock: Any, folder: Path, name: str) -> None:
    assert ids(crossdock, name, "--by", "id desc") == [3, 2, 1]


def test_expressions_top_select_and_where(crossdock: Any, folder: Path) -> None:
    assert ids(crossdock, "people.csv", "--by", "id % 3, id desc") == [3, 1, 2]
    assert ids(crossdock, "people.csv", "--by", "-id", "--top", "2") == [3, 2]
    assert ids(crossdock, "people.csv", "--by", "id desc", "--where", "id < 3") == [2, 1]
    assert ids(crossdock, "people.csv", "--by", "name", "--select", "id", "--stable") == [1, 2, 3]
    assert ids(crossdock, "people.csv", "--by", "id", "--offset", "1") == [2, 3]
    assert ids(crossdock, "people.csv", "--by", "id", "--top", "1", "--offset", "1") == [2]
    assert crossdock("sort", "parts", "--by", "cost", "--top", "4", "--count").out == "4\n"


def test_a_written_result_is_in_order(crossdock: Any, folder: Path) -> None:
    ended = crossdock(*BY_NAME, "--out", "out.parquet")
    assert ended.err.startswith("wrote 3 rows to out.parquet in ")
    assert pyarrow.parquet.read_table(folder / "out.parquet")["id"].to_pylist() == [3, 2, 1]


def test_explain_profile_and_json(crossdock: Any, folder: Path) -> None:
    plan = crossdock(*BY_NAME, "--explain").out
    assert plan.splitlines()[1].startswith("sort by name desc nulls first ")
    data = json.loads(crossdock(*BY_NAME, "--explain", "--json").out)
    assert data["plan"]["operator"] == "sort"
    assert "measured" in crossdock(*BY_NAME, "--profile").out
    report = json.loads(crossdock(*BY_NAME, "--json", "--limit", "2").out)
    assert (report["rows"], len(report["preview"])) == (3, 2)


@pytest.mark.parametrize("out", ["people.parquet", "./people.parquet", "link.parquet"])
@pytest.mark.parametrize("verb", ["sort", "groupby", "join"])
@pytest.mark.parametrize("profile", [(), ("--profile",)], ids=repr)
def test_an_input_is_replaced_on_request_only(
    crossdock: Any, folder: Path, verb: str, out: str, profile: tuple[str, ...]
) -> None:
    (folder / "link.parquet").symlink_to(folder / "people.parquet")
    words = {
        "sort": ("sort", "people.parquet", "--by", "id desc"),
        "groupby": ("groupby", "people.parquet", "--by", "id"),
        "join": ("join", "visits.parquet", "people.parquet", "--on", "who=id", "--how", "right"),
    }[verb]
    refused = crossdock(*words, "--out", out, *profile)
    assert (refused.code, refused.out) == (1, "")
    assert "is an input of this result" in refused.err
    assert "--overwrite" in refused.err
    assert pyarrow.parquet.read_table(folder / "people.parquet")["id"].to_pylist() == [1, 2, 3]
    done = crossdock(*words, "--out", out, "--overwrite", *profile)
    assert done.code == 0, done.err
    assert pyarrow.parquet.read_table(folder / "people.parquet").num_rows >= 3
    assert (folder / "link.parquet").is_symlink()
    alone = crossdock(*words, "--overwrite")
    assert (alone.code, "goes with --out" in alone.err) == (2, True)
