"""The language of --where."""

from __future__ import annotations

import re
from decimal import Decimal

import click
import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.expressions.evaluation import evaluate
from crossdock_cli.predicates import parse_expression, parse_predicate


@pytest.mark.parametrize(
    ("text", "expression"),
    [
        ("a > 3", "a > 3"),
        ("a > -3", "a > -3"),
        ("1 < a <= 3", "(1 < a) & (a <= 3)"),
        ("a == 'x' and b != 2 or not c < 1", "((a == 'x') & (b != 2)) | (~(c < 1))"),
        ("a = 'x' AND b <> 2 OR NOT c < 1", "((a == 'x') & (b != 2)) | (~(c < 1))"),
        ("a + b * 2 >= 1.5", "(a + (b * 2)) >= 1.5"),
        ("-a / 2 - 1 < 0", "(((-a) / 2) - 1) < 0"),
        ("(a + b) // 2 % 3 = -b", "(((a + b) // 2) % 3) == (-b)"),
        ("a in ['x', 'y']", "a.is_in(('x', 'y'))"),
        ("a IN ('it''s', \"y\",)", 'a.is_in(("it\'s", \'y\'))'),
        ("a not in (1, -2)", "~(a.is_in((1, -2)))"),
        ("a is None and b is not None", "(a.is_null()) & (b.is_valid())"),
        ("a IS NULL or b IS NOT NULL", "(a.is_null()) | (b.is_valid())"),
        ("a between 1 and 2 and b", "((a >= 1) & (a <= 2)) & b"),
        ("a not between 1 + 1 and c", "~((a >= (1 + 1)) & (a <= c))"),
        ("a like 'x%' and b not like '_y'", "(a.like('x%')) & (~(b.like('_y')))"),
        ("year(d) = 1995 and lower(s) = 'x'", "((d.year()) == 1995) & ((s.lower()) == 'x')"),
        ("Contains(s, 'x') or starts_with(trim(s), 'y')",
         "(s.contains('x')) | ((s.strip()).starts_with('y'))"),
        ("left(a, 2) = concat(b, 'x')", "(a.substring(0, 2)) == (concat(b, 'x'))"),
        ("truncate(a, 'month') > add_months(b, -1)",
         "(a.truncate('month')) > (b.add_months(-1))"),
        ("greatest(a, week(b)) + sqrt(c)", "(greatest(a, b.week())) + (c.sqrt())"),
        ("abs(a) + round(b, -1) + round(c)", "((a.abs()) + (b.round(-1))) + (c.round(0))"),
        ("strip(s, 'xy') = ''", "(s.strip('xy')) == ''"),
        ("coalesce(a, b, 0) > 0", "coalesce(a, b, 0) > 0".replace("coalesce(a, b, 0)",
                                                                 "(coalesce(a, b, 0))")),
        ("cast(a as int64) = 1", "(a.cast(int64)) == 1"),
        ("cast(a as decimal(15, 2)) = 1", "(a.cast(decimal128(15, 2))) == 1"),
        ("cast(a as varchar) = '1'", "(a.cast(string)) == '1'"),
        ("case when a then 1 when b then 2 else 3 end = c",
         "(when(a).then(1).when(b).then(2).otherwise(3)) == c"),
        ("case when a is null then 1 end", "when(a.is_null()).then(1).otherwise(None)"),
        ("d >= date '1995-01-01'", "d >= '1995-01-01'"),
        ("`odd name` = 0.12345678901234567890", "odd name == Decimal('0.12345678901234567890')"),
        ("date = 1", "date == 1"),
        ("a = 1e3 and b = .5", "(a == 1000.0) & (b == 0.5)"),
        ("flag = true and null is null", "(flag == True) & (None.is_null())"),
        (" flag ", "flag"),
    ],
)  # fmt: skip
def test_what_is_taken(text: str, expression: str) -> None:
    assert repr(parse_predicate(text)) == expression


@pytest.mark.parametrize(
    ("text", "reason", "place"),
    [
        ("f(a)", "no function 'f'", "^"),
        ("a = yeer(b)", "did you mean year?", "    ^^^^"),
        ("b > 1 and \"a\" = 'x'", "did you mean a?", "          ^^^"),
        ('"unit price" in (1, 2)', "did you mean `unit price`?", "^^^^^^^^^^^^"),
        ("a.b > 1", "'.' has no meaning", " ^"),
        ("a[0]", "'[' does not continue", " ^"),
        ("a if b else c", "'if' does not continue", "  ^^"),
        ("lambda: 1", "':' has no meaning", "      ^"),
        ("a in b", "'in' takes a list", "     ^"),
        ("a in [b]", "a constant here", "      ^"),
        ("a in (1, 2", "',' is missing in the list; there is the end", "          ^"),
        ("a is 3", "'null' is missing", "     ^"),
        ("a ** 2", "missing before '*'", "   ^"),
        ("a =", "missing before the end", "   ^"),
        ("", "missing before the end", "^"),
        ("a << 2", "missing before '<'", "   ^"),
        ("{a: 1}", "'{' has no meaning", "^"),
        ("a = 'x", "this text has no end", "    ^"),
        ("a between 1 or 2", "'and' is missing", "            ^^"),
        ("a not 3", "in, between or like", "      ^"),
        ("(a = 1", "')' is missing", "      ^"),
        ("a like b", "a 'text' here", "       ^"),
        ("contains(a, 3)", "a 'text' here", "            ^"),
        ("contains(a)", "takes (value, 'text')", "^^^^^^^^"),
        ("year(a, b)", "takes one argument", "^^^^"),
        ("cast(a as nothing) = 1", "no type 'nothing'", "          ^^^^^^^"),
        ("cast(a as decimal(99))", "no type 'decimal'", "          ^^^^^^^"),
        ("case a when 1 then 2 end", "'when' is missing", "     ^"),
        ("case when a then 2", "'end' is missing", "                  ^"),
        ("and a", "missing before 'and'", "^^^"),
        ("__import__('os')", "no function", "^^^^^^^^^^"),
    ],
)
def test_what_is_not_is_pointed_at(text: str, reason: str, place: str) -> None:
    with pytest.raises(click.UsageError, match=re.escape(reason)) as caught:
        parse_predicate(text)
    what, line, mark = caught.value.message.split("\n")
    assert what.startswith("--where: ")
    assert (line, mark) == (f"  {text}", f"  {place}")


def test_the_option_is_named() -> None:
    with pytest.raises(click.UsageError, match="--agg: "):
        parse_expression("a +", "--agg")


def test_choices_among_constants_keep_their_digits() -> None:
    for text in ("coalesce(-1.5, -1.5)", "case when x > 1 then -1.5 else 2.25 end"):
        result = parse_expression(text, "--select") + xd.col("d")
        rows = pa.table({"x": [2], "d": pa.array([Decimal("0.01")], pa.decimal128(20, 2))})
        assert evaluate(result, rows).to_pylist() == [Decimal("-1.49")]
    beside = parse_expression("coalesce(f, 1.5)", "--select")
    assert evaluate(beside, pa.table({"f": pa.array([None], pa.float32())})).type == pa.float32()


def test_brackets_beyond_all_measure() -> None:
    with pytest.raises(click.UsageError, match="too many brackets"):
        parse_expression("(" * 3000 + "x" + ")" * 3000, "--select")
    with pytest.raises(xd.ExpressionError, match="inside each other"):
        parse_expression("+".join(["x"] * 500), "--select")
