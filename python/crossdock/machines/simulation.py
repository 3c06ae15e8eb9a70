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
from crossdock.machines.simulated_ranks import RankRates, rates_for, rates_named
from crossdock.machines.topology import Topology

_NUMBER = r"([0-9]*\.?[0-9]+(?:e[+]?[0-9]+)?)"
_SIDES = re.compile(rf"{_NUMBER}\s*x\s*{_NUMBER}(\s+each)?", re.IGNORECASE)
_BYTES = re.compile(rf"{_NUMBER}\s*B(?:\s*x\s*{_NUMBER}\s*B)?", re.IGNORECASE)
_ZIPF = re.compile(rf"zipf\s*=?\s*{_NUMBER}", re.IGNORECASE)
_EXAMPLE = '"1e9 x 4e9, 16 B, Zipf 0.5"'
_ROWS_MAX = 1e15
_ROW_BYTES_MAX = 1 << 20
_ZIPF_MAX = 2.0
_POINTS_MAX = 64


@dataclass(frozen=True)
class JoinSize:
    """Rows of both sides, of all endpoints together or, if `each`, of every endpoint."""

    build_rows: float
    probe_rows: float
    build_row_bytes: float = 16.0
    probe_row_bytes: float = 16.0
    zipf: float = 0.0
    merge: bool = False
    each: bool = False

    @staticmethod
    def parse(text: str) -> JoinSize:
        """ "1e9 x 4e9, 16 B, Zipf 0.5": rows of both sides, with "each" if they are of each
        endpoint; bytes of a row ("12 B x 8 B" where sides differ); "merge" for a sort-merge join.

        Error: OptionError (a part that is none of these, or a number outside its limits)."""
        first, *others = (part.strip() for part in str(text).split(","))
        sides = _SIDES.fullmatch(first)
        if sides is None:
            raise _bad_join(first, "rows of both sides", "two numbers with an x between them")
        size = JoinSize(float(sides[1]), float(sides[2]), each=sides[3] is not None)
        for part in others:
            match = _BYTES.fullmatch(part)
            if match is not None:
                build = float(match[1])
                probe = float(match[2] or match[1])
                size = replace(size, build_row_bytes=build, probe_row_bytes=probe)
            elif (match := _ZIPF.fullmatch(part)) is not None:
                size = replace(size, zipf=float(match[1]))
            elif part.lower() in ("hash", "merge"):
                size = replace(size, merge=part.lower() == "merge")
            else:
                raise _bad_join(part, "no part of a join", '"16 B", "Zipf 0.5", "hash" or "merge"')
        size._check()
        return size

    def _check(self) -> None:
        limits = (
            ("rows", self.build_rows + self.probe_rows, 1.0, _ROWS_MAX),
            ("bytes of a row", self.build_row_bytes, 1.0, _ROW_BYTES_MAX),
            ("bytes of a row", self.probe_row_bytes, 1.0, _ROW_BYTES_MAX),
            ("Zipf", self.zipf, 0.0, _ZIPF_MAX),
        )
        for what, value, low, high in limits:
            if not low <= value <= high:
                raise _bad_join(f"{value:g}", what, f"{low:g} to {high:g}")

    def of(self, endpoints: int) -> JoinSize:
        """The whole join among so many."""
        if not self.each:
            return self
        rows = (self.build_rows * endpoints, self.probe_rows * endpoints)
        return replace(self, build_rows=rows[0], probe_rows=rows[1], each=False)

    @property
    def rows(self) -> float:
        return self.build_rows + self.probe_rows

    @property
    def mean_row_bytes(self) -> float:
        build = self.build_rows * self.build_row_bytes
        return (build + self.probe_rows * self.probe_row_bytes) / self.rows


def _bad_join(value: str, what: str, limit: str) -> Exception:
    return make_error("CD-105", f"{value!r}: {what}", limit=limit, try_=_EXAMPLE)


@dataclass(frozen=True)
class Strategy:
    """A way to do it. `planned`: mode, levels and distribution are the planner's choice.
    `peers_at_once`: a source sends to so many others at a time, in their order; 0: to all."""

    label: str
    planned: bool = False
    bulk: bool = False
    two_levels: bool = False
    broadcast: bool = False
    single_path: bool = False
    peers_at_once: int = 0
    coded_share: float = 1.0

    def options(self) -> dict[str, Any]:
        return {
            "is_planned": self.planned,
            "is_bulk": self.bulk,
            "is_two_levels": self.two_levels,
            "is_broadcast": self.broadcast,
            "single_path": self.single_path,
            "peers_at_once": self.peers_at_once,
            "coded_share": self.coded_share,
        }


