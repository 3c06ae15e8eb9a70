"""Pushdown through groups, sorts, limits, samples and unions: what sources are asked for, and which
nodes are left."""

from __future__ import annotations

from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.plan.nodes import (
    AssumeSorted,
    Filter,
    GroupBy,
    Limit,
    Node,
    Project,
    Sample,
    Scan,
    Sort,
    Union,
    inputs_of,
)

col = xd.col


def nodes(node: Node) -> list[Node]:
    """The node and all below it, from top to bottom and left to right."""
    return [node, *(result for below in inputs_of(node) for result in nodes(below))]


def asked(relation: xd.Relation) -> list[tuple[tuple[str, ...], str]]:
    """(columns, filter) that each source is asked for, from left to right."""
    return [
        (node.columns, "" if node.predicate is None else repr(node.predicate))
        for node in nodes(relation.narrowed())
        if isinstance(node, Scan)
    ]


def kinds(relation: xd.Relation) -> list[type[Any]]:
    return [type(node) for node in nodes(relation.narrowed())]


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "a": pa.array([3, 1, 2, None], pa.int64()),
            "b": ["x", "y", "x", None],
            "c": pa.array([10, 20, 30, 40], pa.int32()),
            "unused": pa.array([0, 0, 0, 0], pa.int8()),
        }
    )


@pytest.fixture
def rows(dock: xd.Dock, table: pa.Table) -> xd.Relation:
    return dock.from_arrow(table)


def test_a_group_reads_keys_arguments_and_conditions(rows: xd.Relation) -> None:
    grouped = rows.group_by("b").agg(s=xd.sum(col("a") * 2).where(col("c") > 5), n=xd.count())
    assert asked(grouped) == [(("a", "b", "c"), "")]
    assert asked(grouped.select("b", "n")) == [(("b",), "")]
    assert asked(grouped.select("s")) == [(("a", "b", "c"), "")]
    assert asked(rows.agg(n=xd.count())) == [((), "")]
    assert asked(rows.agg(n=xd.count(), s=xd.sum("c")).select("n")) == [((), "")]


def test_aggregates_that_are_not_needed_are_not_computed(rows: xd.Relation) -> None:
    grouped = rows.group_by("b").agg(s=xd.sum("a"), n=xd.count(), m=xd.max("c"))
    node = grouped.select("m", "b").narrowed()
    result = next(below for below in nodes(node) if isinstance(below, GroupBy))
    assert [name for name, _ in result.items] == ["m"]
    assert result.schema.names == ["b", "m"]


@pytest.mark.parametrize(
    ("predicate", "pushed", "left"),
    [
        (col("b") == "x", "b == 'x'", False),
        (col("b").is_null(), "b.is_null()", False),
        (col("n") > 1, "", True),
        ((col("b") != "y") & (col("n") > 1), "b != 'y'", True),
        ((col("b") == "y") | (col("n") > 1), "", True),
        (xd.lit(True) & xd.lit(True), "", True),
    ],
    ids=repr,
)
def test_filters_on_keys_go_below_a_group(
    rows: xd.Relation, predicate: xd.Expr, pushed: str, left: bool
) -> None:
    filtered = rows.group_by("b").agg(n=xd.count()).filter(predicate)
    assert asked(filtered) == [(("b",), pushed)]
    assert (Filter in kinds(filtered)) == left


def test_a_list_of_floats_does_not_part_equal_keys(dock: xd.Dock) -> None:
    """-0.0 and 0.0 are one key; a list of one of them has both."""
    zeros = dock.from_arrow(pa.table({"r": [-0.0, 0.0, 1.0], "v": [1, 2, 3]}))
    counts = zeros.group_by("r").agg(n=xd.count())
    chosen = col("r").is_in([0.0, -0.0]) & (col("r") < 5)
    assert counts.filter(chosen).collect()["n"].to_pylist() == [2]
    assert asked(counts.filter(chosen)) == [(("r",), "(r.is_in((0.0, -0.0))) & (r < 5)")]
    joined = zeros.join(pa.table({"r": [0.0, -0.0]}), on="r")
    whole = dock.from_arrow(joined.collect()).filter(col("r").is_in([0.0]))
    assert joined.filter(col("r").is_in([0.0])).count() == whole.count() == 4


def test_filters_on_computed_keys_stay(rows: xd.Relation) -> None:
    filtered = rows.group_by(a=col("a") % 2).agg(n=xd.count()).filter(col("a") == 1)
    assert asked(filtered) == [(("a",), "")]
    assert kinds(filtered) == [Filter, GroupBy, Scan]


def test_nothing_goes_below_an_aggregate_without_keys(rows: xd.Relation) -> None:
    filtered = rows.agg(n=xd.count()).filter(xd.lit(False) == xd.lit(True))
    assert kinds(filtered) == [Filter, GroupBy, Scan]


def test_filters_and_columns_go_below_a_sort(rows: xd.Relation) -> None:
    filtered = rows.sort("a").filter(col("c") > 15).select(x=col("c"))
    assert asked(filtered) == [(("a", "c"), "c > 15")]
    assert kinds(filtered) == [Sort, Scan]
    assert asked(rows.sort(xd.desc(col("a") + 1)).select("b")) == [(("a", "b"), "")]


