"""Which links a transfer or an exchange would use on a machine, and how long it would take.

    topology = Topology.machine("dgx-a100:2")
    topology.plan("node0/gpu0", "node1/gpu5", "64GiB").predicted_s
    topology.plan_exchange("16GiB").chosen

Plans are made by the optimizer of the engine from the capacities of links, not from what is free
now. Nothing is moved. Values are immutable; safe from any thread.
"""

from __future__ import annotations

import copy
import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossdock import _native
from crossdock.errors import make_error, nearest, public_errors
from crossdock.sizes import format_bytes, format_seconds, parse_bytes

if TYPE_CHECKING:
    from crossdock.machines.topology import Topology


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
class ForwardingTable:
    """What a managed vertex does with rows for a destination."""

    vertex: str
    entries: tuple[TableEntry, ...]

    def text(self) -> str:
        from crossdock.machines.transfers_text import describe_table

        return describe_table(self)


@dataclass(frozen=True)
class _Planned:
    """What every plan has; `data` is the plan as plain values. Plans are equal that say the same
    about equal topologies."""

    topology: Topology = field(repr=False)
    data: dict[str, Any] = field(repr=False, compare=False)  # the fields below hold it all
    _channel: _native.ChannelPlan = field(repr=False, compare=False)

    def to_dict(self) -> dict[str, Any]:
        """The plan as `crossdock plan --json` prints it, without the schema_version."""
        return copy.deepcopy(self.data)

    def _tables_of(self, server: str) -> list[ForwardingTable]:
        with public_errors():
            parsed = json.loads(self._channel.tables(server))
        return [
            ForwardingTable(table["vertex"], tuple(_entry(entry) for entry in table["entries"]))
            for table in parsed["tables"]
        ]


@dataclass(frozen=True, repr=False)
class TransferPlan(_Planned):
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

    def __repr__(self) -> str:
        from crossdock.machines.transfers_text import headline

        time = format_seconds(self.predicted_s)
        return f"TransferPlan({headline(self)}; {format_bytes(self.size_bytes)} in {time})"

    def tables(self) -> list[ForwardingTable]:
        """The forwarding tables of all vertices that send or relay, from the source's server on."""
        ends = (self.source, self.destination)
        servers = dict.fromkeys(server_of(self.topology, end) for end in ends)
        return [table for server in servers for table in self._tables_of(server)]

    def table(self, vertex: str) -> ForwardingTable:
        """The table of one of them. Error: TopologyError (it forwards nothing)."""
        return _named(self.topology, self.tables(), vertex)

    def text(self) -> str:
        from crossdock.machines.transfers_text import describe_transfer

        return describe_transfer(self)

    def svg(self) -> str:
        """The plan drawn over the machine."""
        from crossdock.machines.transfers_picture import draw_transfer

        return draw_transfer(self)


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
class ExchangePlan(_Planned):
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

    def __repr__(self) -> str:
        return (
            f"ExchangePlan({self.endpoints:,} x {self.endpoint_kind} on {self.servers:,} x server: "
            f"{format_bytes(self.bytes_per_source)} each, {self.chosen.mode}, "
            f"{self.chosen.levels}, in {format_seconds(self.chosen.predicted_s)})"
        )

    def tables(self) -> list[ForwardingTable]:
        """The forwarding tables of the first of every kind of server that is planned once."""
        return [table for alike in self.server_plans for table in self._tables_of(alike.first)]

    def table(self, vertex: str) -> ForwardingTable:
        """The table of any vertex. Error: TopologyError (it forwards nothing)."""
        tables = self._tables_of(server_of(self.topology, vertex))
        return _named(self.topology, tables, vertex)

    def text(self) -> str:
        from crossdock.machines.transfers_text import describe_exchange

        return describe_exchange(self)

    def svg(self) -> str:
        """The plan drawn over the machine."""
        from crossdock.machines.transfers_picture import draw_exchange

        return draw_exchange(self)


def plan_transfer(
    topology: Topology, source: str, destination: str, size: str | int
) -> TransferPlan:
    """See Topology.plan."""
    size_bytes = parse_bytes(size, "bytes")
    with public_errors():
        channel = _native.ChannelPlan.between(topology.to_json(), source, destination)
        data: dict[str, Any] = json.loads(channel.transfer(float(size_bytes)))
    return TransferPlan(
        topology,
        data,
        channel,
        source=data["source"],
        destination=data["destination"],
        size_bytes=size_bytes,
        bytes_per_s=data["bytes_per_s"],
        latency_s=data["latency_s"],
        predicted_s=data["predicted_s"],
        bottlenecks=tuple(_edge(edge) for edge in data["bottlenecks"]),
        ways=tuple(Way(**{**way, "vertices": tuple(way["vertices"])}) for way in data["ways"]),
    )


def plan_exchange(topology: Topology, size: str | int) -> ExchangePlan:
    """See Topology.plan_exchange."""
    size_bytes = parse_bytes(size, "bytes")
    with public_errors():
        channel = _native.ChannelPlan.among_all(topology.to_json())
        data: dict[str, Any] = json.loads(channel.exchange(float(size_bytes)))
    return ExchangePlan(
        topology,
        data,
        channel,
        endpoint_kind=data["endpoint_kind"],
        endpoints=data["sources"],
        servers=data["servers"],
        server_plans=tuple(ServersAlike(**alike) for alike in data["server_plans"]),
        plan_bytes=data["plan_bytes"],
        bytes_per_source=size_bytes,
        links_s=data["links_s"],
        bottleneck=_edge(data["bottleneck"]),
        chosen=ExchangeForm(**data["chosen"]),
        considered=tuple(ExchangeForm(**form) for form in data["considered"]),
        mode_reason=data["mode_reason"],
        levels_reason=data["levels_reason"],
        loads=tuple(LinkLoad(_edge(load), load["busy_s"]) for load in data["loads"]),
    )


def server_of(topology: Topology, vertex: str) -> str:
    """The server in "node0/gpu0"; the only one for "gpu0"."""
    return vertex.partition("/")[0] if "/" in vertex else topology.servers[0][0]


def _edge(edge: dict[str, Any]) -> Edge:
    return Edge(edge["from"], edge["to"], edge["kind"], edge["bytes_per_s"], edge["assumed"])


def _entry(entry: dict[str, Any]) -> TableEntry:
    hops = [
        NextHop(
            hop["next"],
            tuple(HopPath(**{**path, "between": tuple(path["between"])}) for path in hop["paths"]),
        )
        for hop in entry["next_hops"]
    ]
    return TableEntry(entry["destination"], entry["servers"], tuple(hops))


def _named(topology: Topology, tables: list[ForwardingTable], vertex: str) -> ForwardingTable:
    for table in tables:
        if table.vertex == vertex:
            return table
    names = [table.vertex for table in tables]
    close = nearest(vertex, names)
    shape = dict(topology.servers).get(server_of(topology, vertex))
    name = vertex.rpartition("/")[2]
    is_there = shape is not None and any(known.name == name for known in shape.vertices)
    raise make_error(
        "CD-601",
        f"{vertex!r} has no forwarding table: it sends and relays nothing in this plan"
        if is_there
        else f"there is no vertex {vertex!r}",
        tables=", ".join(names),
        try_=repr(close) if close else "one of the vertices above",
    )
