"""Measures the rates of the cost models on this machine: real operators on made rows.

Each work is planned with the built-in rates and run a few times; its phases and its whole time are
equations for the rates (crossdock.rate_fit). Coefficients come from plans with one rate changed, so
nothing of the models is repeated here.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from crossdock import _native
from crossdock.rate_fit import Equation, fit_rates
from crossdock.relation import Relation
from crossdock.session import Dock
from crossdock.workload import Workload

ROWS = 2_000_000
_STEP = 0.01  # by which a rate is changed to see what it is charged for
_LEAST_PHASE_S = 2e-4  # shorter phases say more of the clock than of a rate
_TOTAL_WEIGHT = 6.0  # beside a phase: totals are what plans are compared by
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
    """A work's median run. `equations`: one for each phase that was predicted, and the total."""

    name: str
    operator: str
    strategy: str
    seconds: float
    equations: tuple[Equation, ...]

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
            }
            for one in self.measured
        ]


def calibrate(
    dock: Dock, rows: int = ROWS, repeat: int = 3, said: Callable[[str], None] = lambda _: None
) -> Calibration:
    """Measures with `rows` rows in the larger works, each `repeat` times after one for warming up.

    Leaves the rates in use as they were. said: is told of each work as it begins. Cost: some 20 s
    for the default on two cores, and 100 bytes of memory for each row.
    """
    before = _native.rates_in_use()
    start = time.perf_counter()
    caches = {"machine.l3_share": l3_share(dock.threads)}
    try:
        _native.use_rates(caches)
        measured = []
        for work in works(dock, rows):
            said(work.name)
            measured.append(_measure(work, repeat, caches))
    finally:
        _native.use_rates(before)
    equations = [equation for one in measured for equation in one.equations]
    rates = fit_rates(equations, _native.built_in_rates()) | caches
    return Calibration(rates, tuple(measured), time.perf_counter() - start)


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
    yield from _text_joins(dock, rows)
    yield from _sorts(dock, rows)
    yield from _groups(dock, 2 * rows)


def _sides(dock: Dock, workload: Workload) -> tuple[Relation, Relation]:
    inner, outer = (workload.table(side).combine_chunks() for side in ("inner", "outer"))
    return dock.from_arrow(outer), dock.from_arrow(inner.rename_columns(["key", "inner_row"]))


def _joins(dock: Dock, rows: int) -> Iterator[Work]:
    import crossdock as xd

    sums = {"n": xd.count(), "a": xd.sum("row"), "b": xd.sum("inner_row")}
    small, medium = max(rows // 100, 1), max(rows // 8, 1)
    shapes = (
        ("even", Workload(rows, sparse=True), ("radix", "merge")),
        ("1 to 4", Workload(medium, 4, sparse=True), ("radix", "direct")),
        ("small table", Workload(small, rows / small, sparse=True), ("direct",)),
        ("dense", Workload(rows), ("dense",)),
        ("small dense", Workload(small, rows / small), ("dense",)),
        ("half matching", Workload(rows, selectivity=0.5, sparse=True), ("radix",)),
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


def _sorted(workload: Workload) -> Any:
    return workload.table("inner").sort_by("key").combine_chunks()


def _texts(table: Any) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return table.set_column(0, "key", pc.cast(table["key"], pa.string())).combine_chunks()


def _text_joins(dock: Dock, rows: int) -> Iterator[Work]:
    few = max(rows // 100, 1)
    for name, workload in (
        ("texts", Workload(max(rows // 8, 1), 2, sparse=True)),
        ("few texts", Workload(few, rows / 4 / few, sparse=True)),
    ):
        inner, outer = (_texts(workload.table(side)) for side in ("inner", "outer"))
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
    yield Work("sort, few of all", pairs.top_k(1000, "key"))
    wide = table
    for number in range(3):
        wide = wide.append_column(f"more{number}", table["row"])
    yield Work("sort, five columns", dock.from_arrow(wide).sort("key", strategy="msd"))
    ordered = dock.from_arrow(table.sort_by("key").combine_chunks())
    yield Work("sort, in order", ordered.sort("key"))
    # Short enough for words that are exact: nobody predicts how many longer ones tie.
    texts = dock.from_arrow(_texts(Workload(max(rows // 4, 1)).table("inner")))
    yield Work("sort, texts", texts.sort("key", strategy="msd"))


def _groups(dock: Dock, rows: int) -> Iterator[Work]:
    import crossdock as xd

    for groups in (1000, max(rows // 64, 1), max(rows // 4, 1)):
        for sparse in (True, False):
            made = Workload(groups, rows / groups, sparse=sparse).table("outer").combine_chunks()
            grouped = dock.from_arrow(made).group_by("key").agg(total=xd.sum("row"))
            kind = "sparse" if sparse else "dense"
            yield Work(f"group by, {groups:,} {kind} keys", grouped)
    few = Workload(1000, rows / 4 / 1000, sparse=True)
    texts = dock.from_arrow(_texts(few.table("outer")))
    yield Work("group by, 1,000 texts", texts.group_by("key").agg(total=xd.sum("row")))
    several = dock.from_arrow(Workload(1000, rows / 1000, sparse=True).table("outer"))
    more = {"n": xd.count(), "low": xd.min("row"), "high": xd.max("row"), "mean": xd.mean("row")}
    yield Work("group by, four aggregates", several.group_by("key").agg(**more))


def _measure(work: Work, repeat: int, caches: dict[str, float]) -> Measured:
    runs = [_profile(work.relation) for _ in range(repeat + 1)][1:]
    runs.sort(key=lambda profile: float(profile["total_s"]))
    profile = runs[len(runs) // 2]
    plan = _plan(work.relation)
    changed = _changed_plans(work.relation, profile, caches)
    equations = [
        _phase_equation(phase, plan, changed)
        for phase in profile["phases"]
        if "predicted_s" in phase and phase.get("measured_s", 0.0) >= _LEAST_PHASE_S
    ]
    total = _equation(float(profile["total_s"]), _seconds(plan), changed, _seconds, _TOTAL_WEIGHT)
    return Measured(
        work.name,
        profile["operator"],
        profile.get("strategy", ""),
        float(profile["total_s"]),
        (*equations, total),
    )


def _profile(relation: Relation) -> dict[str, Any]:
    steps = relation.profile().data["steps"]
    return next(dict(step["profile"]) for step in steps if step["profile"] is not None)


def _plan(relation: Relation) -> dict[str, Any]:
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
            plan = _plan(relation)
            # A change may tip the choice; then it says nothing of the form that was measured.
            if plan.get("strategy") == profile.get("strategy"):
                plans.append((name, value * _STEP, plan))
    finally:
        _native.use_rates(caches)
    return plans


def _phase_equation(
    phase: dict[str, Any],
    plan: dict[str, Any],
    changed: list[tuple[str, float, dict[str, Any]]],
) -> Equation:
    def seconds(of: dict[str, Any]) -> float:
        return float(sum(p["predicted_s"] for p in of["phases"] if p["name"] == phase["name"]))

    return _equation(float(phase["measured_s"]), seconds(plan), changed, seconds, 1.0)


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
