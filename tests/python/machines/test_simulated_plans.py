"""xd.simulate_plan: which joins of a plan are simulated, with how many rows; what is refused."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.machines.simulated_joins import JoinSize
from crossdock.machines.simulated_plans import joins_of


@pytest.fixture
def plan(tmp_path: Path) -> Any:
    """Two joins: 30 x 300 rows, and what is left of it with 10."""
    for name, rows in (("a", 30), ("b", 300), ("c", 10)):
        columns = {f"{name}_key": range(rows), f"{name}_other": [row % 10 for row in range(rows)]}
        pq.write_table(pa.table({key: pa.array(v) for key, v in columns.items()}),
                       tmp_path / f"{name}.parquet")  # fmt: skip
    with xd.connect() as dock:
        text = (
            f"select count(*) from '{tmp_path}/a.parquet' join '{tmp_path}/b.parquet' "
            f"on a_key = b_key join '{tmp_path}/c.parquet' on b_other = c_key"
        )
        return dock.sql(text).explain(read=True)


def test_joins_run_from_the_bottom_and_smaller_sides_build(plan: Any) -> None:
    joins = joins_of(plan.data)
    assert len(joins) == 2
    sizes = [size for _, size in joins]
    assert sizes[0].build_rows == 30
    assert sizes[0].probe_rows == 300
    assert sizes[0].build_row_bytes == 8  # its key alone is read
    assert sizes[1].build_rows == 10


def test_a_plan_is_its_joins_one_after_the_other(plan: Any) -> None:
    simulated = xd.simulate_plan(plan, "dgx-a100:2", times=1e6, compare=False)
    assert len(simulated.joins) == 2
    (text, first), (_, second) = simulated.joins
    assert "a_key" in text
    assert "b_key" in text
    size = joins_of(plan.data, 1e6)[0][1]
    assert first.planned.seconds == xd.simulate(size, "dgx-a100:2", compare=False).planned.seconds
    assert simulated.seconds == first.planned.seconds + second.planned.seconds
    assert simulated.to_dict()["seconds"] == simulated.seconds
    assert [one["join"] for one in simulated.to_dict()["joins"]] == [t for t, _ in simulated.joins]
    assert simulated.text().endswith("s")
    assert "2 joins as planned: " in simulated.text()
    assert xd.simulate_plan(plan.data, "dgx-a100:2", times=1e6, compare=False) == simulated


@pytest.mark.parametrize(
    ("plan", "says"),
    [
        ({}, "not what explain() makes"),
        ({"plan": 7}, "not what explain() makes"),
        (7, "not what explain() makes"),
        ({"plan": {"operator": "scan", "inputs": []}}, "no join with two inputs"),
        ({"plan": {"operator": "join", "inputs": [3, 4]}}, "not what explain() makes"),
        ({"plan": {"operator": "join", "inputs": {"a": 3}}}, "not what explain() makes"),
        (
            {"plan": {"operator": "join", "inputs": [{"rows_expected": 5}] * 2}},
            "not what explain() makes",
        ),
        (
            {
                "plan": {
                    "operator": "join",
                    "inputs": [{"rows_expected": float("nan"), "columns": []}] * 2,
                }
            },
            "is not known",
        ),
        (
            {"plan": {"operator": "join", "inputs": [{"headline": "scan x", "columns": []}] * 2}},
            "how many rows 'scan x' has is not known",
        ),
    ],
)
def test_what_is_no_plan_is_refused(plan: Any, says: str) -> None:
    with pytest.raises(xd.OptionError) as error:
        xd.simulate_plan(plan, "dgx-a100")
    assert error.value.code == "CD-105"
    assert says in str(error.value)


def test_times_have_limits(plan: Any) -> None:
    with pytest.raises(xd.OptionError, match="above 0, up to 1e12"):
        xd.simulate_plan(plan, "dgx-a100", times=0)
    assert joins_of(plan.data, 10)[0][1] == JoinSize(300, 3000, 8, 16)
