"""Every function of expressions against DuckDB, over columns of every type with NULLs."""

from __future__ import annotations

import datetime
import functools
import math
from decimal import Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.expressions.evaluation import evaluate

duckdb = pytest.importorskip("duckdb")
col = xd.col

STRINGS = [
    "apple",
    "Apple pie",
    "",
    None,
    "50% off",
    "under_score",
    "Ünïcode",
    "  pad  ",
    "a\nb",
    "é",
]
STAMPS = [
    datetime.datetime(1999, 12, 31, 23, 59, 59, 999999),
    datetime.datetime(2000, 2, 29),
    None,
    datetime.datetime(1969, 12, 31, 12, 30, 15),
    datetime.datetime(1900, 1, 1),
    datetime.datetime(2024, 7, 7, 1, 2, 3, 4),
    datetime.datetime(2038, 1, 19, 3, 14, 8),
    datetime.datetime(1582, 10, 15),
    datetime.datetime(1970, 1, 1),
    datetime.datetime(2100, 12, 1),
]
SMALL = [1, -1, None, 0, 7, -7, 100, -100, 3, None]
ROWS = pa.table(
    {
        "i8": pa.array(SMALL, pa.int8()),
        "i16": pa.array([2, None, 3, 5, -2, 4, 9, -3, 30, -30], pa.int16()),
        "i32": pa.array([2**31 - 1, None, 0, -5, 12, 40, -(2**31), 8, 1, 2], pa.int32()),
        "i64": pa.array([2**40, -(2**40), None, 1, 2, 3, -4, 5, 2**53, 0], pa.int64()),
        "u8": pa.array([255, 0, 1, None, 3, 4, 5, 6, 7, 8], pa.uint8()),
        "u64": pa.array([2**64 - 1, 0, 1, None, 2, 2**63, 5, 6, 7, 8], pa.uint64()),
        "f32": pa.array([1.5, -2.25, None, 0.0, 3.5, -0.5, 8.0, 1e10, 2.0, 0.25], pa.float32()),
        "f64": pa.array([1.5, -2.5, None, 0.0, 1e300, -0.5, 8.0, 0.1, 2.0, 0.25], pa.float64()),
        "d2": pa.array(
            [Decimal(x) if x else None for x in
             ["1.10", "-2.25", "", "0.00", "99999.99", "0.07", "0.05", "-0.01", "10.00", "3.33"]],
            pa.decimal128(15, 2),
        ),
        "d38": pa.array(
            [Decimal(x) if x else None for x in
             ["9" * 30 + ".5", "-1.25", "", "0", "1", "2", "0.00001", "7", "8", "9"]],
            pa.decimal128(38, 5),
        ),
        "b": pa.array([True, False, None] * 3 + [True]),
        "c": pa.array([True, True, True, False, False, False, None, None, None, True]),
        "s": pa.array(STRINGS, pa.string()),
        "ls": pa.array(STRINGS, pa.large_string()),
        "v": pa.array(STRINGS, pa.string_view()),
        "e": pa.array(STRINGS).dictionary_encode(),
        "day": pa.array([x and x.date() for x in STAMPS], pa.date32()),
        "us": pa.array(STAMPS, pa.timestamp("us")),
        "ms": pa.array([x and x.replace(microsecond=0) for x in STAMPS], pa.timestamp("ms")),
        "time": pa.array([x and x.time() for x in STAMPS], pa.time64("us")),
    }
)  # fmt: skip
PLAIN = pa.schema([f.with_type(pa.string()) if f.name in ("v", "e") else f for f in ROWS.schema])
INTEGERS = ["i8", "i16", "i32", "i64", "u8"]
NUMBERS = [*INTEGERS, "f32", "f64", "d2", "d38"]
STRINGS = ["s", "ls", "v", "e"]


@functools.cache
def connection() -> Any:
    opened = duckdb.connect(config={"threads": 1})
    opened.register("given", ROWS.cast(PLAIN))
    opened.execute("create table rows as select * from given")
    return opened


def by_duckdb(sql: str) -> list[Any]:
    return [row[0] for row in connection().execute(f"select {sql} from rows").fetchall()]


def same(a: Any, b: Any) -> bool:
    if a is None or b is None:
        return a is b
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(float(a), float(b), rel_tol=1e-12) or (a != a and b != b)
    return bool(a == b)


def check(expression: xd.Expr, sql: str) -> None:
    result, expected = evaluate(expression, ROWS).to_pylist(), by_duckdb(sql)
    assert len(result) == len(expected)
    wrong = [(i, a, b) for i, (a, b) in enumerate(zip(result, expected, strict=True))
             if not same(a, b)]  # fmt: skip
    assert not wrong, f"{expression!r} / {sql}: {wrong}"


