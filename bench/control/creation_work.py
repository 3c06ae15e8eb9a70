"""Rows of the control bench without sockets: a controller and agents that hand over messages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines import OURS
from harness.measure import Sample, Series
from harness.report import Row
from harness.work import Bar

PROGRAM = "creation_bench"
ROUNDS_MOST = 7

Call = Callable[..., tuple[dict[str, Any], float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class CreationWork:
    """Creations of channels from `endpoints` random GPUs to the same, or from "all" to all.

    The time is that of a round divided by its creations; both ends run on one core.
    """

    name: str
    title: str
    endpoints: int | str
    creations: int  # of a round
    bar: Bar
    machine: str = "superpod-h100:64"


WORKS = (
    CreationWork(
        name="create-2",
        title="in one process: channel of 2 GPUs, 64 agents",
        endpoints=2,
        creations=1000,
        bar=Bar(at_most_s=1e-3),  # 1,000 creations per second
    ),
    CreationWork(
        name="create-512",
        title="in one process: channel of all 512 GPUs, 64 agents",
        endpoints="all",
        creations=200,
        bar=Bar(at_most_s=1e-3),
    ),
)


def creation_row(call: Call, program: Path, work: CreationWork, row: Row) -> Row:
    rounds = min(row["repeats"], ROUNDS_MOST)
    said, share = call(program, work.machine, work.endpoints, work.creations, rounds)
    times: list[float] = said["samples_s"][OURS]
    series = Series([Sample(wall_s, share) for wall_s in times])
    row |= {"ours_s": series.median_s(), "disturbed": series.disturbed()}
    row |= {"ours_spread": series.spread(), "repeats": rounds, "samples_s": {OURS: times}}
    row |= {"channels_per_s": 1 / series.median_s()}
    return row | {key: value for key, value in said.items() if key != "samples_s"}


def print_creations(row: Row) -> None:
    print(
        f"      {row['channels_per_s']:,.0f} channels/s; {row['ours_s'] * 1e6:.1f} us each, "
        f"{row['agents']} agents"
    )
