"""Columns of random types beside every operator, from memory and from Parquet files, against joins,
sorts and groups in plain Python."""

from __future__ import annotations

import decimal
import random
import uuid
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")
SEEDS = (*range(40), 60, 130, 162, 337)  # the last four found faults
Row = dict[str, Any]


def text(draw: random.Random) -> str:
    return draw.choice(["", "x", "a text that is longer than a view's inline part", "ünï"])


def small(draw: random.Random) -> int:
    return draw.randrange(-99, 99)


def several(draw: random.Random, one: Callable[[random.Random], Any]) -> list[Any]:
    return [None if draw.random() < 0.2 else one(draw) for _ in range(draw.randrange(4))]


def number(draw: random.Random) -> decimal.Decimal:
    return decimal.Decimal(small(draw)).scaleb(-1)


TYPES: dict[str, tuple[pa.DataType, Callable[[random.Random], Any]]] = {
    "null": (pa.null(), lambda _: None),
    "list": (pa.list_(pa.int64()), lambda draw: several(draw, small)),
    "large_list": (pa.large_list(pa.string()), lambda draw: several(draw, text)),
    "list of views": (pa.list_(pa.string_view()), lambda draw: several(draw, text)),
    "fixed_size_list": (pa.list_(pa.int16(), 2), lambda draw: [small(draw), None]),
    "list_view": (pa.list_view(pa.int32()), lambda draw: several(draw, small)),
    "large_list_view": (pa.large_list_view(pa.string()), lambda draw: several(draw, text)),
    "struct": (
        pa.struct([pa.field("a", pa.int64()), pa.field("b", pa.list_(pa.string()))]),
        lambda draw: {"a": small(draw), "b": several(draw, text)},
    ),
    "list of structs": (
        pa.list_(pa.struct([pa.field("a", pa.int8(), nullable=False)])),
        lambda draw: [{"a": small(draw)} for _ in range(draw.randrange(3))],
    ),
    "map": (
        pa.map_(pa.string(), pa.int64()),
        lambda draw: [(str(key), small(draw)) for key in range(draw.randrange(3))],
    ),
    "interval": (
        pa.month_day_nano_interval(),
        lambda draw: pa.MonthDayNano([small(draw), small(draw), small(draw)]),
    ),
    "fixed_size_binary": (pa.binary(3), lambda draw: draw.randbytes(3)),
    "uuid": (pa.uuid(), lambda draw: uuid.UUID(int=draw.getrandbits(128))),
    "decimal32": (pa.decimal32(5, 1), number),
    "decimal64": (pa.decimal64(15, 1), number),
    "decimal256": (pa.decimal256(60, 1), number),
    "runs": (pa.int64(), small),
    "dense union": (pa.int64(), small),
    "sparse union": (pa.int64(), small),
}
NOT_IN_PARQUET = ("runs", "dense union", "sparse union", "list_view", "large_list_view", "interval")


def column(draw: random.Random, kind: str, rows: int) -> pa.Array:
    data_type, value = TYPES[kind]
    values = [None if draw.random() < 0.2 else value(draw) for _ in range(rows)]
    if kind == "uuid":
        values = [None if value is None else value.bytes for value in values]
    array = pa.array(values, data_type)
    if kind == "runs":
        return pc.run_end_encode(array)
    if not kind.endswith("union"):
        return array
    strings = pa.array([None if value is None else str(value) for value in values])
    types = pa.array([draw.randrange(2) for _ in range(rows)], pa.int8())
    if kind == "sparse union":
        return pa.UnionArray.from_sparse(types, [array, strings])
    return pa.UnionArray.from_dense(types, pa.array(range(rows), pa.int32()), [array, strings])


def made_table(draw: random.Random, side: str, kinds: list[str]) -> pa.Table:
    """A key with NULLs and duplicates, a number for each row, and columns of these kinds; in some
    pieces, which may be empty or begin in the middle of their arrays."""
    rows = draw.choice([0, 1, 5, 40, 200])
    keys = [None if draw.random() < 0.1 else draw.randrange(30) for _ in range(rows)]
    columns = {"k": pa.array(keys, pa.int64()), f"{side}_id": pa.array(range(rows), pa.int64())}
    columns |= {f"{side}_{place}": column(draw, kind, rows) for place, kind in enumerate(kinds)}
    table = pa.table(columns)
    cuts = sorted(draw.randrange(rows + 1) for _ in range(draw.randrange(3)))
    bounds = [0, *cuts, rows]
    return pa.concat_tables([table.slice(a, b - a) for a, b in pairwise(bounds)])


def opened(draw: random.Random, dock: xd.Dock, table: pa.Table, path: Path, place: str) -> Any:
    if place == "memory":
        return dock.from_arrow(table)
    if place == "parquet":
        pq.write_table(table, path, row_group_size=draw.choice([3, 64, 1000]))
        return dock.read_parquet(path)
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table, draw.choice([3, 64, 1000]))
    return dock.read_ipc(path)


