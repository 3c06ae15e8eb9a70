"""AT TIME ZONE: an instant without a zone is one in that zone; and what that gives is, at a zone,
the time that clocks show there. The binder has one type for both, so they are functions."""

from __future__ import annotations

from collections.abc import Collection

from crossdock.sql_frontend.added_functions import INSTANT
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.rewritten import LOCAL, ZONED
from crossdock.sql_frontend.text.tokens import quoted, words_of

_TYPES = words_of("timestamp date timestamptz datetime")


class TimeZones:
    """Those of one text."""

    def __init__(self, pieces: Pieces, of_instants: Collection[int]) -> None:
        """`of_instants` are the numbers of those AT whose values have a zone."""
        self._pieces = pieces
        self._of_instants = of_instants
        self._begins: dict[int, int] = {}  # the last token of each -> its first
        self._zoned: set[int] = set()  # the last tokens of those that give an instant

    def word(self, number: int) -> None:
        """The AT of AT TIME ZONE."""
        pieces = self._pieces
        if [self._word(number + i) for i in range(3)] != ["at", "time", "zone"]:
            return
        zone = pieces.at(number + 3)
        if zone is None or zone.kind not in ("string", "parameter"):
            raise unsupported(
                "AT TIME ZONE of a zone that is no constant", pieces.text,
                pieces.tokens[number].start, "AT TIME ZONE 'Europe/Berlin'",
            )  # fmt: skip
        first = self._first(number - 1)
        is_zoned = number in self._of_instants or self._is_zoned(first, number - 1)
        opened, comma = f"{quoted(LOCAL)}(", ","
        if not is_zoned:  # the binder knows one unit of a function's instants
            opened, comma = f"{quoted(ZONED)}(arrow_cast(", f", '{INSTANT}'),"
        pieces.before[first] = opened + pieces.before.get(first, "")
        pieces.pieces[number] = comma
        pieces.pieces[number + 1] = pieces.pieces[number + 2] = ""
        closed = ")" if is_zoned else f", {number})"
        pieces.behind[number + 3] = pieces.behind.get(number + 3, "") + closed
        self._begins[number + 3] = first
        if not is_zoned:
            self._zoned.add(number + 3)

    def _word(self, number: int) -> str:
        token = self._pieces.at(number)
        return "" if token is None else token.lower

    def _is_zoned(self, first: int, last: int) -> bool:
        """Whether a value is an instant of AT TIME ZONE, in brackets or without."""
        tokens = self._pieces.tokens
        while tokens[first].is_operator("(") and tokens[last].is_operator(")"):
            first, last = first + 1, last - 1
        return last in self._zoned

    def _first(self, last: int) -> int:
        """The first token of the value that ends with one."""
        tokens = self._pieces.tokens
        if last in self._begins:
            return self._begins[last]
        first = last
        if tokens[last].is_operator(")"):
            depth = 0
            while first >= 0:
                depth += tokens[first].is_operator(")") - tokens[first].is_operator("(")
                if depth == 0:
                    break
                first -= 1
            before = self._pieces.at(first - 1)
            is_call = before is not None and before.kind == "word" and not self._is_clause(before)
            first -= is_call
        elif tokens[last].kind == "string" and self._word(last - 1) in _TYPES:
            first -= 1
        while first > 1 and tokens[first - 1].is_operator(".", "::"):
            first = self._first(first - 2)
        return first

    def _is_clause(self, token: object) -> bool:
        return getattr(token, "lower", "") in words_of(
            "select where and or not on in when then else having by between as from distinct"
        )
