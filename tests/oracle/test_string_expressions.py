"""Expressions over strings in the engine against DuckDB and pyarrow: NULLs, empty strings, zero
bytes, characters of several bytes, long strings, in every layout that columns of strings have."""

from __future__ import annotations

import itertools
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock import _native
from crossdock.evaluation import evaluate
from crossdock.fusion import compile_expression

duckdb = pytest.importorskip("duckdb")
col = xd.col

LONG = "ab" * 32_768
STRINGS = [
    "special requests", "a special kind of requests", "requests, special", "Special Requests",
    "", None, "a", "A", "ab", "abc", "abcabc", "\0", "a\0b", "b\0a", "%", "a%b", "_", "a_b", "\\",
    "a\\b", "ü", "Üb", "aüb", "ßẞ", "😀", "a😀b", "a\nb", "  ab ", "Ab Üñï", "İI", "ſs", "Σσς",
    "K", LONG, LONG + "special requests", "x" + LONG + "ü", None,
]  # fmt: skip
LAYOUTS = {
    "s": pa.string(),
    "ls": pa.large_string(),
    "v": pa.string_view(),
    "e": pa.dictionary(pa.int16(), pa.string()),
}


def strings_table() -> Any:
    """Each pair of neighbours in some order, so that every string meets others; and slices begin
    anywhere."""
    turned = [STRINGS[(i * 7) % len(STRINGS)] for i in range(len(STRINGS))]
    columns = {name: pa.array(STRINGS * 3, data_type) for name, data_type in LAYOUTS.items()}
    others = {f"{name}2": pa.array([*STRINGS, *turned, *STRINGS[::-1]], data_type)
              for name, data_type in LAYOUTS.items()}  # fmt: skip
    return pa.table({**columns, **others}).slice(1)


TABLE = strings_table()


@pytest.fixture(scope="module")
def engine() -> _native.Engine:
    return _native.Engine(threads=2, memory_bytes=1 << 28)


@pytest.fixture(scope="module")
def connection() -> Any:
    opened = duckdb.connect(config={"threads": 1})
    plain = pa.table({name: TABLE[name].cast(pa.string()) for name in ("s", "s2")})
    opened.register("plain", plain)
    opened.execute("create table t as select row_number() over () as n, * from plain")
    return opened


def by_engine(engine: _native.Engine, expression: xd.Expr) -> Any:
    compiled = compile_expression(expression, TABLE.schema)
    assert compiled is not None, repr(expression)
    rows = _native.Table.from_stream(engine, TABLE)
    found = pa.table(_native.compute_columns(engine, rows, [("x", compiled)]))["x"]
    found.validate(full=True)
    return found


def check(engine: _native.Engine, connection: Any, expression: xd.Expr, sql: str | None) -> None:
    found = by_engine(engine, expression)
    by_pyarrow = evaluate(expression, TABLE)
    assert found.type == by_pyarrow.type
    assert found.to_pylist() == by_pyarrow.to_pylist(), repr(expression)
    if sql is not None:
        expected = [row for (row,) in connection.sql(f"select {sql} from t order by n").fetchall()]
        assert found.to_pylist() == expected, sql


PATTERNS = [
    "%special%requests%", "special%", "%requests", "a_b", "_", "__", "%_", "_%", "%", "", "%b",
    "a%b", "a%b%c", "%\0%", "_\0_", "%ü%", "a_b%", "_ü_", "%😀", "%ab_", "%ab%ab%ab",
    "%a_b%a_b%", "ab%ab", "%x%ü", "%Special%", "ſ%", "%ß", "%_____________________%", "İ%", "k",
]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_patterns(engine: _native.Engine, connection: Any, pattern: str) -> None:
    literal = "'" + pattern.replace("\0", "'||chr(0)||'") + "'"
    for name in LAYOUTS:
        check(engine, connection, col(name).like(pattern), f"s like {literal}")
        check(engine, connection, ~col(name).like(pattern), f"s not like {literal}")
        check(engine, connection, col(name).ilike(pattern), f"s ilike {literal}")


def test_escapes(engine: _native.Engine, connection: Any) -> None:
    for pattern, escape in [("a!%b", "!"), ("%!_%", "!"), ("!%", "!"), ("%ü_%", "ü"), ("a\\b", ""),
                            ("%\\%", "!"), ("a\\\\b", "\\"), ("A\\_b", "\\")]:  # fmt: skip
        suffix = f" escape '{escape}'" if escape else ""
        sql = f"s like '{pattern}'{suffix}" if escape.isascii() else None
        check(engine, connection, col("s").like(pattern, escape), sql)
        if sql is not None:
            check(engine, connection, col("v").ilike(pattern, escape), sql.replace("like", "ilike"))
    for pattern, escape in [("a\\", "\\"), ("a", "ab"), ("a", 3)]:
        with pytest.raises(xd.OptionError):
            col("s").like(pattern, escape)  # type: ignore[arg-type]


COMPARED = {"==": "=", "!=": "<>", "<": "<", "<=": "<=", ">": ">", ">=": ">="}


@pytest.mark.parametrize("sign", COMPARED)
def test_columns_are_compared(engine: _native.Engine, connection: Any, sign: str) -> None:
    for a, b in itertools.product(LAYOUTS, LAYOUTS):
        left, right = col(a), col(f"{b}2")
        expression = {
            "==": left == right, "!=": left != right, "<": left < right,
            "<=": left <= right, ">": left > right, ">=": left >= right,
        }[sign]  # fmt: skip
        check(engine, connection, expression, f"s {COMPARED[sign]} s2")


def test_lists_of_strings(engine: _native.Engine, connection: Any) -> None:
    few = ["a", "", "ab"]
    many = [*few, *(f"x{i}" for i in range(20)), "ü", "abcabc"]
    for listed in (few, many):
        sql = ", ".join(f"'{value}'" for value in listed)
        for name in LAYOUTS:
            check(engine, connection, col(name).is_in(listed), f"s in ({sql})")
