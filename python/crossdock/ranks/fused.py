"""Joins whose rows go straight into the partitions of the ranks that join them.

The engine's radix and merge joins partition both sides and join part by part. Over ranks they
partition together, each row into the memory of the rank that has its part, so that what arrives is
not partitioned again. Rows then lie by the join's own hash or ranges, which no other step knows, so
it is done for the join after which nothing needs rows by that key, and where the engine says that
keys and columns fit its two words.
"""

from __future__ import annotations

import json
import time
from dataclasses import replace
from typing import Any

from crossdock import _native
from crossdock.engine.late_columns import late_names
from crossdock.engine.native_plans import Named, join_options
from crossdock.errors import public_errors
from crossdock.expressions.expression import Column
from crossdock.plan.nodes import (
    AssumeSorted,
    Filter,
    GroupBy,
    Join,
    Limit,
    Node,
    Project,
    Sample,
    Sort,
)
from crossdock.ranks.moves import JoinRoute, Move
from crossdock.ranks.placement import Placed, scan_of
from crossdock.ranks.spread import Spread
from crossdock.values.engine_types import empty_table

_STRATEGIES = frozenset(("auto", "radix", "merge"))
_INTO, _AS_TABLES = "into partitions", "as tables"
_LIES = "one side lies by these keys already"
_ROWS_TELL = "few keys have most of them, or NULLs make a column wider than it fits"


def last_join(node: Node) -> Join | None:
    """The join of a query after which rows need not lie by its keys, if it has one."""
    names: set[str] = set()
    while not isinstance(node, Join):
        if isinstance(node, GroupBy):
            columns = (item.name for _, item in node.keys if isinstance(item, Column))
            names.update(columns)
        elif not isinstance(node, AssumeSorted | Filter | Limit | Project | Sample | Sort):
            return None
        node = node.input
    return None if names & {name for pair in node.on for name in pair} else node


def settled(
    spread: Spread, node: Join, sides: tuple[Placed, Placed], is_uneven: bool
) -> Placed | None:
    """The join of what has come into this rank's partitions; None where rows have to go another
    way. Collective."""
    why_not = "few keys have most of its rows" if is_uneven else _why_not(spread, node)
    why_not = why_not or _refusal(spread, node)
    fused_join = None
    if not why_not:
        fused_join = _partitioned(spread, node, sides)
        why_not = fused_join.reason
    spread.ranks.join_routes.append(_route(node, why_not))
    return None if why_not else Placed(replace(node, arrived=fused_join))


def lies(spread: Spread, node: Join) -> None:
    """Notes that one side need not move, and so the other goes to it."""
    spread.ranks.join_routes.append(_route(node, _LIES))


def planned(spread: Spread, node: Join, both_move: bool) -> JoinRoute:
    """How the rows would go, as far as schemas and steps tell. Not collective."""
    why_not = _why_not(spread, node) if both_move else _LIES
    return _route(node, why_not or _refusal(spread, node), _ROWS_TELL)


def _refusal(spread: Spread, node: Join) -> str:
    """Why the engine would not take rows of these schemas, whatever they are; "" if it may."""
    left, right = (
        spread.execution.native(scan_of(empty_table(side.schema)))
        for side in (node.left, node.right)
    )
    with public_errors():
        return _native.partition_refusal(
            spread.ranks.size, spread.execution.engine, left[0], right[0],
            **_located(node, left, right),
        )  # fmt: skip


def _route(node: Join, why_not: str, unless: str = "") -> JoinRoute:
    names = tuple(left for left, _ in node.on)
    if why_not:
        return JoinRoute(names, _AS_TABLES, why_not)
    return JoinRoute(names, _INTO, unless=unless)


def _why_not(spread: Spread, node: Join) -> str:
    """Why this join's rows cannot go into partitions, whatever they are; "" if they may."""
    if not spread.ranks.in_bulk:
        return "rows go through channels"
    if node is not spread.last_join:
        return "a later step needs its rows by these keys, or may"
    if node.options.strategy not in _STRATEGIES:
        return f"its strategy is {node.options.strategy}"
    if node.residual is not None:
        return "it has a residual predicate"
    if late_names(node.left.schema) or late_names(node.right.schema):
        return "a column is of a type that goes along by reference"
    return "its filter is bloom" if node.options.filter == "bloom" else ""


def _partitioned(spread: Spread, node: Join, sides: tuple[Placed, Placed]) -> _native.RankSides:
    group = spread.ranks.group.native()
    left, right = (spread.execution.native(side.node) for side in sides)
    arguments = _located(node, left, right)
    with spread.ranks.together(f"join in partitions {node.on}"):
        start = time.perf_counter()
        with public_errors():
            partitioned = _native.partition_join(
                group, spread.execution.engine, left[0], right[0], **arguments
            )
        seconds = time.perf_counter() - start
    if partitioned.is_there:
        spread.ranks.moves.append(_move(json.loads(partitioned.facts), seconds))
    return partitioned


def _move(facts: dict[str, Any], seconds: float) -> Move:
    return Move(
        "into partitions",
        "in bulk",
        facts["rows_in"],
        facts["bytes_sent"],
        facts["rows_received"],
        facts["window_bytes"],
        seconds,
        facts["phases"],
        facts["bytes_sent"],
    )


def _located(node: Join, left: Named, right: Named) -> dict[str, Any]:
    """The options of a join of two tables, whose columns may have other names than in the nodes."""
    options = join_options(node)
    names = {"left": left[1], "key": left[1], "right": right[1]}
    options["on"] = [(left[1][a], right[1][b]) for a, b in node.on]
    options["output"] = [(side, names[side][column], name) for side, column, name in node.outputs]
    return options
