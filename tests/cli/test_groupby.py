"""crossdock groupby: what it prints, writes and reads."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

BY_WHO = ("groupby", "visits.parquet", "--by", "who", "--agg", "n=count(*), s=sum(cost)")


def test_a_preview_on_standard_output_and_talk_on_standard_error(
    crossdock: Any, folder: Path
) -> None:
    ended = crossdock(*BY_WHO, "--sort", "n desc, who")
    assert ended.code == 0
    assert ended.out.splitlines() == [
        "┌───────┬───────┬────────┐",
        "│  who  │   n   │   s    │",
        "│ int64 │ int64 │ double │",
        "├───────┼───────┼────────┤",
        "│     3 │     2 │      6 │",
        "│     2 │     1 │    1.5 │",
        "├───────┴───────┴────────┤",
        "│ 2 rows   3 columns     │",
        "└────────────────────────┘",
    ]
    assert ended.err.startswith("read, grouped and shown in ")


@pytest.mark.parametrize("name", ["people.parquet", "people.arrow", "people.csv"])
def test_every_input(crossdock: Any, folder: Path, name: str) -> None:
    assert crossdock("groupby", name, "--by", "name", "--count").out == "3\n"


def records(crossdock: Any, *words: str) -> list[dict[str, str | None]]:
    ended = crossdock("groupby", *words, "--json")
    assert ended.code == 0, ended.err
    return list(json.loads(ended.out)["preview"])


def test_computed_keys_conditions_and_filters(crossdock: Any, folder: Path) -> None:
    found = records(
        crossdock, "parts", "--by", "odd=who % 2", "--where", "cost < 3",
        "--agg", "n=count(*), late=count(*) where name > 'x', sum(cost)", "--sort", "odd",
    )  # fmt: skip
    assert found == [
        {"odd": "0", "n": "2", "late": "0", "sum_cost": "3"},
        {"odd": "1", "n": "2", "late": "2", "sum_cost": "5"},
    ]


def test_one_row_without_keys_and_distinct_without_aggregates(crossdock: Any, folder: Path) -> None:
    assert records(crossdock, "parts", "--agg", "n=count(*), m=max(name)") == [{"n": "6", "m": "z"}]
    assert records(crossdock, "parts", "--by", "who", "--sort", "who") == [
        {"who": "2"}, {"who": "3"},
    ]  # fmt: skip


@pytest.mark.parametrize("name", ["out.parquet", "out.arrow", "out.csv"])
@pytest.mark.parametrize("profile", [(), ("--profile",)], ids=repr)
def test_written_results(crossdock: Any, folder: Path, name: str, profile: tuple[str, ...]) -> None:
    ended = crossdock(*BY_WHO, "--out", name, *profile)
    assert ended.err.splitlines()[-1].startswith(f"wrote 2 rows to {name} in ")
    assert bool(ended.out) == bool(profile)
    assert crossdock("groupby", name, "--by", "who", "--count").out == "2\n"


def test_explain_profile_and_json(crossdock: Any, folder: Path) -> None:
    plan = crossdock(*BY_WHO, "--explain").out
    assert plan.startswith("group_by who: n=count(), s=sum(cost)   predicted ")
    data = json.loads(crossdock(*BY_WHO, "--explain", "--json").out)
    assert data["plan"]["operator"] == "group_by"
    profile = crossdock(*BY_WHO, "--profile", "--threads", "1", "--memory", "64MiB").out
    assert "measured" in profile
    assert "threads 1" in profile
    found = json.loads(crossdock(*BY_WHO, "--json", "--profile", "--limit", "1").out)
    assert (found["schema_version"], found["rows"], len(found["preview"])) == (1, 2, 1)
    assert found["columns"][1] == {"name": "n", "type": "int64"}
    assert found["profile"]["result_rows"] == 2
