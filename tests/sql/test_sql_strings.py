"""SQL among the expressions of relations."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

from .conftest import are_same, rows_of

VALUES = (
    "a + b", "a / 2", "a % 2", "-a", "s || '!'", "upper(s)", "s like 'x%'", "a in (1, 3, null)",
    "case when a > 2 then 'big' when b = 10 then 'ten' else s end", "coalesce(a, b, 0)",
    "a between 2 and 4 or bo", "m * 2", "m > 1.5 and f < 1", "extract(year from d)",
    "d + interval '1' month", "cast(a as varchar) || s", "try_cast(s as int)", "a is null",
    "a = 1 is not true", "not bo", "nullif(a, 2)", "(a)", "1", "'x'", "null", "greatest(a, b)",
    "substring(s, 1, 1) = 'x'", "date_trunc('month', d)", "A + B",
    "sum(b) over (partition by s)", "row_number() over (order by a desc nulls last)",
    "a - lag(a, 1, 0) over (order by a nulls last) + 1", "b * 1.0 / sum(b) over ()",
    "round(f, 1)", "length(s) + a -- behind it", "s[1:1]", "a ^ 2", "mod(b, a)", "s.upper()",
    "if(a > 2, [a, b][2], -1)", "[a, b][1]",
)  # fmt: skip
AGGREGATES = (
    "sum(b)", "sum(b * 2) + 1", "sum(b) / count(*)", "max(a) - min(a)", "count(distinct s)",
    "avg(a)", "string_agg(s, ',' order by a desc)", "sum(b) filter (where a > 1)",
    "case when count(*) > 2 then 'many' else 'few' end", "coalesce(sum(a), 0) + max(b)",
    "first(s order by a)", "count_if(a > 1) + sum(b)^2", "sum(a + b) * 1.0 / (1 + count(a))",
)  # fmt: skip


@pytest.fixture(scope="module")
def t(dock: xd.Dock, tables: dict[str, Any]) -> xd.Relation:
    return dock.from_arrow(tables["t"])


@pytest.mark.parametrize("text", VALUES)
def test_values_are_those_of_duckdb(
    text: str, t: xd.Relation, oracle: duckdb.DuckDBPyConnection
) -> None:
    ours = t.select("a", "d", x=xd.sql_expr(text)).collect()
    behind = text.partition("--")[0]
    theirs = oracle.sql(f"select a, d, {behind} as x from t").to_arrow_table()
    assert are_same(rows_of(ours), rows_of(theirs), is_ordered=False)


@pytest.mark.parametrize("text", AGGREGATES)
def test_aggregates_are_those_of_duckdb(
    text: str, t: xd.Relation, oracle: duckdb.DuckDBPyConnection
) -> None:
    theirs = oracle.sql(f"select s, {text} as x, count(*) as n from t group by s").to_arrow_table()
    ours = t.group_by("s").agg(x=text, n=xd.count()).collect()
    assert ours.column_names == ["s", "x", "n"]
    assert are_same(rows_of(ours), rows_of(theirs), is_ordered=False)
    whole = t.agg(xd.sql_expr(text).alias("x")).collect()
    theirs = oracle.sql(f"select {text} as x from t").to_arrow_table()
    assert are_same(rows_of(whole), rows_of(theirs), is_ordered=False)


Use = Callable[[xd.Relation], xd.Relation]
PLACES: tuple[tuple[Use, str], ...] = (
    (lambda t: t.filter("a > 1 and s = 'x'"), "select * from t where a > 1 and s = 'x'"),
    (lambda t: t.filter("a > 1", xd.col("b") < 40), "select * from t where a > 1 and b < 40"),
    (lambda t: t.filter(xd.sql_expr("a + 1") > 2), "select * from t where a + 1 > 2"),
    (
        lambda t: t.filter("rank() over (order by b) = 2"),
        "from t qualify rank() over (order by b) = 2",
    ),
    (lambda t: t.select("s", x=xd.sql_expr("a * b")), "select s, a * b as x from t"),
    (lambda t: t.select([xd.sql_expr("a").alias("x")]), "select a as x from t"),
    (
        lambda t: t.select("a").with_columns(y=xd.sql_expr("a * 2") + 1),
        "select a, a * 2 + 1 as y from t",
    ),
    (
        lambda t: t.group_by(k=xd.sql_expr("a % 2")).agg(n="count(*)"),
        "select a % 2 as k, count(*) as n from t group by k",
    ),
    (lambda t: t.distinct(k=xd.sql_expr("a % 2")), "select distinct a % 2 as k from t"),
    (
        lambda t: t.select("a", "b").sort(xd.desc(xd.sql_expr("a % 3")), "b", limit=3),
        "select a, b from t order by a % 3 desc nulls last, b nulls last limit 3",
    ),
    (
        lambda t: t.select("s", "b").top_k(1, xd.sql_expr("-b"), per=xd.sql_expr("s = 'x'")),
        "select s, b from t qualify row_number() over (partition by s = 'x' order by -b desc) = 1",
    ),
    (
        lambda t: t.agg(x=xd.sum("b").where("s = 'x'"), y=xd.count_if("bo")),
        "select sum(b) filter (where s = 'x') as x, count(*) filter (where bo) as y from t",
    ),
    (
        lambda t: t.agg(x=xd.sum(xd.sql_expr("a * b")), y=xd.max(xd.sql_expr("s"))),
        "select sum(a * b) as x, max(s) as y from t",
    ),
    (
        lambda t: t.select(x=xd.when("a > 2").then("big").when("bo").then("yes").otherwise("no")),
        "select case when a > 2 then 'big' when bo then 'yes' else 'no' end as x from t",
    ),
    (
        lambda t: t.select(x=xd.sum(xd.sql_expr("a + 1")).over(xd.sql_expr("s = 'x'"))),
        "select sum(a + 1) over (partition by s = 'x') as x from t",
    ),
    (
        lambda t: t.select("a").join(t.select("a", "b"), on="a", residual="b > a * 9 and b < 40"),
        "select t.a, u.b from t join t u on t.a = u.a and u.b > t.a * 9 and u.b < 40",
    ),
    (
        lambda t: t.select("a").join(t.select("a"), residual="a < a_right"),
        "select t.a, u.a as a_right from t join t u on t.a < u.a",
    ),
)  # fmt: skip


@pytest.mark.parametrize("place", range(len(PLACES)))
def test_places_take_sql(place: int, t: xd.Relation, oracle: duckdb.DuckDBPyConnection) -> None:
    use, sql = PLACES[place]
    ours, theirs = use(t).collect(), oracle.sql(sql).to_arrow_table()
    assert are_same(rows_of(ours), rows_of(theirs), is_ordered=False)


def test_parts_and_orders_take_sql(t: xd.Relation) -> None:
    assert t.arg_sort(xd.desc(xd.sql_expr("a"))).collect()["index"].to_pylist() == [4, 2, 1, 0, 3]
    parts = t.select("a").partition_by(2, h=xd.sql_expr("a % 2"), how="hash")
    assert sum(parts.rows) == 5


def test_names_are_those_of_the_relation(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"Price": [1, 2], "price": [3, 4], "of it": [5, 6]}))
    assert rows.select(x=xd.sql_expr('"of it" + 1')).collect()["x"].to_pylist() == [6, 7]
    assert rows.select(x=xd.sql_expr("price")).collect()["x"].to_pylist() == [1, 2]
    coded = dock.from_arrow(pa.table({"s": pa.array(["a", "b"]).dictionary_encode()}))
    assert coded.filter("s = 'b'").count() == 1


@pytest.mark.parametrize(
    ("use", "shown"),
    [
        (lambda t: t.filter("a > nope"), ("no column 'nope'", "a > nope\n               ^")),
        (lambda t: t.filter("a >"), ("an expression", "a >\n              ^")),
        (lambda t: t.filter("a >\n  1 +\n  nope"), ("no column 'nope'", "line 3     nope")),
        (lambda t: t.filter("a > 1) or (1 = 1"), ("closed that is not open", "line 1")),
        (lambda t: t.filter("a, b"), ("is one expression", "line 1   a, b\n            ^")),
        (lambda t: t.filter("1; drop view x"), ("is one expression", "line 1   1; drop")),
        (lambda t: t.filter("a from t2 --"), ("found: from", "line 1   a from")),
        (lambda t: t.filter("sum(a) > 1"), ("an aggregate stands where", "OVER ()")),
        (lambda t: t.filter("a > (select 1)"), ("a query in an expression", "dock.sql()")),
        (lambda t: t.filter("a in (select a from t)"), ("a query in an expression", "line 1")),
        (lambda t: t.filter("a > ?"), ("parameters have no place", "sql_expr")),
        (lambda t: t.filter(" -- nothing"), ("no expression", "sql_expr")),
        (lambda t: t.filter("soundex(s) = 'x'"), ("soundex", "line 1   soundex(s)")),
        (lambda t: t.agg(x="a"), ("agg() takes aggregates", "any_value(a)")),
        (lambda t: t.agg(x="sum(sum(a))"), ("cannot be nested", "sum(a)")),
        (lambda t: t.select(x=xd.sql_expr("a as y")), ("found: as", "line 1   a as y")),
        (lambda t: t.join(t, residual="a < zz"), ("no column 'zz'", "line 1")),
    ],
)  # fmt: skip
def test_errors_show_the_place(use: Use, shown: tuple[str, str], t: xd.Relation) -> None:
    with pytest.raises(xd.SqlError) as caught:
        use(t)
    assert all(part in str(caught.value) for part in shown), str(caught.value)
    assert "\x02" not in str(caught.value)


@pytest.mark.parametrize(
    ("text", "said", "name"),
    [("Unit Price > 3", "Expected: end of the expression, found: Price", "Unit Price"),
     ("(unit price > 3)", "Expected: ), found: price", "unit price"),
     ("a.b > 1", "no column 'a.b'", "a.b"), ("x > 1 and a-b = 2", "no column 'a'", "a-b")],
)  # fmt: skip
def test_names_with_spaces_stand_in_double_quotes(
    text: str, said: str, name: str, dock: xd.Dock
) -> None:
    rows = dock.from_arrow(pa.table({"Unit Price": [1], "a.b": [2], "a-b": [3], "x": [4]}))
    with pytest.raises(xd.SqlError) as caught:
        rows.filter(text)
    assert said in str(caught.value)
    assert f'try      double quotes around the name: "{name}"' in str(caught.value)
    dock.register("prices", rows)
    with pytest.raises(xd.SqlError, match=f'double quotes around the name: "{name}"'):
        dock.sql(f"select * from prices where {text}")


def test_sql_that_no_relation_reads(t: xd.Relation) -> None:
    with pytest.raises(xd.ExpressionError, match="where no relation reads it"):
        xd.sql_expr("a").columns()
    with pytest.raises(xd.ExpressionError, match="not bool"):
        t.filter("a + 1")
    with pytest.raises(xd.OptionError, match="sql_expr"):
        xd.sql_expr(1)  # type: ignore[arg-type]
    assert repr(xd.sql_expr("a + 1") > 2) == "sql_expr('a + 1') > 2"
