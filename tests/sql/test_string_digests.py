"""Digests and measures of strings of all lengths against Python and DuckDB."""

from __future__ import annotations

import hashlib
import random
import urllib.parse

import crossdock as xd
import duckdb
import pyarrow as pa

LETTERS = ["a", "b", "B", " ", "7", "é", "→", "𝄞", "%", "/"]


def strings(count: int, longest: int) -> list[str | None]:
    draw = random.Random(longest)
    drawn = ["".join(draw.choices(LETTERS, k=draw.randrange(longest))) for _ in range(count)]
    return [None if draw.random() < 0.1 else text for text in drawn]


def test_digests_of_all_lengths(dock: xd.Dock) -> None:
    for longest in (3, 70, 300):
        values = strings(5000, longest)
        dock.register("drawn", dock.from_arrow(pa.table({"s": values})))
        rows = dock.sql("select s, md5(s) m, sha1(s) a, sha256(s) b, url_encode(s) u from drawn")
        for row in rows.collect().to_pylist():
            text = row["s"]
            if text is None:
                assert set(row.values()) == {None}
                continue
            for name, function in {"m": "md5", "a": "sha1", "b": "sha256"}.items():
                assert row[name] == hashlib.new(function, text.encode()).hexdigest()
            assert row["u"] == urllib.parse.quote(text, safe="")


def test_measures_of_ascii_as_in_duckdb(dock: xd.Dock) -> None:
    """Which counts bytes where these are characters."""
    ascii_letters = str.maketrans({"é": "e", "→": "-", "𝄞": "g"})
    drawn = [None if s is None else s.translate(ascii_letters) for s in strings(3000, 20)]
    table = pa.table({"s": drawn, "r": drawn[::-1]})
    dock.register("drawn", dock.from_arrow(table))
    query = (
        "select levenshtein(s, r) l, jaro_similarity(s, r) j, jaro_winkler_similarity(s, r) w, "
        "translate(s, 'ab7', 'x') t, jaccard(s, r) c from drawn where s > '' and r > ''"
    )
    connection = duckdb.connect()
    connection.register("drawn", table)
    expected = connection.sql(query).fetchall()
    for row, other in zip(dock.sql(query).collect().to_pylist(), expected, strict=True):
        for value, known in zip(row.values(), other, strict=True):
            assert value == known or abs(value - known) < 1e-9, (row, other)


def test_strings_that_come_again_are_looked_up(dock: xd.Dock) -> None:
    """Of few and of many values, in turns, longer and shorter than what is kept of them."""
    values = [f"{i % 11}x" for i in range(30_000)] + [f"{i}y" for i in range(30_000)]
    values += ["z" * (i % 3000) for i in range(9_000)] + values[:20_000]
    dock.register("drawn", dock.from_arrow(pa.table({"s": values})))
    rows = dock.sql(
        "select s, md5(s) m, regexp_replace(s, '([0-9])x', '\\1-', 'g') r, "
        "regexp_extract(s, '[0-9]+') e, regexp_matches(s, '^[0-9]*[13579]') o from drawn"
    ).collect()
    for text, row in zip(values, rows.to_pylist(), strict=True):
        digits = text.rstrip("xyz")
        assert row == {
            "s": text,
            "m": hashlib.md5(text.encode(), usedforsecurity=False).hexdigest(),
            "r": f"{digits}-" if text.endswith("x") else text,
            "e": digits,
            "o": any(digit in "13579" for digit in digits),
        }