@pytest.mark.parametrize("name", NUMBERS)
def test_arithmetic_with_a_literal(name: str) -> None:
    wide = "hugeint" if name in INTEGERS else name
    sql = f"{name}::hugeint" if wide == "hugeint" else name
    check(col(name) + 3, f"{sql} + 3")
    check(3 - col(name), f"3 - {sql}")
    signed = col(name).cast("int64") if name in ("u8", "i32") else col(name)
    check(-signed, f"-({sql})")
    check(abs(signed), f"abs({sql})")
    check(col(name) / 4, f"{name}::double / 4")
    check(col(name) == 2, f"{name} = 2")
    check(col(name) < 2, f"{name} < 2")
    check(col(name).between(0, 7), f"{name} between 0 and 7")
    check(col(name).is_in([1, 2, 1000, None]), f"{name} in (1, 2, 1000)")


@pytest.mark.parametrize("left", NUMBERS)
@pytest.mark.parametrize("right", NUMBERS)
def test_comparisons_of_every_pair(left: str, right: str) -> None:
    check(col(left) < col(right), f"{left} < {right}")
    check(col(left) == col(right), f"{left} = {right}")


@pytest.mark.parametrize("other", ["i8", "i64", "u8", "u64"])
def test_signed_and_unsigned_compare_by_value(other: str) -> None:
    check(col("u64") > col(other), f"u64::hugeint > {other}::hugeint")
    check(col(other) >= col("u64"), f"{other}::hugeint >= u64::hugeint")
    check(col("u64") > -1, "u64::hugeint > -1")
    check(col("u64") == 2**64 - 1, "u64 = 18446744073709551615")


@pytest.mark.parametrize("right", ["i16", "i64", "u8"])
def test_integers_of_two_widths(right: str) -> None:
    check(col("i8") + col(right), f"i8::hugeint + {right}::hugeint")
    check(col("i8").cast("int64") * col(right), f"i8::hugeint * {right}::hugeint")
    check(col("i8") - col("i16"), "i8::int - i16::int")


