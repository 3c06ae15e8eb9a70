"""Draws the rooms of the source tree, with an arc from each room to the rooms it includes."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from source_tree import Tree

ROW_HEIGHT = 44
BOX_WIDTH = 170
BOX_HEIGHT = 30
LEFT = 60
STYLE = (
    "text{font:13px sans-serif;fill:#222}.n{font-size:11px;fill:#777}"
    "rect{fill:#eef3f8;stroke:#5b7a99}path{fill:none;stroke:#5b7a99;stroke-opacity:.55}"
)


def edges(tree: Tree) -> Counter[tuple[str, str]]:
    """How many include lines lead from one room to another."""
    counts: Counter[tuple[str, str]] = Counter()
    for source in tree.sources:
        room = tree.room_of(source.path)
        if room is None or not source.is_cpp:
            continue
        for path, _ in tree.includes(source):
            target = tree.room_of(path)
            if target is not None and target != room:
                counts[room.name, target.name] += 1
    return counts


def draw(tree: Tree) -> str:
    """The drawing as SVG; rooms without a source yet are left out."""
    alive = {
        room.name for source in tree.sources if (room := tree.room_of(source.path)) is not None
    }
    rooms = [room for room in reversed(tree.rooms) if room.name in alive]
    middle = {room.name: 20 + ROW_HEIGHT * row + BOX_HEIGHT // 2 for row, room in enumerate(rooms)}
    order = {room.name: row for row, room in enumerate(rooms)}
    right = LEFT + BOX_WIDTH
    parts = []
    for (source, target), count in sorted(edges(tree).items()):
        reach = right + 24 * abs(order[target] - order[source])
        start, end = middle[source], middle[target]
        curve = f"M{right} {start} C{reach} {start} {reach} {end} {right} {end}"
        width = min(1 + count / 4, 6)
        parts.append(
            f'<path d="{curve}" stroke-width="{width:.1f}">'
            f"<title>{source} includes {target}: {count}</title></path>"
        )
    for room in rooms:
        y = middle[room.name]
        top = y - BOX_HEIGHT // 2
        parts.append(f'<text class="n" x="{LEFT - 40}" y="{y + 4}">L{room.level}</text>')
        parts.append(
            f'<rect x="{LEFT}" y="{top}" width="{BOX_WIDTH}" height="{BOX_HEIGHT}" rx="4"/>'
        )
        parts.append(f'<text x="{LEFT + 10}" y="{y + 4}">{room.name}</text>')
    width = right + 24 * max(len(rooms), 2)
    height = 40 + ROW_HEIGHT * len(rooms)
    size = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}"'
    head = f'<svg xmlns="http://www.w3.org/2000/svg" {size}>'
    return "\n".join([head, f"<style>{STYLE}</style>", *parts, "</svg>", ""])
