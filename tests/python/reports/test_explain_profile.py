"""Plans and profiles as text, JSON and HTML."""

from __future__ import annotations

import json
from pathlib import Path
from xml.etree import ElementTree

import crossdock as xd
import pyarrow as pa
import pyarrow.feather
import pytest
from crossdock.reports.operator_text import operator_phases, operator_plans, predicted_seconds


@pytest.fixture
def joined(dock: xd.Dock, people: pa.Table, visits: pa.Table, tmp_path: Path) -> xd.Relation:
    pyarrow.feather.write_feather(people, str(tmp_path / "people.arrow"))
    left = dock.read(tmp_path / "people.arrow")
    return left.join(dock.from_arrow(visits), on="id")


def test_a_plan_shows_what_is_read_and_predicted(joined: xd.Relation) -> None:
    plan = joined.explain()
    assert isinstance(plan, str)
    assert repr(plan) == str(plan)
    lines = plan.splitlines()
    assert lines[0].startswith("hash_join   inner join on id = id   predicted ")
    assert any("scan ipc people.arrow   5 rows" in line for line in lines)
    assert any("choice   build " in line for line in lines)
    data = json.loads(plan.json)
    assert data["schema_version"] == 1
    assert data["plan"]["plan"]["operator"] == "hash_join"
    assert plan._repr_html_().startswith("<pre>")


def test_a_plan_can_be_made_without_reading(joined: xd.Relation) -> None:
    plan = joined.explain(read=False)
    assert "not predicted" in plan
    assert "predicted " not in plan.replace("not predicted", "")
    assert plan.startswith("join (auto)   inner join on id = id\n")
    assert json.loads(plan.json)["plan"]["operator"] == "join"


def test_a_plan_of_plain_reading(dock: xd.Dock, people: pa.Table) -> None:
    plan = dock.from_arrow(people).select("id").agg(n=xd.count("id")).explain()
    assert plan.splitlines()[0].startswith("aggregate n=count(id)")
    assert "columns  id" in plan


def test_a_plan_of_joins_of_joins(joined: xd.Relation, visits: pa.Table) -> None:
    plan = joined.join(visits, on="id", suffix="_2").explain()
    lines = plan.splitlines()
    assert lines[0].split() == ["operator", "rows", "expected"]
    assert lines[1].startswith("inner join on id = id ")
    assert sum("scan pyarrow.Table" in line for line in lines) == 2
    assert "the query runs in pipelines" in lines[-1]
    data = json.loads(plan.json)
    assert data["pipelined"]
    assert data["plan"]["operator"] == "join"
    assert [below["operator"] for below in data["plan"]["inputs"]] == ["join", "scan"]
    assert data["plan"]["inputs"][1]["rows_expected"] == visits.num_rows


def test_an_unread_plan_expects_no_rows(joined: xd.Relation, visits: pa.Table) -> None:
    plan = joined.join(visits, on="id", suffix="_2").explain(read=False)
    assert plan.splitlines()[0] == "operator"
    assert "rows_expected" not in plan.json


def test_a_profile_has_the_rows_of_every_operator(dock: xd.Dock) -> None:
    sales = dock.from_arrow(pa.table({"shop": [i % 50 for i in range(9000)], "sold": range(9000)}))
    shops = dock.from_arrow(pa.table({"shop": range(40), "city": [f"c{i % 4}" for i in range(40)]}))
    query = (
        sales.filter(xd.col("sold") < 4500)
        .join(shops, on="shop")
        .group_by("city")
        .agg(n=xd.count())
        .sort("city")
    )
    profile = query.profile()
    step = profile.data["steps"][-1]["profile"]
    rows = {o["operator"]: o["rows"] for o in step["operators"] if "rows" in o}
    scans = sorted(o["rows"] for o in step["operators"] if o["operator"] == "scan")
    assert scans == [40, 9000]
    assert {name: rows[name] for name in ("filter", "join", "group_by", "sort")} == {
        "filter": 4500,
        "join": 3600,
        "group_by": 4,
        "sort": 4,
    }
    assert all(o["thread_s"] >= 0 for o in step["operators"] if "thread_s" in o)
    last = step["pipelines"][-1]
    assert last["runs"] == " -> ".join(part["what"] for part in last["parts"])
    assert "rows expected" in profile.text


def test_pictures_show_operators_and_rows(dock: xd.Dock, visits: pa.Table) -> None:
    rows = dock.from_arrow(visits)
    query = rows.join(visits, on="id", suffix="_2").sort("id")
    for picture in (query.explain().svg, query.profile().svg):
        tree = ElementTree.fromstring(picture)
        words = {part.text for part in tree.iter("{http://www.w3.org/2000/svg}text")}
        assert {"sort by id", "inner join on id = id", "scan pyarrow.Table"} <= words
        assert any(word and word.endswith("rows") for word in words)
    with pytest.raises(xd.OptionError, match="only queries that run in pipelines"):
        rows.sort("id").profile().svg  # noqa: B018
    with pytest.raises(xd.OptionError, match="only queries that run in pipelines"):
        rows.sort("id").explain().svg  # noqa: B018


def test_a_phase_that_never_ran_has_no_time(dock: xd.Dock) -> None:
    """count(distinct) runs phases of its own in place of those that were predicted."""
    rows = dock.from_arrow(pa.table({"a": [i % 7 for i in range(10_000)], "k": range(10_000)}))
    profile = rows.group_by("a").agg(n=xd.count_distinct("k")).profile()
    phases = profile.data["steps"][-1]["profile"]["phases"]
    never = {phase["name"] for phase in phases if "measured_s" not in phase}
    assert 0 < len(never) < len(phases)
    for line in profile.text.splitlines():
        if line.startswith("  ") and line.split("  ")[1] in {phase["name"] for phase in phases}:
            assert line.endswith(" –") == (line.split("  ")[1] in never), line


def test_a_profile_has_result_and_phases(joined: xd.Relation) -> None:
    profile = joined.profile()
    assert profile.table.num_rows == 3
    data = json.loads(profile.json)
    assert data["schema_version"] == 1
    assert data["result_rows"] == 3
    assert [step["operator"] for step in data["steps"]] == ["read", "read", "hash_join"]
    join = data["steps"][-1]["profile"]
    assert all({"name", "rows", "measured_s"} <= phase.keys() for phase in join["phases"])
    assert any("predicted_s" in phase for phase in join["phases"])
    assert data["memory_peak_bytes"] > 0
    text = profile.text
    assert text.splitlines()[0].split() == ["step", "rows", "predicted", "measured"]
    for phase in join["phases"]:
        assert f"  {phase['name']}" in text
    assert "tuples/s" in text
    assert "peak memory" in text
    assert profile._repr_html_().startswith("<pre>")
    assert repr(profile) == str(profile) == text


def test_operators_of_a_query_have_their_phases(joined: xd.Relation) -> None:
    """Of an operator that runs alone, and of the same one below another."""
    alone = joined.profile().data["steps"][-1]["profile"]
    below = joined.agg(n=xd.count()).profile().data["steps"][-1]["profile"]
    assert "operators" not in alone
    assert "operators" in below
    for profile in (alone, below):
        (plan,) = operator_plans(profile)
        assert plan["strategy"] == alone["strategy"]
        names = [phase["name"] for phase in operator_phases(profile)]
        assert names == [phase["name"] for phase in plan["phases"]] != []
        assert predicted_seconds(profile) > 0
