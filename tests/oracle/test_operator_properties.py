"""Laws of group-by, sort and partition over any table: neither how they run, nor how their input
is cut or permuted, changes what they promise."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
from conftest import EngineOf
from crossdock import _native
from group_by_run import result_of
from hypothesis import given
from hypothesis import strategies as st
from partition_run import assert_parts
from same_rows import assert_same_rows, plain, plain_keys
from sort_run import assert_sorted
from test_properties import table_of

SCHEMA = pa.schema([("k", pa.int64()), ("t", pa.utf8()), ("x", pa.float64()), ("v", pa.int64())])

strings = st.sampled_from(["", "x", "x\0", "y", "a text longer than a view", "a text longer", None])
keys = st.one_of(st.none(), st.integers(-2, 6), st.sampled_from([-(2**63), 2**63 - 1, 2**32]))
numbers = st.one_of(
    st.none(),
    st.sampled_from([0.0, -0.0, math.nan, math.inf, -math.inf, 0.1, 1e300, -1e300]),
    st.floats(-1e6, 1e6),
)
values = st.one_of(st.none(), st.integers(-(2**61), 2**61))
Rows = list[tuple[Any, ...]]
row_lists = st.lists(st.tuples(keys, strings, numbers, values), max_size=40)
key_lists = st.sampled_from([["k"], ["t"], ["x"], ["k", "t"], ["t", "x", "k"]])


@dataclass(frozen=True)
class Way:
    """How an operation is run; nothing of it may change what is promised."""

    threads: int = 1
    cuts: Sequence[int] = ()
    run: str = "collect"
    options: dict[str, Any] = field(default_factory=dict)


def ways(strategies: list[str], batch_rows: list[int]) -> st.SearchStrategy[Way]:
    options = {
        "strategy": st.sampled_from(strategies),
        "batch_rows": st.sampled_from(batch_rows),
    }
    return st.builds(
        Way,
        threads=st.sampled_from([1, 2, 3, 4]),
        cuts=st.lists(st.integers(0, 40), max_size=4),
        run=st.sampled_from(["collect", "stream"]),
        options=st.fixed_dictionaries(options),
    )


group_ways = ways(["auto", "table", "radix", "adaptive"], [1024, 65_536])
sort_ways = ways(["auto", "msd", "lsd"], [1, 3, 65_536])

# Of these a permutation of the rows changes nothing; "sum" of x is exact.
UNORDERED = [
    ("count", "", "", "n", {}),
    ("count", "v", "", "n_v", {}),
    ("sum", "v", "", "sum_v", {"wide": True}),
    ("sum", "x", "", "sum_x", {"floats": "exact"}),
    ("mean", "x", "", "mean_x", {"floats": "exact"}),
    ("min", "x", "", "min_x", {}),
    ("max", "t", "", "max_t", {}),
    ("count_distinct", "x", "", "distinct_x", {}),
    ("approx_distinct", "t", "", "near_t", {}),
]
ORDERED = [("first", "v", "", "first_v", {}), ("first", "t", "", "first_t", {})]


def groups(engine_of: EngineOf, rows: Rows, by: list[str], items: list[Any], way: Way) -> pa.Table:
    engine = engine_of(way.threads)
    table = _native.Table.from_stream(engine, table_of(rows, SCHEMA, way.cuts))
    options = way.options if by else way.options | {"strategy": "auto"}
    run = _native.GroupBy(engine, table, keys=by, aggregates=items, **options)
    result = result_of(run, way.run)
    assert run.count() == result.num_rows
    return result


def keys_alike(actual: pa.Table) -> pa.Table:
    """A group of both zeros may show either."""
    columns = [
        plain_keys(column).view(column.type) if pa.types.is_floating(column.type) else column
        for column in (c.combine_chunks() for c in actual.columns)
    ]
    return pa.table(columns, names=actual.column_names)


def assert_equal_tables(one: pa.Table, other: pa.Table) -> None:
    one, other = keys_alike(one), keys_alike(other)
    assert_same_rows([plain(column) for column in one.columns], other)


@given(rows=row_lists, by=key_lists, one=group_ways, other=group_ways)
def test_groups_do_not_depend_on_how_they_are_made(
    engine_of: EngineOf, rows: Rows, by: list[str], one: Way, other: Way
) -> None:
    items = UNORDERED + ORDERED
    assert_equal_tables(
        groups(engine_of, rows, by, items, one), groups(engine_of, rows, by, items, other)
    )


@given(rows=row_lists, by=key_lists, way=group_ways, data=st.data())
def test_groups_do_not_depend_on_the_order_of_rows(
    engine_of: EngineOf, rows: Rows, by: list[str], way: Way, data: st.DataObject
) -> None:
    permuted = data.draw(st.permutations(rows))
    assert_equal_tables(
        groups(engine_of, rows, by, UNORDERED, way), groups(engine_of, permuted, by, UNORDERED, way)
    )


@given(rows=row_lists, by=key_lists, way=group_ways)
def test_groups_of_groups_add_up(engine_of: EngineOf, rows: Rows, by: list[str], way: Way) -> None:
    """Counts and sums of all groups are those of the table; each key is there once."""
    items = [("count", "", "", "n", {}), ("sum", "v", "", "s", {"wide": True})]
    result = groups(engine_of, rows, by, items, way)
    assert sum(result.column("n").to_pylist()) == len(rows)
    sums = [int(value) for value in result.column("s").to_pylist() if value is not None]
    assert sum(sums) == sum(row[3] for row in rows if row[3] is not None)
    assert groups(engine_of, rows, [], items[:1], way).column("n").to_pylist() == [len(rows)]
    distinct = keys_alike(result.select(by)).group_by(by).aggregate([])
    assert distinct.num_rows == result.num_rows


@given(
    rows=row_lists,
    by=key_lists,
    ends=st.lists(st.tuples(st.booleans(), st.booleans()), min_size=3, max_size=3),
    limit=st.sampled_from([-1, 0, 1, 5, 100]),
    offset=st.sampled_from([0, 1, 7]),
    stable=st.booleans(),
    way=sort_ways,
)
def test_sorted_rows_are_the_rows_sorted(
    engine_of: EngineOf,
    rows: Rows,
    by: list[str],
    ends: list[tuple[bool, bool]],
    limit: int,
    offset: int,
    stable: bool,
    way: Way,
) -> None:
    order = [(name, *end) for name, end in zip(by, ends, strict=False)]
    engine = engine_of(way.threads)
    table = table_of(rows, SCHEMA, way.cuts)
    options = {"limit": limit, "offset": offset, "stable": stable}
    run = _native.Sort(
        engine,
        _native.Table.from_stream(engine, table),
        keys=order,
        output=[(name, name) for name in SCHEMA.names],
        row_index="position",
        **options,
        **way.options,
    )
    result = result_of(run, way.run)
    positions = result.column("position").to_numpy()
    assert_sorted(table, order, positions, **options)
    expected = pa.array(positions)
    for name in SCHEMA.names:
        assert plain(table.column(name)).take(expected).equals(plain(result.column(name)))
    assert run.count() == result.num_rows


@given(
    rows=row_lists,
    by=key_lists,
    kind=st.sampled_from(["hash", "range"]),
    parts=st.sampled_from([1, 2, 5, 64]),
    way=ways(["auto"], [0]),
)
def test_parts_are_the_rows_partitioned(
    engine_of: EngineOf, rows: Rows, by: list[str], kind: str, parts: int, way: Way
) -> None:
    engine = engine_of(way.threads)
    table = table_of(rows, SCHEMA, way.cuts)
    table = table.append_column("row", pa.array(range(len(rows)), pa.int64()))
    run = _native.Partition(
        engine,
        _native.Table.from_stream(engine, table),
        keys=by,
        partitions=parts,
        how=kind,
        output=table.column_names,
    )
    result = result_of(run, way.run)
    assert len(run.counts()) == parts
    positions = result.column("row").to_numpy()
    assert_parts(kind, table, by, positions, run.counts())
    for name in SCHEMA.names:
        expected = plain(table.column(name)).take(pa.array(positions))
        assert expected.equals(plain(result.column(name)))
