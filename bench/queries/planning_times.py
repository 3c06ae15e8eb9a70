"""How long queries take to plan, without running them.

Ours is described (relations, whose schemas and types are derived then), and explained with
`explain(read=False)`, which pushes columns and filters down and reads no rows. DuckDB parses,
optimizes and prints the plan of EXPLAIN; Polars describes the frames and optimizes them.
"""

from __future__ import annotations

import gc
import statistics
import time
from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

from harness.engines import OURS, duckdb_connection, limit_threads
from harness.report import Row, best_peer, seconds

from queries.query import Query
from queries.rounds import Part
from queries.sources import Sources, files_of, tables_of

Steps = dict[str, Callable[[], Any]]
DESCRIBED, EXPLAINED = "described", "explained"
COLUMNS = (("query", 6), (DESCRIBED, 10), (EXPLAINED, 10), ("both", 10), ("best peer", 0))


def timed_s(step: Callable[[], Any]) -> float:
    start_s = time.perf_counter()
    step()
    return time.perf_counter() - start_s


def our_steps(sources: Sources, query: Query, tables: dict[str, Any]) -> Steps:
    described = query.relation(tables_of(tables, sources.scale))
    return {
        DESCRIBED: lambda: query.relation(tables_of(tables, sources.scale)),
        EXPLAINED: lambda: described.explain(read=False),
    }


def duckdb_steps(sources: Sources, query: Query, connection: Any) -> Steps:
    text = f"EXPLAIN {query.limited_sql(sources.scale)}"
    return {"duckdb": lambda: connection.execute(text).fetchall()}


def polars_steps(sources: Sources, query: Query, frames: dict[str, Any]) -> Steps:
    frame = query.frame
    if frame is None:
        return {}
    return {"polars": lambda: frame(tables_of(frames, sources.scale)).explain()}


def planned(part: Part, queries: list[Query]) -> list[Row]:
    """Over files that are open, so footers are read before; statistics of files are those of the
    scale factor."""
    limit_threads(part.threads)
    import crossdock as xd
    import polars as pl

    sources = files_of(part.suite, part.scale)
    with ExitStack() as stack:
        dock = stack.enter_context(xd.connect(threads=part.threads))
        tables = {name: dock.read_parquet(str(file)) for name, file in sources.by_name.items()}
        connection = duckdb_connection(part.threads, stack)
        for name, file in sources.by_name.items():
            connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{file}')")
        frames = {name: pl.scan_parquet(file) for name, file in sources.by_name.items()}
        steps = {
            query.name: our_steps(sources, query, tables)
            | duckdb_steps(sources, query, connection)
            | polars_steps(sources, query, frames)
            for query in queries
        }
        return [row_of(part, name, rounds_of(one, part.rounds)) for name, one in steps.items()]


def rounds_of(steps: Steps, rounds: int) -> dict[str, list[float]]:
    for step in steps.values():
        step()
    gc.collect()
    samples: dict[str, list[float]] = {name: [] for name in steps}
    for _ in range(rounds):
        for name, step in steps.items():
            samples[name].append(timed_s(step))
    return samples


def row_of(part: Part, name: str, samples: dict[str, list[float]]) -> Row:
    medians = {step: statistics.median(times) for step, times in samples.items()}
    steps = {step: medians.pop(step) for step in (DESCRIBED, EXPLAINED)}
    ours_s, best = sum(steps.values()), best_peer(medians, list(medians))
    return {
        "work": f"{part.title}, planning of query {name}",
        "name": f"{part.suite}-{name}-planning", "query": name, "suite": part.suite,
        "scale": part.scale, "mode": "planning", "unit": "s", "bar": "", "met": None,
        "ours_s": ours_s, "steps_s": steps, "peers": medians, "counted": list(medians),
        "memcpy_fraction": None, "ratio": best[1] / ours_s if best else None,
        "repeats": part.rounds, "samples_s": samples,
    }  # fmt: skip


def print_planned(title: str, rows: list[Row]) -> None:
    print(f"# {title}, planning alone ({OURS}: {DESCRIBED} as relations, then {EXPLAINED})")
    print("# " + "  ".join(f"{name:<{width}}" for name, width in COLUMNS))
    for row in rows:
        best = best_peer(row["peers"], row["counted"])
        cells = [
            row["query"],
            seconds(row["steps_s"][DESCRIBED]),
            seconds(row["steps_s"][EXPLAINED]),
            seconds(row["ours_s"]),
            f"{best[0]} {seconds(best[1])}" if best else "-",
        ]
        print("  " + "  ".join(f"{c:<{w}}" for c, (_, w) in zip(cells, COLUMNS, strict=True)))
    total_s = sum(row["ours_s"] for row in rows)
    print(f"# all of them: {seconds(total_s)}", flush=True)
