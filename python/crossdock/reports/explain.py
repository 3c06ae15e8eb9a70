"""The plan of a query as a tree of text: what is read, what runs on it and how, what it should
cost."""

from __future__ import annotations

import html
import json
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from crossdock.engine.execution import Execution
from crossdock.engine.file_plans import scanned_files
from crossdock.engine.late_columns import has_late
from crossdock.engine.native_plans import is_streamed_here
from crossdock.errors import printable
from crossdock.files.sources import read_for
from crossdock.option_checks import require_flag
from crossdock.plan.known_orders import known_plan
from crossdock.plan.nodes import (
    Exchange,
    GroupBy,
    Join,
    Node,
    Operated,
    Partition,
    RankFilter,
    Scan,
    Sort,
    Window,
    inputs_of,
)
from crossdock.reports.display import align, headline, shorten
from crossdock.reports.operator_text import plan_line, predicted_seconds
from crossdock.reports.query_picture import plan_svg
from crossdock.reports.query_text import only_plan, operator_tree, tree_lines
from crossdock.sizes import format_bytes, format_count, format_seconds

if TYPE_CHECKING:
    from crossdock.ranks.execution import RankExecution
    from crossdock.ranks.places import Places

_READ_BELOW_BYTES = 1 << 30
_PIPELINED = (
    "the query runs in pipelines: build sides and strategies follow from the rows that come "
    "(profile() shows them)"
)
_UNPREDICTED = (
    "cost     not predicted: the inputs are not read (explain(read=True)) or are results themselves"
)


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
        """`data` as JSON."""
        return json.dumps(self.data)

    @property
    def svg(self) -> str:
        """The operators as a picture, of a query that runs in pipelines. OptionError for others."""
        return plan_svg(self.data)

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self)}</pre>"


def explain(execution: Execution | RankExecution, node: Node, read: bool | None) -> Plan:
    """The plan of a narrowed query; over ranks with the exchanges between them. `read` as for
    Relation.explain. Errors: those of reading."""
    places, because = None, ""
    if not isinstance(execution, Execution):
        places, because = execution.places(), execution.ranks.why_not_in_bulk
        node, execution = execution.planned(node), execution.local
    if read is not None:
        require_flag(read, "read", "explain")
    else:
        read = stored_bytes(node) <= _READ_BELOW_BYTES
    if places is None and not (
        is_streamed_here(node) or isinstance(node, Partition) or has_late(node)
    ):
        facts = json.loads(execution.unread_operation(node).plan())
        if only_plan(facts) is None:
            facts = json.loads(execution.operation(node).plan()) if read else facts
            return _pipelined(node, facts, read)
    tree = _describe(execution, node, read, places)
    data = {"schema_version": 1, "plan": tree}
    lines = _lines(tree, "", "")
    if because:
        data["by_channel_because"] = because
        lines += ["", f"rows move by channel, since {because}"]
    return Plan("\n".join(lines), data)


def _pipelined(node: Node, facts: dict[str, Any], read: bool) -> Plan:
    """The plan of a query that the engine runs as a whole. Where the inputs are not read, nothing
    says how many rows they have."""
    operators = facts["operators"]
    if not read:
        for operator in operators:
            del operator["rows_expected"]
            operator.pop("plan", None)
    tree = operator_tree(operators)
    readers = list(_readers(node))
    lines = [*tree_lines(tree), ""]
    lines += [f"{source} is read by pyarrow, since {reason}" for source, reason in readers]
    data = {
        "schema_version": 1,
        "pipelined": True,
        "plan": tree,
        "read_by_pyarrow_because": dict(readers),
    }
    return Plan("\n".join([*map(printable, lines), _PIPELINED]), data)


def _readers(node: Node) -> Iterator[tuple[str, str]]:
    """Parquet files that pyarrow reads, and why."""
    if isinstance(node, Scan) and node.source.kind == "parquet":
        reason = scanned_files(node.source, read_for(node.columns, node.predicate))
        if isinstance(reason, str):
            yield node.source.name, reason
    for below in inputs_of(node):
        yield from _readers(below)


def stored_bytes(node: Node) -> int:
    """Bytes of the files below `node`; data in memory count as nothing, they are read already."""
    if isinstance(node, Scan):
        return 0 if node.source.kind == "arrow" else node.source.stored_bytes()
    return sum(stored_bytes(below) for below in inputs_of(node))


def operator_name(node: Operated) -> str:
    """What the engine calls the operator that runs a node, as far as the node alone tells: a join
    whose strategy is still to be chosen is a "join"."""
    if isinstance(node, Join):
        named = {"merge": "merge_join", "auto": "join"}
        return named.get(node.options.strategy, "hash_join")
    if isinstance(node, GroupBy):
        return "group_by"
    if isinstance(node, Window | RankFilter):
        return "window" if isinstance(node, Window) else "filter"
    return "sort" if isinstance(node, Sort) else "partition"


