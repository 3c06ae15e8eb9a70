"""Timestamps with a zone: other zones than DuckDB's session has, and years that nanoseconds do not
hold."""

from __future__ import annotations

import datetime

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

INSTANTS = [1704065400000000, 1720065400123000, None]  # in winter and in summer


@pytest.mark.parametrize("zone", ["Europe/Berlin", "America/St_Johns", "Asia/Kolkata", "UTC"])
def test_strings_of_instants_are_those_of_duckdb(dock: xd.Dock, zone: str) -> None:
    zoned = pa.table({"t": pa.array(INSTANTS, pa.timestamp("us", zone))})
    text = (
        "select strftime(t, '%Y-%m-%d %H:%M %z|%Z|%%z') as a, t::varchar as b, hour(t) as c, "
        "date_diff('minute', t, timestamptz '2024-01-01 00:00:00+00') as d, "
        "date_diff('second', timestamptz '2024-01-01 00:00:00+00', t) as f, "
        "date_diff('day', timestamptz '2023-12-31 23:30:00+00', t) as g, "
        "t > '2024-01-01 00:00:00+00' as e from zoned"
    )
    with duckdb.connect() as oracle:
        oracle.execute(f"SET TimeZone = '{zone}'")
        oracle.register("zoned", zoned)
        expected = oracle.sql(text).to_arrow_table().to_pylist()
    if zone == "UTC":  # which the engine computes in place, without a name
        text, expected = (
            text.replace("|%Z", ""),
            [{**row, "a": row["a"] and row["a"].replace("|UTC", "")} for row in expected],
        )
    assert zoned.num_rows == len(expected)
    assert dock.sql(text).collect().to_pylist() == expected


def test_units_of_timestamps(dock: xd.Dock) -> None:
    us = pa.table({"t": pa.array([datetime.datetime(9999, 12, 31)], pa.timestamp("us"))})
    ns = pa.table({"t": pa.array([1704067200000000001], pa.timestamp("ns"))})
    of_us, of_ns = dock.from_arrow(us), dock.from_arrow(ns)
    assert (of_us.count(), of_ns.count()) == (1, 1)
    for text, count in (
        ("select * from of_us where t::timestamp > '2025-01-01'", 1),
        ("select * from of_us where t < '9999-12-31 00:00:01'", 1),
        ("select * from of_us where t in ('9999-12-31')", 1),
        ("select * from of_us join of_ns on of_us.t = of_ns.t", 0),
    ):
        assert dock.sql(text).count() == count, text
    both = "select t from of_ns union all select t from of_us where t < '2020-01-01'"
    assert dock.sql(both).collect()["t"].cast(pa.int64()).to_pylist() == [1704067200000000001]


@pytest.mark.parametrize("zone", [None, "UTC", "America/New_York"])
def test_clocks_of_nanoseconds(dock: xd.Dock, zone: str | None) -> None:
    """As pandas has them: a cast to microseconds was an error of the run."""
    ticks = [0, -1, 1583650800 * 10**9 + 7, None]
    rows = pa.table({"t": pa.array(ticks, pa.timestamp("ns", zone))})
    shown = "t at time zone 'Asia/Tokyo'"
    there = dock.sql(f"select ({shown}) at time zone 'UTC' as t from rows").collect()["t"]
    offset = (9 if zone else -9) * 3600 * 10**9
    clocks = dock.sql(f"select {shown} as t from rows").collect()["t"] if zone else there
    assert rows.num_rows == len(there)
    assert clocks.cast(pa.int64()).to_pylist() == [
        None if tick is None else tick + offset for tick in ticks
    ]
    assert there.type.unit == clocks.type.unit == "ns"


def test_an_offset_in_a_string_of_no_zone_is_refused(dock: xd.Dock) -> None:
    with pytest.raises(xd.ExpressionError, match=r"no timestamp.*10:00:00\+02"):
        dock.sql("select '2024-01-01 10:00:00+02'::timestamp").collect()


def test_clocks_of_columns_that_have_a_zone(dock: xd.Dock) -> None:
    zoned = pa.table({"t": pa.array(INSTANTS, pa.timestamp("us", "UTC"))})
    text = (
        "select t at time zone 'Europe/Berlin' a, "
        "extract(hour from t at time zone 'Asia/Kolkata') b, "
        "date_trunc('day', t at time zone 'America/New_York') c, "
        "(t at time zone 'UTC') at time zone 'Europe/Berlin' d, "
        "t at time zone 'UTC' at time zone 'America/New_York' e, "
        "t at time zone 'Europe/Berlin' > timestamp '2024-01-01 01:00:00' f from zoned"
    )
    with duckdb.connect() as oracle:
        oracle.execute("SET TimeZone = 'UTC'")
        oracle.register("zoned", zoned)
        expected = oracle.sql(text).to_arrow_table().to_pylist()
    relation = dock.from_arrow(zoned)
    assert dock.sql(text).collect().to_pylist() == expected
    hours = relation.with_columns(h=xd.sql_expr("hour(t at time zone 'Europe/Berlin')"))
    assert hours.collect()["h"].to_pylist() == [0, 5, None]


def test_times_that_clocks_skip_or_show_twice(dock: xd.Dock) -> None:
    text = (
        "select x at time zone 'Europe/Berlin' a, x at time zone 'America/New_York' b from (values "
        "(timestamp '2024-03-31 02:30:00'), (timestamp '2024-10-27 02:30:00'), "
        "(timestamp '2024-03-10 02:59:59'), (null)) v(x)"
    )
    with duckdb.connect() as oracle:
        oracle.execute("SET TimeZone = 'UTC'")
        expected = oracle.sql(text).to_arrow_table().to_pylist()
    assert dock.sql(text).collect().to_pylist() == expected
