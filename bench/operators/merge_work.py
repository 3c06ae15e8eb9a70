"""Merge join rows: two tables joined by merging, counted."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from harness import results
from harness.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class MergeWork(Work):
    """An inner join on `k`; beside DuckDB's join, or beside our own hash join."""

    def sql(self, sides: Mapping[str, str]) -> str:
        return f"SELECT count(*) AS n FROM {sides['l']} l JOIN {sides['r']} r ON l.k = r.k"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        import polars as pl

        return frames["l"].join(frames["r"], on="k", how="inner").select(n=pl.len())

    def ours(self, relations: Mapping[str, Any]) -> Any:
        return relations["l"].join(relations["r"], on="k", strategy="merge")

    def variants(self, relations: Mapping[str, Any]) -> dict[str, Any]:
        """Both ways to hash sparse keys; the faster one is the hash join to be compared with."""
        if self.kind != "own":
            return {}
        left, right = relations["l"], relations["r"]
        return {
            strategy: left.join(right, on="k", strategy=strategy)
            for strategy in ("radix", "direct")
        }

    def run_ours(self, relation: Any) -> pa.Table:
        return pa.table({"n": [relation.count()]})

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        return results.of_scalars(result)
