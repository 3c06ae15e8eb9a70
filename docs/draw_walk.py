"""Draws the walk of a row through a radix join, docs/pictures/walk.svg.

    python docs/draw_walk.py            # write the picture
    python docs/draw_walk.py --check    # exit status 1 if it is not what the sources give

Every station names a class and the file that declares it; a station whose class has gone is an
error, so the picture cannot outlive the code. Colours are the rooms of tools/layers.toml.
"""

from __future__ import annotations

import re
import sys
import tomllib
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PICTURE = ROOT / "docs" / "pictures" / "walk.svg"

WIDTH, HEIGHT = 1090, 390
BOX_WIDTH, BOX_HEIGHT = 150, 74
COLUMN_STEP = 182
LEFT = 16
LANES = {"build": 96, "both": 190, "probe": 284}
FILLS = {
    "table": "#3b7dd8",
    "data/sorters": "#2a9d6f",
    "operators": "#c77d1e",
    "session": "#8a5cc2",
}


@dataclass(frozen=True)
class Station:
    """A box: the class it stands for, where that is declared, and two short lines about it."""

    name: str
    file: str
    first: str
    second: str
    column: float
    lane: str


HASH_JOIN = "src/operators/hash_join"
RUN = "src/operators/run"
STATIONS = (
    *(
        station
        for lane in ("build", "probe")
        for station in (
            Station(
                "RowStore", "src/table/row_store.hpp", "batches stay where", "they are", 0, lane
            ),
            Station(
                "KeyEncoder", f"{HASH_JOIN}/key_plan.hpp", "keys become", "64-bit words", 1, lane
            ),
            Station(
                "RadixScatter",
                "src/data/sorters/radix_scatter.hpp",
                "by the top bits,",
                "one pass",
                2,
                lane,
            ),
            Station(
                "Segment", "src/data/sorters/segment.hpp", "handed over", "by pointer", 3, lane
            ),
        )
    ),
    Station(
        "RunTable", f"{HASH_JOIN}/run_table.hpp", "one partition,", "runs in cache", 4, "build"
    ),
    Station("Prober", f"{HASH_JOIN}/prober.hpp", "rounds, verify,", "residual", 4, "probe"),
    Station(
        "BatchBuilder",
        f"{HASH_JOIN}/batch_builder.hpp",
        "write, gather or",
        "pass through",
        5,
        "both",
    ),
)
# Where finished batches go.
SINKS = (
    ("CountSink", f"{RUN}/row_sink.hpp"),
    ("AggregateSink", "src/session/aggregate_sink.hpp"),
    ("CollectSink", f"{RUN}/row_sink.hpp"),
    ("QueueSink", f"{RUN}/row_sink.hpp"),
)
STYLE = """
text { font: 13px sans-serif; fill: #24292f; }
.name { font: bold 14px sans-serif; fill: #ffffff; }
.about { fill: #ffffff; }
.small { font-size: 12px; fill: #57606a; }
.arrow { fill: none; stroke: #57606a; stroke-width: 1.6; marker-end: url(#head); }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3; } .name, .about { fill: #ffffff; }
  .small { fill: #9da7b3; } .arrow { stroke: #9da7b3; }
}
"""


def room_of(file: str) -> str:
    """The room that a file lives in, by the table of layers."""
    table = tomllib.loads((ROOT / "tools" / "layers.toml").read_text(encoding="utf-8"))
    rooms = [room for room in table["room"] if file.startswith(room["folder"] + "/")]
    return str(max(rooms, key=lambda room: len(room["folder"]))["name"])


def require_declared(name: str, file: str) -> None:
    """Ends the program if `file` declares no class or struct `name`."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if not re.search(rf"^(?:class|struct)\b[^;\n]*\b{name}\b[^;\n]*\{{", text, re.MULTILINE):
        raise SystemExit(f"docs/draw_walk.py: {file} declares no {name}; change STATIONS")


def corner(station: Station) -> tuple[float, float]:
    """The upper left corner of a station's box."""
    return LEFT + station.column * COLUMN_STEP, LANES[station.lane] - BOX_HEIGHT / 2


