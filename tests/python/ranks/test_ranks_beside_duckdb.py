"""Joins and group-bys over several ranks against DuckDB: random schemas, one process per rank."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("duckdb")

# Every rank makes the same tables of the seed and exchanges a share of its own, which may be empty;
# the first one compares what all of them found.
ORACLE = """
import datetime, decimal, random
import crossdock as xd, duckdb, pyarrow as pa

DAY = datetime.date(2020, 1, 1)
INSTANT = datetime.datetime(2020, 1, 1)
KINDS = {
    "int8": (lambda n: n, [pa.int8(), pa.int32(), pa.int64(), pa.decimal128(12, 2)]),
    "decimal": (lambda n: decimal.Decimal(n) / 4, [pa.decimal128(9, 2), pa.decimal128(30, 4)]),
    "real": (lambda n: n / 2, [pa.float32(), pa.float64()]),
    "flag": (lambda n: n % 2 == 0, [pa.bool_()]),
    "day": (lambda n: DAY + datetime.timedelta(days=n), [pa.date32(), pa.date64()]),
    "instant": (lambda n: INSTANT + datetime.timedelta(hours=n),
                [pa.timestamp("s"), pa.timestamp("us")]),
    "text": (lambda n: "t" * (n % 20) + str(n),
             [pa.string(), pa.large_string(), pa.string_view(),
              pa.dictionary(pa.int32(), pa.string())]),
    "bytes": (lambda n: str(n).encode() * 3, [pa.binary(), pa.large_binary()]),
}


def column(rng, kind, rows, type_):
    value, _ = KINDS[kind]
    numbers = [None if rng.random() < 0.1 else rng.randrange(0, 12) for _ in range(rows)]
    values = [None if number is None else value(number) for number in numbers]
    if pa.types.is_dictionary(type_):
        return pa.array(values, type_.value_type).dictionary_encode().cast(type_)
    return pa.array(values, type_)


def table(rng, name, keys):
    rows = rng.choice([0, 1, 30, 60])
    columns = {key: column(rng, kind, rows, rng.choice(KINDS[kind][1]))
               for key, kind in keys.items()}
    for number in range(rng.randrange(1, 4)):
        kind = rng.choice(list(KINDS))
        columns[f"{name}{number}"] = column(rng, kind, rows, rng.choice(KINDS[kind][1]))
    columns[f"{name}_id"] = pa.array(range(rows), pa.int64())
    return pa.table(columns)


def share(rng, whole, group):
    cuts = sorted(rng.randrange(whole.num_rows + 1) for _ in range(group.size - 1))
    cuts = [0, *cuts, whole.num_rows]
    return whole.slice(cuts[group.rank], cuts[group.rank + 1] - cuts[group.rank])


def plain(whole):
    fields = [field.with_type(field.type.value_type) if pa.types.is_dictionary(field.type)
              else field for field in whole.schema]
    return whole.cast(pa.schema(fields))


def rows_of(found):
    return sorted(repr(tuple(row)) for row in zip(*(c.to_pylist() for c in found.columns)))


def check(seed, group, dock):
    rng = random.Random(seed)
    keys = {f"k{i}": rng.choice(list(KINDS)) for i in range(rng.randrange(1, 3))}
    left, right = table(rng, "a", keys), table(rng, "b", keys)
    destinations = rng.choice([None, [0, 1], [2]])
    options = {"segment_bytes": "32KiB", "slots": 1, "destinations": destinations}
    mine = group.exchange(share(rng, left, group), by=list(keys), **options)
    theirs = group.exchange(share(rng, right, group), by=list(keys), **options)
    joined = dock.from_arrow(mine).join(dock.from_arrow(theirs), on=list(keys), how="inner")
    pairs = group.collect(joined.select("a_id", "b_id").collect())
    groups = dock.from_arrow(mine).group_by(*keys).agg(n=xd.count(), s=xd.sum("a_id"))
    totals = group.collect(groups.select("n", "s").collect())
    whole = group.collect(mine)
    if group.rank != 0:
        return
    assert rows_of(whole) == rows_of(plain(left)), f"seed {seed}: rows are lost"
    with duckdb.connect() as oracle:
        oracle.register("l", plain(left))
        oracle.register("r", plain(right))
        on = " and ".join(f"l.{key} = r.{key}" for key in keys)
        wanted = oracle.execute(f"select a_id, b_id from l join r on {on}").fetchall()
        assert rows_of(pairs) == sorted(map(repr, wanted)), f"seed {seed}: join of {keys}"
        by = ", ".join(keys)
        wanted = oracle.execute(
            f"select count(*) n, sum(a_id)::bigint s from l group by {by}").fetchall()
        totals = totals.cast(pa.schema([("n", pa.int64()), ("s", pa.int64())]))
        assert rows_of(totals) == sorted(map(repr, wanted)), f"seed {seed}: groups by {keys}"


with xd.join_group(memory="256MiB") as group, xd.connect(threads=1, memory="256MiB") as dock:
    for seed in range(25):
        check(seed, group, dock)
"""


def test_joins_and_groups_over_ranks_are_those_of_duckdb(
    run_ranks: Callable[..., list[str]],
) -> None:
    run_ranks(ORACLE, 3, within_s=240)
