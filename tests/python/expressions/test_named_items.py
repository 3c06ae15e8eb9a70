"""Columns by name, in lists, with `.alias` and as keywords; familiar names of other libraries."""

from __future__ import annotations

import datetime
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock import col


@pytest.fixture
def rows(dock: xd.Dock) -> xd.Relation:
    return dock.from_arrow(pa.table({"a": [3, 1, 2], "b": [10, 20, 30], "c": ["x", "y", "x"]}))


def test_select_takes_names_lists_and_aliases(rows: xd.Relation) -> None:
    assert rows.select(["a", "c"]).columns == ["a", "c"]
    mixed = rows.select("a", ["c", (col("b") * 2).alias("d")], e=col("a") + 1)
    assert mixed.collect().to_pydict() == {
        "a": [3, 1, 2],
        "c": ["x", "y", "x"],
        "d": [20, 40, 60],
        "e": [4, 2, 3],
    }


def test_with_columns_and_drop(rows: xd.Relation) -> None:
    more = rows.with_columns((col("a") + col("b")).alias("a"), d=col("b"))
    assert more.drop("b", ["c"]).collect().to_pydict() == {"a": [13, 21, 32], "d": [10, 20, 30]}
    with pytest.raises(xd.ColumnError, match="nothing"):
        rows.drop("nothing")
    with pytest.raises(xd.OptionError, match="at least one column"):
        rows.drop("a", "b", "c")


def test_groups_by_lists_and_aliases(rows: xd.Relation) -> None:
    by = rows.group_by(["c", (col("a") % 2).alias("odd")]).agg(
        xd.count().alias("n"), [xd.sum("b").alias("s")], least=xd.min("a")
    )
    assert by.sort(["c", "odd"], descending=True).collect().to_pydict() == {
        "c": ["y", "x", "x"],
        "odd": [1, 1, 0],
        "n": [1, 1, 1],
        "s": [20, 10, 30],
        "least": [1, 3, 2],
    }
    assert rows.agg(xd.max("b").alias("m")).collect().to_pydict() == {"m": [30]}
    assert sorted(rows.distinct(["c"]).collect()["c"].to_pylist()) == ["x", "y"]


def test_filters_in_a_list(rows: xd.Relation) -> None:
    assert rows.filter([col("a") > 1, col("b") < 20]).collect()["a"].to_pylist() == [3]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda r: r.select(col("a") + 1), r"a \+ 1 of select\(\) has no name\n.*\.alias"),
        (lambda r: r.agg(xd.sum("b")), "has no name"),
        (lambda r: r.select(7), "takes no int as a column"),
        (lambda r: r.agg({"a": "sum"}), r"takes no dict as an aggregate\n(.*\n)*.*agg\(total=xd"),
        (lambda r: r.group_by("a").agg(["b"]), "takes no str as an aggregate"),
        (lambda r: r.agg(b="sum"), r"does not say of what(.*\n)*.*agg\(b=xd\.sum\('b'\)\)"),
        (lambda r: r.filter(col("c") > 1), r"c > 1 cannot be evaluated: no greater of string and"),
        (lambda r: r.select(x=xd.sum("a")), r"has no over\(\)(.*\n)*.*or agg\("),
        (lambda r: r.agg(x=xd.sum("a") / xd.count()), r"behind agg\(\)(.*\n)*.*agg\(share="),
        (lambda r: r.filter(xd.sum("a") > 1), r"behind agg\(\)"),
        (lambda r: r.with_columns(x=lambda row: row), "a function is no value of rows"),
        (lambda r: r.with_columns(x="aa"), r"no column 'aa' in with_columns\(\)"),
        (lambda r: r.rename(str.upper), r"new names by old ones(.*\n)*.*rename\(\{"),
        (lambda r: r.sort("a desc"), r"no column 'a desc'(.*\n)*.*xd\.desc\('a'\)"),
        (lambda r: r.join(r, left_on="a", right_on="b"), r'left_on(.*\n)*.*on=\{"left"'),
        (lambda r: r.select("a", col("b").alias("a")), "two columns named 'a'"),
        (lambda r: r.agg(xd.sum("b").alias("n"), n=xd.count()), "two columns named 'n'"),
        (lambda r: r.select(x=xd.coalesce(col("a").alias("y"), 1)), "inside an expression"),
        (lambda r: r.select(col("a").alias(3)), r"alias\(\) takes a text"),
    ],
)
def test_refusals(rows: xd.Relation, make: Any, message: str) -> None:
    with pytest.raises((xd.CrossdockError, TypeError), match=message):
        make(rows)


def test_to_pandas_and_polars(rows: xd.Relation) -> None:
    assert rows.head(2).to_pandas()["a"].tolist() == [3, 1]
    assert rows.head(2).to_polars()["c"].to_list() == ["x", "y"]


def test_aliases_of_dates_keep_their_type(dock: xd.Dock) -> None:
    days = dock.from_arrow(pa.table({"day": [datetime.date(2024, 2, 29)]}))
    assert days.select(col("day").year().alias("y")).collect().to_pydict() == {"y": [2024]}


def test_concat_is_of_strings(rows: xd.Relation) -> None:
    for several in ([rows, rows], rows):
        with pytest.raises(xd.ExpressionError, match="not relations"):
            xd.concat(several)


def test_a_tolerance_that_is_a_string(rows: xd.Relation) -> None:
    with pytest.raises(xd.OptionError, match="is no distance"):
        rows.join_asof(rows, rows.columns[0], tolerance="30s")
