"""Parts that a query uses twice stay one node, with the columns that all users need."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock import col
from crossdock.plan.nodes import GroupBy, Join, Node, Scan, inputs_of

SALES = pa.table({
    "shop": [1, 1, 2, 2, 3], "article": [7, 8, 7, 9, 9],
    "price": [10, 20, 30, 40, 50], "text": ["a", "b", "c", "d", "e"],
})  # fmt: skip
SHOPS = pa.table({"shop": [1, 2, 3], "city": ["x", "y", "y"], "owner": ["p", "q", "r"]})


def nodes_below(node: Node) -> list[Node]:
    below = [part for input_node in inputs_of(node) for part in nodes_below(input_node)]
    return [node, *below]


@pytest.fixture
def joined() -> Any:
    with xd.connect(threads=2) as dock:
        yield dock.from_arrow(SALES).join(dock.from_arrow(SHOPS), on="shop")


def twice(joined: Any) -> Any:
    best = joined.group_by("city").agg(best=xd.max("price"))
    return joined.join(best, on={"city": "city"}).filter(col("price") == col("best"))


def test_a_join_that_is_used_twice_is_one_node(joined: Any) -> None:
    rows = twice(joined).select("article", "city")
    joins = {
        node
        for node in nodes_below(rows.narrowed())
        if isinstance(node, Join) and "city" in node.right.schema.names and "shop" in dict(node.on)
    }
    assert len(joins) == 1
    assert set(joins.pop().schema.names) == {"article", "city", "price"}
    assert sorted(map(tuple, (r.values() for r in rows.collect().to_pylist()))) == [
        (8, "x"), (9, "y"),
    ]  # fmt: skip


def test_filters_above_one_user_leave_the_other_alone(joined: Any) -> None:
    best = joined.group_by("city").agg(best=xd.max("price"))
    rows = joined.filter(col("price") < 40).join(best, on="city").select("price", "best")
    assert sorted(tuple(row.values()) for row in rows.collect().to_pylist()) == [
        (10, 20), (20, 20), (30, 50),
    ]  # fmt: skip


def test_a_part_within_a_shared_part_is_one_node_too(joined: Any) -> None:
    sums = joined.group_by("city", "shop").agg(total=xd.sum("price"))
    total = sums.agg(all=xd.sum("total")).with_columns(one=xd.lit(1))
    shares = sums.with_columns(one=xd.lit(1)).join(total, on="one")
    both = shares.join(joined.group_by("shop").agg(rows=xd.count()), on="shop")
    rows = both.select("shop", "city", "total", "all", "rows")
    groups = {node for node in nodes_below(rows.narrowed()) if isinstance(node, GroupBy)}
    assert len(groups) == 3
    assert sorted(tuple(row.values()) for row in rows.collect().to_pylist()) == [
        (1, "x", 30, 150, 2), (2, "y", 70, 150, 2), (3, "y", 50, 150, 1),
    ]  # fmt: skip


def test_rows_that_are_only_counted(joined: Any) -> None:
    assert twice(joined).count() == 2


@pytest.mark.parametrize(("below", "scans"), [(10, 1), (900, 2)])
def test_a_filter_that_leaves_few_rows_of_a_file_runs_once(
    below: int, scans: int, tmp_path: Path
) -> None:
    numbers = pa.table({"n": range(1000), "m": [i % 7 for i in range(1000)], "k": range(1000)})
    pq.write_table(numbers, tmp_path / "n.parquet")
    with xd.connect(threads=2) as dock:
        few = dock.read_parquet(str(tmp_path / "n.parquet")).filter(col("n") < below)
        sums = few.group_by("m").agg(total=xd.sum("n"))
        rows = few.join(sums, on="m").select("k", "total")
        nodes = {node for node in nodes_below(rows.narrowed()) if isinstance(node, Scan)}
        assert len(nodes) == scans
        expected = {i: sum(j for j in range(below) if j % 7 == i) for i in range(7)}
        assert {(row["k"], row["total"]) for row in rows.collect().to_pylist()} == {
            (i, expected[i % 7]) for i in range(below)
        }
