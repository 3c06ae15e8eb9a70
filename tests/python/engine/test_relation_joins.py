"""Joins of relations, compared with DuckDB: how names, keys and types of the two sides come out of
every kind. (tests/oracle compares the engine itself, below the Python package.)"""

from __future__ import annotations

import datetime
import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest

duckdb = pytest.importorskip("duckdb")
ORACLE = duckdb.connect()  # one for all cases: opening one costs more than a small join

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")
EPOCH = datetime.datetime(2020, 1, 1)


def text_of(number: int) -> str:
    """Short and long strings, some with the same beginning, some with a zero byte."""
    return ("", f"v{number}", f"the same long beginning {number}", f"zero\0{number}")[number % 4]


MAKERS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "bool": (pa.bool_(), lambda i: i % 2 == 0),
    "int8": (pa.int8(), lambda i: i % 256 - 128),
    "uint16": (pa.uint16(), lambda i: i % 65536),
    "int32": (pa.int32(), lambda i: i * 7919 % 2**32 - 2**31),
    "int64": (pa.int64(), lambda i: (i * 0x9E3779B97F4A7C15) % 2**64 - 2**63),
    "uint64": (pa.uint64(), lambda i: (i * 0x9E3779B97F4A7C15) % 2**64),
    "float32": (pa.float32(), lambda i: i / 4),
    "float64": (pa.float64(), lambda i: (0.0, -0.0, float("nan"), float("inf"), i / 3)[i % 5]),
    "decimal": (pa.decimal128(20, 3), lambda i: Decimal(i * 1001) / 1000),
    "date": (pa.date32(), lambda i: (EPOCH + datetime.timedelta(i)).date()),
    "timestamp": (pa.timestamp("us"), lambda i: EPOCH + datetime.timedelta(microseconds=i * 1001)),
    "zoned": (pa.timestamp("ms", "UTC"), lambda i: EPOCH + datetime.timedelta(milliseconds=i)),
    "string": (pa.string(), text_of),
    "large_string": (pa.large_string(), text_of),
    "string_view": (pa.string_view(), text_of),
    "binary": (pa.binary(), lambda i: text_of(i).encode() + b"\xff"),
    "dictionary": (pa.dictionary(pa.int32(), pa.string()), text_of),
}


def column(kind: str, numbers: list[int | None], cut: int) -> pa.ChunkedArray:
    """Values for `numbers` in chunks, one of them a slice with an offset."""
    data_type, make = MAKERS[kind]
    values = [None if number is None else make(number) for number in numbers]
    if pa.types.is_dictionary(data_type):
        whole = pa.array(values, data_type.value_type).dictionary_encode()
    else:
        whole = pa.array([values[0] if values else None, *values], data_type)[1:]
    return pa.chunked_array([whole[:cut], whole[cut:]], whole.type)


def table(seed: int, rows: int, distinct: int, keys: tuple[str, ...], payload: str) -> pa.Table:
    """Keys k0.. of `distinct` numbers, every eighth NULL; a payload column, a row number."""
    chance = random.Random(seed)
    cut = chance.randint(0, rows)

    def numbers(of: int) -> list[int | None]:
        return [None if chance.random() < 0.125 else chance.randrange(of) for _ in range(rows)]

    columns = {f"k{i}": column(kind, numbers(distinct), cut) for i, kind in enumerate(keys)}
    columns[f"p{seed}"] = column(payload, numbers(1000), cut)
    columns[f"n{seed}"] = pa.chunked_array([pa.array(range(rows), pa.int32())])
    return pa.table(columns)


def expected(left: pa.Table, right: pa.Table, how: str, nulls: bool, names: list[str]) -> Any:
    keys = [name for name in left.column_names if name.startswith("k")]
    equal = "is not distinct from" if nulls else "="
    condition = " and ".join(f"l.{key} {equal} r.{key}" for key in keys)
    ORACLE.register("l", left)
    ORACLE.register("r", right)
    if how == "anti_null_aware":
        row = "(" + ", ".join(keys) + ")" if len(keys) > 1 else keys[0]
        query = f"select * from l where {row} not in (select {row} from r)"
    elif how in ("semi", "anti"):
        query = f"select * from l {how} join r on {condition}"
    else:
        shown = [f"coalesce(l.{n}, r.{n}) as {n}" if n in keys else n for n in names]
        query = f"select {', '.join(shown)} from l {how} join r on {condition}"
    return ORACLE.sql(query).to_arrow_table()


def assert_same_rows(actual: pa.Table, expected: pa.Table) -> None:
    assert actual.num_rows == expected.num_rows
    ORACLE.register("found", actual)
    ORACLE.register("wanted", expected)
    extra = ORACLE.sql("select * from found except all select * from wanted").limit(3)
    missing = ORACLE.sql("select * from wanted except all select * from found").limit(3)
    assert (extra.fetchall(), missing.fetchall()) == ([], [])


