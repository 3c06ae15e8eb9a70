"""Joins by comparisons of values: intervals with what lies in them, or with others."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from harness import results
from harness.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class RangeWork(Work):
    """Pairs of rows of `l` and `r` with equal keys, if there are any, for which a condition holds,
    counted, and row numbers of `r` summed; column names of the two differ."""

    keys: Mapping[str, str] | None = None
    condition: str  # as SQL
    in_polars: Callable[[], list[Any]]

    def sql(self, sides: Mapping[str, str]) -> str:
        keys = [f"{left} = {right}" for left, right in (self.keys or {}).items()]
        condition = " AND ".join([*keys, self.condition])
        joined = f"{sides['l']} l JOIN {sides['r']} r ON {condition}"
        return f"SELECT count(*) AS n, sum(row) AS s FROM {joined}"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        import polars as pl

        pairs = frames["l"].join_where(frames["r"], *self.in_polars())
        return pairs.select(n=pl.len(), s=pl.col("row").sum())

    def ours(self, relations: Mapping[str, Any]) -> Any:
        import crossdock as xd

        pairs = relations["l"].join(relations["r"], on=self.keys, residual=self.condition)
        return pairs.agg(n=xd.count(), s=xd.sum("row"))

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        return results.of_scalars(result)