def test_filters_stay_above_what_cuts_or_numbers_rows(rows: xd.Relation) -> None:
    for cut in (
        rows.sort("a", limit=2),
        rows.top_k(2, "a"),
        rows.limit(2),
        rows.sample(2, seed=1),
        rows.sample(fraction=0.5, seed=1),
    ):
        filtered = cut.filter(col("c") > 15).select("b")
        assert [predicate for _, predicate in asked(filtered)] == [""]
        assert Filter in kinds(filtered)
    assert kinds(rows.arg_sort("a").filter(col("index") > 1)) == [Filter, Sort, Scan]


def test_a_limit_becomes_that_of_the_sort(rows: xd.Relation) -> None:
    limited = rows.sort("a").select("b", d=col("c") * 2).limit(5, 2).limit(10, 1)
    assert kinds(limited) == [Project, Sort, Scan]
    sort = nodes(limited.narrowed())[1]
    assert isinstance(sort, Sort)
    assert (sort.limit, sort.offset) == (4, 3)
    capped = rows.sort("a", limit=3).limit(10, 2).narrowed()
    assert isinstance(capped, Sort)
    assert (capped.limit, capped.offset) == (1, 2)
    filtered = rows.sort("a").filter(col("c") > 15).limit(1)
    assert kinds(filtered) == [Sort, Scan]
    past = rows.limit(3).limit(5, 4).narrowed()
    assert isinstance(past, Limit)
    assert past.rows == 0


def test_a_sort_whose_order_is_not_seen_is_dropped(rows: xd.Relation) -> None:
    total = rows.sort("a").agg(s=xd.sum("c"))
    assert kinds(total) == [GroupBy, Scan]
    assert asked(total) == [(("c",), "")]
    counted = rows.sort("a").filter(col("c") + 1 > 2).group_by("b").agg(n=xd.count())
    assert Sort not in kinds(counted)
    assert kinds(rows.sort("a").agg(f=xd.first("c"))) == [GroupBy, Sort, Scan]
    assert kinds(rows.sort("a", limit=2).agg(s=xd.sum("c"))) == [GroupBy, Sort, Scan]
    assert kinds(rows.sort("b").sort("a")) == [Sort, Scan]
    assert kinds(rows.sort("b").sort("a", stable=True)) == [Sort, Sort, Scan]
    assert kinds(rows.sort("b").arg_sort("a")) == [Sort, Sort, Scan]


def test_a_sort_that_is_dropped_leaves_the_filter_below(rows: xd.Relation) -> None:
    kept = rows.filter(col("a") > 2).count()
    assert 0 < kept < rows.count()
    assert rows.sort("a").filter(col("a") > 2).sort("b").collect().num_rows == kept
    counted = rows.filter(col("a") > 2).sort("a").group_by("b").agg(n=xd.count())
    assert sum(counted.collect()["n"].to_pylist()) == kept


def test_a_union_passes_columns_and_filters_on(dock: xd.Dock, rows: xd.Relation) -> None:
    other = dock.from_arrow(pa.table({"b": ["z"], "c": pa.array([1], pa.int32()),
                                      "unused": pa.array([1], pa.int8()),
                                      "a": pa.array([9], pa.int64())}))  # fmt: skip
    united = rows.union(other).filter(col("a") > 1).select("b")
    assert asked(united) == [(("b",), "a > 1"), (("b",), "a > 1")]
    assert kinds(united) == [Union, Scan, Scan]
    assert united.collect().to_pydict() == {"b": ["x", "x", "z"]}


def test_samples_and_declarations_pass_columns_on(rows: xd.Relation) -> None:
    assert asked(rows.sample(2, seed=1).select("b")) == [(("b",), "")]
    declared = rows.assume_sorted("a", "c")
    assert asked(declared.filter(col("b") == "x").select("a")) == [(("a",), "b == 'x'")]
    assert kinds(declared.select("a", "b")) == [AssumeSorted, Scan]
    assert kinds(declared.select("c", "b")) == [Scan]
    assert Sample in kinds(rows.sample(2, seed=1).select("b"))


def test_what_orders_nothing_is_computed_of_the_first_rows(rows: xd.Relation) -> None:
    computed = rows.with_columns(d=col("c") * 2, e=col("b").upper(), a=col("a") + 1)
    for top in (computed.sort("a", limit=2), computed.sort("a").limit(1, 1).select("e", "d")):
        above, sort, *below = nodes(top.narrowed())
        assert isinstance(above, Project)
        assert isinstance(sort, Sort)
        assert {"d", "e"} <= {name for name, _ in above.items}
        items = [item for node in below if isinstance(node, Project) for _, item in node.items]
        assert all("upper" not in repr(item) and "* 2" not in repr(item) for item in items)
    assert computed.sort("a", limit=2).collect().to_pylist() == [
        {"a": 2, "b": "y", "c": 20, "unused": 0, "d": 40, "e": "Y"},
        {"a": 3, "b": "x", "c": 30, "unused": 0, "d": 60, "e": "X"},
    ]
    by_computed = computed.sort("d", limit=1)
    assert "upper" in repr(nodes(by_computed.narrowed())[0])
    assert by_computed.collect()["e"].to_pylist() == ["X"]
    assert kinds(computed.sort("a"))[0] is Sort
