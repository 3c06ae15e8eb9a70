"""The rows of the join bench: what is joined, in which form, and the bar each row must clear.

Adding a row is adding an entry to `WORKLOADS`; nothing else in the bench names a single row.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Literal

import inputs

Shape = Literal["aggregate", "collect", "count"]
Kind = Literal["compare", "latency", "scaling", "memory"]
Column = tuple[Literal["left", "right"], str]


@dataclass(frozen=True, slots=True)
class Bar:
    """What a row must reach. A row is met when every given part holds."""

    ratio: float | None = None  # fastest counted peer / ours (memory: least peer / ours)
    strictly: bool = False  # the ratio must be exceeded, not only reached
    memcpy_fraction: float | None = None  # of the memcpy rate of 16-byte tuples, same threads
    at_most_s: float | None = None  # a time of our own, whatever the peers need

    def text(self) -> str:
        parts = []
        if self.ratio is not None:
            parts.append(f"{'>' if self.strictly else '>='} {self.ratio:g}x")
        if self.memcpy_fraction is not None:
            parts.append(f">= {self.memcpy_fraction:.0%} memcpy")
        if self.at_most_s is not None:
            parts.append(f"< {self.at_most_s * 1e3:g} ms")
        return ", ".join(parts)


@dataclass(frozen=True, slots=True)
class Workload:
    """One row. `name` is for the command line, `title` for the table."""

    name: str
    title: str
    make: Callable[[float], inputs.Inputs]
    shape: Shape
    bar: Bar
    on: tuple[tuple[str, str], ...] = (("k", "k"),)
    output: tuple[Column, ...] = (("left", "k"), ("left", "lv"), ("right", "rv"))
    sums: tuple[str, str] = ("lv", "rv")
    kind: Kind = "compare"
    datafusion_counts: bool = False  # the bar is taken over DataFusion too

    def sql(self, left: str, right: str) -> str:
        """The join as SQL over two table expressions; DuckDB and DataFusion read the same text."""
        sides = {"left": "l", "right": "r"}
        if self.shape == "collect":
            items = ", ".join(f"{sides[side]}.{column}" for side, column in self.output)
        elif self.shape == "count":
            items = "count(*) AS n"
        else:
            items = f"count(*) AS n, sum(l.{self.sums[0]}) AS a, sum(r.{self.sums[1]}) AS b"
        on = " AND ".join(f"l.{a} = r.{b}" for a, b in self.on)
        return f"SELECT {items} FROM {left} l JOIN {right} r ON {on}"


def hit_rows() -> tuple[Workload, ...]:
    """5 M x 20 M at three hit rates and in three shapes."""
    words: dict[Shape, str] = {
        "count": "count", "aggregate": "count + sums", "collect": "materialised"
    }  # fmt: skip
    return tuple(
        Workload(
            name=f"hits-{share}-{shape}",
            title=f"5M x 20M, {share}% hits, {words[shape]}",
            make=partial(inputs.foreign_key, hit_share=share / 100),
            shape=shape,
            bar=Bar(ratio=3.0),
        )
        for share in (100, 50, 10)
        for shape in words
    )


ORDER_KEY = (("l_orderkey", "o_orderkey"),)
THREE_COLUMNS: tuple[Column, ...] = (
    ("left", "l_orderkey"), ("left", "l_linenumber"), ("right", "o_orderpriority")
)  # fmt: skip
TWO_COLUMNS = (("k1", "k1"), ("k2", "k2"))
NOT_SLOWER = Bar(ratio=1.0)

WORKLOADS: tuple[Workload, ...] = (
    Workload("sparse", "20M x 20M sparse unique, count + sums", inputs.sparse_unique,
             "aggregate", Bar(ratio=5.0, memcpy_fraction=0.10)),
    Workload("sparse-scaling", "same, 1 thread against all", inputs.sparse_unique,
             "aggregate", Bar(ratio=1.8), kind="scaling"),
    Workload("dense", "20M x 20M dense unique, count + sums", inputs.dense_unique,
             "aggregate", Bar(ratio=2.5), datafusion_counts=True),
    Workload("sparse-collect", "20M x 20M sparse unique, materialised", inputs.sparse_unique,
             "collect", Bar(ratio=3.0)),
    Workload("dense-collect", "20M x 20M dense unique, materialised", inputs.dense_unique,
             "collect", Bar(ratio=3.0)),
    *hit_rows(),
    Workload("tpch-memory", "TPC-H SF5 lineitem x orders, in memory", inputs.tpch_memory,
             "collect", Bar(ratio=3.0), on=ORDER_KEY, output=THREE_COLUMNS),
    Workload("tpch-parquet", "TPC-H SF5 lineitem x orders, Parquet", inputs.tpch_files,
             "collect", Bar(ratio=1.0, strictly=True), on=ORDER_KEY, output=THREE_COLUMNS),
    Workload("two-column", "5M x 20M on (int32, utf8), count + sums", inputs.two_column_key,
             "aggregate", Bar(ratio=2.0), on=TWO_COLUMNS),
    Workload("zipf", "5M x 20M, Zipf 1.0 probe keys, count + sums", inputs.zipf_probe,
             "aggregate", NOT_SLOWER),
    Workload("equal", "5M x 20M, all-equal probe key, count + sums", inputs.equal_probe,
             "aggregate", NOT_SLOWER),
    Workload("duplicates", "5M (100 per key) x 1M, count + sums", inputs.duplicate_build,
             "aggregate", NOT_SLOWER),
    Workload("small", "1k x 10k, whole call from Python", inputs.small_tables,
             "collect", Bar(at_most_s=1e-3), kind="latency"),
    Workload("memory", "peak memory, 20M x 20M materialised", inputs.sparse_unique,
             "collect", Bar(ratio=1.0), kind="memory"),
)  # fmt: skip


def chosen(patterns: list[str]) -> list[Workload]:
    """The rows whose name equals or matches one of the shell patterns; all when there is none."""
    import difflib
    from fnmatch import fnmatch

    names = [work.name for work in WORKLOADS]
    for pattern in patterns:
        if not any(fnmatch(name, pattern) for name in names):
            near = difflib.get_close_matches(pattern, names, 1) or names
            raise SystemExit(f"bench: no row named {pattern!r}; did you mean {', '.join(near)}?")
    return [w for w in WORKLOADS if not patterns or any(fnmatch(w.name, p) for p in patterns)]
