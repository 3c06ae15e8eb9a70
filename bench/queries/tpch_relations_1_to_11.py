"""TPC-H queries 1 to 11 as relations: in the shape of their SQL, join orders by hand, and what
several queries share."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

import crossdock as xd
from crossdock import col

from queries.query import Tables
from queries.tpch_sql import least_share


def revenue() -> Any:
    return col("l_extendedprice") * (1 - col("l_discount"))


def in_period(column: str, first: date, end: date) -> Any:
    """From the first day on, and before the end."""
    return (col(column) >= first) & (col(column) < end)


def nations_in(tables: Tables, region: str) -> Any:
    regions = tables.region.filter(col("r_name") == region)
    return tables.nation.join(regions, on={"n_regionkey": "r_regionkey"}, how="semi")


def suppliers_in(tables: Tables, nation: str) -> Any:
    nations = tables.nation.filter(col("n_name") == nation)
    return tables.supplier.join(nations, on={"s_nationkey": "n_nationkey"}, how="semi")


def with_scalar(rows: Any, one_row: Any) -> Any:
    """All columns of a one-row relation beside each row: a join on a constant, since there is no
    cross join."""
    return rows.with_columns(constant=xd.lit(1)).join(
        one_row.with_columns(constant=xd.lit(1)), on="constant"
    )


def q1(tables: Tables) -> Any:
    discounted = revenue()
    return (
        tables.lineitem.filter(col("l_shipdate") <= date(1998, 9, 2))
        .group_by("l_returnflag", "l_linestatus")
        .agg(
            sum_qty=xd.sum("l_quantity"),
            sum_base_price=xd.sum("l_extendedprice"),
            sum_disc_price=xd.sum(discounted),
            sum_charge=xd.sum(discounted * (1 + col("l_tax"))),
            avg_qty=xd.mean("l_quantity"),
            avg_price=xd.mean("l_extendedprice"),
            avg_disc=xd.mean("l_discount"),
            count_order=xd.count(),
        )
        .sort("l_returnflag", "l_linestatus")
    )


def q2(tables: Tables) -> Any:
    """The offers of European suppliers are in the outer query and in the subquery; here they are
    one relation that is used twice."""
    nations = nations_in(tables, "EUROPE").select("n_nationkey", "n_name")
    suppliers = tables.supplier.join(nations, on={"s_nationkey": "n_nationkey"})
    parts = tables.part.filter(col("p_size") == 15, col("p_type").like("%BRASS"))
    offers = (
        tables.partsupp.select("ps_partkey", "ps_suppkey", "ps_supplycost")
        .join(parts.select("p_partkey", "p_mfgr"), on={"ps_partkey": "p_partkey"})
        .join(suppliers, on={"ps_suppkey": "s_suppkey"})
    )
    cheapest = offers.group_by("ps_partkey").agg(least_cost=xd.min("ps_supplycost"))
    keys = [("ps_partkey", "ps_partkey"), ("ps_supplycost", "least_cost")]
    return (
        offers.join(cheapest, on=keys, how="semi")
        .sort(xd.desc("s_acctbal"), "n_name", "s_name", "ps_partkey", limit=100)
        .select("s_acctbal", "s_name", "n_name", p_partkey="ps_partkey", p_mfgr="p_mfgr",
                s_address="s_address", s_phone="s_phone", s_comment="s_comment")
    )  # fmt: skip


def q3(tables: Tables) -> Any:
    day = date(1995, 3, 15)
    customers = tables.customer.filter(col("c_mktsegment") == "BUILDING")
    orders = tables.orders.filter(col("o_orderdate") < day).join(
        customers, on={"o_custkey": "c_custkey"}, how="semi"
    )
    return (
        tables.lineitem.filter(col("l_shipdate") > day)
        .join(orders, on={"l_orderkey": "o_orderkey"})
        .group_by("l_orderkey", "o_orderdate", "o_shippriority")
        .agg(revenue=xd.sum(revenue()))
        .sort(xd.desc("revenue"), "o_orderdate", limit=10)
        .select("l_orderkey", "revenue", "o_orderdate", "o_shippriority")
    )


def q4(tables: Tables) -> Any:
    late_lines = tables.lineitem.filter(col("l_commitdate") < col("l_receiptdate"))
    return (
        tables.orders.filter(in_period("o_orderdate", date(1993, 7, 1), date(1993, 10, 1)))
        .join(late_lines, on={"o_orderkey": "l_orderkey"}, how="semi")
        .group_by("o_orderpriority")
        .agg(order_count=xd.count())
        .sort("o_orderpriority")
    )


def q5(tables: Tables) -> Any:
    nations = nations_in(tables, "ASIA")
    customers = tables.customer.join(nations, on={"c_nationkey": "n_nationkey"}, how="semi")
    orders = tables.orders.filter(in_period("o_orderdate", date(1994, 1, 1), date(1995, 1, 1)))
    placed = orders.join(customers, on={"o_custkey": "c_custkey"})
    suppliers = tables.supplier.join(nations, on={"s_nationkey": "n_nationkey"})
    same_nation = [("l_suppkey", "s_suppkey"), ("c_nationkey", "s_nationkey")]
    return (
        tables.lineitem.join(
            placed.select("o_orderkey", "c_nationkey"), on={"l_orderkey": "o_orderkey"}
        )
        .join(suppliers.select("s_suppkey", "s_nationkey", "n_name"), on=same_nation)
        .group_by("n_name")
        .agg(revenue=xd.sum(revenue()))
        .sort(xd.desc("revenue"))
    )


def q6(tables: Tables) -> Any:
    lines = tables.lineitem.filter(
        in_period("l_shipdate", date(1994, 1, 1), date(1995, 1, 1))
        & col("l_discount").between(Decimal("0.05"), Decimal("0.07"))
        & (col("l_quantity") < 24)
    )
    return lines.agg(revenue=xd.sum(col("l_extendedprice") * col("l_discount")))


def q7(tables: Tables) -> Any:
    """Both nations on both sides, and pairs of one nation with itself left out after the joins."""
    nations = tables.nation.filter(col("n_name").is_in(["FRANCE", "GERMANY"]))
    of_supplier = nations.select("n_nationkey", supp_nation="n_name")
    of_customer = nations.select("n_nationkey", cust_nation="n_name")
    suppliers = tables.supplier.join(of_supplier, on={"s_nationkey": "n_nationkey"})
    customers = tables.customer.join(of_customer, on={"c_nationkey": "n_nationkey"})
    orders = tables.orders.join(customers, on={"o_custkey": "c_custkey"})
    shipped = col("l_shipdate").between(date(1995, 1, 1), date(1996, 12, 31))
    return (
        tables.lineitem.filter(shipped)
        .join(suppliers.select("s_suppkey", "supp_nation"), on={"l_suppkey": "s_suppkey"})
        .join(orders.select("o_orderkey", "cust_nation"), on={"l_orderkey": "o_orderkey"})
        .filter(col("supp_nation") != col("cust_nation"))
        .group_by("supp_nation", "cust_nation", l_year=col("l_shipdate").year())
        .agg(revenue=xd.sum(revenue()))
        .sort("supp_nation", "cust_nation", "l_year")
    )


def q8(tables: Tables) -> Any:
    """CASE in a sum is an aggregate of the rows that it names. The lines of the few parts of the
    type come first, for nothing else reduces them as much."""
    nations = nations_in(tables, "AMERICA")
    customers = tables.customer.join(nations, on={"c_nationkey": "n_nationkey"}, how="semi")
    suppliers = tables.supplier.join(tables.nation, on={"s_nationkey": "n_nationkey"})
    parts = tables.part.filter(col("p_type") == "ECONOMY ANODIZED STEEL")
    lines = tables.lineitem.join(parts, on={"l_partkey": "p_partkey"}, how="semi")
    ordered = col("o_orderdate").between(date(1995, 1, 1), date(1996, 12, 31))
    volume = xd.sum(revenue())
    return (
        tables.orders.filter(ordered)
        .join(lines, on={"o_orderkey": "l_orderkey"})
        .join(customers, on={"o_custkey": "c_custkey"}, how="semi")
        .join(suppliers.select("s_suppkey", "n_name"), on={"l_suppkey": "s_suppkey"})
        .group_by(o_year=col("o_orderdate").year())
        .agg(of_nation=volume.where(col("n_name") == "BRAZIL"), of_all=volume)
        .select("o_year", mkt_share=xd.coalesce(col("of_nation"), 0) / col("of_all"))
        .sort("o_year")
    )


def q9(tables: Tables) -> Any:
    parts = tables.part.filter(col("p_name").contains("green"))
    offers = tables.partsupp.join(parts, on={"ps_partkey": "p_partkey"}, how="semi")
    costs = offers.select("ps_partkey", "ps_suppkey", "ps_supplycost")
    suppliers = tables.supplier.join(tables.nation, on={"s_nationkey": "n_nationkey"})
    lines = tables.lineitem.join(
        costs, on=[("l_partkey", "ps_partkey"), ("l_suppkey", "ps_suppkey")]
    ).join(suppliers.select("s_suppkey", "n_name"), on={"l_suppkey": "s_suppkey"})
    profit = revenue() - col("ps_supplycost") * col("l_quantity")
    return (
        tables.orders.join(lines, on={"o_orderkey": "l_orderkey"})
        .group_by(nation="n_name", o_year=col("o_orderdate").year())
        .agg(sum_profit=xd.sum(profit))
        .sort("nation", xd.desc("o_year"))
    )


def q10(tables: Tables) -> Any:
    """Grouped by every column of the customer, as in SQL, whose peers do the same."""
    orders = tables.orders.filter(in_period("o_orderdate", date(1993, 10, 1), date(1994, 1, 1)))
    nations = tables.nation.select("n_nationkey", "n_name")
    return (
        tables.lineitem.filter(col("l_returnflag") == "R")
        .join(orders, on={"l_orderkey": "o_orderkey"})
        .join(tables.customer, on={"o_custkey": "c_custkey"})
        .join(nations, on={"c_nationkey": "n_nationkey"})
        .group_by("c_name", "c_acctbal", "c_phone", "n_name", "c_address", "c_comment",
                  c_custkey="o_custkey")
        .agg(revenue=xd.sum(revenue()))
        .sort(xd.desc("revenue"), limit=20)
        .select("c_custkey", "c_name", "revenue", "c_acctbal", "n_name", "c_address", "c_phone",
                "c_comment")
    )  # fmt: skip


def q11(tables: Tables) -> Any:
    """The total is that of the groups' sums, as a scalar beside each group."""
    offers = tables.partsupp.join(
        suppliers_in(tables, "GERMANY"), on={"ps_suppkey": "s_suppkey"}, how="semi"
    )
    value = col("ps_supplycost") * col("ps_availqty")
    by_part = offers.group_by("ps_partkey").agg(value=xd.sum(value))
    total = by_part.agg(total=xd.sum("value"))
    share = Decimal(f"{least_share(tables.scale):.10f}")
    return (
        with_scalar(by_part, total)
        .filter(col("value") > col("total") * share)
        .select("ps_partkey", "value")
        .sort(xd.desc("value"))
    )