def _describe(
    execution: Execution, node: Node, read: bool, places: Places | None
) -> dict[str, Any]:
    if isinstance(node, Scan):
        return {
            "operator": "scan",
            "kind": node.source.kind,
            "source": node.source.name,
            "columns": list(node.columns),
            "filter": None if node.predicate is None else repr(node.predicate),
            "rows": node.source.known_rows(),
            "read_by_pyarrow_because": dict(_readers(node)).get(node.source.name),
        }
    inputs = [_describe(execution, below, read, places) for below in inputs_of(node)]
    if not isinstance(node, Operated):
        kind = headline(node).partition(" ")[0]
        tree = {"operator": kind, "headline": headline(node), "inputs": inputs}
        return tree | (_exchange_cost(node, places) if isinstance(node, Exchange) else {})
    plan = None
    known: dict[str, Any] = {}
    if read and not any(_is_result(below) for below in inputs_of(node)):
        plan = only_plan(json.loads(execution.operation(node).plan()))
    if plan is None:
        known = known_plan(node)
    description = {
        "operator": operator_name(node) if plan is None else plan["operator"],
        "headline": headline(node),
        "plan": plan,
        "known": known,
    }
    if isinstance(node, Join) and node.route is not None:
        description["route"] = {
            name: getattr(node.route, name) for name in ("how", "reason", "unless")
        }
    return {**description, "columns": list(node.schema.names), "inputs": inputs}


def _exchange_cost(node: Exchange, places: Places | None) -> dict[str, Any]:
    """Rows and predicted seconds, where they are known; of channels no model tells."""
    if places is None or node.how != "in bulk":
        return {}
    prediction = places.predicted(node.input)
    return {} if prediction is None else {"rows": prediction[0], "predicted_s": prediction[1]}


def _is_result(node: Node) -> bool:
    """True for rows that an operator must be run for, or that come from other ranks."""
    if isinstance(node, Operated | Exchange):
        return True
    return any(_is_result(below) for below in inputs_of(node))


def _lines(tree: dict[str, Any], first: str, rest: str) -> list[str]:
    inputs = tree.get("inputs", [])
    detail = rest + ("│    " if inputs else "     ")
    lines = [first + printable(_title(tree))]
    lines += [detail + printable(text) for text in _details(tree)]
    for i, below in enumerate(inputs):
        last = i == len(inputs) - 1
        lines += _lines(below, rest + ("└─ " if last else "├─ "), rest + ("   " if last else "│  "))
    return lines


def _title(tree: dict[str, Any]) -> str:
    if tree["operator"] == "scan":
        rows = "" if tree["rows"] is None else f"   {format_count(tree['rows'])} rows"
        return f"scan {tree['kind']} {tree['source']}{rows}"
    if "plan" not in tree:
        seconds = tree.get("predicted_s")
        cost = "" if seconds is None else f"   predicted {format_seconds(seconds)}"
        return f"{tree['headline']}{cost}"
    plan = tree["plan"]
    predicted = 0.0 if plan is None else predicted_seconds(plan)
    cost = f"   predicted {format_seconds(predicted)}" if predicted else ""
    # The headline of a join says its kind and keys; others begin with what they do.
    operator = "join (auto)" if tree["operator"] == "join" else tree["operator"]
    named = f"{operator}   " if tree["operator"].endswith("join") else ""
    return f"{named}{tree['headline']}{cost}"


def _details(tree: dict[str, Any]) -> list[str]:
    if tree["operator"] == "scan":
        lines = ["columns  " + (shorten(tree["columns"]) or "(none)")]
        lines += [f"filter   {tree['filter']}"] if tree["filter"] else []
        reason = tree["read_by_pyarrow_because"]
        return lines + ([f"reader   pyarrow, since {reason}"] if reason else [])
    if "plan" not in tree:
        return []
    plan = tree["plan"]
    result = "result   " + (shorten(tree["columns"]) or "(row count only)")
    lines = [result, *_route_lines(tree.get("route"))]
    if plan is None:
        return [*lines, *_choices(tree["known"]), _UNPREDICTED]
    lines += _choices(plan)
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


def _route_lines(route: dict[str, str] | None) -> list[str]:
    """How the rows of a join go between ranks."""
    if route is None:
        return []
    since = f", since {route['reason']}" if route["reason"] else ""
    unless = f", unless {route['unless']}" if route["unless"] else ""
    return [f"rows     go {route['how']}{since}{unless}"]


def _choices(plan: dict[str, Any]) -> list[str]:
    """What the engine chose, or will, and why."""
    choice = plan_line(plan)
    reasons = (
        ["strategy_reason"] if plan.get("build") == "none" else ["build_reason", "strategy_reason"]
    )
    lines = ["choice   " + choice] if choice else []
    return lines + [f"because  {plan[key]}" for key in reasons if plan.get(key)]
