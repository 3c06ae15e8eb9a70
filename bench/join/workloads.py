"""The rows of the join bench: what is joined, in which form, and the bar each row must clear.

Adding a row is adding an entry to `WORKS`; nothing else in the bench names a single row.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any, Literal

import pyarrow as pa
from harness import results
from harness.command import Bench
from harness.inputs import Inputs
from harness.work import NOT_SLOWER, Bar, Work

from join import inputs

Shape = Literal["aggregate", "collect", "count"]
Column = tuple[Literal["l", "r"], str]


@dataclass(frozen=True, slots=True, kw_only=True)
class JoinWork(Work):
    """An inner join of the sides `l` and `r`, whose result is counted, summed or materialised."""

    shape: Shape
    on: tuple[tuple[str, str], ...] = (("k", "k"),)
    output: tuple[Column, ...] = (("l", "k"), ("l", "lv"), ("r", "rv"))
    sums: tuple[str, str] = ("lv", "rv")
    not_counted: frozenset[str] = frozenset({"datafusion"})

    def sql(self, sides: Mapping[str, str]) -> str:
        if self.shape == "collect":
            items = ", ".join(f"{side}.{column}" for side, column in self.output)
        elif self.shape == "count":
            items = "count(*) AS n"
        else:
            items = f"count(*) AS n, sum(l.{self.sums[0]}) AS a, sum(r.{self.sums[1]}) AS b"
        on = " AND ".join(f"l.{a} = r.{b}" for a, b in self.on)
        return f"SELECT {items} FROM {sides['l']} l JOIN {sides['r']} r ON {on}"

    def polars(self, frames: Mapping[str, Any]) -> Any:
        import polars as pl

        left_on, right_on = zip(*self.on, strict=True)
        joined = frames["l"].join(frames["r"], how="inner", left_on=left_on, right_on=right_on)
        if self.shape == "collect":
            return joined.select([column for _, column in self.output])
        if self.shape == "count":
            return joined.select(n=pl.len())
        return joined.select(n=pl.len(), a=pl.col(self.sums[0]).sum(), b=pl.col(self.sums[1]).sum())

    def ours(self, relations: Mapping[str, Any]) -> Any:
        import crossdock as xd

        join = relations["l"].join(relations["r"], on=list(self.on))
        if self.shape == "collect":
            return join.select(*(column for _, column in self.output))
        if self.shape == "count":
            return join
        return join.agg(n=xd.count(), a=xd.sum(self.sums[0]), b=xd.sum(self.sums[1]))

    def run_ours(self, relation: Any) -> pa.Table:
        counted = self.shape == "count"
        return pa.table({"n": [relation.count()]}) if counted else relation.collect()

    def fingerprint(self, result: pa.Table) -> results.Fingerprint:
        collected = self.shape == "collect"
        return results.of_rows(result) if collected else results.of_scalars(result)


def work(
    name: str, title: str, make: Callable[[float], Inputs], shape: Shape, bar: Bar, **more: Any
) -> JoinWork:
    has_plan = shape != "count"  # a count is run without a plan that could be profiled
    return JoinWork(
        name=name, title=title, make=make, shape=shape, bar=bar, has_plan=has_plan, **more
    )


def hit_rows() -> tuple[JoinWork, ...]:
    """5 M x 20 M at three hit rates and in three shapes."""
    words: dict[Shape, str] = {
        "count": "count", "aggregate": "count + sums", "collect": "materialised"
    }  # fmt: skip
    return tuple(
        work(
            f"hits-{share}-{shape}",
            f"5M x 20M, {share}% hits, {words[shape]}",
            partial(inputs.foreign_key, hit_share=share / 100),
            shape,
            Bar(ratio=3.0),
        )
        for share in (100, 50, 10)
        for shape in words
    )


ORDER_KEY = (("l_orderkey", "o_orderkey"),)
THREE_COLUMNS: tuple[Column, ...] = (
    ("l", "l_orderkey"), ("l", "l_linenumber"), ("r", "o_orderpriority")
)  # fmt: skip
TWO_COLUMNS = (("k1", "k1"), ("k2", "k2"))

DUCKDB = frozenset({"duckdb", "duckdb-arrow"})

WORKS: tuple[JoinWork, ...] = (
    work("sparse", "20M x 20M sparse unique, count + sums", inputs.sparse_unique,
         "aggregate", Bar(ratio=5.0, memcpy_fraction=0.10)),
    work("sparse-scaling", "same, 1 thread against all", inputs.sparse_unique,
         "aggregate", Bar(ratio=1.8), kind="own"),
    work("dense", "20M x 20M dense unique, count + sums", inputs.dense_unique,
         "aggregate", Bar(ratio=2.5), not_counted=frozenset()),
    work("sparse-collect", "20M x 20M sparse unique, materialised", inputs.sparse_unique,
         "collect", Bar(ratio=3.0)),
    work("dense-collect", "20M x 20M dense unique, materialised", inputs.dense_unique,
         "collect", Bar(ratio=3.0)),
    *hit_rows(),
    work("tpch-memory", "TPC-H SF5 lineitem x orders, in memory", inputs.tpch_memory,
         "collect", Bar(ratio=3.0), on=ORDER_KEY, output=THREE_COLUMNS),
    work("tpch-parquet", "TPC-H SF5 lineitem x orders, Parquet", inputs.tpch_files,
         "collect", Bar(ratio=1.0, strictly=True), on=ORDER_KEY, output=THREE_COLUMNS),
    work("two-column", "5M x 20M on (int32, utf8), count + sums", inputs.two_column_key,
         "aggregate", Bar(ratio=2.0), on=TWO_COLUMNS),
    work("zipf", "5M x 20M, Zipf 1.0 probe keys, count + sums", inputs.zipf_probe,
         "aggregate", NOT_SLOWER),
    work("equal", "5M x 20M, all-equal probe key, count + sums", inputs.equal_probe,
         "aggregate", NOT_SLOWER),
    work("duplicates", "5M (100 per key) x 1M, count + sums", inputs.duplicate_build,
         "aggregate", NOT_SLOWER),
    work("small", "1k x 10k, whole call from Python", inputs.small_tables,
         "collect", Bar(at_most_s=1e-3), kind="latency"),
    work("memory", "peak memory, 20M x 20M materialised", inputs.sparse_unique,
         "collect", Bar(ratio=1.0), kind="memory", only_peers=DUCKDB),
)  # fmt: skip

BENCH = Bench(
    name="join",
    purpose="Crossdock's join beside DuckDB, Polars and DataFusion: same rows, same minutes",
    works=WORKS,
    peers=("duckdb", "duckdb-arrow", "polars", "polars-in-memory", "datafusion"),
)
