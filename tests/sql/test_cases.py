"""Statements by feature (cases/*.sql) have the rows of DuckDB."""

from __future__ import annotations

from pathlib import Path

import pytest
from crossdock.sql_frontend.text.tokens import statements_of

from .conftest import Compare

CASES = Path(__file__).parent / "cases"


def cases() -> list[tuple[str, str, bool]]:
    """File, statement, and whether `-- ordered` stands before it."""
    result = []
    for file in sorted(CASES.glob("*.sql")):
        text = file.read_text(encoding="utf-8")
        last = 0
        for start, end in statements_of(text):
            result.append((file.stem, text[start:end], "-- ordered" in text[last:start]))
            last = end
    return result


@pytest.mark.parametrize(
    ("text", "is_ordered"),
    [pytest.param(text, ordered, id=f"{name}: {text[:60]}") for name, text, ordered in cases()],
)
def test_rows_are_those_of_duckdb(text: str, is_ordered: bool, compare: Compare) -> None:
    compare(text, is_ordered)


def test_there_are_a_few_hundred() -> None:
    assert len(cases()) > 250
