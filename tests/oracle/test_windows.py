"""Window functions say what DuckDB's say."""

from __future__ import annotations

import decimal
import math
import random
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from window_cases import Case, made_table, random_case


def expected(table: pa.Table, cases: list[Case]) -> dict[str, list[Any]]:
    with duckdb.connect() as base:
        base.register("t", table)
        columns = ", ".join(f"{case.sql} as c{i}" for i, case in enumerate(cases))
        return base.sql(f"select id, {columns} from t order by id").to_arrow_table().to_pydict()


def computed(table: pa.Table, cases: list[Case], threads: int) -> dict[str, list[Any]]:
    with xd.connect(threads=threads) as dock:
        columns = {f"c{i}": case.expression for i, case in enumerate(cases)}
        rows = dock.from_arrow(table).select("id", **columns).collect()
    return rows.sort_by("id").to_pydict()


def same(ours: Any, theirs: Any) -> bool:
    if isinstance(ours, bool | str) or ours is None or theirs is None:
        return ours == theirs
    if isinstance(ours, float) or isinstance(theirs, float):
        a, b = float(ours), float(theirs)
        return (math.isnan(a) and math.isnan(b)) or math.isclose(a, b, rel_tol=1e-9, abs_tol=1e-9)
    if isinstance(ours, int | decimal.Decimal):
        return decimal.Decimal(ours) == decimal.Decimal(theirs)
    return bool(ours == theirs)


def check(table: pa.Table, cases: list[Case], threads: int) -> None:
    ours, theirs = computed(table, cases, threads), expected(table, cases)
    for i, case in enumerate(cases):
        pairs = zip(ours["id"], ours[f"c{i}"], theirs[f"c{i}"], strict=True)
        wrong = [pair for pair in pairs if not same(pair[1], pair[2])]
        assert not wrong, f"{case.sql}: (id, ours, DuckDB's) {wrong[:5]} of {len(wrong)}"


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("seed", range(16))
def test_random_windows(seed: int, threads: int) -> None:
    draw = random.Random(seed)
    table = made_table(draw.choice([1, 2, 40, 300]), seed)
    check(table, [random_case(draw) for _ in range(8)], threads)


@pytest.mark.parametrize("partitions", [1, 40_000])
def test_many_rows(partitions: int) -> None:
    """One partition over several workers' slices; and many that are smaller than a block."""
    draw = random.Random(partitions)
    table = made_table(140_000, 5, partitions)
    check(table, [random_case(draw) for _ in range(6)], 3)


def test_several_orders_keep_the_order_of_equal_rows() -> None:
    """A sort for one function does not change what another one finds where rows are equal."""
    table = made_table(5_000, 11).append_column("row", pa.array(range(5_000), pa.int64()))
    sqls = [
        "row_number() over (partition by few order by i nulls last, row)",
        "first_value(id) over (partition by text order by day nulls last, row)",
        "lag(id) over (order by flag desc nulls last, row)",
        "last_value(id) over (partition by p order by row rows between unbounded preceding and "
        "unbounded following)",
    ]
    expressions = [
        xd.row_number().over("few", order_by="i"),
        xd.first_value("id").over("text", order_by="day"),
        xd.lag("id").over(order_by=xd.desc("flag")),
        xd.last_value("id").over("p"),
    ]
    check(table, [Case(*pair) for pair in zip(expressions, sqls, strict=True)], 3)


def test_first_rows_of_groups() -> None:
    table = made_table(5_000, 3)
    number = "row_number() over (partition by p order by x desc nulls last, id)"
    query = f"select id from t qualify {number} <= 3"
    with duckdb.connect() as base, xd.connect(threads=3) as dock:
        base.register("t", table)
        theirs = sorted(base.sql(query).to_arrow_table().column("id").to_pylist())
        rows = dock.from_arrow(table)
        best = rows.top_k(3, "x", xd.asc("id"), per="p")
        assert best.schema == rows.schema
        assert sorted(best.collect().column("id").to_pylist()) == theirs
        place = xd.row_number().over("p", order_by=[xd.desc("x"), "id"])
        kept = rows.filter(place <= 3, xd.col("id") >= 0)
        assert sorted(kept.select("id").collect().column("id").to_pylist()) == theirs
        assert kept.count() == len(theirs)


