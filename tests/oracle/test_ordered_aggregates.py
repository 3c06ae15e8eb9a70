"""Aggregates that need an order, with and without keys and conditions, say what DuckDB's say."""

from __future__ import annotations

import decimal
import math
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from window_cases import made_table

KEPT = xd.col("few") == 1
# An aggregate, and what it is in SQL.
CASES: list[tuple[xd.Aggregate, str]] = [
    (xd.first("i", order_by="id"), "first(i order by id)"),
    (xd.last("text", order_by=xd.desc("id")), "last(text order by id desc)"),
    (xd.arg_min("id", "x"), "id"),
    (xd.quantile_exact("i", 0.25), "quantile_cont(i, 0.25)"),
    (xd.median_exact("x"), "median(x)"),
    (xd.median_exact("n"), "median(n::double)"),
    (xd.quantile_exact("r", 0.9), "quantile_cont(r, 0.9)"),
    (xd.quantile_exact("u", 0), "quantile_cont(u, 0)"),
    (xd.quantile_exact("u", 1), "quantile_cont(u, 1)"),
    (xd.quantile_exact("day", 0.3), "quantile_disc(day, 0.3)"),
    (xd.quantile_exact("moment", 1), "quantile_disc(moment, 1)"),
    (xd.string_agg("text", order_by="id"), "string_agg(text, ',' order by id)"),
    (
        xd.string_agg("code", "", order_by=["day", "id"]),
        "string_agg(code, '' order by day nulls last, id)",
    ),
    (xd.count_if(xd.col("i") > 1), "count(*)"),
    (xd.sum("s"), "sum(s)"),
    (xd.first("i", order_by="id", ignore_nulls=False), "first(i order by id)"),
    (
        xd.last("x", order_by=["day", "id"], ignore_nulls=False),
        "last(x order by day nulls last, id)",
    ),
]  # fmt: skip


def sql_of(sql: str, index: int, condition: bool) -> str:
    """DuckDB's first and last count NULL; ours, as SQL's other aggregates, do not."""
    kept = ["few = 1"] if condition else []
    if index == 0:
        kept.append("i is not null")
        sql = "first(i order by id)"
    if index == 1:
        kept.append("text is not null")
    if index == 2:  # of equal ones, the first row
        sql = "first(id order by x, row)"
        kept.append("x is not null")
    if sql == "count(*)":
        kept.append("i > 1")
    return sql + (f" filter (where {' and '.join(kept)})" if kept else "")


def same(ours: Any, theirs: Any) -> bool:
    if ours is None or theirs is None or isinstance(ours, str):
        return bool(ours == theirs)
    if isinstance(ours, float):
        other = float(theirs)
        both_nan = math.isnan(ours) and math.isnan(other)
        return both_nan or math.isclose(ours, other, rel_tol=1e-12, abs_tol=1e-12)
    return bool(decimal.Decimal(ours) == theirs if isinstance(ours, int) else ours == theirs)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("keys", [[], ["p"], ["text", "few"]])
def test_ordered_aggregates(keys: list[str], condition: bool, threads: int) -> None:
    for rows in (0, 1, 500, 7 if threads == 1 else 70_000):
        table = made_table(rows, rows + 3)
        numbered = table.append_column("row", pa.array(range(rows), pa.int64()))
        items = [item.where(KEPT) if condition else item for item, _ in CASES]
        with duckdb.connect() as base, xd.connect(threads=threads) as dock:
            base.register("t", numbered)
            sqls = [sql_of(sql, i, condition) for i, (_, sql) in enumerate(CASES)]
            columns = ", ".join([*keys, *(f"{sql} as c{i}" for i, sql in enumerate(sqls))])
            group = f"group by {', '.join(keys)}" if keys else ""
            theirs = base.sql(f"select {columns} from t {group}").to_arrow_table()
            named = {f"c{i}": item for i, item in enumerate(items)}
            rel = dock.from_arrow(table)
            ours = (rel.group_by(*keys).agg(**named) if keys else rel.agg(**named)).collect()
        order = [(key, "ascending") for key in keys]
        a, b = (t.sort_by(order) if keys else t for t in (ours, theirs))
        assert a.num_rows == b.num_rows
        for i, sql in enumerate(sqls):
            pairs = zip(a.column(f"c{i}").to_pylist(), b.column(f"c{i}").to_pylist(), strict=True)
            wrong = [pair for pair in pairs if not same(*pair)]
            assert not wrong, f"{sql} by {keys} of {rows} rows: (ours, DuckDB's) {wrong[:3]}"


def test_types_and_errors() -> None:
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(made_table(5, 1))
        grouped = rows.group_by("p")
        result = grouped.agg(
            m=xd.median_exact("i"), d=xd.median_exact("day"), s=xd.string_agg("code")
        )
        assert result.schema.types == [pa.int32(), pa.float64(), pa.date32(), pa.string()]
        for wrong in (xd.median_exact("text"), xd.string_agg("i")):
            with pytest.raises(xd.TypeError):
                grouped.agg(x=wrong)
        with pytest.raises(xd.ColumnError):
            grouped.agg(x=xd.arg_max("i", "nowhere"))
        with pytest.raises(xd.OptionError, match="over whole partitions"):
            rows.select(x=xd.arg_max("text", "i").over("p", order_by="i"))
