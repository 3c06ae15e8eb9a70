"""Joins over ranks: which rows go where before each rank joins what it has.

Both sides go by their keys; or the smaller one goes to all ranks, where that takes less time and
each of its rows may be in several: the right side of inner, left, semi and anti joins, the left one
of inner and right joins. Rows with a NULL in a key match nothing (unless NULLs are to match): they
are dropped, or stay where they are if the join keeps them, since by key they would all meet in one
rank.
"""

from __future__ import annotations

from dataclasses import replace
from functools import reduce
from operator import and_
from typing import Any

import pyarrow as pa

from crossdock.engine.late_columns import has_late, late_names
from crossdock.expressions.evaluation import keep_rows
from crossdock.expressions.expression import Column, Expr
from crossdock.plan.nodes import Join, Node
from crossdock.ranks import costs, filters, fused, skew, sorts
from crossdock.ranks.placement import Placed, scan_of
from crossdock.ranks.sizes import estimated_size, exact_size, is_table
from crossdock.ranks.spread import Spread

RIGHT_EVERYWHERE = frozenset(("inner", "left", "semi", "anti", "anti_null_aware"))
LEFT_EVERYWHERE = frozenset(("inner", "right"))
_KEEPS_LEFT = frozenset(("left", "full", "anti", "anti_null_aware"))
_KEEPS_RIGHT = frozenset(("right", "full"))


def settle_join(spread: Spread, node: Join) -> Placed:
    """The join of what this rank has after rows have moved. Collective."""
    left, right = spread.settle(node.left), spread.settle(node.right)
    if left.everywhere and right.everywhere:
        left = spread.shared(left)
    is_merged = node.options.strategy == "merge"  # in order over all ranks
    if right.everywhere and node.how in RIGHT_EVERYWHERE and not (left.everywhere or is_merged):
        return _joined(node, left, right)
    if left.everywhere and node.how in LEFT_EVERYWHERE and not (right.everywhere or is_merged):
        return _joined(node, left, right)
    left, right = spread.shared(left), spread.shared(right)
    if is_merged:
        return sorts.settle_merge_join(spread, node, left, right)
    if _is_together(node, left, right):
        whole = left.with_nulls and right.with_nulls
        return _joined(node, replace(left, with_nulls=whole), replace(right, with_nulls=whole))
    if node.options.exchange == "broadcast" or (_is_null_aware(node) and _needs_all(node)):
        return _broadcast(spread, node, left, right)
    if spread.dry:
        return _planned(spread, node, left, right)
    return _moved(spread, node, left, right)


def _moved(spread: Spread, node: Join, left: Placed, right: Placed) -> Placed:
    sides = [left, right]
    if node.options.exchange == "auto":
        number, sizes = _side_for_all(spread, node, sides)
        if number is not None and sides[number].everywhere:
            return _joined(node, *sides)
        if _is_filtered_stream(spread, node, sides, sizes, number):
            node = replace(node, options=replace(node.options, filter="off"))
            return _repartitioned(spread, node, *sides)
        if number is not None:
            sides[number] = spread.to_all(sides[number].node)
            return _joined(node, *sides)
        left, right = sides
    left, right = (replace(side, node=spread.there(side.node)) for side in sides)
    if _is_null_aware(node):
        tables = [spread.table(side.node) for side in (left, right)]
        mine = [_has_null(tables[1], node), tables[1].num_rows]
        seen = spread.ranks.agree("NULLs of a join", mine)
        has_null = any(one[0] for one in seen)
        if has_null or not any(one[1] for one in seen):
            # One NULL on the right, and nothing is known not to be in it; nothing at all, and
            # everything is.
            kept = tables[0].slice(0, 0) if has_null else tables[0]
            return _all_of(node, replace(left, node=scan_of(kept)))
        node = replace(node, how="anti")
        left = replace(left, node=scan_of(_split(tables[0], node.keys(0))[0]))
    return _repartitioned(spread, node, left, right)


