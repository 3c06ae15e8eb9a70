"""Expressions over strings in the engine against DuckDB and pyarrow: NULLs, empty strings, zero
bytes, characters of several bytes, long strings, in every layout that columns of strings have."""

from __future__ import annotations

import itertools
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from computed_columns import computed_by_both
from crossdock import _native
from crossdock.expressions.engine_expressions import Compiler
from crossdock.expressions.evaluation import evaluate

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


def check(engine: _native.Engine, connection: Any, expression: xd.Expr, sql: str | None) -> None:
    result, by_pyarrow = computed_by_both(engine, expression, TABLE)
    assert result.to_pylist() == by_pyarrow.to_pylist(), repr(expression)
    if sql is not None:
        expected = [row for (row,) in connection.sql(f"select {sql} from t order by n").fetchall()]
        assert result.to_pylist() == expected, sql


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


@pytest.mark.parametrize("start", [0, 1, 3, 5, -1, -3, -6])
def test_parts(engine: _native.Engine, connection: Any, start: int) -> None:
    """DuckDB counts from 1, and from the end as here; its lengths go back from the start there."""
    first = start if start < 0 else start + 1
    for name in LAYOUTS:
        string = col(name)
        check(engine, connection, string.substring(start), f"substring(s, {first})")
        for length in (0, 1, 2, 5, 100):
            sql = f"substring(s, {first}, {length})" if start >= 0 else None
            check(engine, connection, string.substring(start, length), sql)
        if start >= 0:
            check(engine, connection, string.left(start), f"left(s, {start})")
            check(engine, connection, string.right(start), f"right(s, {start})")


@pytest.mark.parametrize("name", LAYOUTS)
def test_changed_strings(engine: _native.Engine, connection: Any, name: str) -> None:
    string = col(name)
    for expression, sql in [
        (string.lower(), "lower(s)"), (string.upper(), "upper(s)"), (string.strip(), None),
        (string.strip("a b"), "trim(s, 'a b')"), (string.strip("aü"), "trim(s, 'aü')"),
        (string.strip(""), "s"), (string.length(), "length(s)"),
        (string.replace("a", "xyz"), "replace(s, 'a', 'xyz')"),
        (string.replace("ab", ""), "replace(s, 'ab', '')"),
        (string.replace("", "q"), "replace(s, '', 'q')"),
        (string.replace("ü", "u"), "replace(s, 'ü', 'u')"),
        (string.replace("special requests", "r"), "replace(s, 'special requests', 'r')"),
        *((string.lpad(width, "ü"), f"lpad(s, {width}, 'ü')") for width in (0, 1, 3, 40)),
        *((string.rpad(width), f"rpad(s, {width}, ' ')") for width in (0, 1, 3, 40)),
        (string.length().cast("string"), "length(s)::varchar"),
    ]:  # fmt: skip
        check(engine, connection, expression, sql)


@pytest.mark.parametrize("name", LAYOUTS)
def test_joined_and_chosen_strings(engine: _native.Engine, connection: Any, name: str) -> None:
    string, other = col(name), col(f"{name}2")
    for expression, sql in [
        (string + other, "s || s2"), ("x" + string, "'x' || s"),
        (xd.concat(string, "-", other, "ü"), "s || '-' || s2 || 'ü'"),
        (xd.concat(string, None), "s || null"),
        (xd.greatest(string, other, "b"), "greatest(s, s2, 'b')"),
        (xd.least(string, other), "least(s, s2)"),
        (xd.nullif(string, "a"), "nullif(s, 'a')"), (xd.nullif(string, other), "nullif(s, s2)"),
        (xd.coalesce(string, other, "none"), "coalesce(s, s2, 'none')"),
        (xd.coalesce(string, None, other.upper()), "coalesce(s, null, upper(s2))"),
        (xd.when(string > "b").then("x"), "case when s > 'b' then 'x' end"),
        (xd.when(string > "b").then(string).when(other == "a").then("a literal, quite long")
         .otherwise(other.lower()),
         "case when s > 'b' then s when s2 = 'a' then 'a literal, quite long' else lower(s2) end"),
        (string.lower() == other.upper(), "lower(s) = upper(s2)"),
        (string.lower().is_in(["a", "ab"]), "lower(s) in ('a', 'ab')"),
        ((string + other).like("%a_b%"), "(s || s2) like '%a_b%'"),
    ]:  # fmt: skip
        check(engine, connection, expression, sql)
    check(engine, connection, xd.lit("a literal, quite long"), "'a literal, quite long'")


def test_white_space(engine: _native.Engine) -> None:
    """Every character is white space to the engine where it is to pyarrow."""
    letters = [chr(code) for code in range(0x110000) if not 0xD800 <= code < 0xE000]
    rows = pa.table({"s": [f"{letter}x{letter}" for letter in letters]})
    expression = col("s").strip()
    table = _native.Table.from_stream(engine, rows)
    compiled = Compiler(table.column, rows.schema).compile(expression)
    assert compiled is not None
    result = pa.table(_native.compute_columns(engine, table, [("x", compiled)]))["x"]
    assert result.cast(pa.string()).equals(evaluate(expression, rows))


def test_strings_beyond_the_budget() -> None:
    small = _native.Engine(threads=1, memory_bytes=1 << 24)
    rows = pa.table({"s": ["x" * 65_536] * 500})
    table = _native.Table.from_stream(small, rows)
    compiled = Compiler(table.column, rows.schema).compile(col("s").upper() + "y")
    assert compiled is not None
    with pytest.raises(_native.NativeError, match="CD-201") as error:
        _native.compute_columns(small, table, [("x", compiled)])
    assert "the strings of expressions" in str(error.value)
