"""TPC-H for Polars: lazy frames, for thirteen of the queries.

Polars orders no joins, so they stand in an order that keeps intermediate results small. Its
products of decimals are rounded to the scale of the operands, so sums of them differ from the
exact ones behind the seventh digit: queries 1, 3, 5, 6, 9, 10, 14 and 19.
"""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

import polars as pl
from polars import col

from queries.query import Tables
from queries.tpch_sql import OFFERED


def revenue() -> pl.Expr:
    return col("l_extendedprice") * (1 - col("l_discount"))


def in_period(column: str, first: date, end: date) -> pl.Expr:
    return col(column).is_between(first, end, closed="left")


def q1(tables: Tables) -> Any:
    return (
        tables.lineitem.filter(col("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=col("l_quantity").sum(),
            sum_base_price=col("l_extendedprice").sum(),
            sum_disc_price=revenue().sum(),
            sum_charge=(revenue() * (1 + col("l_tax"))).sum(),
            avg_qty=col("l_quantity").mean(),
            avg_price=col("l_extendedprice").mean(),
            avg_disc=col("l_discount").mean(),
            count_order=pl.len(),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q3(tables: Tables) -> Any:
    day = date(1995, 3, 15)
    customers = tables.customer.filter(col("c_mktsegment") == "BUILDING")
    orders = tables.orders.filter(col("o_orderdate") < day)
    lines = tables.lineitem.filter(col("l_shipdate") > day)
    return (
        customers.join(orders, left_on="c_custkey", right_on="o_custkey")
        .join(lines, left_on="o_orderkey", right_on="l_orderkey")
        .group_by("o_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=revenue().sum())
        .sort("revenue", "o_orderdate", descending=[True, False])
        .head(10)
        .select("revenue", "o_orderdate", "o_shippriority", l_orderkey="o_orderkey")
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
    )


def q4(tables: Tables) -> Any:
    late_lines = tables.lineitem.filter(col("l_commitdate") < col("l_receiptdate"))
    return (
        tables.orders.filter(in_period("o_orderdate", date(1993, 7, 1), date(1993, 10, 1)))
        .join(late_lines, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .group_by("o_orderpriority")
        .agg(order_count=pl.len())
        .sort("o_orderpriority")
    )


def q5(tables: Tables) -> Any:
    regions = tables.region.filter(col("r_name") == "ASIA")
    orders = tables.orders.filter(in_period("o_orderdate", date(1994, 1, 1), date(1995, 1, 1)))
    return (
        regions.join(tables.nation, left_on="r_regionkey", right_on="n_regionkey")
        .join(tables.customer, left_on="n_nationkey", right_on="c_nationkey")
        .join(orders, left_on="c_custkey", right_on="o_custkey")
        .join(tables.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(
            tables.supplier,
            left_on=["l_suppkey", "n_nationkey"],
            right_on=["s_suppkey", "s_nationkey"],
        )
        .group_by("n_name")
        .agg(revenue=revenue().sum())
        .sort("revenue", descending=True)
    )


def q6(tables: Tables) -> Any:
    return tables.lineitem.filter(
        in_period("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)),
        col("l_discount").is_between(Decimal("0.05"), Decimal("0.07")),
        col("l_quantity") < 24,
    ).select(revenue=(col("l_extendedprice") * col("l_discount")).sum())


def q9(tables: Tables) -> Any:
    parts = tables.part.filter(col("p_name").str.contains("green", literal=True))
    profit = revenue() - col("ps_supplycost") * col("l_quantity")
    return (
        parts.join(tables.partsupp, left_on="p_partkey", right_on="ps_partkey")
        .join(tables.supplier, left_on="ps_suppkey", right_on="s_suppkey")
        .join(
            tables.lineitem,
            left_on=["p_partkey", "ps_suppkey"],
            right_on=["l_partkey", "l_suppkey"],
        )
        .join(tables.orders, left_on="l_orderkey", right_on="o_orderkey")
        .join(tables.nation, left_on="s_nationkey", right_on="n_nationkey")
        .group_by(nation=col("n_name"), o_year=col("o_orderdate").dt.year())
        .agg(sum_profit=profit.sum())
        .sort("nation", "o_year", descending=[False, True])
    )


def q10(tables: Tables) -> Any:
    orders = tables.orders.filter(in_period("o_orderdate", date(1993, 10, 1), date(1994, 1, 1)))
    returned = tables.lineitem.filter(col("l_returnflag") == "R")
    return (
        tables.customer.join(orders, left_on="c_custkey", right_on="o_custkey")
        .join(returned, left_on="o_orderkey", right_on="l_orderkey")
        .join(tables.nation, left_on="c_nationkey", right_on="n_nationkey")
        .group_by("c_custkey", "c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment")
        .agg(revenue=revenue().sum())
        .sort("revenue", descending=True)
        .head(20)
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone",
                "c_comment")
    )  # fmt: skip


def q12(tables: Tables) -> Any:
    lines = tables.lineitem.filter(
        col("l_shipmode").is_in(["MAIL", "SHIP"]),
        col("l_commitdate") < col("l_receiptdate"),
        col("l_shipdate") < col("l_commitdate"),
        in_period("l_receiptdate", date(1994, 1, 1), date(1995, 1, 1)),
    )
    urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        tables.orders.join(lines, left_on="o_orderkey", right_on="l_orderkey")
        .group_by("l_shipmode")
        .agg(high_line_count=urgent.sum(), low_line_count=(~urgent).sum())
        .sort("l_shipmode")
    )


def q13(tables: Tables) -> Any:
    orders = tables.orders.filter(~col("o_comment").str.contains("special.*requests"))
    return (
        tables.customer.join(orders, left_on="c_custkey", right_on="o_custkey", how="left")
        .group_by("c_custkey")
        .agg(c_count=col("o_orderkey").count())
        .group_by("c_count")
        .agg(custdist=pl.len())
        .sort("custdist", "c_count", descending=True)
    )


def q14(tables: Tables) -> Any:
    lines = tables.lineitem.filter(in_period("l_shipdate", date(1995, 9, 1), date(1995, 10, 1)))
    promoted = pl.when(col("p_type").str.starts_with("PROMO")).then(revenue()).otherwise(0)
    share = promoted.sum().cast(pl.Float64) / revenue().sum().cast(pl.Float64)
    return lines.join(tables.part, left_on="l_partkey", right_on="p_partkey").select(
        promo_revenue=100.0 * share
    )


def q18(tables: Tables) -> Any:
    quantities = tables.lineitem.group_by("l_orderkey").agg(quantity=col("l_quantity").sum())
    large = quantities.filter(col("quantity") > 300)
    return (
        tables.orders.join(large, left_on="o_orderkey", right_on="l_orderkey", how="semi")
        .join(tables.lineitem, left_on="o_orderkey", right_on="l_orderkey")
        .join(tables.customer, left_on="o_custkey", right_on="c_custkey")
        .group_by("c_name", "o_orderkey", "o_orderdate", "o_totalprice", c_custkey="o_custkey")
        .agg(sum_qty=col("l_quantity").sum())
        .sort("o_totalprice", "o_orderdate", descending=[True, False])
        .head(100)
        .select("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
    )


def q19(tables: Tables) -> Any:
    cases = [
        (col("p_brand") == brand)
        & col("p_container").is_in(list(containers))
        & col("l_quantity").is_between(least, least + 10)
        & col("p_size").is_between(1, largest_size)
        for brand, containers, largest_size, least in OFFERED
    ]
    lines = tables.lineitem.filter(
        col("l_shipmode").is_in(["AIR", "AIR REG"]),
        col("l_shipinstruct") == "DELIVER IN PERSON",
    )
    return (
        tables.part.join(lines, left_on="p_partkey", right_on="l_partkey")
        .filter(reduce(or_, cases))
        .select(revenue=revenue().sum())
    )


def q21(tables: Tables) -> Any:
    """By the number of suppliers per order, of all lines and of the late ones."""
    suppliers = pl.col("l_suppkey").n_unique()
    several = tables.lineitem.group_by("l_orderkey").agg(suppliers=suppliers)
    late = (
        several.filter(col("suppliers") > 1)
        .join(tables.lineitem, on="l_orderkey")
        .filter(col("l_receiptdate") > col("l_commitdate"))
    )
    return (
        late.group_by("l_orderkey")
        .agg(late_suppliers=suppliers)
        .join(late, on="l_orderkey")
        .filter(col("late_suppliers") == 1)
        .join(tables.supplier, left_on="l_suppkey", right_on="s_suppkey")
        .join(tables.nation, left_on="s_nationkey", right_on="n_nationkey")
        .filter(col("n_name") == "SAUDI ARABIA")
        .join(tables.orders, left_on="l_orderkey", right_on="o_orderkey")
        .filter(col("o_orderstatus") == "F")
        .group_by("s_name")
        .agg(numwait=pl.len())
        .sort("numwait", "s_name", descending=[True, False])
        .head(100)
    )