PLANNED = Strategy("planned", planned=True)


def strategies(coded_share: float = 1.0) -> list[Strategy]:
    """The planner's choice and all that it is compared with; coded ones if bytes become fewer."""
    all_strategies = [
        PLANNED,
        Strategy("streaming, one level"),
        Strategy("streaming, two levels", two_levels=True),
        Strategy("bulk, one level", bulk=True),
        Strategy("bulk, two levels", bulk=True, two_levels=True),
        Strategy("bulk, one path", bulk=True, single_path=True),
        Strategy("broadcast", broadcast=True),
    ]
    if coded_share < 1:
        all_strategies.append(Strategy("streaming, coded", coded_share=coded_share))
        all_strategies.append(Strategy("bulk, coded", bulk=True, coded_share=coded_share))
    return all_strategies


@dataclass(frozen=True)
class SimulatedLink:
    """A link, and on how many servers it is as busy."""

    start: str
    end: str
    servers: int
    bytes_per_s: float
    carried_bytes: float
    busy_s: float


@dataclass(frozen=True)
class Outcome:
    """One join, one strategy. `phases` are of the rank that ends last and add up to `seconds`."""

    strategy: Strategy
    form: str
    join: JoinSize
    endpoints: int
    servers: int
    seconds: float
    phases: tuple[tuple[str, float], ...]
    messages_between_servers: float
    messages_inside: float
    bytes_between_servers: float
    bytes_inside: float
    message_bytes: float
    rank_memory_bytes: float
    links: tuple[SimulatedLink, ...]
    bound: str
    events: int
    flows: int

    @property
    def rows_per_s(self) -> float:
        return self.join.rows / self.seconds

    def phase(self, name: str) -> float:
        """Seconds of a phase, 0 if there is none of the name."""
        return sum(seconds for known, seconds in self.phases if known == name)

    def to_dict(self) -> dict[str, Any]:
        return {
            **asdict(self),
            "rows_per_s": self.rows_per_s,
            "phases": [{"name": name, "seconds": seconds} for name, seconds in self.phases],
        }


@dataclass(frozen=True)
class Simulation:
    """What came out, by point of the sweep and then by strategy, the planned one first."""

    title: str
    rates: RankRates
    seed: int
    swept: str  # "" if nothing is
    points: tuple[tuple[float, tuple[Outcome, ...]], ...]

    @property
    def planned(self) -> Outcome:
        """Of the last point."""
        return self.points[-1][1][0]

    @property
    def outcomes(self) -> tuple[Outcome, ...]:
        """All strategies at the last point."""
        return self.points[-1][1]

    def to_dict(self) -> dict[str, Any]:
        """As `crossdock simulate --json` prints it, without the schema_version."""
        points = [
            {"at": at, "outcomes": [outcome.to_dict() for outcome in outcomes]}
            for at, outcomes in self.points
        ]
        swept = self.swept or None
        rates = asdict(self.rates)
        return {
            "title": self.title, "seed": self.seed, "swept": swept, "rates": rates, "points": points
        }  # fmt: skip

    def text(self) -> str:
        from crossdock.machines.simulation_text import describe

        return describe(self)

    def svg(self) -> str:
        """Phases of every strategy as bars, or throughput along the sweep."""
        from crossdock.machines.simulation_picture import draw

        return draw(self)

    def __repr__(self) -> str:
        return f"Simulation({self.title}: {len(self.points)} points)"


@dataclass(frozen=True)
class Faults:
    """What is not as it should be: servers that compute slowly, or whose links carry less; which
    ones is chance, by the seed."""

    slow_servers: int = 0
    slowness: float = 1.0
    slow_links: int = 0
    link_share: float = 1.0

    def check(self) -> None:
        for name, value, low, high in (
            ("slow_servers", self.slow_servers, 0, 65536),
            ("slow_links", self.slow_links, 0, 65536),
            ("slowness", self.slowness, 1.0, 1e6),
            ("link_share", self.link_share, 1e-6, 1.0),
        ):
            if not low <= value <= high:
                raise make_error("CD-105", f"{name}={value:g}", limit=f"{low:g} to {high:g}")


NO_FAULTS = Faults()


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
    topology = machine if isinstance(machine, Topology) else Topology.machine(machine)
    if not 0 < coded_share <= 1:
        raise make_error("CD-105", f"coded_share={coded_share:g}", limit="above 0, up to 1")
    if not 0 <= seed < 1 << 64:
        raise make_error("CD-105", f"seed={seed}", limit="0 to 2^64 - 1", try_="seed=1")
    faults.check()
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
    good = all(1 <= number <= _ROWS_MAX for number in numbers)
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
