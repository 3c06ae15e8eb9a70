"""What readers of files are given of a filter, and that results are those of the rows in memory."""

from __future__ import annotations

import datetime
import itertools
import math
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.files.reader_filters import split_filter

col = xd.col
NAN, INF = math.nan, math.inf
DAY = datetime.datetime(2020, 1, 1)
SCHEMA = pa.schema(
    [
        ("i", pa.int64()),
        ("small", pa.int8()),
        ("f", pa.float64()),
        ("g", pa.float32()),
        ("d", pa.decimal128(15, 2)),
        ("day", pa.date32()),
        ("ms", pa.timestamp("ms")),
        ("ns", pa.timestamp("ns")),
        ("utc", pa.timestamp("us", "UTC")),
        ("s", pa.string()),
        ("v", pa.string_view()),
        ("e", pa.dictionary(pa.int32(), pa.string())),
        ("b", pa.bool_()),
        ("l", pa.list_(pa.int64())),
    ]
)


@pytest.mark.parametrize(
    "exact",
    [
        col("i") > 3,
        col("small") == 3,
        col("i").is_in([1, 2]) | (col("s") == "a"),
        ~col("i").is_in([1]),
        col("d").between(0.05, Decimal("0.07")),
        col("d") < 24,
        col("day") <= "1998-09-02",
        col("day") == DAY,
        col("ms") >= "1998-09-02",
        col("ms") == DAY,
        col("utc") < DAY.replace(tzinfo=datetime.UTC),
        col("ns").year() == 2020,
        col("ms").weekday() == 2,
        col("s").lower().like("a%"),
        col("v") == "a",
        col("e").is_in(["a"]),
        col("s").length() > 3,
        xd.coalesce(col("ms"), DAY) == DAY,
        col("f").is_null(),
        (col("b") & (col("i") > 1)).is_null(),
    ],
    ids=repr,
)
def test_what_a_reader_does_alone(exact: xd.Expr) -> None:
    assert [len(parts) for parts in split_filter([exact], SCHEMA)] == [1, 0]


@pytest.mark.parametrize(
    ("part", "given"),
    [
        (col("f") >= 5, "f >= 5"),
        (col("f").is_in([2.0, 1.0]), "(f >= 1.0) & (f <= 2.0)"),
        ((col("f") > 1) & (col("i") + 1 > 2), "f > 1"),
        ((col("f") > 1) | (col("i") == 2), "(f > 1) | (i == 2)"),
        (col("g") == 0.5, "g == 0.5"),
    ],
    ids=repr,
)
def test_what_only_skips_rows(part: xd.Expr, given: str) -> None:
    result, rest = split_filter([part], SCHEMA)
    assert repr(result[0]) == given
    assert len(rest) == 1


@pytest.mark.parametrize(
    "part",
    [
        xd.greatest(col("day"), col("day")).day().is_in([1, 2]),
        ~xd.least(col("ns"), col("ns")).year().is_in([2020]),
        xd.greatest(col("s"), "a").lower().is_in(["b"]),
        xd.greatest(col("ms"), col("ms")).weekday() == 2,
        col("f") != 1.0,
        ~(col("f") <= 5.0),
        col("f") == NAN,
        col("f").is_in([NAN]),
        (col("f") > 1).is_null(),
        (col("f") > 1) | (col("f") != 2),
        col("f") > col("g"),
        col("g") <= 1e300,
        col("i") > 2.5,
        col("i") > col("small"),
        col("d") == 0.055,
        col("day") < DAY.replace(hour=12),
        col("ms") == DAY.replace(microsecond=1),
        col("ms") == col("ns"),
        col("day").year() == 2020,
        col("ms").month() == 2,
        xd.coalesce(col("ns"), col("ms")) == DAY,
        xd.coalesce(col("i"), None, 2.5) == 1,
        xd.when(col("i") > 1).then(True).otherwise(False) == True,  # noqa: E712
        xd.lit(5).is_in([5]),
        col("l").is_null(),
    ],
    ids=repr,
)
def test_what_no_reader_is_given(part: xd.Expr) -> None:
    assert [len(parts) for parts in split_filter([part], SCHEMA)] == [0, 1]


