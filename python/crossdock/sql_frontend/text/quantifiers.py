"""Comparisons with ALL and ANY of a query, by the least and the largest of its values: DataFusion
has IN alone. Where these say nothing, NULL on either side leaves the comparison unknown."""

from __future__ import annotations

from dataclasses import dataclass

from crossdock.sql_frontend.text.pieces import CLAUSES, Pieces
from crossdock.sql_frontend.text.rewritten import HIDDEN
from crossdock.sql_frontend.text.select_items import is_column
from crossdock.sql_frontend.text.tokens import quoted, words_of

_INVERSE = {"=": "<>", "<>": "=", "!=": "=", ">": "<=", ">=": "<", "<": ">=", "<=": ">"}
_BEFORE = CLAUSES | words_of(
    "select distinct all by and or not on when then else between case in using"
)


@dataclass
class _Comparison:
    """The tokens of the value on the left, the operator, whether it is ANY, and the bracket of the
    query."""

    begin: int
    operator: int
    is_any: bool
    opened: int


class Quantifiers:
    """Those of one text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._compared: list[_Comparison] = []

    def word(self, number: int) -> bool:
        """Takes ANY or ALL behind a comparison and before a query; whether it is IN or NOT IN."""
        pieces = self._pieces
        operator, is_any = pieces.tokens[number - 1].text, pieces.tokens[number].lower != "all"
        if (operator == "=" and is_any) or (operator in ("<>", "!=") and not is_any):
            pieces.pieces[number - 1], pieces.pieces[number] = "IN" if is_any else "NOT IN", ""
            return True
        if operator in _INVERSE:
            begin = self._begin_of_value(number - 1)
            self._compared.append(_Comparison(begin, number - 1, is_any, number + 1))
        return False

    def _begin_of_value(self, end: int) -> int:
        """The first token of the value that ends before a token."""
        tokens, number, depth = self._pieces.tokens, end, 0
        while number > 0:
            token = tokens[number - 1]
            closes = token.is_operator(")", "]", "}") or token.lower == "end"
            opens = token.is_operator("(", "[", "{") or token.lower == "case"
            is_end = token.lower in _BEFORE or token.is_operator(",") or opens
            if depth == 0 and is_end:
                break
            depth += closes - opens
            number -= 1
        return number

    def finish(self) -> None:
        """Writes all of them, the inner ones first."""
        for number, each in reversed(list(enumerate(self._compared))):
            self._write(number, each)

    def _source(self, number: int, begin: int, end: int) -> tuple[str, str]:
        """The column and the FROM of a query's values: its own where it is a plain query of a
        column, whose correlation DataFusion then sees, and the query as a table otherwise."""
        pieces, place, source, words = self._pieces, begin, -1, set[str]()
        while place < end:
            token = pieces.tokens[place]
            source = place if token.lower == "from" and source < 0 else source
            words.add(token.lower)
            opens = token.is_operator("(", "[", "{")
            place = pieces.behind_bracket(place) if opens else place + 1
        is_plain = source > 0 and not words & (CLAUSES - {"from", "where"})
        if is_plain and is_column(pieces.tokens[begin + 1 : source]) and "select" in words:
            return pieces.copied(begin + 1, source), pieces.copied(source, end)
        column, table = quoted(f"{HIDDEN}value"), quoted(f"{HIDDEN}values {number}")
        return column, f"FROM ({pieces.copied(begin, end)}) AS {table}({column})"

    def _write(self, number: int, each: _Comparison) -> None:
        pieces = self._pieces
        close = pieces.behind_bracket(each.opened) - 1
        value = pieces.copied(each.begin, each.operator)
        operator = pieces.tokens[each.operator].text
        if not each.is_any:  # for all is for none not
            operator = _INVERSE[operator]
        column, source = self._source(number, each.opened + 1, close)
        least, largest = (
            f"(SELECT first_value({column} ORDER BY {column} {how} NULLS LAST) {source})"
            for how in ("ASC", "DESC")
        )
        bounds = {">": [least], ">=": [least], "<": [largest], "<=": [largest]}
        of_any = " OR ".join(
            f"({value}) {operator} {bound}" for bound in bounds.get(operator, [least, largest])
        )
        nulls = f"count(*) - count({column})"
        none, unknown = (f"(SELECT {each} {source})" for each in ("count(*)", nulls))
        pieces.leave_out(each.begin, close)
        pieces.pieces[each.begin] = (
            f"({'' if each.is_any else 'NOT '}CASE WHEN {of_any} THEN TRUE WHEN {none} = 0 "
            f"THEN FALSE WHEN ({value}) IS NULL OR {unknown} > 0 THEN NULL ELSE FALSE END"
        )
