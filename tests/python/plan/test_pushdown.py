"""Projection and filter pushdown: what each source is asked for, and that results do not change."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.expressions.expression import Expr
from crossdock.plan.nodes import Filter, Join, Node, Scan

col = xd.col


def scans(node: Node) -> list[Scan]:
    if isinstance(node, Scan):
        return [node]
    if isinstance(node, Join):
        return [*scans(node.left), *scans(node.right)]
    return scans(node.input)


def asked(relation: xd.Relation) -> list[tuple[tuple[str, ...], str]]:
    """(columns, filter) that each source is asked for, from left to right."""
    return [
        (scan.columns, "" if scan.predicate is None else repr(scan.predicate))
        for scan in scans(relation.narrowed())
    ]


def test_only_needed_columns_are_read(left: xd.Relation, right: xd.Relation) -> None:
    joined = left.join(right, on="id").select("name", "cost")
    assert asked(joined) == [(("id", "name"), ""), (("id", "cost"), "")]
    nested = joined.rename({"name": "who"}).with_columns(twice=col("cost") * 2).select("twice")
    assert asked(nested) == [(("id",), ""), (("id", "cost"), "")]


def test_a_residual_needs_its_columns(left: xd.Relation, right: xd.Relation) -> None:
    joined = left.join(right, on="id", residual=col("age") > col("age_right")).select("name")
    assert asked(joined) == [(("id", "name", "age"), ""), (("id", "age"), "")]


@pytest.mark.parametrize(
    ("how", "predicate", "expected"),
    [
        ("inner", col("name") > "b", ["name > 'b'", ""]),
        ("inner", col("cost") > 2, ["", "cost > 2"]),
        ("inner", col("id") > 2, ["id > 2", "id > 2"]),
        ("inner", col("age_right") > 2, ["", "age > 2"]),
        ("inner", col("age") > col("age_right"), ["", ""]),
        ("inner", col("age") + 1 > 3, ["", ""]),
        ("left", col("name") > "b", ["name > 'b'", ""]),
        ("left", col("cost") > 2, ["", ""]),
        ("left", col("id") > 2, ["id > 2", "id > 2"]),
        ("right", col("name") > "b", ["", ""]),
        ("right", col("cost") > 2, ["", "cost > 2"]),
        ("right", col("id") > 2, ["id > 2", "id > 2"]),
        ("full", col("id") > 2, ["", ""]),
        ("full", col("cost") > 2, ["", ""]),
        ("semi", col("age") > 2, ["age > 2", ""]),
        ("anti", col("id") > 2, ["id > 2", "id > 2"]),
        ("anti_null_aware", col("id") > 2, ["id > 2", ""]),
    ],
    ids=repr,
)
def test_filters_move_where_they_may(
    left: xd.Relation, right: xd.Relation, how: str, predicate: Expr, expected: list[str]
) -> None:
    filtered = left.join(right, on="id", how=how).filter(predicate)
    assert [result for _, result in asked(filtered)] == expected
    assert isinstance(filtered.narrowed(), Filter) == (expected == ["", ""])


@pytest.mark.parametrize(
    ("how", "expected"),
    [("inner", ["id > 2"] * 2), ("right", ["", ""]), ("left", ["id > 2"] * 2)],
)
def test_a_left_key_of_another_name(
    left: xd.Relation, right: xd.Relation, how: str, expected: list[str]
) -> None:
    named = right.rename({"id": "who"})
    filtered = left.join(named, on={"id": "who"}, how=how).filter(col("id") > 2)
    assert [result for _, result in asked(filtered)] == expected


def test_a_filter_moves_through_names(left: xd.Relation) -> None:
    renamed = left.select(x=col("age"), y=col("age") * 2).filter((col("x") > 40) & (col("y") > 100))
    assert asked(renamed) == [(("age",), "age > 40")]
    assert renamed.collect().to_pydict() == {"x": [53, 64, 75], "y": [106, 128, 150]}


PREDICATES = [
    col("id") > 2,
    col("id").is_null(),
    col("name") != "bob",
    col("cost") < 3,
    col("cost").is_null(),
    ~(col("age_right") > 2),
    (col("id") == 3) | (col("cost") > 4),
    (col("id") >= 2) & (col("cost") * 2 > 6),
    ~col("id").is_in([3]),
]


@pytest.mark.parametrize(("how", "predicate"), list(itertools.product(
    ("inner", "left", "right", "full"), PREDICATES)), ids=repr)  # fmt: skip
@pytest.mark.parametrize("nulls", [False, True])
def test_results_do_not_change(
    dock: xd.Dock,
    people: pa.Table,
    visits: pa.Table,
    how: str,
    predicate: Expr,
    nulls: bool,
    rows_of: Callable[[pa.Table], Any],
) -> None:
    joined = dock.from_arrow(people).join(
        dock.from_arrow(visits), on="id", how=how, null_equals_null=nulls
    )
    whole = dock.from_arrow(joined.collect())  # a filter of rows that are there cannot move
    assert rows_of(joined.filter(predicate).collect()) == rows_of(whole.filter(predicate).collect())
    assert joined.filter(predicate).count() == whole.filter(predicate).count()


@pytest.mark.parametrize("how", ["semi", "anti", "anti_null_aware"])
@pytest.mark.parametrize(
    "predicate", [col("id") > 2, col("id").is_null(), col("age") > 40], ids=repr
)
def test_results_of_left_only_joins(
    dock: xd.Dock,
    people: pa.Table,
    visits: pa.Table,
    how: str,
    predicate: Expr,
    rows_of: Callable[[pa.Table], Any],
) -> None:
    joined = dock.from_arrow(people).join(dock.from_arrow(visits), on="id", how=how)
    whole = dock.from_arrow(joined.collect())
    assert rows_of(joined.filter(predicate).collect()) == rows_of(whole.filter(predicate).collect())
