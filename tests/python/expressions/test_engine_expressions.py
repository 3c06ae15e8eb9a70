"""Fused expressions give what pyarrow gives: the same values, types and refusals."""

from __future__ import annotations

import cProfile
import datetime
import math
from collections import Counter
from decimal import Context, Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock import _native
from crossdock.expressions.engine_expressions import Compiler
from crossdock.expressions.evaluation import evaluate
from crossdock.expressions.expression import Call, Expr, lit
from crossdock.values.engine_types import engine_table
from hypothesis import given, settings
from hypothesis import strategies as st

col = xd.col
SCHEMA = pa.schema(
    {
        "i8": pa.int8(), "i16": pa.int16(), "i32": pa.int32(), "i64": pa.int64(),
        "u8": pa.uint8(), "u16": pa.uint16(), "u32": pa.uint32(), "u64": pa.uint64(),
        "f32": pa.float32(), "f64": pa.float64(),
        "d2": pa.decimal128(15, 2), "d9": pa.decimal128(20, 9), "d38": pa.decimal128(38, 4),
        "b": pa.bool_(), "day": pa.date32(), "us": pa.timestamp("us"), "ms": pa.timestamp("ms"),
        "s": pa.string(), "ls": pa.large_string(), "v": pa.string_view(),
        "e": pa.dictionary(pa.int8(), pa.string()),
    }
)  # fmt: skip
INTEGERS = {"i8": (-128, 127), "i16": (-(2**15), 2**15 - 1), "i32": (-(2**31), 2**31 - 1),
            "i64": (-(2**63), 2**63 - 1), "u8": (0, 255), "u16": (0, 2**16 - 1),
            "u32": (0, 2**32 - 1), "u64": (0, 2**64 - 1)}  # fmt: skip
DECIMALS = {"d2": (13, 2), "d9": (11, 9), "d38": (34, 4)}
CONTEXT = Context(prec=60)
NUMBERS = [*INTEGERS, "f32", "f64", *DECIMALS]
STRINGS = ["", "a", "ab", "abc", "b%", "ü", "a longer text than fits a view"]


def values_of(name: str) -> st.SearchStrategy[Any]:
    if name in INTEGERS:
        low, high = INTEGERS[name]
        near = st.integers(max(low, -5), min(high, 20))
        return st.one_of(near, near, st.integers(low, high), st.sampled_from([low, high]))
    if name in DECIMALS:
        whole, scale = DECIMALS[name]
        most = 10 ** (whole + scale) - 1
        unscaled = st.one_of(st.integers(-500, 2000), st.integers(-most, most))
        return unscaled.map(lambda u: Decimal(u).scaleb(-scale, CONTEXT))
    return {
        "f32": st.floats(width=32),
        "f64": st.one_of(st.floats(-100, 100), st.floats()),
        "b": st.booleans(),
        "day": st.dates(),
        "us": st.datetimes(datetime.datetime(1, 1, 2), datetime.datetime(9999, 12, 30)),
        "ms": st.datetimes().map(lambda t: t.replace(microsecond=0)),
    }.get(name, st.sampled_from(STRINGS))


@st.composite
def tables(draw: Any) -> Any:
    rows = draw(st.integers(0, 12))
    nulls = draw(st.sampled_from([0, 0, 3]))
    columns = {}
    for field in SCHEMA:
        value = st.one_of(*[st.none()] * (nulls > 0), values_of(field.name))
        drawn = draw(st.lists(value, min_size=rows, max_size=rows))
        columns[field.name] = pa.array(drawn, field.type)
    table = pa.table(columns, schema=SCHEMA)
    cut = draw(st.integers(0, rows))
    return table.slice(cut)


def literals() -> st.SearchStrategy[Expr]:
    numbers = st.one_of(
        st.integers(-3, 12),
        st.integers(-(2**62), 2**62),
        st.sampled_from([0.05, 1.5, -2.0, 1e10, Decimal("0.07"), Decimal("-12.345")]),
        st.none(),
    )
    return numbers.map(lit)


