"""Rows of the control bench through gRPC: a controller's port, and agents with a socket each."""

from __future__ import annotations

import statistics
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.engines import OURS
from harness.measure import Sample, Series
from harness.report import Row
from harness.work import Bar

PROGRAM = "rpc_bench"
ROUNDS_MOST = 7  # of a thousand creations each

NO_BAR = Bar()

Call = Callable[..., tuple[dict[str, Any], float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class RpcWork:
    """Creations of channels among one GPU of each of `servers` servers, of `agents` that joined.

    With one caller a creation waits for the one before, and the time is its median; with more, so
    many are under way at any time, and the time is that of a round divided by its creations.
    """

    name: str
    title: str
    servers: int
    channels: int  # of a round
    callers: int
    bar: Bar = NO_BAR
    agents: int = 64


WORKS = (
    RpcWork(
        name="rpc-one-2",
        title="gRPC: channel of 2 agents of 64",
        servers=2,
        channels=1000,
        callers=1,
    ),
    RpcWork(
        name="rpc-one-64",
        title="gRPC: channel of all 64 agents",
        servers=64,
        channels=200,
        callers=1,
    ),
    RpcWork(
        name="rpc-many-2",
        title="gRPC: channels of 2 agents, 32 at a time",
        servers=2,
        channels=2000,
        callers=32,
        bar=Bar(at_most_s=1e-3),  # 1,000 creations per second
    ),
    RpcWork(
        name="rpc-many-64",
        title="gRPC: channels of all 64 agents, 32 at a time",
        servers=64,
        channels=400,
        callers=32,
    ),
)


def rpc_row(call: Call, program: Path, work: RpcWork, row: Row) -> Row:
    """The row, measured. One caller needs fewer rounds, since each creation is a sample."""
    rounds = min(row["repeats"], ROUNDS_MOST if work.callers > 1 else 3)
    said, share = call(program, work.agents, work.servers, work.channels, work.callers, rounds)
    times: list[float] = said["samples_s"][OURS]
    series = Series([Sample(wall_s, share) for wall_s in times])
    row |= {"ours_s": series.median_s(), "disturbed": series.disturbed(), "threads": None}
    row |= {"repeats": rounds, "samples_s": {OURS: times}, "channels_per_s": 1 / series.median_s()}
    if work.callers == 1:
        cuts = statistics.quantiles(times, n=100, method="inclusive")
        row |= {"p50_s": cuts[49], "p99_s": cuts[98]}
        row["ours_spread"] = (cuts[74] - cuts[24]) / cuts[49]  # tails are what p99 is for
    else:
        row["ours_spread"] = series.spread()
    return row | {key: value for key, value in said.items() if key != "samples_s"}


def print_rates(row: Row) -> None:
    parts = [f"{row['channels_per_s']:,.0f} channels/s"]
    if "p99_s" in row:
        parts += [f"p50 {row['p50_s'] * 1e3:.2f} ms, p99 {row['p99_s'] * 1e3:.2f} ms"]
    print(f"      {', '.join(parts)}; {row['agents']} agents, {row['callers']} at a time")
