"""Queries that run in pipelines, as text: the tree of operators with the rows that are expected and
those that came, and the pipelines in the order of their runs."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, TypeAlias

from crossdock.reports.display import align
from crossdock.reports.operator_text import plan_line
from crossdock.sizes import format_count, format_seconds

# Of the engine, by number; the root is the first.
Operators: TypeAlias = Sequence[Mapping[str, Any]]

_FACTS = ("rows_expected", "rows", "thread_s", "pipeline", "plan")
_WIDEST = 80  # characters of what an operator does


_BESIDE = frozenset(("scan", "columns", "filter", "project"))  # one operator


def only_plan(facts: Mapping[str, Any]) -> dict[str, Any] | None:
    """The plan or profile of an operator that runs alone over tables in memory, with filters and
    expressions below; None for queries that run in pipelines. `facts`: of the whole."""
    if "operators" not in facts:
        return dict(facts)
    several = [one for one in facts["operators"] if one["operator"] not in _BESIDE]
    if len(several) != 1 or "plan" not in several[0]:
        return None
    about_all = ("schema_version", "seed", "threads", "memory_peak_bytes", "total_s")
    return {**several[0]["plan"], **{name: facts[name] for name in about_all if name in facts}}


def operator_tree(operators: Operators, number: int = 0) -> dict[str, Any]:
    """The operators as nested values. Projections that compute nothing are left out; an operator
    that two others read stands under each of them."""
    one = operators[number]
    while one["operator"] == "columns":
        one = operators[one["inputs"][0]]
    inputs = [operator_tree(operators, below) for below in one["inputs"]]
    facts = {name: one[name] for name in _FACTS if name in one}
    return {
        "operator": one["operator"],
        "headline": one["text"],
        "columns": one["columns"],
        **facts,
        "inputs": inputs,
    }


def tree_lines(tree: Mapping[str, Any]) -> list[str]:
    """A line per operator, in columns: what it does, rows expected, rows, and time of threads, as
    far as these are known."""
    shown = [name for name in _COLUMNS if _has(tree, name)]
    head = ["operator", *(_COLUMNS[name][0] for name in shown)]
    rows = [head, *_rows(tree, shown, "", "")]
    return align(rows, frozenset(range(1, len(head))))


def pipeline_lines(pipelines: Sequence[Mapping[str, Any]]) -> list[str]:
    """A line per pipeline, and below it one for each part that follows its source."""
    rows = [["pipeline", "rows", "thread time"]]
    for number, pipeline in enumerate(pipelines, 1):
        for place, part in enumerate(pipeline["parts"]):
            begin = f"{number:>2} " if place == 0 else "   → "
            rows.append([begin + _clipped(part["what"], _WIDEST), *_numbers(part)])
    return align(rows, frozenset((1, 2)))


def _clipped(text: str, width: int) -> str:
    return text if len(text) <= width else text[: width - 1] + "…"


def _count(value: int) -> str:
    return str(format_count(value))


_COLUMNS = {
    "rows_expected": ("rows expected", _count),
    "rows": ("rows", _count),
    "thread_s": ("thread time", format_seconds),
}


def _has(tree: Mapping[str, Any], name: str) -> bool:
    return name in tree or any(_has(below, name) for below in tree["inputs"])


def _rows(tree: Mapping[str, Any], shown: Sequence[str], first: str, rest: str) -> list[list[str]]:
    cells = [_COLUMNS[name][1](tree[name]) if name in tree else "" for name in shown]
    rows = [[first + _clipped(tree["headline"], _WIDEST), *cells]]
    if "plan" in tree:
        begin = rest + ("│    " if tree["inputs"] else "     ")
        rows.append([begin + plan_line(tree["plan"]), *("" for _ in shown)])
    for place, below in enumerate(tree["inputs"]):
        last = place == len(tree["inputs"]) - 1
        branch, more = ("└─ ", "   ") if last else ("├─ ", "│  ")
        rows += _rows(below, shown, rest + branch, rest + more)
    return rows


def _numbers(part: Mapping[str, Any]) -> list[str]:
    rows = _count(part["rows"]) if "rows" in part else ""
    return [rows, format_seconds(part["thread_s"]) if "thread_s" in part else ""]
