"""limit, sample and union: which rows are left, in what order, how much is read."""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

ROWS = 200_000


@pytest.fixture(scope="module")
def numbers() -> pa.Table:
    return pa.table({"n": pa.array(range(ROWS), pa.int64())})


def recut(table: pa.Table, rows: int) -> pa.Table:
    """The same table in chunks of `rows` rows."""
    return pa.Table.from_batches(table.combine_chunks().to_batches(rows), table.schema)


@pytest.mark.parametrize(
    ("rows", "offset"), [(0, 0), (3, 0), (3, 7), (100, 0), (5, 98), (5, 100), (5, 2**40)]
)
@pytest.mark.parametrize("chunk", [1, 7, 100])
def test_a_limit(dock: xd.Dock, rows: int, offset: int, chunk: int) -> None:
    table = recut(pa.table({"n": range(100)}), chunk)
    limited = dock.from_arrow(table).limit(rows, offset)
    expected = list(range(100))[offset : offset + rows]
    assert limited.collect()["n"].to_pylist() == expected
    assert [n for batch in limited.to_batches() for n in batch["n"].to_pylist()] == expected
    assert limited.count() == len(expected)
    assert limited.collect().schema == limited.schema == table.schema


def test_a_limit_ends_what_runs_below(dock: xd.Dock) -> None:
    ones = dock.from_arrow(pa.table({"k": pa.repeat(1, 200_000), "v": range(200_000)}))
    joined = ones.join(ones, on="k")  # 40 thousand million rows
    before_s = time.process_time()
    assert joined.limit(5).collect().num_rows == 5
    assert joined.limit(5).count() == 5
    assert dock.progress() is None
    assert joined.limit(7, 1000).join(pa.table({"k": [1]}), on="k").count() == 7
    # A block of its rows alone has 200 million partners; three morsels of them took 80 s.
    assert time.process_time() - before_s < 10


@pytest.mark.parametrize("how", ["left", "right", "full"])
def test_a_limit_ends_an_outer_join_with_rows_of_it(dock: xd.Dock, how: str) -> None:
    left = pa.table({"k": [i % 60 for i in range(9000)], "v": range(9000)})
    right = pa.table({"k": [i % 60 + 10 for i in range(7000)], "w": range(7000)})
    joined = dock.from_arrow(left).join(dock.from_arrow(right), on="k", how=how)
    for rows in (1, 4000, 100_000):
        result = joined.limit(rows).collect()
        assert result.num_rows == joined.limit(rows).count() == rows
        for row in result.take(pa.array(range(0, rows, 97))).to_pylist():
            assert (row["v"] is None) == (row["k"] >= 60)
            assert (row["w"] is None) == (row["k"] < 10)
            assert row["v"] is None or row["v"] % 60 == row["k"]
            assert row["w"] is None or row["w"] % 60 + 10 == row["k"]


@pytest.mark.parametrize("fraction", [0.0, 0.1, 0.5, 1.0])
def test_a_fraction_of_the_rows(dock: xd.Dock, numbers: pa.Table, fraction: float) -> None:
    sample = dock.from_arrow(numbers).sample(fraction=fraction, seed=7)
    rows = sample.collect()["n"].to_pylist()
    assert rows == sorted(set(rows))
    assert abs(len(rows) - fraction * ROWS) <= 6 * (ROWS * fraction * (1 - fraction)) ** 0.5
    assert sample.count() == len(rows)


@pytest.mark.parametrize("rows", [0, 1, 1000, ROWS - 1, ROWS, ROWS + 1])
def test_a_number_of_rows(dock: xd.Dock, numbers: pa.Table, rows: int) -> None:
    sample = dock.from_arrow(numbers).sample(rows, seed=7)
    result = sample.collect()["n"].to_pylist()
    assert len(result) == sample.count() == min(rows, ROWS)
    assert result == sorted(set(result))


@pytest.mark.parametrize("how", [{"n": 500}, {"fraction": 0.01}], ids=repr)
def test_the_seed_decides_and_not_the_cut(
    dock: xd.Dock, numbers: pa.Table, how: dict[str, float]
) -> None:
    def drawn(chunk: int, seed: int) -> list[int]:
        relation = dock.from_arrow(recut(numbers, chunk)).sample(**how, seed=seed)
        return list(relation.collect()["n"].to_pylist())

    assert drawn(ROWS, 1) == drawn(1000, 1) == drawn(65_537, 1)
    draws = [frozenset(drawn(ROWS, seed)) for seed in range(4)]
    for a, b in itertools.combinations(draws, 2):
        assert len(a & b) < 0.1 * len(a)


def test_without_a_seed_a_relation_keeps_the_one_it_drew(dock: xd.Dock, numbers: pa.Table) -> None:
    rows = dock.from_arrow(numbers)
    sample = rows.sample(20)
    assert sample.collect() == sample.collect()
    assert sample.collect() != rows.sample(20).collect()


