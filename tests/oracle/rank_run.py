"""A rank that runs many cases over the ranks it was started with; rank 0 holds what all found
against the oracles of the local operators, and prints the cases that failed.

    python rank_run.py SEED CASES
"""

from __future__ import annotations

import sys
import traceback
from collections.abc import Callable, Iterator
from dataclasses import replace
from typing import Any

import crossdock as xd
import group_by_cases
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import sort_cases
import test_relation_oracle as queries
from covering import covering_rows
from group_by_cases import GroupCase
from join_cases import KEYS, Case, Sides, make_sides
from join_oracle import LEFT_ONLY, expected_rows
from same_rows import assert_same_rows, codes_of, plain, plain_keys, taken
from sort_cases import SortCase

JOINS: dict[str, list[Any]] = {
    "keys": KEYS,
    "how": ["inner", "left", "right", "full", "semi", "anti", "anti_null_aware"],
    "sizes": [(0, 0), (0, 300), (300, 0), (1, 1), (1, 300), (300, 2), (1000, 1000), (3000, 20)],
    "nulls": ["none", "some", "most", "all"],
    "nulls_equal": [False, True],
    "residual": [False, True],
    "duplicates": ["none", "few", "heavy"],
    "skew": ["uniform", "zipf", "equal"],
    "match": ["none", "some", "all"],
    "chunks": ["one", "chunked", "empty"],
    "payload": [("narrow", "one word"), ("strings", "bytes"), ("wide", "none")],
    "strategy": ["auto", "merge"],
    "swap": [False, True],
}
GROUPS: dict[str, list[Any]] = {
    "keys": group_by_cases.KEYS,
    "values": group_by_cases.VALUES,
    "rows": [0, 1, 2, 1000, 3000],
    "groups": list(group_by_cases.GROUPS),
    "arrangement": group_by_cases.ARRANGEMENTS,
    "nulls": ["none", "some", "all"],
    "value_nulls": ["none", "some", "all"],
    "filter": group_by_cases.FILTERS,
}
SORTS: dict[str, list[Any]] = {
    "keys": sort_cases.KEYS,
    "directions": list(sort_cases.DIRECTIONS),
    "rows": [0, 1, 2, 1000, 3000],
    "distinct": list(sort_cases.DISTINCT),
    "arrangement": sort_cases.ARRANGEMENTS,
    "nulls": ["none", "some", "all"],
    "payload": ["narrow", "strings", "none"],
    "limit": [-1, 0, 10, 0.5],
    "offset": [0, 3, 0.5],
    "stable": [False, True],
}
PLACES = ["even", "random", "one rank", "ends"]
EXCHANGES = ["auto", "repartition", "broadcast"]