def numbers(depth: int) -> st.SearchStrategy[Expr]:
    columns = st.sampled_from(NUMBERS).map(col)
    if depth == 0:
        return st.one_of(columns, columns, literals())
    inner = numbers(depth - 1)
    sign = st.sampled_from(
        ["add", "subtract", "multiply", "multiply", "divide", "floor_divide", "remainder"]
    )
    types = st.sampled_from(
        [pa.int8(), pa.int32(), pa.int64(), pa.uint16(), pa.float64(), pa.decimal128(20, 3),
         pa.decimal128(38, 10), pa.decimal128(5, 0)]
    )  # fmt: skip
    part = st.sampled_from(["year", "month", "day", "weekday"])
    return st.one_of(
        columns,
        st.builds(lambda f, a, b: Call(f, (a, b)), sign, inner, inner),
        st.builds(lambda f, a, b: Call(f, (a, b)), sign, columns, st.one_of(columns, literals())),
        st.builds(lambda f, a: Call(f, (a,)), st.sampled_from(["negate", "abs"]), inner),
        st.builds(lambda a, t: a.cast(t), inner, types),
        st.builds(lambda c, a, b: xd.when(c).then(a).otherwise(b), conditions(0), inner, inner),
        st.builds(lambda a, b: xd.coalesce(a, b), inner, inner),
        st.builds(lambda f, a: Call(f, (col(a),)), part, st.sampled_from(["day", "us", "ms"])),
        st.builds(
            lambda f, a: Call(f, (col(a),)),
            st.sampled_from(["hour", "minute", "second"]),
            st.sampled_from(["us", "ms"]),
        ),
    )


def conditions(depth: int) -> st.SearchStrategy[Expr]:
    compare = st.sampled_from(
        ["equal", "not_equal", "less", "less_equal", "greater", "greater_equal"]
    )
    strings = st.sampled_from(["s", "ls", "v", "e"]).map(col)
    moments = st.sampled_from(["day", "us", "ms"]).map(col)
    of_numbers = numbers(max(0, depth - 1))
    leaves = st.one_of(
        col_strategy("b"),
        st.builds(lambda f, a, b: Call(f, (a, b)), compare, of_numbers, of_numbers),
        st.builds(lambda f, a, t: Call(f, (a, lit(t))), compare, strings, st.sampled_from(STRINGS)),
        st.builds(lambda f, a, t: Call(f, (lit(t), a)), compare, strings, st.sampled_from(STRINGS)),
        st.builds(lambda a, ts: a.is_in(ts), strings, st.lists(st.sampled_from([*STRINGS, None]))),
        st.builds(
            lambda f, a, t: Call(f, (a,), t),
            st.sampled_from(["starts_with", "ends_with", "contains"]),
            strings,
            st.sampled_from(STRINGS),
        ),
        st.builds(
            lambda a, p: a.like(p),
            strings,
            st.sampled_from(["a%", "%b%", "%c", "abc", "_b", "%", "", "%o%t_an%", "%\\%"]),
        ),
        st.builds(lambda a, p: a.ilike(p), strings, st.sampled_from(["A%", "%Ü", "_B", "a_c"])),
        st.builds(lambda f, a, b: Call(f, (a, b)), compare, strings, strings),
        st.builds(
            lambda f, a, d: Call(f, (a, lit(d))),
            compare,
            moments,
            st.one_of(st.dates(), st.sampled_from(["1995-01-01", "2020-02-29"])),
        ),
        st.builds(lambda f, a: Call(f, (a, a.date())), compare, moments),
        st.builds(
            lambda n, vs: col(n).is_in(vs),
            st.sampled_from(NUMBERS),
            st.lists(
                st.one_of(st.integers(-5, 300), st.sampled_from([0.05, 1.5, None])), max_size=5
            ),
        ),
        st.sampled_from(SCHEMA.names).map(lambda n: col(n).is_null()),
        st.builds(lambda a: a.is_not_null(), of_numbers),
    )
    if depth == 0:
        return leaves
    inner = conditions(depth - 1)
    return st.one_of(
        leaves,
        st.builds(lambda f, a, b: Call(f, (a, b)), st.sampled_from(["and_kleene", "or_kleene"]),
                  inner, inner),
        inner.map(lambda a: ~a),
        st.builds(lambda c, a, b: xd.when(c).then(a).otherwise(b), inner, inner, inner),
    )  # fmt: skip


def col_strategy(name: str) -> st.SearchStrategy[Expr]:
    return st.just(col(name))


@pytest.fixture(scope="module")
def engine() -> _native.Engine:
    return _native.Engine(threads=2, memory_bytes=1 << 28)


