"""Functions of strings by patterns, places and separators in the engine against DuckDB: NULLs,
empty strings and characters of several bytes, in every layout that columns of strings have."""

from __future__ import annotations

from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from computed_columns import computed_by_both
from crossdock import _native
from crossdock.expressions.evaluation import evaluate

duckdb = pytest.importorskip("duckdb")
col = xd.col

STRINGS = [
    "special requests", "a-b-c", "", None, "a", "-", "--", "a--b", "abc12-345", "ABC", "ü-ä-ö",
    "xüx", "😀-😀", "a\nb", "  ab ", "12 kg", "0.5 kg", "ab" * 300, "Ünï-cödé", "O'Neil mc-donald",
    "aaa", "c\\d", "$1", "aab", None,
]  # fmt: skip
PARTS = ["-", "b", "", "ü", "😀", None, "ab"]
PLACES = [1, 2, -1, 3, 0, -2, None, 100, -100]
LAYOUTS = {
    "s": pa.string(),
    "ls": pa.large_string(),
    "v": pa.string_view(),
    "e": pa.dictionary(pa.int16(), pa.string()),
}
ROWS = len(STRINGS) * 9 * 7


def turned(values: list[Any], rows: int) -> list[Any]:
    return (values * (rows // len(values) + 1))[:rows]


def strings_table() -> Any:
    strings = turned(STRINGS, ROWS)
    columns = {name: pa.array(strings, data_type) for name, data_type in LAYOUTS.items()}
    points = turned([0x61, 0xFC, 0x1F600, 9, None, 0x10FFFF], ROWS)
    numbers = turned([0, 1, -1, 255, None, 2**63 - 1, -(2**63)], ROWS)
    return pa.table(
        {
            **columns,
            "part": pa.array(turned(PARTS, ROWS)),
            "place": pa.array(turned(PLACES, ROWS), pa.int32()),
            "point": pa.array(points, pa.int64()),
            "number": pa.array(numbers, pa.int64()),
            "small": pa.array(turned([0, 7, 255, None], ROWS), pa.uint8()),
        }
    ).slice(1)


TABLE = strings_table()


@pytest.fixture(scope="module")
def connection() -> Any:
    opened = duckdb.connect(config={"threads": 1})
    opened.register("plain", TABLE.drop_columns(["ls", "v", "e"]))
    opened.execute("create table t as select row_number() over () as n, * from plain")
    return opened


def check(engine: _native.Engine, connection: Any, expression: xd.Expr, sql: str) -> None:
    result, by_evaluation = computed_by_both(engine, expression, TABLE)
    assert result.to_pylist() == by_evaluation.to_pylist(), repr(expression)
    expected = [row for (row,) in connection.sql(f"select {sql} from t order by n").fetchall()]
    assert result.to_pylist() == expected, sql


PATTERNS = ["^a", "b$", "[0-9]+", "a.b", "(?s)a.b", "(?i)abc", "", "ü|ö", "^$", "(a|-)(b)?",
            r"\d+ kg", r"(\d+)\.?(\d*) kg", "a*", "(?:ab)+$", r"\pL+", "[^-]*-([^-]*)"]  # fmt: skip


@pytest.mark.parametrize("pattern", PATTERNS)
def test_regular_expressions(engine: _native.Engine, connection: Any, pattern: str) -> None:
    groups = pattern.replace("(?", "").count("(")
    for name in LAYOUTS:
        string = col(name)
        check(engine, connection, string.matches(pattern), f"regexp_matches(s, '{pattern}')")
        check(engine, connection, string.replace_matches(pattern, "<\\0>"),
              f"regexp_replace(s, '{pattern}', '<\\0>', 'g')")  # fmt: skip
        check(engine, connection, string.replace_matches(pattern, "ü", all=False),
              f"regexp_replace(s, '{pattern}', 'ü')")  # fmt: skip
        for group in range(groups + 1):
            sql = f"regexp_extract(s, '{pattern}', {group})"
            check(engine, connection, string.extract(pattern, group), sql)


@pytest.mark.parametrize("name", LAYOUTS)
def test_parts_and_characters(engine: _native.Engine, connection: Any, name: str) -> None:
    string = col(name)
    for expression, sql in [
        (string.reverse(), "reverse(s)"), (string.code_point(), "ascii(s)"),
        (string.lstrip("a -"), "ltrim(s, 'a -')"), (string.rstrip("cü"), "rtrim(s, 'cü')"),
        (string.lstrip(""), "s"),
        *((string.find(part), f"strpos(s, '{part}') - 1") for part in ("-", "", "ü", "b-", "kg")),
        (string.find(col("part")), "strpos(s, part) - 1"),
        (string.find(string), "strpos(s, s) - 1"),
        *((string.repeat(times), f"repeat(s, {times})") for times in (0, 1, 3, -1)),
        (string.repeat(col("small") % 3), "repeat(s, small % 3)"),
        *((string.split_part(part, place), f"split_part(s, '{part}', {place})")
          for part in ("-", "", "--", "ü") for place in (1, 2, -1, -2, 0, 9)),
        (string.split_part(col("part"), col("place")), "split_part(s, part, place)"),
        (string.split_part("-", col("place")), "split_part(s, '-', place)"),
        ((string + "-" + string).split_part("-", -2), "split_part(s || '-' || s, '-', -2)"),
        (xd.concat(string.extract("[a-z]+"), "!").reverse(),
         "reverse(regexp_extract(s, '[a-z]+') || '!')"),
    ]:  # fmt: skip
        check(engine, connection, expression, sql)


def test_numbers_as_strings(engine: _native.Engine, connection: Any) -> None:
    check(engine, connection, col("point").character(), "chr(point::int)")
    check(engine, connection, col("number").hex(), "hex(number)")
    check(engine, connection, col("small").hex(), "hex(small)")


def test_initials() -> None:
    """DuckDB has no function for these."""
    rows = pa.table({"s": ["hello wORLD", "o'neil mc-donald", "ÄPFEL élan", "1st x2Y", "", None]})
    result = evaluate(col("s").initcap(), rows).to_pylist()
    assert result == ["Hello World", "O'Neil Mc-Donald", "Äpfel Élan", "1st X2y", "", None]
    wide = pa.table({"n": pa.array([2**64 - 1], pa.uint64())})
    assert evaluate(col("n").hex(), wide).to_pylist() == ["F" * 16]


def test_patterns_are_checked_when_a_relation_is_made() -> None:
    with xd.connect(threads=1, ranks="off") as dock:
        rel = dock.from_arrow(pa.table({"s": ["a"]}))
        for wrong, said in [
            (lambda: rel.filter(col("s").matches("(")), r"missing \)"),
            (lambda: rel.select(x=col("s").replace_matches("a**", "b")), "bad repetition"),
            (lambda: rel.select(x=col("s").replace_matches("a", "\\2")), "requests 2 matches"),
            (lambda: rel.select(x=col("s").extract("(a)", 2)), "groups are 0 to 1"),
            (lambda: rel.filter(col("s").matches("a" + "{1000}" * 3)), "repetition"),
        ]:
            with pytest.raises(xd.OptionError, match=said):
                wrong()
        with pytest.raises(xd.OptionError):
            col("s").extract("a", -1)


def test_numbers_that_no_character_has() -> None:
    with xd.connect(threads=1, ranks="off") as dock:
        for number in (-1, 0xD800, 0x110000, 2**40):
            rows = pa.table({"n": pa.array([65, None, number], pa.int64())})
            rel = dock.from_arrow(rows).select(x=col("n").character())
            with pytest.raises(xd.ExpressionError, match="no code point"):
                rel.collect()
