"""Peak resident memory of single queries: a fresh process per query and engine.

The whole process counts, interpreter and libraries included. In memory the mark is set back when
the tables are loaded, so decoding the files is not in it, and the loaded columns are.
"""

from __future__ import annotations

import json
import subprocess
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from harness import measure
from harness.engines import OURS, limit_threads
from harness.report import Row, best_peer

from queries.engines import ENGINES
from queries.query import Query
from queries.rounds import Part

QUERIES = {"tpch": ("1", "9", "18", "21"), "ssb": ("Q1.1", "Q2.1", "Q3.1", "Q4.1")}
COLUMNS = (("query", 6), ("ours", 9), ("leanest peer", 27), ("ratio", 7))
RESET_PEAK = "5"  # what /proc/PID/clear_refs takes to set the high-water mark to what is resident


def peak_of(part: Part, query: Query) -> dict[str, int] | None:
    """Body of the fresh process, for the one engine of the part; None: it has no such query."""
    limit_threads(part.threads)
    sources = part.sources([query])
    with ExitStack() as stack:
        run = ENGINES[part.engines[0]](sources, part.threads, stack)(query)
        if run is None:
            return None
        del sources  # an engine with tables of its own holds the rows now
        pa.default_memory_pool().release_unused()
        Path("/proc/self/clear_refs").write_text(RESET_PEAK)
        loaded_bytes = measure.rss_bytes()
        run()
        return {"peak_bytes": measure.peak_rss_bytes(), "loaded_bytes": loaded_bytes}


def row_of(part: Part, query: Query, command: list[str]) -> Row:
    """`command` starts this bench for one query; its last line is what `peak_of` gives."""
    peaks: dict[str, dict[str, Any]] = {}
    for engine in part.engines:
        done = subprocess.run(
            [*command, "--peak-of", engine, "--queries", query.name],
            check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        answer = json.loads(done.stdout.splitlines()[-1])
        if answer:
            peaks[engine] = answer
    peer_bytes = {name: one["peak_bytes"] for name, one in peaks.items() if name != OURS}
    ours = peaks.get(OURS, {}).get("peak_bytes")
    leanest = best_peer({name: float(peak) for name, peak in peer_bytes.items()}, list(peer_bytes))
    return {
        "work": f"{part.title}, peak memory of query {query.name}",
        "name": f"{part.suite}-{query.name}-peak", "query": query.name, "suite": part.suite,
        "scale": part.scale, "mode": part.mode, "unit": "bytes", "bar": "", "met": None,
        "ours_s": None, "ours_bytes": ours, "peers": {}, "peer_bytes": peer_bytes,
        "strings": part.strings, "counted": list(peer_bytes), "memcpy_fraction": None,
        "threads": part.threads,
        "ratio": leanest[1] / ours if leanest and ours else None,
        "loaded_bytes": {name: one["loaded_bytes"] for name, one in peaks.items()},
    }  # fmt: skip


def mebibytes(value: float | None) -> str:
    return "-" if value is None else f"{value / 2**20:.0f} MiB"


def print_peaks(title: str, rows: list[Row]) -> None:
    print(f"# {title}, peak resident memory")
    print("# " + "  ".join(f"{name:<{width}}" for name, width in COLUMNS))
    for row in rows:
        peers = sorted(row["peer_bytes"].items(), key=lambda item: item[1])
        cells = [
            row["query"],
            mebibytes(row["ours_bytes"]),
            f"{peers[0][0]} {mebibytes(peers[0][1])}" if peers else "-",
            f"{row['ratio']:.2f}x" if row["ratio"] else "-",
        ]
        print("  " + "  ".join(f"{c:<{w}}" for c, (_, w) in zip(cells, COLUMNS, strict=True)))
        loaded = (f"{name} {mebibytes(size)}" for name, size in row["loaded_bytes"].items())
        others = (f"{name} {mebibytes(peak)}" for name, peak in peers)
        print(f"      peers: {', '.join(others)}; before the query: {', '.join(loaded)}")
    print(end="", flush=True)
