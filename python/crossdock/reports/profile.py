"""Runs a query and shows, step by step and phase by phase, predicted beside measured time."""

from __future__ import annotations

import html
import json
import time
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from crossdock.engine.execution import Execution, Step
from crossdock.errors import printable
from crossdock.plan.known_orders import with_origins
from crossdock.plan.nodes import AssumeSorted, Filter, Node, Operated, Project
from crossdock.reports.display import align, headline
from crossdock.reports.explain import operator_name
from crossdock.reports.operator_text import plan_line, predicted_seconds
from crossdock.reports.query_picture import profile_svg
from crossdock.reports.query_text import only_plan, operator_tree, pipeline_lines, tree_lines
from crossdock.sizes import format_bytes, format_count, format_seconds

if TYPE_CHECKING:
    import pyarrow as pa

    from crossdock.ranks.execution import RankExecution

_NEVER_RAN = "–"  # in place of a time: the engine's profile has none for such a phase


@dataclass(frozen=True)
class Profile:
    """One run: its result and what it cost.

    `table`: the result; over ranks this rank's rows. `data`: schema_version, result_rows, total_s,
    memory_peak_bytes, threads and steps; a step that is an operator carries the engine's own
    profile with its phases. Times are seconds, sizes bytes. Over ranks `rank` is this one's number,
    and `ranks` has of each its rows, time and exchanges. A phase that was predicted but never ran
    has no measured_s.
    """

    table: pa.Table
    data: dict[str, Any]

    @property
    def json(self) -> str:
        """`data` as JSON text."""
        return json.dumps(self.data)

    @property
    def svg(self) -> str:
        """The operators as a picture, with rows and times, of a query that ran in pipelines.
        OptionError for others."""
        return profile_svg(self.data)

    @property
    def text(self) -> str:
        """A table with a line per step and per phase."""
        rows = [("step", "rows", "predicted", "measured", "")]
        for step in self.data["steps"]:
            rows += _step_rows(step)
        lines = align(rows, frozenset((1, 2, 3)))
        if "ranks" in self.data:
            from crossdock.ranks.profile import rank_lines

            lines += ["", *rank_lines(self.data)]
        for step in self.data["steps"]:
            if step["profile"] is not None:
                lines += ["", *_profile_lines(step)]
        lines += ["", _totals(self.data)]
        return "\n".join(lines)

    def __str__(self) -> str:
        return self.text

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.text)}</pre>"


def run_profiled(execution: Execution | RankExecution, node: Node) -> Profile:
    """Runs a narrowed query to its whole result; over ranks to this rank's rows of it. Errors:
    those of the run."""
    return profiled(execution, lambda: execution.table(node))


def profiled(execution: Execution | RankExecution, work: Callable[[], pa.Table]) -> Profile:
    """What `work` does with `execution`, measured; it gives a table. Errors: those of `work`."""
    if isinstance(execution, Execution):
        return Profile(*_measured(execution, work))
    from crossdock.ranks.profile import profiled_over_ranks

    local = execution.local
    return Profile(*profiled_over_ranks(execution, lambda: _measured(local, work)))


def _measured(
    execution: Execution, work: Callable[[], pa.Table]
) -> tuple[pa.Table, dict[str, Any]]:
    start = time.perf_counter()
    table = work()
    seconds = time.perf_counter() - start
    steps = [_step_data(step) for step in execution.steps]
    data = {
        "schema_version": 1,
        "result_rows": table.num_rows,
        "total_s": seconds,
        "memory_peak_bytes": execution.engine.memory_peak_bytes,
        "threads": execution.engine.threads,
        "steps": steps,
    }
    return table, data


def join_rate(profile: dict[str, Any]) -> float:
    """Input tuples per second of one join: rows of both sides over its whole time."""
    rows = profile["left"]["rows"] + profile["right"]["rows"]
    return float(rows / profile["total_s"]) if profile["total_s"] > 0 else 0.0


