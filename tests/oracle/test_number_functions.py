"""Functions of numbers and dates in the engine against DuckDB and pyarrow: NULLs, both zeros, NaN
and infinities, numbers without a logarithm, halves, ends of months and years, dates before 1970."""

from __future__ import annotations

import random
from datetime import date, datetime, timedelta
from decimal import ROUND_CEILING, ROUND_DOWN, ROUND_FLOOR, ROUND_HALF_UP, Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from computed_columns import computed_by_both
from crossdock import _native
from crossdock.expressions.engine_expressions import Compiler, is_computed
from crossdock.expressions.evaluation import evaluate

duckdb = pytest.importorskip("duckdb")
col = xd.col

REALS = [0.0, -0.0, 0.5, -0.5, 1.5, 2.5, -2.5, 2.675, 1e15 + 0.5, -3.7, 1e300, float("nan"),
         float("inf"), float("-inf"), None, 1234.5678, -0.05, 4.0, 1e-320, 8.0]  # fmt: skip
DECIMALS = [Decimal(text) for text in ("0.00", "0.05", "-0.05", "1.50", "-1.50", "2.49", "-2.51",
            "999.99", "-999.50", "4.00", "100.00", "-0.01", "9.95")]  # fmt: skip
FIRST = datetime(1899, 12, 25, 23, 59, 58, 123456)
INSTANTS = [None if n % 17 == 0 else FIRST + n * timedelta(days=13, hours=7, minutes=1, seconds=1)
            for n in range(5000)]  # fmt: skip
DAYS = [None if i is None else i.date() for i in INSTANTS]