def check(dock: xd.Dock, left: pa.Table, right: pa.Table, how: str, **options: Any) -> None:
    keys = [name for name in left.column_names if name.startswith("k")]
    joined = dock.from_arrow(left).join(dock.from_arrow(right), on=keys, how=how, **options)
    result = joined.collect()
    result.validate(full=True)
    assert result.schema == joined.schema
    required = expected(left, right, how, options.get("null_equals_null", False), joined.columns)
    assert_same_rows(result, required)
    assert joined.count() == required.num_rows
    streamed = pa.Table.from_batches(joined.to_batches(), joined.schema)
    assert streamed.num_rows == required.num_rows


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("kind", list(MAKERS))
def test_key_types(dock: xd.Dock, kind: str, how: str) -> None:
    check(dock, table(1, 300, 60, (kind,), "string"), table(2, 200, 60, (kind,), "int64"), how)


@pytest.mark.parametrize("how", ["full"])
@pytest.mark.parametrize("payload", list(MAKERS))
@pytest.mark.parametrize("materialize", ["early", "late"])
def test_payload_types(dock: xd.Dock, payload: str, how: str, materialize: str) -> None:
    left, right = table(1, 500, 100, ("int32",), payload), table(2, 400, 100, ("int32",), payload)
    check(dock, left, right, how, materialize=materialize)


@pytest.mark.parametrize("how", [how for how in KINDS if how != "anti_null_aware"])  # of one key
@pytest.mark.parametrize(
    "kinds", [("int32", "string"), ("string_view", "date"), ("int64", "int64", "bool"),
              ("decimal", "binary"), ("float64", "dictionary", "uint16", "zoned")],
    ids=repr,
)  # fmt: skip
def test_several_keys(dock: xd.Dock, kinds: tuple[str, ...], how: str) -> None:
    check(dock, table(1, 600, 8, kinds, "int8"), table(2, 500, 8, kinds, "string"), how)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize(
    "rows", [(0, 0), (0, 5), (5, 0), (1, 1), (1, 2), (2, 1000), (1000, 2)], ids=repr
)
def test_sizes(dock: xd.Dock, rows: tuple[int, int], how: str) -> None:
    left = table(1, rows[0], 3, ("int64",), "string_view")
    check(dock, left, table(2, rows[1], 3, ("int64",), "decimal"), how)


@pytest.mark.parametrize("how", ["left", "full", "anti"])
def test_more_rows_than_a_batch(dock: xd.Dock, how: str) -> None:
    left = table(1, 70_000, 30_000, ("int64",), "string")
    check(dock, left, table(2, 20_000, 30_000, ("int64",), "int32"), how)


@pytest.mark.parametrize("how", ["inner", "left", "right", "semi"])
def test_skew(dock: xd.Dock, how: str) -> None:
    chance = random.Random(7)
    zipf = [int(1 / (1 - chance.random() * 0.9999)) for _ in range(20_000)]
    left = pa.table({"k0": pa.array(zipf), "a": pa.array(range(20_000))})
    check(dock, left, pa.table({"k0": pa.array(range(1, 500)), "b": pa.array(range(499))}), how)


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize(
    ("left_type", "right_type"),
    [(pa.int32(), pa.int64()), (pa.uint64(), pa.int64()), (pa.string(), pa.string_view()),
     (pa.large_string(), pa.string()), (pa.decimal128(10, 2), pa.int64()),
     (pa.timestamp("s"), pa.timestamp("us")), (pa.float32(), pa.float64())],
    ids=str,
)  # fmt: skip
def test_keys_of_two_types(dock: xd.Dock, left_type: Any, right_type: Any, how: str) -> None:
    def side(data_type: Any, name: str, first: int) -> pa.Table:
        numbers = pa.array([*range(first, first + 50), None, first, first], pa.int64())
        if pa.types.is_decimal(data_type):
            keys = pa.array(
                [None if n is None else Decimal(n) for n in numbers.to_pylist()], data_type
            )
        else:
            keys = numbers.cast(data_type)
        return pa.table({"k0": keys, name: pa.array(range(53))})

    left, right = side(left_type, "a", 0), side(right_type, "b", 20)
    if how in ("right", "full"):
        with pytest.raises(xd.TypeError, match="sides differ in type"):
            dock.from_arrow(left).join(dock.from_arrow(right), on="k0", how=how)
        return
    check(dock, left, right, how)


@pytest.mark.parametrize("how", ["inner", "left", "full", "semi", "anti"])
def test_a_residual(dock: xd.Dock, how: str) -> None:
    left, right = table(1, 3000, 300, ("int32",), "int64"), table(2, 2000, 300, ("int32",), "int64")
    residual = xd.col("n1") < xd.col("n2")
    joined = dock.from_arrow(left).join(dock.from_arrow(right), on="k0", how=how, residual=residual)
    ORACLE.register("l", left)
    ORACLE.register("r", right)
    shown = "l.*" if how in ("semi", "anti") else "coalesce(l.k0, r.k0) as k0, p1, n1, p2, n2"
    query = f"select {shown} from l {how} join r on l.k0 = r.k0 and n1 < n2"
    expected = ORACLE.sql(query).to_arrow_table()
    assert_same_rows(joined.collect(), expected)
    assert joined.count() == expected.num_rows
