"""Intersections, differences and unions of several types say what DuckDB's say."""

from __future__ import annotations

import decimal
import random
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest


def drawn(seed: int, rows: int, kinds: dict[str, pa.DataType]) -> pa.Table:
    draw = random.Random(seed)
    pools: dict[str, list[Any]] = {
        "k": [0, 1, 2, None],
        "t": ["", "a", "ab", "a longer text than a word", None],
        "f": [0.0, -0.0, 1.5, float("nan"), None],
        "d": [decimal.Decimal("1.50"), decimal.Decimal("-2.25"), None],
    }
    return pa.table(
        {n: pa.array([draw.choice(pools[n]) for _ in range(rows)], t) for n, t in kinds.items()}
    )


LEFT = {"k": pa.int32(), "t": pa.string(), "f": pa.float64(), "d": pa.decimal128(5, 2)}
RIGHT = {"f": pa.float32(), "d": pa.decimal128(9, 4), "t": pa.large_string(), "k": pa.int64()}


def as_set(table: pa.Table) -> list[tuple[str, ...]]:
    plain = [[text_of(v) for v in column.to_pylist()] for column in table.columns]
    return sorted(zip(*plain, strict=True))


def text_of(value: Any) -> str:
    if isinstance(value, decimal.Decimal):
        return str(value.normalize())
    return str(value + 0.0) if isinstance(value, float) else str(value)


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("keep_all", [False, True])
@pytest.mark.parametrize("method", ["intersect", "except_"])
def test_sets_of_rows(method: str, keep_all: bool, threads: int) -> None:
    for seed, rows in enumerate([(0, 5), (5, 0), (1, 1), (200, 300), (3000, 1000)]):
        left, right = drawn(seed, rows[0], LEFT), drawn(seed + 50, rows[1], RIGHT)
        with duckdb.connect() as base, xd.connect(threads=threads) as dock:
            base.register("a", left)
            base.register("b", right.select(left.schema.names))
            verb = method.strip("_") + (" all" if keep_all else "")
            theirs = base.sql(f"select * from a {verb} select * from b").to_arrow_table()
            ours = getattr(dock.from_arrow(left), method)(right, all=keep_all)
            assert as_set(ours.collect()) == as_set(theirs), (verb, rows)
            assert ours.count() == theirs.num_rows


@pytest.mark.parametrize(
    ("first", "second", "whole"),
    [
        (pa.int32(), pa.int64(), pa.int64()),
        (pa.int64(), pa.uint8(), pa.int64()),
        (pa.int32(), pa.uint32(), pa.int64()),
        (pa.int64(), pa.uint64(), pa.decimal128(20, 0)),
        (pa.int16(), pa.float32(), pa.float64()),
        (pa.float32(), pa.float64(), pa.float64()),
        (pa.int32(), pa.decimal128(5, 2), pa.decimal128(12, 2)),
        (pa.decimal128(9, 4), pa.decimal128(10, 2), pa.decimal128(12, 4)),
        (pa.string(), pa.large_string(), pa.large_string()),
        (pa.null(), pa.date32(), pa.date32()),
        (pa.dictionary(pa.int32(), pa.string()), pa.string(), pa.string()),
    ],
)
def test_unions_widen(first: pa.DataType, second: pa.DataType, whole: pa.DataType) -> None:
    for a, b in ((first, second), (second, first)):
        tables = [pa.table({"x": values_of(kind)}) for kind in (a, b)]
        with xd.connect(threads=1) as dock:
            united = dock.from_arrow(tables[0]).union(tables[1])
            assert united.schema.field("x").type == whole
            result = united.collect()
        assert result.schema.field("x").type == whole
        expected = [v for table in tables for v in table.column("x").to_pylist()]
        assert [text_of(v) for v in result.column("x").to_pylist()] == [
            text_of(whole_value(v, whole)) for v in expected
        ]


def values_of(kind: pa.DataType) -> pa.Array:
    if pa.types.is_null(kind):
        return pa.nulls(2)
    if pa.types.is_dictionary(kind):
        return pa.array(["a", None, "b"]).dictionary_encode()
    plain: list[Any] = ["a", None] if kind in (pa.string(), pa.large_string()) else [1, None, 7]
    if pa.types.is_decimal(kind):
        plain = [decimal.Decimal("1.25"), None]
    return pa.array(plain, kind)


def whole_value(value: Any, kind: pa.DataType) -> Any:
    return pa.scalar(value, kind).as_py()


def test_a_union_of_a_string_and_a_number_is_refused() -> None:
    with xd.connect(threads=1) as dock, pytest.raises(xd.TypeError, match="'x'"):
        dock.from_arrow(pa.table({"x": ["a"]})).union(pa.table({"x": [1]}))