def _step_data(step: Step) -> dict[str, Any]:
    node = step.node
    profile = json.loads(step.profile) if step.profile else None
    alone = only_plan(profile) if profile else None
    if alone is not None:
        node = _operated(node)
        profile = with_origins(node, alone)
    return {
        "operator": profile["operator"] if profile else _operator(node),
        "headline": headline(node),
        "rows": profile["result_rows"] if profile else step.rows,
        "input_rows": _input_rows(step, profile) if profile else None,
        "measured_s": step.seconds,
        "profile": profile,
    }


def _operated(node: Node) -> Node:
    while isinstance(node, Filter | Project | AssumeSorted):
        node = node.input
    return node


def _profile_lines(step: dict[str, Any]) -> list[str]:
    profile = step["profile"]
    if "pipelines" not in profile:
        return [f"{step['headline']}: {plan_line(profile)}", _rate(step)]
    tree = tree_lines(operator_tree(profile["operators"]))
    return [*map(printable, tree), "", *pipeline_lines(profile["pipelines"]), "", _rate(step)]


def _operator(node: Node) -> str:
    if isinstance(node, Operated):
        return operator_name(node)
    return "compute" if isinstance(node, Filter | Project) else "read"


def _input_rows(step: Step, profile: dict[str, Any]) -> int:
    """Rows of all inputs; of a query in pipelines those of its scans, some of which are files."""
    scans = [one for one in profile.get("operators", ()) if one["operator"] == "scan"]
    if not scans or any("rows" not in one for one in scans):
        return step.input_rows
    return sum(one["rows"] for one in scans)


def _step_rows(step: dict[str, Any]) -> list[tuple[str, str, str, str, str]]:
    measured = step["measured_s"]
    rows = format_count(step["rows"])
    if step["profile"] is None:
        return [(f"{step['operator']} {step['headline']}", rows, "", format_seconds(measured), "")]
    if "pipelines" in step["profile"]:
        return [(str(step["headline"]), rows, "", format_seconds(measured), "")]
    phases = step["profile"]["phases"]
    predicted = predicted_seconds(step["profile"])
    shown = format_seconds(predicted) if predicted else ""
    named = (step["headline"], rows, shown, format_seconds(measured))
    lines = [(*named, _gap(predicted, measured))]
    for phase in phases:
        predicted, measured = phase.get("predicted_s", 0.0), phase.get("measured_s")
        shown = format_seconds(predicted) if predicted else ""
        spent = _NEVER_RAN if measured is None else format_seconds(measured)
        numbers = (format_count(phase["rows"]), shown, spent)
        lines.append((f"  {phase['name']}", *numbers, _gap(predicted, measured or 0.0)))
    return lines


def _gap(predicted_s: float, measured_s: float) -> str:
    """Marks a prediction that is off by more than half, where the time is worth a look."""
    if predicted_s < 1e-6 or measured_s < 1e-3 or 0.67 < measured_s / predicted_s < 1.5:
        return ""
    return f"← {measured_s / predicted_s:.1f}×"


def _rate(step: dict[str, Any]) -> str:
    profile = step["profile"]
    if "left" not in profile:
        rate = step["input_rows"] / profile["total_s"] if profile["total_s"] > 0 else 0.0
        counts = f"{step['input_rows']:,} rows in, {profile['result_rows']:,} out"
        return f"{counts}, {format_count(rate)} rows/s"
    inputs = f"{profile['left']['rows']:,} + {profile['right']['rows']:,} rows in"
    text = f"{inputs}, {profile['result_rows']:,} out, {format_count(join_rate(profile))} tuples/s"
    bloom = profile.get("bloom", {})
    if bloom.get("used"):
        text += f", Bloom filter passed {bloom['pass_rate']:.0%}"
    return text


def _totals(data: dict[str, Any]) -> str:
    return (
        f"total {format_seconds(data['total_s'])}   {data['result_rows']:,} rows   "
        f"peak memory {format_bytes(data['memory_peak_bytes'])}   threads {data['threads']}"
    )
