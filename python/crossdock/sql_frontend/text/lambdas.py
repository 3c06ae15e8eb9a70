"""Functions of the elements of lists, `list_transform(l, x -> x + 1)`, and comprehensions,
`[x + 1 for x in l if x > 0]`, as calls that DataFusion binds: `x` is an element of `l` at a marked
place, what is said of it the one element of a list, and that list is sliced at a marked place."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.derived import replaced
from crossdock.sql_frontend.text.rewritten import ELEMENT, FILTERED, PLACE, TRANSFORMED
from crossdock.sql_frontend.text.scopes import between_commas, brackets_of
from crossdock.sql_frontend.text.tokens import Token, quoted, tokens_of, words_of

_TRANSFORMS = words_of("list_transform array_transform list_apply array_apply apply")
_FILTERS = words_of("list_filter array_filter filter")
_BEGINS = ("lambda", "for")


@dataclass(frozen=True)
class _Said:
    """What is written in place of some tokens: the names of an element and its place, and the
    tokens of the list, of what is said of an element, and of the condition that it meets."""

    begin: int
    end: int
    names: Sequence[str]
    listed: tuple[int, int]
    value: tuple[int, int] | None
    condition: tuple[int, int] | None


def without_lambdas(text: str, numbers: dict[str, int]) -> str:
    """The text with the first that ends written out; itself where there is none. `numbers` keeps
    those of functions: of one text they are the same, as a key of GROUP BY and what is shown."""
    tokens = tokens_of(text)
    begins = [i for i, t in enumerate(tokens) if t.lower in _BEGINS or t.is_operator("->")]
    if not begins:
        return text
    lambdas = _Lambdas(text, tokens, numbers)
    listed = [each for number in begins if (each := lambdas.at(number)) is not None]
    if not listed:
        return text
    first = min(listed, key=lambda each: each.end)
    start, end = tokens[first.begin].start, tokens[first.end].end
    return replaced(text, [(start, end, lambdas.written(first))])


class _Lambdas:
    def __init__(self, text: str, tokens: Sequence[Token], numbers: dict[str, int]) -> None:
        self._numbers = numbers
        self._text = text
        self._tokens = tokens
        self._closing = brackets_of(tokens)

    def at(self, number: int) -> _Said | None:
        """The one that a word or an arrow belongs to; None where it is something else."""
        around = [(o, c) for o, c in self._closing.items() if o < number < c]
        if not around:
            return None
        opened, close = max(around)
        if self._tokens[number].lower == "for":
            return self._comprehension(number, opened, close)
        name = self._tokens[opened - 1].lower if opened else ""
        if not self._tokens[opened].is_operator("(") or name == "columns":
            return None
        return self._call(number, opened, close)

    def _call(self, number: int, opened: int, close: int) -> _Said | None:
        arguments = between_commas(self._tokens, opened + 1, close)
        is_word = self._tokens[number].lower == "lambda"
        begin = number if is_word else self._begin_of_names(number)
        starts = [first for first, _ in arguments]
        name = self._tokens[opened - 1]
        if begin not in starts[1:] or (not is_word and not self._takes_function(name)):
            return None
        behind = self._behind_colon(number, close) if is_word else number + 1
        if not self._takes_function(name) or len(arguments) > 2 + is_word:
            raise unsupported(
                f"{name.text}() of a function", self._text, name.start,
                "list_transform(l, x -> x + 1), list_filter(l, x -> x > 0)",
            )  # fmt: skip
        names = self._names(begin + is_word, behind - 1)
        body = (behind, close)
        self._require_plain(*body)
        is_filter = name.lower in _FILTERS
        return _Said(
            opened - 1, close, names, arguments[0],
            None if is_filter else body, body if is_filter else None,
        )  # fmt: skip

    def _takes_function(self, name: Token) -> bool:
        return name.lower in _TRANSFORMS or name.lower in _FILTERS

    def _begin_of_names(self, arrow: int) -> int:
        """The first token of `x` or `(x, i)` before an arrow."""
        if not self._tokens[arrow - 1].is_operator(")"):
            return arrow - 1
        return next(opened for opened, close in self._closing.items() if close == arrow - 1)

    def _behind_colon(self, number: int, close: int) -> int:
        """Behind the colon of `lambda x, i: x * i`."""
        for place in range(number, close):
            if self._tokens[place].is_operator(":"):
                return place + 1
        raise sql_error(
            "a lambda without a colon", self._text, self._tokens[number].start, "lambda x: x + 1"
        )

    def _names(self, begin: int, end: int) -> list[str]:
        """`x`, `x, i` and `(x, i)`, each in lower case."""
        if self._tokens[begin].is_operator("("):
            begin, end = begin + 1, end - 1
        listed = self._tokens[begin:end]
        are_names = all(token.kind in ("word", "quoted") for token in listed[::2])
        are_apart = all(token.is_operator(",") for token in listed[1::2])
        if len(listed) not in (1, 3) or not are_names or not are_apart:
            raise sql_error(
                "a function of elements has one name, or one more for the place", self._text,
                self._tokens[begin].start, "list_transform(l, (x, i) -> x * i)",
            )  # fmt: skip
        return [token.name.lower() for token in listed[::2]]

    def _comprehension(self, number: int, opened: int, close: int) -> _Said | None:
        """`[value for x in l if condition]`, and with `x, i`."""
        before = self._tokens[opened - 2].lower if opened > 1 else ""
        if not self._tokens[opened].is_operator("[") or before == "columns":
            return None
        words: dict[str, int] = {}
        depth = 0
        for place in range(number, close):
            token = self._tokens[place]
            depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
            if depth == 0 and token.lower in ("in", "if"):
                words.setdefault(token.lower, place)
        if "in" not in words or number == opened + 1:
            return None
        names = self._names(number + 1, words["in"])
        condition = words.get("if")
        self._require_plain(opened + 1, close)
        return _Said(
            opened, close, names, (words["in"] + 1, condition or close), (opened + 1, number),
            None if condition is None else (condition + 1, close),
        )  # fmt: skip

    def _require_plain(self, begin: int, end: int) -> None:
        for before, token in itertools.pairwise(self._tokens[begin - 1 : end]):
            is_query = token.lower == "from" and before.is_operator("(")
            if is_query or token.lower == "select":
                raise unsupported(
                    "a query in a function of elements", self._text, token.start,
                    "UNNEST of the list, joined",
                )  # fmt: skip

    def written(self, said: _Said) -> str:
        """The calls that stand for it."""
        listed = self._text_of(said.listed)
        if said.condition is not None:
            number = self._number(said, said.condition)
            condition = self._substituted(said.condition, said.names, listed, number)
            listed = (
                f"array_slice({listed}, {quoted(FILTERED)}({number}), "
                f"CASE WHEN {condition} THEN 1 ELSE 0 END)"
            )
        if said.value is None:
            return listed
        number = self._number(said, said.value)
        value = self._substituted(said.value, said.names, listed, number)
        of_list = f"cast(array_length({listed}) AS bigint)"
        return f"array_slice(make_array({value}), {quoted(TRANSFORMED)}({number}), {of_list})"

    def _number(self, said: _Said, body: tuple[int, int]) -> int:
        """That of a function, which no other one has."""
        parts = map(self._text_of, (said.listed, body))
        key = repr((said.condition == body, tuple(said.names), *parts))
        if key not in self._numbers:
            marks = (t for t in self._tokens if t.kind == "quoted")
            count = sum(mark.name in (TRANSFORMED, FILTERED) for mark in marks)
            self._numbers[key] = 1 + max(count, *self._numbers.values(), 0)
        return self._numbers[key]

    def _text_of(self, part: tuple[int, int]) -> str:
        begin, end = part
        return self._text[self._tokens[begin].start : self._tokens[end - 1].end]

    def _substituted(
        self, part: tuple[int, int], names: Sequence[str], listed: str, number: int
    ) -> str:
        """A part of the text with the element and its place in place of their names."""
        begin, end = part
        by_name = dict(zip(names, (
            f"array_element({listed}, {quoted(ELEMENT)}({number}))", f"{quoted(PLACE)}({number})",
        ), strict=False))  # fmt: skip
        written, place = "", self._tokens[begin].start
        for each in range(begin, end):
            token = self._tokens[each]
            if token.kind not in ("word", "quoted") or token.name.lower() not in by_name:
                continue
            follows_dot = each and self._tokens[each - 1].is_operator(".")
            is_call = each + 1 < end and self._tokens[each + 1].is_operator("(")
            if follows_dot or is_call:
                continue
            written += self._text[place : token.start] + by_name[token.name.lower()]
            place = token.end
        return written + self._text[place : self._tokens[end - 1].end]
