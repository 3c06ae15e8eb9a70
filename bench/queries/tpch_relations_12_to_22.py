"""TPC-H queries 12 to 22 as relations: in the shape of their SQL, join orders by hand."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from functools import reduce
from operator import or_
from typing import Any

import crossdock as xd
from crossdock import col

from queries.query import Tables
from queries.tpch_relations_1_to_11 import in_period, revenue, suppliers_in, with_scalar
from queries.tpch_sql import OFFERED

COUNTRY_CODES = ("13", "31", "23", "29", "30", "18", "17")


def q12(tables: Tables) -> Any:
    lines = tables.lineitem.filter(
        col("l_shipmode").is_in(["MAIL", "SHIP"])
        & (col("l_commitdate") < col("l_receiptdate"))
        & (col("l_shipdate") < col("l_commitdate"))
        & in_period("l_receiptdate", date(1994, 1, 1), date(1995, 1, 1))
    )
    urgent = col("o_orderpriority").is_in(["1-URGENT", "2-HIGH"])
    return (
        tables.orders.join(lines, on={"o_orderkey": "l_orderkey"})
        .group_by("l_shipmode")
        .agg(high_line_count=xd.count().where(urgent), low_line_count=xd.count().where(~urgent))
        .sort("l_shipmode")
    )


def q13(tables: Tables) -> Any:
    orders = tables.orders.filter(~col("o_comment").like("%special%requests%"))
    return (
        tables.customer.join(orders, on={"c_custkey": "o_custkey"}, how="left")
        .group_by("c_custkey")
        .agg(c_count=xd.count("o_orderkey"))
        .group_by("c_count")
        .agg(custdist=xd.count())
        .sort(xd.desc("custdist"), xd.desc("c_count"))
    )


def q14(tables: Tables) -> Any:
    shipped = in_period("l_shipdate", date(1995, 9, 1), date(1995, 10, 1))
    total = xd.sum(revenue())
    return (
        tables.lineitem.filter(shipped)
        .join(tables.part, on={"l_partkey": "p_partkey"})
        .agg(promoted=total.where(col("p_type").starts_with("PROMO")), total=total)
        .select(promo_revenue=100 * (col("promoted") / col("total")))
    )


def q15(tables: Tables) -> Any:
    """The view is one relation that is used twice; the scalar subquery is a semi join, which
    equality allows."""
    shipped = in_period("l_shipdate", date(1996, 1, 1), date(1996, 4, 1))
    revenues = (
        tables.lineitem.filter(shipped).group_by("l_suppkey").agg(total_revenue=xd.sum(revenue()))
    )
    largest = revenues.agg(largest=xd.max("total_revenue"))
    best = revenues.join(largest, on={"total_revenue": "largest"}, how="semi")
    return (
        tables.supplier.join(best, on={"s_suppkey": "l_suppkey"})
        .select("s_suppkey", "s_name", "s_address", "s_phone", "total_revenue")
        .sort("s_suppkey")
    )


def q16(tables: Tables) -> Any:
    parts = tables.part.filter(
        (col("p_brand") != "Brand#45")
        & ~col("p_type").like("MEDIUM POLISHED%")
        & col("p_size").is_in([49, 14, 23, 45, 19, 3, 36, 9])
    )
    refused = tables.supplier.filter(col("s_comment").like("%Customer%Complaints%"))
    return (
        tables.partsupp.join(refused, on={"ps_suppkey": "s_suppkey"}, how="anti_null_aware")
        .join(parts, on={"ps_partkey": "p_partkey"})
        .group_by("p_brand", "p_type", "p_size")
        .agg(supplier_cnt=xd.count_distinct("ps_suppkey"))
        .sort(xd.desc("supplier_cnt"), "p_brand", "p_type", "p_size")
    )


def q17(tables: Tables) -> Any:
    """The correlated mean by group and join, of the lines of the parts that are asked for."""
    parts = tables.part.filter((col("p_brand") == "Brand#23") & (col("p_container") == "MED BOX"))
    lines = tables.lineitem.join(parts, on={"l_partkey": "p_partkey"}, how="semi").select(
        "l_partkey", "l_quantity", "l_extendedprice"
    )
    means = lines.group_by("l_partkey").agg(mean_quantity=xd.mean("l_quantity"))
    return (
        lines.join(means, on="l_partkey")
        .filter(col("l_quantity").cast("float64") < 0.2 * col("mean_quantity"))
        .agg(total=xd.sum("l_extendedprice"))
        .select(avg_yearly=col("total") / Decimal("7.0"))
    )


def q18(tables: Tables) -> Any:
    """Lines are read twice, as in SQL: for the large orders, and for the sums of the result."""
    large = (
        tables.lineitem.group_by("l_orderkey")
        .agg(quantity=xd.sum("l_quantity"))
        .filter(col("quantity") > 300)
    )
    orders = tables.orders.join(large, on={"o_orderkey": "l_orderkey"}, how="semi").join(
        tables.customer, on={"o_custkey": "c_custkey"}
    )
    return (
        tables.lineitem.join(orders, on={"l_orderkey": "o_orderkey"})
        .group_by("c_name", "o_orderdate", "o_totalprice", c_custkey="o_custkey",
                  o_orderkey="l_orderkey")
        .agg(sum_qty=xd.sum("l_quantity"))
        .sort(xd.desc("o_totalprice"), "o_orderdate", limit=100)
        .select("c_name", "c_custkey", "o_orderkey", "o_orderdate", "o_totalprice", "sum_qty")
    )  # fmt: skip


def q19(tables: Tables) -> Any:
    """What the three cases say of parts alone, and of lines alone, is asked before the join, since
    filters are split at AND only; the cases themselves are asked of the pairs."""
    of_part, of_pair = [], []
    for brand, containers, largest_size, least in OFFERED:
        part = (
            (col("p_brand") == brand)
            & col("p_container").is_in(containers)
            & col("p_size").between(1, largest_size)
        )
        of_part.append(part)
        of_pair.append(part & col("l_quantity").between(least, least + 10))
    lines = tables.lineitem.filter(
        col("l_shipmode").is_in(["AIR", "AIR REG"])
        & (col("l_shipinstruct") == "DELIVER IN PERSON")
        & col("l_quantity").between(1, 30)
    )
    parts = tables.part.filter(reduce(or_, of_part))
    return (
        lines.join(parts, on={"l_partkey": "p_partkey"})
        .filter(reduce(or_, of_pair))
        .agg(revenue=xd.sum(revenue()))
    )


def q20(tables: Tables) -> Any:
    """The correlated sum by group and join, of the lines of the parts that are asked for."""
    parts = tables.part.filter(col("p_name").starts_with("forest"))
    offers = tables.partsupp.join(parts, on={"ps_partkey": "p_partkey"}, how="semi")
    shipped = (
        tables.lineitem.filter(in_period("l_shipdate", date(1994, 1, 1), date(1995, 1, 1)))
        .join(parts, on={"l_partkey": "p_partkey"}, how="semi")
        .group_by("l_partkey", "l_suppkey")
        .agg(quantity=xd.sum("l_quantity"))
    )
    surplus = (
        offers.select("ps_partkey", "ps_suppkey", "ps_availqty")
        .join(shipped, on=[("ps_partkey", "l_partkey"), ("ps_suppkey", "l_suppkey")])
        .filter(col("ps_availqty") > Decimal("0.5") * col("quantity"))
    )
    return (
        suppliers_in(tables, "CANADA")
        .join(surplus, on={"s_suppkey": "ps_suppkey"}, how="semi")
        .select("s_name", "s_address")
        .sort("s_name")
    )


def q21(tables: Tables) -> Any:
    """EXISTS and NOT EXISTS of a line of another supplier: semi and anti joins with a residual."""
    suppliers = suppliers_in(tables, "SAUDI ARABIA").select("s_suppkey", "s_name")
    failed = tables.orders.filter(col("o_orderstatus") == "F")
    late = tables.lineitem.filter(col("l_receiptdate") > col("l_commitdate")).select(
        "l_orderkey", "l_suppkey"
    )
    lines = late.join(suppliers, on={"l_suppkey": "s_suppkey"}).join(
        failed, on={"l_orderkey": "o_orderkey"}, how="semi"
    )
    another = col("l_suppkey") != col("other_suppkey")
    others = tables.lineitem.select("l_orderkey", other_suppkey="l_suppkey")
    late_others = late.select("l_orderkey", other_suppkey="l_suppkey")
    return (
        lines.join(others, on="l_orderkey", how="semi", residual=another)
        .join(late_others, on="l_orderkey", how="anti", residual=another)
        .group_by("s_name")
        .agg(numwait=xd.count())
        .sort(xd.desc("numwait"), "s_name", limit=100)
    )


def q22(tables: Tables) -> Any:
    """The scalar subquery as a join of one row."""
    code = col("c_phone").substring(0, 2)
    customers = tables.customer.filter(code.is_in(COUNTRY_CODES))
    mean = customers.filter(col("c_acctbal") > 0).agg(mean_balance=xd.mean("c_acctbal"))
    rich = with_scalar(customers.select("c_custkey", "c_phone", "c_acctbal"), mean).filter(
        col("c_acctbal").cast("float64") > col("mean_balance")
    )
    return (
        rich.join(tables.orders, on={"c_custkey": "o_custkey"}, how="anti")
        .group_by(cntrycode=code)
        .agg(numcust=xd.count(), totacctbal=xd.sum("c_acctbal"))
        .sort("cntrycode")
    )
