"""Settles a query over ranks: what a rank can do with its own rows stays as it is, and rows go to
where others need them before a join, a group-by or a sort that needs them together.

`settle` goes from the sources up, in all ranks alike. It gives a query of this rank alone, in which
what has moved is a table that is there, and says where rows are.
"""

from __future__ import annotations

from dataclasses import replace

from crossdock.engine.execution import Execution
from crossdock.expressions.expression import Column
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Filter,
    FirstShare,
    GroupBy,
    GroupLists,
    Join,
    Limit,
    Node,
    Partition,
    Project,
    Sample,
    Scan,
    Sort,
    Union,
    Window,
)
from crossdock.ranks import fused, groups, joins, row_references, sorts
from crossdock.ranks.members import Ranks
from crossdock.ranks.placement import Placed, cut_by_rank, scan_of
from crossdock.ranks.spread import Spread

_SEEDS = 1 << 63
_STEP = 0x9E3779B97F4A7C15  # seeds of neighbouring ranks must not be alike


class Settling(Spread):
    """The walk over one query."""

    def __init__(self, execution: Execution, ranks: Ranks, dry: bool = False) -> None:
        super().__init__(execution, ranks, dry)
        self._is_settling = False
        self._known: dict[Node, Placed] = {}  # settled before the nodes above

    def settle(self, node: Node) -> Placed:
        """What this rank does for `node` when all before has been done. Collective."""
        if self._is_settling:
            return self._settled(node)
        self._is_settling = True
        try:
            return self._whole(node)
        finally:
            self._is_settling = False
            self._known.clear()

    def _whole(self, node: Node) -> Placed:
        """The query; where that pays, with references to rows in the place of columns."""
        referred = row_references.referred(self, node)
        if referred is not None:
            self.last_join = fused.last_join(referred.node)
            if self._is_right(referred):
                settled = self._settled(referred.node)
                return row_references.fetched(self, settled, node, referred)
        self.last_join = fused.last_join(node)
        return self._settled(node)

    def _is_right(self, referred: row_references.Referred) -> bool:
        """Whether the groups of the query, which are settled now, are those by all keys."""
        group = referred.group
        if group is None or self.dry:
            return True
        placed = self._settled(group)
        rows = self.table(placed.node)
        self._known[group] = replace(placed, node=scan_of(rows))
        return row_references.is_determined(self, rows, referred)

    def _settled(self, node: Node) -> Placed:
        if node in self._known:
            return self._known[node]
        if isinstance(node, Scan):
            return Placed(node, everywhere=getattr(node.source, "is_replicated", False))
        if isinstance(node, Join):
            return joins.settle_join(self, node)
        if isinstance(node, GroupBy):
            return groups.settle_group(self, node)
        if isinstance(node, Union):
            return self._union(node)
        if isinstance(node, Partition):
            return sorts.settle_partition(self, node)
        below = self.settle(node.input)
        if isinstance(node, Filter | AssumeSorted):
            return replace(below, node=replace(node, input=below.node))
        if isinstance(node, Project):
            names = {i.name: name for name, i in reversed(node.items) if isinstance(i, Column)}
            return below.renamed(replace(node, input=below.node), names)
        below = self.shared(below)
        if isinstance(node, Sort):
            return sorts.settle_sort(self, node, below)
        if isinstance(node, Window):
            return self._window(node, below)
        if isinstance(node, Limit):
            return self._limit(node, below)
        if isinstance(node, FirstShare):
            return self._first_share(node, below)
        if isinstance(node, Draws):
            return self._draws(node, below)
        if isinstance(node, Sample):
            return self._sample(node, below)
        if isinstance(node, GroupLists):
            return self._lists(node, below)
        return replace(below, node=replace(node, input=below.node))

    def _union(self, node: Union) -> Placed:
        parts = [self.settle(below) for below in node.inputs]
        if all(part.everywhere for part in parts):
            whole = replace(node, inputs=tuple(part.node for part in parts))
            return Placed(whole, everywhere=True)
        return Placed(replace(node, inputs=tuple(self.shared(part).node for part in parts)))

    def _window(self, node: Window, below: Placed) -> Placed:
        """A partition is in one rank; without keys, all rows are one."""
        if below.in_first:
            placed = below
        elif node.partition:
            placed = self.by_key(below, node.partition)
        else:
            placed = Placed(self.to_one(below.node), in_first=True)
        return replace(placed, node=replace(node, input=placed.node))

    def _lists(self, node: GroupLists, below: Placed) -> Placed:
        """A group is in one rank; without keys, all ranks make the one list."""
        placed = self.by_key(below, node.keys) if node.keys else self.to_all(below.node)
        return Placed(replace(node, input=placed.node), everywhere=placed.everywhere)

    def _limit(self, node: Limit, below: Placed) -> Placed:
        """Rows count from those of rank 0 on."""
        if self.dry or below.in_first:
            return replace(below, node=replace(node, input=below.node))
        most = min(node.rows + node.offset, (1 << 63) - 1)
        table = self.table(Limit(below.node, most))
        rows = self.ranks.agree("rows below a limit", table.num_rows)
        return Placed(scan_of(cut_by_rank(table, rows, self.ranks.rank, node)))

    def _first_share(self, node: FirstShare, below: Placed) -> Placed:
        """Of the rows of all ranks, as `_limit`."""
        if self.dry or below.in_first:
            return replace(below, node=replace(node, input=below.node))
        table = self.table(below.node)
        rows = self.ranks.agree("rows below a limit", table.num_rows)
        cut = Limit(below.node, int(node.fraction * sum(rows)), node.offset)
        return Placed(scan_of(cut_by_rank(table, rows, self.ranks.rank, cut)))

    def _draws(self, node: Draws, below: Placed) -> Placed:
        items = tuple(replace(each, seed=self._seed(each.seed)) for each in node.items)
        return replace(below, node=replace(node, input=below.node, items=items))

    def _seed(self, seed: int) -> int:
        """That of this rank."""
        return (seed + self.ranks.rank * _STEP) % _SEEDS

    def _sample(self, node: Sample, below: Placed) -> Placed:
        seed = self._seed(node.seed)
        if node.rows is None or self.dry:
            return Placed(replace(node, input=below.node, seed=seed))
        table = self.table(below.node)
        rows = self.ranks.agree("rows to sample from", table.num_rows)
        drawn = _drawn(rows, node.rows, node.seed)[self.ranks.rank]
        return Placed(Sample(scan_of(table), None, drawn, seed))


def _drawn(rows: list[int], sample_rows: int, seed: int) -> list[int]:
    """How many of `wanted` rows each rank draws, so that any rows of all are as likely as others:
    the same in all ranks."""
    import random

    whole = sum(rows)
    if sample_rows >= whole:
        return rows
    # Whichever is fewer: the rows that are drawn, or those that are not.
    fewer = min(sample_rows, whole - sample_rows)
    drawn = [0] * len(rows)
    for place in random.Random(seed).sample(range(whole), fewer):
        rank = 0
        while place >= rows[rank]:
            place -= rows[rank]
            rank += 1
        drawn[rank] += 1
    if fewer == sample_rows:
        return drawn
    return [have - left for have, left in zip(rows, drawn, strict=True)]
