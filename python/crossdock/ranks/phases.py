"""Phases of a run over ranks as Barthels et al. show them (PVLDB 10(5), figures 5 and 6, table 1):
how long each took in the ranks, how far the last rank is behind the mean, and when which share of
the ranks had ended."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import Any

from crossdock.reports.display import align
from crossdock.reports.operator_text import operator_phases
from crossdock.sizes import format_seconds

SHARES = (0.5, 0.75, 0.95, 0.99, 1.0)

Facts = Mapping[str, Any]  # of one rank: rank, total_s, phases [{name, seconds, parts}]


def own_phases(exchanges: Sequence[Facts], steps: Sequence[Facts]) -> list[dict[str, Any]]:
    """What a rank tells: the phases of its exchanges, then those of its steps, in their order."""
    phases: list[dict[str, Any]] = []
    for move in exchanges:
        known = move.get("phases")
        phases += [dict(p) for p in known] if known else [_phase("exchange", move["seconds"])]
    for step in steps:
        if step["profile"] is None:
            phases.append(_phase(step["operator"], step["measured_s"]))
            continue
        measured = [p for p in operator_phases(step["profile"]) if "measured_s" in p]
        phases += [_phase(p["name"], p["measured_s"]) for p in measured]
    return phases


def over_ranks(ranks: Sequence[Facts]) -> dict[str, Any]:
    """The ranks side by side, as plain values. Phases of one name add up, and one that a rank did
    not have took it no time. `imbalance_s`: the longest total less the mean total. `other_s`: what
    of the mean no phase tells."""
    phases = []
    for name in _names(rank["phases"] for rank in ranks):
        seconds = [_seconds(rank["phases"], name) for rank in ranks]
        parts = _names(p.get("parts", {}) for r in ranks for p in r["phases"] if p["name"] == name)
        phases.append({"name": name, **_spread(seconds), "parts": {
            part: _mean([_part_seconds(rank["phases"], name, part) for rank in ranks])
            for part in parts
        }})  # fmt: skip
    totals = [float(rank["total_s"]) for rank in ranks]
    mean = _mean(totals)
    return {
        "ranks": len(ranks),
        "phases": phases,
        "other_s": max(0.0, mean - sum(phase["mean_s"] for phase in phases)),
        "total": _spread(totals),
        "imbalance_s": max(totals) - mean,
        "completions": [{"share": share, "seconds": ended(totals, share)} for share in SHARES],
    }


def ended(totals: Sequence[float], share: float) -> float:
    """The time at which that share of the ranks, or more, had ended."""
    return sorted(totals)[max(0, math.ceil(share * len(totals) - 1e-9) - 1)]


def phase_lines(ranks: Sequence[Facts]) -> list[str]:
    """The same as text: a line for each phase, its parts below it, then imbalance and total."""
    phases = over_ranks(ranks)
    rows = [("phase", "mean", "longest", "shortest", "in rank")]
    for phase in phases["phases"]:
        rows.append((phase["name"], *_times(phase)))
        rows += [(f"  {part}", format_seconds(s), "", "", "") for part, s in phase["parts"].items()]
    if phases["other_s"] >= 0.01 * phases["total"]["mean_s"]:
        rows.append(("other", format_seconds(phases["other_s"]), "", "", ""))
    rows.append(("imbalance", format_seconds(phases["imbalance_s"]), "", "", ""))
    rows.append(("total", *_times(phases["total"])))
    lines = align(rows, frozenset((1, 2, 3, 4)))
    first = phases["completions"][0]["seconds"]
    ends = [
        f"{done['share']:.0%} {format_seconds(done['seconds'])} "
        f"(+{format_seconds(done['seconds'] - first)})"
        for done in phases["completions"]
    ]
    return [*lines, "ranks that had ended: " + ", ".join(ends)]


def trace_events(ranks: Sequence[Facts]) -> list[dict[str, Any]]:
    """The phases as complete events of the trace event format, a process for each rank, for
    ui.perfetto.dev. A phase follows the one before it where no `begin_s` is given."""
    events: list[dict[str, Any]] = []
    for rank in ranks:
        number, clock_s = rank["rank"], float(rank.get("begin_s", 0.0))
        named = {"name": f"rank {number}"}
        events.append({"ph": "M", "pid": number, "name": "process_name", "args": named})
        for phase in rank["phases"]:
            begin_s = float(phase.get("begin_s", clock_s))
            length_s = float(phase["seconds"])
            events.append({
                "ph": "X", "pid": number, "tid": 0, "name": phase["name"],
                "ts": begin_s * 1e6, "dur": length_s * 1e6, "args": phase.get("parts", {}),
            })  # fmt: skip
            clock_s = begin_s + length_s
    return events


def _phase(name: str, seconds: float) -> dict[str, Any]:
    return {"name": name, "seconds": float(seconds)}


def _names(groups: Any) -> list[str]:
    """Names in the order in which they come first; of phases, or of parts."""
    names: dict[str, None] = {}
    for group in groups:
        for one in group:
            names[one["name"] if isinstance(one, Mapping) else one] = None
    return list(names)


def _seconds(phases: Sequence[Facts], name: str) -> float:
    return float(sum(phase["seconds"] for phase in phases if phase["name"] == name))


def _part_seconds(phases: Sequence[Facts], name: str, part: str) -> float:
    named = [phase.get("parts", {}) for phase in phases if phase["name"] == name]
    return float(sum(parts.get(part, 0.0) for parts in named))


def _mean(values: Sequence[float]) -> float:
    return sum(values) / len(values)


def _spread(seconds: Sequence[float]) -> dict[str, Any]:
    most = max(seconds)
    return {
        "mean_s": _mean(seconds),
        "max_s": most,
        "min_s": min(seconds),
        "longest_in": seconds.index(most),
        "seconds": list(seconds),
    }


def _times(spread: Mapping[str, Any]) -> tuple[str, str, str, str]:
    times = (format_seconds(spread[key]) for key in ("mean_s", "max_s", "min_s"))
    return (*times, str(spread["longest_in"]))  # type: ignore[return-value]
