"""The language of --where."""

from __future__ import annotations

import click
import pytest
from crossdock_cli.predicates import parse_predicate


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("a > 3", "a > 3"),
        ("a > -3", "a > -3"),
        ("1 < a <= 3", "(1 < a) & (a <= 3)"),
        ("a == 'x' and b != 2 or not c < 1", "((a == 'x') & (b != 2)) | (~(c < 1))"),
        ("a + b * 2 >= 1.5", "(a + (b * 2)) >= 1.5"),
        ("-a / 2 - 1 < 0", "(((-a) / 2) - 1) < 0"),
        ("a in ['x', 'y']", "a.is_in(('x', 'y'))"),
        ("a not in (1, 2)", "~(a.is_in((1, 2)))"),
        ("a is None and b is not None", "(a.is_null()) & (b.is_valid())"),
        (" flag ", "flag"),
    ],
)
def test_what_is_taken(text: str, expression: str) -> None:
    assert repr(parse_predicate(text)) == expression


@pytest.mark.parametrize(
    "text", ["f(a)", "a.b > 1", "a[0]", "a if b else c", "lambda: 1", "a in b", "a is 3", "a ** 2",
             "a =", "", "a = 1", "__import__('os')", "a in [b]", "a << 2", "{a: 1}"],
)  # fmt: skip
def test_what_is_not(text: str) -> None:
    with pytest.raises(click.UsageError, match="--where"):
        parse_predicate(text)
