"""The works on lineitem, as each engine says them, and how much faster ours must be."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

Rows = Any  # a relation, or a lazy frame, over lineitem


@dataclass(frozen=True, slots=True)
class ScanWork:
    """`sql` reads a view named lineitem. `bar`: least ratio of the faster peer to ours; 0: none.
    `most_s`: most seconds that ours may take; 0: any. `kind`: of the file, parquet or csv."""

    name: str
    ours: Callable[[Rows], Any]
    sql: str
    polars: Callable[[Rows], Any]
    bar: float = 1.0
    any_rows: bool = False  # engines may give different rows, as many of them
    most_s: float = 0.0
    kind: str = "parquet"


DAY = datetime.date(1995, 1, 1)
ORDER = 3_000_000
Q1 = ("l_quantity", "l_extendedprice", "l_discount", "l_tax")
Q6 = ("l_quantity", "l_extendedprice", "l_discount")


def sums(columns: tuple[str, ...], name: str) -> ScanWork:
    import crossdock as xd

    def polars(frame: Rows) -> Any:
        import polars as pl

        return frame.select(pl.col(column).sum() for column in columns)

    return ScanWork(
        name,
        lambda r: r.agg(**{column: xd.sum(column) for column in columns}),
        f"SELECT {', '.join(f'sum({c}) AS {c}' for c in columns)} FROM lineitem",
        polars,
        bar=1.6,
    )


def csv_groups() -> ScanWork:
    import crossdock as xd
    import polars as pl

    return ScanWork(
        "groups of a CSV file",
        lambda r: r.group_by("l_returnflag", "l_linestatus").agg(
            n=xd.count(), q=xd.sum("l_quantity"), p=xd.sum("l_partkey")
        ),
        "SELECT l_returnflag, l_linestatus, count(*) AS n, sum(l_quantity) AS q, "
        "sum(l_partkey) AS p FROM lineitem_csv GROUP BY ALL",
        lambda f: f.group_by("l_returnflag", "l_linestatus").agg(
            n=pl.len(), q=pl.col("l_quantity").sum(), p=pl.col("l_partkey").sum()
        ),
        kind="csv",
    )


def by_month() -> ScanWork:
    import crossdock as xd
    import polars as pl

    return ScanWork(
        "lines by year and month",
        lambda r: r.group_by(y=xd.col("l_shipdate").year(), m=xd.col("l_shipdate").month()).agg(
            n=xd.count(), s=xd.sum("l_quantity")
        ),
        "SELECT year(l_shipdate) AS y, month(l_shipdate) AS m, count(*) AS n, "
        "sum(l_quantity) AS s FROM lineitem GROUP BY ALL",
        lambda f: f.group_by(
            y=pl.col("l_shipdate").dt.year(), m=pl.col("l_shipdate").dt.month()
        ).agg(n=pl.len(), s=pl.col("l_quantity").sum()),
    )


def works() -> list[ScanWork]:
    import crossdock as xd
    import polars as pl

    col = xd.col
    return [
        ScanWork(
            "first 10 rows",
            lambda r: r.limit(10),
            "SELECT * FROM lineitem LIMIT 10",
            lambda f: f.head(10),
            bar=0,
            any_rows=True,
            most_s=0.015,
        ),
        ScanWork(
            "10 rows behind a filter",
            lambda r: r.filter(col("l_quantity") == 7).limit(10),
            "SELECT * FROM lineitem WHERE l_quantity = 7 LIMIT 10",
            lambda f: f.filter(pl.col("l_quantity") == 7).head(10),
            any_rows=True,
        ),
        ScanWork(
            "top 10 by price",
            lambda r: r.top_k(10, "l_extendedprice", "l_orderkey"),
            "SELECT * FROM lineitem ORDER BY l_extendedprice DESC, l_orderkey DESC LIMIT 10",
            lambda f: f.sort("l_extendedprice", "l_orderkey", descending=True).head(10),
            bar=1.3,
        ),
        ScanWork(
            "rows of an order",
            lambda r: r.filter(col("l_orderkey") == ORDER),
            f"SELECT * FROM lineitem WHERE l_orderkey = {ORDER}",
            lambda f: f.filter(pl.col("l_orderkey") == ORDER),
        ),
        ScanWork(
            "search in comments",
            lambda r: r.filter(col("l_comment").contains("special")).agg(n=xd.count()),
            "SELECT count(*) AS n FROM lineitem WHERE contains(l_comment, 'special')",
            lambda f: f.filter(pl.col("l_comment").str.contains("special", literal=True)).select(
                n=pl.len()
            ),
        ),
        ScanWork(
            "count before a day",
            lambda r: r.filter(col("l_shipdate") < DAY).agg(n=xd.count()),
            f"SELECT count(*) AS n FROM lineitem WHERE l_shipdate < DATE '{DAY}'",
            lambda f: f.filter(pl.col("l_shipdate") < DAY).select(n=pl.len()),
        ),
        by_month(),
        csv_groups(),
        sums(Q1, "sums of the columns of Q1"),
        sums(Q6, "sums of the columns of Q6"),
        ScanWork(
            "all rows of a filter",
            lambda r: r.filter(col("l_quantity") < 3),
            "SELECT * FROM lineitem WHERE l_quantity < 3",
            lambda f: f.filter(pl.col("l_quantity") < 3),
        ),
        ScanWork(
            "all rows", lambda r: r, "SELECT * FROM lineitem", lambda f: f, bar=0, any_rows=True
        ),
    ]


def same_rows(work: ScanWork, expected: pa.Table, actual: pa.Table) -> bool:
    """Rows in any order; of works that allow any rows, their number alone."""
    if expected.num_rows != actual.num_rows:
        return False
    if work.any_rows:
        return True
    names = expected.column_names
    return rows_of(expected, names) == rows_of(actual, names)


def rows_of(table: pa.Table, names: list[str]) -> list[tuple[str, ...]]:
    columns = [[plain(value) for value in table.column(name).to_pylist()] for name in names]
    return sorted(zip(*columns, strict=True))


def plain(value: Any) -> str:
    """Integers and decimals of any scale alike."""
    text = str(value)
    is_number = text.replace(".", "", 1).removeprefix("-").isdigit()
    return text.rstrip("0").rstrip(".") if is_number and "." in text else text