def parquet(table: pa.Table, folder: Path, rows: int = 3) -> Path:
    pq.write_table(table, folder / "rows.parquet", row_group_size=rows)
    return folder / "rows.parquet"


def require_same(table: pa.Table, dock: xd.Dock, folder: Path, predicate: xd.Expr) -> int:
    """The number of rows that a filter keeps, alike from a file and in memory, however counted."""
    read = dock.read_parquet(parquet(table, folder)).filter(predicate)
    memory = dock.from_arrow(table).filter(predicate)
    rows = memory.collect().num_rows
    assert [memory.count(), read.count(), read.collect().num_rows] == [rows] * 3
    assert str(read.collect().to_pydict()) == str(memory.collect().to_pydict())
    return rows


ZEROS = pa.table({"x": [0.0, 0.0, -0.0, -0.0, -0.0, -0.0, 0.25, None, NAN]})


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (col("x").is_in([0.0]), 6),
        (col("x").is_in([-0.0, 5.0]), 6),
        (col("x").is_in([NAN]), 1),
        (col("x").is_in([NAN, 0.25]), 2),
        (~col("x").is_in([0.0]), 2),
        (col("x") == 0, 6),
    ],
    ids=repr,
)
def test_zeros_in_lists(dock: xd.Dock, tmp_path: Path, predicate: xd.Expr, rows: int) -> None:
    assert require_same(ZEROS, dock, tmp_path, predicate) == rows


NANS = pa.table({"x": [1.0, 1.0, NAN, 1.0, NAN, 2.0], "y": [1.0, 1.0, 1.0, 2.0, 2.0, 2.0]})


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (col("x") != 1.0, 3),
        (~(col("x") <= 5.0), 2),
        (~(col("x") > 0), 2),
        (~col("x").is_in([1.0]), 3),
        (col("x") >= -5.0, 4),
        (col("x") <= 2.0, 4),
        (col("x") == INF, 0),
        ((col("x") >= -5.0) | (col("y") == 1.0), 5),
        (col("x") == col("y"), 3),
        ((col("x") > 0) == False, 2),  # noqa: E712
    ],
    ids=repr,
)
def test_statistics_leave_nan_out(
    dock: xd.Dock, tmp_path: Path, predicate: xd.Expr, rows: int
) -> None:
    assert require_same(NANS, dock, tmp_path, predicate) == rows


@pytest.mark.parametrize("unit", ["s", "ms", "us", "ns"])
def test_coalesce_of_other_units(dock: xd.Dock, tmp_path: Path, unit: str) -> None:
    span = datetime.timedelta(seconds=3)
    table = pa.table(
        {
            "ts": pa.array([DAY, None], pa.timestamp(unit)),
            "span": pa.array([span, None], pa.duration(unit)),
        }
    )
    for predicate in (
        xd.coalesce(col("ts"), DAY).year() == 2020,
        xd.coalesce(col("ts"), DAY) == DAY,
        xd.coalesce(col("ts"), DAY) >= DAY,
        xd.coalesce(col("span"), span) == span,
    ):
        assert require_same(table, dock, tmp_path, predicate) == 2


LISTED = col("x").is_in([1])


@pytest.mark.parametrize(
    ("predicate", "rows"),
    [
        (LISTED.is_null(), 1),
        (LISTED.is_not_null(), 2),
        (LISTED == False, 1),  # noqa: E712
        (LISTED != True, 1),  # noqa: E712
        (xd.coalesce(LISTED, True), 2),
        (xd.lit(5).is_in([5]), 3),
        (xd.lit(1) == 1, 3),
        (col("x") > 1.5, 1),
        (col("x") < 1e18, 2),
    ],
    ids=repr,
)
def test_null_of_lists(dock: xd.Dock, tmp_path: Path, predicate: xd.Expr, rows: int) -> None:
    assert require_same(pa.table({"x": [1, 2, None]}), dock, tmp_path, predicate) == rows


def test_integers_that_a_float_cannot_hold(dock: xd.Dock, tmp_path: Path) -> None:
    table = pa.table({"x": [2**60 + 1, 2**62 + 1, -(2**60) - 1]})
    assert require_same(table, dock, tmp_path, col("x") > 1e18) == 2


