"""Subqueries that each row of the query around asks in another way than by equal columns, which is
all that DataFusion takes apart. The values that rows ask with become a table of the subquery: its
conditions are about that table, whose columns equal those of the row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from crossdock.errors import CrossdockError
from crossdock.sql_frontend.text.correlated import Correlated
from crossdock.sql_frontend.text.derived import Change, replaced
from crossdock.sql_frontend.text.operands import ends_value
from crossdock.sql_frontend.text.pieces import Operand
from crossdock.sql_frontend.text.rewritten import HIDDEN
from crossdock.sql_frontend.text.scopes import Query, query_of
from crossdock.sql_frontend.text.select_items import is_column, is_unit
from crossdock.sql_frontend.text.tokens import quoted, words_of

_KINDS = frozenset(("select", "from", "where", "group", "having"))
_NAME = f"{HIDDEN}asked "
# Of conditions that may hold although one of their values is NULL, as any with a call may.
_HOLDS_OF_NULL = words_of("or and not case is isnull notnull select")
# Joins with rows of the table behind them beside no row before them, and those of rows by place.
_KEEPS_RIGHT = words_of("right full positional")
_OUTER = words_of("left right full asof")
_NEVER_NULL = f"coalesce(cast({{}} AS varchar), '{HIDDEN}')"


@dataclass(frozen=True)
class _Read:
    """A column from outside: its tokens, the table that has it, and its name as it is written."""

    begin: int
    end: int
    owner: Operand
    column: str


class Correlations(Correlated):
    """Those of one text. `columns_of` gives the columns of the result of another text."""

    def __init__(self, text: str, columns_of: Callable[[str], Sequence[str]]) -> None:
        super().__init__(text)
        self._columns_of = columns_of
        self._columns: dict[str, frozenset[str] | None] = {}

    def decoupled(self) -> str | None:
        """The text with the first such subquery asked by equal columns; None where there is
        none."""
        for number, token in enumerate(self._tokens):
            if token.lower == "select" and self._pieces.is_at(number - 1, "("):
                inner = query_of(self._text, self._tokens, number)
                reads = [] if self._is_other(inner, number) else list(self._reads(inner))
                asks = any(not self._is_equal(inner, each) for each in reads)
                if asks and (text := self._asked(inner, reads)) is not None:
                    return text
        return None

    def _is_other(self, inner: Query, number: int) -> bool:
        """Whether a query has more than a table can be joined to, or has got one."""
        is_whole = inner.begin == number and inner.end == inner.level[1]
        is_done = any(name.startswith(_NAME) for name in self.names(inner))
        return not is_whole or is_done or bool(inner.clauses.keys() - _KINDS)

    def _around(self, number: int) -> Iterator[Query]:
        """The queries around a bracket, the innermost first."""
        while number > 0:
            query = query_of(self._text, self._tokens, number)
            yield query
            number = query.level[0] - 1

    def _reads(self, inner: Query) -> Iterator[_Read]:
        """What a query, and those in it, read of the tables of those around it."""
        outer = list(self._around(inner.level[0] - 1))
        for number in range(inner.begin, inner.end):
            token = self._tokens[number]
            if token.kind not in ("word", "quoted") or self._pieces.is_at(number - 1, "."):
                continue
            within = []
            for query in self._around(number):
                within.append(query)
                if query.level == inner.level:
                    break
            if self._pieces.is_at(number + 1, "."):
                owner = None
                if not any(token.name.lower() in self.names(query) for query in within):
                    owner = self._named(outer, token.name.lower())
                if owner is not None:
                    yield _Read(number, number + 3, owner, self._tokens[number + 2].text)
            elif self._may_be_column(number):
                owner = self._with_column((within, outer), number)
                if owner is not None:
                    yield _Read(number, number + 1, owner, token.text)

    def _named(self, outer: Sequence[Query], name: str) -> Operand | None:
        operands = (operand for query in outer for operand in self._operands(query))
        return next((each for each in operands if each.name == name), None)

    def _with_column(
        self, queries: tuple[Sequence[Query], Sequence[Query]], number: int
    ) -> Operand | None:
        """The table that has the column at a token, where it is one of the queries outside, the
        last ones, and not one that has the token in it."""
        within, outer = queries
        name = self._tokens[number].name.lower()
        for query in within:
            tables = self._operands(query)
            columns = self._columns_in(query, *query.clause("from"))
            if columns is None or name in columns:
                return None
            if any(number in (each.start, each.behind - 1) for each in tables):
                return None
        for query in outer:
            owners = list[Operand]()
            for each in self._operands(query):
                if each.start < number < each.end:
                    continue
                columns = self._columns_in(query, each.start, self._behind(each), "FROM ")
                if columns is None or not self._is_plain(each):
                    return owners[0] if owners else None
                owners += [each] if name in columns else []
            if owners:  # several have it by USING, whose value is the first one's, or that of both
                is_first = len(owners) == 1 or not self._has_join(query, _KEEPS_RIGHT)
                return owners[0] if is_first else None
        return None

    def _has_join(self, query: Query, kinds: frozenset[str]) -> bool:
        return any(token.lower in kinds for token in self._tokens[slice(*query.clause("from"))])

    def _columns_in(
        self, query: Query, begin: int, end: int, before: str = ""
    ) -> frozenset[str] | None:
        """The columns of tables in a FROM; None where they cannot be known alone."""
        text = f"{query.prefix}SELECT * {before}{self._said(begin, end)}"
        if begin >= end:
            return frozenset()
        if text not in self._columns:
            try:
                self._columns[text] = frozenset(map(str.lower, self._columns_of(text)))
            except CrossdockError:
                self._columns[text] = None
        return self._columns[text]

    def _behind(self, operand: Operand) -> int:
        """The token behind a table, its name, and the names of its columns."""
        has_names = operand.has_alias and self._pieces.is_at(operand.behind, "(")
        return self._pieces.behind_bracket(operand.behind) if has_names else operand.behind

    def _may_be_column(self, number: int) -> bool:
        """Whether a word by itself is not that of a call, a constant's type, a unit, or a name that
        is given."""
        following = self._pieces.at(number + 1)
        if following is not None and (following.is_operator("(") or following.kind == "string"):
            return False
        before = self._tokens[number - 1]
        is_given = before.lower == "as" or before.is_operator("::") or ends_value(before)
        return not is_given and not is_unit(self._tokens[: number + 1])

    def _is_equal(self, inner: Query, read: _Read) -> bool:
        """Whether a condition that all rows meet is that a column equals one from outside."""
        for first, last in self._conjuncts(*self._condition(inner)):
            place = self._equal_sign(first, last)
            sides = {(first, place): (place + 1, last), (place + 1, last): (first, place)}
            other = sides.get((read.begin, read.end))
            if other is not None:
                return is_column(self._tokens[slice(*other)])
        return False

    def _condition(self, inner: Query) -> tuple[int, int]:
        """What stands behind WHERE."""
        begin, end = inner.clause("where")
        return min(begin + 1, end), end

    def _asked(self, inner: Query, reads: Sequence[_Read]) -> str | None:
        """The text with a table of the values that a query is asked with in its FROM; None where a
        table around is no plain one, or which rows a join keeps is asked."""
        source = inner.clause("from")
        count = sum(token.name.startswith(_NAME) for token in self._tokens)
        columns: dict[tuple[int, str], str] = {}
        owners: dict[int, tuple[Operand, list[str]]] = {}
        conditions, changes = [], list[Change]()
        for read in reads:
            owner, column = read.owner, f"{quoted(read.owner.name)}.{read.column}"
            is_joined = source[0] <= read.begin < source[1] and self._has_join(inner, _KEEPS_RIGHT)
            if is_joined or not self._is_plain(owner):
                return None
            place = owner.start, read.column.lower()
            if place not in columns:
                name = columns[place] = quoted(f"{_NAME}{count} {len(columns)}")
                items = owners.setdefault(owner.start, (owner, []))[1]
                items.append(f"{column} AS {name}")
                same = [r for r in reads if (r.owner, r.column) == (owner, read.column)]
                if not self._needs_value(inner, same):
                    key = quoted(f"{_NAME}{count} {len(columns)} key")
                    column, name = (_NEVER_NULL.format(each) for each in (column, name))
                    items.append(f"{column} AS {key}")
                    name = key
                conditions.append(f"{name} = {column}")
            begin, end = self._tokens[read.begin].start, self._tokens[read.end - 1].end
            changes.append((begin, end, columns[place]))
        tables = " CROSS JOIN ".join(
            self._table(owner, items, f"{_NAME}{count} of {owner.name}")
            for owner, items in owners.values()
        )
        return replaced(self._text, sorted([*changes, *self._added(inner, tables, conditions)]))

    def _table(self, owner: Operand, items: Sequence[str], name: str) -> str:
        """The values of a table's columns, each once; and NULL where a row of it may be none."""
        said = self._said(owner.start, self._behind(owner))
        values = f"SELECT DISTINCT {', '.join(items)} FROM {said}"
        if self._has_join(query_of(self._text, self._tokens, owner.start), _OUTER):
            one = f"(SELECT 1) AS {quoted(f'{_NAME}one')}"
            values += f" UNION {values[: -len(said)]}{one} LEFT JOIN {said} ON 1 = 0"
        return f"({values}) AS {quoted(name)}"

    def _is_plain(self, owner: Operand) -> bool:
        """Whether a table can be written once more: it depends on no other, and has no `?`."""
        tokens = self._tokens[owner.start : owner.end]
        is_dependent = tokens[0].lower in ("lateral", "unnest")
        return not is_dependent and all(each.text != "?" for each in tokens)

    def _needs_value(self, inner: Query, reads: Sequence[_Read]) -> bool:
        """Whether no row is there for NULL: one of the conditions is about the value alone."""
        return any(
            any(first <= each.begin < last for each in reads)
            and not self._may_hold_of_null(first, last)
            for first, last in self._conjuncts(*self._condition(inner))
        )

    def _may_hold_of_null(self, first: int, last: int) -> bool:
        """Whether a condition may hold although one of its values is NULL."""
        for number in range(first, last):
            token = self._tokens[number]
            is_call = token.kind in ("word", "quoted") and self._pieces.is_at(number + 1, "(")
            if is_call or token.lower in _HOLDS_OF_NULL or token.is_operator(",", "[", "{"):
                return True
        return False

    def _added(self, inner: Query, tables: str, conditions: Sequence[str]) -> Iterator[Change]:
        """What is written into FROM and WHERE."""
        source, where = inner.clause("from"), inner.clause("where")
        has_source, has_where = source[0] < source[1], where[0] < where[1]
        before = source[0] if has_source else inner.clause("select")[1] - 1
        same = " AND ".join(conditions)
        if self._has_join(inner, _KEEPS_RIGHT):
            place = self._tokens[source[1] - 1].end
            yield place, place, f" CROSS JOIN {tables}"
        elif has_source:
            place = self._tokens[before].end
            yield place, place, f" {tables} CROSS JOIN"
        elif has_where:
            place = self._tokens[where[0]].start
            yield place, place, f"FROM {tables} "
        begin, end = where if has_where else source if has_source else (before, before + 1)
        behind = self._tokens[end - 1].end
        if has_where:
            first = self._tokens[begin].end
            yield first, first, " ("
            yield behind, behind, f") AND {same}"
        else:
            opened = "" if has_source else f" FROM {tables}"
            yield behind, behind, f"{opened} WHERE {same}"
