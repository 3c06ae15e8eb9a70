"""Whether a rank groups its rows before they go by key, or lets them go as they are: where many
rows are groups of their own, grouping twice costs more than the bytes that it saves.

Each rank plans the first grouping, whose sample tells how many groups it would make and what that
would take; models of exchanges tell the rest. Rows go only where keys are even: however many rows a
key has in a rank, they are one once they are grouped.
"""

from __future__ import annotations

import json

from crossdock.expressions.expression import Column
from crossdock.plan.nodes import GroupBy
from crossdock.ranks import skew
from crossdock.ranks.members import Ranks
from crossdock.ranks.places import measured_places
from crossdock.ranks.spread import Spread
from crossdock.reports.operator_text import predicted_seconds
from crossdock.reports.query_text import only_plan
from crossdock.values.row_taking import table_bytes


def may_go_first(ranks: Ranks, node: GroupBy) -> bool:
    """Whether it can be known what rows cost that go, and whether their keys are even."""
    are_columns = all(isinstance(item, Column) for _, item in node.keys)
    return ranks.in_bulk and are_columns and skew.is_seen(ranks)


def rows_go_first(spread: Spread, partial: GroupBy) -> bool:
    """Whether the input's rows should go, and not the groups that `partial` makes of them.
    `partial`: of rows in memory, and one that may. Collective."""
    ranks = spread.ranks
    keys = tuple(item.name for _, item in partial.keys if isinstance(item, Column))
    table = spread.table(partial.input)
    plan = only_plan(json.loads(spread.execution.operation(partial).plan()))
    if plan is None:  # in all ranks: schemas decide whether one operator groups the rows
        return False
    every = ranks.agree(
        "how to group",
        {
            "rows": table.num_rows,
            "bytes": table_bytes(table),
            "groups": min(plan["groups_expected"], table.num_rows),
            "seconds": predicted_seconds(plan),
            "partitions": skew.partitions_of(table, keys, ranks.size),
        },
    )
    rows, size, groups = (sum(one[name] for one in every) for name in ("rows", "bytes", "groups"))
    if not rows or not skew.is_even(ranks, [one["partitions"] for one in every]):
        return False
    places = measured_places(ranks.hosts)

    def moved_s(count: int) -> float:
        return sum(places.phases(count, size / rows, size / rows).values())

    # Either way all rows are grouped once; groups that have moved are grouped once more.
    again_s = sum(one["seconds"] for one in every) / ranks.size * groups / rows
    return bool(moved_s(rows) < moved_s(groups) + again_s)
