"""Servers and the network that joins them, without what topology.py does with them: it extends the
graph by plans, text and pictures, whose modules are given the graph.
"""

from __future__ import annotations

import json
from typing import Any

from crossdock.machines.topology_advice import Warning, warnings_of
from crossdock.machines.topology_shapes import Link, Shape, Vertex


class TopologyGraph:
    """What the engine wrote, as values."""

    def __init__(self, text: str, title: str, notes: tuple[tuple[str, str], ...] = ()) -> None:
        parsed: dict[str, Any] = json.loads(text)
        self._text = text
        self._knows_nic_direct = True
        self.title = title
        self.notes = notes  # (probe, what it could not tell)
        self.shapes = tuple(_shape(shape) for shape in parsed["shapes"])
        self.servers: tuple[tuple[str, Shape], ...] = tuple(
            (server["name"], self.shapes[server["shape"]]) for server in parsed["servers"]
        )

    def to_dict(self) -> dict[str, Any]:
        """The graph as its JSON file holds it; `Topology.file` reads it."""
        graph: dict[str, Any] = json.loads(self._text)
        return graph

    def to_json(self) -> str:
        """The same as text."""
        return self._text

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TopologyGraph) and self._identity() == other._identity()

    def __hash__(self) -> int:
        return hash(self._identity())

    def _identity(self) -> tuple[object, ...]:
        return self._text, self.title, self.notes, self._knows_nic_direct

    def warnings(self, shape: Shape) -> list[Warning]:
        """What of one kind of server will be slow, and the fix; the gravest first."""
        warnings_found = warnings_of(shape)
        return [w for w in warnings_found if self._knows_nic_direct or w.code != "no_nic_direct"]


def _shape(parsed: dict[str, Any]) -> Shape:
    links = tuple(
        Link(edge["from"], edge["to"], **{k: v for k, v in edge.items() if k not in ("from", "to")})
        for edge in parsed["edges"]
    )
    return Shape(tuple(Vertex(**vertex) for vertex in parsed["vertices"]), links)
