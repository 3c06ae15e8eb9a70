"""One run of a query over ranks, in the place of `Execution`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from crossdock.engine.execution import Execution
from crossdock.engine.native_plans import Operation
from crossdock.plan.nodes import Node, Operated, Partition
from crossdock.ranks.members import Ranks
from crossdock.ranks.placement import parts_of
from crossdock.ranks.places import Places, measured_places
from crossdock.ranks.settling import Settling
from crossdock.ranks.shares import rows_of_rank
from crossdock.reports.display import Preview

if TYPE_CHECKING:
    import pyarrow as pa


class RankExecution:
    """As `Execution`, for a dock over ranks: rows are those of this rank, numbers those of all.
    Every method is collective."""

    def __init__(self, local: Execution, ranks: Ranks) -> None:
        self.local = local
        self.ranks = ranks
        self.engine = local.engine
        self.profiling = local.profiling
        self.is_everywhere = False  # the rows of the last `table` are the same in all ranks
        self._settling = Settling(local, ranks)

    def table(self, node: Node) -> pa.Table:
        """This rank's rows as a pyarrow.Table."""
        with self.ranks.call("collect", node):
            placed = self._settling.settle(node)
            self.is_everywhere = placed.everywhere
            return self.local.table(placed.node)

    def once_among_all(self, node: Node) -> pa.Table:
        """As `table`, but of rows that all ranks have, each has its share."""
        table = self.table(node)
        if not self.is_everywhere:
            return table
        return rows_of_rank(table, self.ranks.rank, self.ranks.size)

    def gather(self, node: Node, root: int) -> pa.Table | None:
        """The rows of all ranks as a pyarrow.Table in rank `root`, in the order of the ranks; None
        in the others."""
        with self.ranks.call("gather", node):
            placed = self._settling.settle(node)
            table = self.local.table(placed.node)
            if not placed.everywhere and not (placed.in_first and root == 0):
                table = self.ranks.to_one(table, root)
            return table if self.ranks.rank == root else None

    def count(self, node: Node) -> int:
        """The number of rows of all ranks."""
        with self.ranks.call("count", node):
            placed = self._settling.settle(node)
            rows = self.local.count(placed.node)
            return rows if placed.everywhere else sum(self.ranks.agree("rows", rows))

    def batches(self, node: Node) -> Iterator[pa.RecordBatch]:
        """This rank's rows as RecordBatches. What follows the last exchange runs while they are
        read, and its errors are those of this rank alone."""
        with self.ranks.call("to_batches", node):
            placed = self._settling.settle(node)
        yield from self.local.batches(placed.node)

    def once(self, node: Node) -> tuple[Node, bool]:
        """What this rank runs by itself when all has moved, and whether its rows are to be used:
        of rows that all ranks have, those of rank 0 are. Call it inside `Ranks.call`."""
        placed = self._settling.settle(node)
        return placed.node, not placed.everywhere or self.ranks.rank == 0

    def preview(self, node: Node, limit: int) -> Preview:
        """The first and last rows of all, in rank 0; in the others only their number."""
        with self.ranks.call("show", node):
            own_rows, is_used = self.once(node)
            batches = self.local.batches(own_rows) if is_used else iter(())
            mine = Preview.of_batches(batches, node.schema, 2 * limit)
            whole = mine.tail if mine.tail.num_rows else mine.head
            heads = self.ranks.to_one(mine.head.slice(0, limit))
            tails = self.ranks.to_one(whole.slice(max(0, whole.num_rows - limit)))
            rows = sum(self.ranks.agree("rows to show", mine.rows))
            if rows <= limit:
                return Preview(node.schema, heads, heads.slice(0, 0), rows)
            half = limit // 2
            tail = tails.slice(max(0, tails.num_rows - half))
            return Preview(node.schema, heads.slice(0, limit - half), tail, rows)

    def places(self) -> Places:
        """Where the ranks are, for predictions. Not collective."""
        return measured_places(self.ranks.hosts)

    def planned(self, node: Node) -> Node:
        """The query with a node `Exchange` wherever rows would move. Not collective."""
        return Settling(self.local, self.ranks, dry=True).settle(node).node

    def operation(self, node: Operated) -> Operation:
        """An operator over this rank's share of the sources. Not collective."""
        return self.local.operation(node)

    def partitions(self, node: Partition) -> tuple[pa.Table, list[int]]:
        """The rows of this rank's parts, one after the other, and the number of rows of each part;
        those of other ranks have none here."""
        with self.ranks.call("partition_by", node):
            placed = self._settling.settle(node)
            assert isinstance(placed.node, Partition)
            table, rows = self.local.partitions(placed.node)
            begin, end = parts_of(node.partitions, self.ranks.rank, self.ranks.size)
            if node.how == "range":
                rows = [0] * begin + rows[: end - begin] + [0] * (node.partitions - end)
            return table, rows
