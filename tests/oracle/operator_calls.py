"""Group-bys, sorts and partitions as the tests of memory and of running use them: every strategy
over one table, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
from crossdock import _native

Make = Callable[[_native.Engine, _native.Table], Any]


def spread_table(rows: int, groups: int) -> pa.Table:
    """Keys of so many values all over, strings of them, and the row number."""
    numbers = np.arange(rows)
    keys = (numbers * 2654435761) % groups * 7919
    strings = pa.array(keys % 100_000).cast(pa.utf8())
    return pa.table({"k": keys, "v": numbers, "t": strings})


def group_by(strategy: str, function: str = "sum", column: str = "v") -> Make:
    options: dict[str, Any] = {"q": 0.5} if function == "quantile" else {}
    aggregates = [("count", "", "", "n", {}), (function, column, "", "x", options)]

    def make(engine: _native.Engine, table: _native.Table) -> Any:
        return _native.GroupBy(engine, table, keys=["k"], aggregates=aggregates, strategy=strategy)

    return make


def sort(strategy: str, keys: tuple[str, ...] = ("k",), **options: Any) -> Make:
    def make(engine: _native.Engine, table: _native.Table) -> Any:
        return _native.Sort(
            engine,
            table,
            keys=[(name, False, False) for name in keys],
            output=[(name, name) for name in ("k", "v", "t")],
            strategy=strategy,
            **options,
        )

    return make


def partition(by: str) -> Make:
    def make(engine: _native.Engine, table: _native.Table) -> Any:
        return _native.Partition(
            engine, table, keys=["k"], partitions=64, how=by, output=["k", "v", "t"]
        )

    return make


OPERATIONS: dict[str, Make] = {
    "group_by table": group_by("table"),
    "group_by radix": group_by("radix"),
    "group_by adaptive": group_by("adaptive"),
    "group_by text": group_by("auto", "max", "t"),
    "group_by count_distinct": group_by("auto", "count_distinct"),
    "group_by approx_distinct": group_by("auto", "approx_distinct"),
    "group_by quantile": group_by("auto", "quantile"),
    "group_by exact": group_by("auto", "var"),
    "sort msd": sort("msd"),
    "sort lsd": sort("lsd"),
    "sort stable": sort("auto", stable=True),
    "sort strings": sort("auto", ("t", "v")),
    "sort limit": sort("auto", limit=150_000),
    "partition hash": partition("hash"),
    "partition range": partition("range"),
}
