"""A topology as a picture (SVG): one server, and around it what joins it to others.

NUMA nodes are panels. From left to right stand the network, NICs and drives, PCIe switches below
their CPU, GPUs, and the NVSwitches; so a path between two GPUs or out of the server is a line to
follow. Lines are coloured by kind and the thicker, the more they carry.
"""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from html import escape

from crossdock.machines.topology_advice import rate_text
from crossdock.machines.topology_graph import TopologyGraph
from crossdock.machines.topology_shapes import Link, Shape, Vertex
from crossdock.machines.topology_text import LINKS, compress, parents_of, summary

ROW = 36
BOX_HEIGHT = 26
HEADER = 54
GAP = 22
LEFT = 24
BAR = 30
BOX_WIDTH = 112
COLUMN_GAP = 74

DASHES = 'stroke-dasharray="5 4"'  # of links whose rate is assumed
INK = "#1f2933"
FAINT = "#66727f"
PANEL = "#f3f5f8"
FILLS = {
    "cpu": "#51606f",
    "gpu": "#2a9d6f",
    "nic": "#3b7dd8",
    "pcie_switch": "#8d99a6",
    "drive": "#a5744a",
    "nvswitch": "#8a5cc2",
    "network": "#3b7dd8",
}
COLOURS = {
    "pcie": "#8d99a6",
    "nvlink": "#8a5cc2",
    "c2c": "#8a5cc2",
    "socket": "#c7481e",
    "nic_direct": "#2a9d6f",
    "network": "#3b7dd8",
}


@dataclass(frozen=True)
class Box:
    """A device on the picture; x and y of its upper left corner."""

    x: float
    y: float
    width: float
    height: float

    @property
    def middle(self) -> float:
        return self.y + self.height / 2

    @property
    def right(self) -> float:
        return self.x + self.width

    @property
    def centre(self) -> float:
        return self.x + self.width / 2


class Layout:
    """Where everything stands."""

    def __init__(self, shape: Shape) -> None:
        self.shape = shape
        self.parents = parents_of(shape)
        self.boxes: dict[str, Box] = {}
        self.panels: list[tuple[Vertex, Box]] = []
        depths = [self._depth(v.name) for v in shape.of_kind("pcie_switch")]
        self.levels = max(depths, default=1)
        step = BOX_WIDTH + COLUMN_GAP
        self.nic_x = LEFT + BAR + 60.0 if shape.of_kind("network") else float(LEFT)
        # CPUs stand above and between NICs and switches, so that their lines fall into the gap; a
        # server with nothing on its left has no column there.
        self.cpu_x = self.nic_x + (step / 2 if shape.of_kind("nic", "drive") else 0)
        self.switch_x = self.cpu_x + step / 2
        self.gpu_x = self.switch_x + step * self.levels
        self.panel_right = self.gpu_x + BOX_WIDTH + 16
        self._place_nodes()
        self._place_bars()

    def _depth(self, name: str) -> int:
        depth = 0
        while name in self.parents and depth < len(self.parents):
            name = self.parents[name].other(name)
            depth += 1
        return depth

    def _root(self, name: str) -> str:
        for _ in range(len(self.parents) + 1):
            if name not in self.parents:
                break
            name = self.parents[name].other(name)
        return name

    def _place_nodes(self) -> None:
        groups: defaultdict[str, list[Vertex]] = defaultdict(list)
        cpus = self.shape.of_kind("cpu")
        for vertex in self.shape.of_kind("gpu", "nic", "drive", "pcie_switch"):
            root = self._root(vertex.name)
            known = any(cpu.name == root for cpu in cpus)
            groups[root if known or not cpus else cpus[0].name].append(vertex)
        y = 96.0
        for cpu in cpus:
            members = groups[cpu.name]
            left = [v for v in members if v.kind in ("nic", "drive")]
            right = [v for v in members if v.kind == "gpu"]
            rows = max(len(left), len(right), 1)
            panel = Box(
                self.nic_x - 16, y, self.panel_right - self.nic_x + 16, HEADER + rows * ROW + 6
            )
            self.panels.append((cpu, panel))
            self.boxes[cpu.name] = Box(self.cpu_x, y + 12, BOX_WIDTH, BOX_HEIGHT)
            self._column(left, self.nic_x, panel, rows)
            self._column(right, self.gpu_x, panel, rows)
            self._place_switches(cpu, [v for v in members if v.kind == "pcie_switch"], panel)
            y = panel.y + panel.height + GAP
        self.bottom = y - GAP

    def _column(self, members: list[Vertex], x: float, panel: Box, rows: int) -> None:
        for index, vertex in enumerate(members):
            middle = panel.y + HEADER + (index + 0.5) * rows * ROW / len(members)
            self.boxes[vertex.name] = Box(x, middle - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT)

    def _place_switches(self, cpu: Vertex, switches: list[Vertex], panel: Box) -> None:
        """At the mean height of what hangs on them, the outermost first; none over another."""
        for switch in sorted(switches, key=lambda v: -self._depth(v.name)):
            below = [
                self.boxes[name].middle
                for name, link in self.parents.items()
                if link.other(name) == switch.name and name in self.boxes
            ]
            middle = sum(below) / len(below) if below else panel.y + HEADER + ROW / 2
            x = self.switch_x + (self._depth(switch.name) - 1) * (BOX_WIDTH + COLUMN_GAP)
            taken = [box for box in self.boxes.values() if abs(box.x - x) < 1]
            while any(abs(box.middle - middle) < BOX_HEIGHT + 4 for box in taken):
                middle += BOX_HEIGHT + 6
            self.boxes[switch.name] = Box(x, middle - BOX_HEIGHT / 2, BOX_WIDTH, BOX_HEIGHT)

    def _place_bars(self) -> None:
        top = self.panels[0][1].y
        height = self.bottom - top
        for vertex in self.shape.of_kind("network"):
            self.boxes[vertex.name] = Box(LEFT, top, BAR, height)
        # Direct NVLinks between GPUs bend to the right of them and need room there.
        self.right = self.panel_right + (150 if self._has_arcs() else 24)
        for vertex in self.shape.of_kind("nvswitch"):
            x = self.panel_right + 70
            self.boxes[vertex.name] = Box(x, top, BAR, height)
            self.right = x + BAR + 24

    def _has_arcs(self) -> bool:
        gpus = {gpu.name for gpu in self.shape.of_kind("gpu")}
        return any(link.start in gpus and link.end in gpus for link in self.shape.links)


