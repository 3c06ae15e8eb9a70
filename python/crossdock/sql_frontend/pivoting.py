"""PIVOT and UNPIVOT as the queries that they stand for: an aggregate with FILTER per value, and a
UNION ALL of the columns."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.scopes import between_commas, brackets_of
from crossdock.sql_frontend.text.tokens import Token, quoted, quoted_string, tokens_of, words_of

if TYPE_CHECKING:
    from crossdock.relation import Relation

Query = Callable[[str], "Relation"]
_MOST_COLUMNS = 10_000
_ENDS = words_of("order limit offset")


def is_pivot(tokens: Sequence[Token]) -> bool:
    """Whether a text is a PIVOT or an UNPIVOT."""
    return bool(tokens) and tokens[0].lower in ("pivot", "unpivot")


def is_within(tokens: Sequence[Token], number: int) -> bool:
    """Whether PIVOT or UNPIVOT at a token is no name of a column, but a clause within a query."""
    before, following = tokens[number - 1], tokens[number + 1] if number + 1 < len(tokens) else None
    if following is None:
        return False
    is_table = following.kind in ("word", "quoted", "string")
    if before.is_operator("(", ")"):
        return is_table or following.is_operator("(")
    return following.is_operator("(") and before.kind in ("word", "quoted", "string")


def pivot_around(
    text: str, tokens: Sequence[Token], number: int, level: tuple[int, int]
) -> tuple[int, int, str]:
    """The tokens of a PIVOT or UNPIVOT within a query whose brackets hold the tokens `level`, and
    it as a statement. SqlError."""
    before, opened = tokens[number - 1], tokens[number + 1]
    ends_with = before.is_operator(")") and not opened.is_operator("(")
    if number == level[0] or ends_with:
        return number, level[1], text[tokens[number].start : tokens[level[1] - 1].end]
    closing = brackets_of(tokens)
    begin = number - 1
    if before.is_operator(")"):
        begin = next(opening for opening, close in closing.items() if close == number - 1)
        begin -= tokens[begin - 1].kind == "word" and tokens[begin - 1].lower not in (
            "from",
            "join",
        )
    elif tokens[begin - 1].is_operator("."):
        begin -= 2
    end = closing.get(number + 1, number) + 1
    source = text[tokens[begin].start : tokens[number - 1].end]
    inner = text[tokens[number + 1].end : tokens[end - 1].start]
    is_pivot = tokens[number].lower == "pivot"
    statement = _Standard(inner).pivot() if is_pivot else _Standard(inner).unpivot()
    if not statement:
        what, instead = (
            ("an aggregate FOR a column IN values", "PIVOT (sum(price) FOR kind IN ('a', 'b'))")
            if is_pivot
            else ("a name FOR a name IN columns", "UNPIVOT (value FOR name IN (a, b))")
        )
        word = tokens[number].text.upper()
        raise sql_error(f"{word} takes {what}", text, tokens[number].start, instead)
    return begin, end, statement.format(source=source)


class _Standard:
    """What stands in the brackets of PIVOT behind a table, as it is written before one."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = tokens_of(text)
        self._closing = brackets_of(self._tokens)

    def _sql(self, begin: int, end: int) -> str:
        sql = (
            self._text[self._tokens[begin].start : self._tokens[end - 1].end] if end > begin else ""
        )
        return sql.replace("{", "{{").replace("}", "}}")

    def _places(self, word: str) -> list[int]:
        places, number = [], 0
        while number < len(self._tokens):
            if self._tokens[number].lower == word:
                places.append(number)
            number = self._closing.get(number, number) + 1
        return places

    def pivot(self) -> str:
        begins, group = self._places("for"), self._places("group")
        lists = [number + 1 for number in self._places("in")]
        if len(begins) != 1 or not lists or any(number not in self._closing for number in lists):
            return ""
        columns, first = [], begins[0] + 1
        for number in lists:
            behind = self._closing[number] + 1
            columns.append(self._sql(first, behind))
            first = behind
        if first != (group[0] if group else len(self._tokens)):
            return ""
        by = f" {self._sql(group[0], len(self._tokens))}" if group else ""
        using = self._sql(0, begins[0])
        return f"PIVOT {{source}} ON {', '.join(columns)} USING {using}{by}"

    def unpivot(self) -> str:
        tokens = self._tokens
        is_plain = len(tokens) > 4 and [tokens[1].lower, tokens[3].lower] == ["for", "in"]
        if not is_plain or self._closing.get(4) != len(tokens) - 1:
            return ""
        value, name = self._sql(0, 1), self._sql(2, 3)
        return (
            f"UNPIVOT {{source}} ON {self._sql(5, len(tokens) - 1)} INTO NAME {name} VALUE {value}"
        )