class Run:
    """The dock of this rank, and the tables that it has a part of."""

    def __init__(self, dock: xd.Dock) -> None:
        self.dock = dock
        self.alone = xd.connect(threads=1, memory="1GiB", ranks="off")

    def move_eagerly(self, is_eager: bool) -> None:
        """The tables of all cases are small; half of them take the way of large ones."""
        if (ranks := self.dock.over_ranks()) is not None:
            ranks.eager_bytes = 256 << 10 if is_eager else 0

    @property
    def is_judge(self) -> bool:
        return self.dock.rank == 0

    def share(self, table: pa.Table, seed: int) -> xd.Relation:
        """This rank's rows of a table that all ranks know, which is cut in some way."""
        random = np.random.default_rng(seed)
        size = self.dock.size
        rows = table.num_rows
        place = PLACES[seed % len(PLACES)]
        cuts = [rows * rank // size for rank in range(size + 1)]
        if place == "random":
            cuts = [0, *sorted(int(n) for n in random.integers(0, rows + 1, size - 1)), rows]
        elif place == "one rank":
            owner = int(random.integers(0, size))
            cuts = [0] * (owner + 1) + [rows] * (size - owner)
        elif place == "ends":
            cuts = [0] + [rows // 2] * (size - 1) + [rows]
        mine = table.slice(cuts[self.dock.rank], cuts[self.dock.rank + 1] - cuts[self.dock.rank])
        return self.dock.from_arrow(mine)


def check_join(run: Run, case: Case) -> None:
    sides = make_sides(case)
    names = {f"k{i}": f"r{i}" for i in range(len(case.keys))}
    left = run.share(sides.left, case.seed)
    right = run.share(sides.right, case.seed // 7).rename(names)
    how = EXCHANGES[case.seed % 3]
    joined = left.join(
        right,
        on=list(names.items()),
        how=case.how,
        residual=xd.col("p") < xd.col("q") if case.residual else None,
        null_equals_null=case.nulls_equal,
        strategy=case.strategy,
        exchange="repartition" if case.how == "full" and how == "broadcast" else how,
    )
    rows = joined.count()
    result = joined.gather()
    if not run.is_judge:
        return
    expected = expected_rows(case, sides)
    result.validate(full=True)
    assert rows == result.num_rows == len(expected[0]), (rows, result.num_rows, len(expected[0]))
    assert_same_rows(_joined_columns(case, sides, expected, result), result)
    if case.strategy == "merge" and case.how not in LEFT_ONLY:
        _assert_ordered(result, [("k0", False, False)] if case.how in ("inner", "left") else [])


def _joined_columns(case: Case, sides: Sides, rows: Any, actual: pa.Table) -> list[pa.Array]:
    columns = []
    right_names = {f"r{i}": f"k{i}" for i in range(len(case.keys))}
    for name in actual.column_names:
        if name in right_names or (name not in sides.left.column_names):
            column = sides.right.column(right_names.get(name, name))
            columns.append(taken(column, rows[1]))
        else:
            columns.append(taken(sides.left.column(name), rows[0]))
    return columns


def check_group(run: Run, case: GroupCase) -> None:
    table = group_by_cases.make_table(case)
    keys = group_by_cases.key_names(case)
    items = {a.name: _aggregate(a) for a in group_by_cases.aggregates(case)}

    def grouped(rows: xd.Relation) -> xd.Relation:
        return rows.group_by(*keys).agg(**items) if keys else rows.agg(**items)

    result = grouped(run.share(table, case.seed))
    rows = result.count()
    actual = result.gather()
    if not run.is_judge:
        return
    expected = grouped(run.alone.from_arrow(table)).collect()
    actual.validate(full=True)
    assert rows == actual.num_rows == expected.num_rows, (rows, actual.num_rows, expected.num_rows)
    _assert_same_groups(expected, actual, keys)


def _aggregate(item: group_by_cases.Aggregate) -> xd.Aggregate:
    make: Callable[..., xd.Aggregate] = getattr(xd, item.function)
    result = make(item.column, **item.options) if item.column else xd.count()
    return result.where(xd.col(item.filter)) if item.filter else result


def _assert_same_groups(expected: pa.Table, actual: pa.Table, keys: list[str]) -> None:
    """Groups are known by their keys; results that are rounded or rough may differ a little."""
    orders = [np.zeros(expected.num_rows, int), np.zeros(actual.num_rows, int)]
    if keys and expected.num_rows:
        codes = [codes_of(plain_keys(expected[k]), plain_keys(actual[k])) for k in keys]
        orders = [np.lexsort([code[side] for code in codes]) for side in (0, 1)]
        for code in codes:
            assert (code[0][orders[0]] == code[1][orders[1]]).all(), "keys differ"
    for name in expected.column_names[len(keys) :]:
        columns = [
            table[name].combine_chunks().take(pa.array(order)) if table[name].type not in VIEWS
            else plain(table[name]).take(pa.array(order))
            for table, order in zip((expected, actual), orders, strict=True)
        ]  # fmt: skip
        if name.endswith(("_any",)):
            assert columns[0].is_valid().equals(columns[1].is_valid()), name
        elif name.endswith("quantile"):
            _assert_near(name, columns)
        elif name.endswith("approx_distinct"):
            _assert_close(name, columns, 0.1)
        elif pa.types.is_floating(columns[0].type) and not name.endswith(EXACT):
            _assert_close(name, columns, 1e-9)
        else:
            assert plain_keys(columns[0]).equals(plain_keys(columns[1])), (name, columns)


VIEWS = (pa.string_view(), pa.binary_view())
EXACT = ("min", "max", "first")


def _assert_close(name: str, columns: list[pa.Array], share: float) -> None:
    values = [column.cast(pa.float64()).to_numpy(zero_copy_only=False) for column in columns]
    assert columns[0].is_valid().equals(columns[1].is_valid()), name
    scale = np.abs(values[0][np.isfinite(values[0])]).max(initial=0.0)
    np.testing.assert_allclose(
        values[1], values[0], rtol=share, atol=1e-12 * scale, equal_nan=True, err_msg=name
    )


def _assert_near(name: str, columns: list[pa.Array]) -> None:
    """Sketches that were filled in another order: each is within 0.1 % of the value, or of its
    distance from the least."""
    assert columns[0].is_valid().equals(columns[1].is_valid()), name
    values = []
    for column in columns:
        numbers = plain(column) if pa.types.is_temporal(column.type) else column
        values.append(numbers.cast(pa.float64(), safe=False).to_numpy(zero_copy_only=False))
    finite = values[0][np.isfinite(values[0])]
    span = np.abs(finite).max(initial=0.0) + np.ptp(finite) if len(finite) else 0.0
    np.testing.assert_allclose(
        values[1], values[0], rtol=0.003, atol=0.003 * span, equal_nan=True, err_msg=name
    )


def check_sort(run: Run, case: SortCase) -> None:
    table = sort_cases.make_table(case)
    limit = sort_cases.absolute(case.limit, case.rows)
    orders = [
        (xd.desc if descending else xd.asc)(name, "first" if nulls_first else "last")
        for name, descending, nulls_first in sort_cases.order_of(case)
    ]
    cut = {
        "limit": None if limit < 0 else limit,
        "offset": sort_cases.absolute(case.offset, case.rows),
    }

    def ordered(rows: xd.Relation) -> xd.Relation:
        return rows.sort(*orders, stable=case.stable, **cut)

    result = ordered(run.share(table, case.seed))
    rows = result.count()
    actual = result.gather()
    if not run.is_judge:
        return
    expected = ordered(run.alone.from_arrow(table)).collect()
    actual.validate(full=True)
    assert rows == actual.num_rows == expected.num_rows, (rows, actual.num_rows, expected.num_rows)
    for name, _, _ in sort_cases.order_of(case):
        assert plain_keys(actual[name]).equals(plain_keys(expected[name])), name
    if case.stable:
        assert actual["row"].equals(expected["row"])
    numbers = pa.array(actual["row"].to_pylist(), pa.int64())
    assert pc.count_distinct(numbers).as_py() == actual.num_rows
    taken_rows = [taken(table[name], numbers.to_numpy()) for name in table.column_names]
    assert_same_rows(taken_rows, actual)


def _assert_ordered(table: pa.Table, orders: list[tuple[str, bool, bool]]) -> None:
    if not orders or table.num_rows == 0:
        return
    with xd.connect(threads=1, ranks="off") as dock:
        by = [xd.asc(name) for name, _, _ in orders]
        again = dock.from_arrow(table).sort(*by, stable=True).collect()
    for name, _, _ in orders:
        assert plain_keys(table[name]).equals(plain_keys(again[name])), f"{name} is not in order"


def check_query(run: Run, name: str) -> None:
    lines = queries.lines_table().slice(0, queries.ROWS)
    is_ordered = name in queries.ORDERED
    query = (queries.ORDERED if is_ordered else queries.QUERIES)[name]
    parts = (run.share(lines, 1 + len(name)), run.share(queries.part_of(lines), len(name)))
    result = query.relation(*parts)
    rows = result.count()
    actual = result.gather()
    if not run.is_judge:
        return
    expected = queries.answer(lines, query.sql)
    assert rows == actual.num_rows
    columns = [
        plain_keys(column.cast(kind))
        for column, kind in zip(expected.columns, actual.schema.types, strict=True)
    ]
    assert_same_rows(columns, actual)
    if is_ordered:
        for want, column in zip(columns, actual.columns, strict=True):
            assert plain_keys(column).equals(want), column


def cases(seed: int, count: int) -> Iterator[tuple[str, Callable[[Run], None]]]:
    """So many joins, group-bys and sorts each, and the queries of the relation oracle."""
    for name in (*queries.QUERIES, *queries.ORDERED):
        yield name, lambda run, name=name: check_query(run, name)
    for i, row in enumerate(covering_rows(JOINS, seed, count)):
        case = Case(seed=seed * 100_000 + i, **row)
        if case.how == "anti_null_aware":
            case = replace(case, keys=case.keys[:1], residual=False, nulls_equal=False)
        yield repr(case), lambda run, case=case: check_join(run, case)
    for i, row in enumerate(covering_rows(GROUPS, seed, count)):
        group = GroupCase(seed=seed * 100_000 + i, **row)
        yield repr(group), lambda run, group=group: check_group(run, group)
    for i, row in enumerate(covering_rows(SORTS, seed, count)):
        sort = SortCase(seed=seed * 100_000 + i, **row)
        yield repr(sort), lambda run, sort=sort: check_sort(run, sort)


def main() -> int:
    seed, count = int(sys.argv[1]), int(sys.argv[2])
    failed = done = 0
    with xd.connect(threads=1, memory="1GiB") as dock:
        run = Run(dock)
        for number, (name, check) in enumerate(cases(seed, count)):
            run.move_eagerly(number % 2 == 1)
            try:
                check(run)
            except Exception:  # noqa: BLE001 - says which case it was, and goes on
                failed += 1
                print(f"{name} over {dock.size} ranks:\n{traceback.format_exc()}", file=sys.stderr)
            done += 1
        assert dock.group is None or dock.group.gather(b"")
    print(f"{done} ")  # mpirun may put two ranks into a line
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