@pytest.mark.parametrize("ending", ["parquet", "csv", "arrow"])
def test_constants_alone_have_the_rows_of_the_file(
    dock: xd.Dock, tmp_path: Path, ending: str
) -> None:
    table = pa.table({"x": [1, 2, 3, 4]})
    dock.from_arrow(table).write(tmp_path / f"x.{ending}")
    read = dock.read(tmp_path / f"x.{ending}")
    constants = read.select(a=xd.lit(7))
    kept = read.filter(col("x") > 2).select(a=xd.lit(7))
    both = constants.union(kept)
    for relation, rows in ((constants, 4), (kept, 2), (both, 6)):
        assert relation.collect().to_pydict() == {"a": [7] * rows}
        assert sum(batch.num_rows for batch in relation.to_batches()) == rows
        assert relation.count() == rows


def instants(zone: str, unit: str = "us") -> pa.Array:
    midnight = DAY.replace(tzinfo=datetime.UTC)
    return pa.array([midnight, midnight.replace(hour=9)], pa.timestamp(unit, zone))


@pytest.mark.parametrize(
    ("left", "right", "predicate", "rows"),
    [
        (pa.array([0.10000000149011612]), pa.array([0.1], pa.float32()), col("k") > 0.1, 1),
        (instants("UTC"), instants("Asia/Tokyo"), col("k").hour() == 0, 1),
        (instants("UTC"), instants("Asia/Tokyo"), col("k") == "2020-01-01 00:00:00", 1),
        (instants("UTC", "s"), instants("UTC", "ns"), col("k").hour() == 9, 1),
        (pa.array([1, -1]), pa.array([1, 2], pa.uint64()), xd.coalesce(col("k"), -5) == 1, 1),
        (pa.array([1, 300]), pa.array([1], pa.int8()), col("k") < 1000, 1),
    ],
    ids=str,
)
@pytest.mark.parametrize("how", ["inner", "left", "semi"])
def test_a_key_of_another_type_keeps_its_filter(
    dock: xd.Dock, left: Any, right: Any, predicate: xd.Expr, rows: int, how: str
) -> None:
    sides = [dock.from_arrow(pa.table({"k": keys})) for keys in (left, right)]
    joined = sides[0].join(sides[1], on="k", how=how)
    whole = dock.from_arrow(joined.collect()).filter(predicate)
    assert joined.filter(predicate).collect() == whole.collect()
    assert whole.count() >= rows


def test_filters_of_float_keys_keep_their_groups(dock: xd.Dock) -> None:
    table = pa.table({"k": [0.0, -0.0, NAN, 1.0]})
    grouped = dock.from_arrow(table).group_by("k").agg(n=xd.count())
    for predicate in (col("k").is_in([0.0]), col("k").is_in([-0.0]), col("k") == 0):
        assert grouped.filter(predicate).collect()["n"].to_pylist() == [2]
    assert grouped.filter(col("k").is_in([NAN])).collect()["n"].to_pylist() == [1]


def test_expressions_with_one_repr(dock: xd.Dock) -> None:
    table = pa.table({"g": [1, 1, 2], "x": [1, 2, 3], "2": [10, 20, 30]})
    rows = dock.from_arrow(table)
    parts = {"a": col("x") * col("2"), "b": col("x") * 2}
    expected = {"a": [10, 40, 90], "b": [2, 4, 6]}
    assert rows.select(**parts).sort("a").collect().to_pydict() == expected
    grouped = rows.group_by("g").agg(**{name: xd.sum(part) for name, part in parts.items()})
    assert grouped.sort("g").collect().to_pydict() == {"g": [1, 2], "a": [50, 90], "b": [6, 6]}
    joined = rows.select("g", **parts).join(rows.select("g"), on="g").sort("a")
    assert joined.collect()["b"].to_pylist() == list(
        itertools.chain.from_iterable([each] * times for each, times in ((2, 2), (4, 2), (6, 1)))
    )


def test_constants_over_operators_have_their_rows(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"k": [1, 1, 2, None], "s": ["a", "b", "c", "d"]}))
    joined = rows.join(rows, on="k", how="full")
    for relation, expected in (
        (joined, 7),
        (rows.sort("s").limit(3), 3),
        (rows.group_by("k").agg(n=xd.count()), 3),
        (rows.union(rows), 8),
    ):
        constants = relation.select(a=xd.lit(0.5))
        assert constants.collect()["a"].to_pylist() == [0.5] * expected
        assert constants.filter(col("a") < 1).count() == expected
        assert constants.sort("a").collect().num_rows == expected
        assert relation.filter(xd.lit(1) == 1).count() == expected


