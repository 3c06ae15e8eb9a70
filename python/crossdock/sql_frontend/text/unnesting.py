"""UNNEST of columns. Plans have it not, so a query gets the element of the list at a place that
stands for all of them; and in FROM, beside a table, that is a column of the table."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import NoReturn, Protocol

from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.pieces import Operand, Pieces
from crossdock.sql_frontend.text.rewritten import UNNEST
from crossdock.sql_frontend.text.tokens import quoted

_OUTER = ("left", "full")
_INSTEAD = "UNNEST(t.l) behind the table t, or in the select list"


class Frame(Protocol):
    """A query, and the tables of its FROM so far."""

    operands: list[Operand]


@dataclass
class _Lateral:
    """An UNNEST in FROM: its tokens with the join before them, those of the list, the table that
    the list is of, its own name and that of its column, and whether rows without elements stay."""

    begin: int
    end: int
    lists: tuple[int, int]
    owner: Operand
    name: str
    column: str
    keeps_empty: bool
    query: Frame


class Unnesting:
    """Those of one text."""

    def __init__(self, pieces: Pieces) -> None:
        self._pieces = pieces
        self._laterals: list[_Lateral] = []
        self._used: list[tuple[int, Sequence[Frame]]] = []
        self.count = 0

    def name(self, number: int, queries: Sequence[Frame]) -> None:
        """A name that may be of the result of an UNNEST in FROM."""
        self._used.append((number, queries))

    def item(self, number: int, clause: str) -> None:
        """An UNNEST in an expression. SqlError where it is not in a select list."""
        pieces = self._pieces
        if clause != "select":
            raise unsupported(
                f"UNNEST in {clause.upper() or 'this place'}", pieces.text,
                pieces.tokens[number].start, "a subquery with UNNEST in its select list",
            )  # fmt: skip
        close = pieces.behind_bracket(number + 1) - 1
        pieces.pieces[number] = "array_element"
        pieces.pieces[close] = f", {self._mark(keeps_empty=False)})"

    def _mark(self, *, keeps_empty: bool) -> str:
        self.count += 1
        return f"{quoted(UNNEST)}({-self.count if keeps_empty else self.count})"

    def is_lateral(self, number: int) -> bool:
        """Whether the list of the UNNEST at a token has columns."""
        close = self._pieces.behind_bracket(number + 1)
        listed = self._pieces.tokens[number + 2 : close - 1]
        return any(
            token.kind == "quoted" or token.lower not in ("", "true", "false", "null")
            for token in listed
        )

    def table(self, number: int, query: Frame) -> None:
        """An UNNEST of columns in the FROM of a query."""
        pieces = self._pieces
        unnest = pieces.operand(number)
        assert unnest is not None
        lists = (number + 2, unnest.end - 1)
        owner = self._owner(lists, query)
        if owner is None:
            self._refuse(number, "UNNEST of columns of several tables, or of none before it")
        begin, keeps_empty = self._joined_by(number)
        behind, column = self._column(unnest)
        if keeps_empty or self._pieces.word_at(behind) == "on":
            behind = self._behind_true(behind)
        if self._is_optional(owner, begin):
            self._refuse(number, "UNNEST of a table of an outer join")
        self._laterals.append(
            _Lateral(begin, behind, lists, owner, unnest.name, column, keeps_empty, query)
        )

    def _refuse(self, number: int, what: str) -> NoReturn:
        raise unsupported(what, self._pieces.text, self._pieces.tokens[number].start, _INSTEAD)

    def _owner(self, lists: tuple[int, int], query: Frame) -> Operand | None:
        """The one table that the list has columns of."""
        pieces = self._pieces
        names = {
            pieces.tokens[i].name.lower()
            for i in range(*lists)
            if pieces.tokens[i].kind in ("word", "quoted") and self._is_before_dot(i)
        }
        for each in self._laterals:
            if each.query is query and each.name in names:
                names = (names - {each.name}) | {each.owner.name}
        known = [each for each in query.operands if each.name and each.name in names]
        if names:
            return known[0] if len(known) == len(names) == 1 else None
        return query.operands[0] if len(query.operands) == 1 else None

    def _is_before_dot(self, number: int) -> bool:
        following = self._pieces.at(number + 1)
        return following is not None and following.is_operator(".")

    def _joined_by(self, number: int) -> tuple[int, bool]:
        """The first token of the join before an UNNEST, and whether it is a LEFT JOIN."""
        begin = number - 1
        while self._pieces.word_at(begin) in ("lateral", "join", "cross", "inner", "left", "outer"):
            begin -= 1
        keeps_empty = any(self._pieces.word_at(each) == "left" for each in range(begin, number))
        token = self._pieces.tokens[begin]
        return (begin if token.is_operator(",") else begin + 1), keeps_empty

    def _column(self, unnest: Operand) -> tuple[int, str]:
        """The token behind the names, and the name of the column."""
        opened = self._pieces.at(unnest.behind)
        if not unnest.has_alias or opened is None or not opened.is_operator("("):
            return unnest.behind, unnest.name
        behind = self._pieces.behind_bracket(unnest.behind)
        if behind != unnest.behind + 3:
            self._refuse(unnest.start, "UNNEST with several names of columns")
        return behind, self._pieces.tokens[unnest.behind + 1].name.lower()

    def _behind_true(self, number: int) -> int:
        """Behind ON TRUE."""
        if [self._pieces.word_at(number), self._pieces.word_at(number + 1)] != ["on", "true"]:
            self._refuse(number - 1, "a JOIN of UNNEST ON other than TRUE")
        return number + 2

    def _is_optional(self, owner: Operand, end: int) -> bool:
        """Whether rows of the join may lack those of the table."""
        before = [self._pieces.word_at(owner.start - i) for i in (1, 2, 3)]
        is_right = before[0] == "join" and any(word in _OUTER for word in before[1:])
        words = [self._pieces.word_at(each) for each in range(owner.behind, end)]
        return is_right or any(
            word in ("right", "full") and words[i + 1 : i + 2] in (["join"], ["outer"])
            for i, word in enumerate(words)
        )

    def finish_names(self) -> None:
        """Writes what names of columns of those in FROM mean."""
        for number, queries in self._used:
            self._write_name(number, queries)

    def finish(self) -> None:
        """Writes all of those in FROM, once names within their lists are written."""
        columns: dict[int, tuple[Operand, list[str]]] = {}  # by the first token of a table
        for each in self._laterals:
            listed = self._pieces.taken_out(*each.lists)
            self._pieces.leave_out(each.begin, each.end)
            mark = self._mark(keeps_empty=each.keeps_empty)
            column = f"array_element({listed}, {mark}) AS {quoted(each.column)}"
            columns.setdefault(each.owner.start, (each.owner, []))[1].append(column)
        for owner, of_owner in columns.values():
            self._write(owner, of_owner)

    def _write_name(self, number: int, queries: Sequence[Frame]) -> None:
        """`w.x` as the column of the table that w is of."""
        pieces, table = self._pieces, self._pieces.at(number - 2)
        dot = pieces.at(number - 1)
        if table is None or dot is None or not dot.is_operator("."):
            return
        named = table.name.lower()
        for each in self._laterals:
            if each.name == named and each.query in queries:
                pieces.pieces[number - 2] = quoted(each.owner.name)
                pieces.pieces[number] = quoted(each.column)

    def _write(self, owner: Operand, columns: Sequence[str]) -> None:
        """The table with its further columns, each of which the next ones may read."""
        pieces, name = self._pieces, f" AS {quoted(owner.name)}"
        is_file = pieces.pieces.get(owner.start, "").startswith('"file ')
        opened, closed = "", "" if is_file and not owner.has_alias else name
        for column in columns:
            opened = f"(SELECT *, {column} FROM " + opened
            closed += f"){name}"
        if owner.has_alias:
            closed = closed.removesuffix(name)
        pieces.before[owner.start] = pieces.before.get(owner.start, "") + opened
        pieces.closing[owner.end - 1] = closed + pieces.closing.get(owner.end - 1, "")
