"""Which links a transfer or an exchange would use on a machine, and how long it would take.

    topology = Topology.machine("dgx-a100:2")
    topology.plan("node0/gpu0", "node1/gpu5", "64GiB").predicted_s
    topology.plan_exchange("16GiB").chosen

Plans are made by the optimizer of the engine from the capacities of links, not from what is free
now. Nothing is moved. Values are immutable; safe from any thread.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from crossdock import _native
from crossdock.errors import make_error, nearest, public_errors
from crossdock.machines.topology_graph import TopologyGraph
from crossdock.machines.transfer_plans import (
    Edge,
    ExchangeForm,
    HopPath,
    LinkLoad,
    NextHop,
    PlannedExchange,
    PlannedTransfer,
    ServersAlike,
    TableEntry,
    VertexTable,
    Way,
    server_of,
)
from crossdock.sizes import format_bytes, format_seconds, parse_bytes


@dataclass(frozen=True)
class ForwardingTable(VertexTable):
    """What a managed vertex does with rows for a destination, and how it reads."""

    def text(self) -> str:
        from crossdock.machines.transfers_text import describe_table

        return describe_table(self)


@dataclass(frozen=True, repr=False)
class TransferPlan(PlannedTransfer):
    """From one device to another: all ways, what bounds them, and the time when nothing else moves.

    `bottlenecks` are the edges that the flow fills: to move bytes faster, these must be wider.
    """

    def __repr__(self) -> str:
        from crossdock.machines.transfers_text import headline

        time = format_seconds(self.predicted_s)
        return f"TransferPlan({headline(self)}; {format_bytes(self.size_bytes)} in {time})"

    def tables(self) -> list[ForwardingTable]:
        """The forwarding tables of all vertices that send or relay, from the source's server on."""
        ends = (self.source, self.destination)
        servers = dict.fromkeys(server_of(self.topology, end) for end in ends)
        return [table for server in servers for table in _tables_of(self._channel, server)]

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


@dataclass(frozen=True, repr=False)
class ExchangePlan(PlannedExchange):
    """Every endpoint sends to every other: the form, why, and what the links have to carry."""

    def __repr__(self) -> str:
        return (
            f"ExchangePlan({self.endpoints:,} x {self.endpoint_kind} on {self.servers:,} x server: "
            f"{format_bytes(self.bytes_per_source)} each, {self.chosen.mode}, "
            f"{self.chosen.levels}, in {format_seconds(self.chosen.predicted_s)})"
        )

    def tables(self) -> list[ForwardingTable]:
        """The forwarding tables of the first of every kind of server that is planned once."""
        return [
            table for alike in self.server_plans for table in _tables_of(self._channel, alike.first)
        ]

    def table(self, vertex: str) -> ForwardingTable:
        """The table of any vertex. Error: TopologyError (it forwards nothing)."""
        tables = _tables_of(self._channel, server_of(self.topology, vertex))
        return _named(self.topology, tables, vertex)

    def text(self) -> str:
        from crossdock.machines.transfers_text import describe_exchange

        return describe_exchange(self)

    def svg(self) -> str:
        """The plan drawn over the machine."""
        from crossdock.machines.transfers_picture import draw_exchange

        return draw_exchange(self)


def plan_transfer(
    topology: TopologyGraph, source: str, destination: str, size: str | int
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


def plan_exchange(topology: TopologyGraph, size: str | int) -> ExchangePlan:
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


def _tables_of(channel: _native.ChannelPlan, server: str) -> list[ForwardingTable]:
    with public_errors():
        parsed = json.loads(channel.tables(server))
    return [
        ForwardingTable(table["vertex"], tuple(_entry(entry) for entry in table["entries"]))
        for table in parsed["tables"]
    ]


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


def _named(topology: TopologyGraph, tables: list[ForwardingTable], vertex: str) -> ForwardingTable:
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