def without_pivot(text: str, query: Query, is_over_ranks: bool) -> str:
    """The text of a PIVOT or UNPIVOT as a SELECT. `query` plans the text of another one, for the
    columns of the source; PIVOT without IN runs one for the values. Errors: SqlError, those of the
    run."""
    parts = _Parts(text)
    source = f"(SELECT * FROM {parts.between('', 'on')})"
    if parts.tokens[0].lower == "unpivot":
        return _unpivoted(parts, source, query)
    return _Pivot(parts, source, query, is_over_ranks).written()


class _Parts:
    """A text by its clauses outside of brackets."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.places: dict[str, int] = {}
        depth = 0
        for i, token in enumerate(self.tokens):
            depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
            if depth == 0 and i and token.lower in (*_ENDS, "on", "using", "group", "into"):
                self.places.setdefault(token.lower, i)

    def range_of(self, begin: str, *ends: str) -> tuple[int, int] | None:
        """The tokens of a clause; None where it is not there."""
        first = 0 if not begin else self.places.get(begin)
        if first is None:
            return None
        behind = [self.places[end] for end in (*ends, *_ENDS) if self.places.get(end, 0) > first]
        return first + 1, min(behind, default=len(self.tokens))

    def between(self, begin: str, *ends: str) -> str:
        """The text of a clause that must be there."""
        clause = self.range_of(begin, *ends)
        if clause is None or clause[0] >= clause[1] or "on" not in self.places:
            word = self.tokens[0].text.upper()
            raise sql_error(
                f"{word} needs a table, and ON", self.text, self.tokens[0].start,
                "PIVOT t ON kind USING sum(price) GROUP BY shop"
                if word == "PIVOT" else "UNPIVOT t ON a, b INTO NAME name VALUE value",
            )  # fmt: skip
        return self.written(*clause)

    def written(self, begin: int, end: int) -> str:
        """The tokens from one number to another, as they stand."""
        return self.text[self.tokens[begin].start : self.tokens[end - 1].end]

    def items(self, begin: int, end: int) -> list[tuple[int, int]]:
        """What stands between commas outside of brackets."""
        return between_commas(self.tokens, begin, end)

    def names(self, begin: int, end: int) -> set[str]:
        """The words from one token to another, in lower case."""
        clause = self.tokens[begin:end]
        return {token.name.lower() for token in clause if token.kind in ("word", "quoted")}

    def rest(self) -> str:
        """ORDER BY, LIMIT and OFFSET."""
        begins = [self.places[word] for word in _ENDS if word in self.places]
        return self.written(min(begins), len(self.tokens)) if begins else ""


@dataclass(frozen=True)
class _Column:
    """What PIVOT takes values of, and those that IN lists, as they are written."""

    expression: str
    listed: tuple[str, ...]


class _Pivot:
    def __init__(self, parts: _Parts, source: str, query: Query, is_over_ranks: bool) -> None:
        self._parts = parts
        self._source = source
        self._query = query
        self._is_over_ranks = is_over_ranks

    def written(self) -> str:
        parts = self._parts
        clause = parts.range_of("on", "using", "group")
        assert clause is not None
        columns = [self._column(*item) for item in parts.items(*clause)]
        values = [self._values(column) for column in columns]
        using = parts.range_of("using", "group")
        aggregates = [self._aggregate(*i) for i in parts.items(*using)] if using else [
            ("count(*)", "")
        ]  # fmt: skip
        keys = self._keys(clause, using)
        items = [*keys]
        for combination in product(*values):
            condition = " AND ".join(
                f"CAST({column.expression} AS VARCHAR) = {quoted_string(value)}"
                for column, value in zip(columns, combination, strict=True)
            )
            for aggregate, name in aggregates:
                shown = "_".join([*combination, *([name] if name else [])])
                items.append(f"{aggregate} FILTER (WHERE {condition}) AS {quoted(shown)}")
        if len(items) > _MOST_COLUMNS:
            raise sql_error(
                f"PIVOT gives {len(items):,} columns; up to {_MOST_COLUMNS:,} are made",
                parts.text, parts.tokens[clause[0]].start, "ON column IN ('a', 'b')",
            )  # fmt: skip
        by = f" GROUP BY {', '.join(keys)}" if keys else ""
        return f"SELECT {', '.join(items)} FROM {self._source} AS pivoted{by} {parts.rest()}"

    def _column(self, begin: int, end: int) -> _Column:
        """`x`, or `x IN ('a', 'b')`."""
        tokens = self._parts.tokens
        place = next((i for i in range(begin, end) if tokens[i].lower == "in"), end)
        expression = self._parts.written(begin, place)
        if place == end:
            return _Column(expression, ())
        listed = [t for t in tokens[place + 2 : end - 1] if not t.is_operator(",")]
        if not all(t.kind in ("string", "number", "word", "quoted") for t in listed):
            raise unsupported(
                "PIVOT ON ... IN of what is no constant", self._parts.text, tokens[place].start,
                "IN ('a', 'b')",
            )  # fmt: skip
        return _Column(expression, tuple(t.value if t.kind == "string" else t.name for t in listed))

    def _values(self, column: _Column) -> Sequence[str]:
        """Those of a column, as strings, in order; NULL is none."""
        if column.listed:
            return column.listed
        if self._is_over_ranks:
            raise unsupported(
                "PIVOT over ranks without IN", self._parts.text, self._parts.tokens[0].start,
                f"ON {column.expression} IN ('a', 'b')",
            )  # fmt: skip
        e = column.expression
        text = f"SELECT CAST({e} AS VARCHAR) FROM {self._source} AS pivoted WHERE {e} IS NOT NULL "
        rows = self._query(f"{text} GROUP BY {e} ORDER BY {e} LIMIT {_MOST_COLUMNS + 1}")
        values: list[str] = rows.collect().column(0).to_pylist()
        return values

    def _aggregate(self, begin: int, end: int) -> tuple[str, str]:
        """The call, and what stands behind the value in the names of its columns."""
        parts, tokens = self._parts, self._parts.tokens
        is_named = tokens[end - 1].kind in ("word", "quoted") and end - begin > 1
        behind = end - 1 - (tokens[end - 2].lower == "as") if is_named else end
        if not tokens[behind - 1].is_operator(")"):
            raise unsupported(
                "PIVOT USING other than an aggregate", parts.text, tokens[begin].start,
                "USING sum(price) AS total",
            )  # fmt: skip
        using = parts.range_of("using", "group")
        assert using is not None
        several = len(parts.items(*using)) > 1
        call = parts.written(begin, behind)
        return call, tokens[end - 1].name if is_named else call if several else ""

    def _keys(self, on: tuple[int, int], using: tuple[int, int] | None) -> list[str]:
        """Those of GROUP BY; all columns that nothing else names, where it is not there."""
        parts = self._parts
        clause = parts.range_of("group")
        if clause is not None:
            return [parts.written(*item) for item in parts.items(clause[0] + 1, clause[1])]
        taken = parts.names(*on) | (parts.names(*using) if using else set())
        columns = self._query(f"SELECT * FROM {self._source} AS pivoted").columns
        return [quoted(name) for name in columns if name.lower() not in taken]


def _unpivoted(parts: _Parts, source: str, query: Query) -> str:
    """UNPIVOT t ON a, b [INTO NAME n VALUE v]: rows without a value are left out."""
    columns = query(f"SELECT * FROM {source} AS unpivoted").columns
    clause = parts.range_of("on", "into")
    assert clause is not None
    words = parts.tokens[slice(*clause)]
    names = [word.name for word in words if word.kind in ("word", "quoted")]
    spelled = {name.lower(): name for name in columns}
    if names[:1] and names[0].lower() == "columns":  # COLUMNS(* EXCLUDE (a, b))
        left_out = {name.lower() for name in names[2:]}
        chosen = [name for name in columns if name.lower() not in left_out]
    else:
        chosen = [spelled.get(name.lower(), name) for name in names]
    others = [quoted(name) for name in columns if name not in chosen]
    into = parts.range_of("into")
    given = [t.name for t in parts.tokens[slice(*into)]] if into else []
    if given and [len(given), *map(str.lower, given[::2])] != [4, "name", "value"]:
        place = parts.tokens[parts.places["into"]].start
        raise sql_error(
            "UNPIVOT ... INTO takes two names", parts.text, place, "INTO NAME month VALUE sales"
        )
    name, value = (quoted(each) for each in given[1::2] or ("name", "value"))
    rows = [
        f"SELECT {', '.join([*others, f'{quoted_string(each)} AS {name}'])}, "
        f"{quoted(each)} AS {value} FROM {source} AS unpivoted WHERE {quoted(each)} IS NOT NULL"
        for each in chosen
    ]
    items = ", ".join([*others, name, value])
    return f"SELECT {items} FROM ({' UNION ALL '.join(rows)}) AS unpivoted {parts.rest()}"
