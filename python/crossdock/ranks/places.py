"""Where ranks are, and what exchanges among them should cost."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from crossdock import _native
from crossdock.errors import CrossdockError
from crossdock.machines.rates_file import entry_of_machine
from crossdock.plan.nodes import AssumeSorted, Filter, Node, Project, Scan
from crossdock.ranks.moves import EAGERLY
from crossdock.sizes import format_seconds


@dataclass(frozen=True)
class Places:
    """Where ranks are, as predictions see it. node_bytes_per_s: of a host's links, 0 for one
    host."""

    ranks: int
    ranks_per_node: int
    cores_per_node: int
    node_bytes_per_s: float = 0.0

    def phases(
        self,
        rows: float,
        row_bytes: float,
        wire_bytes: float,
        busiest_share: float = 0.0,
        *,
        into_partitions: bool = False,
        by_order: bool = False,
    ) -> dict[str, float]:
        """Seconds by phase of an exchange of so many rows of all ranks together."""
        return _native.predict_exchange(
            rows=float(rows), row_bytes=float(row_bytes), wire_bytes=float(wire_bytes),
            ranks=self.ranks, ranks_per_node=self.ranks_per_node,
            cores_per_node=self.cores_per_node, node_bytes_per_s=self.node_bytes_per_s,
            busiest_share=float(busiest_share), into_partitions=into_partitions, by_order=by_order,
        )  # fmt: skip

    def predicted(self, node: Node) -> tuple[int, float] | None:
        """Rows of all ranks, and seconds of an exchange, if each has as many as this one's source
        says, and none is left out on the way; None where that is not known."""
        while isinstance(node, Filter | Project | AssumeSorted):
            node = node.input
        if not isinstance(node, Scan) or (known := node.source.known_rows()) is None:
            return None
        try:
            row_bytes = sum(field.type.bit_width for field in node.schema) / 8
        except ValueError:  # strings, whose lengths are not known
            return None
        rows = known * self.ranks
        return rows, sum(self.phases(rows, row_bytes, row_bytes).values())


def places_of(hosts: list[str], node_bytes_per_s: float = 0.0) -> Places:
    """Of the host of each rank."""
    fullest = max(hosts.count(host) for host in set(hosts))
    rate = node_bytes_per_s if len(set(hosts)) > 1 else 0.0
    return Places(len(hosts), fullest, os.cpu_count() or 1, rate)


def measured_places(hosts: list[str]) -> Places:
    """The same, with the links' rate that `mpirun crossdock calibrate` measured, if it has."""
    entry: dict[str, Any] = {}
    with suppress(CrossdockError):  # a broken file has been reported where rates are read
        entry = entry_of_machine() or {}
    return places_of(hosts, float(entry.get("exchange", {}).get("node_bytes_per_s", 0.0)))


def predicted_moves(ranks: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """The exchanges of a profile, as all ranks reported them: rule, rows, what was predicted and
    how long the last rank took. `predicted_s` is None for channels, which no model covers."""
    places = measured_places([str(rank["host"]) for rank in ranks])
    return [
        {
            "rule": moves[0]["rule"],
            "how": moves[0].get("how", ""),
            "rows": sum(move["received_rows"] for move in moves),
            "predicted_s": predicted_move(moves, places),
            "measured_s": max(move["seconds"] for move in moves),
        }
        for moves in zip(*(rank["exchanges"] for rank in ranks), strict=True)
    ]


def predicted_move(moves: Sequence[Mapping[str, Any]], places: Places) -> float | None:
    """One exchange, from rows and bytes of each rank, and whom most came to."""
    if moves[0].get("how") != "in bulk":
        return None
    sent = sum(move["sent_rows"] for move in moves)
    received = [move["received_rows"] for move in moves]
    form = form_of(moves[0])
    # What a join's rows are is their words, wherever they lie; of a table it is what left.
    counted = "received" if form["into_partitions"] else "sent"
    counted_rows = sum(move[f"{counted}_rows"] for move in moves)
    row_bytes = sum(move[f"{counted}_bytes"] for move in moves) / max(counted_rows, 1)
    rows = max(sent, sum(received))  # more come than go where each goes to all
    busiest = max(received) / max(sum(received), 1)
    return sum(places.phases(rows, row_bytes, row_bytes, busiest, **form).values())


def form_of(move: Mapping[str, Any]) -> dict[str, bool]:
    """What the model has to know of how rows went."""
    return {
        "into_partitions": move["rule"] == "into partitions",
        "by_order": any(phase["name"] == "cut" for phase in move.get("phases", ())),
    }


def predicted_total(ranks: Sequence[Mapping[str, Any]]) -> float | None:
    """Seconds of a run over ranks: its exchanges, and the mean of what the ranks' own steps were
    predicted to take. None where an exchange is one that no model tells of; few rows that went with
    what ranks agreed on took no time of their own."""
    moves = [move["predicted_s"] for move in predicted_moves(ranks) if move["how"] != EAGERLY]
    if None in moves:
        return None
    return float(sum(moves) + sum(rank["predicted_s"] for rank in ranks) / len(ranks))


def prediction_lines(moves: Sequence[Mapping[str, Any]]) -> list[str]:
    """Of those that are predicted."""
    return [
        f"exchange {move['rule']}: predicted {format_seconds(move['predicted_s'])}, took "
        f"{format_seconds(move['measured_s'])}"
        for move in moves
        if move["predicted_s"] is not None
    ]
