"""The engine's plan of a relation over tables in memory is made once, and of files each time."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest
from crossdock.engine import execution

TABLE = pa.table({"k": [1, 2, 2, 3], "v": [1, 2, 3, 4], "l": [[1], [], None, [2]]})


@pytest.fixture
def planned(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The nodes that are planned from now on."""
    result: list[Any] = []
    plan = execution.native_plan

    def noted(node: Any, *of_python: Any) -> Any:
        result.append(node)
        return plan(node, *of_python)

    monkeypatch.setattr(execution, "native_plan", noted)
    return result


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2, ranks="off") as opened:
        yield opened


def sums(rows: xd.Relation) -> xd.Relation:
    return rows.filter("v > 1").group_by("k").agg(s=xd.sum("v")).sort("k")


def test_tables_in_memory_are_planned_once(dock: xd.Dock, planned: list[Any]) -> None:
    relation = sums(dock.from_arrow(TABLE))
    expected = [{"k": 2, "s": 5}, {"k": 3, "s": 4}]
    for _ in range(3):
        assert relation.collect().to_pylist() == expected
    assert len(planned) == 1
    assert relation.profile().data["steps"]
    assert relation.collect().to_pylist() == expected
    assert sums(dock.from_arrow(TABLE.slice(0, 2))).collect().to_pylist() == [{"k": 2, "s": 2}]


def test_a_plan_is_of_one_engine(dock: xd.Dock, planned: list[Any]) -> None:
    relation = sums(dock.from_arrow(TABLE))
    first = relation.collect()
    with xd.connect(threads=1, ranks="off") as other:
        again = other.from_arrow(first).join(relation.collect(), on="k")
        assert again.count() == 2
    assert relation.collect().equals(first)
    del planned


def test_files_are_planned_each_time(dock: xd.Dock, tmp_path: Path, planned: list[Any]) -> None:
    path = tmp_path / "t.parquet"
    pyarrow.parquet.write_table(TABLE.drop_columns("l"), path)
    relation = sums(dock.read_parquet(str(path)))
    assert relation.collect().equals(relation.collect())
    assert len(planned) == 2


def test_rows_that_python_makes_are_made_each_time(dock: xd.Dock, planned: list[Any]) -> None:
    """Samples are drawn, lists unnested, and conditions of Python asked in each run."""
    rows = dock.from_arrow(TABLE)
    for relation in (
        rows.unnest("l").group_by("k").agg(n=xd.count()).sort("k"),
        rows.join(rows.select("k", w="v"), on="k", residual=xd.col("v").cast("string") == "2"),
    ):
        planned.clear()
        assert relation.collect().equals(relation.collect())
        assert len(planned) >= 2


def test_pickles_have_no_plan(dock: xd.Dock) -> None:
    relation = sums(dock.from_arrow(TABLE))
    before = len(pickle.dumps(relation))
    expected = relation.collect()
    assert len(pickle.dumps(relation)) < before + 200
    assert pickle.loads(pickle.dumps(relation)).collect().equals(expected)
