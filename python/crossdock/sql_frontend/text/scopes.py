"""The queries of a text, one within the other: their clauses, and the tables of WITH that each one
sees."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from crossdock.sql_frontend.text.tokens import Token, words_of

QUERY_STARTS = words_of("select from with values table pivot unpivot")
_CLAUSES = words_of(
    "select from where group having qualify window order limit offset fetch union intersect except"
)
_SETS = words_of("union intersect except")


@dataclass
class Query:
    """One SELECT: its tokens from `begin` to `end`, and the first token of each of its clauses.
    `level` are the tokens of all between the brackets around it; `tables` those of WITH that it
    sees, as they are written, by name."""

    begin: int
    end: int
    level: tuple[int, int]
    tables: dict[str, str]
    clauses: dict[str, int] = field(default_factory=dict)

    def clause(self, name: str) -> tuple[int, int]:
        """The tokens of a clause, its first word among them; none where it is not there."""
        begin = self.clauses.get(name)
        if begin is None:
            return self.end, self.end
        behind = [place for place in self.clauses.values() if place > begin]
        return begin, min(behind, default=self.end)

    @property
    def prefix(self) -> str:
        """WITH of the tables that it sees; "" where there is none."""
        return f"WITH {', '.join(self.tables.values())} " if self.tables else ""


def brackets_of(tokens: Sequence[Token]) -> dict[int, int]:
    """The closing bracket of each opening one; those that are not closed are left out."""
    closing: dict[int, int] = {}
    opened: list[int] = []
    for number, token in enumerate(tokens):
        if token.is_operator("(", "[", "{"):
            opened.append(number)
        elif token.is_operator(")", "]", "}") and opened:
            closing[opened.pop()] = number
    return closing


def between_commas(tokens: Sequence[Token], begin: int, end: int) -> list[tuple[int, int]]:
    """What stands between commas outside of brackets, from one token to another; nothing behind a
    last one."""
    parts, first, depth = [], begin, 0
    for number in range(begin, end):
        token = tokens[number]
        depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
        if depth == 0 and token.is_operator(","):
            parts.append((first, number))
            first = number + 1
    return [*parts, (first, end)] if first < end else parts


def query_of(text: str, tokens: Sequence[Token], number: int) -> Query:
    """The innermost query around a token."""
    closing = brackets_of(tokens)
    around = [(o + 1, c) for o, c in closing.items() if o < number <= c]
    levels = [(0, len(tokens)), *sorted(around)]
    tables: dict[str, str] = {}
    level, first = levels[0], 0
    for begin, end in levels:
        if begin and (begin >= end or tokens[begin].lower not in QUERY_STARTS):
            continue
        level, first = (begin, end), begin
        if tokens[begin].lower == "with":
            first = _Tables(text, tokens, closing).read((begin, end), number, tables)
    query = Query(first, level[1], level, tables)
    return _part_of(tokens, closing, number, query)


@dataclass(frozen=True)
class _Tables:
    """Reads the tables of WITH."""

    text: str
    tokens: Sequence[Token]
    closing: dict[int, int]

    def read(self, level: tuple[int, int], number: int, tables: dict[str, str]) -> int:
        """Notes those that end before a token; gives what stands behind all of them."""
        tokens, closing = self.tokens, self.closing
        place, end = level
        place += 1
        while place < end:
            begin = place
            while place < end and tokens[place].lower != "as":
                place = closing.get(place, place) + 1
            while place < end and not tokens[place].is_operator("("):
                place += 1
            behind = closing.get(place, end) + 1
            if behind <= number and behind <= end:
                name = tokens[begin].name.lower()
                tables[name] = self.text[tokens[begin].start : tokens[behind - 1].end]
            if behind >= end or not tokens[behind].is_operator(","):
                return min(behind, end)
            place = behind + 1
        return end


def _part_of(tokens: Sequence[Token], closing: dict[int, int], number: int, query: Query) -> Query:
    """The query, as that part of a set operation that has the token."""
    place, end = query.begin, query.end
    while place < end:
        token = tokens[place]
        if token.lower in _CLAUSES and _is_clause(tokens, place):
            if token.lower in _SETS:
                if place > number:
                    query.end = place
                    break
                query.begin = place + 1 + (tokens[place + 1].lower in ("all", "by"))
                query.clauses = {}
            else:
                query.clauses.setdefault(token.lower, place)
        place = closing.get(place, place) + 1
    return query


def _is_clause(tokens: Sequence[Token], place: int) -> bool:
    """Not EXCEPT behind a star, FROM of IS DISTINCT FROM, GROUP of WITHIN GROUP, and names."""
    before = tokens[place - 1] if place else None
    following = tokens[place + 1] if place + 1 < len(tokens) else None
    if before is None:
        return True
    word = tokens[place].lower
    if before.is_operator(".") or before.lower == "as":
        return False
    if word == "from":
        return before.lower != "distinct"
    if word == "group":
        return before.lower != "within"
    is_list = following is not None and following.is_operator("(")
    return not (word == "except" and before.is_operator("*") and is_list)
