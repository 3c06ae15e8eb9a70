"""Plans as pictures (SVG): the machine in grey, and over it the ways of a transfer in colours, or
how busy an exchange keeps its links.

A transfer between two servers shows both, the source's turned round, with the network between
them: data go from left to right. Lines are the wider, the larger their share. An exchange shows the
server whose link is full first.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence
from html import escape
from itertools import pairwise

from crossdock.machines.topology_advice import rate_text
from crossdock.machines.topology_graph import TopologyGraph
from crossdock.machines.topology_picture import FAINT, LEFT, document, text, thickness
from crossdock.machines.topology_shapes import Link
from crossdock.machines.transfer_plans import PlannedExchange, PlannedTransfer, Way, server_of
from crossdock.machines.transfer_stage import QUIET, Lane, Point, Side, lane_of, pill
from crossdock.machines.transfers_text import (
    describe_exchange,
    describe_transfer,
    edges_text,
    exchange_headline,
    headline,
    size_text,
    time_text,
    wrapped,
)
from crossdock.sizes import format_seconds

# People who see colours differently can tell them apart too: Okabe and Ito's, the yellow darker.
COLOURS = (
    "#0072b2",
    "#d55e00",
    "#009e73",
    "#cc79a7",
    "#e69f00",
    "#56b4e9",
    "#7b52ab",
    "#8c8300",
)
FULL = "#c22f2f"
_WIDEST = 16.0  # pixels of all ways of a transfer together
_FULL_FROM = 0.995  # of the time of the fullest; loads of links that are alike differ by rounding
_CLEAR = 34.0  # pixels between two marks
_BUSY = ((0.0, "#b9c6d3"), (0.25, "#7fb2d0"), (0.5, "#e9b949"), (0.8, "#e8762c"), (1.0, FULL))


def draw_transfer(plan: PlannedTransfer) -> str:
    """The ways of a transfer, numbered as in its text."""
    servers = [server_of(plan.topology, end) for end in (plan.source, plan.destination)]
    if not _have_cpus(plan.topology, servers):
        return _listed(describe_transfer(plan))
    sides = _sides(plan.topology, servers)
    visited = {vertex for way in plan.ways for vertex in way.vertices}
    ends = {plan.source: "from", plan.destination: "to"}
    bottom = max(side.bottom for side in sides)
    legend = _ways_legend(plan, bottom + 30)
    title = headline(plan)
    below = f"{time_text(plan.size_bytes, plan.predicted_s)}; {plan.topology.title}"
    longest = max(len("".join(wrapped(way.vertices))) for way in plan.ways)
    width = max(_width_for(sides[-1].right, title, below), 2 * LEFT + 230 + 7.2 * longest)
    parts = [
        document(width, bottom + 30 + 20 * (len(legend) + 1)),
        text(LEFT, 32, title, size=18, weight=600),
        text(LEFT, 54, below, fill=FAINT),
    ]
    parts += [panel for side in sides for panel in side.panels()]
    parts += [line for side in sides for line in side.links()]
    parts += _bars(sides, visited)
    ways = _Ways(plan, sides)
    parts += ways.lines()
    parts += [device for side in sides for device in side.devices(visited, ends)]
    full = _full_places(plan, sides)
    parts += [pill(at, "full", FULL) for at in full]
    parts += ways.badges(full)
    return "\n".join([*parts, *legend, "</svg>", ""])


def draw_exchange(plan: PlannedExchange) -> str:
    """How long each link is busy, of the time of the fullest."""
    topology = plan.topology
    several = len(topology.servers) > 1
    server = server_of(topology, plan.bottleneck.start if "/" in plan.bottleneck.start
                       else plan.bottleneck.end)  # fmt: skip
    if not _have_cpus(topology, [server]):
        return _listed(describe_exchange(plan))
    (side,) = _sides(topology, [server])
    busy: defaultdict[frozenset[str], float] = defaultdict(float)
    for load in plan.loads:
        ends = frozenset(end.rpartition("/")[2] for end in (load.edge.start, load.edge.end))
        busy[ends] = max(busy[ends], load.busy_s / plan.links_s)
    kind = plan.endpoint_kind
    shown = {side.full(vertex.name) for vertex in side.shape.of_kind(kind)}
    where = f"shown: {server}, one of {plan.servers:,}" if several else topology.title
    title = f"{exchange_headline(plan)}: {plan.chosen.mode}, {plan.chosen.levels}"
    time = format_seconds(plan.chosen.predicted_s)
    size = size_text(plan.bytes_per_source)
    below = f"{size} from each in {time}, when nothing else moves; {where}"
    legend = _busy_legend(plan, side.bottom + 34)
    parts = [
        document(_width_for(side.right, title, below), side.bottom + 34 + 20 * (len(legend) + 1)),
        text(LEFT, 32, title, size=18, weight=600),
        text(LEFT, 54, below, fill=FAINT),
        *side.panels(),
    ]
    for link in sorted(side.shape.links, key=lambda link: busy[frozenset((link.start, link.end))]):
        part = busy[frozenset((link.start, link.end))]
        parts.append(_busy_line(side, link, part))
    parts += _bars([side], set())
    parts += side.devices(shown, {})
    for link in side.shape.links:
        lane = side.lane(link.start, link.end)
        if busy[frozenset((link.start, link.end))] > _FULL_FROM and lane is not None:
            parts.append(pill(lane.middle, "full", FULL))
    return "\n".join([*parts, *legend, "</svg>", ""])


def _width_for(right: float, title: str, below: str) -> float:
    """Room for the legend and both lines, in the widest fonts that browsers fall back to."""
    return max(right, 860, 2 * LEFT + 11 * len(title), 2 * LEFT + 7.9 * len(below))


def _have_cpus(topology: TopologyGraph, servers: Sequence[str]) -> bool:
    """Layouts go from CPU to CPU; a file may describe servers without one."""
    shapes = dict(topology.servers)
    return all(shapes[server].of_kind("cpu") for server in servers)


def _listed(words: str) -> str:
    """The plan in words, where no machine can be drawn."""
    lines = words.splitlines()
    elements = [text(LEFT, 34 + 20 * i, line) for i, line in enumerate(lines)]
    return "\n".join([document(860, 48 + 20 * len(lines)), *elements, "</svg>", ""])


def _sides(topology: TopologyGraph, servers: Sequence[str]) -> list[Side]:
    """One side for one server; two, joined at the network, for two."""
    shapes = dict(topology.servers)
    several = len(topology.servers) > 1
    names = list(dict.fromkeys(servers))
    first = Side(names[0] if several else "", shapes[names[0]], turned=len(names) > 1)
    if len(names) == 1:
        return [first]
    second = Side(names[1], shapes[names[1]])
    second.join(first)
    return [first, second]


def _bars(sides: list[Side], visited: set[str]) -> list[str]:
    """Networks and NVSwitches; the network that two sides share once, as tall as the taller."""
    tallest = max(sides, key=lambda side: side.bottom)
    return [
        side.bar(name, visited)
        for side in sides
        for name in side.bars
        if name != side.network or side is tallest
    ]


def _width(way: Way, plan: PlannedTransfer) -> float:
    return max(3.0, _WIDEST * way.flow_bytes_per_s / plan.bytes_per_s)


class _Ways:
    """The lines of all ways: side by side where they share a link or run along the same bar."""

    def __init__(self, plan: PlannedTransfer, sides: list[Side]) -> None:
        self.plan = plan
        self.users: defaultdict[frozenset[str], list[int]] = defaultdict(list)
        self.bar_users: defaultdict[str, list[int]] = defaultdict(list)
        for number, way in enumerate(plan.ways):
            for start, end in pairwise(way.vertices):
                self.users[frozenset((start, end))].append(number)
            for vertex in way.vertices[1:-1]:
                self.bar_users[vertex].append(number)
        self.lanes = [self._lanes(number, sides) for number in range(len(plan.ways))]

    def _lanes(self, number: int, sides: list[Side]) -> dict[tuple[str, str], Lane]:
        lanes = {}
        for start, end in pairwise(self.plan.ways[number].vertices):
            lane = lane_of(sides, start, end)
            if lane is not None:
                shared = self.users[frozenset((start, end))]
                widths = [_width(self.plan.ways[user], self.plan) + 1 for user in shared]
                place, half = shared.index(number), sum(widths) / 2
                offset = sum(widths[:place]) + widths[place] / 2 - half
                lanes[start, end] = lane.moved(offset, half if len(shared) > 1 else 0.0)
        return lanes

    def lines(self) -> list[str]:
        return [self._line(number, way) for number, way in enumerate(self.plan.ways)]

    def _line(self, number: int, way: Way) -> str:
        lanes = self.lanes[number]
        lines = [f'<path d="{lane.path}" {lane.transform}/>' for lane in lanes.values()]
        for (_, vertex), lane in lanes.items():
            after = next((lane for ends, lane in lanes.items() if ends[0] == vertex), None)
            if lane.bar is None or lane.bar_end is None or after is None or not after.bar_start:
                continue
            users = self.bar_users[vertex]
            part = (users.index(number) + 1) / (len(users) + 1)
            (x, y), (x2, y2) = lane.bar_end, after.bar_start
            along = lane.bar.x + lane.bar.width * part
            lines.append(f'<path d="M{x:.1f},{y:.1f} H{along:.1f} V{y2:.1f} H{x2:.1f}"/>')
        style = _line_style(number, way, self.plan)
        through = " ".join(wrapped(way.vertices))
        title = f"way {number + 1}: {rate_text(way.bytes_per_s)}, {through}"
        return f"<g {style}><title>{escape(title)}</title>{''.join(lines)}</g>"

    def badges(self, taken: list[Point]) -> list[str]:
        """The number of each way, on a link that few others use, away from other marks."""
        marks = []
        for number, lanes in enumerate(self.lanes):
            least = min((len(self.users[frozenset(ends)]) for ends in lanes), default=0)
            places = [
                place
                for ends, lane in lanes.items()
                if len(self.users[frozenset(ends)]) == least
                for place in (lane.middle, lane.early, lane.late)
            ]
            if places:
                taken.append(_apart_from(taken, places))
                marks.append(_badge(taken[-1], number))
        return marks


def _apart_from(others: list[Point], places: Sequence[Point]) -> Point:
    """The first of the places that is far enough from all others, or the farthest."""

    def distance(place: Point) -> float:
        return min((math.hypot(place[0] - x, place[1] - y) for x, y in others), default=_CLEAR)

    return max(places, key=lambda place: min(distance(place), _CLEAR))


def _line_style(number: int, way: Way, plan: PlannedTransfer) -> str:
    dashes = "" if way.flow_bytes_per_s else ' stroke-dasharray="6 5"'
    return (
        f'fill="none" stroke="{COLOURS[number % len(COLOURS)]}" '
        f'stroke-width="{_width(way, plan):.1f}" stroke-linejoin="round"{dashes}'
    )


def _badge(at: Point, number: int) -> str:
    x, y = at
    return (
        f'<circle cx="{x:.1f}" cy="{y:.1f}" r="9" fill="{COLOURS[number % len(COLOURS)]}" '
        'stroke="white" stroke-width="1.5"/>'
        + text(x, y + 4.2, str(number + 1), size=12, fill="white", anchor="middle", weight=600)
    )


def _full_places(plan: PlannedTransfer, sides: list[Side]) -> list[Point]:
    """Where the edges are that the flow fills."""
    places: list[Point] = []
    for edge in plan.bottlenecks:
        lane = lane_of(sides, edge.start, edge.end)
        if lane is not None:
            places.append(_apart_from(places, (lane.late, lane.middle, lane.early)))
    return places


def _ways_legend(plan: PlannedTransfer, top: float) -> list[str]:
    parts = []
    y = top
    for number, way in enumerate(plan.ways):
        style = _line_style(number, way, plan)
        share = rate_text(way.flow_bytes_per_s) if way.flow_bytes_per_s else "spare"
        relays = f", {way.relays} relay{'' if way.relays == 1 else 's'}" if way.relays else ""
        parts.append(
            f'<path d="M{LEFT},{y - 4:.1f} h36" {style}/>'
            + text(LEFT + 46, y, f"{number + 1}", size=12, weight=600)
            + text(LEFT + 66, y, f"{share}{relays}:  {' '.join(wrapped(way.vertices))}", size=12)
        )
        y += 20
    words = "the wider a line, the more of the bytes it takes; full links must become wider for"
    full = [f"full: {line}" for line in edges_text(plan.bottlenecks)]
    if not all(way.flow_bytes_per_s for way in plan.ways):
        full.append("dashed: spare, for bytes that find the other ways busy")
    for line in (f"{words} anything to be faster", *full):
        parts.append(text(LEFT, y, line, size=12, fill=FAINT))
        y += 20
    return parts


def busy_colour(part: float) -> str:
    """From grey to red, for 0 to 1."""
    for (low, first), (high, second) in pairwise(_BUSY):
        if part <= high:
            at = (part - low) / (high - low)
            channels = [
                round(int(first[i : i + 2], 16) * (1 - at) + int(second[i : i + 2], 16) * at)
                for i in (1, 3, 5)
            ]
            return "#" + "".join(f"{channel:02x}" for channel in channels)
    return FULL


def _busy_line(side: Side, link: Link, part: float) -> str:
    lane = side.lane(link.start, link.end)
    if lane is None:
        return ""
    colour = busy_colour(part) if part > 0 else QUIET
    width = thickness(link.bytes_per_s) if part > 0 else 1.5
    title = f"{link.start} and {link.end}: {rate_text(link.bytes_per_s)}, busy {part:.0%}"
    return (
        f'<path d="{lane.path}" {lane.transform} fill="none" stroke="{colour}" '
        f'stroke-width="{width:.1f}"><title>{escape(title)}</title></path>'
    )


def _busy_legend(plan: PlannedExchange, top: float) -> list[str]:
    steps = [i / 40 for i in range(41)]
    ramp = "".join(
        f'<rect x="{LEFT + 4 * i}" y="{top - 11:.1f}" width="4.5" height="12" '
        f'fill="{busy_colour(step)}"/>'
        for i, step in enumerate(steps)
    )
    two = plan.chosen.levels == "two levels"
    direct = "; what is handed to a neighbour first is not counted" if two else ""
    words = [
        f"colour: how long a link is busy, from none to the {format_seconds(plan.links_s)} of the "
        "fullest",
        "the wider a line, the more it carries per second; thin grey: not used" + direct,
        f"mode: {plan.mode_reason}",
        f"levels: {plan.levels_reason}",
    ]
    lines = [text(LEFT, top + 20 * i, line, size=12) for i, line in enumerate(words[1:], start=1)]
    return [ramp + text(LEFT + 176, top, words[0], size=12), *lines]
