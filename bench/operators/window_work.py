"""Window functions: one column computed over partitions in order, beside the keys."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from harness import results
from harness.work import Run, Work


@dataclass(frozen=True, slots=True, kw_only=True)
class WindowWork(Work):
    """`k`, `t` and the function's value, in any order of rows."""

    sql_function: str
    expression: Callable[[], Any]  # ours
    in_polars: Callable[[], Any]

    def sql(self, sides: Mapping[str, str]) -> str:
        return f"SELECT k, t, {self.sql_function} AS w FROM {sides['t']}"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        return frames["t"].select("k", "t", w=self.in_polars())

    def arrow(self, tables: Mapping[str, pa.Table]) -> Run | None:
        return None

    def numpy(self, tables: Mapping[str, pa.Table]) -> Run | None:
        return None

    def ours(self, relations: Mapping[str, Any]) -> Any:
        return relations["t"].select("k", "t", w=self.expression())

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        return results.of_rows(result)
