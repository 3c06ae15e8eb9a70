"""Draws docs/pictures/bench-*.svg from bench/baselines: how many times as fast as the best peer.

python docs/draw_benchmarks.py            # write the pictures
python docs/draw_benchmarks.py --check    # exit status 1 if one is not what the baselines give

The newest line of a row counts. A bar that does not reach the line at 1 is slower than a peer.
"""

from __future__ import annotations

import json
import math
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from drawing import ROOT, STYLE

BASELINES = ROOT / "bench" / "baselines"
PICTURES = ROOT / "docs" / "pictures"
LETTER, UNIT, ROW = 7.6, 62, 22  # pixels: of a letter, of 1x, of a row
OURS, SLOWER, LIGHTER = "#3b7dd8", "#c0392b", "#9dbfe8"


@dataclass(frozen=True)
class Bar:
    """How many times as fast one work is; `second`: in its other form, if it has two."""

    label: str
    ratio: float
    second: float | None = None


def lines(file: str) -> Iterator[tuple[str, dict[str, Any]]]:
    """(bench, row) of a baseline, oldest first."""
    bench = ""
    for line in (BASELINES / file).read_text(encoding="utf-8").splitlines():
        row = json.loads(line)
        if "machine" in row:
            bench = row["bench"]
        else:
            yield bench, row


def best_peer_s(row: dict[str, Any]) -> float:
    return min(s for name, s in row["peers"].items() if not name.startswith("crossdock"))


def works(bench: str) -> list[Bar]:
    """The works of one bench that other engines do too, in the order of their newest lines. Names
    that begin with "same" compare forms of the work above."""
    works_by_name: dict[str, Bar] = {}
    for name, row in lines("zen4-2-cores.jsonl"):
        work = row["work"]
        others = any(not peer.startswith("crossdock") for peer in row["peers"])
        if name == bench and row["ours_s"] and others and not work.startswith("same"):
            works_by_name.pop(work, None)
            works_by_name[work] = Bar(work, best_peer_s(row) / row["ours_s"])
    return list(works_by_name.values())


def queries(suite: str) -> list[Bar]:
    """Queries of a suite from memory and from Parquet, and their geometric means."""
    ratios: dict[str, dict[str, float]] = {}
    for name, row in lines("granite-rapids-2-cores.jsonl"):
        if name == "queries" and row["suite"] == suite:
            ratios.setdefault(row["query"], {})[row["mode"]] = best_peer_s(row) / row["ours_s"]
    bars = [Bar(f"query {name}", of["memory"], of["parquet"]) for name, of in ratios.items()]
    second = geometric([bar.second for bar in bars if bar.second is not None])
    return [*bars, Bar("geometric mean", geometric([bar.ratio for bar in bars]), second)]


def geometric(ratios: list[float]) -> float:
    return math.exp(sum(map(math.log, ratios)) / len(ratios))


def bar(x: float, y: float, ratio: float, height: int, colour: str) -> str:
    fill = SLOWER if ratio < 1 else colour
    text = f'<text class="small" x="{x + ratio * UNIT + 5:.1f}" y="{y + height - 2:g}">'
    return (
        f'<rect x="{x:g}" y="{y:g}" width="{ratio * UNIT:.1f}" height="{height}" fill="{fill}"/>'
        f"{text}{ratio:.2f}</text>"
    )


def draw(title: str, bars: list[Bar], keys: tuple[str, str] | None = None) -> str:
    """Horizontal bars, and a line where the best peer is."""
    label = math.ceil(LETTER * max(len(one.label) for one in bars)) + 16
    step = ROW + (14 if keys else 0)
    top = 64 if keys else 44
    height = top + step * len(bars) + 8
    longest = max(max(one.ratio, one.second or 0) for one in bars)
    width = math.ceil(label + UNIT * longest + 60)
    parts = [f'<text class="title" x="0" y="20">{escape(title)}</text>']
    if keys:
        for at, (key, colour) in enumerate(zip(keys, (OURS, LIGHTER), strict=True)):
            x = label + at * 130
            parts.append(f'<rect x="{x}" y="34" width="12" height="12" fill="{colour}"/>')
            parts.append(f'<text class="small" x="{x + 18}" y="45">{key}</text>')
    for at, one in enumerate(bars):
        y = top + at * step
        parts.append(
            f'<text x="{label - 8}" y="{y + 14}" text-anchor="end">{escape(one.label)}</text>'
        )
        parts.append(bar(label, y + 2, one.ratio, 13, OURS))
        if one.second is not None:
            parts.append(bar(label, y + 17, one.second, 13, LIGHTER))
    x = label + UNIT
    parts.append(f'<path class="line" d="M{x} {top - 8} V{height - 4}"/>')
    style = STYLE + ".title { font: bold 15px sans-serif; } .line { stroke: #57606a; }\n"
    style += "@media (prefers-color-scheme: dark) { .line { stroke: #e6edf3; } }"
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    )
    return "\n".join([head, f"<style>{style}</style>", *parts, "</svg>", ""])


def pictures() -> dict[Path, str]:
    two_forms = ("from memory", "from Parquet")
    drawn = {
        "bench-join": draw("Joins: times as fast as the best peer", works("join")),
        "bench-operators": draw(
            "Group-bys, sorts, merge joins: times as fast as the best peer", works("operators")
        ),
        "bench-tpch": draw("TPC-H SF5", queries("tpch"), two_forms),
        "bench-ssb": draw("Star Schema Benchmark SF1", queries("ssb"), two_forms),
    }
    return {PICTURES / f"{name}.svg": text for name, text in drawn.items()}


def main() -> int:
    is_check = "--check" in sys.argv[1:]
    stale = 0
    for file, text in pictures().items():
        if is_check:
            stale += not file.exists() or file.read_text(encoding="utf-8") != text
        else:
            file.write_text(text, encoding="utf-8")
    return int(stale > 0)


if __name__ == "__main__":
    sys.exit(main())
