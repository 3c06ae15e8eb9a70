"""The Star Schema Benchmark as relations: the fact table joined with one dimension after the
other, each reduced by its own conditions, those first that leave the fewest rows.

The functions are named for their queries: q1_1 is Q1.1.
"""

from __future__ import annotations

from typing import Any

import crossdock as xd
from crossdock import col

from queries.query import Tables

BY_CUSTOMER, BY_SUPPLIER = {"lo_custkey": "c_custkey"}, {"lo_suppkey": "s_suppkey"}
BY_PART, BY_DATE = {"lo_partkey": "p_partkey"}, {"lo_orderdate": "d_datekey"}
KI_CITIES = ["UNITED KI1", "UNITED KI5"]


def flight_1(tables: Tables, days: Any, lines: Any) -> Any:
    """The date is not in the result, so it only decides which rows count."""
    return (
        tables.lineorder.filter(lines)
        .join(tables.date.filter(days), on=BY_DATE, how="semi")
        .agg(revenue=xd.sum(col("lo_extendedprice") * col("lo_discount")))
    )


def q1_1(tables: Tables) -> Any:
    lines = col("lo_discount").between(1, 3) & (col("lo_quantity") < 25)
    return flight_1(tables, col("d_year") == 1993, lines)


def q1_2(tables: Tables) -> Any:
    lines = col("lo_discount").between(4, 6) & col("lo_quantity").between(26, 35)
    return flight_1(tables, col("d_yearmonthnum") == 199401, lines)


def q1_3(tables: Tables) -> Any:
    days = (col("d_weeknuminyear") == 6) & (col("d_year") == 1994)
    lines = col("lo_discount").between(5, 7) & col("lo_quantity").between(26, 35)
    return flight_1(tables, days, lines)


def flight_2(tables: Tables, parts: Any, region: str) -> Any:
    brands = tables.part.filter(parts).select("p_partkey", "p_brand1")
    suppliers = tables.supplier.filter(col("s_region") == region)
    return (
        tables.lineorder.join(brands, on=BY_PART)
        .join(suppliers, on=BY_SUPPLIER, how="semi")
        .join(tables.date.select("d_datekey", "d_year"), on=BY_DATE)
        .group_by("d_year", "p_brand1")
        .agg(lo_revenue=xd.sum("lo_revenue"))
        .select("lo_revenue", "d_year", "p_brand1")
        .sort("d_year", "p_brand1")
    )


def q2_1(tables: Tables) -> Any:
    return flight_2(tables, col("p_category") == "MFGR#12", "AMERICA")


def q2_2(tables: Tables) -> Any:
    return flight_2(tables, col("p_brand1").between("MFGR#2221", "MFGR#2228"), "ASIA")


def q2_3(tables: Tables) -> Any:
    return flight_2(tables, col("p_brand1") == "MFGR#2221", "EUROPE")


def flight_3(tables: Tables, places: tuple[Any, Any], days: Any, level: str) -> Any:
    """`places` are the conditions on customers and on suppliers; `level` is nation or city."""
    of_customer, of_supplier = f"c_{level}", f"s_{level}"
    customers = tables.customer.filter(places[0]).select("c_custkey", of_customer)
    suppliers = tables.supplier.filter(places[1]).select("s_suppkey", of_supplier)
    dates = tables.date.filter(days).select("d_datekey", "d_year")
    return (
        tables.lineorder.join(suppliers, on=BY_SUPPLIER)
        .join(customers, on=BY_CUSTOMER)
        .join(dates, on=BY_DATE)
        .group_by(of_customer, of_supplier, "d_year")
        .agg(revenue=xd.sum("lo_revenue"))
        .sort("d_year", xd.desc("revenue"))
    )


def six_years() -> Any:
    return (col("d_year") >= 1992) & (col("d_year") <= 1997)


def q3_1(tables: Tables) -> Any:
    places = (col("c_region") == "ASIA", col("s_region") == "ASIA")
    return flight_3(tables, places, six_years(), "nation")


def q3_2(tables: Tables) -> Any:
    places = (col("c_nation") == "UNITED STATES", col("s_nation") == "UNITED STATES")
    return flight_3(tables, places, six_years(), "city")


def q3_3(tables: Tables) -> Any:
    places = (col("c_city").is_in(KI_CITIES), col("s_city").is_in(KI_CITIES))
    return flight_3(tables, places, six_years(), "city")


def q3_4(tables: Tables) -> Any:
    places = (col("c_city").is_in(KI_CITIES), col("s_city").is_in(KI_CITIES))
    return flight_3(tables, places, col("d_yearmonth") == "Dec1997", "city")


def two_makers() -> Any:
    return col("p_mfgr").is_in(["MFGR#1", "MFGR#2"])


def two_years() -> Any:
    return col("d_year").is_in([1997, 1998])


def profits(lines: Any, *keys: str) -> Any:
    """The end of every query of flight 4."""
    profit = xd.sum(col("lo_revenue") - col("lo_supplycost"))
    return lines.group_by(*keys).agg(profit=profit).sort(*keys)


def q4_1(tables: Tables) -> Any:
    customers = tables.customer.filter(col("c_region") == "AMERICA")
    suppliers = tables.supplier.filter(col("s_region") == "AMERICA")
    lines = (
        tables.lineorder.join(suppliers, on=BY_SUPPLIER, how="semi")
        .join(customers.select("c_custkey", "c_nation"), on=BY_CUSTOMER)
        .join(tables.part.filter(two_makers()), on=BY_PART, how="semi")
        .join(tables.date.select("d_datekey", "d_year"), on=BY_DATE)
    )
    return profits(lines, "d_year", "c_nation")


def q4_2(tables: Tables) -> Any:
    customers = tables.customer.filter(col("c_region") == "AMERICA")
    suppliers = tables.supplier.filter(col("s_region") == "AMERICA")
    parts = tables.part.filter(two_makers())
    dates = tables.date.filter(two_years())
    lines = (
        tables.lineorder.join(customers, on=BY_CUSTOMER, how="semi")
        .join(suppliers.select("s_suppkey", "s_nation"), on=BY_SUPPLIER)
        .join(dates.select("d_datekey", "d_year"), on=BY_DATE)
        .join(parts.select("p_partkey", "p_category"), on=BY_PART)
    )
    return profits(lines, "d_year", "s_nation", "p_category")


def q4_3(tables: Tables) -> Any:
    customers = tables.customer.filter(col("c_region") == "AMERICA")
    suppliers = tables.supplier.filter(col("s_nation") == "UNITED STATES")
    parts = tables.part.filter(col("p_category") == "MFGR#14")
    dates = tables.date.filter(two_years())
    lines = (
        tables.lineorder.join(suppliers.select("s_suppkey", "s_city"), on=BY_SUPPLIER)
        .join(parts.select("p_partkey", "p_brand1"), on=BY_PART)
        .join(customers, on=BY_CUSTOMER, how="semi")
        .join(dates.select("d_datekey", "d_year"), on=BY_DATE)
    )
    return profits(lines, "d_year", "s_city", "p_brand1")
