"""Queries that run in pipelines as pictures (SVG): a box per operator, in the colour of the
pipeline that its rows leave in; an edge is the wider, the more rows go along it."""

from __future__ import annotations

import math
from collections.abc import Mapping
from html import escape
from typing import Any

from crossdock.errors import make_error
from crossdock.machines.topology_picture import document, text
from crossdock.machines.transfers_picture import COLOURS
from crossdock.reports.query_text import operator_tree
from crossdock.sizes import format_count, format_seconds

_WIDTH, _HEIGHT = 300.0, 46.0  # of a box
_ACROSS, _DOWN = 28.0, 44.0  # between boxes
_MARGIN = 20.0
_CHARACTERS = 42  # of a box
_INK, _PLAIN = "#33404d", "#8a97a3"

Tree = dict[str, Any]


def plan_svg(data: Mapping[str, Any]) -> str:
    """Of the plan's data, before a run. OptionError for a query that does not run in pipelines."""
    if not data.get("pipelined"):
        raise _no_picture()
    return _drawn(data["plan"])


def profile_svg(data: Mapping[str, Any]) -> str:
    """Of a profile's data. OptionError for a query that did not run in pipelines."""
    for step in data["steps"]:
        if step["profile"] is not None and "pipelines" in step["profile"]:
            profile = step["profile"]
            return _drawn(operator_tree(_coloured(profile)))
    raise _no_picture()


def _no_picture() -> Exception:
    return make_error(
        "CD-105", "only queries that run in pipelines have a picture",
        try_="print(relation.explain()), which shows this one as text",
    )  # fmt: skip


def _coloured(profile: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The operators, each with the last pipeline in which it is not the sink."""
    operators = [dict(operator) for operator in profile["operators"]]
    for number, pipeline in enumerate(profile["pipelines"]):
        for part in pipeline["parts"][:-1]:
            if "operator" in part:
                operators[part["operator"]]["pipeline"] = number
    return operators


def _drawn(tree: Tree) -> str:
    columns = _place(tree, 0, 0)
    depth = _depth(tree)
    width = 2 * _MARGIN + columns * (_WIDTH + _ACROSS) - _ACROSS
    height = 2 * _MARGIN + depth * (_HEIGHT + _DOWN) - _DOWN
    return "\n".join([document(width, height), *_edges(tree), *_boxes(tree), "</svg>", ""])


def _place(tree: Tree, column: int, row: int) -> int:
    """Gives each operator its place, the first input below it; answers how many columns it has."""
    tree["x"] = _MARGIN + column * (_WIDTH + _ACROSS)
    tree["y"] = _MARGIN + row * (_HEIGHT + _DOWN)
    taken = 0
    for below in tree["inputs"]:
        taken += _place(below, column + taken, row + 1)
    return max(1, taken)


def _depth(tree: Tree) -> int:
    return 1 + max(map(_depth, tree["inputs"]), default=0)


def _edges(tree: Tree) -> list[str]:
    lines = []
    for below in tree["inputs"]:
        x0, y0 = below["x"] + _WIDTH / 2, below["y"]
        x1, y1 = tree["x"] + _WIDTH / 2, tree["y"] + _HEIGHT
        rows = below.get("rows", below.get("rows_expected"))
        wide = 1.0 if not rows else 1.0 + math.log10(rows)
        lines.append(
            f'<path d="M{x0:.1f} {y0:.1f} C{x0:.1f} {y0 - _DOWN / 2:.1f} '
            f'{x1:.1f} {y1 + _DOWN / 2:.1f} {x1:.1f} {y1:.1f}" fill="none" '
            f'stroke="{_colour(below)}" stroke-width="{wide:.1f}" stroke-opacity="0.6"/>'
        )
        if rows is not None:
            about = "" if "rows" in below else "about "
            place = (x0 + 8, y0 - 8)
            lines.append(text(*place, f"{about}{format_count(rows)} rows", size=11, fill=_INK))
        lines += _edges(below)
    return lines


def _boxes(tree: Tree) -> list[str]:
    x, y, words = tree["x"], tree["y"], tree["headline"]
    shown = words if len(words) <= _CHARACTERS else words[: _CHARACTERS - 1] + "…"
    times = format_seconds(tree["thread_s"]) if "thread_s" in tree else ""
    lines = [
        f"<g><title>{escape(words)}</title>"
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{_WIDTH}" height="{_HEIGHT}" rx="5" fill="white" '
        f'stroke="{_colour(tree)}" stroke-width="1.5"/>',
        text(x + 10, y + 19, shown, size=12),
        text(x + 10, y + 36, times, size=11, fill=_PLAIN),
        "</g>",
    ]
    for below in tree["inputs"]:
        lines += _boxes(below)
    return lines


def _colour(tree: Tree) -> str:
    return COLOURS[tree["pipeline"] % len(COLOURS)] if "pipeline" in tree else _PLAIN
