"""Topologies as text: a tree of what hangs on what, and a table of the links beside the tree."""

from __future__ import annotations

import re
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Sequence

from crossdock.machines.topology_advice import rate_text
from crossdock.machines.topology_graph import TopologyGraph
from crossdock.machines.topology_shapes import Link, Shape, Vertex
from crossdock.reports.display import align
from crossdock.sizes import format_bytes

KINDS = {
    "cpu": ("CPU", "CPUs"),
    "gpu": ("GPU", "GPUs"),
    "nic": ("NIC", "NICs"),
    "pcie_switch": ("PCIe switch", "PCIe switches"),
    "nvswitch": ("NVSwitch fabric", "NVSwitch fabrics"),
    "drive": ("drive", "drives"),
    "network": ("network", "networks"),
}
LINKS = {
    "pcie": "PCIe",
    "nvlink": "NVLink",
    "c2c": "NVLink-C2C",
    "socket": "between sockets",
    "nic_direct": "NIC-direct",
    "network": "network",
}
_WIDTH = 100
_NUMBERED = re.compile(r"(.*?)([0-9]+)")


def describe(topology: TopologyGraph) -> str:
    """The whole text: for each kind of server its tree, links and warnings; then the notes."""
    parts = [topology.title]
    groups: defaultdict[int, list[str]] = defaultdict(list)
    for name, shape in topology.servers:
        groups[topology.shapes.index(shape)].append(name)
    for index, names in groups.items():
        shape = topology.shapes[index]
        several = f" ({len(names)} servers that look alike)" if len(names) > 1 else ""
        parts.append(f"{compress(names)}{several}: {summary(shape)}")
        parts.append("\n".join(tree(shape)))
        parts.append("\n".join(link_table(shape)))
        warned = [f"{w.where}: {w.what}\nfix: {w.fix}" for w in topology.warnings(shape)]
        parts.append("\n".join(_block("warn", text) for text in warned))
    parts.append("\n".join(_block("note", f"{probe}: {what}") for probe, what in topology.notes))
    return "\n\n".join(part for part in parts if part)


def _block(label: str, text: str) -> str:
    lines = []
    for index, line in enumerate(text.split("\n")):
        indent = " " * 9
        first = f"{label:<9}" if index == 0 else indent
        lines.append(
            textwrap.fill(line.strip(), _WIDTH, initial_indent=first, subsequent_indent=indent)
        )
    return "\n".join(lines)


def summary(shape: Shape) -> str:
    """ "2 CPUs, 8 GPUs, 4 PCIe switches"."""
    counts = shape.counts()
    return ", ".join(
        f"{counts[kind]} {one if counts[kind] == 1 else many}"
        for kind, (one, many) in KINDS.items()
        if counts[kind] and kind != "network"
    )


def compress(names: Sequence[str]) -> str:
    """ "gpu0-7" for gpu0 to gpu7, "node08-11" for node08 to node11; others as they are,
    with commas between. No name is changed: leading zeros need numbers of one length."""
    runs: list[tuple[str, str, str] | str] = []
    for name in names:
        match = _NUMBERED.fullmatch(name)
        if match is None:
            runs.append(name)
            continue
        stem, digits = match.groups()
        last = runs[-1] if runs else None
        if isinstance(last, tuple) and last[0] == stem and _continues(last[1], last[2], digits):
            runs[-1] = (stem, last[1], digits)
        else:
            runs.append((stem, digits, digits))
    return ", ".join(
        run if isinstance(run, str) else f"{run[0]}{run[1]}" + (f"-{run[2]}" * (run[2] != run[1]))
        for run in runs
    )


def _continues(first: str, last: str, digits: str) -> bool:
    """Whether digits come next in the run from `first` to `last`, written as these are."""
    is_padded = any(len(number) > 1 and number[0] == "0" for number in (first, digits))
    return int(last) + 1 == int(digits) and (not is_padded or len(first) == len(digits))


