"""Functions of JSON documents, in the engine against DuckDB: random documents in many spellings,
some of them damaged, at paths of every kind."""

from __future__ import annotations

import random
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from computed_columns import computed
from crossdock import _native
from crossdock.errors import CrossdockError
from crossdock.expressions.evaluation import evaluate
from crossdock.expressions.expression import Call

duckdb = pytest.importorskip("duckdb")
col = xd.col

KEYS = [
    "a",
    "b",
    "x y",
    "",
    "é",
    "0",
    "a.b",
    'quo\\"te',
    "\\u0061",
    "\\n",
    "long key of many letters",
]
STRINGS = [
    "",
    "x",
    "two words",
    "é😀",
    "\\u00e9",
    "\\ud83d\\ude00",
    "a\\\\b",
    '\\"',
    "\\/",
    "\\b\\f\\n\\r\\t",
    "\\u0000",
    "\\u001f",
    "\x7f",
    "12345678",
    "1234567890123456\\n789",
    "null",
]
NUMBERS = [
    "0",
    "-0",
    "7",
    "-12",
    "1.5",
    "1.50",
    "-0.0",
    "1e5",
    "1E+2",
    "1e-7",
    "0.000001",
    "0.0000012",
    "1e21",
    "1e22",
    "123456789012345.6",
    "0.1234567890123456789",
    "9007199254740993.0",
    "18446744073709551615",
    "18446744073709551616",
    "-9223372036854775808",
    "-9223372036854775809",
    "1e400",
    "-1e400",
    "1e-400",
    "5e-324",
    "0e1",
    "-0e-1",
    "100000000000000000000.5",
    "1" * 60,
    "NaN",
    "-nan",
    "Infinity",
    "-inf",
]
PATHS = [
    "$",
    "$.a",
    "a",
    "$.a.b",
    "$.b[0]",
    "$[0]",
    "$[#-1]",
    "$[-2]",
    "$[1].a",
    "$[#]",
    "$.a[#-1].b",
    '$."x y"',
    '$."a.b"',
    "$.é",
    "/a",
    "/a/b",
    "/a/0",
    "/0",
    "/01",
    "/-1",
    "/",
    "/a/",
    "",
    "0",
    "x y",
    '$."quo\\"te"',
    "$[00]",
    "$[-0]",
    "/~01",
    "long key of many letters",
]
DAMAGED = [
    "",
    " ",
    "{",
    "[1,2",
    "{}}",
    "nul",
    "tru",
    "01",
    "1.",
    ".5",
    "+1",
    "1e",
    "- 1",
    "[1 2]",
    '{"a"}',
    "{a:1}",
    "{'a': 1}",
    "[,]",
    "[1,,]",
    "{,}",
    '{"a":1,,}',
    "[1}",
    '"\\q"',
    '"\\ud800"',
    '"\\udc00"',
    '"\\ud800\\u0041"',
    '"\\u12g4"',
    '"tab\tin"',
    '"open',
    '"\\',
    "{} x",
    "//",
    "\ufeff{}",
    "nan1",
    "\x00",
    "infinit",
    '{"a": [1, {"b": }]}',
]
FUNCTIONS = [
    "json_extract",
    "json_extract_string",
    "json_type",
    "json_array_length",
    "json_keys",
    "json_exists",
]


def drawn(rng: random.Random, levels: int) -> str:
    """A document in one of its spellings."""

    def space() -> str:
        return rng.choice(["", "", "", " ", "\n\t", "\r  "])

    kind = rng.random()
    if levels == 0 or kind < 0.3:
        return rng.choice(
            [f'"{rng.choice(STRINGS)}"', rng.choice(NUMBERS), "true", "false", "null"]
        )
    items = [drawn(rng, levels - 1) for _ in range(rng.randrange(4))]
    if kind < 0.7:
        items = [f'"{rng.choice(KEYS)}"{space()}:{space()}{item}' for item in items]
    end = f"{space()}," if items and rng.random() < 0.1 else ""
    inside = f"{space()},{space()}".join(items)
    opening, closing = "{}" if kind < 0.7 else "[]"
    return f"{opening}{space()}{inside}{end}{space()}{closing}"


def damaged(rng: random.Random, document: str) -> str:
    """The document with one character changed, or some left out."""
    place = rng.randrange(len(document))
    instead = rng.choice(["", "{", "}", "[", "]", ",", ":", '"', "\\", "e", "-", "0", " ", "\x01"])
    return document[:place] + instead + document[place + rng.randrange(3) :]


def documents(seed: int, count: int) -> list[str | None]:
    rng = random.Random(seed)
    return [None if i % 37 == 0 else drawn(rng, rng.randrange(6)) for i in range(count)]


