"""Orders over ranks: all rows of a rank come before all rows of the next one.

All ranks agree on the rows at which ranks begin, the rows move once, and each rank sorts what came.
Where rows move in bulk, ranges of keys are counted for that; else each rank sorts what it has
before, and contributes every n-th row to a sample. Where a rank begins is a row and not a
key alone, so rows of equal keys may fall to several ranks: none gets more than its part, however
often a key occurs.
A merge join moves by ranges of keys instead, since pairs must meet: straight into the ranges of the
rank that joins them, where it can (ranks/fused.py).
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from itertools import accumulate, pairwise
from operator import and_
from typing import Any

import pyarrow as pa

from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Column
from crossdock.expressions.orders import Order
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import Join, Node, Partition, Project, Sort
from crossdock.ranks import fused
from crossdock.ranks.placement import Placed, cut_by_rank, parts_of, scan_of
from crossdock.ranks.spread import Spread

_SAMPLES_PER_RANK = 64  # of each rank for each rank: no part is larger than the mean by 1/64 of it
_SMALL_ROWS = 1 << 20  # so many first rows of an order are sorted in one rank


def settle_sort(spread: Spread, node: Sort, below: Placed) -> Placed:
    """The sorted rows of `below`, cut off as the sort says. Collective."""
    if below.in_first:
        return Placed(replace(node, input=below.node), in_first=True)
    node, below_node = _positioned(spread, node, below.node)
    if node.limit is not None and node.limit + node.offset <= _SMALL_ROWS:
        least = _first_rows(node, below_node)
        return Placed(replace(node, input=spread.to_one(least)), in_first=True)
    if spread.dry:
        return Placed(
            replace(node, input=spread.ranks.planned(below_node, "by order", _names(node)))
        )
    rows = _spread_out(spread, node, below_node)
    whole = replace(node, input=scan_of(rows), limit=None, offset=0)
    if node.keeps_all_rows:
        return Placed(whole)
    table = spread.table(whole)
    counts = spread.ranks.agree("rows of an order", table.num_rows)
    return Placed(scan_of(cut_by_rank(table, counts, spread.ranks.rank, node)))


def settle_partition(spread: Spread, node: Partition) -> Placed:
    """The rows of the parts that `parts_of` says are this rank's; by range, these parts alone are
    numbered. Collective."""
    below = spread.shared(spread.settle(node.input))
    if spread.dry:
        moved = spread.ranks.planned(below.node, f"by part ({node.how})", node.keys)
        return Placed(replace(node, input=moved))
    ranks = spread.ranks
    begins = [parts_of(node.partitions, rank, ranks.size)[0] for rank in range(ranks.size)]
    ends = [*begins[1:], node.partitions]
    if node.how != "range":
        # Equal keys have equal numbers of parts in all ranks.
        whole = replace(node, input=below.node, schema=below.node.schema)
        table, rows = spread.execution.partitions(whole)
        starts = [0, *accumulate(rows)]
        pieces = [
            table.slice(starts[a], starts[b] - starts[a]) for a, b in zip(begins, ends, strict=True)
        ]
        return Placed(replace(node, input=scan_of(ranks.by_piece(pieces, "by part"))))
    owners = [rank for rank in range(ranks.size) if begins[rank] < ends[rank]]
    table = spread.table(below.node)
    shares = [begins[rank] / node.partitions for rank in owners[1:]]
    bounds = _bounds_of(spread, [table, table.slice(0, 0)], (node.keys, node.keys), shares)
    table_moved = ranks.by_range(table, node.keys, bounds, owners)
    mine = max(1, ends[ranks.rank] - begins[ranks.rank])
    return Placed(replace(node, input=scan_of(table_moved), partitions=mine))


def settle_merge_join(spread: Spread, node: Join, left: Placed, right: Placed) -> Placed:
    """Both sides by the same ranges of their keys, so that the result is in order over all ranks.
    NULLs are in the last range, as they are last in the result. Collective."""
    keys = (node.keys(0), node.keys(1))
    is_whole = node.how == "anti_null_aware"  # one NULL on the right concerns all rows
    if spread.dry:
        rules = ("by range", "to all" if is_whole else "by range")
        moved = [
            spread.ranks.planned(side.node, rule, names)
            for side, rule, names in zip((left, right), rules, keys, strict=True)
        ]
        route = fused.planned(spread, node, both_move=True)
        return Placed(replace(node, left=moved[0], right=moved[1], route=route))
    placed = fused.settled(spread, node, (left, right), is_uneven=False)
    if placed is not None:
        return placed
    tables = [spread.table(side.node) for side in (left, right)]
    size = spread.ranks.size
    bounds = _bounds_of(spread, tables, keys, [rank / size for rank in range(1, size)])
    sides: list[Node] = [
        scan_of(spread.ranks.by_range(table, names, _named(bounds, names)))
        for table, names in zip(tables[: 1 if is_whole else 2], keys, strict=False)
    ]
    if is_whole:
        sides.append(spread.to_all(right.node).node)
    return Placed(replace(node, left=sides[0], right=sides[1]))


def _bounds_of(
    spread: Spread, tables: list[pa.Table], keys: tuple[tuple[str, ...], ...], shares: list[float]
) -> pa.Table:
    """The keys below which these shares of all rows lie, by samples of the larger side."""
    sizes = spread.ranks.agree("rows of a merge join", [table.num_rows for table in tables])
    side = 0 if sum(size[0] for size in sizes) >= sum(size[1] for size in sizes) else 1
    table = without_nulls(tables[side].select(list(keys[side])))
    step = _step(sum(size[side] for size in sizes), spread.ranks.size)
    mine = _taken(table, list(range(step // 2, table.num_rows, step)))
    samples = spread.ranks.to_all(mine)
    orders = tuple(Order(Column(name)) for name in keys[side])
    ordered = spread.table(_sort_node(samples, orders, list(keys[side])))
    return _at_shares(ordered, shares)


def _at_shares(ordered: pa.Table, shares: list[float]) -> pa.Table:
    count = ordered.num_rows
    if count == 0:
        # There are no keys but NULLs: any bounds will do.
        columns = [pa.nulls(len(shares), field.type) for field in ordered.schema]
        return pa.Table.from_arrays(columns, schema=ordered.schema)
    return _taken(ordered, [min(count - 1, int(count * share)) for share in shares])


def _named(bounds: pa.Table, names: tuple[str, ...]) -> pa.Table:
    return bounds.rename_columns(list(names))


def _positioned(spread: Spread, node: Sort, below: Node) -> tuple[Sort, Node]:
    """A sort that numbers rows needs their positions among the rows of all ranks, and so does a
    stable one whose rows are sorted before they move: they become a column of `below`, the last key
    of such a sort. In bulk, rows arrive in the order of their positions."""
    is_by_position = node.stable and not spread.ranks.in_bulk
    if spread.dry or not (is_by_position or node.index):
        return node, below
    name = unused_name("position", below.schema.names)
    table = spread.table(below)
    rows = spread.ranks.agree("rows in order", table.num_rows)
    first = sum(rows[: spread.ranks.rank])
    positions = pa.array(range(first, first + table.num_rows), pa.int64())
    below = scan_of(table.append_column(pa.field(name, pa.int64(), False), positions))
    orders = node.orders
    outputs = node.outputs
    if is_by_position:
        orders = (*orders, Order(Column(name)))
    if node.index:
        outputs = (*outputs, (name, node.index))
    is_stable = node.stable and not is_by_position
    return replace(node, orders=orders, outputs=outputs, stable=is_stable, index=""), below


def _first_rows(node: Sort, below: Node) -> Node:
    """What of this rank's rows may be among the first of all."""
    assert node.limit is not None
    names = [(name, name) for name in _needed(node)]
    most = node.limit + node.offset
    schema = pa.schema([below.schema.field(name) for name, _ in names])
    return replace(node, input=below, outputs=tuple(names), schema=schema, limit=most, offset=0)


