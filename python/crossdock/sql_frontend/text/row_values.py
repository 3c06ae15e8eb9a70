"""Rows of values, `(a, b)`, that are compared with others: by their parts, as plans have no rows.

In comparisons NULL equals NULL and comes last, as in DuckDB; in IN and NOT IN with a query, what
may be equal to NULL is unknown.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.rewritten import HIDDEN
from crossdock.sql_frontend.text.tokens import quoted, words_of

_COMPARISONS = ("=", "==", "<>", "!=", "<", "<=", ">", ">=")
# Words behind which a bracket is one by itself, and no call.
_BEFORE_VALUES = words_of("where and or not on having when then else case between by select")
_QUERIES = words_of("select with values from table")
_CONDITIONS = ("where", "from")  # where NULL is as good as FALSE


@dataclass
class _Row:
    """The tokens of a row: its first one, the one behind it, and where its values begin and end."""

    begin: int
    end: int
    values: list[tuple[int, int]]


@dataclass
class _Comparison:
    """A row, the operator behind it with its tokens, and the rows on the right; or the bracket of a
    query there."""

    left: _Row
    operator: str
    right: list[_Row]
    end: int
    query: int = -1


class RowValues:
    """Those of one text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._found: list[_Comparison] = []
        self._begun: set[int] = set()  # brackets that are rows on the right

    def begin(self, number: int, clause: str, enclosing: Sequence[int]) -> None:
        """A bracket that may be a row, in a clause, with the brackets around it. SqlError where it
        is compared in a way that has no meaning here."""
        if number in self._begun:
            return
        left = self._row(number)
        if left is None:
            return
        end = self._compared(left)
        if end is None:
            return
        if end.query >= 0:
            is_inverted = any(
                self._pieces.word_at(each - 1) not in ("", "and", "or") for each in enclosing
            )
            if (
                clause not in _CONDITIONS
                or self._pieces.word_at(left.begin - 1) == "not"
                or is_inverted
            ):
                raise unsupported(
                    "IN of several columns in this place", self._pieces.text,
                    self._pieces.tokens[number].start, "a condition of WHERE by itself, or EXISTS",
                )  # fmt: skip
        self._begun.update(each.begin for each in end.right)
        self._found.append(end)

    def is_in(self, number: int) -> bool:
        """Whether the IN at a token is that of a row and a query."""
        return any(each.query == number + 1 for each in self._found)

    def _row(self, number: int) -> _Row | None:
        """The row that a bracket opens; None where it is something else."""
        pieces = self._pieces
        before, opened = pieces.at(number - 1), pieces.at(number)
        if (
            opened is None
            or not opened.is_operator("(")
            or self._pieces.word_at(number + 1) in _QUERIES
        ):
            return None
        begin = number - 1 if self._pieces.word_at(number - 1) == "row" else number
        if begin == number and before is not None:
            is_value = before.kind in ("word", "quoted") and before.lower not in _BEFORE_VALUES
            if is_value or before.is_operator(")", "]"):
                return None
        end = pieces.behind_bracket(number)
        commas = pieces.commas(number, end - 1)
        if not commas:
            return None
        begins = [number + 1, *(comma + 1 for comma in commas)]
        return _Row(begin, end, list(zip(begins, [*commas, end - 1], strict=True)))

    def _compared(self, left: _Row) -> _Comparison | None:
        """What stands behind a row, if that is a comparison."""
        token = self._pieces.at(left.end)
        if token is None:
            return None
        if token.is_operator(*_COMPARISONS):
            right = self._right_row(left.end + 1)
            if right is None:
                return None
            return _Comparison(left, token.text, [self._alike(left, right)], right.end)
        is_negated = token.lower == "not"
        place = left.end + is_negated
        if self._pieces.word_at(place) != "in":
            return None
        operator = "not in" if is_negated else "in"
        behind = self._pieces.behind_bracket(place + 1)
        if self._pieces.word_at(place + 2) in _QUERIES:
            return _Comparison(left, operator, [], behind, query=place + 1)
        rows, number = [], place + 2
        while number < behind - 1:
            row = self._right_row(number)
            if row is None:
                return None
            rows.append(self._alike(left, row))
            number = row.end + 1
        return _Comparison(left, operator, rows, behind)

    def _right_row(self, number: int) -> _Row | None:
        opened = number + (self._pieces.word_at(number) == "row")
        token = self._pieces.at(opened)
        if token is None or not token.is_operator("("):
            return None
        end = self._pieces.behind_bracket(opened)
        commas = self._pieces.commas(opened, end - 1)
        begins = [opened + 1, *(comma + 1 for comma in commas)]
        return _Row(opened, end, list(zip(begins, [*commas, end - 1], strict=True)))

    def _alike(self, left: _Row, right: _Row) -> _Row:
        if len(left.values) != len(right.values):
            raise unsupported(
                f"a comparison of {len(left.values)} values with {len(right.values)}",
                self._pieces.text, self._pieces.tokens[right.begin].start,
                "as many values on both sides",
            )  # fmt: skip
        return right

    def finish(self) -> None:
        """Writes all of them, the inner ones first."""
        for number, each in reversed(list(enumerate(self._found))):
            left = [self._pieces.taken_out(*value) for value in each.left.values]
            if each.query >= 0:
                self._write_query(number, each, left)
                continue
            rows = [[self._pieces.taken_out(*v) for v in row.values] for row in each.right]
            self._pieces.leave_out(each.left.begin, each.end)
            self._pieces.pieces[each.left.begin] = f"({_condition(each.operator, left, rows)})"

    def _write_query(self, number: int, comparison: _Comparison, left: Sequence[str]) -> None:
        pieces, is_negated = self._pieces, comparison.operator == "not in"
        pieces.taken_out(comparison.left.begin, comparison.query)
        negation = "NOT " if is_negated else ""
        pieces.pieces[comparison.left.begin] = f"{negation}EXISTS (SELECT 1 FROM "
        names = [quoted(f"{HIDDEN}{number} {i}") for i in range(len(left))]
        behind = " IS NOT FALSE" if is_negated else ""
        equal = " AND ".join(f"(({a}) = {b}){behind}" for a, b in zip(left, names, strict=True))
        alias = f" AS {quoted(f'{HIDDEN}rows {number}')}({', '.join(names)})"
        last = comparison.end - 1
        pieces.closing[last] = f"{alias} WHERE {equal})" + pieces.closing.get(last, "")


def _condition(operator: str, left: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """The comparison of a row with another one, or with several."""
    if operator in ("in", "not in"):
        condition = " OR ".join(f"({_equal(left, row)})" for row in rows)
        return f"NOT ({condition})" if operator == "not in" else condition
    right = rows[0]
    if operator in ("=", "=="):
        return _equal(left, right)
    if operator in ("<>", "!="):
        return f"NOT ({_equal(left, right)})"
    if operator in (">", ">="):
        left, right = right, left
    return _less(left, right, or_equal=operator.endswith("="))


def _equal(left: Sequence[str], right: Sequence[str]) -> str:
    return " AND ".join(f"(({a}) <=> ({b}))" for a, b in zip(left, right, strict=True))


def _less(left: Sequence[str], right: Sequence[str], *, or_equal: bool) -> str:
    a, b = left[0], right[0]
    less = f"coalesce(({a}) < ({b}), ({a}) IS NOT NULL AND ({b}) IS NULL)"
    if len(left) == 1:
        return f"({less} OR ({a}) <=> ({b}))" if or_equal else less
    rest = _less(left[1:], right[1:], or_equal=or_equal)
    return f"({less} OR (({a}) <=> ({b}) AND {rest}))"
