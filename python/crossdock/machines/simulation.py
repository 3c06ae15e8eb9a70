"""Joins simulated on machines that one does not have.

    xd.simulate("1e9 x 4e9, 16 B", machine="superpod-h100:128").planned.seconds
    xd.simulate("2e8 x 8e8 each", machine="superpod-a100:128", sweep="gpus=8..1024").text()

Ranks compute by the models' formulas and exchange rows over the planner's own paths, in virtual
time; no row is made and nothing is moved. Safe from any thread.
"""

from __future__ import annotations

import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from crossdock import _native
from crossdock.errors import make_error, public_errors
from crossdock.machines.simulated_joins import (
    NO_FAULTS,
    PLANNED,
    ROWS_MAX,
    Faults,
    JoinSize,
    Outcome,
    SimulatedJoins,
    SimulatedLink,
    Strategy,
    strategies,
)
from crossdock.machines.simulated_ranks import RankRates, rates_for, rates_named
from crossdock.machines.topology import Topology

_POINTS_MAX = 64


@dataclass(frozen=True, repr=False)
class Simulation(SimulatedJoins):
    """What came out, by point of the sweep and then by strategy, the planned one first."""

    def text(self) -> str:
        """What `crossdock simulate` prints."""
        from crossdock.machines.simulation_text import describe

        return describe(self)

    def svg(self) -> str:
        """Phases of every strategy as bars, or throughput along the sweep."""
        from crossdock.machines.simulation_picture import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"Simulation({self.title}: {len(self.points)} points)"


def simulate(
    join: str | JoinSize,
    machine: str | Topology,
    *,
    gpus: int = 0,
    compare: bool | Sequence[Strategy] = True,
    coded_share: float = 1.0,
    rates: str | RankRates = "",
    rate: Mapping[str, float] | None = None,
    faults: Faults = NO_FAULTS,
    sweep: str = "",
    seed: int = 1,
) -> Simulation:
    """A join among the first `gpus` GPUs of a machine (0: all; CPUs where there is no GPU).

    compare: all strategies beside the planner's, those given, or none. coded_share: what coding
    leaves of the bytes. rates: a set of rates (simulated_ranks.rate_sets); none: that of the
    machine's GPUs, or this machine's cores; `rate` replaces some. sweep: "gpus=8..1024" (doubled
    from point to point), "gpus=8,24" or "rows=1e6..1e9" (rows of the build side, the ratio kept).

    Errors: OptionError (a value outside its limits, a join or sweep that cannot be read, a GPU
    without known rates), TopologyError (no such machine, no path)."""
    size = join if isinstance(join, JoinSize) else JoinSize.parse(join)
    size.check()
    topology = machine if isinstance(machine, Topology) else Topology.machine(machine)
    if not 0 < coded_share <= 1:
        raise make_error("CD-105", f"coded_share={coded_share:g}", limit="above 0, up to 1")
    if not 0 <= seed < 1 << 64:
        raise make_error("CD-105", f"seed={seed}", limit="0 to 2^64 - 1", try_="seed=1")
    faults.check(len(topology.servers))
    chosen = _strategies(compare, coded_share)
    used = _rates(topology, size, rates).replaced(rate or {})
    points = []
    swept, values = _parse_sweep(sweep)
    for value in values or [0.0]:
        at_size, count = size, gpus
        if swept == "gpus":
            count = int(value)
        elif swept == "rows":
            ratio = value / size.build_rows if size.build_rows else value / size.probe_rows
            rows = (size.build_rows * ratio, size.probe_rows * ratio)
            at_size = replace(size, build_rows=rows[0], probe_rows=rows[1])
        outcomes = _outcomes(topology, at_size, count, chosen, (used, faults, seed))
        points.append((value, outcomes))
    return Simulation(topology.title, used, seed, swept, tuple(points))


def _strategies(compare: bool | Sequence[Strategy], coded_share: float) -> list[Strategy]:
    if compare is True:
        return strategies(coded_share)
    if compare is False:
        return [replace(PLANNED, coded_share=coded_share)]
    return list(compare) or [PLANNED]


def _rates(topology: Topology, size: JoinSize, rates: str | RankRates) -> RankRates:
    if isinstance(rates, RankRates):
        return rates
    if rates:
        return rates_named(rates, size.mean_row_bytes)
    shape = topology.servers[0][1]
    kind = "gpu" if any(one.of_kind("gpu") for _, one in topology.servers) else "cpu"
    vertices = shape.of_kind(kind)
    return rates_for(vertices[0].model if vertices else "", kind, size.mean_row_bytes)