TABLE = pa.table({"s": pa.array(documents(1, 3000), pa.string())})


def by_both(engine: _native.Engine, call: xd.Expr, table: pa.Table) -> list[Any]:
    """What the engine computes and what expressions evaluate to, which are the same."""
    values = evaluate(call, table).to_pylist()
    if not repr(call).startswith("s.json_keys"):  # lists, which the engine does not compute
        assert computed(engine, call, table).to_pylist() == values
    return values


@pytest.mark.parametrize("path", PATHS)
def test_values_at_paths(engine: _native.Engine, connection: Any, path: str) -> None:
    for function in FUNCTIONS:
        expected = connection.execute(f"select {function}(s, '{path}') from t").fetchall()
        values = by_both(engine, Call(function, (col("s"),), path), TABLE)
        for document, value, (other,) in zip(TABLE["s"].to_pylist(), values, expected, strict=True):
            assert value == other, (document, function, path)


def test_valid_documents(engine: _native.Engine, connection: Any) -> None:
    rng = random.Random(2)
    whole = [document for document in documents(3, 20_000) if document]
    strings = [*DAMAGED, *(damaged(rng, document) for document in whole), None]
    table = pa.table({"s": pa.array(strings, pa.string())})
    connection.register("u", table)
    expected = [row for (row,) in connection.execute("select json_valid(s) from u").fetchall()]
    assert 100 < expected.count(True) < 19_000
    values = by_both(engine, Call("json_valid", (col("s"),)), table)
    for document, value, other in zip(strings, values, expected, strict=True):
        assert value == other, document
    valid = pa.table(
        {"s": pa.array([s for s, e in zip(strings, expected, strict=True) if e], pa.string())}
    )
    connection.register("v", valid)
    same = [row for (row,) in connection.execute("select json_extract(s, '$') from v").fetchall()]
    assert by_both(engine, Call("json_extract", (col("s"),), "$"), valid) == same


@pytest.mark.parametrize("document", DAMAGED)
@pytest.mark.parametrize("function", FUNCTIONS)
def test_damaged_documents_are_errors(engine: _native.Engine, document: str, function: str) -> None:
    table = pa.table({"s": ['{"a": 1}', document]})
    with pytest.raises(CrossdockError, match="is of a string that is no JSON from byte"):
        evaluate(Call(function, (col("s"),), "$.a"), table)


def test_paths_of_one_column_and_into_what_a_path_leads_to(
    engine: _native.Engine, connection: Any
) -> None:
    a = Call("json_extract", (col("s"),), "$.a")
    for call, sql in (
        (Call("json_extract_string", (a,), "b"), "s -> '$.a' ->> 'b'"),
        (Call("json_exists", (a,), "b"), "json_exists(s -> '$.a', 'b')"),
        (Call("json_array_length", (a,), "$"), "json_array_length(s -> '$.a')"),
        (
            Call("json_extract", (Call("json_extract", (a,), "$.b"),), "/0"),
            "s -> 'a' -> 'b' -> '/0'",
        ),
    ):
        expected = [row for (row,) in connection.execute(f"select {sql} from t").fetchall()]
        assert by_both(engine, call, TABLE) == expected, sql


def test_dictionaries_and_other_layouts(engine: _native.Engine) -> None:
    strings = pa.array((documents(5, 90) * 40)[:3000], pa.string())
    call = Call("json_extract_string", (col("s"),), "$.a")
    expected = by_both(engine, call, pa.table({"s": strings}))
    for layout in (
        strings.dictionary_encode(),
        strings.cast(pa.large_string()),
        strings.cast(pa.string_view()),
    ):
        assert by_both(engine, call, pa.table({"s": layout})) == expected, layout.type


def test_documents_in_each_other_and_long_strings(engine: _native.Engine, connection: Any) -> None:
    levels = [1, 63, 64, 65, 128, 129, 1000, 100_000]
    deep = ["[" * n + "]" * n for n in levels] + ['{"a":' * n + "1" + "}" * n for n in levels]
    table = pa.table({"s": [*deep, '{"a": "' + "x" * 100_000 + '\\n"}']})
    connection.register("u", table)
    for function, path in (
        ("json_extract", "$"),
        ("json_extract", "$.a"),
        ("json_array_length", "$"),
    ):
        expected = connection.execute(f"select {function}(s, '{path}') from u").fetchall()
        assert by_both(engine, Call(function, (col("s"),), path), table) == [
            row for (row,) in expected
        ]
    too_deep = pa.table({"s": ["[" * 1_100_000 + "]" * 1_100_000]})
    with pytest.raises(CrossdockError, match="from byte 1048576 on"):
        evaluate(Call("json_extract", (col("s"),), "$.a"), too_deep)
