"""Properties of groups, sorts and partitions: what they promise does not depend on the order of the
input, on how it is cut into batches, or on threads."""

from __future__ import annotations

import functools
import itertools
import math
import random
from collections import Counter, defaultdict
from typing import Any

import crossdock as xd
import pyarrow as pa
from hypothesis import given, settings
from hypothesis import strategies as st

KEYS = st.one_of(st.none(), st.integers(-3, 5), st.sampled_from([-(2**63), 2**63 - 1]))
STRINGS = st.one_of(
    st.none(), st.sampled_from(["", "a", "a\0", "ab", "long enough to be no prefix"])
)
REALS = st.one_of(st.none(), st.floats(width=64), st.sampled_from([0.0, -0.0, 1.5]))
VALUES = st.one_of(st.none(), st.integers(-1000, 1000))
ROWS = st.lists(st.tuples(KEYS, STRINGS, REALS, VALUES), max_size=60)
CUTS = st.lists(st.integers(0, 100), max_size=4)
NAMES = ("k", "t", "r", "v")
TYPES = (pa.int64(), pa.string(), pa.float64(), pa.int32())
Row = tuple[Any, ...]


def table_of(rows: list[Row], cuts: list[int]) -> pa.Table:
    """The rows as a table in pieces: cut at `cuts`, some pieces empty, all but one with offsets."""
    columns = [[row[i] for row in rows] for i in range(len(NAMES))]
    arrays = [pa.array(c, t) for c, t in zip(columns, TYPES, strict=True)]
    table = pa.table(arrays, names=list(NAMES))
    at = sorted({0, len(rows), *(cut % (len(rows) + 1) for cut in cuts)})
    pieces = [table.slice(begin, end - begin) for begin, end in itertools.pairwise(at)]
    return pa.concat_tables(pieces) if pieces else table


def same(value: Any) -> Any:
    """What group_by takes for one value: both zeros, and all that are not a number."""
    if isinstance(value, float):
        return "nan" if math.isnan(value) else value + 0.0
    return value


def rows_in(table: pa.Table) -> list[Row]:
    return [tuple(same(value) for value in row.values()) for row in table.to_pylist()]


@given(
    rows=ROWS,
    keys=st.lists(st.sampled_from(NAMES[:3]), min_size=0, max_size=3, unique=True),
    cuts=CUTS,
    dock=st.integers(0, 2),
    seed=st.integers(0, 1000),
)
@settings(max_examples=150)
def test_groups_are_those_of_the_definition(
    docks: list[xd.Dock], rows: list[Row], keys: list[str], cuts: list[int], dock: int, seed: int
) -> None:
    expected: dict[Row, list[Row]] = defaultdict(list)
    if not keys:
        expected[()] = []
    for row in rows:
        expected[tuple(same(row[NAMES.index(key)]) for key in keys)].append(row)
    shuffled = list(rows)
    random.Random(seed).shuffle(shuffled)
    relation = docks[dock].from_arrow(table_of(shuffled, cuts))
    items = {
        "n": xd.count(), "c": xd.count("v"), "s": xd.sum("v"), "lo": xd.min("v"), "hi": xd.max("t"),
        "d": xd.count_distinct("k"), "f": xd.sum("v").where(xd.col("v") > 0),
    }  # fmt: skip
    grouped = relation.group_by(*keys).agg(**items) if keys else relation.agg(**items)
    result = grouped.collect()
    result.validate(full=True)
    assert result.schema == grouped.schema
    assert grouped.count() == result.num_rows == len(expected)
    for row in rows_in(result):
        key, (n, c, s, lo, hi, d, f) = row[: len(keys)], row[len(keys) :]
        group = expected.pop(key)
        values = [v for _, _, _, v in group if v is not None]
        positive = [v for v in values if v > 0]
        strings = [t for _, t, _, _ in group if t is not None]
        assert (n, c) == (len(group), len(values))
        assert (s, lo) == ((sum(values), min(values)) if values else (None, None))
        assert hi == (max(strings, key=str.encode) if strings else None)
        assert d == len({k for k, _, _, _ in group if k is not None})
        assert f == (sum(positive) if positive else None)
    assert not expected


def compare(a: Any, b: Any) -> int:
    """The documented order of two values that are not NULL."""
    a, b = (x.encode() if isinstance(x, str) else x for x in (a, b))
    if isinstance(a, float) and (math.isnan(a) or math.isnan(b)):
        return int(math.isnan(a)) - int(math.isnan(b))
    return int(a > b) - int(a < b)


def comparer(orders: list[tuple[str, bool, bool]]) -> Any:
    def rows_compared(left: Row, right: Row) -> int:
        for name, descending, nulls_first in orders:
            a, b = left[NAMES.index(name)], right[NAMES.index(name)]
            if a is None or b is None:
                result = int(a is None) - int(b is None)
                result = -result if nulls_first else result
            else:
                result = -compare(a, b) if descending else compare(a, b)
            if result:
                return result
        return 0

    return functools.cmp_to_key(rows_compared)


