"""Group-by rows: sums by one key, and the aggregation of TPC-H Q1."""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
from harness import results
from harness.work import Run, Work


def without_views(table: pa.Table) -> pa.Table:
    """Strings as utf8: pyarrow's own group-by and sort do not take views everywhere."""
    fields = [
        pa.field(field.name, pa.string() if field.type == pa.string_view() else field.type)
        for field in table.schema
    ]
    return table.cast(pa.schema(fields))


@dataclass(frozen=True, slots=True, kw_only=True)
class GroupWork(Work):
    """sum(value) by key, as a table of both."""

    key: str = "k"
    value: str = "v"

    def sql(self, sides: Mapping[str, str]) -> str:
        items = f"{self.key}, sum({self.value}) AS total"
        return f"SELECT {items} FROM {sides['t']} GROUP BY {self.key}"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        import polars as pl

        return frames["t"].group_by(self.key).agg(total=pl.col(self.value).sum())

    def arrow(self, tables: Mapping[str, pa.Table]) -> Run:
        table = tables["t"]
        return lambda: table.group_by(self.key).aggregate([(self.value, "sum")])

    def ours(self, relations: Mapping[str, Any]) -> Any:
        import crossdock as xd

        return relations["t"].group_by(self.key).agg(total=xd.sum(self.value))

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        return results.of_rows(result)


Q1_KEYS = ["l_returnflag", "l_linestatus"]
Q1_COLUMNS = [*Q1_KEYS, "l_quantity", "l_extendedprice", "l_discount", "l_tax", "l_shipdate"]
Q1_LAST_DAY = datetime.date(1998, 9, 2)
Q1_SQL = """
SELECT l_returnflag, l_linestatus, sum(l_quantity) AS sum_qty, sum(l_extendedprice) AS sum_base,
  sum(l_extendedprice * (1 - l_discount)) AS sum_disc,
  sum(l_extendedprice * (1 - l_discount) * (1 + l_tax)) AS sum_charge,
  avg(l_quantity) AS avg_qty, avg(l_extendedprice) AS avg_price, avg(l_discount) AS avg_disc,
  count(*) AS n
FROM {table} WHERE l_shipdate <= DATE '{day}' GROUP BY l_returnflag, l_linestatus"""


def with_means(sums: pa.Table) -> pa.Table:
    """Means out of sums, since pyarrow's own means of decimals are rounded to their scale."""
    rows, means = sums["count_all"], []
    for column in ("l_quantity", "l_extendedprice", "l_discount"):
        total = sums[f"{column}_sum"].cast(pa.float64())
        means.append(pc.divide(total, rows.cast(pa.float64())))
    kept = [*Q1_KEYS, "l_quantity_sum", "l_extendedprice_sum", "discounted_sum", "charge_sum"]
    columns = [*(sums[name] for name in kept), *means, rows]
    return pa.table(columns, names=[*kept, "avg_qty", "avg_price", "avg_disc", "n"])


@dataclass(frozen=True, slots=True, kw_only=True)
class PricingSummary(Work):
    """TPC-H Q1 without its ORDER BY: a filter, two computed columns, eight aggregates, four groups.

    Decimals as the table has them. Polars rounds products of decimals to the scale of the
    operands, which changes its sums behind the seventh digit.
    """

    def sql(self, sides: Mapping[str, str]) -> str:
        return Q1_SQL.format(table=sides["t"], day=Q1_LAST_DAY)

    def polars(self, frames: Mapping[str, Any]) -> Any:
        import polars as pl

        discounted = pl.col("l_extendedprice") * (1 - pl.col("l_discount"))
        return (
            frames["t"]
            .filter(pl.col("l_shipdate") <= Q1_LAST_DAY)
            .group_by(Q1_KEYS)
            .agg(
                sum_qty=pl.col("l_quantity").sum(),
                sum_base=pl.col("l_extendedprice").sum(),
                sum_disc=discounted.sum(),
                sum_charge=(discounted * (1 + pl.col("l_tax"))).sum(),
                avg_qty=pl.col("l_quantity").mean(),
                avg_price=pl.col("l_extendedprice").mean(),
                avg_disc=pl.col("l_discount").mean(),
                n=pl.len(),
            )
        )

    def arrow(self, tables: Mapping[str, pa.Table]) -> Run:
        table = without_views(tables["t"])
        one, narrow = pa.scalar(decimal.Decimal(1)), pa.decimal128(3, 2)
        sums = ["l_quantity", "l_extendedprice", "discounted", "charge", "l_discount"]
        aggregates = [(column, "sum") for column in sums] + [([], "count_all")]

        def run() -> pa.Table:
            kept = table.filter(pc.field("l_shipdate") <= pa.scalar(Q1_LAST_DAY))
            # Narrowed by hand: pyarrow's products would pass 38 digits of precision.
            share = pc.subtract(one, kept["l_discount"]).cast(narrow)
            discounted = pc.multiply(kept["l_extendedprice"], share)
            charge = pc.multiply(discounted, pc.add(one, kept["l_tax"]).cast(narrow))
            wide = kept.append_column("discounted", discounted).append_column("charge", charge)
            return with_means(wide.group_by(Q1_KEYS).aggregate(aggregates))

        return run

    def ours(self, relations: Mapping[str, Any]) -> Any:
        import crossdock as xd

        discounted = xd.col("l_extendedprice") * (1 - xd.col("l_discount"))
        kept = relations["t"].filter(xd.col("l_shipdate") <= Q1_LAST_DAY)
        return kept.group_by(*Q1_KEYS).agg(
            sum_qty=xd.sum("l_quantity"),
            sum_base=xd.sum("l_extendedprice"),
            sum_disc=xd.sum(discounted),
            sum_charge=xd.sum(discounted * (1 + xd.col("l_tax"))),
            avg_qty=xd.mean("l_quantity"),
            avg_price=xd.mean("l_extendedprice"),
            avg_disc=xd.mean("l_discount"),
            n=xd.count(),
        )

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        return results.of_groups(result, Q1_KEYS)
