"""Rows to a table on stdout and to JSON, and what machine they were measured on."""

from __future__ import annotations

import json
import os
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from harness.engines import OURS
from harness.measure import Series
from harness.work import Bar

SCHEMA_VERSION = 1
Row = dict[str, Any]

COLUMNS = (
    ("work", 44), ("ours", 9), ("model", 9), ("+-%", 5), ("best peer", 26), ("ratio", 7),
    ("Mrows/s", 8), ("memcpy", 7), ("bar", 20), ("met", 4),
)  # fmt: skip


def verdict(bar: Bar, row: Row) -> bool | None:
    """Whether every part of the bar holds; None when ours was not measured."""
    if row["ours_s"] is None and row.get("ours_bytes") is None:
        return None
    held = []
    if bar.ratio is not None:
        ratio = row["ratio"] or 0.0
        held.append(ratio > bar.ratio if bar.strictly else ratio >= bar.ratio)
    if bar.memcpy_fraction is not None:
        held.append((row["memcpy_fraction"] or 0.0) >= bar.memcpy_fraction)
    if bar.at_most_s is not None:
        held.append(row["ours_s"] < bar.at_most_s)
    if bar.of_input is not None:
        held.append(row["ours_needed_bytes"] <= bar.of_input * row["input_bytes"])
    return all(held)


def best_peer(peers: dict[str, float], counted: list[str]) -> tuple[str, float] | None:
    """The fastest (or leanest) counted peer; any peer when no counted one was measured."""
    eligible = {name: value for name, value in peers.items() if name in counted} or peers
    if not eligible:
        return None
    name = min(eligible, key=lambda key: eligible[key])
    return name, eligible[name]


def beside_peers(work: str, name: str, series: dict[str, Series]) -> Row:
    """The medians of ours and of all peers of a work, by wall and by CPU time."""
    wall = {one: of.median_s() for one, of in series.items()}
    cpu = {one: of.median_cpu_s() for one, of in series.items()}
    ours, ours_cpu = wall.pop(OURS), cpu.pop(OURS)
    best, least = best_peer(wall, list(wall)), best_peer(cpu, list(cpu))
    assert best is not None
    assert least is not None
    return {
        "work": work, "name": name, "unit": "s",
        "ours_s": ours, "ours_cpu_s": ours_cpu, "peers": wall, "peers_cpu_s": cpu,
        "ratio": best[1] / ours, "cpu_ratio": least[1] / ours_cpu, "best": best[0],
        "disturbed": any(of.disturbed() for of in series.values()),
    }  # fmt: skip


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1e-4:
        return f"{value * 1e6:.1f} us"
    return f"{value * 1e3:.2f} ms" if value < 0.1 else f"{value:.3f} s"


def amount(row: Row, value: float | None) -> str:
    if row["unit"] == "s":
        return seconds(value)
    if value is None:
        return "-"
    return f"{value / 2**30:.2f} GiB" if value >= 2**27 else f"{value / 2**10:.0f} KiB"


def cells(row: Row) -> list[str]:
    in_seconds = row["unit"] == "s"
    peers = row["peers"] if in_seconds else row["peer_bytes"]
    ours = row["ours_s"] if in_seconds else row["ours_bytes"]
    best = best_peer(peers, row["counted"])
    rate, ratio, fraction = row["mrows_per_s"], row["ratio"], row["memcpy_fraction"]
    spread = row["ours_spread"]
    return [
        row["work"],
        amount(row, ours),
        seconds(row["predicted_s"]),
        "-" if spread is None else f"{spread * 100:.0f}{'!' if row['disturbed'] else ''}",
        "-" if best is None else f"{best[0]} {amount(row, best[1])}",
        "-" if ratio is None else f"{ratio:.2f}x",
        "-" if rate is None else f"{rate:.0f}",
        "-" if fraction is None else f"{fraction:.1%}",
        row["bar"],
        {True: "yes", False: "NO", None: "-"}[row["met"]],
    ]


def line(cells: list[str]) -> str:
    """Words to the left of their column, numbers to the right."""
    out = []
    for text, (name, width) in zip(cells, COLUMNS, strict=True):
        align = "<" if name in ("work", "best peer", "bar") else ">"
        out.append(f"{text:{align}{width}}")
    return "  ".join(out).rstrip()


def header() -> str:
    return "# " + line([name for name, _ in COLUMNS])


def print_row(row: Row) -> None:
    print("  " + line(cells(row)), flush=True)
    peers = row["peers"] if row["unit"] == "s" else row["peer_bytes"]
    if len(peers) > 1:
        others = (
            f"{name} {amount(row, value)}{'' if name in row['counted'] else ' (not in the bar)'}"
            for name, value in sorted(peers.items(), key=lambda item: item[1])
        )
        print(f"      peers: {', '.join(others)}", flush=True)


def summary(rows: list[Row]) -> str:
    met, missed = (sum(row["met"] is verdict for row in rows) for verdict in (True, False))
    noisy = sum(bool(row["disturbed"]) for row in rows)
    return f"# {met} met, {missed} missed, {noisy} disturbed (!) of {len(rows)} rows"


def package(name: str) -> str | None:
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def caches() -> dict[str, str]:
    """Cache name to size of the first core, as the kernel tells it."""
    sizes = {}
    for index in sorted(Path("/sys/devices/system/cpu/cpu0/cache").glob("index*")):
        level, kind, size = ((index / f).read_text().strip() for f in ("level", "type", "size"))
        sizes[f"L{level}{'' if kind == 'Unified' else kind[0].lower()}"] = size
    return sizes


def first_match(path: str, key: str) -> str:
    lines = Path(path).read_text().splitlines()
    return next((text.split(":", 1)[1].strip() for text in lines if text.startswith(key)), "?")


def machine() -> dict[str, Any]:
    huge = Path("/sys/kernel/mm/transparent_hugepage/enabled")
    packages = (OURS, "duckdb", "polars", "datafusion", "pyarrow", "numpy", "tpchgen-cli")
    return {
        "cpu": first_match("/proc/cpuinfo", "model name"),
        "cores": os.cpu_count(),
        "caches": caches(),
        "memory": first_match("/proc/meminfo", "MemTotal"),
        "huge_pages": huge.read_text().strip() if huge.exists() else "none",
        "kernel": platform.release(),
        "python": platform.python_version(),
        "versions": {name: package(name) for name in packages},
    }


def write_json(path: Path, bench: str, rows: list[Row], failed: list[str]) -> None:
    document = {
        "schema_version": SCHEMA_VERSION,
        "bench": bench,
        "machine": machine(),
        "command": sys.argv,
        "rows": rows,
        "failed": failed,
    }
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(document, indent=1) + "\n")