def _spread_out(spread: Spread, node: Sort, below: Node) -> pa.Table:
    """The rows of all ranks that fall to this one: in bulk by rank and position there, else in no
    order."""
    names = _needed(node)
    if spread.ranks.in_bulk:
        items = tuple((name, Column(name)) for name in names)
        schema = pa.schema([below.schema.field(name) for name in names])
        return spread.ranks.by_order(spread.table(Project(below, items, schema)), node.orders)
    table = spread.table(_sort_of(below, node.orders, names))
    ranks = spread.ranks
    counts = ranks.agree("rows to sort", table.num_rows)
    step = _step(sum(counts), ranks.size)
    first = sum(counts[: ranks.rank])
    # Rows whose number among all is a multiple of the step, so that samples weigh alike.
    places = list(range(-first % step, table.num_rows, step))
    keys = list(dict.fromkeys(order.column for order in node.orders))
    rank_name = unused_name("rank", keys)
    place_name = unused_name("place", [*keys, rank_name])
    mine = _taken(table.select(keys), places)
    mine = mine.append_column(rank_name, pa.array([ranks.rank] * len(places), pa.int64()))
    mine = mine.append_column(place_name, pa.array(places, pa.int64()))
    extra = (Order(Column(rank_name)), Order(Column(place_name)))
    ordered = spread.table(
        _sort_node(ranks.to_all(mine), (*node.orders, *extra), [*keys, rank_name, place_name])
    )
    cuts = [0]
    for number in range(1, ranks.size):
        if ordered.num_rows == 0:
            cuts.append(table.num_rows)
            continue
        splitter = ordered.slice(ordered.num_rows * number // ranks.size, 1)
        cuts.append(_cut(table, node.orders, splitter, (ranks.rank, rank_name, place_name)))
    cuts.append(table.num_rows)
    return ranks.by_piece([table.slice(a, b - a) for a, b in pairwise(cuts)])


def _cut(
    table: pa.Table, orders: tuple[Order, ...], splitter: pa.Table, names: tuple[int, str, str]
) -> int:
    """The first row of the sorted table that does not come before the splitter."""
    rank, rank_name, place_name = names
    splitter_keys = [_Key(splitter.column(order.column)[0], order) for order in orders]
    of_rank, place = splitter.column(rank_name)[0].as_py(), splitter.column(place_name)[0].as_py()
    if of_rank == rank:
        return int(place)
    low, high = 0, table.num_rows
    while low < high:
        middle = (low + high) // 2
        side = 0
        for order, key in zip(orders, splitter_keys, strict=True):
            side = _Key(table.column(order.column)[middle], order).compare(key)
            if side:
                break
        # Rows with equal keys of earlier ranks come before the splitter, those of later ones after.
        if side < 0 or (side == 0 and rank < of_rank):
            low = middle + 1
        else:
            high = middle
    return low


class _Key:
    """A value as an order sees it."""

    def __init__(self, scalar: pa.Scalar, order: Order) -> None:
        self._order = order
        self._is_null = not scalar.is_valid
        if pa.types.is_dictionary(scalar.type):
            scalar = scalar.value
        moment = pa.types.is_temporal(scalar.type) and hasattr(scalar, "value")
        self._value: Any = None if self._is_null else scalar.value if moment else scalar.as_py()
        self._is_nan = isinstance(self._value, float) and self._value != self._value

    def compare(self, other: _Key) -> int:
        """Below 0 where this one comes first, above 0 where the other does."""
        if self._is_null or other._is_null:
            first = -1 if self._order.nulls_first else 1
            return first * (self._is_null - other._is_null)
        if self._is_nan or other._is_nan:
            order = int(self._is_nan) - int(other._is_nan)
        else:
            mine, its = self._value, other._value
            order = int(mine > its) - int(mine < its)
        return -order if self._order.descending else order


def without_nulls(table: pa.Table) -> pa.Table:
    """The rows without a NULL."""
    nullable = [name for name in table.schema.names if table.column(name).null_count]
    if not nullable:
        return table
    return keep_rows(table, reduce(and_, (~Column(name).is_null() for name in nullable)))


def _step(rows: int, ranks: int) -> int:
    return max(1, rows // (_SAMPLES_PER_RANK * ranks * ranks))


def _taken(table: pa.Table, places: list[int]) -> pa.Table:
    """These rows; pyarrow takes none of views."""
    parts = [table.slice(place, 1) for place in places]
    return pa.concat_tables([table.slice(0, 0), *parts]).combine_chunks()


def _needed(node: Sort) -> list[str]:
    """Columns of the input that the sort reads."""
    return list(
        dict.fromkeys([*(order.column for order in node.orders), *(c for c, _ in node.outputs)])
    )


def _names(node: Sort) -> tuple[str, ...]:
    return tuple(order.column for order in node.orders)


def _sort_node(table: pa.Table, orders: tuple[Order, ...], names: list[str]) -> Sort:
    return _sort_of(scan_of(table), orders, names)


def _sort_of(below: Node, orders: tuple[Order, ...], names: list[str]) -> Sort:
    schema = pa.schema([below.schema.field(name) for name in names])
    return Sort(below, orders, tuple((name, name) for name in names), schema)