def _side_for_all(spread: Spread, node: Join, sides: list[Placed]) -> tuple[int | None, list[Any]]:
    """The side that goes to all ranks because that takes less time than both by their keys. It
    is a table then, in `sides`, and has gone already if its rows are few. The other one, whose size
    is an estimate, goes through the join without ever being a table."""
    sizes: list[Any] = []
    while True:
        if not sizes:
            mine = [_size_of(spread, side.node) for side in sides]
            sizes = spread.ranks.agree("sizes of a join", mine)
        unknown = [number for number in (0, 1) if any(size[number] is None for size in sizes)]
        number = unknown[0] if unknown else _cheaper_for_all(node, sides, sizes)
        if number is None or (is_table(sides[number].node) and not unknown):
            return number, sizes
        table = spread.table(sides[number].node)
        sides[number] = replace(sides[number], node=scan_of(table))
        if unknown:
            sizes = []
            continue
        few, exact = spread.eagerly_to_all(table)
        if few is not None:
            sides[number] = few
            return number, sizes
        sizes = (
            [
                [one if side == number else size[side] for side in (0, 1)]
                for size, one in zip(sizes, exact, strict=True)
            ]
            if exact
            else []
        )


def _is_filtered_stream(
    spread: Spread, node: Join, sides: list[Placed], sizes: list[Any], to_all: int | None
) -> bool:
    """Whether one side, which has not run, does so behind a filter of the keys of the other one. It
    is a table then, in `sides`. to_all: the side that else goes to all ranks, a table."""
    tables = [number for number in (0, 1) if is_table(sides[number].node)]
    if len(tables) == 2:
        return False
    if to_all is not None:
        number = to_all
    elif tables:
        number = tables[0]
    else:
        number = min((0, 1), key=lambda side: sum(size[side][1] for size in sizes))
    stream = 1 - number
    if _is_at(sides[stream], node, stream):
        return False
    if not filters.is_worth_asking(node, stream, sizes, to_all is not None):
        return False
    sides[number] = replace(sides[number], node=spread.there(sides[number].node))
    share = _share_with_partner(spread, node, sides, stream)
    if not filters.pays_before(stream, sizes, share, to_all is not None):
        return False
    kept = filters.streamed(spread, node, sides, stream, share)
    sides[stream] = replace(sides[stream], node=scan_of(kept))
    return True


def _share_with_partner(spread: Spread, node: Join, sides: list[Placed], side: int) -> float:
    """The expected share of the rows of `side`, a stream, that the join leaves; 1 if it is not
    known. That of the first rank counts, for each sees other rows."""
    share = 1.0
    if not (late_names(sides[side].node.schema) or has_late(sides[side].node)):
        whole = replace(node, left=sides[0].node, right=sides[1].node)
        rows = spread.estimate_of_all(sides[side].node).rows
        left = spread.estimate_of_all(whole).rows
        share = 1.0 if rows is None or left is None else left / max(rows, 1.0)
    return float(spread.ranks.agree("rows with a partner", share)[0])


def _cheaper_for_all(node: Join, sides: list[Placed], sizes: list[Any]) -> int | None:
    """The side that goes to all ranks because that takes a rank less time than both by their keys:
    it gets and builds all of its rows then, and not a part of both in several steps."""
    ranks = len(sizes)
    rows_of, bytes_of = ([sum(size[side][i] for size in sizes) for side in (0, 1)] for i in (0, 1))
    goes = [side for side in (0, 1) if not _is_at(sides[side], node, side)]
    by_key = costs.built_ns(min(rows_of) / ranks) + costs.STEPS_NS * len(goes) / 2
    by_key += sum(costs.moved_ns(rows_of[side] / ranks, bytes_of[side] / ranks) for side in goes)
    to_all = [
        costs.moved_ns(rows_of[side] / ranks, bytes_of[side])
        + costs.built_ns(rows_of[side])
        + _uneven_ns(sizes, 1 - side)
        for side in (0, 1)
    ]
    if node.how in RIGHT_EVERYWHERE and to_all[1] < by_key:
        return 1
    return 0 if node.how in LEFT_EVERYWHERE and to_all[0] < by_key else None


