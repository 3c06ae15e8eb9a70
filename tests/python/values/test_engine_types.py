"""Types that the engine does not have, as columns that it computes with."""

from __future__ import annotations

import decimal
import random
import uuid
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from crossdock.values.engine_types import empty_table, engine_type, from_engine, is_late, to_engine

D = decimal.Decimal
UUIDS = [uuid.UUID(int=number << 64).bytes for number in (9, 2, 5)]
KEYS: dict[str, pa.Array] = {
    "null": pa.nulls(5),
    "fixed_size_binary": pa.array([b"ab", None, b"\x80\xff", b"ab", b"aa"], pa.binary(2)),
    "uuid": pa.array([UUIDS[0], None, UUIDS[1], UUIDS[0], UUIDS[2]], pa.uuid()),
    "decimal32": pa.array([D("1.5"), None, D("-2.5"), D("1.5"), D(0)], pa.decimal32(5, 1)),
    "decimal64": pa.array([D("1.5"), None, D("-2.5"), D("1.5"), D(0)], pa.decimal64(12, 1)),
    "decimal256": pa.array([D("1.5"), None, D("-2.5"), D("1.5"), D(0)], pa.decimal256(76, 1)),
}
each_key = pytest.mark.parametrize("name", list(KEYS))


def rows_of(table: pa.Table) -> list[tuple[object, ...]]:
    return sorted((tuple(row.values()) for row in table.to_pylist()), key=repr)


@each_key
def test_there_and_back(name: str) -> None:
    column = pa.chunked_array([KEYS[name], KEYS[name].slice(1, 3)])
    table = pa.table({"a": [0] * 8, "k": column})
    there = to_engine(table)
    assert there.schema.field("k").type == engine_type(column.type)
    assert from_engine(there["k"], column.type).equals(column)
    batch = table.to_batches()[1]
    back = from_engine(to_engine(batch).column(1), column.type)
    back.validate(full=True)
    assert back.equals(batch.column(1))
    reader = to_engine(table.to_reader())
    assert reader.read_all().equals(there)


def test_types_of_the_engine_are_left_alone() -> None:
    table = pa.table({"a": [1], "b": ["x"], "c": pa.array(["x"]).dictionary_encode()})
    assert to_engine(table) is table
    extension = pa.array(["1"], pa.json_())
    assert engine_type(extension.type) is extension.type
    columnless = table.select([])
    assert to_engine(columnless).num_rows == 1


def test_decimal256_orders_as_its_bytes() -> None:
    draw = random.Random(5)
    values = [
        draw.choice((-1, 1)) * draw.randrange(10 ** draw.randrange(1, 76)) for _ in range(500)
    ]
    with decimal.localcontext() as context:
        context.prec = 80
        column = pa.array([D(value) for value in values], pa.decimal256(76, 0))
    rows = to_engine(pa.table({"k": column}))["k"].to_pylist()
    assert [value for _, value in sorted(zip(rows, values, strict=True))] == sorted(values)


def test_a_table_of_no_rows_may_have_any_type() -> None:
    union = pa.dense_union([pa.field("a", pa.int64())])
    schema = pa.schema({"u": union, "r": pa.run_end_encoded(pa.int32(), pa.int64())})
    assert empty_table(schema).schema == schema
    assert is_late(union)
    assert not is_late(pa.null())


@each_key
def test_keys(dock: xd.Dock, name: str) -> None:
    column = KEYS[name]
    left = pa.table({"k": column, "a": range(5)})
    right = pa.table({"k": column.slice(1, 3), "b": range(3)})
    values = column.to_pylist()
    valid = [value for value in values if value is not None]
    source = dock.from_arrow(left)
    for how in ("inner", "left", "right", "full", "semi", "anti"):
        joined = source.join(right, on="k", how=how)
        pairs = [
            (k, a, b)
            for k, a in zip(values, range(5), strict=True)
            for j, b in zip(values[1:4], range(3), strict=True)
            if k == j and k is not None
        ]
        matched = {a for _, a, _ in pairs}, {b for _, _, b in pairs}
        alone = [(k, a) for k, a in zip(values, range(5), strict=True) if a not in matched[0]]
        expected: list[tuple[object, ...]] = list(pairs)
        if how in ("left", "full"):
            expected += [(*row, None) for row in alone]
        if how in ("right", "full"):
            expected += [(values[1 + b], None, b) for b in range(3) if b not in matched[1]]
        if how == "semi":
            expected = [(values[a], a) for a in matched[0]]
        if how == "anti":
            expected = list(alone)
        table = joined.collect()
        assert table.schema == joined.schema
        assert rows_of(table) == sorted(expected, key=repr), how
    ordered = source.sort("k", "a").collect()
    assert ordered.schema == source.schema
    order = sorted(range(5), key=lambda i: (values[i] is None, values[i] or 0, i))
    if name != "uuid":  # Python orders them in another way
        assert ordered["a"].to_pylist() == order if valid else list(range(5))
    groups = source.group_by("k").agg(n=xd.count(), s=xd.sum("a")).collect()
    distinct = {repr(value): value for value in values}.values()
    assert rows_of(groups) == sorted(
        (
            (value, values.count(value), sum(a for a in range(5) if values[a] == value))
            for value in distinct
        ),
        key=repr,
    )
    assert rows_of(source.distinct("k").collect()) == sorted(((v,) for v in distinct), key=repr)
    parts = source.partition_by("k", 4)
    assert rows_of(pa.concat_tables(list(parts))) == rows_of(left)
    assert all(part.schema == source.schema for part in parts)
    counts = source.agg(n=xd.count("k"), d=xd.count_distinct("k"), a=xd.approx_distinct("k"))
    assert counts.collect().to_pylist() == [
        {"n": len(valid), "d": len(set(valid)), "a": len(set(valid))}
    ]
    if name != "uuid":
        least = source.agg(lo=xd.min("k"), hi=xd.max("k"), f=xd.first("k")).collect()
        assert least.schema.types == [column.type] * 3
        assert least.to_pylist() == [
            {
                "lo": min(valid, default=None),
                "hi": max(valid, default=None),
                "f": valid[0] if valid else None,
            }
        ]


