"""Strings that pipelines compute, as columns, keys of joins, groups and sorts, against DuckDB:
blocks of rows are put together, copied and filtered between what computes strings and what reads
them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest

duckdb = pytest.importorskip("duckdb")
col = xd.col

ROWS = 20_000
LONG = "a string of more than twelve bytes "


def strings(seed: int, rows: int, kinds: int) -> list[str | None]:
    return [
        None if n % 11 == 0 else f"{LONG if n % 3 else 'ü'}{(n * seed) % kinds:04}"
        for n in range(rows)
    ]


@pytest.fixture(scope="module")
def tables() -> dict[str, Any]:
    return {
        "t": pa.table({"n": range(ROWS), "s": strings(7919, ROWS, 500), "m": strings(31, ROWS, 9)}),
        "u": pa.table(
            {"k": strings(104_729, 3000, 900), "p": strings(3, 3000, 7), "i": range(3000)}
        ),
    }


@pytest.fixture(scope="module")
def connection(tables: dict[str, Any]) -> Any:
    opened = duckdb.connect(config={"threads": 1})
    for name, table in tables.items():
        opened.register(name, table)
    return opened


@pytest.fixture(scope="module")
def dock() -> Any:
    return xd.connect(threads=2)


Relations = dict[str, Any]
CODE = col("s").substring(-4)
KEY = col("k").substring(-4)


def united(r: Relations) -> Any:
    computed = r["t"].filter(col("n") % 3 == 1).select("n", c=CHOICE, d=xd.lit("x"))
    stored = r["u"].filter(col("i") > 5).select(n="i", c="k", d=col("p").upper())
    return computed.union(stored)


def joined(r: Relations, how: str) -> Any:
    left = r["t"].with_columns(c=CODE.lower() + "-" + col("m")).filter(col("n") % 7 == 0)
    right = r["u"].with_columns(d=KEY + "-ü" + col("p").right(4)).filter(col("i") % 3 == 0)
    return left.join(right, on={"c": "d"}, how=how)


JOIN = """(select n, s, m, lower(right(s, 4)) || '-' || m c from t where n % 7 = 0) a
{how} join (select k, p, i, right(k, 4) || '-ü' || right(p, 4) d from u where i % 3 = 0) b
on c = d"""
CHOICE = (
    xd.when(col("n") % 5 == 0)
    .then(col("s").upper())
    .when(col("m").is_null())
    .then(xd.lit(LONG + "of a literal"))
    .otherwise(xd.coalesce(col("m"), "none"))
)
CHOICE_SQL = f"""case when n % 5 = 0 then upper(s) when m is null
then '{LONG}of a literal' else coalesce(m, 'none') end"""
PLANS: dict[str, tuple[Callable[[Relations], Any], str]] = {
    "columns": (
        lambda r: (
            r["t"].with_columns(c=CHOICE, l=xd.lit("x"))
            .filter(col("n") % 3 == 1).filter(col("c") > "b")
            .join(r["u"], on={"n": "i"}).select("n", "c", "l", "k")
        ),
        f"select n, {CHOICE_SQL} c, 'x' l, k from t join u on n = i where n % 3 = 1 and c > 'b'",
    ),
    "inner join": (
        lambda r: joined(r, "inner").select("n", "c", "d", "k"),
        f"select n, c, d, k from {JOIN.format(how='')}",
    ),
    "left join": (
        lambda r: joined(r, "left").select("n", "c", "d", "k"),
        f"select n, c, d, k from {JOIN.format(how='left')}",
    ),
    "right join": (
        lambda r: joined(r, "right").select("n", "c", "d", "k"),
        f"select n, c, d, k from {JOIN.format(how='right')}",
    ),
    "full join": (
        lambda r: joined(r, "full").select("n", "c", "d", "k"),
        f"select n, c, d, k from {JOIN.format(how='full')}",
    ),
    "semi join": (
        lambda r: joined(r, "semi").select("n", "c"),
        f"select n, c from {JOIN.format(how='semi')}",
    ),
    "anti join": (
        lambda r: joined(r, "anti").select("n", "c"),
        f"select n, c from {JOIN.format(how='anti')}",
    ),
    "two joins": (
        lambda r: (
            joined(r, "left").with_columns(e=xd.concat(col("c"), col("d")).upper())
            .join(r["u"].select(j="i", q=col("p").replace("string", "text")), on={"n": "j"},
                  how="left").select("n", "e", "q")
        ),
        "select n, upper(c || d) e, replace(u.p, 'string', 'text') q "
        f"from {JOIN.format(how='left')} left join u on n = u.i",
    ),
    "group keys": (
        lambda r: (
            r["t"].filter(col("n") % 3 != 1).group_by(c=CODE, d=CHOICE)
            .agg(count=xd.count(), least=xd.min(col("m").lower()), most=xd.max(CHOICE))
        ),
        f"select right(s, 4) c, {CHOICE_SQL} d, count(*), min(lower(m)), max({CHOICE_SQL}) "
        "from t where n % 3 <> 1 group by 1, 2",
    ),
    "group keys of a join": (
        lambda r: (
            joined(r, "left").group_by(c=col("c").left(2), d="d")
            .agg(count=xd.count(), distinct=xd.count_distinct("c"), least=xd.min("c"))
        ),
        f"select left(c, 2) c, d, count(*), count(distinct c), min(c) "
        f"from {JOIN.format(how='left')} group by 1, 2",
    ),
    "sort": (
        lambda r: (
            r["t"].filter(col("n") % 3 != 1).with_columns(c=CHOICE, d=CODE)
            .sort("c", xd.desc("d"), "n", limit=1000).select("n", "c", "d")
        ),
        f"select n, {CHOICE_SQL} c, right(s, 4) d from t where n % 3 <> 1 "
        "order by c nulls last, d desc nulls last, n limit 1000",
    ),
    "union": (
        lambda r: united(r).group_by("c", "d").agg(count=xd.count(), sum=xd.sum("n")),
        f"select c, d, count(*), sum(n)::bigint from (select n, {CHOICE_SQL} c, 'x' d from t "
        "where n % 3 = 1 union all select i, k, upper(p) from u where i > 5) group by c, d",
    ),
    "residual": (
        lambda r: (
            r["t"].with_columns(c=CODE).filter(col("n") < 2000)
            .join(r["u"].with_columns(d=KEY), on={"m": "p"}, residual=col("c") + "x" > col("d"))
            .select("n", "i", "c", "d")
        ),
        "select n, i, right(s, 4) c, right(k, 4) d from t join u on m = p "
        "where n < 2000 and c || 'x' > d",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", PLANS)
def test_plans(dock: Any, tables: dict[str, Any], connection: Any, name: str) -> None:
    build, sql = PLANS[name]
    relation = build({name: dock.from_arrow(table) for name, table in tables.items()})
    sorted_rows = relation.sort(relation.schema.names[0])  # of one operator more, so in pipelines
    assert "the query runs in pipelines" in str(sorted_rows.explain())
    expected = connection.sql(sql).fetchall()
    for tested in (relation, sorted_rows):
        result = tested.collect()
        result.validate(full=True)
        assert pa.string_view() not in result.schema.types
        rows = [tuple(row.values()) for row in result.to_pylist()]
        assert sorted(rows, key=repr) == sorted(expected, key=repr)


def test_group_keys_without_a_pipeline(tables: dict[str, Any], connection: Any, dock: Any) -> None:
    relation = dock.from_arrow(tables["t"]).group_by(c=CODE).agg(
        count=xd.count(), least=xd.min(CHOICE), values=xd.count(CHOICE)
    )  # fmt: skip
    rows = [tuple(row.values()) for row in relation.collect().to_pylist()]
    expected = connection.sql(
        f"select right(s, 4) c, count(*), min({CHOICE_SQL}), count({CHOICE_SQL}) from t group by 1"
    ).fetchall()
    assert sorted(rows, key=repr) == sorted(expected, key=repr)
