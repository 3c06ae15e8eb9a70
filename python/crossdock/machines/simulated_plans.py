"""The joins of a plan, simulated one after the other on a machine that one does not have.

    plan = dock.sql("select ... from 'orders.parquet' join 'lineitem.parquet' on ...").explain()
    xd.simulate_plan(plan, "superpod-h100:16", times=1000).text()

What is taken from a plan is what `--explain --json` says: which joins there are, how many rows each
is expected to get and how many columns they have. Safe from any thread.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from crossdock.errors import make_error
from crossdock.machines.simulated_joins import NO_FAULTS, Faults, JoinSize, Strategy
from crossdock.machines.simulated_ranks import RankRates
from crossdock.machines.simulation import Simulation, simulate
from crossdock.machines.topology import Topology

_COLUMN_BYTES = 8  # a plan has the names of columns and not their types
_TRY = "crossdock join ... --explain --json > plan.json"


@dataclass(frozen=True)
class SimulatedPlan:
    """Joins of a plan in the order in which they run, each as text and simulated."""

    joins: tuple[tuple[str, Simulation], ...]

    @property
    def seconds(self) -> float:
        """Of all joins together, each as planned."""
        return sum(simulation.planned.seconds for _, simulation in self.joins)

    def to_dict(self) -> dict[str, Any]:
        """As `crossdock simulate --plan FILE --json` prints it, without the schema_version."""
        joins = [{"join": text, **simulation.to_dict()} for text, simulation in self.joins]
        return {"seconds": self.seconds, "joins": joins}

    def text(self) -> str:
        """What `crossdock simulate` prints."""
        from crossdock.machines.simulation_text import describe_all

        return describe_all(self.joins, self.seconds)

    def __repr__(self) -> str:
        return f"SimulatedPlan({len(self.joins)} joins, {self.seconds:.3g} s)"


def joins_of(plan: Mapping[str, Any], times: float = 1.0) -> list[tuple[str, JoinSize]]:
    """The joins of a plan as explain() has it, first those that run first; the smaller side builds.

    Errors: OptionError (no plan of explain(), none with a join, rows without an estimate)."""
    tree = plan.get("plan") if isinstance(plan, Mapping) else None
    if not isinstance(tree, Mapping) or not isinstance(tree.get("operator"), str):
        raise make_error("CD-105", "plan: it is not what explain() makes", try_=_TRY)
    joins = [(str(node.get("headline", "join")), _size_of(node, times)) for node in _joins(tree)]
    if not joins:
        raise make_error("CD-105", "plan: it has no join with two inputs", try_=_TRY)
    return joins


def _joins(node: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    inputs = node.get("inputs") or []
    if not isinstance(inputs, list) or not all(isinstance(one, Mapping) for one in inputs):
        raise make_error("CD-105", "plan: it is not what explain() makes", try_=_TRY)
    for one in inputs:
        yield from _joins(one)
    if node.get("operator") == "join" and len(inputs) == 2:
        yield node


def _size_of(node: Mapping[str, Any], times: float) -> JoinSize:
    sides = []
    for one in node["inputs"]:
        rows, columns = one.get("rows_expected"), one.get("columns")
        if not isinstance(columns, list):
            raise make_error("CD-105", "plan: it is not what explain() makes", try_=_TRY)
        if not isinstance(rows, int | float) or not 0 <= rows < math.inf:
            raise make_error(
                "CD-105",
                f"plan: how many rows {one.get('headline', 'an input')!r} has is not known",
                try_="explain(read=True), which looks at the inputs",
            )
        sides.append((max(rows, 1) * times, float(_COLUMN_BYTES * max(1, len(columns)))))
    (build_rows, build_bytes), (probe_rows, probe_bytes) = sorted(sides)
    return JoinSize(build_rows, probe_rows, build_bytes, probe_bytes)


def simulate_plan(
    plan: Any,
    machine: str | Topology,
    *,
    times: float = 1.0,
    gpus: int = 0,
    compare: bool | Sequence[Strategy] = True,
    coded_share: float = 1.0,
    rates: str | RankRates = "",
    rate: Mapping[str, float] | None = None,
    faults: Faults = NO_FAULTS,
    seed: int = 1,
) -> SimulatedPlan:
    """Every join of a plan on a machine, with as many rows as the plan expects, times `times`; a
    column counts as 8 bytes. `plan`: what explain() answers, or its JSON as a dictionary. Others as
    of simulate().

    Errors: OptionError (no plan of explain(), no join in it, and as simulate()), TopologyError."""
    tree = plan if isinstance(plan, Mapping) else getattr(plan, "data", {})
    if not 0 < times <= 1e12:
        raise make_error("CD-105", f"times={times:g}", limit="above 0, up to 1e12")
    topology = machine if isinstance(machine, Topology) else Topology.machine(machine)
    return SimulatedPlan(
        tuple(
            (
                text,
                simulate(
                    size, topology, gpus=gpus, compare=compare, coded_share=coded_share,
                    rates=rates, rate=rate, faults=faults, seed=seed,
                ),
            )
            for text, size in joins_of(tree, times)
        )
    )  # fmt: skip