def same(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        return a == b or (math.isnan(a) and math.isnan(b))
    return type(a) is type(b) and bool(a == b)


def test_a_choice_that_may_raise_looks_at_views_too() -> None:
    rows = pa.table({"n": [1, 0], "v": pa.array(["a", None], pa.string_view())})
    choice = xd.when(col("n") == 0).then(col("v").is_null()).otherwise((4 // col("n")) == 4)
    assert evaluate(choice, rows).to_pylist() == [True, True]


def check(engine: _native.Engine, expression: Expr, table: Any) -> str:
    """Compares what the engine computes, if it can; says which way the expression went."""
    given_table = engine_table(engine, table)
    try:
        compiled = Compiler(given_table.column, table.schema).compile(expression)
    except xd.ExpressionError:
        return "refused by the planner"
    if compiled is None:
        return "left to pyarrow"
    try:
        expected = evaluate(expression, table)
    except xd.ExpressionError:
        with pytest.raises(_native.NativeError) as caught:
            _native.compute_columns(engine, given_table, [("x", compiled)])
        assert caught.value.args[0] == "CD-304"
        return "fused"
    result = pa.table(_native.compute_columns(engine, given_table, [("x", compiled)]))["x"]
    result.validate(full=True)
    assert result.type == expected.type
    pairs = list(zip(result.to_pylist(), expected.to_pylist(), strict=True))
    assert all(same(a, b) for a, b in pairs), (repr(expression), pairs)
    return "fused"


def test_fused_is_what_pyarrow_gives(engine: _native.Engine) -> None:
    ways: Counter[str] = Counter()
    expressions = st.one_of(numbers(1), numbers(2), conditions(1), conditions(2))

    @given(expression=expressions, table=tables())
    @settings(max_examples=150)
    def compared(expression: Expr, table: Any) -> None:
        ways[check(engine, expression, table)] += 1

    compared()
    print(ways)
    assert ways["fused"] >= ways.total() / 3, ways


ORDERS = pa.table(
    {
        "k": ["a", "b", "a", None],
        "price": pa.array([Decimal("1.50"), Decimal("2.00"), None, Decimal("3.25")],
                          pa.decimal128(15, 2)),
        "n": pa.array([1, 0, 3, 4], pa.int64()),
        "day": pa.array([0, 1, 2, 3], pa.date32()),
    }
)  # fmt: skip


def test_decimals_of_far_scales_are_compared_by_the_engine(engine: _native.Engine) -> None:
    most, much = Decimal("9" * 36 + ".99"), Decimal("9" * 30 + ".01")
    rows = pa.table(
        {
            "value": pa.array([Decimal("7.01"), most, most.copy_negate(), None, Decimal(0)],
                              pa.decimal128(38, 2)),
            "total": pa.array([Decimal(70100), much, much.copy_negate(), much, Decimal("-0.01")],
                              pa.decimal128(38, 2)),
            "u64": pa.array([2**64 - 1, 7, 0, 2**63, 0], pa.uint64()),
            "i64": pa.array([-1, 7, -(2**63), None, 0], pa.int64()),
        }
    )  # fmt: skip
    part = col("total") * Decimal("0.0001000000")  # decimal128(38, 12): 48 digits beside value
    small = col("total") * Decimal("0.0001")
    for expression in [col("value") > part, part <= col("value"), col("value") == part,
                       col("u64") > col("i64"), col("i64") == col("u64"), col("u64") <= small,
                       xd.when(col("i64") > 0).then(col("value")).otherwise(0)]:  # fmt: skip
        assert check(engine, expression, rows) == "fused"
    assert evaluate(col("value") >= part, rows).to_pylist() == [True, True, False, None, True]


def test_layers_are_computed_in_one_plan(dock: xd.Dock) -> None:
    relation = (
        dock.from_arrow(ORDERS)
        .with_columns(taxed=col("price") * (1 + col("price")))
        .filter(col("day") <= "1970-01-03")
        .select("k", double=col("taxed") * 2, again=col("taxed"), key=col("k"))
        .filter(col("double").is_not_null())
    )
    assert relation.collect().to_pylist() == [
        {"k": k, "double": 2 * taxed, "again": taxed, "key": k}
        for k, taxed in (("a", Decimal("3.7500")), ("b", Decimal("6.0000")))
    ]


def test_what_the_engine_cannot_compute_is_evaluated_beside_it(dock: xd.Dock) -> None:
    relation = (
        dock.from_arrow(ORDERS)
        .with_columns(u=col("price").cast("string"))
        .filter(col("u").is_in(["1.50"]))
        .group_by("u")
        .agg(n=xd.count())
    )
    assert relation.collect().to_pylist() == [{"u": "1.50", "n": 1}]


def test_a_filter_guards_what_is_computed_above_it(dock: xd.Dock) -> None:
    orders = dock.from_arrow(ORDERS)
    guarded = orders.filter(col("n") != 0).select(q=12 // col("n")).filter(100 // col("q") > 1)
    assert guarded.collect()["q"].to_pylist() == [12, 4, 3]
    with pytest.raises(xd.ExpressionError, match="12 // n divides by zero"):
        orders.select(q=12 // col("n")).collect()


def test_expressions_may_grow_without_end(dock: xd.Dock) -> None:
    relation = dock.from_arrow(ORDERS).select(x=col("n") * 1)
    for _ in range(24):
        relation = relation.select(x=col("x") + col("x"))
    assert relation.agg(s=xd.sum("x")).collect()["s"].to_pylist() == [8 << 24]


@pytest.mark.parametrize("bits", [20, 31, 50, 51, 52, 53, 62])
def test_division_by_a_constant_is_exact_at_the_limits_of_doubles(dock: xd.Dock, bits: int) -> None:
    limit = 2**bits
    divisors = [1, -1, 3, -7, 1000, limit - 1, -limit, limit // 2 + 1]
    near = [n * divisor + less for n in range(-9, 9) for divisor in divisors for less in (0, -1)]
    values = [value for value in (*near, limit - 1, -limit, 0) if -limit <= value < limit]
    rows = dock.from_arrow(pa.table({"x": pa.array(values, pa.int64())}))
    for divisor in divisors:
        given = rows.select(left=col("x") % divisor, whole=col("x") // divisor).collect()
        assert given["left"].to_pylist() == [value % divisor for value in values]
        assert given["whole"].to_pylist() == [value // divisor for value in values]


def calls_of_planning(dock: xd.Dock, columns: int) -> int:
    """Of Python's functions, for as many computed columns and conditions over a table as wide."""
    names = [f"c{number}" for number in range(columns)]
    wide = dock.from_arrow(pa.table({name: [0, 1] for name in names}))
    profile = cProfile.Profile()
    profile.enable()
    wide.select(**{name: col(name) + 1 for name in names}).collect()
    wide.filter(*(col(name) >= 0 for name in names)).collect()
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats())


def test_planning_grows_with_the_columns_and_not_with_their_square(dock: xd.Dock) -> None:
    calls_of_planning(dock, 10)
    assert calls_of_planning(dock, 400) < 5.5 * calls_of_planning(dock, 100)


def test_a_grouping_computes_what_it_reads(dock: xd.Dock) -> None:
    relation = (
        dock.from_arrow(ORDERS)
        .filter(col("day") <= "1970-01-03")
        .select("k", "n", taxed=col("price") * (1 + col("price")))
        .group_by("k")
        .agg(
            total=xd.sum("taxed"),
            most=xd.max(col("n") * 2),
            some=xd.count().where(col("n") > 0),
        )
    )
    rows = sorted(relation.collect().to_pylist(), key=lambda row: row["k"])
    assert rows == [
        {"k": "a", "total": Decimal("3.7500"), "most": 6, "some": 2},
        {"k": "b", "total": Decimal("6.0000"), "most": 0, "some": 0},
    ]
    by_year = dock.from_arrow(ORDERS).group_by(year=col("day").year()).agg(n=xd.count())
    assert by_year.collect().to_pylist() == [{"year": 1970, "n": 4}]
    counted = (
        dock.from_arrow(ORDERS)
        .filter(col("day") <= "1970-01-03")
        .group_by("k")
        .agg(n=xd.count_distinct(col("n") % 2))
    )
    assert sorted(counted.collect()["n"].to_pylist()) == [1, 1]
    failing = dock.from_arrow(ORDERS).group_by("k").agg(x=xd.sum(12 // col("n")))
    with pytest.raises(xd.ExpressionError, match="divides by zero"):
        failing.collect()


def test_dates_as_strings_have_four_digits_of_a_year_and_signs(dock: xd.Dock) -> None:
    days = pa.array([0, 19_782, -719_162, -719_529, 3_000_000, -800_000, None], pa.int32())
    dates = dock.from_arrow(pa.table({"d": days.cast(pa.date32())}))
    assert dates.select(s=col("d").cast("string")).collect()["s"].to_pylist() == [
        "1970-01-01",
        "2024-02-29",
        "0001-01-01",
        "-0001-12-31",
        "10183-09-21",
        "-0221-09-04",
        None,
    ]
