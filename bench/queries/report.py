"""Timings to rows, and rows to lines: the fields of the other benches, and CPU seconds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable
from pathlib import Path

from harness.engines import OURS
from harness.measure import Series, peak_rss_bytes
from harness.report import Row, best_peer, seconds

from queries.rounds import Part, Timings

COLUMNS = (
    ("query", 6), ("ours", 9), ("+-%", 5), ("CPU", 9), ("best peer", 27), ("ratio", 7),
    ("least CPU", 27), ("CPU ratio", 9), ("kept", 7),
)  # fmt: skip
LEFT = ("query", "best peer", "least CPU")
Key = tuple[str, float, str, str]


def rows_of(part: Part, timings: Timings) -> list[Row]:
    """In the process that measured: its peak, of all engines together, is in every row."""
    peak = {"process_peak_bytes": peak_rss_bytes()}
    return [row_of(part, name, series) | peak for name, series in timings.items()]


def row_of(part: Part, name: str, series: dict[str, Series]) -> Row:
    times = {engine: one.median_s() for engine, one in series.items()}
    cpu = {engine: one.median_cpu_s() for engine, one in series.items()}
    ours_s, ours_cpu_s = times.pop(OURS, None), cpu.pop(OURS, None)
    best, least = best_peer(times, list(times)), best_peer(cpu, list(cpu))
    decisive = [OURS, *([best[0]] if best else [])]
    return {
        "work": f"{part.title}, query {name}", "name": f"{part.suite}-{name}", "query": name,
        "suite": part.suite, "scale": part.scale, "mode": part.mode, "strings": part.strings,
        "unit": "s",
        "bar": "", "met": None, "memcpy_fraction": None,
        "ours_s": ours_s, "ours_cpu_s": ours_cpu_s,
        "ours_spread": series[OURS].spread() if OURS in series else None,
        "peers": times, "peers_cpu_s": cpu, "counted": list(times),
        "ratio": best[1] / ours_s if best and ours_s else None,
        "cpu_ratio": least[1] / ours_cpu_s if least and ours_cpu_s else None,
        "spreads": {engine: one.spread() for engine, one in series.items()},
        "disturbed": any(series[engine].disturbed() for engine in decisive if engine in series),
        "repeats": max(len(one.samples) for one in series.values()), "threads": part.threads,
        "samples_s": {n: [sample.wall_s for sample in s.samples] for n, s in series.items()},
        "samples_cpu_s": {n: [sample.cpu_s for sample in s.samples] for n, s in series.items()},
    }  # fmt: skip


def key_of(row: Row) -> Key:
    return row["suite"], row["scale"], row["mode"], row["query"]


def kept_ratios(file: Path) -> dict[Key, float]:
    """Ratios of an earlier run: of a report, or of the lines of a baseline."""
    text = file.read_text()
    if file.suffix == ".jsonl":
        rows = [json.loads(line) for line in text.splitlines()]
    else:
        rows = json.loads(text)["rows"]
    of_queries = [row for row in rows if "query" in row and row.get("ratio")]
    return {key_of(row): row["ratio"] for row in of_queries}


def line(cells: Iterable[str]) -> str:
    out = []
    for cell, (name, width) in zip(cells, COLUMNS, strict=True):
        out.append(f"{cell:{'<' if name in LEFT else '>'}{width}}")
    return "  ".join(out).rstrip()


def times(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.2f}x"


def print_part(title: str, rows: list[Row], kept: dict[Key, float]) -> None:
    print(f"# {title}")
    print("# " + line(name for name, _ in COLUMNS))
    for row in rows:
        best, least = (best_peer(row[peers], row["counted"]) for peers in ("peers", "peers_cpu_s"))
        spread = row["ours_spread"]
        mark = "!" if row["disturbed"] else ""
        cells = [
            row["query"],
            seconds(row["ours_s"]),
            "-" if spread is None else f"{spread * 100:.0f}{mark}",
            seconds(row["ours_cpu_s"]),
            "-" if best is None else f"{best[0]} {seconds(best[1])}",
            times(row["ratio"]),
            "-" if least is None else f"{least[0]} {seconds(least[1])}",
            times(row["cpu_ratio"]),
            times(kept.get(key_of(row))),
        ]
        print("  " + line(cells))
    for text in summaries(rows, kept):
        print(f"# {text}")
    print(end="", flush=True)


def summaries(rows: list[Row], kept: dict[Key, float]) -> list[str]:
    """Geometric mean and worst of the ratios; nothing where ours or all peers were left out."""
    lines = []
    for field, what in (("ratio", "ratio"), ("cpu_ratio", "CPU ratio")):
        ratios = {row["query"]: row[field] for row in rows if row[field]}
        if ratios:
            worst = min(ratios, key=lambda query: ratios[query])
            ahead = sum(ratio >= 1 for ratio in ratios.values())
            lines.append(
                f"{what}: geometric mean {geometric_mean(ratios.values()):.3f}x, worst "
                f"{ratios[worst]:.2f}x (query {worst}), {ahead} of {len(ratios)} at 1x or more"
            )
    both = [row for row in rows if row["ratio"] and key_of(row) in kept]
    if both:
        before = geometric_mean(kept[key_of(row)] for row in both)
        after = geometric_mean(row["ratio"] for row in both)
        lines.append(f"kept run: geometric mean {before:.3f}x then, {after:.3f}x now")
    return lines


def geometric_mean(ratios: Iterable[float]) -> float:
    values = list(ratios)
    return math.exp(sum(map(math.log, values)) / len(values))
