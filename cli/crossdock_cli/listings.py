"""Reads the lists of the command line: aggregates, orders and keys, made of the same expressions as
--where. Nothing in the text is run.

--agg  n=count(*), s=sum(price * (1 - discount)), q=quantile(x, 0.9) where x > 0
--agg  count(*) as n, sum(price) / count(*) as mean     (SQL, by the name behind AS)
--by   a, b desc, c desc nulls first             (sort)
--by   city, year=year(day)                      (groupby, partition)
--on   id, day=date                              (join)

Names with spaces stand between backquotes, as in predicates.py.
"""

from __future__ import annotations

import difflib
import inspect
import re
from collections.abc import Callable
from typing import Any, TypeVar

import click
import crossdock as xd
from crossdock.expressions.expression import Column

from crossdock_cli.predicates import CONSTANTS, Parser, Token

# Functions of a value, and what other tools call them.
_FUNCTIONS: dict[str, Callable[..., xd.Aggregate]] = {
    "count": xd.count,
    "count_distinct": xd.count_distinct,
    "approx_distinct": xd.approx_distinct,
    "sum": xd.sum,
    "min": xd.min,
    "max": xd.max,
    "mean": xd.mean,
    "var": xd.var,
    "stddev": xd.stddev,
    "median": xd.median,
    "quantile": xd.quantile,
    "median_exact": xd.median_exact,
    "quantile_exact": xd.quantile_exact,
    "quantile_disc": xd.quantile_disc,
    "first": xd.first,
    "last": xd.last,
    "any": xd.any,
    "arg_min": xd.arg_min,
    "arg_max": xd.arg_max,
    "entropy": xd.entropy,
    "mad": xd.mad,
    "skewness": xd.skewness,
    "kurtosis": xd.kurtosis,
    "kurtosis_pop": xd.kurtosis_pop,
    "string_agg": xd.string_agg,
    "list_agg": xd.list_agg,
    "count_if": xd.count_if,
    "bool_and": xd.bool_and,
    "bool_or": xd.bool_or,
    "bit_and": xd.bit_and,
    "bit_or": xd.bit_or,
    "bit_xor": xd.bit_xor,
    "product": xd.product,
}
_SYNONYMS = {
    "avg": "mean",
    "average": "mean",
    "std": "stddev",
    "variance": "var",
    "any_value": "any",
    "every": "bool_and",
    "some": "bool_or",
    "approx_count_distinct": "approx_distinct",
}

Item = TypeVar("Item")


def parse_aggregates(text: str, option: str = "--agg") -> dict[str, xd.Aggregate | str]:
    """Result name -> aggregate, or its text where it is SQL, with the name behind AS;
    click.UsageError with the place where the text says none."""
    items: dict[str, xd.Aggregate | str] = {}
    for start, stop, name in _with_names(text):
        if name:
            read: dict[str, xd.Aggregate | str] = {name: text[start:stop]}
        else:
            parser = _ListParser(" " * start + text[start:stop], option)
            parser.text = text  # whose places errors show
            read = dict(parser.distinctly_named(parser.aggregate))
        for twice in read.keys() & items.keys():
            raise click.UsageError(f"{option}: {twice!r} is there twice: {text}")
        items |= read
    return items


def _with_names(text: str) -> list[tuple[int, int, str]]:
    """Where the items of a list begin and end, and the names that they have behind AS; the whole
    list without a name where there are none."""
    whole = [(0, len(text), "")]
    if not re.search(r"\bas\b", text, re.IGNORECASE):
        return whole
    from crossdock.sql_frontend.text.scopes import between_commas
    from crossdock.sql_frontend.text.tokens import tokens_of

    try:
        tokens = tokens_of(text)
    except xd.SqlError:  # which the parser of lists says in its own words
        return whole
    items = []
    for begin, end in between_commas(tokens, 0, len(tokens)):
        if begin == end:
            return whole
        last = tokens[end - 1]
        is_named = end - begin > 2 and tokens[end - 2].lower == "as"
        if is_named and last.kind in ("word", "quoted"):
            stop = tokens[end - 3].end
            items.append((tokens[begin].start, stop, last.name))
        else:
            items.append((tokens[begin].start, last.end, ""))
    return items if any(name for _, _, name in items) else whole


