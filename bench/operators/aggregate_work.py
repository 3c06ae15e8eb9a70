"""Aggregates of groups that keep more than a sum: one function by one key, beside DuckDB."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from harness import results
from harness.work import Work


@dataclass(frozen=True, slots=True, kw_only=True)
class AggregateWork(Work):
    """`k` and the value of a function, as both engines write it in SQL."""

    function: str

    def sql(self, sides: Mapping[str, str]) -> str:
        return f"SELECT k, {self.function} AS a FROM {sides['t']} GROUP BY k"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        return frames["t"].sql(self.sql({"t": "self"}))

    def ours(self, relations: Mapping[str, Any]) -> Any:
        return relations["t"].group_by("k").agg(a=self.function)

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        return results.of_groups(result, ["k"])
