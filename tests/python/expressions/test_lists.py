"""Lists of groups, rows of lists, and functions of lists and structs."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock import col

LISTS = pa.table({
    "k": [1, 2, 3, 4, 5],
    "l": pa.array([[1, 2, None], None, [], [7], [None]], pa.list_(pa.int32())),
    "s": pa.array([{"a": 1, "b": "x"}, None, {"a": None, "b": "y"}, {"a": 4, "b": None}, None]),
})  # fmt: skip


@pytest.fixture
def lists(dock: xd.Dock) -> xd.Relation:
    return dock.from_arrow(LISTS)


def rows(relation: xd.Relation) -> list[tuple[object, ...]]:
    return [tuple(row.values()) for row in relation.collect().to_pylist()]


def test_lists_of_groups_are_those_of_duckdb(dock: xd.Dock) -> None:
    draw = random.Random(5)
    keys = ["a", "b", None, "c", "", "d" * 20]
    visits = pa.table({
        "k": [draw.choice(keys) for _ in range(5000)],
        "x": [draw.choice([None, *range(9)]) for _ in range(5000)],
        "t": draw.sample(range(5000), 5000),
    })  # fmt: skip
    ours = (
        dock.from_arrow(visits)
        .group_by("k")
        .agg(
            up=xd.list_agg("t", order_by="t"),
            down=xd.list_agg("x", order_by=xd.desc("t")).where("t % 3 = 0"),
            none=xd.list_agg("x").where("t < 0"),
            n=xd.count(),
            last=xd.last("x", order_by="t", ignore_nulls=False),
        )
    )
    theirs = duckdb.sql(
        "SELECT k, list(t ORDER BY t), list(x ORDER BY t DESC) FILTER (t % 3 = 0),"
        " list(x) FILTER (t < 0), count(*), last(x ORDER BY t) FROM visits GROUP BY k"
    ).fetchall()
    assert sorted(rows(ours), key=repr) == sorted(theirs, key=repr)
    assert ours.count() == len(keys)


def test_lists_without_an_order_are_in_that_of_the_input(dock: xd.Dock) -> None:
    table = pa.table({"k": [1, 2] * 4000, "x": range(8000), "t": range(8000, 0, -1)})
    grouped = dock.from_arrow(table).group_by("k")
    alone = grouped.agg(xs=xd.list_agg("x"))
    beside = grouped.agg(xs=xd.list_agg("x"), first=xd.first("x", order_by="t"))
    for result in (alone, beside):
        assert dict(row[:2] for row in rows(result)) == {  # type: ignore[misc]
            1: list(range(0, 8000, 2)), 2: list(range(1, 8000, 2)),
        }  # fmt: skip


def test_lists_of_computed_keys_and_of_all_rows(dock: xd.Dock) -> None:
    table = dock.from_arrow(pa.table({"x": [1, 2, 3, 4]}))
    result = table.group_by(x=col("x") % 2).agg(xs=xd.list_agg(col("x") * 10)).sort("x")
    assert rows(result) == [(0, [20, 40]), (1, [10, 30])]
    assert rows(table.agg(xs=xd.list_agg("x"), s=xd.sum("x"))) == [([1, 2, 3, 4], 10)]
    assert rows(table.filter("x > 9").agg(xs=xd.list_agg("x"))) == [(None,)]
    with pytest.raises(xd.ColumnError):
        table.group_by("x").agg(ys=xd.list_agg("y"))
    assert rows(table.select(w=xd.list_agg("x").over(col("x") < 0)).limit(1)) == [([1, 2, 3, 4],)]
    running = table.select(w=xd.list_agg("x").over(order_by="x"))
    assert sorted(rows(running)) == [([1],), ([1, 2],), ([1, 2, 3],), ([1, 2, 3, 4],)]


def test_only_what_is_asked_for_is_made(dock: xd.Dock) -> None:
    table = dock.from_arrow(pa.table({"k": [1, 1], "x": [1, 2], "y": [3, 4]}))
    grouped = table.group_by("k").agg(xs=xd.list_agg("x"), ys=xd.list_agg("y"))
    plan = str(grouped.select("k", "xs").explain())
    assert "xs=list(x)" in plan
    assert "y" not in plan.split("columns", 1)[1]
    assert rows(grouped.select("xs")) == [([1, 2],)]


def test_rows_of_lists(lists: xd.Relation) -> None:
    assert rows(lists.select("k", "l").unnest("l")) == [
        (1, 1), (1, 2), (1, None), (4, 7), (5, None),
    ]  # fmt: skip
    kept = lists.unnest("l", keep_empty=True).select("k", "l")
    assert rows(kept) == [(1, 1), (1, 2), (1, None), (2, None), (3, None), (4, 7), (5, None)]
    assert rows(lists.unnest("l").filter("k > 1 and l is not null").select("k", "l")) == [(4, 7)]
    assert rows(lists.unnest("l").group_by("k").agg(n=xd.count("l")).sort("k")) == [
        (1, 2), (4, 1), (5, 0),
    ]  # fmt: skip
    assert lists.unnest("l").count() == 5
    with pytest.raises(xd.OptionError, match="at least one column"):
        lists.unnest()
    with pytest.raises(xd.TypeError, match="needs a column of lists, not int64"):
        lists.unnest("k")
    with pytest.raises(xd.ColumnError):
        lists.unnest("m")


def test_rows_of_lists_of_a_fixed_size(dock: xd.Dock) -> None:
    pairs = pa.array([[9, 9], [1, None], None, [3, 4]], pa.list_(pa.int32(), 2)).slice(1)
    fixed = dock.from_arrow(pa.table({"k": [1, 2, 3], "l": pairs}))
    expected: list[tuple[object, ...]] = [(1, 1), (1, None), (3, 3), (3, 4)]
    assert rows(fixed.unnest("l")) == expected
    assert rows(fixed.unnest("l", keep_empty=True)) == [*expected[:2], (2, None), *expected[2:]]


def test_lists_of_no_rows_are_of_any_type(dock: xd.Dock) -> None:
    kind = pa.dictionary(pa.int16(), pa.decimal128(9, 2))
    empty = dock.from_arrow(pa.table({"k": pa.nulls(0, pa.int8()), "x": pa.nulls(0, kind)}))
    listed = empty.group_by("k").agg(xs=xd.list_agg("x", order_by="k")).collect()
    assert (listed.num_rows, listed.schema.field("xs").type) == (0, pa.list_(kind))


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list])
def test_lists_of_several_columns_stand_side_by_side(dock: xd.Dock, kind: Any) -> None:
    table = pa.table(
        {
            "k": [1, 2, 3, 4],
            "l": pa.array([[1, 2], [], None, [3]], kind(pa.int64())),
            "m": pa.array([["a"], ["b", None], None, ["c", "d", "e"]], kind(pa.string())),
        }
    )
    both = dock.from_arrow(table.slice(1)).union(dock.from_arrow(table.slice(0, 1)))
    assert sorted(rows(both.unnest("l", "m")), key=repr) == [
        (1, 1, "a"), (1, 2, None), (2, None, "b"), (2, None, None),
        (4, 3, "c"), (4, None, "d"), (4, None, "e"),
    ]  # fmt: skip
    kept = both.unnest("m", "l", keep_empty=True).filter("k = 3")
    assert rows(kept) == [(3, None, None)]
    with pytest.raises(xd.ColumnError, match="two columns named"):
        both.unnest("l", "l")


def test_lists_come_back_as_they_were(dock: xd.Dock, tmp_path: Path) -> None:
    """Grouped and taken apart again, also from a file and beside other nested columns."""
    table = pa.table({"k": [3, 1, 3, 2, 1], "x": ["a", None, "b", "c", "d"]})
    grouped = dock.from_arrow(table).group_by("k").agg(xs=xd.list_agg("x"), n=xd.count())
    file = tmp_path / "lists.parquet"
    grouped.write(file)
    assert pq.read_schema(file).field("xs").type.value_type == pa.string()
    back = dock.read(str(file)).unnest("xs").select("k", x=col("xs"))
    expected = [tuple(row.values()) for row in table.to_pylist()]
    assert sorted(rows(back), key=repr) == sorted(expected, key=repr)


@pytest.mark.parametrize("kind", [pa.list_, pa.large_list, lambda t: pa.list_(t, 2)])
def test_functions_of_lists(dock: xd.Dock, kind: object) -> None:
    values = [[1, 2], None, [3, None]]
    table = pa.table({"l": pa.array(values, kind(pa.int64()))})  # type: ignore[operator]
    result = dock.from_arrow(table).select(
        n=col("l").list_length(), first=col("l").list_element(0), last=col("l").list_element(-1),
        none=col("l").list_element(5), has=col("l").list_contains(3),
    )  # fmt: skip
    assert rows(result) == [(2, 1, 2, None, False), (None,) * 5, (2, 3, None, None, True)]


def test_functions_of_structs(lists: xd.Relation) -> None:
    result = lists.select(a=col("s").field("a"), b=col("s").field("b"))
    assert rows(result) == [(1, "x"), (None, None), (None, "y"), (4, None), (None, None)]
    assert rows(lists.agg(a=xd.sum(col("s").field("a")))) == [(5,)]
    with pytest.raises(xd.ExpressionError, match="no field 'c', but a, b"):
        lists.select(c=col("s").field("c"))
    with pytest.raises(xd.ExpressionError, match="no list"):
        lists.select(c=col("k").list_length())


def test_functions_of_elements(dock: xd.Dock) -> None:
    table = pa.table({"l": [[1, 2], None, [], [3, None]], "k": [10, 20, 30, 40]})
    result = dock.from_arrow(table).select(
        more=col("l").list_transform(lambda x: x + col("k")),
        large=col("l").list_filter(lambda x: x > 1),
        pairs=col("l").list_transform(lambda x: col("l").list_transform(lambda y: x * y)),
    )
    assert rows(result) == [
        ([11, 12], [2], [[1, 2], [2, 4]]), (None, None, None), ([], [], []),
        ([43, None], [3], [[9, None], [None, None]]),
    ]  # fmt: skip


def test_functions_of_elements_that_are_none(lists: xd.Relation) -> None:
    with pytest.raises(xd.ExpressionError, match="takes a function of an element, not 3"):
        col("l").list_filter(3)  # type: ignore[arg-type]
    with pytest.raises(xd.ExpressionError, match="is of type int64, not bool"):
        lists.select(c=col("l").list_filter(lambda x: x + 1))
    with pytest.raises(xd.ExpressionError, match="no list"):
        lists.select(c=col("k").list_transform(lambda x: x))