def parse_orders(text: str, option: str = "--by") -> list[xd.Order]:
    """The orders of a sort. click.UsageError as for parse_aggregates."""
    parser = _ListParser(text, option)
    return [order for _, order in parser.items(parser.order)]


def parse_group_keys(text: str, option: str = "--by") -> dict[str, xd.Expr]:
    """Key name -> expression. click.UsageError as for parse_aggregates."""
    parser = _ListParser(text, option)
    return dict(parser.distinctly_named(parser.key))


def parse_names(text: str, option: str) -> list[str]:
    """Names of columns. click.UsageError as for parse_aggregates."""
    parser = _ListParser(text, option)
    return [name for name, _ in parser.distinctly_named(parser.name)]


def parse_key_pairs(text: str, option: str = "--on") -> list[tuple[str, str]]:
    """(left, right) names of the keys of a join. click.UsageError as for parse_aggregates."""
    parser = _ListParser(text, option)
    return [pair for _, pair in parser.items(parser.pair)]


class _ListParser(Parser):
    """Items with commas between them; one function per kind of item."""

    def items(self, item: Callable[[], Item]) -> list[tuple[Token, Item]]:
        """The items to the end of the text, each with its first token; there must be one."""
        items_read = []
        while True:
            start = self._peek()
            items_read.append((start, item()))
            if not self._take(","):
                break
        token = self._peek()
        if token.kind != "end":
            self._fail(token, f"a comma is missing before {token.text!r}")
        return items_read

    def distinctly_named(self, item: Callable[[], tuple[str, Item]]) -> list[tuple[str, Item]]:
        """The items, whose names must differ."""
        by_name: dict[str, Item] = {}
        for token, (name, value) in self.items(item):
            if name in by_name:
                self._fail(token, f"{name!r} is there twice")
            by_name[name] = value
        return list(by_name.items())

    def aggregate(self) -> tuple[str, xd.Aggregate]:
        given = self._given_name()
        token = self._peek()
        function = self._function()
        arguments, default = self._arguments(token, function)
        if self._take("where"):
            arguments = arguments.where(xd.lit(self.expression()))
            default = ""
        if not given and not default:
            self._fail(token, f"a name is missing: name={token.text}(...)")
        return given or default, arguments

    def order(self) -> xd.Order:
        subject = self._value("an order")
        descending = self._take("desc")
        if not descending:
            self._take("asc")
        nulls = "last"
        if self._take("nulls"):
            nulls = "first" if self._take("first") else "last"
            if nulls == "last" and not self._take("last"):
                self._fail(self._peek(), "first or last is missing after 'nulls'")
        token = self._peek()
        if token.kind == "name":
            words = ["asc", "desc"] * (nulls == "last") + ["nulls"]
            close = difflib.get_close_matches(token.word, words, n=1)
            advice = f"; did you mean {close[0]}?" if close else ", and a comma ends an order"
            self._fail(token, f"{token.text!r} is not asc, desc, nulls first or nulls last{advice}")
        return (xd.desc if descending else xd.asc)(subject, nulls)

    def key(self) -> tuple[str, xd.Expr]:
        given = self._given_name()
        token = self._peek()
        subject = self._value("a key")
        if given or isinstance(subject, Column):
            return given or _name_of(subject), subject
        return self._fail(token, f"a name is missing: name={self.text[token.at :]}")

    def name(self) -> tuple[str, None]:
        token = self._advance()
        if not token.column:
            self._fail(token, f"a column is missing before {_shown(token)}")
        return token.column, None

    def pair(self) -> tuple[str, str]:
        left, _ = self.name()
        return left, self.name()[0] if self._take("=") else left

    def _given_name(self) -> str:
        """The name before "=", if there is one."""
        token, sign = self._peek(), self.tokens[min(self.next + 1, len(self.tokens) - 1)]
        if not token.column or sign.word != "=":
            return ""
        self.next += 2
        return token.column

    def _value(self, what: str) -> xd.Expr:
        if self._peek().kind == "end":
            self._fail(self._peek(), f"{what} is missing at the end")
        return xd.lit(self.expression())

    def _function(self) -> str:
        token = self._advance()
        if token.kind != "name":
            self._fail(token, f"an aggregate is missing before {_shown(token)}")
        function = _SYNONYMS.get(token.word, token.word)
        if function not in _FUNCTIONS:
            close = difflib.get_close_matches(token.word, [*_FUNCTIONS, *_SYNONYMS], n=1)
            advice = f"did you mean {close[0]}?" if close else "there are " + ", ".join(_FUNCTIONS)
            self._fail(token, f"no aggregate {token.text!r}; {advice}")
        self._require("(", f"after {token.text}")
        return function

    def _arguments(self, token: Token, function: str) -> tuple[xd.Aggregate, str]:
        """The aggregate up to its closing bracket, and the name it has if none is given."""
        if function == "count" and (self._take("*") or self._peek().word == ")"):
            self._require(")", "after count(*")
            return xd.count(), "count"
        if function == "count" and self._take("distinct"):
            function = "count_distinct"
        subject = self._value(f"the argument of {token.text}")
        options = self._options(token, function, subject)
        if function in ("quantile", "quantile_exact", "quantile_disc") and not options:
            self._fail(self._peek(), f"the share is missing: {token.text}(x, 0.5) is the median")
        if function in ("arg_min", "arg_max") and not options:
            self._fail(self._peek(), f"the column to go by is missing: {token.text}(x, by=y)")
        self._require(")", f"after the argument of {token.text}")
        return self._aggregate_of(token, function, subject, options), _default_name(
            function, subject
        )

    def _options(self, token: Token, function: str, subject: xd.Expr) -> dict[str, Any]:
        """What stands behind the argument: wide=true, floats=exact, or the share of a quantile.
        Each is tried alone, so that the error of a wrong one points at it."""
        options: dict[str, Any] = {}
        while self._take(","):
            at = self._peek()
            name = self._given_name()
            if name:
                self._require_option(at, name, function, options)
                word = self._peek()
                bare = word.kind == "name" and word.word not in CONSTANTS
                options[name] = self._advance().text if bare else self._constant(name, object)
            else:
                name = self._next_option(at, token, function, options)
                options[name] = self._constant(function, object)
            self._aggregate_of(at, function, subject, {name: options[name]})
        return options

    def _require_option(self, at: Token, name: str, function: str, options: dict[str, Any]) -> None:
        known = _options_of(function)
        if name in options:
            self._fail(at, f"{name}= is there twice")
        if name not in known:
            close = difflib.get_close_matches(name, known, n=1)
            advice = f"did you mean {close[0]}=?" if close else _takes(function)
            self._fail(at, f"{function} has no option {name!r}; {advice}")

    def _next_option(self, at: Token, token: Token, function: str, options: dict[str, Any]) -> str:
        """The option that a value without a name is for."""
        known = _options_of(function)
        unnamed = [
            name for name, kind in known.items() if kind is not inspect.Parameter.KEYWORD_ONLY
        ]
        if len(options) >= len(unnamed):
            self._fail(at, f"{token.text} takes one argument; {_takes(function)}")
        return unnamed[len(options)]

    def _aggregate_of(
        self, token: Token, function: str, subject: xd.Expr, options: dict[str, Any]
    ) -> xd.Aggregate:
        try:
            return _FUNCTIONS[function](subject, **options)
        except xd.OptionError as error:
            parts = [" ".join(line.split()) for line in error.text.splitlines()]
            return self._fail(token, "; ".join(parts))


def _options_of(function: str) -> dict[str, Any]:
    """Names of an aggregate's options, with the kind of parameter that Python says they are."""
    parameters = list(inspect.signature(_FUNCTIONS[function]).parameters.values())[1:]
    return {parameter.name: parameter.kind for parameter in parameters}


def _takes(function: str) -> str:
    names = ", ".join(f"{name}=" for name in _options_of(function))
    return f"its options are {names}" if names else "it has no options"


def _default_name(function: str, subject: xd.Expr) -> str:
    return f"{function}_{subject.name}" if isinstance(subject, Column) else ""


def _name_of(subject: xd.Expr) -> str:
    return subject.name if isinstance(subject, Column) else ""


def _shown(token: Token) -> str:
    return repr(token.text) if token.text else "the end"
