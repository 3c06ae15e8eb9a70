"""crossdock partition: what it prints and writes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet
import pytest

BY_WHO = ("partition", "visits.parquet", "--by", "who", "--partitions", "3")


def test_parts_on_standard_output_and_talk_on_standard_error(crossdock: Any, folder: Path) -> None:
    ended = crossdock(*BY_WHO, "--how", "explicit", "--partitions", "4")
    assert ended.code == 0
    parts = [line.split()[1:4:2] for line in ended.out.splitlines()[4:8]]
    assert parts == [["0", "0"], ["1", "0"], ["2", "1"], ["3", "2"]]
    assert "4 rows   2 columns" in ended.out
    assert ended.err.startswith("partitioned and counted in ")


@pytest.mark.parametrize("form", ["parquet", "arrow", "csv"])
def test_parts_are_written(crossdock: Any, folder: Path, form: str) -> None:
    ended = crossdock(*BY_WHO, "--out", "out", "--format", form, "--where", "cost > 2")
    assert (ended.code, ended.out) == (0, "")
    assert ended.err.startswith("wrote 2 rows to 3 files of out in ")
    names = sorted(path.name for path in (folder / "out").iterdir())
    assert names == [f"part-0000{i}.{form}" for i in range(3)]
    assert crossdock("groupby", "out", "--agg", "n=count(*)", "--count").out == "1\n"
    again = crossdock(*BY_WHO, "--out", "out")
    assert again.code == 1
    assert "is there already" in again.err


def test_json(crossdock: Any, folder: Path) -> None:
    report = json.loads(crossdock(*BY_WHO, "--json", "--out", "out", "--select", "who,cost").out)
    assert (report["schema_version"], report["rows"]) == (1, 3)
    assert [part["part"] for part in report["parts"]] == [0, 1, 2]
    assert sum(part["rows"] for part in report["parts"]) == 3
    assert all((folder / part["file"]).is_file() for part in report["parts"])
    profile = json.loads(crossdock(*BY_WHO, "--json", "--profile").out)["profile"]
    assert profile["steps"][-1]["operator"] == "partition"


def test_computed_keys(crossdock: Any, folder: Path) -> None:
    words = ("partition", "visits.parquet", "--by", "part=who % 2", "--partitions", "2")
    ended = crossdock(*words, "--how", "explicit", "--out", "out")
    assert ended.code == 0, ended.err
    result = [pyarrow.parquet.read_table(folder / "out" / f"part-0000{i}.parquet") for i in (0, 1)]
    assert [part["who"].to_pylist() for part in result] == [[2], [3, 3]]
    assert result[0].column_names == ["who", "cost", "name"]
    unnamed = crossdock("partition", "visits.parquet", "--by", "who % 2")
    assert (unnamed.code, "name=who % 2" in unnamed.err) == (2, True)


def test_a_folder_in_the_way_is_seen_before_the_work(crossdock: Any, folder: Path) -> None:
    ended = crossdock(*BY_WHO, "--out", "parts", "--profile")
    assert (ended.code, ended.out) == (1, "")
    assert "is there already" in ended.err


def test_explain_and_profile(crossdock: Any, folder: Path) -> None:
    assert crossdock(*BY_WHO, "--explain").out.startswith("partition by hash of who into 3")
    profile = crossdock(*BY_WHO, "--profile")
    assert "partition by hash of who into 3" in profile.out
    assert "measured" in profile.out
