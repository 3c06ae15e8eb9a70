"""Expressions: their trees, their text, and what they evaluate to."""

from __future__ import annotations

import datetime
import functools
import math
import operator
from decimal import Decimal
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from crossdock.expressions.evaluation import evaluate, keep_rows
from crossdock.expressions.expression import MOST_DEPTH, conjuncts, is_simple, rename_columns
from crossdock.expressions.result_types import result_type

ROWS = pa.table(
    {
        "i": pa.array([1, 2, None, 4], pa.int64()),
        "j": pa.array([4, 2, 3, None], pa.int32()),
        "f": [0.5, 1.5, 2.5, None],
        "s": ["a", "b", None, "d"],
        "v": pa.array(["a", "b", None, "d"], pa.string_view()),
        "e": pa.array(["a", "b", None, "d"]).dictionary_encode(),
        "d": pa.array([Decimal("1.10"), Decimal("2.20"), None, Decimal("4.40")]),
        "t": pa.array([datetime.date(2020, 1, day) for day in (1, 2, 3, 4)]),
        "b": [True, False, None, True],
    }
)
col = xd.col


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        (col("i") > 1, [False, True, None, True]),
        (col("i") >= col("j"), [False, True, None, None]),
        (col("i") == 2, [False, True, None, False]),
        (col("i") != 2, [True, False, None, True]),
        (3 > col("i"), [True, True, None, False]),  # noqa: SIM300
        (col("i") + 1, [2, 3, None, 5]),
        (10 - col("i"), [9, 8, None, 6]),
        (col("i") * col("j"), [4, 4, None, None]),
        (col("i") / 2, [0.5, 1.0, None, 2.0]),
        (1 / col("f"), [2.0, 1 / 1.5, 0.4, None]),
        (-col("i"), [-1, -2, None, -4]),
        (col("s") == "b", [False, True, None, False]),
        (col("v") == "b", [False, True, None, False]),
        (col("e") == "b", [False, True, None, False]),
        (col("v").is_in(["a", "d"]), [True, False, None, True]),
        (col("e").is_in(["a", "d"]), [True, False, None, True]),
        (col("i").is_in([1, None]), [True, False, None, False]),
        (col("i").is_null(), [False, False, True, False]),
        (col("i").is_not_null(), [True, True, False, True]),
        (col("d") > 2, [False, True, None, True]),
        (col("d") * 2 > 4, [False, True, None, True]),
        (col("d") < 2.5, [True, True, None, False]),
        (col("t") >= "2020-01-03", [False, False, True, True]),
        (~(col("i") > 1), [True, False, None, False]),
        ((col("i") > 1) & (col("f") > 2), [False, False, None, None]),
        ((col("i") > 1) | (col("f") > 2), [False, True, True, True]),
        (col("b") & True, [True, False, None, True]),
        (col("i").cast("string"), ["1", "2", None, "4"]),
        (col("i").cast(pa.float32()), [1.0, 2.0, None, 4.0]),
        (col("f").try_cast("int64"), [None, None, None, None]),
        (col("i").try_cast("int8"), [1, 2, None, 4]),
        (col("s").try_cast("int64"), [None, None, None, None]),
        ((col("i") * 100).try_cast("int8"), [100, None, None, None]),
        (xd.concat(col("i").cast("string"), "1").try_cast("int8"), [11, 21, None, 41]),
        (xd.lit(7), [7, 7, 7, 7]),
        (xd.lit(None).is_null(), [True] * 4),
    ],
    ids=repr,
)
def test_values(expression: xd.Expr, expected: list[object]) -> None:
    assert evaluate(expression, ROWS).to_pylist() == expected
    batch = ROWS.combine_chunks().to_batches()[0]
    assert evaluate(expression, batch).to_pylist() == expected
    assert result_type(expression, ROWS.schema) == evaluate(expression, ROWS).type


