"""Six queries of TPC-H over four ranks from SQL, tables in memory and their rows spread
at random, beside one process with as many threads as the ranks have cores.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

# The file is run by its path, from any folder.
sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

import crossdock as xd
import numpy as np
import pyarrow as pa
from harness.measure import ratio_in_turns
from harness.programs import output_of
from queries.catalogue import chosen
from queries.comparison import Expected
from queries.engines import EXACT
from queries.query import Query
from queries.sources import Sources, files_of, loaded

LIMIT_S = 1800.0
NAME = "queries"
TITLE = "TPC-H 3, 5, 10, 12, 14, 19 from SQL over 4 ranks, rows at random"
QUERIES = ("3", "5", "10", "12", "14", "19")
RANKS = 4
SCALE = 5.0
MOST = 1.15  # of the time of one process
SEED = 7


def query_row(scale: float, repeat: int, launch: list[str]) -> dict[str, Any]:
    """Times of both by query, in turns, and the bytes that ranks sent. Different results are an
    error. `launch`: starts a command in the ranks."""
    files_of("tpch", SCALE * scale)  # made here, not by all ranks at once
    asked = json.dumps({"scale": SCALE * scale, "repeat": repeat})
    said = output_of([*launch, sys.executable, __file__, asked], LIMIT_S)
    queries = json.loads(said.strip().splitlines()[-1])
    for one in queries:
        one["slower"] = 1 / ratio_in_turns(one["alone_s"], one["ranks_s"])
    mean = statistics.geometric_mean(one["slower"] for one in queries)
    return {
        "name": NAME,
        "work": TITLE,
        "queries": queries,
        "slower": mean,
        "most": MOST,
        "met": all(one["slower"] <= MOST for one in queries),
    }


def print_queries(row: dict[str, Any]) -> None:
    met = "yes" if row["met"] else "NO"
    print(f"  {row['work']}: {row['slower']:.2f}x of one process, met: {met}")
    for one in row["queries"]:
        ranks_s, alone_s = (statistics.median(one[form]) for form in ("ranks_s", "alone_s"))
        print(
            f"      Q{one['query']:3} {ranks_s * 1e3:7.1f} ms, one process {alone_s * 1e3:7.1f} ms,"
            f" {one['slower']:.2f}x ({row['most']:g}x allowed), {one['sent_bytes'] / 1e6:.1f} MB"
        )


def rank_main(text: str) -> None:
    """One of the ranks; rank 0 has one process's dock beside, and prints."""
    asked = json.loads(text)
    queries = chosen("tpch", list(QUERIES))
    threads = min(RANKS, os.cpu_count() or 1)
    with xd.connect(threads=1) as dock, xd.connect(threads=threads, ranks="off") as alone:
        assert dock.group is not None
        for rank in range(dock.size):  # one after the other: whole tables are large
            if rank == dock.rank:
                _load(dock, alone, asked["scale"], queries)
            dock.group.gather(b"")
        measured = [_measured(dock, alone, query, asked) for query in queries]
    if measured[0] is not None:
        print(json.dumps(measured))


def _load(dock: xd.Dock, alone: xd.Dock, scale: float, queries: list[Query]) -> None:
    """Registers this rank's share of each table; in rank 0 all rows for the other dock, too."""
    files = files_of("tpch", scale)
    for name, file in files.by_name.items():
        only = Sources(files.suite, scale, {name: file})
        for table in loaded(only, queries, "string").by_name.values():
            assert isinstance(table, pa.Table)
            dock.register(name, dock.from_arrow(_share(table, dock.rank)))
            if dock.rank == 0:
                alone.register(name, alone.from_arrow(table))
            del table
        pa.default_memory_pool().release_unused()


def _share(table: pa.Table, rank: int) -> pa.Table:
    """This rank's rows of a table whose rows are spread at random; all ranks draw alike."""
    owners = np.random.default_rng(SEED).integers(0, RANKS, table.num_rows, np.int8)
    return table.take(pa.array(np.flatnonzero(owners == rank))).combine_chunks()


def _measured(
    dock: xd.Dock, alone: xd.Dock, query: Query, asked: dict[str, Any]
) -> dict[str, Any] | None:
    """Runs in turns; the first of each does not count."""
    group = dock.group
    assert group is not None
    text = query.limited_sql(asked["scale"])
    ranks_s: list[float] = []
    alone_s: list[float] = []
    for _ in range(asked["repeat"] + 1):
        group.gather(b"")
        seconds, result = _timed(lambda: dock.sql(text).gather())
        ranks_s.append(seconds)
        if dock.rank == 0:
            seconds, whole = _timed(lambda: alone.sql(text).collect())
            alone_s.append(seconds)
            expected = Expected.of(whole, query.order, query.limit)
            if difference := expected.difference(result, EXACT):
                raise SystemExit(f"Q{query.name}: {difference}")
        group.gather(b"")
    data = dock.sql(text).profile().data
    if dock.rank != 0:
        return None
    sent = sum(move["sent_bytes"] for rank in data["ranks"] for move in rank["exchanges"])
    times = {"ranks_s": ranks_s[1:], "alone_s": alone_s[1:]}
    return {"query": query.name, **times, "sent_bytes": sent}


def _timed(run: Callable[[], Any]) -> tuple[float, Any]:
    start = time.perf_counter()
    result = run()
    return time.perf_counter() - start, result


if __name__ == "__main__":
    rank_main(sys.argv[1])
