"""Joins to simulate, the ways to do them, and what came out, as values. simulation.py runs them and
extends what came out by text and pictures, whose modules are given these.
"""

from __future__ import annotations

import re
from dataclasses import asdict, dataclass, replace
from typing import Any

from crossdock.errors import make_error
from crossdock.machines.simulated_ranks import RankRates

ROWS_MAX = 1e15
_NUMBER = r"([0-9]*\.?[0-9]+(?:e[+]?[0-9]+)?)"
_SIDES = re.compile(rf"{_NUMBER}\s*x\s*{_NUMBER}(\s+each)?", re.IGNORECASE)
_BYTES = re.compile(rf"{_NUMBER}\s*B(?:\s*x\s*{_NUMBER}\s*B)?", re.IGNORECASE)
_ZIPF = re.compile(rf"zipf\s*=?\s*{_NUMBER}", re.IGNORECASE)
_EXAMPLE = '"1e9 x 4e9, 16 B, Zipf 0.5"'
_ROW_BYTES_MAX = 1 << 20
_ZIPF_MAX = 2.0


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
        size.check()
        return size

    def check(self) -> None:
        """Error: OptionError (a number outside its limits)."""
        limits = (
            ("rows of a side", min(self.build_rows, self.probe_rows), 0.0, ROWS_MAX),
            ("rows", self.build_rows + self.probe_rows, 1.0, ROWS_MAX),
            ("bytes of a row", self.build_row_bytes, 1.0, _ROW_BYTES_MAX),
            ("bytes of a row", self.probe_row_bytes, 1.0, _ROW_BYTES_MAX),
            ("Zipf", self.zipf, 0.0, _ZIPF_MAX),
        )
        for what, value, low, high in limits:
            if not low <= value <= high:
                raise _bad_join(f"{value:g}", what, f"{low:g} to {high:g}")

    def of(self, endpoints: int) -> JoinSize:
        """The whole join among so many. Error: OptionError (a number outside its limits)."""
        times = endpoints if self.each else 1
        rows = (self.build_rows * times, self.probe_rows * times)
        whole = replace(self, build_rows=rows[0], probe_rows=rows[1], each=False)
        whole.check()
        return whole

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
class SimulatedJoins:
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


@dataclass(frozen=True)
class Faults:
    """What is not as it should be: servers that compute slowly, or whose links carry less; which
    ones is chance, by the seed."""

    slow_servers: int = 0
    slowness: float = 1.0
    slow_links: int = 0
    link_share: float = 1.0

    def check(self, servers: int) -> None:
        """Of a machine of so many servers. Error: OptionError (a number outside its limits)."""
        for name, value, low, high in (
            ("slow_servers", self.slow_servers, 0, servers),
            ("slow_links", self.slow_links, 0, servers),
            ("slowness", self.slowness, 1.0, 1e6),
            ("link_share", self.link_share, 1e-6, 1.0),
        ):
            if not low <= value <= high:
                raise make_error("CD-105", f"{name}={value:g}", limit=f"{low:g} to {high:g}")


NO_FAULTS = Faults()