def _repartitioned(spread: Spread, node: Join, left: Placed, right: Placed) -> Placed:
    """Each side by its keys, of which one may be there already."""
    together = node.options.null_equals_null
    tables: list[pa.Table | None] = []
    apart: list[Any] = []
    sides = [left, right]
    for number, side in enumerate((left, right)):
        is_there = _is_at(side, node, number) and (side.with_nulls or not together)
        rows = None if is_there else spread.table(side.node)
        if rows is not None:  # of a filter, once for all that follows
            sides[number] = replace(side, node=scan_of(rows))
        whole = (rows, None) if is_there or together else _split(rows, node.keys(number))
        tables.append(whole[0])
        apart.append(whole[1] if node.how in (_KEEPS_LEFT, _KEEPS_RIGHT)[number] else None)
    whole_tables = tables
    tables = _semi_filtered(spread, node, tables, (sides[0], sides[1]))
    for number, rows in enumerate(tables):
        if rows is not whole_tables[number]:
            sides[number] = replace(sides[number], node=scan_of(rows))
    left, right = sides
    uneven = None
    if None not in tables:
        uneven = skew.plan_of(spread, node, (tables[0], tables[1]))
        fused_join = fused.settled(spread, node, (left, right), is_uneven=bool(uneven))
        if fused_join is not None:
            return fused_join
    else:
        fused.lies(spread, node)
    sides = []
    for number, side in enumerate((left, right)):
        rows, keys = tables[number], node.keys(number)
        if rows is None:
            sides.append(side)
        elif uneven is not None:
            came = skew.moved(spread, rows, keys, uneven, number)
            sides.append(skew.settled(side, _with_rows(came, apart[number])))
        else:
            even = spread.ranks.even
            came = _with_rows(spread.ranks.by_partition(rows, keys, even), apart[number])
            moved = Placed(scan_of(came), keys, even, with_nulls=True)
            sides.append(moved)
    whole_keys = all(side.with_nulls for side in sides)
    if node.how in _KEEPS_LEFT | _KEEPS_RIGHT:  # others leave out rows with a NULL in a key
        stayed = sum(rows.num_rows for rows in apart if rows is not None)
        whole_keys = not any(spread.ranks.agree("rows that stay", stayed)) and whole_keys
    sides = [replace(side, with_nulls=whole_keys) for side in sides]
    return _joined(node, sides[0], sides[1])


def _semi_filtered(
    spread: Spread, node: Join, tables: list[pa.Table | None], sides: tuple[Placed, Placed]
) -> list[pa.Table | None]:
    """The rows that go by key (None for those that are there) without those that need not."""
    goes = [table is not None for table in tables]
    if not any(goes[side] and filters.drops_rows(node, side) for side in (0, 1)):
        return tables
    rows = [
        spread.table(sides[side].node) if table is None else table
        for side, table in enumerate(tables)
    ]
    kept = filters.semi_filtered(spread.ranks, node, rows, goes)
    return [kept[side] if goes[side] else None for side in (0, 1)]


def _with_rows(table: pa.Table, more: pa.Table | None) -> pa.Table:
    return table if more is None else pa.concat_tables([table, more])


def _planned(spread: Spread, node: Join, left: Placed, right: Placed) -> Placed:
    """What a plan can say: the sizes of the sides are not known before they are there."""
    sides = []
    for number, side in enumerate((left, right)):
        keys = node.keys(number)
        if side.keys == keys:
            sides.append(side)
            continue
        may = node.how in (LEFT_EVERYWHERE, RIGHT_EVERYWHERE)[number]
        forced = node.options.exchange == "repartition"
        rule = "by key, or to all if that is less" if may and not forced else "by key"
        if filters.drops_rows(node, number):
            rule += ", filtered first if that pays"
        planned = spread.ranks.planned(side.node, rule, keys)
        even = spread.ranks.even
        sides.append(replace(side, node=planned, keys=keys, assignment=even, in_first=False))
    both_move = not any(_is_at(side, node, number) for number, side in enumerate((left, right)))
    route = fused.planned(spread, node, both_move)
    return _joined(replace(node, route=route), sides[0], sides[1])


def _broadcast(spread: Spread, node: Join, left: Placed, right: Placed) -> Placed:
    """One side to all ranks, as it was asked for."""
    if node.how in RIGHT_EVERYWHERE:
        return _joined(node, left, spread.to_all(right.node))
    return _joined(node, spread.to_all(left.node), right)


