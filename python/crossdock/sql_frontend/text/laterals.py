"""The first rows for each row of another table: LATERAL with LIMIT, and the one row of a value that
is a query with LIMIT 1. DataFusion takes neither apart. The rows of the first are numbered by what
they have in common with the other table, and joined; the second is an aggregate."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.correlated import CONDITIONS, Correlated
from crossdock.sql_frontend.text.derived import replaced
from crossdock.sql_frontend.text.rewritten import HIDDEN, ONE_ROW
from crossdock.sql_frontend.text.scopes import Query, between_commas, query_of
from crossdock.sql_frontend.text.select_items import is_column, is_named
from crossdock.sql_frontend.text.tokens import quoted, words_of

_SETS = words_of("union intersect except")
_NO_VALUES = _SETS | words_of("in exists any some all lateral from join as")
# A value of one row, and an error of the run where there are more.
_ONE = f"CASE WHEN {quoted(ONE_ROW)}(sum(1)) = 1 THEN {{}} END"
_OF_ORDER = words_of("asc desc nulls first last")
_INSTEAD = "row_number() OVER (PARTITION BY ... ORDER BY ...) in a subquery, joined"


class Laterals(Correlated):
    """Those of one text."""

    def lateral(self, number: int) -> str | None:
        """The text with the LATERAL at a token written as a join; None where it has no LIMIT."""
        opened = number + 1
        if not self._pieces.is_at(opened, "(") or self._pieces.word_at(opened + 1) != "select":
            return None
        inner = query_of(self._text, self._tokens, opened + 1)
        if "limit" not in inner.clauses:
            return None
        kinds = {"select", "from", "where", "group", "having", "order", "limit", "offset"}
        if inner.clauses.keys() - kinds or self._pieces.word_at(opened + 2) == "distinct":
            self._refuse(number)
        pairs, rest = self._correlation(inner, number)
        first, last = self._rows(inner)
        count = sum(token.name.startswith(f"{HIDDEN}lateral") for token in self._tokens)
        names = [quoted(f"{HIDDEN}lateral {count} {i}") for i in range(len(pairs) + 1)]
        query = self._numbered(inner, ([ours for ours, _ in pairs], rest), names)
        same = [f"{name} = {theirs}" for name, (_, theirs) in zip(names[1:], pairs, strict=True)]
        same.append(f"{names[0]} BETWEEN {first + 1} AND {last}")
        return self._joined(number, query, " AND ".join(same))

    def _rows(self, inner: Query) -> tuple[int, int]:
        """How many rows are left out, and the number of the last one."""
        numbers = []
        for word in ("offset", "limit"):
            begin, end = inner.clause(word)
            token = self._tokens[begin + 1] if begin < end else None
            if token is not None and (end > begin + 2 or not token.text.isdecimal()):
                self._refuse(begin)
            numbers.append(0 if token is None else int(token.text))
        return numbers[0], sum(numbers)

    def _numbered(
        self, inner: Query, keys: tuple[list[str], list[str]], names: Sequence[str]
    ) -> str:
        """The query with its keys and the numbers of its rows as further columns."""
        ours, rest = keys
        group = inner.clause("group")
        over = f"PARTITION BY {', '.join(ours)} {self._order(inner)}"
        number = f"row_number() OVER ({over}) AS {names[0]}"
        items = [f"{each} AS {name}" for each, name in zip(ours, names[1:], strict=True)]
        select = self._said(*inner.clause("select"))
        where = f" WHERE {' AND '.join(rest)}" if rest else ""
        having = self._said(*inner.clause("having"))
        grouped = (
            f" {self._said(*group)}, {', '.join(ours)} {having}" if group[0] < group[1] else ""
        )
        source = self._said(*inner.clause("from"))
        return f"({select}, {number}, {', '.join(items)} {source}{where}{grouped})"

    def _order(self, inner: Query) -> str:
        """ORDER BY with what items compute in the place of their names and numbers: where it goes,
        names are those of columns. SqlError where a name of an item is a part of a key."""
        begin, end = inner.clause("order")
        items = self._items(inner)
        keys = []
        for first, last in between_commas(self._tokens, begin + 2, end) if begin < end else []:
            behind = last
            while self._pieces.word_at(behind - 1) in _OF_ORDER and behind > first + 1:
                behind -= 1
            names = [self._tokens[each].name.lower() for each in range(first, behind)]
            if len(names) == 1:
                written = items.get(names[0], self._said(first, behind))
            elif any(name in items and not self._pieces.is_at(i - 1, ".")
                     for i, name in enumerate(names, first)):  # fmt: skip
                self._refuse(first)
            else:
                written = self._said(first, behind)
            if written.isdecimal():
                self._refuse(first)
            keys.append(f"{written} {self._said(behind, last)}")
        return f"ORDER BY {', '.join(keys)}" if keys else ""

    def _items(self, inner: Query) -> dict[str, str]:
        """What items compute, by their names and numbers."""
        begin, end = inner.clause("select")
        items = {}
        for number, (first, last) in enumerate(between_commas(self._tokens, begin + 1, end), 1):
            words, behind = self._tokens[first:last], last
            if is_named(words):
                behind -= 1 + (words[-2].lower == "as")
                items[words[-1].name.lower()] = f"({self._said(first, behind)})"
            items[str(number)] = f"({self._said(first, behind)})"
        return items

    def _joined(self, number: int, query: str, same: str) -> str:
        tokens = self._tokens
        operand = self._pieces.operand(number + 1)
        assert operand is not None
        begin, behind = number, operand.behind
        alias = self._said(operand.end, behind)
        if self._pieces.is_at(behind, "("):
            self._refuse(number)
        while self._pieces.word_at(begin - 1) in ("join", "cross", "inner", "left", "outer"):
            begin -= 1
        is_left = any(self._pieces.word_at(each) == "left" for each in range(begin, number))
        begin -= self._pieces.is_at(begin - 1, ",")
        source = query_of(self._text, tokens, number).clause("from")[0]
        if len(between_commas(tokens, source + 1, begin)) > 1:  # JOIN sees the last of them alone
            self._refuse(number)
        if self._pieces.word_at(behind) == "on":
            end = self._pieces.behind_operand(behind + 1)
            while self._pieces.word_at(end) in ("and", "or"):
                end = self._pieces.behind_operand(end + 1)
            same, behind = f"{same} AND ({self._said(behind + 1, end)})", end
        text = f"{' LEFT' if is_left else ''} JOIN {query} {alias} ON {same}"
        return replaced(self._text, [(tokens[begin].start, tokens[behind - 1].end, text)])

    def value(self, number: int) -> str | None:
        """The text with a value, whose SELECT or LIMIT 1 is at a token, as an aggregate; None where
        it is none, or of no other query."""
        inner = query_of(self._text, self._tokens, number)
        opened, has_limit = inner.level[0] - 1, "limit" in inner.clauses
        word = "limit" if has_limit else "select"
        if inner.begin != opened + 1 or inner.clauses.get(word) != number or opened < 1:
            return None
        limit = inner.clauses.get("limit", number)
        last = self._tokens[limit + 1 : limit + 2]
        outer = query_of(self._text, self._tokens, opened)
        source = outer.clause("from")
        is_table = source[0] <= opened < source[1] or self._pieces.word_at(opened - 1) in _NO_VALUES
        kinds = {"select", "from", "where", "order", "limit"}
        if is_table or inner.clauses.keys() - kinds:
            return None
        if has_limit and [each.text for each in last] != ["1"]:
            return None
        names = self.names(inner)
        begin, end = inner.clause("select")
        words = self._tokens[begin + 1 : end]
        is_one = len(between_commas(self._tokens, begin + 1, end)) == 1
        is_correlated = any(self._is_outer(each, names) for each in range(inner.begin, inner.end))
        if not is_one or not is_correlated or words[0].lower == "distinct":
            return None
        if not has_limit and not is_column(words):  # which may be an aggregate already
            return None
        item_end = end
        if is_named(words):
            item_end -= 1 + (words[-2].lower == "as")
        first = f"first_value({self._said(begin + 1, item_end)} {self._order(inner)})"
        item = first if has_limit else _ONE.format(first)
        tables, where = (self._said(*inner.clause(each)) for each in ("from", "where"))
        text = f"SELECT {item} {tables} {where}"
        place = self._tokens[begin].start, self._tokens[inner.level[1] - 1].end
        return replaced(self._text, [(*place, text)])

    def _correlation(self, inner: Query, number: int) -> tuple[list[tuple[str, str]], list[str]]:
        """What has to be equal, within and outside, and the other conditions. SqlError where rows
        outside are asked for in another way."""
        names, pairs, rest = self.names(inner), list[tuple[str, str]](), list[str]()
        begin, end = inner.clause("where")
        if any(
            self._is_outer(each, names)
            for each in range(inner.begin, inner.end)
            if not begin <= each < end
        ):
            self._refuse(number)
        for first, last in self._conjuncts(begin + 1, end):
            if not any(self._is_outer(each, names) for each in range(first, last)):
                rest.append(f"({self._said(first, last)})")
                continue
            while self._pieces.is_at(first, "(") and self._pieces.behind_bracket(first) == last:
                first, last = first + 1, last - 1
            place = self._equal_sign(first, last)
            sides = [(first, place), (place + 1, last)]
            outer = [any(self._is_outer(i, names) for i in range(*side)) for side in sides]
            is_plain = not CONDITIONS & {self._pieces.word_at(each) for each in range(first, last)}
            if place < 0 or all(outer) or not is_plain:
                self._refuse(number)
            if not all(map(self._is_qualified, range(*sides[outer.index(True)]))):
                self._refuse(number)
            ours, theirs = (self._said(*sides[outer.index(is_outer)]) for is_outer in (False, True))
            pairs.append((ours, theirs))
        if not pairs:
            self._refuse(number)
        return pairs, rest

    def _refuse(self, number: int) -> NoReturn:
        raise unsupported(
            "LATERAL with LIMIT of other than rows with equal columns", self._text,
            self._tokens[number].start, _INSTEAD,
        )  # fmt: skip