def test_whole_division_rounds_down() -> None:
    for value, divisor in [("i8", 3), ("i64", -7), ("i16", 2)]:
        check(col(value) // divisor, f"floor({value}::double / {divisor})::bigint")
        check(
            col(value) % divisor,
            f"{value}::hugeint - floor({value}::double / {divisor})::hugeint * {divisor}",
        )
    check(col("f64") // 2, "floor(f64 / 2)")
    check(col("f32") % 2, "(f32::double % 2 + 2) % 2")
    check(100 // col("i8").cast("int32").cast("float64"), "floor(100::double / i8)")
    check(col("u8") // 2, "u8 // 2")


def test_decimals_are_exact() -> None:
    charged = evaluate(col("d2") * (1 - col("d2")) * (1 + col("d2")), ROWS)
    assert charged.type == pa.decimal128(38, 6)
    assert charged.to_pylist() == [d and d * (1 - d) * (1 + d) for d in ROWS["d2"].to_pylist()]
    check(col("d2") * 1.5, "d2 * 1.5")
    check(col("d2") * Decimal("0.001"), "d2 * 0.001")
    check(col("d2") + col("d2") - col("i32"), "d2 + d2 - i32")
    check(col("d38") - col("d2"), "d38 - d2")
    check(col("d2").between(0.05, 0.07), "d2 between 0.05 and 0.07")
    check(col("d2").is_in([0.05, Decimal("0.07"), 10, 0.123]), "d2 in (0.05, 0.07, 10)")
    check(col("d2") / col("d2"), "case when d2 = 0 then 'nan'::double else d2 / d2 end")


@pytest.mark.parametrize("digits", [-1, 0, 1])
def test_round(digits: int) -> None:
    check(col("d2").cast(pa.decimal128(20, 2)).round(digits), f"round(d2, {digits})")
    check(col("f32").cast("float64").round(digits), f"round(f32::double, {digits})")
    check(col("i32").cast("int64").round(digits), f"round(i32::bigint, {digits})")


@pytest.mark.parametrize("digits", [-1, 0, 1, 2, 3])
def test_halves_are_those_of_the_number(dock: xd.Dock, digits: int) -> None:
    """A double that is written 12.995 is a little less."""
    rows = pa.table(
        {"x": [number / 1000 * sign for number in range(0, 40_000, 5) for sign in (1, -1)]}
    )
    query = f"select round(x, {digits}) from rows"
    expected = [value for (value,) in duckdb.query(query).fetchall()]
    assert evaluate(col("x").round(digits), rows).to_pylist() == expected
    assert (
        dock.from_arrow(rows).select(r=col("x").round(digits)).collect()["r"].to_pylist()
        == expected
    )


def test_boolean_logic_is_that_of_sql() -> None:
    check(col("b") & col("c"), "b and c")
    check(col("b") | col("c"), "b or c")
    check(~col("b"), "not b")
    check(col("b") == col("c"), "b = c")
    check((col("i8") > 0) & col("c") | ~col("b"), "(i8 > 0 and c) or not b")
    check(col("b") & None, "b and null")
    check(col("b") | xd.lit(None), "b or null")


@pytest.mark.parametrize("name", ROWS.column_names)
def test_null_tests_and_choices(name: str) -> None:
    check(col(name).is_null(), f"{name} is null")
    check(col(name).is_not_null(), f"{name} is not null")
    first = next(value for value in ROWS[name].to_pylist() if value is not None)
    check(xd.coalesce(col(name), first), f"coalesce({name}, first_value({name}) over ())")
    check(xd.when(col("b")).then(col(name)), f"case when b then {name} end")
    check(
        xd.when(col("b")).then(col(name)).when(col("c")).then(None).otherwise(col(name)),
        f"case when b then {name} when c then null else {name} end",
    )


def test_choices_find_a_type_for_all() -> None:
    check(xd.when(col("b")).then(1).otherwise(col("f64")), "case when b then 1 else f64 end")
    check(xd.when(col("b")).then(col("d2")).otherwise(0), "case when b then d2 else 0 end")
    check(xd.coalesce(col("i8"), col("i64"), 5), "coalesce(i8, i64, 5)")
    check(
        xd.when(col("s") == "apple").then("a").when(col("i8") < 0).then(col("v")).otherwise("-"),
        "case when s = 'apple' then 'a' when i8 < 0 then v else '-' end",
    )


def test_values_are_computed_only_where_they_are_taken() -> None:
    whole = xd.when(col("i8") != 0).then(100 // col("i8")).otherwise(-1)
    check(whole, "case when i8 <> 0 then floor(100::double / i8) else -1 end")
    number = xd.when(col("s").like("5%")).then(col("s").lower().length() - 5).otherwise(None)
    check(number, "case when s like '5%' then length(s) - 5 end")
    batch = ROWS.combine_chunks().to_batches()[0]
    assert evaluate(whole, batch).to_pylist() == evaluate(whole, ROWS).to_pylist()
    check(xd.coalesce(col("i16"), 7 // col("i32")), "coalesce(i16, floor(7::double / i32)::int)")


@pytest.mark.parametrize("name", STRINGS)
def test_strings(name: str) -> None:
    check(col(name).starts_with("a"), f"starts_with({name}, 'a')")
    check(col(name).ends_with("e"), f"ends_with({name}, 'e')")
    check(col(name).contains("p"), f"contains({name}, 'p')")
    for pattern in ["a%", "%e", "%p%e%", "_pple%", "", "%", "__", "A%"]:
        check(col(name).like(pattern), f"{name} like '{pattern}'")
    check(col(name).like(r"50\% %"), f"{name} like '50\\% %' escape '\\'")
    check(col(name).like(r"under\_score"), f"{name} like 'under\\_score' escape '\\'")
    check(col(name).lower(), f"lower({name})")
    check(col(name).upper(), f"upper({name})")
    check(col(name).strip(), f"trim({name})")
    check(col(name).strip("ae"), f"trim({name}, 'ae')")
    check(col(name).length(), f"length({name})")
    check(col(name).lower().contains("apple"), f"contains(lower({name}), 'apple')")
    check(col(name) < "b", f"{name} < 'b'")
    check(col(name).between("a", "b"), f"{name} between 'a' and 'b'")
    check(col(name).is_in(["apple", "", "é"]), f"{name} in ('apple', '', 'é')")
    check(col(name) == col("s"), f"{name} = s")


@pytest.mark.parametrize("name", ["day", "us", "ms"])
def test_date_parts(name: str) -> None:
    for part in ("year", "month", "day"):
        check(getattr(col(name), part)(), f"{part}({name})")
    check(col(name).weekday(), f"isodow({name}) - 1")
    check(col(name).date(), f"{name}::date")
    check(col(name) >= "2000-02-29", f"{name} >= '2000-02-29'")
    check(col(name).is_in(["1970-01-01"]), f"{name} in ('1970-01-01')")
    check(col(name) < datetime.date(1970, 1, 1), f"{name} < date '1970-01-01'")
    check(col(name) == col("day"), f"{name}::timestamp = day::timestamp")


@pytest.mark.parametrize("name", ["us", "ms", "time"])
def test_time_parts(name: str) -> None:
    for part in ("hour", "minute", "second"):
        # DuckDB takes parts of milliseconds by way of nanoseconds, which do not reach 1582.
        sql = f"{part}({name}::timestamp)" if name == "ms" else f"{part}({name})"
        check(getattr(col(name), part)(), sql)


def test_casts() -> None:
    check(col("i8").cast("float64"), "i8::double")
    check(col("i32").cast("string"), "i32::varchar")
    check(col("d2").cast("float64"), "d2::double")
    check(col("us").cast(pa.date32()), "us::date")
    check(col("i8").cast(pa.decimal128(10, 2)), "i8::decimal(10, 2)")
    check(col("b").cast("int32"), "b::int")
    large = pa.table({"n": pa.array([2**53 + 1, -(2**63), None], pa.int64())})
    with xd.connect(threads=1) as dock:
        result = dock.from_arrow(large).select(f=col("n").cast("float64"))
        # The nearest float, as SQL has it: 2**53 + 1 is none.
        assert result.collect()["f"].to_pylist() == [2.0**53, -(2.0**63), None]