def assert_same(actual: pa.Table, expected: list[Row], ordered: bool = False) -> None:
    actual.validate(full=True)
    rows = actual.to_pylist()
    if not ordered:
        rows, expected = sorted(rows, key=repr), sorted(expected, key=repr)
    assert rows == expected


def check(relation: xd.Relation, expected: list[Row], ordered: bool = False) -> None:
    """The relation collected, streamed and counted."""
    table = relation.collect()
    assert table.schema == relation.schema
    assert_same(table, expected, ordered)
    streamed = pa.Table.from_batches(list(relation.to_batches()), relation.schema)
    assert_same(streamed, expected, ordered)
    assert relation.count() == len(expected)


def joined(left: list[Row], right: list[Row], how: str, names: list[str]) -> list[Row]:
    def partners(row: Row, rows: list[Row]) -> list[Row]:
        return [other for other in rows if row["k"] is not None and other["k"] == row["k"]]

    if how == "semi":
        return [row for row in left if partners(row, right)]
    if how == "anti":
        return [row for row in left if not partners(row, right)]
    if how == "anti_null_aware":
        if any(row["k"] is None for row in right):
            return []
        return [r for r in left if not right or (r["k"] is not None and not partners(r, right))]
    result = [{**row, **other} for row in left for other in partners(row, right)]
    if how in ("left", "full"):
        result += [row for row in left if not partners(row, right)]
    if how in ("right", "full"):
        result += [row for row in right if not partners(row, left)]
    return [{name: row.get(name) for name in names} for row in result]


def in_order(rows: list[Row], *keys: str) -> list[Row]:
    return sorted(rows, key=lambda row: [(row[key] is None, row[key] or 0) for key in keys])


def firsts(rows: list[Row], name: str) -> list[Row]:
    groups: dict[Any, list[Any]] = {}
    for row in rows:
        groups.setdefault(row["k"], []).append(row[name])
    valid = {key: [v for v in values if v is not None] for key, values in groups.items()}
    return [{"k": k, "f": next(iter(v), None), "n": len(v)} for k, v in valid.items()]


@pytest.mark.parametrize("seed", SEEDS)
def test_every_operator(seed: int, tmp_path: Path) -> None:
    draw = random.Random(seed)
    place = draw.choice(["memory", "parquet", "arrow"])
    names = [name for name in TYPES if place != "parquet" or name not in NOT_IN_PARQUET]
    tables = [
        made_table(draw, side, draw.sample(names, draw.randrange(1, 5))) for side in ("l", "r")
    ]
    sides = [table.to_pylist() for table in tables]
    with xd.connect(threads=draw.choice([1, 3]), memory="1GiB") as dock:
        left, right = (
            opened(draw, dock, table, tmp_path / f"{number}.{place}", place)
            for number, table in enumerate(tables)
        )
        for how in KINDS:
            strategy = draw.choice(["auto", "radix", "direct", "merge"])
            if how == "anti_null_aware":
                strategy = "auto"
            relation = left.join(right, on="k", how=how, strategy=strategy)
            expected = joined(*sides, how, relation.columns)
            check(relation, expected)
            numbers = [name for name in relation.columns if name.endswith("_id")]
            above = relation.filter(xd.col(numbers[0]) >= 3).sort(*numbers, limit=17, offset=1)
            kept = [row for row in expected if (row[numbers[0]] or 0) >= 3]
            check(above, in_order(kept, *numbers)[1:18], ordered=True)
        rows = sides[0]
        check(left.sort("k", "l_id"), in_order(rows, "k", "l_id"), ordered=True)
        check(left.sort("k", stable=True).limit(20, 3), in_order(rows, "k")[3:23], ordered=True)
        check(left.filter(xd.col("l_0").is_null()).sort("l_id"),
              [row for row in rows if row["l_0"] is None], ordered=True)  # fmt: skip
        check(left.sample(len(rows)), rows)
        check(left.union(left.sort("k")), rows + rows)
        groups = left.group_by("k").agg(f=xd.first("l_0"), n=xd.count("l_0"))
        check(groups, firsts(rows, "l_0"))
        check(groups.join(right.select("k"), on="k", how="semi"),
              [g for g in firsts(rows, "l_0") if g["k"] is not None
               and g["k"] in {row["k"] for row in sides[1]}])  # fmt: skip
        parts = left.partition_by("k", 5)
        assert_same(pa.concat_tables(list(parts)), rows)
        target = tmp_path / "out.arrow"
        assert left.sort("l_id").write(target) == len(rows)
        assert_same(dock.read(target).filter(xd.col("l_id") >= 0).collect(), rows, ordered=True)
