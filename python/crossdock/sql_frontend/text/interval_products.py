"""Intervals that are others per row: `n * interval '1 day'`, `interval (n) day`. DataFusion has
constants alone, so a function of its own stands for the product."""

from __future__ import annotations

from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.rewritten import MULTIPLIED, TIMES
from crossdock.sql_frontend.text.select_items import is_operator_word, is_unit, is_unit_word
from crossdock.sql_frontend.text.tokens import quoted

_CALL, _REVERSED = f"{quoted(TIMES)}(", f"{quoted(MULTIPLIED)}("


class IntervalProducts:
    """Those of one text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces

    def interval(self, number: int) -> None:
        """The word INTERVAL at a token."""
        pieces, following = self._pieces, self._pieces.at(number + 1)
        if following is None or following.kind == "number":
            return
        if following.kind != "string":
            self._of_value(number)
            return
        behind = number + 2 + is_unit(pieces.tokens[number : number + 3])
        if pieces.is_at(number - 1, "*"):
            begin, star, end, call = self._begin(number - 2), number - 1, behind, _CALL
        elif pieces.is_at(behind, "*"):
            begin, star, end, call = number, behind, self._behind(behind + 1), _REVERSED
        else:
            return
        pieces.before[begin] = call + pieces.before.get(begin, "")
        pieces.pieces[star] = ","
        pieces.behind[end - 1] = pieces.behind.get(end - 1, "") + ")"

    def _of_value(self, number: int) -> None:
        """`interval (n) day` and `interval t.n day`."""
        pieces, behind = self._pieces, self._behind(number + 1)
        unit = pieces.at(behind)
        if unit is None or not is_unit_word(unit):
            return
        pieces.pieces[number] = _CALL
        pieces.pieces[behind] = f", interval '1 {unit.lower}')"

    def _begin(self, number: int) -> int:
        """The first token of the product that ends with a token."""
        pieces = self._pieces
        if pieces.is_at(number - 1, "::"):
            return self._begin(number - 2)
        if pieces.is_at(number, ")"):
            number = pieces.opening(number)
            before = pieces.at(number - 1)
            is_call = before is not None and before.kind in ("word", "quoted")
            number -= is_call and before is not None and not is_operator_word(before)
        while pieces.is_at(number - 1, "."):
            number -= 2
        is_chain = any(pieces.is_at(number - 1, operator) for operator in ("*", "/", "%"))
        return self._begin(number - 2) if is_chain else number

    def _behind(self, number: int) -> int:
        """The token behind a value, which is no sum or product."""
        pieces = self._pieces
        number += pieces.is_at(number, "-")
        while pieces.is_at(number + 1, "."):
            number += 2
        if not pieces.is_at(number, "(") and pieces.is_at(number + 1, "("):
            number += 1
        number = pieces.behind_bracket(number) if pieces.is_at(number, "(") else number + 1
        return number + 2 if pieces.is_at(number, "::") else number