def test_every_row_is_drawn_equally_often(dock: xd.Dock) -> None:
    table = dock.from_arrow(pa.table({"n": range(20)}))
    hits = [0] * 20
    for seed in range(400):
        for n in table.sample(5, seed=seed).collect()["n"].to_pylist():
            hits[n] += 1
    assert sum(hits) == 2000
    assert all(60 <= count <= 140 for count in hits)  # 100 each; deviation about 8.7


@pytest.mark.parametrize("rows", [0, 1, 70_000])
def test_a_sample_is_counted_without_its_columns(rows: int, dock: xd.Dock) -> None:
    table = dock.from_arrow(pa.table({"n": pa.arange(0, 200_000, 1)}))
    counted = table.sample(rows, seed=1).agg(n=xd.count()).collect()
    assert counted["n"].to_pylist() == [rows]


def test_samples_of_text_views_and_dictionaries(dock: xd.Dock) -> None:
    table = pa.table(
        {
            "v": pa.array(["a", None, "c"] * 10, pa.string_view()),
            "d": pa.array(["x", "y", None] * 10).dictionary_encode(),
        }
    )
    for sample in (
        dock.from_arrow(table).sample(9, seed=1),
        dock.from_arrow(table).sample(fraction=0.5, seed=1),
    ):
        assert sample.collect().schema == table.schema
        assert 0 < sample.collect().num_rows < 30


def test_a_union_takes_columns_by_name(dock: xd.Dock) -> None:
    first = pa.table({"a": [1, 2], "b": ["x", None]})
    second = pa.table({"b": ["y"], "a": [3]})
    united = dock.from_arrow(first).union(second, dock.from_arrow(first))
    expected = {"a": [1, 2, 3, 1, 2], "b": ["x", None, "y", "x", None]}
    assert united.collect().to_pydict() == expected
    assert pa.Table.from_batches(united.to_batches(), united.schema).to_pydict() == expected
    assert united.count() == 5
    assert united.select("b").count() == 5
    assert united.join(pa.table({"a": [3, 1]}), on="a").count() == 3
    assert dock.from_arrow(first).union().count() == 2


def test_a_union_may_have_nulls_where_one_relation_has(dock: xd.Dock) -> None:
    strict = pa.table([[1]], schema=pa.schema([pa.field("a", pa.int64(), nullable=False)]))
    loose = pa.table({"a": pa.array([None], pa.int64())})
    for united in (dock.from_arrow(strict).union(loose), dock.from_arrow(loose).union(strict)):
        assert united.schema.field("a").nullable
        assert united.collect().schema == united.schema
    same = dock.from_arrow(strict).union(strict)
    assert not same.schema.field("a").nullable
    assert same.collect().schema == same.schema


@pytest.mark.parametrize(
    "values",
    [
        pa.array([1, None]),
        pa.array(["x", None]),
        pa.array([[1], None]),
        pa.array(["x", None]).dictionary_encode(),
        pa.array([None, None], pa.timestamp("ms", "UTC")),
    ],
)
def test_a_column_without_a_type_has_that_of_the_others_in_a_union(
    dock: xd.Dock, values: pa.Array
) -> None:
    typed = dock.from_arrow(pa.table({"a": values, "b": [1, 2]}))
    empty = dock.from_arrow(pa.table({"b": [3], "a": pa.nulls(1)}))
    for united in (typed.union(empty), empty.union(typed), empty.union(empty).union(typed, empty)):
        assert united.schema.field("a").type == values.type
        result = united.sort("b").collect()
        assert result.schema.field("a").type == values.type
        expected = {1: values[0].as_py(), 2: None, 3: None}
        assert dict(zip(result["b"].to_pylist(), result["a"].to_pylist(), strict=False)) == expected
        nulls = united.count() - pc.sum(values.is_valid()).as_py()
        assert united.filter(xd.col("a").is_null()).count() == nulls
    assert empty.union(empty).schema.field("a").type == pa.null()
    with pytest.raises(xd.TypeError, match="CD-507"):
        empty.union(typed, typed.select("b", a=xd.col("b") > 1))


