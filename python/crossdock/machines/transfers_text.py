"""Plans of transfers and exchanges, and forwarding tables, as text."""

from __future__ import annotations

import textwrap
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

from crossdock.machines.topology_advice import rate_text
from crossdock.machines.topology_text import KINDS, LINKS, compress
from crossdock.machines.transfer_plans import (
    Edge,
    PlannedExchange,
    PlannedTransfer,
    VertexTable,
)
from crossdock.reports.display import align
from crossdock.sizes import format_bytes, format_count, format_seconds

ARROW = " → "
_THROUGH_WIDTH = 64  # of the last column; four short ones stand before it
_REASON_WIDTH = 86


def describe_transfer(plan: PlannedTransfer) -> str:
    """The ways with their rates and shares, the bottlenecks, and the time."""
    rows = [("way", "carries", "share", "relays", "through")]
    for number, way in enumerate(plan.ways, start=1):
        share = rate_text(way.flow_bytes_per_s) if way.flow_bytes_per_s else "spare"
        first, *rest = wrapped(way.vertices)
        rows.append((str(number), rate_text(way.bytes_per_s), share, str(way.relays), first))
        rows += [("", "", "", "", line) for line in rest]
    full = edges_text(plan.bottlenecks)
    facts = [("full" if text is full[0] else "", text) for text in full]
    facts.append(("time", time_text(plan.size_bytes, plan.predicted_s)))
    ways = align(rows, right=frozenset({1, 2, 3}))
    return "\n".join([headline(plan), "", *ways, "", *align(facts)])


def headline(plan: PlannedTransfer) -> str:
    """ "gpu0 to gpu5: 332 GB/s over 2 ways"."""
    return (
        f"{plan.source} to {plan.destination}: {rate_text(plan.bytes_per_s)} over {ways_text(plan)}"
    )


def ways_text(plan: PlannedTransfer) -> str:
    """ "2 ways", "2 ways, 7 spare"."""
    used = sum(way.flow_bytes_per_s > 0 for way in plan.ways)
    spare = f", {len(plan.ways) - used} spare" if used < len(plan.ways) else ""
    return count_text(used, "way") + spare


def time_text(size_bytes: int, seconds: float) -> str:
    return f"{size_text(size_bytes)} in {format_seconds(seconds)}, when nothing else moves"


def describe_exchange(plan: PlannedExchange) -> str:
    """The chosen form and why, what the links need, and the forms considered."""
    kinds = count_text(len(plan.server_plans), "kind")
    rows = []
    for label, text in (
        ("each sends", f"{size_text(plan.bytes_per_source)}, spread evenly over all"),
        ("links need", format_seconds(plan.links_s)),
        ("full first", edges_text([plan.bottleneck])[0]),
        ("mode", plan.mode_reason),
        ("levels", plan.levels_reason),
        ("time", f"{format_seconds(plan.chosen.predicted_s)}, when nothing else moves"),
        ("plan", f"{format_bytes(plan.plan_bytes)}, for {kinds} of server"),
    ):
        first, *rest = textwrap.wrap(text, _REASON_WIDTH)
        rows += [(label, first), *(("", line) for line in rest)]
    forms = [("form", "messages", "time")]
    for form in plan.considered:
        if form.possible:
            size = decimal_text(form.message_bytes)
            forms.append((f"{form.mode}, {form.levels}", size, format_seconds(form.predicted_s)))
    lines = [*align(rows), "", *align(forms, right=frozenset({1, 2}))]
    return "\n".join([exchange_headline(plan), "", *lines])


def exchange_headline(plan: PlannedExchange) -> str:
    """ "104 GPUs on 13 servers, all to all"."""
    kind = KINDS[plan.endpoint_kind][0]
    endpoints, servers = count_text(plan.endpoints, kind), count_text(plan.servers, "server")
    return f"{endpoints} on {servers}, all to all"


def describe_table(table: VertexTable) -> str:
    """A line per path, grouped by destination and next hop."""
    rows = [("to", "next hop", "carries", "hops left", "through")]
    for entry in table.entries:
        several = f" ({entry.servers:,} servers)" if entry.servers > 1 else ""
        destination = entry.destination + several
        for hop in entry.next_hops:
            name = hop.next
            for path in hop.paths:
                first, *rest = wrapped(path.between) if path.between else ["(their own link)"]
                rate = rate_text(path.bytes_per_s)
                rows.append((destination, name, rate, str(path.hops_left), first))
                rows += [("", "", "", "", line) for line in rest]
                destination = name = ""
    lines = align(rows, right=frozenset({2, 3}))
    return "\n".join([f"forwarding table of {table.vertex}", "", *lines])


def wrapped(vertices: Sequence[str]) -> list[str]:
    """ "node0/gpu0 → nic0 → network → node1/nic0 → gpu0": a server is named where it is entered."""
    lines: list[str] = []
    for step in _steps(vertices):
        if lines and len(lines[-1]) + len(ARROW) + len(step) <= _THROUGH_WIDTH:
            lines[-1] += ARROW + step
        else:
            lines.append(ARROW.lstrip() + step if lines else step)
    return lines


def _steps(vertices: Sequence[str]) -> Iterator[str]:
    server = ""
    for vertex in vertices:
        owner, slash, name = vertex.rpartition("/")
        yield name if slash and owner == server else vertex
        server = owner or server


def edges_text(edges: Iterable[Edge]) -> list[str]:
    """ "gpu0 → nvswitch: NVLink, 300 GB/s"; edges to one end, or from one, that carry the same, in
    one line: "node0/nic0-7 → network: 25 GB/s each"."""
    to_one: defaultdict[tuple[str, str], list[Edge]] = defaultdict(list)
    for edge in edges:
        to_one[edge.end, _carried(edge)].append(edge)
    groups: defaultdict[tuple[str, str], list[str]] = defaultdict(list)
    lines = []
    for (end, carried), alike in to_one.items():
        if len(alike) > 1:
            starts = compress([edge.start for edge in alike])
            lines.append(f"{starts}{ARROW}{end}: {carried} each")
        else:
            groups[alike[0].start, carried].append(end)
    for (start, carried), ends in groups.items():
        each = " each" if len(ends) > 1 else ""
        lines.append(f"{start}{ARROW}{compress(ends)}: {carried}{each}")
    return lines


def _carried(edge: Edge) -> str:
    kind = "" if edge.kind == "network" else f"{LINKS[edge.kind]}, "
    return f"{kind}{rate_text(edge.bytes_per_s)}{', assumed' if edge.assumed else ''}"


def size_text(size_bytes: int) -> str:
    """In binary units what is a multiple of them, and in decimal ones what is not."""
    return format_bytes(size_bytes) if size_bytes % 1024 == 0 else decimal_text(size_bytes)


def decimal_text(size_bytes: float) -> str:
    """ "16.8 MB"."""
    number, _, unit = format_count(size_bytes).partition(" ")
    return f"{number} {unit}B"


def count_text(number: int, word: str) -> str:
    return f"{number:,} {word}{'' if number == 1 else 's'}"
