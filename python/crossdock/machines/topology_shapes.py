"""What a server is made of, as graphs of machines have it."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass


@dataclass(frozen=True)
class Vertex:
    """A device. Unknown strings are "", unknown numbers None."""

    name: str
    kind: str  # cpu, gpu, nic, pcie_switch, nvswitch, drive, network
    model: str = ""
    bus_id: str = ""
    numa_node: int | None = None
    rail: int | None = None
    memory_bytes: int | None = None


@dataclass(frozen=True)
class Link:
    """What joins two devices. One way only if `both_ways` is false."""

    start: str
    end: str
    kind: str  # pcie, nvlink, c2c, socket, nic_direct, network
    bytes_per_s: float
    latency_s: float | None = None
    width: int | None = None
    full_width: int | None = None
    assumed: bool = False
    both_ways: bool = True

    def other(self, name: str) -> str:
        return self.end if name == self.start else self.start


@dataclass(frozen=True)
class Shape:
    """The inside of a server; servers that look alike share one."""

    vertices: tuple[Vertex, ...]
    links: tuple[Link, ...]

    def of_kind(self, *kinds: str) -> list[Vertex]:
        return [vertex for vertex in self.vertices if vertex.kind in kinds]

    def links_of(self, name: str, *kinds: str) -> list[Link]:
        return [
            link
            for link in self.links
            if name in (link.start, link.end) and (not kinds or link.kind in kinds)
        ]

    def counts(self) -> Counter[str]:
        return Counter(vertex.kind for vertex in self.vertices)