def draw(topology: TopologyGraph) -> str:
    """The whole picture as an SVG document."""
    name, shape = topology.servers[0]
    if not shape.of_kind("cpu"):
        return _plain(topology, shape)
    layout = Layout(shape)
    kinds = [kind for kind in LINKS if any(link.kind == kind for link in shape.links)]
    # A letter of the title takes up to 10.4 pixels in the fonts that browsers fall back to.
    width = max(layout.right, 640, 2 * LEFT + 10.4 * len(topology.title))
    height = layout.bottom + 34 + 20 * len(kinds)
    many = f", {len(topology.servers)} such servers" if len(topology.servers) > 1 else ""
    parts = [
        document(width, height),
        text(LEFT, 34, topology.title, size=17, weight=600),
        text(LEFT, 58, f"{name}: {summary(shape)}{many}", fill=FAINT),
    ]
    parts += [panel(cpu, box) for cpu, box in layout.panels]
    parts += [_link(link, layout) for link in sorted(shape.links, key=_order)]
    parts += [device(vertex, layout.boxes[vertex.name]) for vertex in shape.vertices
              if vertex.name in layout.boxes]  # fmt: skip
    parts += _legend(shape, kinds, layout.bottom + 26)
    return "\n".join([*parts, "</svg>", ""])


def _order(link: Link) -> int:
    return list(COLOURS).index(link.kind)


def document(width: float, height: float) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:.0f} {height:.0f}" '
        f'width="{width:.0f}" height="{height:.0f}" '
        f'font-family="system-ui, Helvetica, Arial, sans-serif">\n'
        f'<rect width="{width:.0f}" height="{height:.0f}" fill="white"/>'
    )


def _plain(topology: TopologyGraph, shape: Shape) -> str:
    """For servers without a CPU, which no machine is but a file may describe."""
    lines = [topology.title, f"{summary(shape)}; no CPU to draw them around"]
    elements = [text(LEFT, 34 + 24 * i, line) for i, line in enumerate(lines)]
    return "\n".join([document(640, 90), *elements, "</svg>", ""])


