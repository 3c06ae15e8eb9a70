"""Where a plan is drawn: servers on a picture, in grey, moved or turned round, and the lines
between their devices."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from html import escape

from crossdock.machines.topology_picture import FAINT, Box, Layout, link_path, text
from crossdock.machines.topology_picture import PANEL as PANEL_FILL
from crossdock.machines.topology_shapes import Shape

QUIET = "#cdd5dd"
_IDLE_BOX, _IDLE_WORDS = "#e3e8ed", "#7b8794"
_USED_BOX, _END_BOX = "#51606f", "#1f2933"
Point = tuple[float, float]
_PIECE = re.compile(r"([MHVC])([^MHVC]*)")
_NUMBER = re.compile(r"-?\d+(?:\.\d+)?")


@dataclass(frozen=True)
class Lane:
    """The line of a link on the picture, as seen by data that go from its start to its end.

    `bar` is the network or the NVSwitches, if it begins or ends there, at `bar_start` or `bar_end`.
    """

    path: str
    transform: str
    points: tuple[Point, ...]  # on the line, from its start to its end
    bar: Box | None
    bar_start: Point | None
    bar_end: Point | None
    upright: bool

    @property
    def bows_right(self) -> bool:
        return self.middle[0] > self.points[0][0]

    def moved(self, offset: float, half: float) -> Lane:
        """Beside itself, by `offset` from -half to half, for one of several ways that share it."""
        if half < 0.05:
            return self
        is_bow = not self.upright and abs(self.points[0][0] - self.points[-1][0]) < 1
        dx, dy = (offset, 0.0) if self.upright else (0.0, offset)
        if is_bow:  # towards the boxes, so that no gap opens between them and the line
            dx, dy = -abs(offset - half) if self.bows_right else abs(offset - half), 0.0

        def shifted(at: Point | None) -> Point | None:
            return None if at is None else (at[0] + dx, at[1] + dy)

        inner = self.transform[len('transform="') : -1] if self.transform else ""
        return replace(
            self,
            transform=f'transform="translate({dx:.1f} {dy:.1f}){" " if inner else ""}{inner}"',
            points=tuple((x + dx, y + dy) for x, y in self.points),
            bar_start=shifted(self.bar_start),
            bar_end=shifted(self.bar_end),
        )

    @property
    def early(self) -> Point:
        return self.points[len(self.points) // 3]

    @property
    def middle(self) -> Point:
        return self.points[len(self.points) // 2]

    @property
    def late(self) -> Point:
        return self.points[len(self.points) * 2 // 3]


class Side:
    """A server on the picture. `turned`: mirrored, so that its network is on the right."""

    def __init__(self, server: str, shape: Shape, turned: bool = False) -> None:
        self.server = server
        self.shape = shape
        self.turned = turned
        self.shift = 0.0
        self.layout = Layout(shape)
        self.network = next((v.name for v in shape.of_kind("network")), "")
        self.network_of_all = self.network  # a way calls it as the source's server does
        self.bars = [v.name for v in shape.of_kind("network", "nvswitch")]
        self.bottom = self.layout.bottom

    @property
    def right(self) -> float:
        return self.layout.right + self.shift

    def full(self, name: str) -> str:
        """The name by which a plan calls a vertex."""
        if name == self.network:
            return self.network_of_all
        return f"{self.server}/{name}" if self.server else name

    def box(self, name: str) -> Box:
        box = self.layout.boxes[name]
        return replace(box, x=self._x(box.right) if self.turned else self._x(box.x))

    def join(self, first: Side) -> None:
        """Moves this server to the right of another, so that both have one network."""
        self.network_of_all = first.network
        self.shift = first.box(first.network).x - self.box(self.network).x

    def _x(self, x: float) -> float:
        return (self.layout.right - x if self.turned else x) + self.shift

    def _transform(self) -> str:
        if self.turned:
            return f'transform="translate({self.layout.right + self.shift:.1f} 0) scale(-1 1)"'
        return f'transform="translate({self.shift:.1f} 0)"' if self.shift else ""

    def panels(self) -> list[str]:
        """A panel per NUMA node, with its name where nothing else stands; the server's above."""
        parts = []
        for cpu, box in self.layout.panels:
            x = self._x(box.right if self.turned else box.x)
            node = f"NUMA node {cpu.numa_node}" if cpu.numa_node is not None else cpu.name
            at, anchor = (x + 14, "start") if self.turned else (x + box.width - 14, "end")
            parts.append(
                f'<rect x="{x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
                f'height="{box.height:.1f}" rx="10" fill="{PANEL_FILL}"/>'
                + text(at, box.y + 30, node, size=12, fill=FAINT, anchor=anchor)
            )
            if self.server and not len(parts) > 1:
                parts.append(text(x + box.width / 2, box.y - 8, self.server, weight=600,
                                  anchor="middle"))  # fmt: skip
        return parts

    def links(self) -> list[str]:
        """All links, in the background."""
        lines = [self.lane(link.start, link.end) for link in self.shape.links]
        return [
            f'<path d="{lane.path}" {lane.transform} fill="none" stroke="{QUIET}" '
            'stroke-width="1.5"/>'
            for lane in lines
            if lane is not None
        ]

    def devices(self, used: Collection[str], ends: Mapping[str, str]) -> list[str]:
        """All devices but bars; `ends` are marked with a word each."""
        parts = []
        for vertex in self.shape.vertices:
            if vertex.name in self.layout.boxes and vertex.name not in self.bars:
                name = self.full(vertex.name)
                fill = _END_BOX if name in ends else _USED_BOX if name in used else _IDLE_BOX
                parts.append(self._device(vertex.name, fill, ends.get(name, "")))
        return parts

    def _device(self, name: str, fill: str, mark: str) -> str:
        box = self.box(name)
        shown = name if len(name) <= 16 else name[:15] + "…"
        words = f"{mark} {shown}" if mark else shown
        ink = _IDLE_WORDS if fill == _IDLE_BOX else "white"
        return (
            f'<g><title>{escape(self.full(name))}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
            f'width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="{fill}"/>'
            + text(box.centre, box.middle + 4.5, words, fill=ink, anchor="middle",
                   weight=600 if mark else 400)
            + "</g>"
        )  # fmt: skip

    def bar(self, name: str, used: Collection[str]) -> str:
        """The network or the NVSwitches, light, with its name above: ways run along it."""
        box = self.box(name)
        ink = FAINT if self.full(name) in used else _IDLE_WORDS
        shown = self.network_of_all if name == self.network else name
        return (
            f'<g><title>{escape(self.full(name))}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
            f'width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="{_IDLE_BOX}"/>'
            + text(box.centre, box.y - 6, shown, size=12, fill=ink, anchor="middle")
            + "</g>"
        )

    def lane(self, start: str, end: str) -> Lane | None:
        """The line between two devices by their own names; None if nothing joins them here."""
        ends = {start, end}
        link = next((link for link in self.shape.links if {link.start, link.end} == ends), None)
        path = link_path(link, self.layout) if link is not None else ""
        if not path:
            return None
        points = [(self._x(x), y) for x, y in _along(path)]
        first = self.box(start)
        if abs(points[0][0] - first.centre) + abs(points[0][1] - first.middle) > abs(
            points[-1][0] - first.centre
        ) + abs(points[-1][1] - first.middle):
            points.reverse()
        is_bar = {name: name in self.bars for name in ends}
        bar = next((self.box(name) for name in (start, end) if is_bar[name]), None)
        # A line along a bar's whole height begins at its nearer side, wherever its centre is.
        if bar is not None and is_bar[start] != (_distance(points[0], bar) < 1):
            points.reverse()
        return Lane(
            path,
            self._transform(),
            tuple(points),
            bar,
            points[0] if is_bar[start] else None,
            points[-1] if is_bar[end] else None,
            upright="V" in path,
        )


