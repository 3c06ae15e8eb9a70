"""Queries of which parts read columns of those around them: where these stand, and in which
conditions."""

from __future__ import annotations

from crossdock.sql_frontend.text.pieces import Operand, Pieces
from crossdock.sql_frontend.text.scopes import Query
from crossdock.sql_frontend.text.tokens import words_of

CONDITIONS = words_of("or and not between case in is like")


class Correlated:
    """Those of one text."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._pieces = Pieces(text)
        self._tokens = self._pieces.tokens

    def names(self, inner: Query) -> set[str]:
        """What the tables of a query are called."""
        return {each.name for each in self._operands(inner)}

    def _operands(self, inner: Query) -> list[Operand]:
        """The tables of a query."""
        operands, (number, end) = list[Operand](), inner.clause("from")
        while number < end:
            is_before = self._pieces.word_at(number) in ("from", "join") or self._pieces.is_at(
                number, ","
            )
            if is_before and number + 1 < end:
                operand = self._pieces.operand(number + 1)
                operands += [] if operand is None else [operand]
            opens = self._pieces.is_at(number, "(")
            number = self._pieces.behind_bracket(number) if opens else number + 1
        return operands

    def _is_outer(self, number: int, names: set[str]) -> bool:
        """Whether a token is a table of a query around, before a dot."""
        token = self._tokens[number]
        is_owner = token.kind in ("word", "quoted") and self._pieces.is_at(number + 1, ".")
        return (
            is_owner and not self._pieces.is_at(number - 1, ".") and token.name.lower() not in names
        )

    def _equal_sign(self, begin: int, end: int) -> int:
        """Where it stands, in no bracket; -1 where it does not."""
        while begin < end and not self._pieces.is_at(begin, "="):
            opens = self._pieces.is_at(begin, "(")
            begin = self._pieces.behind_bracket(begin) if opens else begin + 1
        return begin if begin < end else -1

    def _is_qualified(self, number: int) -> bool:
        """Whether a token is no name, or one with a table before it."""
        is_name = self._tokens[number].kind in ("word", "quoted")
        return (
            not is_name
            or self._pieces.is_at(number + 1, ".")
            or self._pieces.is_at(number - 1, ".")
        )

    def _conjuncts(self, begin: int, end: int) -> list[tuple[int, int]]:
        """What stands between the ANDs of a condition; all of one that has OR."""
        parts, first, number, betweens = [], begin, begin, 0
        while number < end:
            word = self._pieces.word_at(number)
            if word in ("or", "case"):
                return [(begin, end)]
            if word == "and" and not betweens:
                parts.append((first, number))
                first = number + 1
            betweens += (word == "between") - (word == "and" and betweens > 0)
            opens = self._pieces.is_at(number, "(")
            number = self._pieces.behind_bracket(number) if opens else number + 1
        return [*parts, (first, end)] if first < end else parts

    def _said(self, begin: int, end: int) -> str:
        if begin >= end:
            return ""
        return self._text[self._tokens[begin].start : self._tokens[end - 1].end]