def numbers_table() -> Any:
    rows = len(INSTANTS)
    reals = (REALS * (rows // len(REALS) + 1))[:rows]
    decimals = ([*DECIMALS, None] * (rows // len(DECIMALS) + 1))[:rows]
    integers = [None if n % 19 == 0 else n * 37 % 1001 - 500 for n in range(rows)]
    return pa.table(
        {
            "n": range(rows),
            "f": pa.array(reals, pa.float64()),
            "g": pa.array([*reals[7:], *reals[:7]], pa.float64()),
            "r": pa.array([None if x is None else x / 4 for x in reals], pa.float32()),
            "d": pa.array(decimals, pa.decimal128(5, 2)),
            "w": pa.array(decimals, pa.decimal128(38, 10)),
            "i": pa.array(integers, pa.int32()),
            "l": pa.array(integers[::-1], pa.int64()),
            "u": pa.array([None if i is None else i + 500 for i in integers], pa.uint16()),
            "day": pa.array(DAYS, pa.date32()),
            "t": pa.array(INSTANTS, pa.timestamp("us")),
            "s": pa.array(INSTANTS, pa.timestamp("us")).cast(pa.timestamp("s"), safe=False),
            "day2": pa.array(DAYS[100:] + DAYS[:100], pa.date32()),
            "t2": pa.array(INSTANTS[::-1], pa.timestamp("us")),
            "s2": pa.array(INSTANTS[::-1], pa.timestamp("us")).cast(pa.timestamp("s"), safe=False),
        }
    )


TABLE = numbers_table()


def strings(values: list[Any]) -> list[str]:
    """NaN equals NaN, and zeros are apart."""
    return [repr(value) for value in values]


def check(engine: _native.Engine, connection: Any, expression: xd.Expr, sql: str | None) -> None:
    result, by_pyarrow = computed_by_both(engine, expression, TABLE)
    assert strings(result.to_pylist()) == strings(by_pyarrow.to_pylist()), repr(expression)
    if sql is not None:
        expected = [row for (row,) in connection.sql(f"select {sql} from t order by n").fetchall()]
        assert result.to_pylist() == expected, sql


NUMBERS = [
    (col("f").floor(), None), (col("f").ceil(), None), (col("r").floor(), None),
    (col("i").floor(), "i"), (col("u").ceil(), "u"),
    (col("w").floor(), "floor(w)"), (col("w").ceil(), "ceil(w)"),
    (col("f").round(), None), (col("f").round(2), None), (col("f").round(-2), None),
    (col("r").round(), None), (col("w").round(1), "round(w, 1)"), (col("w").round(), "round(w)"),
    (col("w").round(-1), None), (col("d").round(2), "d"), (col("d").round(5), "d"),
    (col("i").round(3), "i"),
    (col("f").sign(), None), (col("r").sign(), None), (col("i").sign(), "sign(i)"),
    (col("d").sign(), "sign(d)"), (col("u").sign(), "sign(u)"), (col("w").sign(), "sign(w)"),
    (col("f").abs().sqrt(), None), (col("f").sqrt(), None), (col("i").sqrt(), None),
    (col("i").abs().sqrt(), "sqrt(abs(i))"), (col("d").abs().sqrt(), "sqrt(abs(d))"),
    (col("f").exp(), None), (col("d").exp(), "exp(d)"), (col("f").ln(), None),
    (col("r").log2(), None), (col("f").log10(), None), (col("u").ln(), None),
    ((col("u") + 1).ln(), "ln(u + 1)"), ((col("u") + 1).log10(), "log10(u + 1)"),
    ((col("l").abs() + 1).log2(), "log2(abs(l) + 1)"),
    (col("f") ** col("g"), None), (col("i") ** 2, "pow(i, 2)"), (2 ** col("d"), "pow(2, d)"),
    (col("i") ** col("d"), None), (col("f") ** 0.5, None),
    (col("r").is_nan(), "isnan(r)"), (~col("f").is_nan(), "not isnan(f)"),
    (xd.greatest(col("f"), col("g")), None), (xd.least(col("f"), col("g"), 1.5), None),
    (xd.greatest(col("i"), col("l"), col("u")), "greatest(i, l, u)"),
    (xd.least(col("d"), col("i")), None), (xd.least(col("w"), col("d")), None),
    (xd.greatest(col("day"), date(1990, 5, 6)), "greatest(day, date '1990-05-06')"),
    (xd.least(col("t"), datetime(1970, 1, 1)), "least(t, timestamp '1970-01-01')"),
    (xd.nullif(col("i"), 7), "nullif(i, 7)"), (xd.nullif(col("d"), col("w")), "nullif(d, w)"),
    (xd.nullif(col("l"), col("i")), "nullif(l, i)"), (xd.nullif(col("f"), 0.5), None),
    (col("i").cast("string"), "i::varchar"), (col("u").cast("string"), "u::varchar"),
    (col("day").cast("string"), "day::varchar"), ((col("i") > 3).cast("string"), None),
    *((getattr(col(c), name)(), f"{name}({c}::double)")
      for c in ("i", "d", "u") for name in ("sin", "cos", "tan", "atan", "cbrt")),
    *((getattr(col("f"), name)(), None) for name in ("sin", "cos", "tan", "atan", "cbrt")),
    *((getattr(col("i") / 500, name)(), f"{name}(i / 500)") for name in ("asin", "acos")),
    *((getattr(col("f"), name)(), None) for name in ("asin", "acos", "degrees", "radians")),
    (col("i").degrees(), "degrees(i)"), (col("d").radians(), "radians(d)"),
    (col("i").atan2(col("l")), "atan2(i, l)"), (col("f").atan2(2), None),
    (col("f").trunc(), None), (col("f").trunc(2), None), (col("f").trunc(-2), None),
    (col("r").trunc(), None), (col("i").trunc(), "i"), (col("i").trunc(3), "i"),
    (col("d").trunc(), "trunc(d)"), (col("w").trunc(1), "trunc(w, 1)"), (col("d").trunc(2), "d"),
    *((getattr(col(a), name)(col(b)), sql.format(a, b))
      for a, b in (("i", "l"), ("i", "i"), ("u", "i"), ("l", "u"))
      for name, sql in (("bit_and", "{0} & {1}"), ("bit_or", "{0} | {1}"),
                        ("bit_xor", "xor({0}, {1})"), ("gcd", "gcd({0}, {1})"),
                        ("lcm", "lcm({0}, {1})"))),
    (col("i").bit_and(7), "i & 7"), (col("u").bit_or(-1), "u | -1"),
    (col("i").bit_not(), "~i"), (col("u").bit_not(), "~u"), (col("l").bit_not(), "~l"),
    (col("l").abs().shift_left(3), "abs(l) << 3"),
    (col("u").shift_left(col("u") % 5), "u << (u % 5)"),
    (col("i").shift_right(2), "i >> 2"), (col("l").shift_right(col("i")), "l >> i"),
    (col("i").shift_right(40), "i >> 40"),
    ("#" + (col("l") * 10**16).cast("string"), "'#' || (l * 10000000000000000)"),
]  # fmt: skip
PERIODS = ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
DATES = [
    *((getattr(col(c), part)(), f"{sql}({c})")
      for c in ("day", "t", "s")
      for part, sql in (("quarter", "quarter"), ("week", "week"), ("day_of_year", "dayofyear"),
                        ("iso_year", "isoyear"), ("epoch", "epoch"), ("day_name", "dayname"),
                        ("month_name", "monthname"), ("last_day", "last_day"))),
    *((getattr(col(c), part)(), f"extract({part} from {c})")
      for c in ("t", "s") for part in ("millisecond", "microsecond")),
    *((col(a).date_diff(col(b), p), f"date_diff('{p}', {a}, {b})")
      for a, b in (("t", "s2"), ("day", "t2"), ("day2", "day"), ("s", "s2"))
      for p in (*PERIODS, "millisecond", "microsecond")),
    (col("day").date_diff(date(1970, 1, 1), "day"), "date_diff('day', day, date '1970-01-01')"),
    *((col(c).truncate(p), f"date_trunc('{p}', {c})") for c in ("t", "s") for p in PERIODS),
    *((col("day").truncate(p), f"date_trunc('{p}', day)::date") for p in PERIODS[:5]),
    *((col(c).add_months(m), f"({c} + interval ({m}) month){cast}")
      for c, cast in (("day", "::date"), ("t", "")) for m in (0, 1, -1, 11, -13, 2400)),
]  # fmt: skip


@pytest.mark.parametrize("case", NUMBERS, ids=lambda case: repr(case[0]))
def test_numbers(engine: _native.Engine, connection: Any, case: tuple[xd.Expr, str]) -> None:
    check(engine, connection, *case)


@pytest.mark.parametrize("case", DATES, ids=lambda case: repr(case[0]))
def test_dates(engine: _native.Engine, connection: Any, case: tuple[xd.Expr, str]) -> None:
    check(engine, connection, *case)


REFUSED = [
    (col("d").floor(), "floor(d)"),
    (col("d").ceil(), "ceil(d)"),
    (col("d").round(-3), "round(d, -3)"),
    (col("day").add_months(2**30), "add_months(day, 1073741824)"),
    (col("s").add_months(-(2**31)), None),
    (col("l").shift_left(3), "l << 3"),
    (col("i").abs().shift_left(30), "abs(i) << 30"),
    (col("u").shift_left(-1), "u << -1"),
    (xd.make_date(col("u"), 13, 1), "is no day of the calendar"),
    (xd.make_date(2**40, 1, col("i")), "is no day of the calendar"),
]


@pytest.mark.parametrize("case", REFUSED, ids=lambda case: repr(case[0]))
def test_values_that_do_not_fit(engine: _native.Engine, case: tuple[xd.Expr, str | None]) -> None:
    expression, text = case
    rows = _native.Table.from_stream(engine, TABLE)
    compiled = Compiler(rows.column, TABLE.schema).compile(expression)
    assert compiled is not None
    if text is None:
        _native.compute_columns(engine, rows, [("x", compiled)])
        return
    with pytest.raises(_native.NativeError, match="CD-304") as error:
        _native.compute_columns(engine, rows, [("x", compiled)])
    assert text in str(error.value)
    with pytest.raises(xd.ExpressionError):
        evaluate(expression, TABLE)


def test_options_are_checked() -> None:
    for refused in (
        lambda: col("t").truncate("days"),
        lambda: col("t").date_diff(col("s"), "days"),
        lambda: col("t").strftime(3),  # type: ignore[arg-type]
        lambda: col("t").trunc(0.5),  # type: ignore[arg-type]
        lambda: col("t").add_months(1.5),  # type: ignore[arg-type]
        lambda: col("s").substring("a"),  # type: ignore[arg-type]
        lambda: col("s").substring(0, -1),
        lambda: col("s").lpad(5, "ab"),
        lambda: col("s").lpad(10**7),
        lambda: col("s").replace("a", None),  # type: ignore[arg-type]
    ):
        with pytest.raises(xd.OptionError):
            refused()
    for empty in (xd.concat, xd.greatest, xd.least):
        with pytest.raises(xd.ExpressionError):
            empty()


@pytest.mark.parametrize("seed", range(4))
def test_decimals_are_rounded_at_the_limits_of_doubles(seed: int) -> None:
    """In words and beyond them, in blocks that have one and in those that have both."""
    draw = random.Random(seed)
    bits = [[8, 30, 49], [50, 51, 52], [60, 62], [20, 51, 59]][seed]
    units = [draw.choice([1, -1]) * draw.getrandbits(draw.choice(bits)) for _ in range(3000)]
    units += [half * 500 for half in (1, -1, 3, -3, 4, 0)]
    values = [None if n % 11 == 0 else Decimal(unit).scaleb(-3) for n, unit in enumerate(units)]
    table = pa.table({"d": pa.array(values, pa.decimal128(24, 3))})
    d = col("d")
    asked = {
        "halves": (d.round(), ROUND_HALF_UP, 0), "tenths": (d.round(1), ROUND_HALF_UP, 1),
        "cut": (d.trunc(2), ROUND_DOWN, 2), "below": (d.floor(), ROUND_FLOOR, 0),
        "above": (d.ceil(), ROUND_CEILING, 0), "tens": (d.round(-1), ROUND_HALF_UP, -1),
    }  # fmt: skip
    items = {name: item for name, (item, _, _) in asked.items()}
    with xd.connect(threads=1) as dock:
        ours = dock.from_arrow(table).select(**items).collect()
    for name, (_, mode, digits) in asked.items():
        unit = Decimal(1).scaleb(-digits)
        expected = [None if v is None else v.quantize(unit, mode) for v in values]
        assert ours[name].to_pylist() == expected, name


def test_decimals_of_fewer_digits() -> None:
    """What is cut off must be nothing; words of NULL do not count."""
    table = pa.table({"d": pa.array([Decimal("1.500"), None, Decimal("-7.200")] * 700)})
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(table)
        cast = rows.select(x=col("d").cast(pa.decimal128(4, 1))).collect()["x"]
        assert cast.to_pylist() == [Decimal("1.5"), None, Decimal("-7.2")] * 700
        with pytest.raises(xd.ExpressionError):
            rows.select(x=col("d").cast(pa.decimal128(3, 0))).collect()
        with pytest.raises(xd.ExpressionError):  # it has more digits
            rows.select(x=(col("d") * 1000).cast(pa.decimal128(4, 1))).collect()


def test_ticks_are_numbers() -> None:
    ticks = pa.array([0, -1, None, 1 << 50], pa.int64())
    days = pa.array([0, -1, None, 20_000], pa.int32())
    stamps = {unit: ticks.cast(pa.timestamp(unit)) for unit in ("s", "ms", "us")}
    table = pa.table({"n": ticks, "m": days, "day": days.cast(pa.date32()), **stamps})
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(table)
        for unit in stamps:
            there = col("n").cast(pa.timestamp(unit))
            both = rows.select(n=(col(unit).cast("int64") + 0), t=there).collect()
            assert both["n"].to_pylist() == ticks.to_pylist()
            assert both["t"].cast(pa.int64()).to_pylist() == ticks.to_pylist()
            assert is_computed(there, table.schema)
        dated = rows.select(m=col("day").cast("int32"), day=col("m").cast(pa.date32())).collect()
    assert dated["m"].to_pylist() == days.to_pylist()
    assert dated["day"].to_pylist() == table["day"].to_pylist()
