"""Instants as strings and read from them, in the engine against DuckDB: every specifier, dates
before 1970, NULLs, and strings that are no instants."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from computed_columns import computed
from crossdock import _native
from crossdock.expressions.evaluation import evaluate

duckdb = pytest.importorskip("duckdb")
col = xd.col

FIRST = datetime(1895, 12, 25, 23, 59, 58, 123456)
INSTANTS = [None if n % 19 == 0 else FIRST + n * timedelta(days=11, hours=5, minutes=7, seconds=3)
            for n in range(4500)]  # fmt: skip
TABLE = pa.table(
    {
        "n": range(len(INSTANTS)),
        "us": pa.array(INSTANTS, pa.timestamp("us")),
        "ms": pa.array(INSTANTS, pa.timestamp("us")).cast(pa.timestamp("ms"), safe=False),
        "ns": pa.array(INSTANTS, pa.timestamp("us")).cast(pa.timestamp("ns")),
        "s": pa.array(INSTANTS, pa.timestamp("us")).cast(pa.timestamp("s"), safe=False),
        "day": pa.array([i and i.date() for i in INSTANTS], pa.date32()),
        "y": pa.array([i and i.year for i in INSTANTS], pa.int32()),
        "m": pa.array([i and i.month for i in INSTANTS], pa.int8()),
        "d": pa.array([i and i.day for i in INSTANTS], pa.int64()),
    }
)
FORMATS = [*(f"%{letter}" for letter in "YymdHIMSfgnpjaAbBwuUWVGcxXzZ%"),
           *(f"%-{letter}" for letter in "ymdHIMSj"), "%Y-%m-%dT%H:%M:%S.%f", "no part",
           "ü%Y%%%m😀", "%I:%M %p on %A, %d. %B"]  # fmt: skip


def by_engine(engine: _native.Engine, expression: xd.Expr, table: Any) -> list[Any]:
    rows = computed(engine, expression, table).to_pylist()
    assert rows == evaluate(expression, table).to_pylist()
    return list(rows)


def by_duckdb(connection: Any, sql: str) -> list[Any]:
    return [row for (row,) in connection.sql(f"select {sql} from t order by n").fetchall()]


@pytest.mark.parametrize("format", FORMATS)
def test_formats(engine: _native.Engine, connection: Any, format: str) -> None:
    for name in ("us", "ms", "ns", "s", "day"):
        result = by_engine(engine, col(name).strftime(format), TABLE)
        assert result == by_duckdb(connection, f"strftime({name}, '{format}')"), name


READ = ["%Y-%m-%d %H:%M:%S.%f", "%d.%m.%Y %H:%M", "%Y%m%d", "%b %d %Y %I:%M:%S %p", "%A, %d %B %Y",
        "%y-%m-%d", "%Y %j", "%-d/%-m/%Y", "%H:%M", "%x %X", "%c", "%d%%%m%%%Y",
        "%Y-%m-%d %H:%M:%S.%g"]  # fmt: skip


@pytest.mark.parametrize("format", READ)
def test_strings_are_read_back(engine: _native.Engine, connection: Any, format: str) -> None:
    expression = col("us").strftime(format).strptime(format)
    sql = f"strptime(strftime(us, '{format}'), '{format}')"
    assert by_engine(engine, expression, TABLE) == by_duckdb(connection, sql)


STRINGS = ["2024-02-29", "2024-02-30", "2023-02-29", "2024-13-01", "2024-00-10", "2024-01-00", "",
           " 2024-1-9 ", "2024-01-01x", "x2024-01-01", "2024 01 01", "0001-01-01", "-2024-01-01",
           "2024-+1-01", "2024--1-01", None, "9999-12-31", "2024-01", "2024-01-011"]  # fmt: skip
TIMES = ["10:30 AM", "12:00 AM", "12:00 pm", "00:30 AM", "13:00 PM", "1:5 Pm", "9:60 AM", None,
         "10:30", "10:30 XM", "10:30AM"]  # fmt: skip


def test_strings_that_are_no_instants(engine: _native.Engine, connection: Any) -> None:
    for strings, format in [(STRINGS, "%Y-%m-%d"), (TIMES, "%I:%M %p"),
                            (["29 FEB 2024", "29 Fec 2024", "29 february 2024"], "%d %b %Y"),
                            (["1.5", "1.123456", "1.", "1.1234567"], "%S.%f")]:  # fmt: skip
        table = pa.table({"s": pa.array([*strings, None], pa.string())})
        result = by_engine(engine, col("s").try_strptime(format), table)
        connection.register("strings", table)
        expected = connection.sql(f"select try_strptime(s, '{format}') from strings").fetchall()
        assert result == [row for (row,) in expected], format
        wrong = [s for s, f in zip(strings, result, strict=False) if s is not None and f is None]
        if wrong:
            with pytest.raises(xd.ExpressionError, match="no instant in this format"):
                xd.connect(threads=1, ranks="off").from_arrow(pa.table({"s": wrong})).select(
                    x=col("s").strptime(format)
                ).collect()


def test_dates_are_made(engine: _native.Engine, connection: Any) -> None:
    result = xd.make_date(col("y"), col("m"), col("d"))
    assert by_engine(engine, result, TABLE) == TABLE["day"].to_pylist()
    assert by_duckdb(connection, "make_date(y, m, d)") == TABLE["day"].to_pylist()


def test_what_is_missing_is_not_null_in_the_schema() -> None:
    """Strings without NULL can give instants with NULL, which group-bys and counts must see."""
    with xd.connect(threads=1, ranks="off") as dock:
        rel = dock.from_arrow(pa.table({"s": ["2024-01-01", "x", "2024-01-01", "y"]}))
        when = rel.select(t=col("s").try_strptime("%Y-%m-%d"))
        assert when.group_by("t").agg(n=xd.count()).sort("n").collect()["n"].to_pylist() == [2, 2]
        assert when.agg(n=xd.count("t")).collect()["n"].to_pylist() == [2]
        assert when.filter(col("t").is_null()).collect().num_rows == 2


def test_zones_show_their_clocks() -> None:
    instants = pa.array([datetime(2024, 7, 1, 22, 30), None], pa.timestamp("us", "UTC"))
    rows = pa.table({"t": instants.cast(pa.timestamp("us", "Europe/Berlin"))})
    for expression, expected in [
        (col("t").strftime("%d %H:%M"), "02 00:30"), (col("t").day_name(), "Tuesday"),
        (col("t").epoch(), 1719873000.0), (col("t").microsecond(), 0),
        (col("t").date_diff(datetime(2024, 7, 2), "minute"), -30),
        (col("t").iso_year(), 2024), (col("t").last_day(), datetime(2024, 7, 31).date()),
    ]:  # fmt: skip
        assert evaluate(expression, rows).to_pylist() == [expected, None], repr(expression)


def test_bad_formats_are_refused_when_a_relation_is_made() -> None:
    with xd.connect(threads=1, ranks="off") as dock:
        rel = dock.from_arrow(pa.table({"t": INSTANTS[1:3], "s": ["a", "b"]}))
        for wrong in (col("t").strftime("%Q"), col("t").strftime("%Y%"), col("t").strftime("%-Y"),
                      col("s").strptime("%U"), col("s").strptime("%z")):  # fmt: skip
            with pytest.raises(xd.OptionError, match="format"):
                rel.select(x=wrong)