def parents_of(shape: Shape) -> dict[str, Link]:
    """What each device hangs on: its link towards the CPU, found from the CPUs outwards."""
    parents: dict[str, Link] = {}
    seen = {cpu.name for cpu in shape.of_kind("cpu")}
    kinds = {vertex.name: vertex.kind for vertex in shape.vertices}
    frontier = sorted(seen)
    while frontier:
        reached: list[str] = []
        for name in frontier:
            for link in shape.links_of(name, "pcie", "c2c", "nvlink"):
                other = link.other(name)
                # NVLinks belong to the tree only where they lead from a CPU to its GPU.
                is_branch = link.kind != "nvlink" or kinds[name] == "cpu"
                if is_branch and other not in seen:
                    seen.add(other)
                    parents[other] = link
                    reached.append(other)
        frontier = reached
    return parents


def tree(shape: Shape) -> list[str]:
    """Lines of the tree, with the link of each device to what it hangs on."""
    parents = parents_of(shape)
    children: defaultdict[str, list[Vertex]] = defaultdict(list)
    for vertex in shape.vertices:
        if vertex.name in parents:
            children[parents[vertex.name].other(vertex.name)].append(vertex)

    def below(name: str, indent: str) -> Iterator[tuple[str, str, str]]:
        for index, child in enumerate(children[name]):
            is_last = index == len(children[name]) - 1
            head = indent + ("└─ " if is_last else "├─ ")
            yield head + child.name, link_text(parents[child.name]), facts(child)
            yield from below(child.name, indent + ("   " if is_last else "│  "))

    rows: list[tuple[str, str, str]] = []
    for cpu in shape.of_kind("cpu"):
        rows += [(cpu.name, "", facts(cpu)), *below(cpu.name, "")]
    loose = [v for v in shape.of_kind("gpu", "nic", "drive") if v.name not in parents]
    rows += [(vertex.name, "hangs on nothing", facts(vertex)) for vertex in loose]
    return align(rows)


def _ends(link: Link) -> tuple[str, str]:
    """The end to sort lines by first: a NIC before the GPUs that it reaches."""
    return (link.end, link.start) if link.kind == "nic_direct" else (link.start, link.end)


def link_text(link: Link) -> str:
    """ "PCIe x16, 31.5 GB/s"."""
    text = rate_and_width(link)
    return f"{LINKS[link.kind]}{' ' if text.startswith('x') else ', '}{text}"


def rate_and_width(link: Link) -> str:
    """ "x16, 31.5 GB/s", "20 GB/s, assumed"."""
    width = f"x{link.width}" if link.width else ""
    if width and (link.full_width or 0) > (link.width or 0):
        width += f" of {link.full_width}"
    parts = [width, rate_text(link.bytes_per_s), "assumed" if link.assumed else ""]
    return ", ".join(part for part in parts if part)


def facts(vertex: Vertex) -> str:
    size = format_bytes(vertex.memory_bytes) if vertex.memory_bytes else ""
    rail = f"rail {vertex.rail}" if vertex.rail is not None else ""
    return ", ".join(part for part in (vertex.model, size, rail, vertex.bus_id) if part)


def link_table(shape: Shape) -> list[str]:
    """Links that the tree does not show, those that are alike in one line."""
    parents = {id(link) for link in parents_of(shape).values()}
    groups: defaultdict[tuple[str, str, str], list[Link]] = defaultdict(list)
    hubs = {vertex.name for vertex in shape.of_kind("nvswitch", "network")}
    for link in shape.links:
        if id(link) not in parents:
            hub = next((name for name in (link.start, link.end) if name in hubs), "")
            groups[link.kind, hub, rate_and_width(link)].append(link)
    rows = [("link", "between", "each way")] if groups else []
    for (kind, hub, text), links in groups.items():
        ends: defaultdict[str, list[str]] = defaultdict(list)
        for link in links:
            near, far = (hub, link.other(hub)) if hub else _ends(link)
            ends[near].append(far)
        for near, far_ends in ends.items():
            first, second = compress(far_ends), near
            between = f"{first} and {second}" if hub else f"{second} and {first}"
            rows.append((LINKS[kind], between, text))
    return align(rows) if rows else []
