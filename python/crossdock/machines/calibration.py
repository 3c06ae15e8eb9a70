"""Measures the rates of the cost models on this machine: real operators on made rows.

Each work is planned with the built-in rates and run a few times; its phases and its whole time are
equations for the rates (crossdock.machines.rate_fit). Coefficients come from plans with one rate
changed, so nothing of the models is repeated here. The works are passed through a few times, and
means without the extremes count: where a machine has slow seconds, they do not fall on all runs of
one work.

Rates of exchanges are measured among ranks: crossdock.ranks.calibration.
"""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from crossdock import _native
from crossdock.machines.rate_fit import Equation, fit_rates
from crossdock.relation import Relation
from crossdock.reports.operator_text import operator_plans
from crossdock.session import Dock
from crossdock.workload import Workload

if TYPE_CHECKING:
    import pyarrow as pa

ROWS = 2_000_000
PASSES = 6
_STEP = 0.01  # by which a rate is changed to see what it is charged for
LEAST_PHASE_S = 2e-4  # shorter phases say more of the clock than of a rate
TOTAL_WEIGHT = 6.0  # beside a phase: totals are what plans are compared by
_NEAR = 0.2  # of a measured time: a prediction that is not further off
_NEAR_LEAST = 0.6  # of the works: otherwise rates do not fit this machine, or it was disturbed
_SPREAD_MOST = 0.5  # between passes, of half of the works: otherwise the machine was disturbed
_CACHE_READS = 5  # of which the median counts: neighbours take more or less of a cache at times
_MODELS = {
    "hash_join": ("join",),
    "merge_join": ("join", "merge"),
    "sort": ("sort",),
    "group_by": ("group",),
}


@dataclass(frozen=True)
class Work:
    """Something to measure: its name, and the relation that is run."""

    name: str
    relation: Relation


@dataclass(frozen=True)
class Measured:
    """A work's typical times. `equations`: one for each phase that was predicted, and the total.
    `spread`: between passes, as a share of that."""

    name: str
    operator: str
    strategy: str
    seconds: float
    equations: tuple[Equation, ...]
    spread: float = 0.0

    @property
    def total(self) -> Equation:
        return self.equations[-1]


@dataclass(frozen=True)
class Calibration:
    """What was found. rates: all of them, in ns. works: each with its time and prediction."""

    rates: dict[str, float]
    measured: tuple[Measured, ...]
    seconds: float

    def works(self) -> list[dict[str, Any]]:
        """One object for each work, for JSON."""
        return [
            {
                "work": one.name,
                "operator": one.operator,
                "strategy": one.strategy,
                "measured_s": one.seconds,
                "predicted_s": one.total.predicted_s(self.rates),
                "spread": one.spread,
            }
            for one in self.measured
        ]

    def misfit(self) -> str:
        """Why these rates had better not be used; "" if nothing speaks against it."""
        return misfit(self.works())


def misfit(works: Sequence[Mapping[str, Any]]) -> str:
    """Of works as Calibration.works() tells them: passes that differ, or rates that do not give
    the times they were fitted to."""
    spread = statistics.median(work["spread"] for work in works)
    if spread > _SPREAD_MOST:
        return f"the same work took {spread:.0%} more or less from one pass to the next"
    near = sum(abs(work["predicted_s"] / work["measured_s"] - 1) <= _NEAR for work in works)
    if near < _NEAR_LEAST * len(works):
        return f"the rates give the time of {near} of {len(works)} works within {_NEAR:.0%}"
    return ""


@dataclass
class _Series:
    """A work while it is measured: its plans, and a profile of each pass."""

    plan: dict[str, Any]
    changed: list[tuple[str, float, dict[str, Any]]]
    profiles: list[dict[str, Any]] = field(default_factory=list)


