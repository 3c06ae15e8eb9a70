"""The rows of the bench of ranks. Adding one is adding an entry to `WORKS`."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class RankWork:
    """A join of made rows over `ranks` ranks of one machine."""

    name: str
    title: str
    rows_per_rank: int  # of the inner side
    ranks: int = 2
    ratio: float = 1.0
    sparse: bool = False
    zipf: float = 0.0
    strategy: str = "auto"
    form: str = "count"  # "sums", of both sides' row numbers; "rows", which stay in the ranks
    source: str = "made"  # or "tpch": lineitem and orders of scale factor 5
    # Peers by name, and how many times as fast as each ours must be. "embedded": one process with
    # as many threads on the same rows; "memcpy": the rate of copying 16-byte tuples; for TPC-H
    # also engines, as bench/harness/engines.py names them, with as many threads.
    bars: dict[str, float] = field(default_factory=dict)
    most_busy: float | None = None  # rows of the busiest rank by the mean

    def asked(self, repeats: int, scale: float) -> dict[str, object]:
        """The arguments of rank_work.py."""
        return {
            "rows_per_rank": max(round(self.rows_per_rank * scale), 1000),
            "shares": self.ranks,
            "ratio": self.ratio,
            "sparse": self.sparse,
            "zipf": self.zipf,
            "strategy": self.strategy,
            "form": self.form,
            "repeats": repeats,
            "profiled": True,
            "threads": 1,
            "beside": "embedded" in self.bars,
            "source": self.source,
            "scale": scale,
            "engine": "crossdock",
        }

    def engines(self) -> list[str]:
        """Peers that are other engines."""
        return [peer for peer in self.bars if peer not in ("embedded", "memcpy")]


MILLION = 1_000_000

WORKS = (
    RankWork(
        name="dense",
        title="20M + 20M a rank, dense unique, counted",
        rows_per_rank=20 * MILLION,
        bars={"memcpy": 0.10},
    ),
    RankWork(
        name="sparse",
        title="same, sparse, sums of both payloads",
        rows_per_rank=20 * MILLION,
        sparse=True,
        form="sums",
        bars={"embedded": 0.8},
    ),
    RankWork(
        name="merge-dense",
        title="20M + 20M a rank, dense unique, sort-merge, counted",
        rows_per_rank=20 * MILLION,
        strategy="merge",
        bars={"embedded": 0.8},
    ),
    RankWork(
        name="merge",
        title="20M + 20M a rank, sparse, sort-merge, sums",
        rows_per_rank=20 * MILLION,
        sparse=True,
        strategy="merge",
        form="sums",
        bars={"embedded": 0.8},
    ),
    RankWork(
        name="sparse-4",
        title="5M + 5M a rank, 4 ranks, sparse, sums",
        rows_per_rank=5 * MILLION,
        ranks=4,
        sparse=True,
        form="sums",
        bars={"embedded": 0.8},
    ),
    RankWork(
        name="zipf-8",
        title="1M + 4M a rank, 8 ranks, Zipf 1.2 outer, sums",
        rows_per_rank=MILLION,
        ranks=8,
        ratio=4,
        sparse=True,
        zipf=1.2,
        form="sums",
        bars={},
        most_busy=1.3,
    ),
    RankWork(
        name="tpch",
        title="TPC-H SF5 lineitem x orders, all rows, 2 ranks",
        rows_per_rank=0,
        form="rows",
        source="tpch",
        bars={"embedded": 0.8, "duckdb": 1.0, "polars": 1.0},
    ),
)