def _parse_sweep(text: str) -> tuple[str, list[float]]:
    """ "gpus=8..64" to ("gpus", [8, 16, 32, 64])."""
    if not text:
        return "", []
    name, _, values = text.partition("=")
    example = "gpus=8..1024"
    if name not in ("gpus", "rows"):
        raise make_error(
            "CD-105", f"sweep={text!r}: nothing to vary is called {name!r}",
            limit="gpus or rows", try_=f'sweep="{example}"',
        )  # fmt: skip
    numbers = [_number(part) for part in re.split(r"\.\.|,", values)]
    is_range = ".." in values
    good = all(1 <= number <= ROWS_MAX for number in numbers)
    if name == "gpus":
        good = good and all(number == int(number) for number in numbers if number < math.inf)
    if not good or (is_range and (len(numbers) != 2 or numbers[0] > numbers[1])):
        raise make_error(
            "CD-105",
            f"sweep={text!r}: {values!r} are no values of {name}",
            limit="first..last, or a list; from 1, of gpus integers",
            try_=f'sweep="{example}"',
        )
    if is_range:
        first, last = numbers
        numbers = [first * 2**i for i in range(int(math.log2(last / first) + 1e-9) + 1)]
        if numbers[-1] < last:
            numbers.append(last)
    if len(numbers) > _POINTS_MAX:
        raise make_error("CD-105", f"sweep={text!r}: {len(numbers)} points", limit=f"{_POINTS_MAX}")
    return name, numbers


def _number(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        return math.nan


def _outcomes(
    topology: Topology,
    size: JoinSize,
    count: int,
    chosen: Sequence[Strategy],
    others: tuple[RankRates, Faults, int],
) -> tuple[Outcome, ...]:
    rates, faults, seed = others
    if count < 0 or count == 1:
        raise make_error("CD-105", f"gpus={count}: an exchange needs two", try_="gpus=2")
    with public_errors():
        channel = _native.ChannelPlan.among_first(topology.to_json(), count)
    endpoints = count or _endpoints(topology)
    whole = size.of(endpoints)
    options = {
        "build_rows": whole.build_rows,
        "probe_rows": whole.probe_rows,
        "build_row_bytes": whole.build_row_bytes,
        "probe_row_bytes": whole.probe_row_bytes,
        "is_merge": whole.merge,
        "zipf_theta": whole.zipf,
        "seed": seed,
        **asdict(faults),
        **rates.options(),
    }
    outcomes = []
    for strategy in chosen:
        if strategy.two_levels and len(chosen) > 1 and not _has_levels(topology, endpoints):
            continue
        with public_errors():
            text = _native.simulate_join(channel, **options, **strategy.options())
        outcomes.append(_outcome(strategy, whole, json.loads(text)))
    return tuple(outcomes)


def _endpoints(topology: Topology) -> int:
    kind = "gpu" if any(shape.of_kind("gpu") for _, shape in topology.servers) else "cpu"
    return sum(len(shape.of_kind(kind)) for _, shape in topology.servers)


def _has_levels(topology: Topology, endpoints: int) -> bool:
    """Whether the first `endpoints` are on several servers, one of which has two of them."""
    kind = "gpu" if any(shape.of_kind("gpu") for _, shape in topology.servers) else "cpu"
    counts: list[int] = []
    for _, shape in topology.servers:
        here = min(len(shape.of_kind(kind)), endpoints - sum(counts))
        if here > 0:
            counts.append(here)
    return len(counts) > 1 and max(counts) > 1


def _outcome(strategy: Strategy, join: JoinSize, data: dict[str, Any]) -> Outcome:
    form = f"{data['mode']}, {data['levels']}"
    if data["distribution"] == "broadcast":
        form = f"broadcast, {data['levels']}"
    return Outcome(
        strategy=strategy,
        form=form,
        join=join,
        phases=tuple((phase["name"], phase["seconds"]) for phase in data["phases"]),
        links=tuple(
            SimulatedLink(link.pop("from"), link.pop("to"), **link) for link in data["links"]
        ),
        **{name: data[name] for name in (
            "endpoints", "servers", "seconds", "messages_between_servers", "messages_inside",
            "bytes_between_servers", "bytes_inside", "message_bytes", "rank_memory_bytes",
            "bound", "events", "flows",
        )},
    )  # fmt: skip