class Calibrator:
    """Passes over all works, as many as asked for; a caller that compares times with its rates may
    measure them between passes, so that both see the same minutes of the machine."""

    def __init__(self, dock: Dock, rows: int = ROWS) -> None:
        """With `rows` rows in the larger works, and 100 bytes of memory for each."""
        self._dock, self._rows = dock, rows
        self._seconds = 0.0
        shares = [l3_share(dock.threads) for _ in range(_CACHE_READS)]
        self._caches = {"machine.l3_share": statistics.median(shares)}
        self._series: dict[str, _Series] = {}

    def measure(self, show: Callable[[str], None] = lambda _: None) -> None:
        """One pass: each work runs once for warming up and once to be timed. Leaves the rates in
        use as they were. show: gets the name of each work as it begins."""
        before = _native.rates_in_use()
        start = time.perf_counter()
        try:
            _native.use_rates(self._caches)
            for work in works(self._dock, self._rows):
                show(work.name)
                _profile(work.relation)
                profile = _profile(work.relation)
                if work.name not in self._series:
                    changed = _changed_plans(work.relation, profile, self._caches)
                    self._series[work.name] = _Series(plan_of(work.relation), changed)
                self._series[work.name].profiles.append(profile)
        finally:
            _native.use_rates(before)
        self._seconds += time.perf_counter() - start

    def result(self) -> Calibration:
        """Of the passes so far, of which there is one."""
        measured = [_measured(name, one) for name, one in self._series.items()]
        equations = [equation for one in measured for equation in one.equations]
        rates = fit_rates(equations, _native.built_in_rates()) | self._caches
        return Calibration(rates, tuple(measured), self._seconds)


def calibrate(
    dock: Dock, rows: int = ROWS, repeat: int = PASSES, show: Callable[[str], None] = lambda _: None
) -> Calibration:
    """`repeat` passes of a Calibrator. Leaves the rates in use as they were. Cost: some 50 s for
    the default on two cores."""
    calibrator = Calibrator(dock, rows)
    measure_passes(calibrator.measure, repeat, show)
    return calibrator.result()


def measure_passes(
    measure: Callable[[Callable[[str], None]], None], repeat: int, show: Callable[[str], None]
) -> None:
    """Passes of a calibrator; what is said of each tells which it is."""
    for number in range(repeat):
        place = "" if repeat == 1 else f" ({number + 1} of {repeat})"
        measure(lambda name, place=place: show(name + place))  # type: ignore[misc]


