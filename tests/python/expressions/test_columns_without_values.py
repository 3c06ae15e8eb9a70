"""Columns of type null, as pandas and CSV make them where no row has a value: functions take them
as NULLs of whatever type they work with."""

from __future__ import annotations

from collections.abc import Callable

import crossdock as xd
import pyarrow as pa
import pytest

ROWS = pa.table({"a": [1, 2, None], "n": pa.nulls(3), "s": ["x", None, "y"]})
n, a = xd.col("n"), xd.col("a")


@pytest.mark.parametrize(
    "value",
    [
        n == n, n < n, n > a, n == "x", n + 1, n + n, n * a, -n, ~n, n & (a > 0), n | n,
        n.upper(), n.like("a%"), n.length(), n.year(), xd.greatest(n, n), xd.nullif(n, n),
        xd.coalesce(n, n), n.is_in([1, 2]), n.cast("date32"),
    ],
    ids=repr,
)  # fmt: skip
def test_expressions_of_them_are_null(dock: xd.Dock, value: xd.Expr) -> None:
    assert dock.from_arrow(ROWS).select(x=value).collect()["x"].null_count == 3


@pytest.mark.parametrize(
    "aggregate",
    [
        xd.sum, xd.mean, xd.min, xd.max, xd.median, xd.stddev, xd.var, xd.bool_and, xd.bool_or,
        xd.first, xd.string_agg, lambda c: xd.quantile(c, 0.3), lambda c: xd.quantile_exact(c, 0.5),
    ],
)  # fmt: skip
def test_aggregates_of_them_are_null(dock: xd.Dock, aggregate: Callable[..., xd.Aggregate]) -> None:
    rows = dock.from_arrow(ROWS)
    assert rows.agg(x=aggregate("n")).collect()["x"].to_pylist() == [None]
    assert rows.group_by("s").agg(x=aggregate("n")).collect()["x"].null_count == 3


def test_windows_of_them_are_null(dock: xd.Dock) -> None:
    rows = dock.from_arrow(ROWS)
    for function in (xd.sum, xd.mean, xd.max):
        assert rows.select(x=function("n").over("s")).collect()["x"].null_count == 3
    with pytest.raises(xd.ColumnError, match="nope"):
        rows.agg(x=xd.median("nope"))


@pytest.mark.parametrize(
    "text",
    [
        "select sum(n) from rows", "select sum(n) over () from rows limit 1",
        "select median(n) from rows", "select avg(n) from rows", "select max(n) from rows",
        "select n = n from rows limit 1", "select sum(n) filter (where a > 1) from rows",
    ],
)  # fmt: skip
def test_statements_take_them(dock: xd.Dock, text: str) -> None:
    pytest.importorskip("datafusion")
    dock.register("rows", dock.from_arrow(ROWS))
    assert dock.sql(text).collect().column(0).to_pylist() == [None]