@pytest.mark.parametrize(
    ("expression", "text"),
    [
        (col("a") > 3, "a > 3"),
        ((col("a") + 1) * 2 == col("b"), "((a + 1) * 2) == b"),
        (~(col("a").is_null()), "~(a.is_null())"),
        (col("a").is_in(["x"]) & (col("b") <= "y"), "(a.is_in(('x',))) & (b <= 'y')"),
        (-col("a").cast("int64"), "-(a.cast(int64))"),
        (col("a").try_cast("int64"), "a.try_cast(int64)"),
        (col("a") // 2 % 3, "(a // 2) % 3"),
        (col("a").between(1, 2), "(a >= 1) & (a <= 2)"),
        (col("a").like("x%"), "a.like('x%')"),
        (col("a").strip().length(), "(a.strip()).length()"),
        (col("a").year() == 1995, "(a.year()) == 1995"),
        (abs(col("a")).round(2), "(a.abs()).round(2)"),
        (xd.coalesce(col("a"), 0), "coalesce(a, 0)"),
        (
            xd.when(col("a") > 1).then("x").when(col("b")).then("y").otherwise(None),
            "when(a > 1).then('x').when(b).then('y').otherwise(None)",
        ),
        (xd.when(col("a")).then(1), "when(a).then(1).otherwise(None)"),
    ],
)
def test_text(expression: xd.Expr, text: str) -> None:
    assert repr(expression) == text


def test_an_expression_has_no_truth_value() -> None:
    with pytest.raises(xd.ExpressionError, match="no truth value"):
        bool(col("a") > 1 and col("b") > 2)
    with pytest.raises(xd.ExpressionError, match="no truth value"):
        bool(1 < col("a") < 3)


def test_overflow_and_division_are_errors_and_no_wraps() -> None:
    rows = pa.table({"x": pa.array([2**62], pa.int64())})
    with pytest.raises(xd.ExpressionError, match="overflow"):
        evaluate(col("x") * 4, rows)
    with pytest.raises(xd.ExpressionError, match="cannot be evaluated"):
        evaluate(xd.lit("a").cast("int64"), rows)


@pytest.mark.parametrize(
    ("values", "target"),
    [
        (["1", "x", None, "1x", "+5", "", " 2", "99999999999999999999", "0x1F"], "int64"),
        (["1.5", "1e3", "e", "nan", "-inf", None, "1,5"], "float64"),
        (["2020-01-31", "2020-02-31", "20-1-1", None, "x"], "date32"),
        (["1.25", "123456789", "1.256", "-", None], pa.decimal128(5, 2)),
        ([1.0, 2.5, float("nan"), 1e300, None], "int64"),
        ([1, 300, -129, None], "int8"),
        (["true", "no", "x", None], "bool"),
    ],
)
def test_a_try_cast_is_the_cast_of_each_value_alone(values: list[object], target: object) -> None:
    rows = pa.table({"x": pa.chunked_array([values, values[:2], []])})
    result = evaluate(col("x").try_cast(target), rows).to_pylist()
    for value, ours in zip([*values, *values[:2]], result, strict=True):
        alone = pa.table({"x": pa.array([value], rows["x"].type)})
        try:
            expected = evaluate(col("x").cast(target), alone)[0].as_py()
        except xd.ExpressionError:
            expected = None
        assert repr(ours) == repr(expected), value
    coded = pa.table({"x": rows["x"].cast(pa.string()).dictionary_encode()})
    if rows["x"].type == pa.string():
        assert repr(evaluate(col("x").try_cast(target), coded).to_pylist()) == repr(result)


def test_types_without_a_cast_have_no_try_cast() -> None:
    with pytest.raises(xd.ExpressionError, match="cannot be evaluated"):
        evaluate(col("b").try_cast("date32"), ROWS)


def test_a_refused_expression_names_columns_and_types() -> None:
    with pytest.raises(xd.ExpressionError, match=r"i: int64") as caught:
        evaluate(col("i") == "text", ROWS)
    assert caught.value.code == "CD-504"


@pytest.mark.parametrize(
    ("expression", "simple"),
    [
        (col("a") > 3, True),
        (col("a") == col("b"), True),
        (col("a").is_null() | ~col("b").is_in([1]), True),
        (col("a") + 1 > 3, False),
        (col("a"), False),
        (col("a").cast("int64") == 1, False),
        (col("a").like("x%"), True),
        (~col("a").lower().contains("x"), True),
        (col("a").year() == 1995, True),
        (col("a").between(1, 2), True),
        (xd.coalesce(col("a"), 0) > 1, True),
        (col("a").length() > 3, True),
        (col("a").lower(), False),
        (xd.when(col("a") > 1).then(True).otherwise(False), False),
        (xd.when(col("a") > 1).then(1) == 1, True),
        (abs(col("a")) > 1, False),
        (col("a").date() == "2020-01-01", False),
    ],
)
def test_what_is_simple(expression: xd.Expr, simple: bool) -> None:
    assert is_simple(expression) == simple


def test_conjuncts_and_renames() -> None:
    whole = (col("a") > 1) & ((col("b") > 2) & (col("c") > 3))
    assert [repr(part) for part in conjuncts(whole)] == ["a > 1", "b > 2", "c > 3"]
    assert repr(rename_columns(col("a") + col("b") > 1, {"a": "x"})) == "(x + b) > 1"
    assert whole.columns() == {"a", "b", "c"}


def test_keep_rows_keeps_types() -> None:
    kept = keep_rows(ROWS, col("i") > 1)
    assert kept.schema == ROWS.schema
    assert kept["v"].to_pylist() == ["b", "d"]
    assert kept["e"].to_pylist() == ["b", "d"]


WIDE = pa.table(
    {
        "d": pa.array([Decimal("9" * 38), Decimal(1), None], pa.decimal128(38, 0)),
        "one": pa.array([Decimal(1), Decimal(-1), Decimal(2)], pa.decimal128(38, 0)),
        "p": pa.array([Decimal("1.05"), None, Decimal("-9.99")], pa.decimal128(15, 2)),
    }
)


def test_a_decimal_is_as_wide_as_its_value_needs() -> None:
    product = evaluate(col("d") * col("one"), WIDE)
    assert product.type == pa.decimal128(38, 0)
    assert product.to_pylist() == [Decimal("9" * 38), Decimal(-1), None]
    assert evaluate(col("d") - col("one"), WIDE)[0].as_py() == Decimal("9" * 37 + "8")
    with pytest.raises(xd.ExpressionError, match="does not fit in precision 38"):
        evaluate(col("d") + col("one"), WIDE)
    with pytest.raises(xd.ExpressionError, match=r"d \* 10 cannot be evaluated"):
        evaluate(col("d") * 10, WIDE)
    assert evaluate(col("p") * (1 - col("p")) * (1 + col("p")), WIDE).type == pa.decimal128(38, 6)


def test_more_than_38_digits_after_the_point_are_refused() -> None:
    small = pa.table({"s": pa.array([Decimal("0.1")], pa.decimal128(30, 25))})
    with pytest.raises(xd.ExpressionError, match="50 digits after the point"):
        result_type(col("s") * col("s"), small.schema)


def test_whole_division_by_zero_is_an_error_and_minus_one_is_not() -> None:
    rows = pa.table({"x": pa.array([-(2**63), 7], pa.int64()), "z": pa.array([-1, 0])})
    with pytest.raises(xd.ExpressionError, match="divide by zero"):
        evaluate(col("x") // col("z"), rows)
    with pytest.raises(xd.ExpressionError, match="divide by zero"):
        evaluate(col("x") % col("z"), rows)
    assert evaluate(col("x") % -1, rows).to_pylist() == [0, 0]
    with pytest.raises(xd.ExpressionError, match="overflow"):
        evaluate(col("x") // -1, rows)
    with pytest.raises(xd.ExpressionError, match="no meaning for decimals"):
        evaluate(col("p") // 2, WIDE)


def test_literals_take_the_type_they_meet() -> None:
    rows = pa.table(
        {
            "f": pa.array([0.1], pa.float32()),
            "u": pa.array([2**64 - 2], pa.uint64()),
            "z": pa.array([datetime.datetime(2020, 1, 1, 12)], pa.timestamp("us", "Asia/Tokyo")),
        }
    )
    assert evaluate(col("f") == 0.1, rows).to_pylist() == [True]
    assert evaluate(col("f") * 2, rows).type == pa.float32()
    assert evaluate(col("u") + 1, rows).to_pylist() == [2**64 - 1]
    assert evaluate(col("u") > 2**70, rows).to_pylist() == [False]
    assert evaluate(col("z") == "2020-01-01 21:00:00", rows).to_pylist() == [True]
    assert evaluate(col("z").hour(), rows).to_pylist() == [21]
    assert evaluate(col("z").date() == "2020-01-01", rows).to_pylist() == [True]


@pytest.mark.parametrize(
    ("expression", "reason"),
    [
        (col("s") + 1, "add_checked"),
        (col("i").starts_with("a"), "int64"),
        (col("s").year(), "year"),
        (col("b") + 1, "bool"),
        (xd.when(col("i")).then(1), "type int64, not bool"),
        (xd.when(col("b")).then(1).otherwise("a"), "no type in common"),
        (col("t") == "yesterday", "yesterday"),
        (col("i").is_in(["a"]), "a"),
    ],
    ids=repr,
)
def test_what_does_not_fit_is_named_before_it_runs(expression: xd.Expr, reason: str) -> None:
    with pytest.raises(xd.ExpressionError, match=reason):
        result_type(expression, ROWS.schema)


def test_the_part_that_failed_is_named_and_the_whole() -> None:
    with pytest.raises(xd.ExpressionError) as caught:
        evaluate((col("i") * 2**62 > 1) & col("b"), ROWS)
    assert caught.value.text.splitlines()[:2] == [
        "i * 4611686018427387904 cannot be evaluated: overflow",
        "  in       ((i * 4611686018427387904) > 1) & b",
    ]


def test_filters_guard_what_stands_behind_them() -> None:
    rows = pa.table({"a": [10, 20, 30], "b": [0, 5, 0]})
    kept = keep_rows(rows, (100 // col("b") == 20) & (col("b") != 0))
    assert kept.to_pylist() == [{"a": 20, "b": 5}]


@pytest.mark.parametrize(
    "predicate",
    [
        col("s").like("%p%"),
        col("e").starts_with("a"),
        ~col("v").contains("b"),
        col("v").lower().is_in(["a", "d"]),
        col("s").length() == 1,
        col("t").month() == 1,
        col("t").weekday() >= 3,
        xd.coalesce(col("i"), 2) == 2,
        col("d").between(1.1, 2.2),
        col("d") == Decimal("1.1" + "0" * 36),
        col("i") >= col("j"),
        (col("i") > 1) | col("s").is_null(),
    ],
    ids=repr,
)
def test_readers_and_evaluation_agree(predicate: xd.Expr, dock: xd.Dock, tmp_path: Path) -> None:
    assert is_simple(predicate)
    pq.write_table(ROWS, tmp_path / "rows.parquet")
    read = dock.read_parquet(tmp_path / "rows.parquet").filter(predicate)
    assert (
        read.select("t").collect()["t"].to_pylist() == keep_rows(ROWS, predicate)["t"].to_pylist()
    )
    kept = dock.from_arrow(ROWS).filter(predicate)
    assert (
        kept.select("t").collect()["t"].to_pylist() == keep_rows(ROWS, predicate)["t"].to_pylist()
    )


FLOATS = [5.0, -5.0, 7.5, 2.75e17, 1e308, -0.1, 1.0, -1.0, 0.0, 3.0]
DIVISORS = [0.1, 3.0, -3.0, 0.1, 3.0, 0.1, math.inf, math.inf, -2.0, 1e-300]


def test_remainders_of_floats_are_those_of_python() -> None:
    rows = pa.table({"x": FLOATS, "y": DIVISORS})
    pairs = list(zip(FLOATS, DIVISORS, strict=True))
    for computed, python in (
        (col("x") % col("y"), operator.mod),
        (col("x") // col("y"), operator.floordiv),
    ):
        assert evaluate(computed, rows).to_pylist() == [python(x, y) for x, y in pairs]
    assert evaluate(7.5 % col("y"), rows).to_pylist() == [7.5 % y for y in DIVISORS]
    batch = rows.to_batches()[0]
    assert evaluate(col("x") // 2.5, batch).to_pylist() == [x // 2.5 for x in FLOATS]
    assert evaluate(xd.lit(5.0) % 0.1, batch).to_pylist() == [5.0 % 0.1] * len(FLOATS)
    by_zero = evaluate(col("x") // 0.0, rows).to_pylist()
    assert by_zero[:2] == [math.inf, -math.inf]
    assert math.isnan(evaluate(col("x") % 0.0, rows)[0].as_py())


def test_years_beyond_16_bits(dock: xd.Dock) -> None:
    far = [2**63 - 1, 0, None]
    years = [294247, 1970, None]
    rows = pa.table({"t": pa.array(far, pa.timestamp("us")), "d": pa.array([2**31 - 1, 0, None],
                    pa.int32()).cast(pa.date32())})  # fmt: skip
    assert evaluate(col("t").year(), rows).to_pylist() == years
    assert evaluate(col("d").year(), rows).to_pylist() == [5881580, 1970, None]
    assert evaluate(col("d").month(), rows).to_pylist() == [7, 1, None]
    grouped = dock.from_arrow(rows).group_by(y=col("t").year()).agg(n=xd.count())
    assert grouped.sort("y").collect()["y"].to_pylist() == [1970, 294247, None]


def test_numbers_that_are_no_float32() -> None:
    rows = pa.table({"f": pa.array([math.inf, 1.5, 0.0], pa.float32())})
    assert evaluate(col("f") <= 1e300, rows).to_pylist() == [False, True, True]
    assert evaluate(col("f") == 1e-300, rows).to_pylist() == [False, False, False]
    assert evaluate(col("f").is_in([1e300, 1.5]), rows).to_pylist() == [False, True, False]
    assert evaluate(col("f") + 1e300, rows).type == pa.float64()


def test_long_lists() -> None:
    rows = pa.table({"i": pa.array([1, -5, None], pa.int8()), "s": ["a", "b", None]})
    assert evaluate(col("i").is_in(range(1_000_000)), rows).to_pylist() == [True, False, None]
    strings = [str(i) for i in range(100_000)]
    assert evaluate(col("s").is_in([*strings, "b"]), rows).to_pylist() == [False, True, None]


@pytest.mark.parametrize("unit", ["s", "us", "ns"])
def test_what_lies_under_nulls_of_times_is_no_value(dock: xd.Dock, unit: str) -> None:
    """The least of no times is NULL over the largest integer, which has no next day."""
    day = datetime.timedelta(days=1)
    times = pa.table({
        "k": [1, 2, 2],
        "t": pa.array([5, None, None], pa.timestamp(unit, "UTC")),
        "d": pa.array([5, None, None], pa.duration(unit)),
    })  # fmt: skip
    least = dock.from_arrow(times).group_by("k").agg(t=xd.min("t"), d=xd.min("d"))
    moved = least.select("k", later=col("t") + day, longer=day + col("d"), twice=col("d") * 2)
    first, second = moved.sort("k").collect().select(["later", "longer", "twice"]).to_pylist()
    assert None not in first.values()
    assert set(second.values()) == {None}
    there = dock.sql("select t + interval 1 day as t, t - t as d from least order by k").collect()
    assert [column.null_count for column in there.columns] == [1, 1]


def test_dates_and_whole_days_are_dates() -> None:
    day = datetime.timedelta(days=1)
    rows = pa.table({"t": pa.array([datetime.date(2020, 2, 28), None])})
    later = [datetime.date(2020, 2, 29), None]
    assert evaluate(col("t") + day, rows).to_pylist() == later
    assert evaluate(day + col("t"), rows).to_pylist() == later
    assert evaluate(col("t") - -day, rows).to_pylist() == later
    hours = evaluate(col("t") + datetime.timedelta(hours=36), rows).to_pylist()
    assert hours == [datetime.datetime(2020, 2, 29, 12), None]
    assert pa.types.is_duration(evaluate(col("t") - col("t"), rows).type)
    with pytest.raises(xd.ExpressionError, match="only for a date and a duration") as caught:
        evaluate(col("t") + 1, rows)
    assert "date32[day] and int64" in str(caught.value)


def test_what_is_no_value_is_refused(dock: xd.Dock) -> None:
    with pytest.raises(xd.ExpressionError, match="without its value"):
        col("i") + xd.when(col("i") > 1)
    with pytest.raises(xd.OptionError, match="not a Relation"):
        col("i").is_in(dock.from_arrow(ROWS))


def test_expressions_are_as_deep_as_their_limit(dock: xd.Dock) -> None:
    def deep(parts: int) -> xd.Expr:
        return functools.reduce(operator.add, [col("i")] * parts)

    kept = dock.from_arrow(ROWS).filter(deep(MOST_DEPTH) > 0)
    assert kept.select(x=deep(MOST_DEPTH)).collect()["x"].to_pylist() == [200, 400, 800]
    with pytest.raises(xd.ExpressionError, match="more than 200 operators inside each other"):
        deep(MOST_DEPTH + 2)


@pytest.mark.parametrize("function", ["floor_divide", "remainder"])
def test_nulls_without_a_type_stay_without(dock: xd.Dock, function: str) -> None:
    nothing = xd.lit(None)
    value = nothing // nothing if function == "floor_divide" else nothing % nothing
    rows = dock.from_arrow(pa.table({"k": pa.array([1, None], pa.int8())}))
    assert rows.select(a=value, b=xd.coalesce(xd.col("k"), value)).collect().to_pydict() == {
        "a": [None, None],
        "b": [1, None],
    }


@pytest.mark.parametrize("cast_to", ["int64", "float64", None])
def test_decimals_that_round_up_beyond_their_digits_are_errors(cast_to: str | None) -> None:
    """pyarrow gives 0 for them: a cast to int64 is computed there, and what is below it."""
    rows = pa.table({"x": pa.array([Decimal("999.99")], pa.decimal128(5, 2))})
    rounded = xd.col("x").round()
    with xd.connect(threads=1) as dock, pytest.raises(xd.ExpressionError, match=r"does not fit"):
        dock.from_arrow(rows).select(
            x=rounded if cast_to is None else rounded.cast(cast_to)
        ).collect()
