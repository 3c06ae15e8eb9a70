"""What a planned transfer or exchange is, as values. transfers.py makes plans and extends them by
text, pictures and tables, whose modules are given these.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import Any

from crossdock import _native
from crossdock.machines.topology_graph import TopologyGraph


@dataclass(frozen=True)
class Edge:
    """A link in one direction. `assumed`: no probe or document gave its rate."""

    start: str
    end: str
    kind: str
    bytes_per_s: float
    assumed: bool = False


@dataclass(frozen=True)
class Way:
    """How data can go: through these vertices, both ends included.

    `bytes_per_s` is what its narrowest edge carries, `flow_bytes_per_s` its share when source and
    destination have the machine for themselves; `relays` are the CPUs and GPUs in between, which
    take data in and send them on.
    """

    vertices: tuple[str, ...]
    relays: int
    bytes_per_s: float
    flow_bytes_per_s: float
    latency_s: float


@dataclass(frozen=True)
class HopPath:
    """What lies between a vertex and its next hop. `hops_left` counts the hops from here to the
    destination, this one included, on the shortest way that begins like this."""

    between: tuple[str, ...]
    bytes_per_s: float
    latency_s: float
    hops_left: int


@dataclass(frozen=True)
class NextHop:
    next: str
    paths: tuple[HopPath, ...]


@dataclass(frozen=True)
class TableEntry:
    """How to go on to a destination; "*/gpu0" stands for gpu0 on each of `servers` servers."""

    destination: str
    servers: int
    next_hops: tuple[NextHop, ...]


@dataclass(frozen=True)
class VertexTable:
    """What a managed vertex does with rows for a destination."""

    vertex: str
    entries: tuple[TableEntry, ...]


@dataclass(frozen=True)
class _Planned:
    """What every plan has; `data` is the plan as plain values. Plans are equal that say the same
    about equal topologies."""

    topology: TopologyGraph = field(repr=False)
    data: dict[str, Any] = field(repr=False, compare=False)  # the fields below hold it all
    _channel: _native.ChannelPlan = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The plan as `crossdock plan --json` prints it, without the schema_version."""
        return copy.deepcopy(self.data)


@dataclass(frozen=True, repr=False)
class PlannedTransfer(_Planned):
    """From one device to another: all ways, what bounds them, and the time when nothing else moves.

    `bottlenecks` are the edges that the flow fills: to move bytes faster, these must be wider.
    """

    source: str
    destination: str
    size_bytes: int
    bytes_per_s: float
    latency_s: float
    predicted_s: float
    bottlenecks: tuple[Edge, ...]
    ways: tuple[Way, ...]


@dataclass(frozen=True)
class ExchangeForm:
    """`mode` is "streaming" or "bulk", `levels` "one level" or "two levels"."""

    mode: str
    levels: str
    message_bytes: float
    predicted_s: float
    possible: bool


@dataclass(frozen=True)
class ServersAlike:
    """Servers for which an exchange is planned once."""

    first: str
    servers: int


@dataclass(frozen=True)
class LinkLoad:
    """How long an edge is busy with an exchange."""

    edge: Edge
    busy_s: float


@dataclass(frozen=True, repr=False)
class PlannedExchange(_Planned):
    """Every endpoint sends to every other: the form, why, and what the links have to carry.

    `links_s` is how long the fullest edge, the bottleneck, is busy; `predicted_s` of the chosen
    form adds what messages and arranging rows cost. `loads` are of the server with that edge,
    for rows sent directly: what two levels hand to a neighbour first comes on top.
    """

    endpoint_kind: str  # "gpu" or "cpu"
    endpoints: int
    servers: int
    server_plans: tuple[ServersAlike, ...]
    plan_bytes: int
    bytes_per_source: int
    links_s: float
    bottleneck: Edge
    chosen: ExchangeForm
    considered: tuple[ExchangeForm, ...]
    mode_reason: str
    levels_reason: str
    loads: tuple[LinkLoad, ...]


def server_of(topology: TopologyGraph, vertex: str) -> str:
    """The server in "node0/gpu0"; the only one for "gpu0"."""
    return vertex.partition("/")[0] if "/" in vertex else topology.servers[0][0]
