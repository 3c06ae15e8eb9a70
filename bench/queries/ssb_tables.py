"""The tables of the Star Schema Benchmark, derived from those of TPC-H at the same scale factor.

Its own generator is not needed: sizes, value ranges and the selectivity of each condition follow
its paper. Customers, suppliers and parts are the first of TPC-H, keys of the fact table are brought
into their ranges by remainders, and what TPC-H lacks (cities, brands, suppliers of lines) comes of
keys by multiplication modulo a prime. Prices are whole cents. Made once per scale factor.
"""

from __future__ import annotations

import math
import sys
from contextlib import ExitStack
from pathlib import Path

from harness.engines import duckdb_connection
from harness.inputs import DATA, tpch_folder
from harness.turns import turn_at

SSB_TABLES = ("lineorder", "customer", "supplier", "part", "date")
TPCH_SOURCES = ("lineitem", "orders", "customer", "part", "supplier", "nation", "region")

# Nine letters of the nation and one digit, so that a nation has ten cities.
CITY = "rpad(n_name, 9, ' ')[1:9] || ({key} * 7919 % 104729 % 10)::VARCHAR"
PLACES = "nation JOIN region ON n_regionkey = r_regionkey"

CUSTOMER = f"""
SELECT c_custkey::INTEGER AS c_custkey, c_name, c_address[1:25] AS c_address,
  {CITY.format(key="c_custkey")} AS c_city, n_name AS c_nation, r_name AS c_region, c_phone,
  c_mktsegment
FROM customer JOIN ({PLACES}) ON c_nationkey = n_nationkey
WHERE c_custkey <= {{customers}} ORDER BY c_custkey"""

SUPPLIER = f"""
SELECT s_suppkey::INTEGER AS s_suppkey, s_name, s_address[1:25] AS s_address,
  {CITY.format(key="s_suppkey")} AS s_city, n_name AS s_nation, r_name AS s_region, s_phone
FROM supplier JOIN ({PLACES}) ON s_nationkey = n_nationkey
WHERE s_suppkey <= {{suppliers}} ORDER BY s_suppkey"""

# 5 makers with 5 categories of 40 brands each: the digits of a category are those of TPC-H's brand.
PART = """
SELECT p_partkey::INTEGER AS p_partkey, p_name, 'MFGR#' || p_mfgr[-1:] AS p_mfgr, p_category,
  p_category || (1 + p_partkey * 48271 % 2147483647 % 40)::VARCHAR AS p_brand1,
  split_part(p_name, ' ', 1) AS p_color, p_type, p_size::INTEGER AS p_size, p_container
FROM (SELECT *, 'MFGR#' || p_brand[-2:] AS p_category FROM part)
WHERE p_partkey <= {parts} ORDER BY p_partkey"""

DATE = """
SELECT strftime(day, '%Y%m%d')::INTEGER AS d_datekey, strftime(day, '%B %-d, %Y') AS d_date,
  dayname(day) AS d_dayofweek, monthname(day) AS d_month, year(day)::INTEGER AS d_year,
  (100 * year(day) + month(day))::INTEGER AS d_yearmonthnum, strftime(day, '%b%Y') AS d_yearmonth,
  (1 + dayofweek(day))::INTEGER AS d_daynuminweek, dayofmonth(day)::INTEGER AS d_daynuminmonth,
  dayofyear(day)::INTEGER AS d_daynuminyear, month(day)::INTEGER AS d_monthnuminyear,
  (1 + dayofyear(day) // 7)::INTEGER AS d_weeknuminyear
FROM (SELECT unnest(generate_series(DATE '1992-01-01', DATE '1998-12-31', INTERVAL 1 DAY))::DATE
  AS day)"""

LINEORDER = """
SELECT l_orderkey AS lo_orderkey, l_linenumber::INTEGER AS lo_linenumber,
  (1 + (o_custkey - 1) % {customers})::INTEGER AS lo_custkey,
  (1 + (l_partkey - 1) % {parts})::INTEGER AS lo_partkey,
  (1 + (l_orderkey * 7 + l_linenumber) * 48271 % 2147483647 % {suppliers})::INTEGER AS lo_suppkey,
  strftime(o_orderdate, '%Y%m%d')::INTEGER AS lo_orderdate, o_orderpriority AS lo_orderpriority,
  '0' AS lo_shippriority, l_quantity::INTEGER AS lo_quantity, price AS lo_extendedprice,
  (100 * o_totalprice)::INTEGER AS lo_ordtotalprice, discount AS lo_discount,
  (price::BIGINT * (100 - discount) // 100)::INTEGER AS lo_revenue,
  (6 * (price // l_quantity::INTEGER) // 10)::INTEGER AS lo_supplycost,
  (100 * l_tax)::INTEGER AS lo_tax, strftime(l_commitdate, '%Y%m%d')::INTEGER AS lo_commitdate,
  l_shipmode AS lo_shipmode
FROM (SELECT *, (100 * l_extendedprice)::INTEGER AS price, (100 * l_discount)::INTEGER AS discount
  FROM lineitem) JOIN orders ON l_orderkey = o_orderkey
ORDER BY lo_orderkey, lo_linenumber"""

STRINGS = {
    "lineorder": LINEORDER, "customer": CUSTOMER, "supplier": SUPPLIER, "part": PART, "date": DATE,
}  # fmt: skip


def row_counts(scale: float) -> dict[str, int]:
    """Parts grow with the logarithm of the scale factor, from 200,000 at 1."""
    parts = 200_000 * (1 + math.floor(math.log2(scale)) if scale >= 1 else scale)
    return {
        "customers": max(1, int(30_000 * scale)),
        "suppliers": max(1, int(2_000 * scale)),
        "parts": max(1, int(parts)),
    }


def ssb_folder(scale: float) -> Path:
    """Where the Parquet files of a scale factor are; made, all of them, where one is missing."""
    folder = DATA / f"ssb-sf{scale:g}"
    with turn_at(folder):
        if not all((folder / f"{table}.parquet").is_file() for table in SSB_TABLES):
            make_tables(scale, folder)
    return folder


def make_tables(scale: float, folder: Path) -> None:
    """Into a neighbour folder that is renamed: a broken run leaves nothing half done."""
    source = tpch_folder(scale, TPCH_SOURCES)
    unfinished = folder.with_name(folder.name + ".unfinished")
    unfinished.mkdir(parents=True, exist_ok=True)
    folder.mkdir(exist_ok=True)
    print(f"# making SSB SF{scale:g} in {folder}", file=sys.stderr, flush=True)
    with ExitStack() as stack:
        connection = duckdb_connection(2, stack)
        for name in TPCH_SOURCES:
            file = source / f"{name}.parquet"
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        for name, text in STRINGS.items():
            file = unfinished / f"{name}.parquet"
            query = text.format(**row_counts(scale))
            connection.execute(f"COPY ({query}) TO '{file}' (FORMAT parquet)")
    for name in SSB_TABLES:
        (unfinished / f"{name}.parquet").replace(folder / f"{name}.parquet")
    unfinished.rmdir()
