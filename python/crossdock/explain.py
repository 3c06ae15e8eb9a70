"""The plan of a query as a tree of text: what is read, how it is joined, what it should cost."""

from __future__ import annotations

import html
import json
from typing import Any

from crossdock.display import align, headline, shorten
from crossdock.execution import Execution
from crossdock.nodes import Join, Node, Scan
from crossdock.sizes import format_bytes, format_count, format_seconds

_READ_BELOW_BYTES = 1 << 30
_UNPREDICTED = "cost     not predicted: an input is itself a join, or not read (explain(read=True))"


class Plan(str):
    """The tree as text, which is also what the prompt and Jupyter show; `.data` has it as plain
    values and `.json` as text, with a schema_version."""

    __slots__ = ("data",)
    data: dict[str, Any]

    def __new__(cls, text: str, data: dict[str, Any]) -> Plan:
        plan = super().__new__(cls, text)
        plan.data = data
        return plan

    @property
    def json(self) -> str:
        return json.dumps(self.data)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def explain(execution: Execution, node: Node, read: bool | None) -> Plan:
    """The plan of a narrowed query. `read` as for Relation.explain. Errors: those of reading."""
    if read is None:
        read = stored_bytes(node) <= _READ_BELOW_BYTES
    tree = _describe(execution, node, read)
    return Plan("\n".join(_lines(tree, "", "")), {"schema_version": 1, "plan": tree})


def stored_bytes(node: Node) -> int:
    """Bytes of the files below `node`; data in memory count as nothing, they are read already."""
    if isinstance(node, Scan):
        return 0 if node.source.kind == "arrow" else node.source.stored_bytes()
    if isinstance(node, Join):
        return stored_bytes(node.left) + stored_bytes(node.right)
    return stored_bytes(node.input)


def join_line(plan: dict[str, Any]) -> str:
    """The decisions of the engine for one join, in one line."""
    parts = [f"build {plan['build']}", f"{plan['strategy']} strategy", f"{plan['key']} key"]
    if plan.get("partitions", 1) > 1:
        parts.append(f"{plan['partitions']} partitions")
    parts.append(f"{plan['materialize']} materialization")
    return " · ".join(parts)


def predicted_seconds(plan: dict[str, Any]) -> float:
    """The predicted time of a join: of the phases that the model knows."""
    return float(sum(phase.get("predicted_s", 0.0) for phase in plan["phases"]))


def _describe(execution: Execution, node: Node, read: bool) -> dict[str, Any]:
    if isinstance(node, Scan):
        return {
            "operator": "scan",
            "kind": node.source.kind,
            "source": node.source.name,
            "columns": list(node.columns),
            "filter": None if node.predicate is None else repr(node.predicate),
            "rows": node.source.known_rows(),
        }
    if isinstance(node, Join):
        plan = None
        if read and not (_has_join(node.left) or _has_join(node.right)):
            plan = json.loads(execution.join(node).plan())
            execution.tracker.idle()
        inputs = [_describe(execution, side, read) for side in (node.left, node.right)]
        found = {"operator": "hash_join", "headline": headline(node), "plan": plan}
        return {**found, "columns": list(node.schema.names), "inputs": inputs}
    kind = headline(node).partition(" ")[0]
    inputs = [_describe(execution, node.input, read)]
    return {"operator": kind, "headline": headline(node), "inputs": inputs}


def _has_join(node: Node) -> bool:
    if isinstance(node, Join):
        return True
    return False if isinstance(node, Scan) else _has_join(node.input)


def _lines(tree: dict[str, Any], first: str, rest: str) -> list[str]:
    inputs = tree.get("inputs", [])
    detail = rest + ("│    " if inputs else "     ")
    lines = [first + _title(tree)]
    lines += [detail + text for text in _details(tree)]
    for i, below in enumerate(inputs):
        last = i == len(inputs) - 1
        lines += _lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
    return lines


def _title(tree: dict[str, Any]) -> str:
    if tree["operator"] == "scan":
        rows = "" if tree["rows"] is None else f"   {format_count(tree['rows'])} rows"
        return f"scan {tree['kind']} {tree['source']}{rows}"
    if tree["operator"] != "hash_join":
        return str(tree["headline"])
    plan = tree["plan"]
    cost = "" if plan is None else f"   predicted {format_seconds(predicted_seconds(plan))}"
    return f"hash_join   {tree['headline']}{cost}"


def _details(tree: dict[str, Any]) -> list[str]:
    if tree["operator"] == "scan":
        lines = ["columns  " + (shorten(tree["columns"]) or "(none)")]
        return lines + ([f"filter   {tree['filter']}"] if tree["filter"] else [])
    if tree["operator"] != "hash_join":
        return []
    plan = tree["plan"]
    result = "result   " + (shorten(tree["columns"]) or "(row count only)")
    if plan is None:
        return [
            result,
            "cost     not predicted: the inputs are not read (explain(read=True)) or joins",
        ]
    lines = [result, "choice   " + join_line(plan)]
    lines += [
        f"because  {plan[key]}" for key in ("build_reason", "strategy_reason") if plan.get(key)
    ]
    phases = [
        (
            phase["name"],
            f"{format_count(phase['rows'])} rows",
            format_bytes(phase["bytes"]) if "bytes" in phase else "",
            f"predicted {format_seconds(phase['predicted_s'])}" if "predicted_s" in phase else "",
        )
        for phase in plan["phases"]
    ]
    return lines + (align(phases, frozenset((1, 2))) if phases else [])