def text(x: float, y: float, words: str, **style: object) -> str:
    size, fill = style.get("size", 13), style.get("fill", INK)
    anchor, weight = style.get("anchor", "start"), style.get("weight", 400)
    return (
        f'<text x="{x:.1f}" y="{y:.1f}" font-size="{size}" fill="{fill}" '
        f'text-anchor="{anchor}" font-weight="{weight}">{escape(words)}</text>'
    )


def panel(cpu: Vertex, box: Box) -> str:
    node = f"NUMA node {cpu.numa_node}" if cpu.numa_node is not None else cpu.name
    label = f"{node}: {cpu.model}" if cpu.model else node
    return (
        f'<rect x="{box.x:.1f}" y="{box.y:.1f}" width="{box.width:.1f}" '
        f'height="{box.height:.1f}" rx="10" fill="{PANEL}"/>'
        + text(box.right - 14, box.y + 30, label, size=12, fill=FAINT, anchor="end")
    )


def device(vertex: Vertex, box: Box) -> str:
    fill = FILLS[vertex.kind]
    title = ", ".join(part for part in (vertex.name, vertex.model, vertex.bus_id) if part)
    shown = vertex.name if len(vertex.name) <= 16 else vertex.name[:15] + "…"
    rect = (
        f'<g><title>{escape(title)}</title><rect x="{box.x:.1f}" y="{box.y:.1f}" '
        f'width="{box.width:.1f}" height="{box.height:.1f}" rx="5" fill="{fill}"/>'
    )
    if box.height <= BOX_HEIGHT:
        label = text(box.centre, box.middle + 4.5, shown, fill="white", anchor="middle")
        return f"{rect}{label}</g>"
    turned = f'transform="rotate(-90 {box.centre:.1f} {box.middle:.1f})"'
    label = text(box.centre, box.middle + 4.5, vertex.name, fill="white", anchor="middle")
    return f"{rect}<g {turned}>{label}</g></g>"


def thickness(bytes_per_s: float) -> float:
    """By the root of the rate, so that double links show: 25 GB/s 2.5 pixels, 300 GB/s 8.7."""
    return min(9.0, max(1.0, 0.5 * math.sqrt(bytes_per_s / 1e9)))


def _link(link: Link, layout: Layout) -> str:
    path = link_path(link, layout)
    if not path:
        return ""
    dashes = f" {DASHES}" if link.assumed else ""
    title = f"{link.start} and {link.end}: {LINKS[link.kind]}, {rate_text(link.bytes_per_s)}"
    return (
        f'<path d="{path}" fill="none" stroke="{COLOURS[link.kind]}" stroke-opacity="0.75" '
        f'stroke-width="{thickness(link.bytes_per_s):.1f}"{dashes}><title>{escape(title)}</title>'
        "</path>"
    )


def link_path(link: Link, layout: Layout) -> str:
    """The line of a link, from the end on the left or above, of M, H, V and C; "" if an end has no
    place on the picture."""
    if link.start not in layout.boxes or link.end not in layout.boxes:
        return ""
    a, b = layout.boxes[link.start], layout.boxes[link.end]
    if a.x > b.x or (a.x == b.x and a.y > b.y):
        a, b = b, a
    kinds = {v.name: v.kind for v in layout.shape.vertices}
    if abs(a.x - b.x) < 1:
        return _between_sockets(a, b) if link.kind == "socket" else _bow(a, b)
    if "cpu" in (kinds[link.start], kinds[link.end]):
        is_first = layout.boxes[link.start] in _cpu_boxes(layout)
        return _hanging(*((link.start, link.end) if is_first else (link.end, link.start)), layout)
    if a.height > BOX_HEIGHT:
        return f"M{a.right:.1f},{b.middle:.1f} H{b.x:.1f}"
    if b.height > BOX_HEIGHT:
        return f"M{a.right:.1f},{a.middle:.1f} H{b.x:.1f}"
    return _around(a, b, layout) if link.kind == "nic_direct" else _curve(a, b)


def _curve(a: Box, b: Box) -> str:
    half = (b.x - a.right) / 2
    return (
        f"M{a.right:.1f},{a.middle:.1f} C{a.right + half:.1f},{a.middle:.1f} "
        f"{b.x - half:.1f},{b.middle:.1f} {b.x:.1f},{b.middle:.1f}"
    )


