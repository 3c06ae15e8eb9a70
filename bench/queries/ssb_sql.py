"""The SQL of the Star Schema Benchmark: thirteen queries in four flights."""

from __future__ import annotations

BY_DATE = "lo_orderdate = d_datekey"
BY_ALL = f"lo_custkey = c_custkey AND lo_suppkey = s_suppkey AND {BY_DATE}"
KI_CITIES = """(c_city = 'UNITED KI1' OR c_city = 'UNITED KI5')
  AND (s_city = 'UNITED KI1' OR s_city = 'UNITED KI5')"""


def flight_1(condition: str) -> str:
    return f"""
SELECT sum(lo_extendedprice * lo_discount) AS revenue FROM lineorder, date
WHERE {BY_DATE} AND {condition}"""


def flight_2(condition: str) -> str:
    return f"""
SELECT sum(lo_revenue) AS lo_revenue, d_year, p_brand1 FROM lineorder, date, part, supplier
WHERE {BY_DATE} AND lo_partkey = p_partkey AND lo_suppkey = s_suppkey AND {condition}
GROUP BY d_year, p_brand1 ORDER BY d_year, p_brand1"""


def flight_3(place: str, condition: str) -> str:
    return f"""
SELECT c_{place}, s_{place}, d_year, sum(lo_revenue) AS revenue
FROM customer, lineorder, supplier, date WHERE {BY_ALL} AND {condition}
GROUP BY c_{place}, s_{place}, d_year ORDER BY d_year ASC, revenue DESC"""


def flight_4(keys: str, condition: str) -> str:
    return f"""
SELECT {keys}, sum(lo_revenue - lo_supplycost) AS profit
FROM date, customer, supplier, part, lineorder
WHERE {BY_ALL} AND lo_partkey = p_partkey AND {condition}
GROUP BY {keys} ORDER BY {keys}"""


SQL = {
    "Q1.1": flight_1("d_year = 1993 AND lo_discount BETWEEN 1 AND 3 AND lo_quantity < 25"),
    "Q1.2": flight_1(
        "d_yearmonthnum = 199401 AND lo_discount BETWEEN 4 AND 6 AND lo_quantity BETWEEN 26 AND 35"
    ),
    "Q1.3": flight_1(
        "d_weeknuminyear = 6 AND d_year = 1994 AND lo_discount BETWEEN 5 AND 7 "
        "AND lo_quantity BETWEEN 26 AND 35"
    ),
    "Q2.1": flight_2("p_category = 'MFGR#12' AND s_region = 'AMERICA'"),
    "Q2.2": flight_2("p_brand1 BETWEEN 'MFGR#2221' AND 'MFGR#2228' AND s_region = 'ASIA'"),
    "Q2.3": flight_2("p_brand1 = 'MFGR#2221' AND s_region = 'EUROPE'"),
    "Q3.1": flight_3(
        "nation",
        "c_region = 'ASIA' AND s_region = 'ASIA' AND d_year >= 1992 AND d_year <= 1997",
    ),
    "Q3.2": flight_3(
        "city",
        "c_nation = 'UNITED STATES' AND s_nation = 'UNITED STATES' "
        "AND d_year >= 1992 AND d_year <= 1997",
    ),
    "Q3.3": flight_3("city", f"{KI_CITIES} AND d_year >= 1992 AND d_year <= 1997"),
    "Q3.4": flight_3("city", f"{KI_CITIES} AND d_yearmonth = 'Dec1997'"),
    "Q4.1": flight_4(
        "d_year, c_nation",
        "c_region = 'AMERICA' AND s_region = 'AMERICA' "
        "AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')",
    ),
    "Q4.2": flight_4(
        "d_year, s_nation, p_category",
        "c_region = 'AMERICA' AND s_region = 'AMERICA' AND (d_year = 1997 OR d_year = 1998) "
        "AND (p_mfgr = 'MFGR#1' OR p_mfgr = 'MFGR#2')",
    ),
    "Q4.3": flight_4(
        "d_year, s_city, p_brand1",
        "c_region = 'AMERICA' AND s_nation = 'UNITED STATES' AND (d_year = 1997 OR d_year = 1998) "
        "AND p_category = 'MFGR#14'",
    ),
}

# The columns of each ORDER BY; flight 1 has one row.
ORDERS = {
    **{name: ("d_year", "p_brand1") for name in SQL if name.startswith("Q2")},
    **{name: ("d_year", "revenue") for name in SQL if name.startswith("Q3")},
    "Q4.1": ("d_year", "c_nation"),
    "Q4.2": ("d_year", "s_nation", "p_category"),
    "Q4.3": ("d_year", "s_city", "p_brand1"),
}


def sql_of(name: str, scale: float) -> str:
    """The same text at every scale factor."""
    del scale
    return SQL[name].strip()