BERLIN, NEW_YORK = ZoneInfo("Europe/Berlin"), ZoneInfo("America/New_York")
HALF_PAST = datetime.datetime(2024, 10, 27, 0, 30)
# In Universal Time: the hour that Berlin has twice, a half second, and midnights.
MOMENTS = [HALF_PAST, HALF_PAST + datetime.timedelta(hours=1),
           HALF_PAST + datetime.timedelta(hours=1, milliseconds=500),
           datetime.datetime(2024, 10, 27), datetime.datetime(2024, 3, 31)]  # fmt: skip
INSTANT_LITERALS = [
    datetime.datetime(2024, 10, 27, 2, 30, tzinfo=BERLIN),
    datetime.datetime(2024, 10, 27, 2, 30, fold=1, tzinfo=BERLIN),
    datetime.datetime(2024, 10, 26, 21, 30, tzinfo=NEW_YORK),
    datetime.datetime(2024, 10, 27, 1, 30, 0, 500_000, tzinfo=datetime.UTC),
    datetime.datetime(2024, 10, 27, 1, 30, 0, 1, tzinfo=datetime.UTC),  # of no unit above us
]
LOCAL_LITERALS = [HALF_PAST, HALF_PAST + datetime.timedelta(microseconds=1),
                  datetime.date(2024, 10, 27), datetime.date(2024, 3, 31)]  # fmt: skip
TESTS: list[tuple[Callable[[Any, Any], Any], Callable[[Any, Any], bool]]] = [
    (lambda a, b: a == b, lambda a, b: a == b),
    (lambda a, b: a != b, lambda a, b: a != b),
    (lambda a, b: a < b, lambda a, b: a < b),
    (lambda a, b: a >= b, lambda a, b: a >= b),
    (lambda a, b: a.is_in([b]), lambda a, b: a == b),
]


def as_moment(value: Any, is_instant: bool) -> datetime.datetime:
    if not isinstance(value, datetime.datetime):
        value = datetime.datetime.combine(value, datetime.time())
    return value.astimezone(datetime.UTC) if is_instant else value


@pytest.mark.parametrize("zone", [None, "UTC", "Europe/Berlin", "America/New_York", "+02:00"])
@pytest.mark.parametrize("unit", ["ms", "us", "ns"])
def test_moments_beside_literals_of_other_zones_and_units(
    dock: xd.Dock, tmp_path: Path, unit: str, zone: str | None
) -> None:
    """What a reader is given of them means there what Python says, row groups of one row included;
    a literal of an instant beside local time is refused alike."""
    local = pa.array(MOMENTS, pa.timestamp("us")).cast(pa.timestamp(unit))
    moments = local if zone is None else local.cast(pa.int64()).cast(pa.timestamp(unit, zone))
    rows = pa.table({"at": pa.chunked_array([moments, pa.array([None], moments.type)])})
    pq.write_table(rows, tmp_path / "rows.parquet", row_group_size=1)
    values = moments.cast(pa.timestamp("us", zone)).to_pylist()
    read, memory = dock.read(tmp_path / "rows.parquet"), dock.from_arrow(rows)
    mine, others = INSTANT_LITERALS, LOCAL_LITERALS
    if zone is None:
        mine, others = others, mine
    for literal, (test, holds) in itertools.product(mine, TESTS):
        required = as_moment(literal, zone is not None)
        expected = [v for v in values if holds(as_moment(v, zone is not None), required)]
        for relation in (read, memory):
            result = relation.filter(test(col("at"), literal)).collect()["at"]
            assert result.cast(pa.timestamp("us", zone)).to_pylist() == expected, literal
    for literal, (test, _), relation in itertools.product(others, TESTS[:1], (read, memory)):
        if isinstance(literal, datetime.datetime):
            with pytest.raises(xd.ExpressionError, match="CD-504"):
                relation.filter(test(col("at"), literal)).collect()