def box(station: Station) -> str:
    require_declared(station.name, station.file)
    x, y = corner(station)
    middle = x + BOX_WIDTH / 2
    lines = (
        (station.name, 24, "name"),
        (station.first, 45, "about"),
        (station.second, 62, "about"),
    )
    texts = "".join(
        f'<text class="{kind}" x="{middle:g}" y="{y + down:g}" text-anchor="middle">'
        f"{escape(text)}</text>"
        for text, down, kind in lines
    )
    return (
        f'<g><title>{station.file}</title><rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="6" fill="{FILLS[room_of(station.file)]}"/>{texts}</g>'
    )


def arrow(*points: tuple[float, float]) -> str:
    path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path class="arrow" d="{path}"/>'


def arrows() -> list[str]:
    """Between neighbours of a lane, from table to prober, and from prober to builder."""
    found = []
    by_place = {(station.column, station.lane): station for station in STATIONS}
    for (column, lane), station in by_place.items():
        following = by_place.get((column + 1, lane))
        if following is not None:
            x, _ = corner(station)
            y = LANES[lane]
            found.append(arrow((x + BOX_WIDTH, y), (x + COLUMN_STEP - 3, y)))
    table_x = corner(by_place[4, "build"])[0] + BOX_WIDTH / 2
    gap = BOX_HEIGHT / 2
    found.append(arrow((table_x, LANES["build"] + gap), (table_x, LANES["probe"] - gap - 3)))
    builder_x = corner(by_place[5, "both"])[0] + BOX_WIDTH / 2
    found.append(
        arrow(
            (table_x + BOX_WIDTH / 2, LANES["probe"]),
            (builder_x, LANES["probe"]),
            (builder_x, LANES["both"] + gap + 3),
        )
    )
    return found


def sinks() -> list[str]:
    """What the finished batches go to, above the builder."""
    x = LEFT + 5 * COLUMN_STEP
    parts = []
    for row, (name, file) in enumerate(SINKS):
        require_declared(name, file)
        y = 14 + 30 * row
        parts.append(
            f'<g><title>{file}</title><rect x="{x}" y="{y}" width="{BOX_WIDTH}" height="24" '
            f'rx="5" fill="{FILLS[room_of(file)]}"/><text class="about" x="{x + BOX_WIDTH / 2:g}" '
            f'y="{y + 17}" text-anchor="middle">{name}</text></g>'
        )
    top = LANES["both"] - BOX_HEIGHT / 2
    parts.append(arrow((x + BOX_WIDTH / 2, top), (x + BOX_WIDTH / 2, 14 + 30 * len(SINKS) - 3)))
    return parts


def captions() -> list[str]:
    notes = (
        (LEFT, 40, "build side: the smaller one, mostly"),
        (LEFT, 340, "probe side: passes a KeyFilter before the scatter, where that pays"),
        (LEFT + 3 * COLUMN_STEP - 60, 194, "a list of segments per partition and worker"),
    )
    parts = [f'<text class="small" x="{x}" y="{y}">{text}</text>' for x, y, text in notes]
    for position, (room, fill) in enumerate(FILLS.items()):
        x = LEFT + 150 * position
        parts.append(f'<rect x="{x}" y="362" width="14" height="14" rx="3" fill="{fill}"/>')
        parts.append(f'<text class="small" x="{x + 20}" y="374">room {room}</text>')
    return parts


def draw() -> str:
    """The picture as SVG text."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{WIDTH}" height="{HEIGHT}" '
        f'viewBox="0 0 {WIDTH} {HEIGHT}" role="img" '
        'aria-label="The walk of a row through a radix join">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#57606a"/></marker></defs>'
    )
    boxes = [box(station) for station in STATIONS]
    style = f"<style>{STYLE}</style>"
    parts = [head, style, marker, *arrows(), *boxes, *sinks(), *captions(), "</svg>", ""]
    return "\n".join(parts)


def main() -> int:
    picture = draw()
    if "--check" not in sys.argv[1:]:
        PICTURE.write_text(picture, encoding="utf-8")
        return 0
    if PICTURE.exists() and PICTURE.read_text(encoding="utf-8") == picture:
        return 0
    print(f"{PICTURE.relative_to(ROOT)} is out of date: python docs/draw_walk.py", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
