"""What is estimated of tables in memory from few of their rows."""

from __future__ import annotations

import datetime
import gc
import weakref
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from crossdock.files.sources import ArrowSource
from crossdock.plan.estimates import Estimator, facts_of
from crossdock.plan.value_numbers import number_of


@pytest.mark.parametrize("run", [1, 2, 4, 8, 100])
def test_runs_of_equal_keys_are_seen_whatever_their_length(dock: xd.Dock, run: int) -> None:
    """Also where the sample's distances are multiples of it."""
    rows = 1024 * 200 + 1
    keys = dock.from_arrow(pa.table({"k": [i // run for i in range(rows)]}))
    distinct = Estimator()(keys.narrowed()).distinct("k")
    assert distinct is not None
    assert rows / run / 2 < distinct < rows / run * 2


@pytest.mark.parametrize("groups", [20, 5_000, 200_000])
def test_a_run_knows_its_groups_before_they_are_made(dock: xd.Dock, groups: int) -> None:
    """So a join builds the few that a condition on an aggregate leaves."""
    rows = 400_000
    sales = pa.table({
        "k": pa.array(i * 7919 % groups for i in range(rows)),
        "v": pa.array(i % groups for i in range(rows)),
    })  # fmt: skip
    few = (
        dock.from_arrow(sales)
        .filter(xd.col("v") % 7 == 0)
        .group_by("k")
        .agg(n=xd.count(), low=xd.min("v"))
        .filter(xd.col("low") * 1 < groups // 10)
    )
    names = dock.from_arrow(pa.table({"k": pa.array(range(groups)), "name": ["a"] * groups}))
    joined = names.filter(xd.col("name") == "a").join(few, on="k")
    profile = joined.profile()
    result = [node for node in nodes_of(profile.data) if node["operator"] in ("group_by", "join")]
    assert [node["operator"] for node in result] == ["join", "group_by"]
    for node in result:
        assert node["rows_expected"] == pytest.approx(node["rows"], rel=0.3, abs=5), node


def nodes_of(profile: Any) -> list[dict[str, Any]]:
    """The operators of the last step of a run."""
    result: list[dict[str, Any]] = profile["steps"][-1]["profile"]["operators"]
    return result


def test_a_semi_join_keeps_the_share_of_values_that_is_left(dock: xd.Dock) -> None:
    """Also where the right side knows its values by their range alone, which is wide."""
    keys = dock.from_arrow(pa.table({"k": pa.array(range(0, 40_000, 4))}))
    others = dock.from_arrow(pa.table({"k": pa.array(range(40_000))}))
    semi = keys.join(others.filter(xd.col("k") < 4_000), on="k", how="semi")
    rows = Estimator()(semi.narrowed()).rows
    assert rows == pytest.approx(1_000, rel=0.3)


def test_what_is_known_of_a_table_does_not_keep_it() -> None:
    source = ArrowSource(pa.table({"k": [1, 2, 3]}))
    assert facts_of(source).column("k", 3.0).distinct == 3.0
    assert facts_of(source) is facts_of(source)
    kept = weakref.ref(source)
    del source
    gc.collect()
    assert kept() is None


def test_moments_and_days_that_python_has_not(dock: xd.Dock, tmp_path: Path) -> None:
    """Of tables, footers and literals: SQL estimates joins by them."""
    far = pa.table({
        "t": pa.array([-(2**53), 0, 2**53, None], pa.timestamp("ms", "America/New_York")),
        "d": pa.array([-800_000, 0, 4_000_000, None], pa.int32()).cast(pa.date32()),
    })  # fmt: skip
    dock.from_arrow(far).write(tmp_path / "far.parquet")
    for rows in (dock.from_arrow(far), dock.read(tmp_path / "far.parquet")):
        dock.register("rows", rows)
        joined = dock.sql("select a.t from rows a join rows b on a.t = b.t and a.d = b.d")
        assert joined.count() == 3
        assert dock.sql("select 1 from rows where d < date '11000-01-01'").count() == 2
    epoch = dock.from_arrow(far.slice(1, 1))
    known = Estimator()(epoch.narrowed()).columns
    assert (known["t"].low, known["d"].high) == (0.0, datetime.date(1970, 1, 1).toordinal())


@pytest.mark.parametrize(
    "data_type",
    [
        pa.int8(), pa.int32(), pa.int64(), pa.uint32(), pa.uint64(), pa.float64(), pa.date32(),
        pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("ns", "UTC"), pa.decimal128(9, 2),
        pa.decimal128(30, 2),
    ],
    ids=str,
)  # fmt: skip
def test_footers_state_the_range_of_numbers_days_and_moments(
    dock: xd.Dock, tmp_path: Path, data_type: pa.DataType
) -> None:
    column = pa.array([7, None, 3, 120, 64, None, None, 11], data_type)
    for name, part in ("first", column.slice(0, 3)), ("second", column.slice(3)):
        pq.write_table(pa.table({"k": part}), tmp_path / f"{name}.parquet", row_group_size=2)
    rows = dock.read_parquet(tmp_path)
    known = Estimator()(rows.narrowed()).columns["k"]
    ends = pc.min_max(column)
    assert (known.low, known.high) == (number_of(ends["min"]), number_of(ends["max"]))


def test_files_that_state_no_range_have_none(dock: xd.Dock, tmp_path: Path) -> None:
    table = pa.table({"k": [1, 2], "s": ["a", "b"], "t": pa.array([1, 2], pa.time64("us"))})
    pq.write_table(table, tmp_path / "a.parquet", write_statistics=["s", "t"])
    rows = dock.read_parquet(tmp_path / "a.parquet")
    known = Estimator()(rows.narrowed()).columns
    assert [known[name].low for name in "kst"] == [None] * 3