def test_lists_go_along_and_windows_end_in_limits_and_sorts() -> None:
    table = made_table(300, 4)
    listed = table.append_column("list", pa.array([[i] for i in range(300)]))
    with xd.connect(threads=2) as dock:
        rows = dock.from_arrow(listed)
        numbered = rows.with_columns(n=xd.row_number().over(order_by="id"))
        result = numbered.sort("n", limit=5).select("n", "id", "list").collect()
        order = sorted(range(300), key=table.column("id").to_pylist().__getitem__)[:5]
        assert result.column("list").to_pylist() == [[i] for i in order]
        assert numbered.limit(7).count() == 7
        assert "window" not in str(numbered.select("id").explain())  # its column is not read


def test_sums_that_do_not_fit_are_errors() -> None:
    wide = pa.table({"x": pa.array([2**63 - 1, 1], pa.int64()), "t": [1, 2]})
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(wide)
        with pytest.raises(xd.DataError, match="wide=True"):
            rows.select(s=xd.sum("x").over(order_by="t")).collect()
        running = rows.select(s=xd.sum("x", wide=True).over(order_by="t")).collect()
        assert [int(v) for v in running.column("s").to_pylist()] == [2**63 - 1, 2**63]


def test_refused_at_once() -> None:
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(made_table(3, 1))
        number = xd.row_number().over("p")
        for wrong, error, text in [
            (lambda: rows.select(a=xd.rank().over("p")), xd.OptionError, "needs an order"),
            (lambda: rows.select(a=xd.rank()), xd.OptionError, "no over"),
            (
                lambda: rows.select(a=xd.arg_max("x", "id").over("p", order_by="id")),
                xd.OptionError,
                "whole",
            ),
            (lambda: rows.select(a=xd.sum("x").over("p", rows=(2, 1))), xd.OptionError, "no rows"),
            (lambda: rows.select(a=xd.sum("x").over("p", range=(0, 1))), xd.OptionError, "order"),
            (lambda: rows.select(a=xd.sum("text").over("p")), xd.TypeError, "number"),
            (lambda: rows.select(a=xd.sum("no").over("p")), xd.ColumnError, "no"),
            (lambda: rows.select(a=xd.sum("x").over(number)), xd.ExpressionError, "another"),
            (lambda: rows.sort(number), xd.ExpressionError, "window function"),
            (lambda: rows.group_by(n=number).agg(c=xd.count()), xd.ExpressionError, "window"),
        ]:
            with pytest.raises(error, match=text):
                wrong()


def test_aggregates_of_whole_partitions() -> None:
    """What the engine has of groups alone, beside functions of windows."""
    table = made_table(200, 3)
    cases = [
        Case(xd.median_exact("x").over("p"), "median(x) over (partition by p)"),
        Case(xd.quantile_exact("x", 0.3).over(), "quantile_cont(x, 0.3) over ()"),
        Case(xd.count_distinct("text").over("day"), "(select count(distinct text) from t i "
             "where i.day is not distinct from t.day)"),
        Case(xd.string_agg("text", "-", order_by="id").over("p", "few"),
             "string_agg(text, '-' order by id) over (partition by p, few)"),
        Case(xd.arg_max("i", by="id").over("r"), "arg_max(i, id) over (partition by r)"),
        Case(xd.col("x") - xd.median_exact("x").over("p") + xd.sum("x").over(order_by="id"),
             "x - median(x) over (partition by p) + sum(x) over (order by id)"),
    ]  # fmt: skip
    check(table, cases, 2)
    with xd.connect(threads=2) as dock:
        rows = dock.from_arrow(table)
        kept = rows.filter(xd.col("x") > xd.median_exact("x").over("p"))
        assert kept.columns == rows.columns
        listed = rows.select(
            "id", l=xd.list_agg("id", order_by=xd.desc("id")).over("few")
        ).collect()
        of_first = {row["id"]: row["l"] for row in listed.to_pylist()}
    few = dict(zip(table["id"].to_pylist(), table["few"].to_pylist(), strict=True))
    for row, ids in of_first.items():
        assert ids == sorted((i for i in few if few[i] == few[row]), reverse=True)
