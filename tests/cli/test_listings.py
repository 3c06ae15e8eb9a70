"""The lists of the command line: aggregates, orders, keys and names; random input ends in a clear
error or in a value that means the same when it is written down again."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import click
import crossdock as xd
import pytest
from crossdock_cli.listings import (
    parse_aggregates,
    parse_group_keys,
    parse_key_pairs,
    parse_names,
    parse_orders,
)
from hypothesis import given, settings
from hypothesis import strategies as st

PARSERS: tuple[Callable[[str, str], Any], ...] = (
    parse_aggregates,
    parse_orders,
    parse_group_keys,
    parse_key_pairs,
    parse_names,
)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("n=count(*)", {"n": "count()"}),
        ("n = COUNT( * ), c=count()", {"n": "count()", "c": "count()"}),
        ("count(*), sum(x), avg(`a b`)", {"count": "count()", "sum_x": "sum(x)",
                                          "mean_a b": "mean(a b)"}),
        ("q=quantile(x, 0.5), p=quantile(x,1)", {"q": "quantile(x, q=0.5)",
                                                 "p": "quantile(x, q=1.0)"}),
        ("d=count_distinct(y), e=count(distinct y)", {"d": "count_distinct(y)",
                                                      "e": "count_distinct(y)"}),
        ("v=var(x), w=variance(x, 0), s=std(x, 2)", {"v": "var(x)", "w": "var(x, ddof=0)",
                                                     "s": "stddev(x, ddof=2)"}),
        ("s=sum(p * (1 - d)) where q > 2 and m in ('a,b', 'c)'), n=count(*) where ok",
         {"s": "sum(p * (1 - d)).where((q > 2) & (m.is_in(('a,b', 'c)'))))",
          "n": "count().where(ok)"}),
        ("`the sum`=sum(x)", {"the sum": "sum(x)"}),
        ("s=sum(x, wide=true), t=sum(x, wide = False)",
         {"s": "sum(x, wide=True)", "t": "sum(x)"}),
        ("s=sum(x, floats=exact), m=mean(x, floats='exact'), f=sum(x, wide=true, floats=exact)",
         {"s": "sum(x, floats='exact')", "m": "mean(x, floats='exact')",
          "f": "sum(x, wide=True, floats='exact')"}),
        ("v=var(x, ddof=0), q=quantile(x, q=0.25)",
         {"v": "var(x, ddof=0)", "q": "quantile(x, q=0.25)"}),
        ("b=bool_and(x = 1)", {"b": "bool_and(x == 1)"}),
        ("m=median(x)", {"m": "quantile(x, q=0.5)"}),
        ("count=count(*), sum=sum(sum)", {"count": "count()", "sum": "sum(sum)"}),
        ("sum(x) as t", {"t": "'sum(x)'"}),
        ("sum(a, wide=true), round(sum(x) / count(*), 2) AS \"the mean\", c=sum(cast(x as int64))",
         {"sum_a": "sum(a, wide=True)", "the mean": "'round(sum(x) / count(*), 2)'",
          "c": "sum(x.cast(int64))"}),
        ("string_agg(s, ',' order by t) filter (where u in (1, 2)) as l",
         {"l": "\"string_agg(s, ',' order by t) filter (where u in (1, 2))\""}),
    ],
)  # fmt: skip
def test_aggregates(text: str, expected: dict[str, str]) -> None:
    assert {name: repr(item) for name, item in parse_aggregates(text).items()} == expected


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a", ["a"]),
        ("a asc, b DESC", ["a", "b desc"]),
        ("a desc nulls first, b nulls last,c nulls first", ["a desc nulls first", "b",
                                                            "c nulls first"]),
        ("`a desc` desc", ["a desc desc"]),
        ("price * (1 - d) desc, lower(name)", ["price * (1 - d) desc", "name.lower()"]),
        ("nulls nulls first", ["nulls nulls first"]),
    ],
)  # fmt: skip
def test_orders(text: str, expected: list[str]) -> None:
    assert [repr(order) for order in parse_orders(text)] == expected


def test_keys_and_names() -> None:
    result = parse_group_keys("city, y=year(day), `a b`")
    assert {name: repr(key) for name, key in result.items()} == {
        "city": "city", "y": "day.year()", "a b": "a b",
    }  # fmt: skip
    assert parse_names("a, `b c`,d, `e ``f```", "--select") == ["a", "b c", "d", "e `f`"]
    assert parse_key_pairs("a, `b c`=d,e=`f`") == [("a", "a"), ("b c", "d"), ("e", "f")]


@pytest.mark.parametrize(
    ("parse", "text", "at", "words"),
    [
        (parse_aggregates, "n=count(*), s=summ(x)", 14, "did you mean sum?"),
        (parse_aggregates, "n=count(*) s=sum(x)", 11, "a comma is missing"),
        (parse_aggregates, "max(x) as m, s=summ(x)", 15, "did you mean sum?"),
        (parse_aggregates, "q=quantile(x, 2)", 14, "not a share"),
        (parse_aggregates, "q=quantile(x)", 12, "the share is missing"),
        (parse_aggregates, "q=quantile(x, y)", 14, "a constant"),
        (parse_aggregates, "v=var(x, -1)", 9, "degrees of freedom"),
        (parse_aggregates, "s=sum(x, wdie=true)", 9, "no option 'wdie'; did you mean wide=?"),
        (parse_aggregates, "s=sum(x, q=1)", 9, "its options are wide=, floats="),
        (parse_aggregates, "m=min(x, q=1)", 9, "it has no options"),
        (parse_aggregates, "m=min(x, 1)", 9, "takes one argument; it has no options"),
        (parse_aggregates, "s=sum(x, true)", 9, "takes one argument; its options are wide=, f"),
        (parse_aggregates, "s=sum(x, wide=1)", 9, "neither True nor False; try wide=True"),
        (parse_aggregates, "s=sum(x, floats=exct)", 9, "choices fast, exact; try floats='exact'"),
        (parse_aggregates, "s=sum(x, wide=true, wide=true)", 20, "wide= is there twice"),
        (parse_aggregates, "s=sum(x, wide=)", 14, "before ')'"),
        (parse_aggregates, "s=sum(x y)", 8, "stands in backquotes: `x y`"),
        (parse_aggregates, "", 0, "an aggregate is missing"),
        (parse_aggregates, "n=count(*),", 11, "before the end"),
        (parse_aggregates, "n=count(*), n=sum(a)", 12, "'n' is there twice"),
        (parse_aggregates, "n=count(*), sum(a) where b", 12, "a name is missing"),
        (parse_aggregates, "sum(a + 1)", 0, "name=sum(...)"),
        (parse_aggregates, "s=sum(a", 7, "')' is missing"),
        (parse_aggregates, "s=sum(*)", 6, "'*'"),
        (parse_aggregates, "s=sum()", 6, "')'"),
        (parse_aggregates, "s=sum a", 6, "'(' is missing"),
        (parse_aggregates, "s=sum('a)", 6, "no end"),
        (parse_orders, "a dsc, b", 2, "did you mean desc?"),
        (parse_orders, "a desc nulls", 12, "first or last is missing"),
        (parse_orders, "a, , b", 3, "','"),
        (parse_orders, "a,", 2, "an order is missing"),
        (parse_orders, "a b", 2, "a comma ends an order"),
        (parse_orders, "a desc nulls first last", 19, "'last'"),
        (parse_orders, "a $ b", 2, "'$' has no meaning"),
        (parse_group_keys, "a, year(d)", 3, "name=year(d)"),
        (parse_group_keys, "a, b, a", 6, "'a' is there twice"),
        (parse_group_keys, "", 0, "a key is missing"),
        (parse_names, "a b", 2, "a comma is missing before 'b'; a name with spaces or signs"),
        (parse_names, "unit-price", 4, "stands in backquotes: `unit-price`"),
        (parse_names, "2x", 0, "a column is missing"),
        (parse_names, "a, $b", 3, "'$' has no meaning; a name with spaces or signs stands in"),
        (parse_group_keys, "unit price", 5, "stands in backquotes: `unit price`"),
        (parse_orders, "unit price desc", 5, "stands in backquotes: `unit price`"),
        (parse_key_pairs, "a=", 2, "a column is missing"),
        (parse_key_pairs, "a=b c", 4, "stands in backquotes: `b c`"),
        (parse_names, "a, 3", 3, "a column is missing"),
    ],
)
def test_errors_point_at_their_place(
    parse: Callable[[str, str], Any], text: str, at: int, words: str
) -> None:
    with pytest.raises(click.UsageError) as caught:
        parse(text, "--some")
    what, line, mark = caught.value.message.split("\n")
    assert what.startswith("--some: ")
    assert words in what
    assert line == "  " + text
    assert mark.index("^") - 2 == at


WORDS = st.sampled_from(
    ["a", "b c", "x", "sum", "count", "quantile", "(", ")", ",", "=", "*", "desc", "nulls", "first",
     "where", "0.5", "-1", "'t'", "`q`", "`", "'", " ", "1e999", "distinct", "case", "é", "\n", "[",
     "not", "cast(x as int64)", "%", "//", "\0"]
)  # fmt: skip


def refusal(parse: Callable[[str, str], Any], text: str) -> str:
    """Why a text is refused; "" when it is read."""
    try:
        assert parse(text, "--some")
    except click.UsageError as error:
        return error.message
    return ""


@given(words=st.lists(WORDS, max_size=14), parse=st.sampled_from(PARSERS))
@settings(max_examples=600)
def test_any_words_are_read_or_refused_with_a_place(
    words: list[str], parse: Callable[[str, str], Any]
) -> None:
    result = refusal(parse, "".join(words))
    assert result == "" or re.fullmatch(r"--some: .+\n  .*\n  ?.* *\^+.*", result, re.DOTALL)


@given(text=st.text(max_size=30), parse=st.sampled_from(PARSERS))
@settings(max_examples=300)
def test_any_letters_are_read_or_refused(text: str, parse: Callable[[str, str], Any]) -> None:
    result = refusal(parse, text)
    assert result == "" or result.startswith("--some: ")


NAMES = st.from_regex(r"[a-z_][a-z0-9_ ]{0,8}", fullmatch=True)
UNARY = ("sum", "min", "max", "mean", "count_distinct", "approx_distinct", "first", "any")


@st.composite
def aggregate_lists(draw: st.DrawFn) -> dict[str, xd.Aggregate]:
    names = draw(st.lists(NAMES, min_size=1, max_size=4, unique=True))
    result = {}
    for name in names:
        column = draw(NAMES)
        function = draw(st.sampled_from((*UNARY, "quantile", "count")))
        item = xd.count() if function == "count" else (
            xd.quantile(column, draw(st.floats(0, 1)))
            if function == "quantile"
            else getattr(xd, function)(column)
        )  # fmt: skip
        result[name] = item.where(xd.col(draw(NAMES)) > 3) if draw(st.booleans()) else item
    return result


@given(aggregate_lists(), st.sampled_from([" ", "  ", "\t"]))
@settings(max_examples=200)
def test_aggregates_that_are_written_down_come_back(
    items: dict[str, xd.Aggregate], space: str
) -> None:
    def written(name: str, item: xd.Aggregate) -> str:
        subject = "*" if item.argument is None else f"`{item.argument!r}`"
        options = "".join(f",{space}{value!r}" for _, value in item.options)
        text = f"`{name}`{space}={space}{item.function}({subject}{options})"
        if item.condition is not None:
            column = next(iter(item.condition.columns()))
            text += f"{space}where{space}`{column}`{space}>{space}3"
        return text

    text = f"{space},".join(written(name, item) for name, item in items.items())
    result = parse_aggregates(text)
    assert {n: repr(i) for n, i in result.items()} == {n: repr(i) for n, i in items.items()}


@given(st.lists(st.tuples(NAMES, st.booleans(), st.sampled_from(["", "first", "last"])),
                min_size=1, max_size=5))  # fmt: skip
def test_orders_that_are_written_down_come_back(orders: list[tuple[str, bool, str]]) -> None:
    text = ", ".join(
        f"`{name}`" + (" desc" if descending else "") + (f" nulls {nulls}" if nulls else "")
        for name, descending, nulls in orders
    )
    assert [order.key for order in parse_orders(text)] == [
        (name, descending, nulls == "first") for name, descending, nulls in orders
    ]
