"""Where the rows of a query over ranks are."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crossdock.files.sources import ArrowSource
from crossdock.plan.nodes import Limit, Node, Scan, Sort

if TYPE_CHECKING:
    import pyarrow as pa


@dataclass(frozen=True)
class Placed:
    """A query of this rank's rows, and where rows are: those with equal values of `keys` in one
    rank, by this assignment of partitions; all rows in all ranks (`everywhere`); all in rank 0
    (`in_first`), where few rows need not move again; or anywhere.
    Rows with a NULL key may be elsewhere, unless `with_nulls`."""

    node: Node
    keys: tuple[str, ...] = ()
    assignment: tuple[int, ...] = ()
    with_nulls: bool = False
    everywhere: bool = False
    in_first: bool = False

    def renamed(self, node: Node, names: dict[str, str]) -> Placed:
        """The same rows as `node`, whose columns are called so; unknown keys are forgotten."""
        if not all(key in names for key in self.keys):
            return Placed(node, everywhere=self.everywhere, in_first=self.in_first)
        return replace(self, node=node, keys=tuple(names[key] for key in self.keys))


def scan_of(table: pa.Table) -> Scan:
    """A table that a step of this rank has made, as a source."""
    source = ArrowSource(table, "rows of this rank", is_valid=True)
    return Scan(source, tuple(source.schema.names), source.schema)


def cut_by_rank(table: pa.Table, rows: list[int], rank: int, cut: Limit | Sort) -> pa.Table:
    """What a limit leaves of the rows of this rank, where each rank has so many rows, in order."""
    before = sum(rows[:rank])
    most = cut.rows if isinstance(cut, Limit) else cut.limit
    begin = max(cut.offset - before, 0)
    if most is None:
        return table.slice(begin)
    end = max(cut.offset + most - before, 0)
    return table.slice(begin, max(end - begin, 0))


def parts_of(partitions: int, rank: int, ranks: int) -> tuple[int, int]:
    """The first of the parts that are in a rank, and the end of them."""
    return partitions * rank // ranks, partitions * (rank + 1) // ranks
