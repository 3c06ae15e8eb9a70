"""What pictures of the data path share: boxes that stand for classes, arrows, a legend of rooms.

Every box names a class and the file that declares it; one whose class has gone is an error, so no
picture can outlive the code. Colours are the rooms of tools/layers.toml.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BOX_WIDTH, BOX_HEIGHT = 150, 74
LEGEND_STEP = 158
FILLS = {
    "table": "#3b7dd8",
    "data/sorters": "#2a9d6f",
    "operators": "#c77d1e",
    "session": "#8a5cc2",
    "data/rings": "#3b7dd8",
    "data/movers": "#c77d1e",
    "data/transports": "#57606a",
    "data/channels": "#8a5cc2",
}
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


@dataclass(frozen=True)
class Station:
    """A box: the class it stands for, where that is declared, and two short lines about it. `x` is
    its left edge, `y` its middle, in pixels."""

    name: str
    file: str
    about: tuple[str, str]
    x: float
    y: float

    @property
    def right(self) -> float:
        return self.x + BOX_WIDTH

    @property
    def middle(self) -> float:
        return self.x + BOX_WIDTH / 2


def room_of(file: str) -> str:
    """The room that a file lives in, by the table of layers."""
    table = tomllib.loads((ROOT / "tools" / "layers.toml").read_text(encoding="utf-8"))
    folders = {row.get("folder", f"src/{row['name']}"): str(row["name"]) for row in table["room"]}
    return folders[max((each for each in folders if file.startswith(each + "/")), key=len)]


def require_declared(name: str, file: str) -> None:
    """Ends the program if `file` declares no class or struct `name`."""
    text = (ROOT / file).read_text(encoding="utf-8")
    if not re.search(rf"^(?:class|struct)\b[^;\n]*\b{name}\b[^;\n]*\{{", text, re.MULTILINE):
        raise SystemExit(f"{sys.argv[0]}: {file} declares no {name}; change the picture")


def box(station: Station) -> str:
    require_declared(station.name, station.file)
    x, y = station.x, station.y - BOX_HEIGHT / 2
    lines = (
        (station.name, 24, "name"),
        (station.about[0], 45, "about"),
        (station.about[1], 62, "about"),
    )
    labels = "".join(
        f'<text class="{kind}" x="{station.middle:g}" y="{y + down:g}" text-anchor="middle">'
        f"{escape(text)}</text>"
        for text, down, kind in lines
    )
    return (
        f'<g><title>{station.file}</title><rect x="{x:g}" y="{y:g}" width="{BOX_WIDTH}" '
        f'height="{BOX_HEIGHT}" rx="6" fill="{FILLS[room_of(station.file)]}"/>{labels}</g>'
    )


def arrow(*points: tuple[float, float]) -> str:
    path = "M" + " L".join(f"{x:g} {y:g}" for x, y in points)
    return f'<path class="arrow" d="{path}"/>'


def note(x: float, y: float, text: str) -> str:
    return f'<text class="small" x="{x}" y="{y}">{escape(text)}</text>'


def legend(rooms: list[str], left: float, y: float) -> list[str]:
    """A square of its colour and the name of each room, from `left` on."""
    parts = []
    for position, room in enumerate(rooms):
        x = left + LEGEND_STEP * position
        parts.append(
            f'<rect x="{x:g}" y="{y:g}" width="14" height="14" rx="3" fill="{FILLS[room]}"/>'
        )
        parts.append(f'<text class="small" x="{x + 20:g}" y="{y + 12:g}">room {room}</text>')
    return parts


def document(title: str, width: int, height: int, parts: list[str]) -> str:
    """The picture as SVG text."""
    head = (
        f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" '
        f'viewBox="0 0 {width} {height}" role="img" aria-label="{escape(title)}">'
    )
    marker = (
        '<defs><marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="7" '
        'markerHeight="7" orient="auto"><path d="M0 0 L8 4 L0 8 z" fill="#57606a"/></marker></defs>'
    )
    return "\n".join([head, f"<style>{STYLE}</style>", marker, *parts, "</svg>", ""])


def write_or_check(picture: Path, draw: Callable[[], str]) -> int:
    """What the programs do: writes the picture, or with --check answers 1 if it is out of date."""
    drawn = draw()
    if "--check" not in sys.argv[1:]:
        picture.write_text(drawn, encoding="utf-8")
        return 0
    if picture.exists() and picture.read_text(encoding="utf-8") == drawn:
        return 0
    print(f"{picture.relative_to(ROOT)} is out of date: python {sys.argv[0]}", file=sys.stderr)
    return 1