def lane_of(sides: list[Side], start: str, end: str) -> Lane | None:
    """The line between two vertices of a plan, by their full names."""
    for side in sides:
        names = {side.full(vertex.name): vertex.name for vertex in side.shape.vertices}
        names |= {side.network: side.network}  # an edge calls it as its own server does
        if start in names and end in names:
            lane = side.lane(names[start], names[end])
            if lane is not None:
                return lane
    return None


def pill(at: Point, words: str, colour: str) -> str:
    """Words on a line, in a white box."""
    x, y = at
    width = 7 * len(words) + 10
    return (
        f'<rect x="{x - width / 2:.1f}" y="{y - 9:.1f}" width="{width}" height="18" rx="9" '
        f'fill="white" stroke="{colour}"/>'
        + text(x, y + 4, words, size=11, fill=colour, anchor="middle", weight=600)
    )


def _distance(at: Point, box: Box) -> float:
    dx = max(box.x - at[0], 0.0, at[0] - box.right)
    dy = max(box.y - at[1], 0.0, at[1] - box.y - box.height)
    return dx + dy


def _along(path: str, steps: int = 12) -> list[Point]:
    """Points on a line of M, H, V and C, `steps` on each piece."""
    points: list[Point] = []
    for piece, words in _PIECE.findall(path):
        numbers = [float(number) for number in _NUMBER.findall(words)]
        if piece == "M":
            points.append((numbers[0], numbers[1]))
            continue
        start = points[-1]
        if piece == "C":
            first, second, end = zip(numbers[::2], numbers[1::2], strict=True)
        else:
            end = (numbers[0], start[1]) if piece == "H" else (start[0], numbers[0])
            first, second = start, end
        points += [_bezier((start, first, second, end), i / steps) for i in range(1, steps + 1)]
    return points


def _bezier(corners: tuple[Point, Point, Point, Point], t: float) -> Point:
    weights = ((1 - t) ** 3, 3 * t * (1 - t) ** 2, 3 * t * t * (1 - t), t**3)
    x, y = (sum(w * c[axis] for w, c in zip(weights, corners, strict=True)) for axis in (0, 1))
    return x, y