def _joined(node: Join, left: Placed, right: Placed) -> Placed:
    """The join of two sides that lie as it needs them, and where its rows are."""
    joined = replace(node, left=left.node, right=right.node)
    side, number = (left, 0) if left.keys else (right, 1)
    if left.everywhere:
        side, number = right, 1
    elif right.everywhere:
        side, number = left, 0
    elif left.keys and node.how in ("right", "full"):
        side, number = right, 1
    if not side.keys:
        other = right if number == 0 else left
        return Placed(joined, in_first=side.in_first and other.everywhere)
    names = _names(node, number, both=not (left.everywhere or right.everywhere))
    return replace(side, everywhere=False).renamed(joined, names)


def _names(node: Join, number: int, both: bool) -> dict[str, str]:
    """Columns of a side -> columns of the result that have their values in every row; where both
    sides lie by key, a key that both sides give one column for is that of either."""
    side_name = ("left", "right")[number]
    plain = {
        0: node.how not in ("right", "full"),
        1: node.how in ("inner", "right") or not both,
    }[number]
    names_by_column = {}
    for side, column, name in reversed(node.outputs):
        if side == side_name and plain:
            names_by_column[column] = name
        elif side == "key":
            # Named by the left side; the right key of a pair has the same name.
            names_by_column[column] = name
    if node.how == "inner":
        # A key that does not leave the join is equal to its partner, which may.
        names = {(side, column): name for side, column, name in node.outputs}
        for pair in node.on:
            partner = names.get((("left", "right")[1 - number], pair[1 - number]))
            if partner is not None:
                names_by_column.setdefault(pair[number], partner)
    return names_by_column


def _all_of(node: Join, left: Placed) -> Placed:
    """The left rows as the result of a join that has the columns of the left side."""
    from crossdock.plan.nodes import Project

    items = tuple((name, Column(column)) for _, column, name in node.outputs)
    names = {column: name for _, column, name in reversed(node.outputs)}
    return left.renamed(Project(left.node, items, node.schema), names)


def _is_together(node: Join, left: Placed, right: Placed) -> bool:
    """Whether equal keys are in one rank already."""
    if not _is_at(left, node, 0) or not _is_at(right, node, 1) or _is_null_aware(node):
        return False
    nulls = left.with_nulls and right.with_nulls
    return left.assignment == right.assignment and (nulls or not node.options.null_equals_null)


def _is_at(side: Placed, node: Join, number: int) -> bool:
    return side.keys == node.keys(number)


def _is_null_aware(node: Join) -> bool:
    return node.how == "anti_null_aware"


def _needs_all(node: Join) -> bool:
    """True where a null-aware anti join looks at more of the right side than whether there is a
    NULL in it."""
    return len(node.on) > 1 or node.residual is not None


def _split(table: pa.Table, keys: tuple[str, ...]) -> tuple[pa.Table, pa.Table | None]:
    """The rows without a NULL in a key, and the others (None if there are none)."""
    nullable = [key for key in keys if table.column(key).null_count]
    if not nullable:
        return table, None
    valid: Expr = reduce(and_, (~Column(key).is_null() for key in nullable))
    return keep_rows(table, valid), keep_rows(table, ~valid)


def _uneven_ns(sizes: list[Any], side: int) -> float:
    """What staying where they are costs rows that lie unevenly: the rank with most of them joins
    them alone while the others, in this step and all that follow, have less to do. As a move of
    what it has more than the mean."""
    rows, bytes_of = ([size[side][i] for size in sizes] for i in (0, 1))
    more_rows, more_bytes = (max(of) - sum(of) / len(of) for of in (rows, bytes_of))
    return costs.moved_ns(more_rows, more_bytes)


def _size_of(spread: Spread, node: Node) -> tuple[float, float] | None:
    if is_table(node):
        return exact_size(node)
    return estimated_size(node, spread.estimate)


def _has_null(table: pa.Table, node: Join) -> bool:
    return any(table.column(key).null_count for key in node.keys(1))
