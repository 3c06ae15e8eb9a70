"""One run of a query over ranks, and how its rows move. settling.py walks the query, with a module
for each operator that needs rows together; all of them are given the run.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crossdock.engine.execution import Execution
from crossdock.files.sources import ArrowSource
from crossdock.plan.estimates import Estimator
from crossdock.plan.nodes import Join, Node, Scan
from crossdock.ranks.members import Ranks
from crossdock.ranks.placement import Placed, scan_of
from crossdock.ranks.shares import rows_of_rank
from crossdock.values.engine_types import empty_table


class Spread(ABC):
    """`execution` runs what this rank does by itself. A `dry` run moves no rows, and leaves a node
    `Exchange` where they would."""

    def __init__(self, execution: Execution, ranks: Ranks, dry: bool = False) -> None:
        self.execution = execution
        self.ranks = ranks
        self.dry = dry
        self.estimate = Estimator()  # of the rows of this rank
        self.estimate_of_all = Estimator(ranks.size)
        self.last_join: Join | None = None  # of the query that is being settled

    @abstractmethod
    def settle(self, node: Node) -> Placed:
        """What this rank does for `node` when all before has been done. Collective."""

    def table(self, node: Node) -> pa.Table:
        """The rows of this rank, as they are now; of rows without columns, as many of a column of
        NULLs, which says how many there are."""
        if self.dry:
            return empty_table(node.schema)
        if not node.schema.names:
            return pa.table({"row": pa.nulls(self.execution.count(node))})
        return self.execution.table(node)

    def there(self, node: Node) -> Node:
        """The same rows in memory, for what is used more than once."""
        if self.dry or (isinstance(node, Scan) and isinstance(node.source, ArrowSource)):
            return node
        return scan_of(self.table(node))

    def shared(self, placed: Placed) -> Placed:
        """The rows once among all ranks, where all ranks have all of them."""
        if not placed.everywhere:
            return placed
        if self.dry:
            return Placed(placed.node)
        rows = rows_of_rank(self.table(placed.node), self.ranks.rank, self.ranks.size)
        return Placed(scan_of(rows))

    def by_key(self, placed: Placed, keys: tuple[str, ...], rule: str = "by key") -> Placed:
        """The rows where those with equal keys, NULLs too, are in one rank. rule: what a plan
        says of it."""
        even = self.ranks.even
        if placed.keys == keys and placed.with_nulls:
            return placed
        if self.dry:
            return Placed(self.ranks.planned(placed.node, rule, keys), keys, even, with_nulls=True)
        table = self.ranks.by_partition(self.table(placed.node), keys, even)
        return Placed(scan_of(table), keys, even, with_nulls=True)

    def by_key_or_in_first(self, placed: Placed, keys: tuple[str, ...], rule: str) -> Placed:
        """As `by_key`, but few rows are all in rank 0 then: what follows moves none of them."""
        if self.dry or (placed.keys == keys and placed.with_nulls):
            else_to_one = ", or to rank 0 if they are few" if self.ranks.eager_bytes else ""
            return self.by_key(placed, keys, rule + else_to_one)
        table = self.table(placed.node)
        tables, _ = self.ranks.eagerly(table, rule)
        if tables is None:
            return self.by_key(replace(placed, node=scan_of(table)), keys, rule)
        mine = tables if self.ranks.rank == 0 else [table.slice(0, 0)]
        return Placed(scan_of(pa.concat_tables(mine)), in_first=True)

    def eagerly_to_all(self, table: pa.Table) -> tuple[Placed | None, list[Any]]:
        """The rows of all ranks in each of them, if these are few, and the sizes of `eagerly`."""
        tables, sizes = self.ranks.eagerly(table, "to all")
        if tables is None:
            return None, sizes
        return Placed(scan_of(pa.concat_tables(tables)), everywhere=True), sizes

    def to_all(self, node: Node) -> Placed:
        """The rows of all ranks in each of them."""
        if self.dry:
            return Placed(self.ranks.planned(node, "to all"), everywhere=True)
        return Placed(scan_of(self.ranks.to_all(self.table(node))), everywhere=True)

    def to_one(self, node: Node) -> Node:
        """The rows of all ranks in rank 0."""
        if self.dry:
            return self.ranks.planned(node, "to rank 0")
        return scan_of(self.ranks.to_one(self.table(node)))
