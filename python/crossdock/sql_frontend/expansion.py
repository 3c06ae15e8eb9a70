"""What stands for a longer text, which needs the columns of tables to be written: COLUMNS, stars
with LIKE and RENAME, ORDER BY ALL, PIVOT and UNPIVOT within queries, joins and samples by rows; and
FROM before SELECT. One of them after the other becomes the text that it stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import pyarrow as pa

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.pivoting import is_within, pivot_around, without_pivot
from crossdock.sql_frontend.row_tables import RowTables, Written
from crossdock.sql_frontend.text.derived import part_of, replaced
from crossdock.sql_frontend.text.laterals import Laterals
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.rewritten import HIDDEN, ROW_NUMBERS
from crossdock.sql_frontend.text.scopes import Query, between_commas, brackets_of, query_of
from crossdock.sql_frontend.text.select_items import needs_name
from crossdock.sql_frontend.text.tokens import Token, quoted, quoted_string, tokens_of, words_of

if TYPE_CHECKING:
    from crossdock.relation import Relation

Plan = Callable[[str], "Relation"]
_WORDS = words_of(
    "columns rename like ilike all pivot unpivot select asof positional tablesample sample lateral "
    "limit unnest"
)
_OF_ROWS = {"asof": "asof", "positional": "positional", "tablesample": "sample"}
_BEFORE_SELECT = words_of("union all intersect except by explain")
_CONDITIONS = ("where", "having", "qualify")
_MODIFIERS = words_of("exclude except replace rename like ilike not")


def expanded(text: str, plan: Plan, is_over_ranks: bool) -> Written | None:
    """The text with the first of them written out; None where there is none. `plan` gives the
    relation of another text. Errors: SqlError, those of planning."""
    tokens = tokens_of(text)
    has_fields = any(map(_are_fields, tokens[1:], tokens[2:]))
    if not has_fields and not any(token.lower in _WORDS for token in tokens[1:]):
        return None
    return _Expansion(text, tokens, plan, is_over_ranks).run()


class _Expansion:
    def __init__(self, text: str, tokens: Sequence[Token], plan: Plan, is_over_ranks: bool) -> None:
        self._text = text
        self._tokens = tokens
        self._plan = plan
        self._is_over_ranks = is_over_ranks
        self._closing = brackets_of(tokens)

    def run(self) -> Written | None:
        for number in range(1, len(self._tokens)):
            word = self._tokens[number].lower
            if self._is_at(number, "*") and (text := self._fields(number)) is not None:
                return Written(text, {})
            if word not in _WORDS:
                continue
            if (written := self._with_table(word, number)) is not None:
                return written
            if (text := self._written(word, number)) is not None:
                return Written(text, {})
        return None

    def _with_table(self, word: str, number: int) -> Written | None:
        """What needs rows: joins and samples by rows, and groups below an UNNEST."""
        if word == "sample":
            tables = RowTables(self._text, self._query(number), self._plan, 0)
            return tables.using_sample(number) if self._word(number - 1) == "using" else None
        if word == "unnest":
            return self._grouped(number) if self._is_at(number + 1, "(") else None
        is_join = self._word(number + 1) == "join"
        kinds = (is_join or self._word(number + 2) == "join", is_join, True)
        if not dict(zip(_OF_ROWS, kinds, strict=True)).get(word):
            return None
        count = sum(t.kind == "quoted" and t.name.startswith(ROW_NUMBERS) for t in self._tokens)
        tables = RowTables(self._text, self._query(number), self._plan, count)
        written: Written = getattr(tables, _OF_ROWS[word])(number)
        return written

    def _fields(self, number: int) -> str | None:
        """`s.*` of a column of structs as its fields; None for tables."""
        if not self._is_at(number - 1, ".") or self._is_at(number - 3, "."):
            return None
        query, owner = self._query(number), self._tokens[number - 2]
        begin, end = query.clause("from")
        if begin == end or owner.name.lower() in Laterals(self._text).names(query):
            return None
        relation = self._plan(f"{query.prefix}SELECT * {self._sql(begin, end)}")
        types = {field.name.lower(): field.type for field in relation.schema}
        data_type = types.get(owner.name.lower())
        if data_type is None or not pa.types.is_struct(data_type):
            return None
        fields = [f"{owner.text}[{quoted_string(f.name)}] AS {quoted(f.name)}" for f in data_type]
        return self._replaced(number - 2, number + 1, ", ".join(fields))

    def _grouped(self, number: int) -> Written | None:
        """Groups whose lists an UNNEST takes apart, as a table: DataFusion knows what is unique in
        them, and takes it to be so behind the UNNEST, too."""
        query = self._query(number)
        place, end = query.clause("from")
        if "group" in query.clauses and query.level[0]:  # those of the UNNEST's own query
            place, end = query.level[0] - 2, query.level[1]
        while place < end:
            is_first = self._word(place) in ("from", "join") or self._is_at(place, ",")
            first, place = place + 1, self._closing.get(place, place) + 1
            close = self._closing.get(first, -1)
            if not is_first or (close < 0 and self._word(first) not in query.tables):
                continue
            is_query, behind = close >= 0, max(close, first) + 1
            sql = self._sql(first + is_query, behind - is_query)
            known = sql if is_query else query.prefix
            if not {"group", "distinct"} & {token.lower for token in tokens_of(known)}:
                continue
            count = sum(token.name.startswith(f"{HIDDEN}groups") for token in self._tokens)
            relation = self._plan(_behind_tables(query, sql if is_query else f"FROM {sql}"))
            name = f"{HIDDEN}groups {count}"
            has_name = is_query or Pieces(self._text).has_alias(behind)
            alias = "" if has_name else f" AS {quoted(self._tokens[first].name)}"
            return Written(self._replaced(first, behind, quoted(name) + alias), {name: relation})
        return None

    def _written(self, word: str, number: int) -> str | None:
        if word in ("pivot", "unpivot"):
            return self._pivot(number) if is_within(self._tokens, number) else None
        if word == "select":
            return self._from_first(number) or Laterals(self._text).value(number)
        if word in ("lateral", "limit"):
            laterals = Laterals(self._text)
            return laterals.lateral(number) if word == "lateral" else laterals.value(number)
        if word == "all":
            return self._order_by_all(number)
        if word == "columns" and number + 1 in self._closing:
            return None if self._is_at(number - 1, ".") else self._columns(number)
        star = self._star_before(number)
        return self._star(star) if star >= 0 else None

    def _is_at(self, number: int, operator: str) -> bool:
        return 0 <= number < len(self._tokens) and self._tokens[number].is_operator(operator)

    def _word(self, number: int) -> str:
        return self._tokens[number].lower if 0 <= number < len(self._tokens) else ""

    def _sql(self, begin: int, end: int) -> str:
        """The text of tokens."""
        return (
            self._text[self._tokens[begin].start : self._tokens[end - 1].end] if end > begin else ""
        )

    def _replaced(self, begin: int, end: int, by: str) -> str:
        place = self._tokens[begin].start, self._tokens[end - 1].end
        return replaced(self._text, [(*place, by)])

    def _query(self, number: int) -> Query:
        return query_of(self._text, self._tokens, number)

    def _pivot(self, number: int) -> str:
        query = self._query(number)
        begin, end, statement = pivot_around(self._text, self._tokens, number, query.level)
        select = without_pivot(
            part_of(statement, self._text),
            lambda part: self._plan(query.prefix + part),
            self._is_over_ranks,
        )
        is_statement = self._tokens[begin].lower in ("pivot", "unpivot")
        return self._replaced(begin, end, select if is_statement else f"({select})")

    def _from_first(self, number: int) -> str | None:
        """`FROM t SELECT a` as `SELECT a FROM t`."""
        if self._is_at(number - 1, "(") or self._word(number - 1) in _BEFORE_SELECT:
            return None
        query = self._query(number)
        source = query.clauses.get("from")
        if source is None or source > number or query.clauses.get("select") != number:
            return None
        end = query.clause("select")[1]
        first, second = self._sql(number, end), self._sql(source, number)
        return self._replaced(source, end, f"{first} {second}")

    def _order_by_all(self, number: int) -> str | None:
        """By the number of each column."""
        query = self._query(number)
        order = query.clauses.get("order", -1)
        if self._word(number - 1) != "by" or order != number - 2:
            return None
        end = number + 1
        while self._word(end) in ("asc", "desc", "nulls", "first", "last"):
            end += 1
        how = self._sql(number + 1, end)
        begin = query.level[0]
        outer = {k: v for k, v in query.tables.items() if v not in self._sql(begin, order)}
        prefix = f"WITH {', '.join(outer.values())} " if outer else ""
        count = len(self._plan(f"{prefix}SELECT * FROM ({self._sql(begin, order)})").columns)
        return self._replaced(number, end, ", ".join(f"{i + 1} {how}" for i in range(count)))

    def _source_columns(self, query: Query, owner: str = "") -> list[str]:
        """The columns of the FROM of a query, or of one table of it."""
        begin, end = query.clause("from")
        if begin == end:
            raise sql_error("a star needs a FROM", self._text, self._tokens[query.begin].start)
        star = f"{owner}*" if owner else "*"
        return list(self._plan(f"{query.prefix}SELECT {star} {self._sql(begin, end)}").columns)

    def _star_before(self, number: int) -> int:
        """The star, which is no product, that a LIKE or a RENAME is of; -1 where there is none."""
        before = number - 1 - (self._word(number - 1) == "not")
        while self._is_at(before, ")") and self._word(self._opening(before) - 1) in _MODIFIERS:
            before = self._opening(before) - 2
        if not self._is_at(before, "*"):
            return -1
        begins = self._word(before - 1) in ("select", "all", "distinct")
        begins = begins or self._is_at(before - 1, ",") or self._is_at(before - 1, ".")
        return before if begins else -1

    def _opening(self, close: int) -> int:
        return next((o for o, c in self._closing.items() if c == close), -1)

    def _star(self, star: int) -> str:
        """A star with what is left out, replaced, renamed or looked for, as its columns."""
        begin = star - 2 if self._is_at(star - 1, ".") else star
        owner = self._sql(begin, star)
        names = self._source_columns(self._query(star), owner)
        items, end = self._modified(names, star + 1, owner)
        if not items:
            raise sql_error("the star has no column", self._text, self._tokens[star].start)
        return self._replaced(begin, end, ", ".join(items))

    def _modified(self, names: list[str], number: int, owner: str) -> tuple[list[str], int]:
        """The items of a star, and what stands behind its modifiers."""
        items = {name: owner + quoted(name) for name in names}
        while self._word(number) in _MODIFIERS:
            word = self._word(number)
            is_not = word == "not"
            if is_not or word in ("like", "ilike"):
                word, pattern = self._word(number + is_not), self._pattern(number + is_not + 1)
                regex = _of_like(pattern, ignores_case=word == "ilike")
                items = {n: v for n, v in items.items() if bool(regex.fullmatch(n)) != is_not}
                number += 2 + is_not
                continue
            close = self._closing.get(number + 1, number + 1)
            is_one = close == number + 1
            listed = (close, close + 1) if is_one else (number + 2, close)
            for begin, end in between_commas(self._tokens, *listed):
                name = self._tokens[end - 1].name.lower()
                if word in ("exclude", "except"):
                    items = {n: v for n, v in items.items() if n.lower() != name}
                elif word == "rename":
                    old = self._tokens[begin].name.lower()
                    items = {
                        n: f"{v} AS {quoted(name)}" if n.lower() == old else v
                        for n, v in items.items()
                    }
                else:
                    value = self._sql(begin, end)
                    items = {n: value if n.lower() == name else v for n, v in items.items()}
            number = close + 1
        return list(items.values()), number

    def _pattern(self, number: int) -> str:
        token = self._tokens[number] if number < len(self._tokens) else None
        if token is None or token.kind != "string":
            place = len(self._text) if token is None else token.start
            raise sql_error("LIKE of a star takes a string", self._text, place, "* LIKE 'a%'")
        return token.value

    def _columns(self, number: int) -> str:
        """An item or a condition with COLUMNS, once for each of them."""
        query = self._query(number)
        begin, end, separator = self._around(number, query)
        calls = [
            (i, self._closing[i + 1])
            for i in range(begin, end)
            if self._word(i) == "columns" and i + 1 in self._closing and not self._is_at(i - 1, ".")
        ]
        chosen = {self._sql(i + 2, close) for i, close in calls}
        if len(chosen) > 1:
            raise unsupported(
                "COLUMNS of several choices in one item", self._text, self._tokens[number].start,
                "COLUMNS of one choice, or the columns by name",
            )  # fmt: skip
        names = self._chosen(query, *calls[0])
        if not names:
            raise sql_error("COLUMNS has no column", self._text, self._tokens[number].start)
        is_item = separator == ", "
        is_computed = is_item and (calls[0][0], calls[0][1] + 1) != (begin, end)
        has_no_name = is_computed and needs_name(self._tokens[begin:end])
        written = []
        for name in names:
            item = self._with(calls, (begin, end), quoted(name))
            if has_no_name:
                item += f" AS {quoted(self._with(calls, (begin, end), name))}"
            written.append(item if is_item else f"({item})")
        return self._replaced(begin, end, separator.join(written))

    def _with(self, calls: Sequence[tuple[int, int]], tokens: tuple[int, int], name: str) -> str:
        """The text of tokens with a name in place of calls in them."""
        parts, place = "", self._tokens[tokens[0]].start
        for number, close in calls:
            parts += self._text[place : self._tokens[number].start] + name
            place = self._tokens[close].end
        return parts + self._text[place : self._tokens[tokens[1] - 1].end]

    def _around(self, number: int, query: Query) -> tuple[int, int, str]:
        """The tokens of the select item or the condition that a token is in, and what is between
        several of them."""
        for word in ("select", *_CONDITIONS, "group", "order"):
            begin, end = query.clause(word)
            if not begin <= number < end:
                continue
            if word in _CONDITIONS:
                return begin + 1, end, " AND "
            begin += 1 + (word in ("group", "order"))
            begin += self._word(begin) in ("distinct", "all")
            for first, behind in between_commas(self._tokens, begin, end):
                if first <= number < behind:
                    return first, behind, ", "
        raise unsupported("COLUMNS in this place", self._text, self._tokens[number].start)

    def _chosen(self, query: Query, number: int, close: int) -> list[str]:
        """The columns that a COLUMNS takes: of a star, of a pattern, or of a list of names."""
        first = self._tokens[number + 2]
        if first.is_operator("*"):
            names = self._source_columns(query)
            items, _ = self._modified(names, number + 3, "")
            return [name for name in names if quoted(name) in items]
        names = self._source_columns(query)
        if first.kind == "string" and close == number + 3:
            return [name for name in names if re.search(first.value, name)]
        if first.lower == "lambda" and self._is_at(number + 4, ":"):
            return self._met(names, number + 3, (number + 5, close))
        if self._is_at(number + 3, "->"):
            return self._met(names, number + 2, (number + 4, close))
        if first.is_operator("["):
            listed = self._tokens[number + 3 : close - 1]
            if all(t.kind == "string" or t.is_operator(",") for t in listed):
                chosen = [t.value.lower() for t in listed if t.kind == "string"]
                return [name for name in names if name.lower() in chosen]
        raise unsupported(
            "COLUMNS of other than *, a pattern and a list of strings", self._text,
            self._tokens[number].start, "COLUMNS('^price'), or COLUMNS(* EXCLUDE (a))",
        )  # fmt: skip

    def _met(self, names: list[str], name: int, condition: tuple[int, int]) -> list[str]:
        """The columns whose names meet the condition of `lambda c: c like 'a%'`."""
        values = ", ".join(f"({quoted_string(each)})" for each in names)
        column = self._tokens[name].text
        chosen = self._plan(
            f"SELECT {column} FROM (VALUES {values}) t({column}) WHERE {self._sql(*condition)}"
        )
        kept = set(chosen.collect().column(0).to_pylist())
        return [each for each in names if each in kept]


def _are_fields(dot: Token, star: Token) -> bool:
    return dot.is_operator(".") and star.is_operator("*")


def _behind_tables(query: Query, text: str) -> str:
    """A query's text with the tables of WITH that it sees before it."""
    if query.prefix and text.lower().startswith("with "):
        return f"{query.prefix.rstrip()}, {text[len('with ') :]}"
    return query.prefix + text


def _of_like(pattern: str, ignores_case: bool) -> re.Pattern[str]:
    parts = {"%": ".*", "_": "."}
    written = "".join(parts.get(letter, re.escape(letter)) for letter in pattern)
    return re.compile(written, re.S | (re.I if ignores_case else 0))