@each_key
def test_in_filters_and_residuals(dock: xd.Dock, name: str) -> None:
    values = KEYS[name].to_pylist()
    left = pa.table({"k": KEYS[name], "a": range(5), "one": [1] * 5})
    source = dock.from_arrow(left)
    kept = source.filter(xd.col("k").is_not_null()).sort("a").collect()
    assert kept["a"].to_pylist() == [a for a in range(5) if values[a] is not None]
    pairs = source.join(left, on="one", residual=xd.col("k_right").is_not_null()).collect()
    assert pairs.num_rows == 5 * kept.num_rows
    if name == "null":
        return
    value = source.collect()["k"][0].as_py()
    assert source.filter(xd.col("k") == value).count() == values.count(value)
    assert source.filter(xd.col("k").is_in([value, None])).count() == values.count(value)
    if name != "decimal256":  # which has no type in common with the literal
        assert source.filter(xd.coalesce(xd.col("k"), value) != value).count() == 2
    pairs = source.join(left, on="one", residual=xd.col("k") == xd.col("k_right")).collect()
    assert pairs.num_rows == sum(v == w for v in values for w in values if v is not None)


def test_a_null_column_joins_with_any_type(dock: xd.Dock) -> None:
    empty = dock.from_arrow(pa.table({"k": pa.nulls(2), "a": [1, 2]}))
    keys = dock.from_arrow(pa.table({"k": [1, None], "b": [3, 4]}))
    assert empty.join(keys, on="k").collect().num_rows == 0
    result = empty.join(keys, on="k", how="full").collect()
    assert result.schema.field("k").type == pa.int64()
    assert rows_of(result) == sorted(
        [(None, 1, None), (None, 2, None), (1, None, 3), (None, None, 4)], key=repr
    )
    assert keys.join(empty, on="k", how="left").collect().num_rows == 2
    assert empty.join(keys, on="k", null_equals_null=True).collect().num_rows == 2


def test_decimal256_compares_at_its_own_scale(dock: xd.Dock) -> None:
    wide = dock.from_arrow(pa.table({"k": pa.array([D("1.50")], pa.decimal256(50, 2))}))
    wider = pa.table({"k": pa.array([D("1.50")], pa.decimal256(60, 2))})
    assert wide.join(wider, on="k").count() == 1
    for other in (pa.decimal256(50, 3), pa.decimal128(20, 2), pa.binary(), pa.int64()):
        table = pa.table({"k": pa.nulls(1, other)})
        with pytest.raises(xd.TypeError, match=r"CD-103(.|\n)*'k'(.|\n)*decimal256(.|\n)*cast"):
            wide.join(table, on="k")
    with pytest.raises(xd.TypeError, match=r"CD-102(.|\n)*sum of k(.|\n)*cast"):
        wide.agg(s=xd.sum("k"))


def test_sums_of_short_decimals(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"k": KEYS["decimal32"], "j": KEYS["decimal64"]}))
    result = rows.agg(a=xd.sum("k"), b=xd.sum("j"), m=xd.mean("k")).collect()
    assert result.schema.types == [pa.decimal128(38, 1), pa.decimal128(38, 1), pa.float64()]
    assert result.to_pylist() == [{"a": D("0.5"), "b": D("0.5"), "m": 0.125}]


def test_expressions_of_run_end_encoded_columns(dock: xd.Dock) -> None:
    runs = pc.run_end_encode(pa.array([1, 1, None, 3]))
    rows = dock.from_arrow(pa.table({"r": runs, "a": range(4)}))
    assert rows.filter(xd.col("r") < 3).count() == 2
    cut = pa.table({"r": pa.chunked_array([runs.slice(0, 1), runs.slice(1)]), "a": range(4)})
    # pyarrow loses the offset where it casts such a column to its own type.
    assert dock.from_arrow(cut).filter(xd.col("r").is_null()).collect()["a"].to_pylist() == [2]
    assert rows.group_by(k=xd.col("r") + 1).agg(n=xd.count()).sort("k").collect().to_pylist() == [
        {"k": 2, "n": 2}, {"k": 4, "n": 1}, {"k": None, "n": 1},
    ]  # fmt: skip


@each_key
def test_in_filters_of_files(dock: xd.Dock, name: str, tmp_path: Path) -> None:
    values = KEYS[name].to_pylist()
    pq.write_table(pa.table({"k": KEYS[name], "a": range(5)}), tmp_path / "t.parquet")
    rows = dock.read_parquet(tmp_path / "t.parquet")
    assert rows.filter(xd.col("k").is_null()).sort("a").count() == values.count(None)
    assert rows.filter(xd.col("k").is_not_null()).collect().num_rows == 5 - values.count(None)
    if name != "null":
        assert rows.filter(xd.col("k") == values[0]).count() == 2
        assert rows.filter(xd.col("k").is_in(values)).sort("k").collect().num_rows == 4
