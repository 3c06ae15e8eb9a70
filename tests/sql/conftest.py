"""What the tests of SQL share: small tables with NULLs on a dock and in DuckDB, and how the rows of
both are compared."""

from __future__ import annotations

import datetime
import math
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

TOLERANCE = 1e-9
Row = tuple[Any, ...]


def made_tables() -> dict[str, Any]:
    day = datetime.date(2000, 1, 1)
    instant = datetime.datetime(2020, 1, 1, 11, 59, 58)
    steps = [datetime.timedelta(hours=7 * i, seconds=i) for i in range(5)]
    return {
        "t": pa.table(
            {
                "a": pa.array([1, 2, 3, None, 5], pa.int64()),
                "b": pa.array([10, 20, 30, 40, None], pa.int32()),
                "s": ["x", "y", "x", None, "z"],
                "d": [day + datetime.timedelta(days=i) for i in range(5)],
                "m": pa.array([Decimal(f"{i}.25") for i in range(5)], pa.decimal128(15, 2)),
                "f": [1.5, 2.5, -0.5, None, 1e300],
                "bo": [True, False, None, True, True],
            }
        ),
        "u": pa.table(
            {
                "a": pa.array([1, 2, 2, 9, None], pa.int64()),
                "s": ["x", "q", "y", "z", None],
                "v": pa.array([1, 2, 3, 4, 5], pa.int64()),
            }
        ),
        "names": pa.table(
            {"s": ["ann", "bob", "élan", "", None, "a_b"], "n": pa.array(range(1, 7), pa.int64())}
        ),
        "lists": pa.table(
            {
                "a": pa.array([1, 2, 3, 4, 2], pa.int64()),
                "l": pa.array([[1, 2], [], None, [5, None], [2]], pa.list_(pa.int64())),
                "m": [["x"], ["y", "z"], ["w"], None, []],
            }
        ),
        "events": pa.table(
            {"ts": pa.array([*(instant + step for step in steps), None], pa.timestamp("us"))}
        ),
    }


@pytest.fixture(scope="session")
def tables() -> dict[str, Any]:
    return made_tables()


@pytest.fixture(scope="session")
def dock(tables: dict[str, Any]) -> Iterator[xd.Dock]:
    with xd.connect(threads=2, ranks="off") as opened:
        for name, table in tables.items():
            opened.register(name, table)
        yield opened


@pytest.fixture(scope="session")
def oracle(tables: dict[str, Any]) -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        connection.execute("SET TimeZone = 'UTC'")
        for name, table in tables.items():
            connection.register(name, table)
        yield connection


def plain(value: Any) -> Any:
    """Numbers as floats with one zero, moments in UTC, midnights as dates, and values of nested
    ones as a text of these, for one type's value may be another's."""
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, int | float | Decimal):
        return float(value) + 0.0
    if isinstance(value, list | tuple):
        return repr([plain(one) for one in value])
    if isinstance(value, dict):
        return repr({name: plain(one) for name, one in value.items()})
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        value = value.astimezone(datetime.UTC).replace(tzinfo=None)
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        return value.date()
    return value


def rows_of(table: Any) -> list[Row]:
    columns = [column.to_pylist() for column in table.columns]
    return [tuple(map(plain, row)) for row in zip(*columns, strict=True)]


def sort_key(row: Row) -> str:
    return repr([f"{v:.9g}" if isinstance(v, float) else v for v in row])


def are_same(ours: list[Row], theirs: list[Row], is_ordered: bool) -> bool:
    if len(ours) != len(theirs):
        return False
    if not is_ordered:
        ours, theirs = sorted(ours, key=sort_key), sorted(theirs, key=sort_key)
    return all(
        len(a) == len(b) and all(map(is_same_value, a, b))
        for a, b in zip(ours, theirs, strict=True)
    )


def is_same_value(a: Any, b: Any) -> bool:
    if isinstance(a, float) and isinstance(b, float):
        both_nan = math.isnan(a) and math.isnan(b)
        return both_nan or math.isclose(a, b, rel_tol=TOLERANCE, abs_tol=TOLERANCE)
    return type(a) is type(b) and a == b


Compare = Callable[..., None]


@pytest.fixture(scope="session")
def compare(dock: xd.Dock, oracle: duckdb.DuckDBPyConnection) -> Compare:
    """Asserts that a text has the same rows here and in DuckDB."""

    def check(text: str, is_ordered: bool = False) -> None:
        theirs = rows_of(oracle.sql(text).to_arrow_table())
        ours = rows_of(dock.sql(text).collect())
        assert are_same(ours, theirs, is_ordered), f"{text}\nours   {ours}\ntheirs {theirs}"

    return check


def require_same_rows(
    dock: xd.Dock, oracle: duckdb.DuckDBPyConnection, statements: Mapping[int, Any], most: float
) -> None:
    """Runs statements, by seed, in both; at most this share may be refused by either."""
    refused = 0
    for seed, statement in statements.items():
        try:
            theirs = rows_of(oracle.sql(statement.text).to_arrow_table())
            ours = rows_of(dock.sql(statement.text).collect())
        except (duckdb.Error, xd.CrossdockError):
            refused += 1
            continue
        same = are_same(ours, theirs, statement.is_ordered)
        assert same, f"seed {seed}: {statement.text}\n{ours[:5]}\n{theirs[:5]}"
    assert refused < most * len(statements)
