"""crossdock groupby: what it prints, writes and reads."""

from __future__ import annotations

import json
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet
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


def records(crossdock: Any, *words: str) -> list[dict[str, Any]]:
    ended = crossdock("groupby", *words, "--json")
    assert ended.code == 0, ended.err
    return list(json.loads(ended.out)["preview"])


def test_computed_keys_conditions_and_filters(crossdock: Any, folder: Path) -> None:
    result = records(
        crossdock, "parts", "--by", "odd=who % 2", "--where", "cost < 3",
        "--agg", "n=count(*), late=count(*) where name > 'x', sum(cost)", "--sort", "odd",
    )  # fmt: skip
    assert result == [
        {"odd": 0, "n": 2, "late": 0, "sum_cost": 3.0},
        {"odd": 1, "n": 2, "late": 2, "sum_cost": 5.0},
    ]


def test_one_row_without_keys_and_distinct_without_aggregates(crossdock: Any, folder: Path) -> None:
    assert records(crossdock, "parts", "--agg", "n=count(*), m=max(name)") == [{"n": 6, "m": "z"}]
    assert records(crossdock, "parts", "--by", "who", "--sort", "who") == [{"who": 2}, {"who": 3}]
    assert records(crossdock, "parts", "--by", "odd=who % 2", "--sort", "odd desc") == [
        {"odd": 1}, {"odd": 0},
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
    assert plan.splitlines()[1].startswith("group by who: n = count(), s = sum(cost) ")
    assert "the query runs in pipelines" in plan
    data = json.loads(crossdock(*BY_WHO, "--explain", "--json").out)
    assert data["plan"]["operator"] == "group_by"
    profile = crossdock(*BY_WHO, "--profile", "--threads", "1", "--memory", "64MiB").out
    assert "measured" in profile
    assert "threads 1" in profile
    report = json.loads(crossdock(*BY_WHO, "--json", "--profile", "--limit", "1").out)
    assert (report["schema_version"], report["rows"], len(report["preview"])) == (1, 2, 1)
    assert report["columns"][1] == {"name": "n", "type": "int64"}
    assert report["profile"]["result_rows"] == 2


def test_json_numbers_are_numbers(crossdock: Any, folder: Path) -> None:
    big = 2**53 + 1
    table = pa.table({"k": [big], "x": [1e308], "d": pa.array([Decimal("0.10")])})
    pyarrow.parquet.write_table(table, folder / "big.parquet")
    ended = crossdock(
        "groupby", "big.parquet", "--by", "k, flag=k > 1",
        "--agg", "x=sum(x * 10), none=max(x) where k < 1, d=sum(d)", "--json",
    )  # fmt: skip
    assert '"k": 9007199254740993' in ended.out
    report = json.loads(ended.out, parse_constant=lambda name: pytest.fail(name))["preview"]
    assert report == [{"k": big, "flag": True, "x": "Infinity", "none": None, "d": "0.10"}]


def test_options_of_aggregates(crossdock: Any, folder: Path) -> None:
    limits = pa.table({"i": [2**62, 2**62], "x": [1e100, -1e100]})
    pyarrow.parquet.write_table(limits, folder / "limits.parquet")
    result = records(
        crossdock, "limits.parquet",
        "--agg", "s=sum(i, wide=true), x=sum(x, floats=exact), v=var(x / 1e100, ddof=0), "
        "q=quantile(i * 0, q=0.5)",
    )  # fmt: skip
    assert result == [{"s": str(2**63), "x": 0.0, "v": 1.0, "q": 0.0}]


def test_names_with_spaces(crossdock: Any, folder: Path) -> None:
    table = pa.table({"unit price": [1.5, 2.5, 2.5], "shop `a`": [1, 1, 2]})
    pyarrow.parquet.write_table(table, folder / "spaced.parquet")
    result = records(
        crossdock, "spaced.parquet", "--by", "`shop ``a```", "--agg", "sum(`unit price`)",
        "--where", "`unit price` > 0", "--sort", "`sum_unit price` desc, `shop ``a```",
    )  # fmt: skip
    assert result == [
        {"shop `a`": 1, "sum_unit price": 4.0}, {"shop `a`": 2, "sum_unit price": 2.5},
    ]  # fmt: skip
    joined = crossdock(
        "join", "spaced.parquet", "spaced.parquet", "--on", "`unit price`,`shop ``a```",
        "--select", "`unit price`", "--count",
    )  # fmt: skip
    assert joined.out == "3\n"
    by = ("--by", "`unit price`", "--select", "`unit price`")
    assert crossdock("sort", "spaced.parquet", *by, "--count").out == "3\n"
    assert crossdock("partition", "spaced.parquet", *by, "--partitions", "2").code == 0


def test_keys_may_be_called_what_parameters_are_called(crossdock: Any, folder: Path) -> None:
    table = pa.table({"self": [1, 1], "by": [1, 2], "partitions": [3, 3]})
    pyarrow.parquet.write_table(table, folder / "names.parquet")
    assert records(crossdock, "names.parquet", "--by", "self", "--agg", "by=sum(by)") == [
        {"self": 1, "by": 3}
    ]
    assert crossdock("partition", "names.parquet", "--by", "self,by,partitions").code == 0
    refused = crossdock("partition", "names.parquet", "--by", "how=self % 2")
    assert (refused.code, "cannot be named 'how'" in refused.err) == (2, True)


def test_aggregates_in_sql(crossdock: Any, folder: Path) -> None:
    items = "n=count(*), sum(cost) / count(*) as Mean, count(*) filter (where cost > 3) as many"
    [row] = records(crossdock, "visits.parquet", "--agg", items)
    [plain] = records(
        crossdock, "visits.parquet", "--agg",
        "n=count(*), s=sum(cost), many=count(*) where cost > 3",
    )  # fmt: skip
    assert list(row) == ["n", "Mean", "many"]
    assert (row["n"], row["many"]) == (plain["n"], plain["many"])
    assert row["Mean"] == pytest.approx(plain["s"] / plain["n"])
