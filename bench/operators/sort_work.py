"""Sort rows: a table by one or more of its columns, ascending."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from harness import results
from harness.work import Run, Work

from operators.group_work import without_views


@dataclass(frozen=True, slots=True, kw_only=True)
class SortWork(Work):
    """All columns of the table, rows in the order of `by`; no promise for rows that tie."""

    by: tuple[str, ...] = ("k",)

    def sql(self, sides: Mapping[str, str]) -> str:
        return f"SELECT * FROM {sides['t']} ORDER BY {', '.join(self.by)}"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        return frames["t"].sort(*self.by)

    def polars_series(self, frames: Mapping[str, Any]) -> Run | None:
        import polars as pl

        frame = frames["t"].collect()
        if frame.width != 1:
            return None
        column, newest = frame.to_series(), pl.CompatLevel.newest()
        return lambda: pa.table({column.name: column.sort().to_arrow(compat_level=newest)})

    def arrow(self, tables: Mapping[str, pa.Table]) -> Run:
        table = without_views(tables["t"])
        by = [(column, "ascending") for column in self.by]
        return lambda: table.sort_by(by)

    def numpy(self, tables: Mapping[str, pa.Table]) -> Run | None:
        """On one core, as numpy sorts. Only whole numbers: its object sort is no peer."""
        import numpy as np

        table = tables["t"]
        if len(self.by) > 1 or not all(pa.types.is_integer(kind) for kind in table.schema.types):
            return None
        arrays = {name: table[name].to_numpy() for name in table.column_names}
        keys = arrays[self.by[0]]
        if len(arrays) == 1:
            return lambda: pa.table({self.by[0]: np.sort(keys)})

        def run() -> pa.Table:
            order = np.argsort(keys)
            return pa.table({name: values[order] for name, values in arrays.items()})

        return run

    def ours(self, relations: Mapping[str, Any]) -> Any:
        return relations["t"].sort(*self.by)

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        """The order of the keys, and that each row still holds what belongs together."""
        order = tuple(n for column in self.by for n in results.of_sequence(result[column]))
        return order if len(result.column_names) == 1 else order + results.of_rows(result)
