"""Options that other libraries have: each is refused, with what it is here."""

from __future__ import annotations

import inspect
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock import familiar_options


@pytest.fixture
def rows(dock: xd.Dock) -> xd.Relation:
    return dock.from_arrow(pa.table({"a": [3, 1, 2], "b": [10, 20, 20]}))


OF_RELATIONS: list[tuple[Callable[[Any], Any], str]] = [
    (lambda t: t.sort("a", ascending=False), "descending=True"),
    (lambda t: t.sort(by="a"), "sort('a', xd.desc('b'))"),
    (lambda t: t.sort("a", descnding=True), "descending"),
    (lambda t: t.filter(a=1), "filter(xd.col('a') == value)"),
    (lambda t: t.rename(columns={"a": "c"}), "rename({'old': 'new'})"),
    (lambda t: t.rename(a="c"), "rename({'a': 'new'})"),
    (lambda t: t.drop(columns=["a"]), "drop('a', 'b')"),
    (lambda t: t.select(columns=["a"]), "select('a', 'b')"),
    (lambda t: t.group_by("a", maintain_order=True), "sort(...) behind it"),
    (lambda t: t.distinct(subset=["a"]), "distinct('a', 'b')"),
    (lambda t: t.distinct("a", keep="first"), "per='a'"),
    (lambda t: t.sample(frac=0.5), "fraction="),
    (lambda t: t.write_parquet("x", row_group_size=5), "row_group_rows="),
    (lambda t: t.to_pandas(types_mapper=str), "collect().to_pandas"),
    (lambda t: t.collect(streaming=True), "to_batches()"),
    (lambda t: t.union(t, by_name=True), "other.select(relation.columns)"),
    (lambda t: t.join(t, on="a", rsuffix="_r"), 'suffix="_right"'),
    (lambda t: xd.connect(database=":memory:"), "FROM reads files"),
    (lambda t: xd.sql("select ?", params=[1]), "sql(text, [1, 'a'])"),
    (lambda t: xd.connect().sql("select 1", alias="t"), "register(name, sql(text))"),
    (lambda t: t.select(c=xd.col("a").round(decimals=1)), "round(2)"),
    (lambda t: t.select(c=xd.col("a").cast("int8", strict=False)), "try_cast(data_type)"),
    (lambda t: t.filter(xd.col("a").contains("1", regex=True)), "matches('^a[0-9]')"),
    (lambda t: t.select(c=xd.sum("a").over("b", ordr_by="a")), "order_by"),
]


@pytest.mark.parametrize(("call", "ours"), OF_RELATIONS)
def test_of_relations(rows: xd.Relation, call: Callable[[Any], Any], ours: str) -> None:
    with pytest.raises(xd.OptionError) as refused:
        call(rows)
    assert f"  try      {ours}" in str(refused.value) or ours in str(refused.value).split("try ")[1]


def test_of_readers(dock: xd.Dock, tmp_path: Path) -> None:
    (tmp_path / "x.csv").write_text("a\n1\n")
    for call, ours in (
        (lambda: dock.read_parquet("x.parquet", columns=["a"]), "select('a', 'b')"),
        (lambda: xd.read_parquet("x.parquet", columns=["a"]), "select('a', 'b')"),
        (lambda: dock.read_csv("x.csv", sep=";"), "delimiter="),
        (lambda: dock.read(tmp_path / "x.csv", n_rows=1), "limit(n)"),
        (lambda: dock.read_json("x.json", dtype={}), "types="),
    ):
        with pytest.raises(xd.OptionError, match="try ") as refused:
            call()
        assert ours in str(refused.value)
    with pytest.raises(xd.OptionError) as refused:  # no option of Parquet, either
        dock.read_parquet("x.parquet", sep=";")
    assert "try " not in str(refused.value)


def test_answers_name_what_is_there() -> None:
    for method in familiar_options._FAMILIAR:
        assert any(hasattr(each, method) for each in (xd.Relation, xd, xd.Expr, xd.Aggregate))


def test_signatures_and_pickles_stay() -> None:
    assert "descending" in inspect.signature(xd.Relation.sort).parameters
    assert next(iter(inspect.signature(xd.read_parquet).parameters)) == "paths"
    assert pickle.loads(pickle.dumps(xd.connect)) is xd.connect


def test_signatures_name_the_options() -> None:
    for method, names in (
        (xd.read, "filename delimiter bad_values"), (xd.read_csv, "filesystem header ragged"),
        (xd.Relation.join, "on suffix null_equals_null"), (xd.Relation.write, "delimiter level"),
    ):  # fmt: skip
        parameters = inspect.signature(method).parameters
        assert parameters.keys() >= set(names.split())
        assert "options" not in parameters
    delimiter = inspect.signature(xd.read_csv).parameters["delimiter"]
    assert str(delimiter) == "delimiter: 'str | None' = None"


def test_descending_of_each(rows: xd.Relation) -> None:
    assert rows.sort("b", "a", descending=[True, False]).collect()["a"].to_pylist() == [1, 2, 3]
    with pytest.raises(xd.OptionError, match="not one for each of 2"):
        rows.sort("b", "a", descending=[True])
    with pytest.raises(xd.OptionError, match="neither True nor False"):
        rows.sort("b", descending=[1])


def test_expressions_as_names(rows: xd.Relation) -> None:
    with pytest.raises(xd.ColumnError, match=r"xd.sql_expr\('a \+ 1'\)"):
        rows.with_columns(c="a + 1")
    with pytest.raises(xd.ColumnError, match="keeps all columns"):
        rows.select("*")


def test_unregister(rows: xd.Relation) -> None:
    xd.register("t_of_test", pa.table({"a": [1]}))
    assert xd.sql("from t_of_test").count() == 1
    xd.unregister("t_of_test")
    with pytest.raises(xd.SqlError, match="no table 't_of_test'"):
        xd.sql("from t_of_test")
