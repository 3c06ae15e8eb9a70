"""docs/reference-sql-functions.md has every function, with what it gives, which DuckDB says too."""

from __future__ import annotations

import os
from pathlib import Path

import crossdock as xd
import duckdb
import pytest

from .conftest import are_same, rows_of
from .function_examples import EXAMPLES, OTHERS, named, page, query

PAGE = Path(__file__).resolve().parents[2] / "docs" / "reference-sql-functions.md"
CASES = [(h, name) for h, examples in EXAMPLES.items() for name in examples]


def test_every_function_has_an_example() -> None:
    assert {heading: frozenset(examples) for heading, examples in EXAMPLES.items()} == named()


def test_the_page_is_current(dock: xd.Dock) -> None:
    expected = page(dock)
    if os.environ.get("GOLDEN_UPDATE") == "1":
        PAGE.write_text(expected, encoding="utf-8")
    assert PAGE.read_text(encoding="utf-8") == expected


@pytest.mark.parametrize(("heading", "name"), CASES)
def test_examples_give_what_duckdb_gives(
    heading: str, name: str, dock: xd.Dock, oracle: duckdb.DuckDBPyConnection
) -> None:
    text = query(heading, EXAMPLES[heading][name])
    ours = rows_of(dock.sql(text).collect())
    assert ours
    if name not in OTHERS:
        theirs = rows_of(oracle.sql(text).to_arrow_table())
        assert are_same(ours, theirs, is_ordered=True), f"{text}\nours   {ours}\ntheirs {theirs}"
