"""What the engine says of operators over tables: their decisions, and what they should cost."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from crossdock.sizes import format_count


def plan_line(plan: Mapping[str, Any]) -> str:
    """The decisions of the engine for one operator, in one line."""
    builds = plan.get("build", "none") != "none"
    parts = [f"build {plan['build']}"] if builds else []
    parts += [f"{plan['strategy']} strategy"] if "strategy" in plan else []
    parts += [f"{plan['key']} key"] if "key" in plan else []
    parts += [f"{s} {plan[f'{s}_order']}" for s in ("left", "right") if f"{s}_order" in plan]
    parts += [str(plan["key_form"])] if "key_form" in plan else []
    if plan.get("groups_expected"):
        parts.append(f"about {format_count(plan['groups_expected'])} groups")
    if plan.get("partitions", 1) > 1:
        parts.append(f"{plan['partitions']} partitions")
    parts += [f"{plan['materialize']} materialization"] if "materialize" in plan else []
    parts += ["fused with filters and expressions below"] if plan.get("fused") else []
    return " · ".join(parts)


def operator_plans(facts: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """Plans or profiles of the operators that a cost model plans. `facts`: of one of them that runs
    alone, or of a query in pipelines."""
    if "operators" not in facts:
        return [facts]
    return [one["plan"] for one in facts["operators"] if "plan" in one]


def operator_phases(facts: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Phases of those operators, in the order of their plans."""
    return [dict(phase) for plan in operator_plans(facts) for phase in plan["phases"]]


def predicted_seconds(facts: Mapping[str, Any]) -> float:
    """The predicted time of those operators: of the phases that the models know."""
    return float(sum(phase.get("predicted_s", 0.0) for phase in operator_phases(facts)))