def _around(a: Box, b: Box, layout: Layout) -> str:
    """Past the switches that stand between: a NIC-direct edge does not lead through them. Of gaps
    that are about as near it takes the upper one, as its neighbours do, so that none meet."""
    between = [layout.boxes[v.name] for v in layout.shape.of_kind("pcie_switch")]
    between = [box for box in between if a.right <= box.x and box.right <= b.x]
    if not between:
        return _curve(a, b)
    heights = [a.middle, b.middle]
    heights += sorted(
        (edge for box in between for edge in (box.y - 6, box.y + box.height + 6)),
        key=lambda y: ((abs(y - a.middle) + abs(y - b.middle)) // 8, y),
    )
    free = (
        y for y in heights if not any(box.y - 4 < y < box.y + box.height + 4 for box in between)
    )
    y = next(free, a.middle)
    left, right = min(box.x for box in between), max(box.right for box in between)
    first, second = (left - a.right) / 2, (b.x - right) / 2
    return (
        f"M{a.right:.1f},{a.middle:.1f} C{a.right + first:.1f},{a.middle:.1f} "
        f"{left - first:.1f},{y:.1f} {left:.1f},{y:.1f} H{right:.1f} "
        f"C{right + second:.1f},{y:.1f} {b.x - second:.1f},{b.middle:.1f} {b.x:.1f},{b.middle:.1f}"
    )


def _cpu_boxes(layout: Layout) -> list[Box]:
    return [layout.boxes[cpu.name] for cpu, _ in layout.panels]


def _hanging(cpu: str, device: str, layout: Layout) -> str:
    """From below a CPU to the near side of what hangs on it."""
    a, b = layout.boxes[cpu], layout.boxes[device]
    end, before = (b.x, b.x - 40) if b.x > a.x else (b.right, b.right + 40)
    bottom = a.y + a.height
    return (
        f"M{a.centre:.1f},{bottom:.1f} C{a.centre:.1f},{b.middle:.1f} "
        f"{before:.1f},{b.middle:.1f} {end:.1f},{b.middle:.1f}"
    )


def _between_sockets(a: Box, b: Box) -> str:
    """Down the gap between NICs and switches; links between far sockets stand further left."""
    steps = round((b.y - a.y) / (HEADER + ROW))
    x = a.x + max(24.0, 44.0 - 2 * steps)
    return f"M{x:.1f},{a.y + a.height:.1f} V{b.y:.1f}"


def _bow(a: Box, b: Box) -> str:
    """Between two boxes of one column: a bow to their right, the further apart the wider."""
    far = a.right + min(170.0, 40 + 0.6 * (b.middle - a.middle))
    return (
        f"M{a.right:.1f},{a.middle:.1f} C{far:.1f},{a.middle:.1f} "
        f"{far:.1f},{b.middle:.1f} {a.right:.1f},{b.middle:.1f}"
    )


def _legend(shape: Shape, kinds: list[str], top: float) -> list[str]:
    """Each kind of link with its colour and the rates that occur."""
    parts = []
    for index, kind in enumerate(kinds):
        links = [link for link in shape.links if link.kind == kind]
        rates = sorted({link.bytes_per_s for link in links}, reverse=True)
        labels = list(dict.fromkeys(rate_text(rate) for rate in rates))[:4]
        widths = compress([f"x{w}" for w in sorted({link.width for link in links if link.width})])
        y = top + 20 * index
        assumed = "; dashed: assumed" if any(link.assumed for link in links) else ""
        words = (
            f"{LINKS[kind]}{' ' + widths if widths else ''}: {', '.join(labels)} each way{assumed}"
        )
        stroke = thickness(max(link.bytes_per_s for link in links))
        style = f'stroke="{COLOURS[kind]}" stroke-width="{stroke:.1f}"'
        parts.append(_swatch(links, y - 4, style) + text(LEFT + 46, y, words, size=12))
    return parts


def _swatch(links: list[Link], y: float, style: str) -> str:
    """A piece of line as the picture has them: solid, dashed, or one half of each."""
    assumed = {link.assumed for link in links}
    if len(assumed) > 1:
        return (
            f'<path d="M{LEFT},{y:.1f} h18" {style}/>'
            f'<path d="M{LEFT + 22},{y:.1f} h14" {style} {DASHES}/>'
        )
    return f'<path d="M{LEFT},{y:.1f} h36" {style}{" " + DASHES if True in assumed else ""}/>'