def l3_share(threads: int) -> float:
    """What random reads of several threads find of the third-level cache, as a share of it.

    Its end is where a read takes longer than the geometric mean of what it takes in the second
    level and in memory. The models count half of the third level as a table's, hence the 2.
    """
    machine = _native.machine_info()
    l2, l3 = (int(str(machine[key])) for key in ("l2_bytes", "l3_bytes"))
    near, far = (_native.random_read_ns(size, threads) for size in (l2 // 2, 4 * l3))
    size = l2
    while size < l3 and _native.random_read_ns(size * 2, threads) ** 2 < near * far:
        size *= 2
    return min(1.0, 2 * size / l3)


def works(dock: Dock, rows: int) -> Iterator[Work]:
    """The works, made one after the other so that their rows are not held together."""
    yield from _joins(dock, rows)
    yield from _string_joins(dock, rows)
    yield from _sorts(dock, rows)
    yield from _groups(dock, 2 * rows)


def _sides(dock: Dock, workload: Workload) -> tuple[Relation, Relation]:
    inner, outer = (workload.table(side).combine_chunks() for side in ("inner", "outer"))
    return dock.from_arrow(outer), dock.from_arrow(inner.rename_columns(["key", "inner_row"]))


def _joins(dock: Dock, rows: int) -> Iterator[Work]:
    import crossdock as xd

    sums = {"n": xd.count(), "a": xd.sum("row"), "b": xd.sum("inner_row")}
    small, medium = max(rows // 100, 1), max(rows // 8, 1)
    # Tables that are looked up in any order are well within the third level, or far beyond it: what
    # half of one costs says little of either.
    near = max(rows // 16, 1)
    shapes = (
        ("even", Workload(rows, sparse=True), ("radix", "merge", "direct")),
        ("1 to 4", Workload(medium, 4, sparse=True), ("radix",)),
        ("1 to 16", Workload(near, 16, sparse=True), ("direct",)),
        ("small table", Workload(small, rows / small, sparse=True), ("direct",)),
        ("dense", Workload(rows), ("dense",)),
        ("small dense", Workload(small, rows / small), ("dense",)),
    )
    for name, workload, strategies in shapes:
        outer, inner = _sides(dock, workload)
        for strategy in strategies:
            joined = outer.join(inner, on="key", strategy=strategy, build="right")
            yield Work(f"join, {name}, {strategy}, summed", joined.agg(**sums))
            yield Work(f"join, {name}, {strategy}, all rows", joined)
    keys = dock.from_arrow(_sorted(Workload(rows)))
    other = dock.from_arrow(_sorted(Workload(rows)).rename_columns(["key", "inner_row"]))
    yield Work("join, sorted, merge", keys.join(other, on="key", strategy="merge").agg(**sums))


def _sorted(workload: Workload) -> pa.Table:
    return workload.table("inner").sort_by("key").combine_chunks()


def _with_string_keys(table: pa.Table) -> pa.Table:
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.set_column(0, "key", pc.cast(table["key"], pa.string())).combine_chunks()


def _string_joins(dock: Dock, rows: int) -> Iterator[Work]:
    few = max(rows // 100, 1)
    for name, workload in (
        ("strings", Workload(max(rows // 4, 1), 1, sparse=True)),
        ("few strings", Workload(few, rows / 4 / few, sparse=True)),
    ):
        inner, outer = (_with_string_keys(workload.table(side)) for side in ("inner", "outer"))
        right = dock.from_arrow(inner.rename_columns(["key", "inner_row"]))
        for strategy in ("radix", "direct"):
            joined = dock.from_arrow(outer).join(right, on="key", strategy=strategy, build="right")
            yield Work(f"join, {name}, {strategy}", joined.select("row", "inner_row"))


def _sorts(dock: Dock, rows: int) -> Iterator[Work]:
    table = Workload(rows, sparse=True).table("inner").combine_chunks()
    pairs = dock.from_arrow(table)
    yield Work("sort, keys", dock.from_arrow(table.select(["key"])).sort("key", strategy="msd"))
    yield Work("sort, pairs", pairs.sort("key", strategy="msd"))
    yield Work("sort, pairs, lsd", pairs.sort("key", strategy="lsd"))
    # What a row costs that is looked at, and what one that is kept: of so many that starting costs
    # little of it.
    many = dock.from_arrow(Workload(2 * rows, sparse=True).table("inner"))
    yield Work("sort, few of all", many.top_k(1000, "key"))
    yield Work("sort, ten of all", many.top_k(10, "key"))
    wide = table
    for number in range(3):
        wide = wide.append_column(f"more{number}", table["row"])
    yield Work("sort, five columns", dock.from_arrow(wide).sort("key", strategy="msd"))
    ordered = dock.from_arrow(table.sort_by("key").combine_chunks())
    yield Work("sort, in order", ordered.sort("key"))
    # Short enough for words that are exact: the model does not predict how many longer ones tie.
    strings = dock.from_arrow(_with_string_keys(Workload(max(rows // 4, 1)).table("inner")))
    yield Work("sort, strings", strings.sort("key", strategy="msd"))


def _groups(dock: Dock, rows: int) -> Iterator[Work]:
    import crossdock as xd

    for groups in (1000, max(rows // 64, 1), max(rows // 4, 1)):
        for sparse in (True, False):
            table = Workload(groups, rows / groups, sparse=sparse).table("outer").combine_chunks()
            grouped = dock.from_arrow(table).group_by("key").agg(total=xd.sum("row"))
            kind = "sparse" if sparse else "dense"
            yield Work(f"group by, {groups:,} {kind} keys", grouped)
    # Every row a group: elsewhere what a new one costs is a small part, which nothing tells apart.
    apart = dock.from_arrow(Workload(max(rows // 2, 1), sparse=True).table("outer"))
    yield Work("group by, all rows apart", apart.group_by("key").agg(total=xd.sum("row")))
    few = Workload(1000, rows / 4 / 1000, sparse=True)
    strings = dock.from_arrow(_with_string_keys(few.table("outer")))
    yield Work("group by, 1,000 strings", strings.group_by("key").agg(total=xd.sum("row")))
    several = dock.from_arrow(Workload(1000, rows / 1000, sparse=True).table("outer"))
    more = {"n": xd.count(), "low": xd.min("row"), "high": xd.max("row"), "mean": xd.mean("row")}
    yield Work("group by, four aggregates", several.group_by("key").agg(**more))


def _measured(name: str, series: _Series) -> Measured:
    """Typical times of the passes, of each phase and of the whole."""
    totals = [float(profile["total_s"]) for profile in series.profiles]
    total_s = typical_s(totals)
    equations = []
    for phase in series.plan["phases"]:
        times = [_phase_s(profile, phase["name"]) for profile in series.profiles]
        if typical_s(times) >= LEAST_PHASE_S:
            equation = _phase_equation(phase["name"], typical_s(times), series)
            equations.append(equation)
    total = _equation(total_s, _seconds(series.plan), series.changed, _seconds, TOTAL_WEIGHT)
    return Measured(
        name,
        series.profiles[0]["operator"],
        series.profiles[0].get("strategy", ""),
        total_s,
        (*equations, total),
        (_kept(totals)[-1] - _kept(totals)[0]) / total_s,
    )


def typical_s(times: Sequence[float]) -> float:
    """The mean without the shortest and the longest. Not the median: a machine that is now fast and
    now slow gives one of the two by it, and which one is chance."""
    return statistics.fmean(_kept(times))


def _kept(times: Sequence[float]) -> list[float]:
    ordered = sorted(times)
    return ordered[1:-1] if len(ordered) > 3 else ordered


def _phase_s(profile: dict[str, Any], name: str) -> float:
    """Of phases that are predicted and were measured."""
    known = (p for p in profile["phases"] if p["name"] == name and "predicted_s" in p)
    return float(sum(phase.get("measured_s", 0.0) for phase in known))


def _profile(relation: Relation) -> dict[str, Any]:
    steps = relation.profile().data["steps"]
    whole = next(step["profile"] for step in steps if step["profile"] is not None)
    return dict(operator_plans(whole)[0])


def plan_of(relation: Relation) -> dict[str, Any]:
    """Of the operator that a query ends with, beside what is done to its rows."""
    tree = relation.explain(read=True).data["plan"]
    while tree.get("plan") is None:
        tree = tree["inputs"][0]
    return dict(tree["plan"])


Seconds = Callable[[dict[str, Any]], float]


def _seconds(plan: dict[str, Any]) -> float:
    return float(sum(phase["predicted_s"] for phase in plan["phases"]))


def _changed_plans(
    relation: Relation, profile: dict[str, Any], caches: dict[str, float]
) -> list[tuple[str, float, dict[str, Any]]]:
    """The plan with each rate of the operator's models changed alone: name, by how much, plan."""
    built_in = _native.built_in_rates()
    models = _MODELS.get(profile["operator"], ())
    plans = []
    try:
        for name, value in built_in.items():
            if name.partition(".")[0] not in models:
                continue
            _native.use_rates(caches | {name: value * (1 + _STEP)})
            plan = plan_of(relation)
            # A change may tip the choice; then it says nothing of the form that was measured.
            if plan.get("strategy") == profile.get("strategy"):
                plans.append((name, value * _STEP, plan))
    finally:
        _native.use_rates(caches)
    return plans


def _phase_equation(name: str, measured_s: float, series: _Series) -> Equation:
    def seconds(of: dict[str, Any]) -> float:
        return float(sum(p["predicted_s"] for p in of["phases"] if p["name"] == name))

    return _equation(measured_s, seconds(series.plan), series.changed, seconds, 1.0)


def _equation(
    measured_s: float,
    planned_s: float,
    changed: list[tuple[str, float, dict[str, Any]]],
    seconds: Seconds,
    weight: float,
) -> Equation:
    coefficients = {}
    known = _native.built_in_rates()
    for name, step, plan in changed:
        slope = (seconds(plan) - planned_s) / step
        if slope * known[name] > 1e-4 * max(planned_s, 1e-9):
            coefficients[name] = slope
    charged = sum(slope * known[name] for name, slope in coefficients.items())
    return Equation(measured_s, max(planned_s - charged, 0.0), coefficients, weight)