ORDERS = st.lists(
    st.tuples(st.sampled_from(NAMES), st.booleans(), st.booleans()), min_size=1, max_size=3,
    unique_by=lambda order: order[0],
)  # fmt: skip


@given(
    rows=ROWS,
    orders=ORDERS,
    cuts=CUTS,
    dock=st.integers(0, 2),
    limit=st.one_of(st.none(), st.integers(0, 70)),
    offset=st.integers(0, 10),
)
@settings(max_examples=200)
def test_sorts_are_those_of_the_definition(
    docks: list[xd.Dock], rows: list[Row], orders: list[tuple[str, bool, bool]], cuts: list[int],
    dock: int, limit: int | None, offset: int,
) -> None:  # fmt: skip
    key = comparer(orders)
    whole = sorted(range(len(rows)), key=lambda i: key(rows[i]))
    by = [(xd.desc if d else xd.asc)(n, nulls="first" if f else "last") for n, d, f in orders]
    relation = docks[dock].from_arrow(table_of(rows, cuts))
    end = None if limit is None else offset + limit
    expected = [rows[i] for i in whole[offset:end]]

    stable = relation.sort(*by, stable=True)
    cut = stable if limit is None else stable.limit(limit, offset)
    if limit is None:
        expected = [rows[i] for i in whole]
    result = cut.collect()
    result.validate(full=True)
    assert rows_in(result) == [tuple(map(same, row)) for row in expected]
    assert relation.arg_sort(*by, stable=True).collect()["index"].to_pylist() == whole

    # Not stable: equal rows may change places, and nothing else.
    loose = relation.sort(*by)
    loose = loose if limit is None else loose.limit(limit, offset)
    result = loose.collect()
    keyed = [tuple(row[name] for name, _, _ in orders) for row in result.to_pylist()]
    required = [tuple(row[NAMES.index(name)] for name, _, _ in orders) for row in expected]
    assert [tuple(map(same, row)) for row in keyed] == [tuple(map(same, row)) for row in required]
    if limit is None:
        assert Counter(rows_in(result)) == Counter(tuple(map(same, row)) for row in rows)


@given(
    rows=ROWS,
    keys=st.lists(st.sampled_from(NAMES[:3]), min_size=1, max_size=3, unique=True),
    count=st.integers(1, 9),
    cuts=CUTS,
    dock=st.integers(0, 2),
)
@settings(max_examples=80)
def test_partitions_hold_every_row_once_and_equal_keys_together(
    docks: list[xd.Dock], rows: list[Row], keys: list[str], count: int, cuts: list[int], dock: int
) -> None:
    relation = docks[dock].from_arrow(table_of(rows, cuts))
    parts = [rows_in(part) for part in relation.partition_by(*keys, partitions=count)]
    assert len(parts) == count
    whole = [tuple(map(same, row)) for row in rows]
    assert Counter(row for part in parts for row in part) == Counter(whole)
    home: dict[Row, int] = {}

    def key_of(row: Row) -> Row:
        return tuple(row[NAMES.index(name)] for name in keys)

    for number, part in enumerate(parts):
        for row in part:
            assert home.setdefault(key_of(row), number) == number
        chosen = [row for row in whole if home.get(key_of(row)) == number]
        assert part == chosen, "the order of the input is kept"


@given(rows=ROWS, other=ROWS, cuts=CUTS, dock=st.integers(0, 2))
@settings(max_examples=50)
def test_distinct_of_a_union_is_the_set_of_rows(
    docks: list[xd.Dock], rows: list[Row], other: list[Row], cuts: list[int], dock: int
) -> None:
    opened = docks[dock]
    united = opened.from_arrow(table_of(rows, cuts)).union(table_of(other, cuts)).distinct()
    result = rows_in(united.collect())
    assert Counter(result) == Counter({tuple(map(same, row)) for row in [*rows, *other]})
    assert united.count() == len(result)


FILTERS = [
    xd.col("k") > 0, xd.col("k").is_null(), xd.col("r") >= 0.0, xd.col("t") != "a",
    (xd.col("n") > 1) & (xd.col("k") < 3), (xd.col("n") > 1) | (xd.col("k") < 3),
    xd.col("k").is_in([1, 2]), xd.col("r") == 0.0,
]  # fmt: skip


@given(rows=ROWS, predicate=st.sampled_from(FILTERS), cuts=CUTS)
@settings(max_examples=80)
def test_pushdown_changes_no_result(
    docks: list[xd.Dock], rows: list[Row], predicate: xd.Expr, cuts: list[int]
) -> None:
    relation = docks[1].from_arrow(table_of(rows, cuts))
    grouped = relation.group_by("k", "t", "r").agg(n=xd.count())
    whole = docks[1].from_arrow(grouped.collect())
    expected = Counter(rows_in(whole.filter(predicate).collect()))
    assert Counter(rows_in(grouped.filter(predicate).collect())) == expected
    ordered = grouped.sort("k", "t", "r").filter(predicate)
    assert Counter(rows_in(ordered.collect())) == expected
    united = grouped.union(grouped).filter(predicate).distinct()
    assert Counter(rows_in(united.collect())) == expected