def test_limits_stop_the_reading_of_a_stream(dock: xd.Dock) -> None:
    """No more batches are asked for than the limit needs."""
    read: list[int] = []

    def batches() -> Iterator[pa.RecordBatch]:
        for i in range(1000):
            read.append(i)
            yield pa.record_batch({"n": [i]})

    from crossdock.values.streaming import limited_batches

    assert [b["n"][0].as_py() for b in limited_batches(batches(), 2, 3)] == [3, 4]
    assert read == [0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    ("write", "error", "match"),
    [
        (lambda r: r.limit(-1), xd.OptionError, r"not -1(.|\n)*limits"),
        (lambda r: r.limit(True), xd.OptionError, r"not True"),
        (lambda r: r.limit(1.5), xd.OptionError, r"not 1.5"),
        (lambda r: r.limit(1, offset=-2), xd.OptionError, r"offset"),
        (lambda r: r.sample(), xd.OptionError, r"either"),
        (lambda r: r.sample(1, fraction=0.5), xd.OptionError, r"either"),
        (lambda r: r.sample(-1), xd.OptionError, r"not -1"),
        (lambda r: r.sample(fraction=1.5), xd.OptionError, r"fraction=1.5"),
        (lambda r: r.sample(fraction=float("nan")), xd.OptionError, r"fraction=nan"),
        (lambda r: r.sample(1, seed=-1), xd.OptionError, r"seed"),
        (lambda r: r.union(r.rename({"a": "c"})), xd.ColumnError, r"no column 'a' in relation 2"),
        (lambda r: r.union(r.with_columns(c=1)), xd.ColumnError, r"no column 'c' in the first"),
        (lambda r: r.union(r.with_columns(a=xd.col("a") > 1)), xd.TypeError, r"CD-507"),
        (lambda r: r.union(3), xd.TypeError, r"exports no Arrow data"),
    ],
)
def test_refused_at_once(dock: xd.Dock, write: object, error: type[Exception], match: str) -> None:
    with pytest.raises(error, match=match):
        write(dock.from_arrow(pa.table({"a": [1], "b": ["x"]})))  # type: ignore[operator]


def test_how_they_look(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"a": [1]}))
    assert "limit 5 after 2" in repr(rows.limit(5, 2))
    assert "sample 1,000 rows, seed 3" in repr(rows.sample(1000, seed=3))
    assert "sample 0.25 of the rows, seed 3" in repr(rows.sample(fraction=0.25, seed=3))
    assert "union of 3 relations" in repr(rows.union(rows, rows))
    plan = rows.union(rows).limit(2).explain()
    assert plan.splitlines()[:2] == ["limit 2", "└─ union of 2 relations"]
    assert plan.count("scan arrow") == 2


@pytest.mark.parametrize(
    ("first", "other", "both"),
    [
        (pa.timestamp("s"), pa.timestamp("us"), pa.timestamp("us")),
        (pa.timestamp("ns", "CET"), pa.timestamp("s", "UTC"), pa.timestamp("ns", "CET")),
        (pa.date32(), pa.timestamp("ms"), pa.timestamp("ms")),
        (pa.date32(), pa.date64(), pa.date64()),
        (pa.time32("s"), pa.time64("us"), pa.time64("us")),
        (pa.duration("s"), pa.duration("ns"), pa.duration("ns")),
        (pa.decimal128(38, 1), pa.decimal128(9, 2), pa.decimal128(38, 2)),
        (pa.decimal32(5, 1), pa.int8(), pa.decimal128(5, 1)),
        (pa.string_view(), pa.dictionary(pa.int8(), pa.string()), pa.string()),
    ],
    ids=str,
)  # fmt: skip
def test_a_union_has_the_type_of_both(
    dock: xd.Dock, first: pa.DataType, other: pa.DataType, both: pa.DataType
) -> None:
    def column(data_type: pa.DataType) -> pa.Array:
        if pa.types.is_decimal(data_type):
            return pa.array([2, 7], pa.int8()).cast(data_type)
        if pa.types.is_dictionary(data_type):
            return pa.array(["2", "7"]).dictionary_encode().cast(data_type)
        if pa.types.is_temporal(data_type):
            days = pa.array([0, 86400], pa.int64())
            seconds = pa.array([1, 2], pa.int32()).cast(pa.time32("s"))
            if pa.types.is_time(data_type):
                return seconds.cast(data_type)
            if pa.types.is_duration(data_type):
                return days.cast(pa.duration("s")).cast(data_type)
            return days.cast(pa.timestamp("s")).cast(data_type)
        return pa.array([2, 7], pa.int8()).cast(pa.string()).cast(data_type)

    tables = [pa.table({"v": column(each)}) for each in (first, other)]
    relation = dock.from_arrow(tables[0]).union(tables[1])
    expected = [v for each in tables for v in each["v"].cast(both).to_pylist()]
    assert relation.schema.field("v").type == both
    assert sorted(relation.collect()["v"].to_pylist()) == sorted(expected)
    dock.register("a", tables[0])
    dock.register("b", tables[1])
    if not pa.types.is_time(both):  # which DataFusion unites of one unit alone
        rows = dock.sql("select v from a union all select v from b").collect()["v"].to_pylist()
        assert sorted(rows) == sorted(expected)


@pytest.mark.parametrize(
    ("first", "other"),
    [(pa.date32(), pa.timestamp("us", "UTC")), (pa.timestamp("us"), pa.timestamp("us", "UTC")),
     (pa.time32("s"), pa.duration("s")), (pa.int64(), pa.string())],
    ids=str,
)  # fmt: skip
def test_a_union_of_unlike_types_is_refused(
    dock: xd.Dock, first: pa.DataType, other: pa.DataType
) -> None:
    with pytest.raises(xd.TypeError, match="another type than in the first"):
        dock.from_arrow(pa.table({"v": pa.nulls(1, first)})).union(
            pa.table({"v": pa.nulls(1, other)})
        )
