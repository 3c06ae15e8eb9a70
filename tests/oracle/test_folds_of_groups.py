"""Bits, products and discrete quantiles of groups say what DuckDB's say, beside others."""

from __future__ import annotations

import math
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from test_rows_of_groups import KEPT, rows_of, sorted_rows

INTEGERS = ["i", "s", "u"]
ORDERED = ["i", "s", "u", "r", "x", "n", "w", "text", "code", "day", "moment", "flag"]


def cases() -> list[tuple[xd.Aggregate, str]]:
    """Aggregates, and what they are in SQL."""
    items = [
        (getattr(xd, name)(column), f"{name}({column})")
        for name in ("bit_and", "bit_or", "bit_xor")
        for column in INTEGERS
    ]
    for place, column in enumerate(ORDERED):
        share = [0.0, 0.07, 0.5, 0.9, 1.0][place % 5]
        items.append((xd.quantile_disc(column, share), f"quantile_disc({column}, {share})"))
    items += [
        (xd.product(1 + xd.col("x") / 1e10), "product(1 + x / 1e10)"),
        (xd.product((xd.col("s") % 2) * 2 - 1), "product((s % 2) * 2 - 1)"),
        (xd.product("n"), "product(n)"),
        (xd.quantile_exact("day", 0.3), "quantile_disc(day, 0.3)"),
        (xd.quantile_exact("i", 0.3), "quantile_cont(i, 0.3)"),
        (xd.quantile_exact("n", 0.3), "quantile_cont(n::double, 0.3)"),
        (xd.quantile_exact("w", 0.3), "quantile_cont(w::double, 0.3)"),
        (xd.skewness("i"), "skewness(i)"),
        (xd.kurtosis("s"), "kurtosis(s)"),
        (xd.kurtosis_pop("n"), "kurtosis_pop(n)"),
        (xd.mad("i"), "mad(i)"),
        (xd.mad("x"), "mad(x)"),
        (xd.mad("w"), "mad(w::double)"),
        (xd.quantile_exact("x", 0.9), "quantile_cont(x, 0.9)"),
        (xd.entropy("text"), "entropy(text)"),
        (xd.entropy("few"), "entropy(few)"),
        (xd.entropy("moment"), "entropy(moment)"),
        (xd.sum("s"), "sum(s)"),
        (xd.count_distinct("u"), "count(distinct u)"),
    ]
    return items


def is_same(mine: Any, other: Any, sql: str) -> bool:
    if isinstance(mine, float) and isinstance(other, float):
        both_nan = math.isnan(mine) and math.isnan(other)
        # Shapes have no unit, and one of nearly 0 is what is left of powers that cancel.
        least = 1e-9 if sql.startswith(("skewness", "kurtosis")) else 1e-300
        return both_nan or math.isclose(mine, other, rel_tol=1e-9, abs_tol=least)
    return bool(mine == other)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("keys", [[], ["p"], ["text", "few"], ["id"]])
def test_folds(keys: list[str], condition: bool, threads: int) -> None:
    asked = cases()
    items = [item.where(KEPT) if condition else item for item, _ in asked]
    kept = "filter (where few = 1)" if condition else ""
    columns = ", ".join([*keys, *(f"{sql} {kept} as c{i}" for i, (_, sql) in enumerate(asked))])
    group = f"group by {', '.join(keys)}" if keys else ""
    for count in (0, 1, 500, 7 if threads == 1 else 70_000):
        table = rows_of(count)
        with duckdb.connect() as base, xd.connect(threads=threads) as dock:
            base.register("t", table)
            theirs = base.sql(f"select {columns} from t {group}").to_arrow_table()
            named = {f"c{i}": item for i, item in enumerate(items)}
            rows = dock.from_arrow(table)
            ours = (rows.group_by(*keys).agg(**named) if keys else rows.agg(**named)).collect()
        for mine, other in zip(sorted_rows(ours, keys), sorted_rows(theirs, keys), strict=True):
            for name, value in mine.items():
                sql = name if name in keys else asked[int(name[1:])][1]
                assert is_same(value, other[name], sql), (count, name, sql)


def test_products_of_numbers_that_are_none() -> None:
    table = pa.table({
        "k": [1, 1, 2, 2, 3, 4],
        "x": [math.inf, 0.0, math.nan, 0.0, None, -0.0],
    })  # fmt: skip
    with xd.connect(threads=1) as dock:
        ours = dock.from_arrow(table).group_by("k").agg(a=xd.product("x")).sort("k").collect()
    first, second, third, fourth = ours["a"].to_pylist()
    assert math.isnan(first)
    assert math.isnan(second)
    assert third is None
    assert fourth == 0.0


@pytest.mark.parametrize("function", ["bit_and", "bit_or", "bit_xor"])
@pytest.mark.parametrize("column", ["x", "n", "text", "flag"])
def test_bits_of_other_than_integers_are_refused(function: str, column: str) -> None:
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(rows_of(1))
        with pytest.raises(xd.TypeError, match="needs an integer"):
            rows.agg(a=getattr(xd, function)(column))
        with pytest.raises(xd.TypeError, match="needs an integer"):
            rows.select(a=getattr(xd, function)(column).over("p"))


def test_integers_of_all_widths_keep_their_type() -> None:
    widths = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
    for width in widths:
        most = 2 ** (int(width.strip("uint")) - (0 if width.startswith("u") else 1)) - 1
        least = 0 if width.startswith("u") else -most - 1
        values = [most, least, None, most - 1, 1]
        table = pa.table({"v": pa.array(values, width)})
        known = [value for value in values if value is not None]
        with xd.connect(threads=1) as dock:
            ours = dock.from_arrow(table).agg(
                a=xd.bit_and("v"), o=xd.bit_or("v"), x=xd.bit_xor("v"), q=xd.quantile_disc("v", 0.5)
            )
            result = ours.collect()
        assert result.schema.types == [pa.type_for_alias(width)] * 4 == ours.schema.types
        expected = [known[0] & known[1] & known[2] & known[3]]
        expected.append(known[0] | known[1] | known[2] | known[3])
        expected.append(known[0] ^ known[1] ^ known[2] ^ known[3])
        expected.append(sorted(known)[1])
        assert list(result.to_pylist()[0].values()) == expected, width
