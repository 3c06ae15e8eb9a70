"""WITH RECURSIVE: the rows of the part that reads no earlier ones, then those that the other part
makes of the last ones, until it makes no more. They are computed when the text is planned."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossdock.expressions.expression import Column
from crossdock.query_dock import QueryDock
from crossdock.relation import Relation
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.derived import Derived
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.tokens import Token
from crossdock.sql_frontend.translation.conversions import converted

if TYPE_CHECKING:
    import pyarrow as pa


MOST_ROUNDS = 10_000

# A text, with tables by name beside those that are known, as a relation.
Planned = Callable[[str, Mapping[str, Relation]], Relation]


@dataclass(frozen=True)
class _Table:
    """A table of WITH: its name, its columns, its tokens with the name, and those of its query."""

    name: str
    columns: tuple[str, ...]
    begin: int
    query: tuple[int, int]

    @property
    def end(self) -> int:
        """Behind its bracket."""
        return self.query[1] + 1


def is_recursive(tokens: Sequence[Token]) -> bool:
    """Whether a text begins with WITH RECURSIVE."""
    return [token.lower for token in tokens[:2]] == ["with", "recursive"]


def without_recursion(
    dock: QueryDock, text: str, planned: Planned
) -> tuple[str, dict[str, Relation]]:
    """A text without its recursive tables, and these. SqlError; errors of running them."""
    return _Recursion(dock, text, planned).run()


class _Recursion:
    def __init__(self, dock: QueryDock, text: str, planned: Planned) -> None:
        self._dock = dock
        self._pieces = Pieces(text)
        self._planned = planned
        self._tables = self._read_tables()
        self._computed_tables: dict[str, Relation] = {}

    def run(self) -> tuple[str, dict[str, Relation]]:
        if self._dock.over_ranks() is not None:
            raise self._refused("WITH RECURSIVE over ranks", 1, "a loop in Python over relations")
        for number, table in enumerate(self._tables):
            if self._reads(table.name, *table.query):
                self._computed_tables[table.name] = self._computed(number, table)
        behind = self._tables[-1].end
        return self._text(self._tables, (behind, len(self._pieces.tokens))), self._computed_tables

    def _refused(self, what: str, number: int, instead: str) -> Exception:
        place = self._pieces.tokens[number].start
        return unsupported(what, self._pieces.text, place, instead)

    def _read_tables(self) -> list[_Table]:
        tables, number = [], 2
        while True:
            name = self._pieces.at(number)
            opened = number + 1
            columns: tuple[str, ...] = ()
            if name is not None and self._pieces.is_at(opened, "("):
                behind = self._pieces.behind_bracket(opened)
                columns = tuple(t.name for t in self._pieces.tokens[opened + 1 : behind - 1 : 2])
                opened = behind
            if self._pieces.word_at(opened) == "using":
                raise self._refused("USING KEY", opened, "a GROUP BY of the key behind the tables")
            while self._pieces.word_at(opened) in ("as", "not", "materialized"):
                opened += 1
            if name is None or not self._pieces.is_at(opened, "("):
                place = len(self._pieces.text) if name is None else name.start
                raise sql_error(
                    "WITH RECURSIVE needs tables", self._pieces.text, place,
                    "WITH RECURSIVE r(x) AS (SELECT 1 UNION ALL SELECT x + 1 FROM r WHERE x < 9)",
                )  # fmt: skip
            close = self._pieces.behind_bracket(opened) - 1
            tables.append(_Table(name.name.lower(), columns, number, (opened + 1, close)))
            if not self._pieces.is_at(close + 1, ","):
                return tables
            number = close + 2

    def _reads(self, name: str, begin: int, end: int) -> bool:
        """Whether tokens name a table where tables are."""
        return any(
            self._pieces.tokens[i].name.lower() == name
            and (self._pieces.word_at(i - 1) in ("from", "join") or self._pieces.is_at(i - 1, ","))
            and not self._pieces.is_at(i + 1, ".")
            for i in range(begin, end)
            if self._pieces.tokens[i].kind in ("word", "quoted")
        )

    def _text(self, tables: Sequence[_Table], query: tuple[int, int]) -> str:
        """The text of tokens, behind those tables that are not computed, at its places."""
        pieces = self._pieces
        if query[0] >= query[1]:
            raise sql_error("WITH without a query behind it", pieces.text, len(pieces.text))
        parts = [
            (pieces.tokens[each.begin].start, pieces.tokens[each.end - 1].end)
            for each in tables
            if each.name not in self._computed_tables
        ]
        begin, end = query
        shown = list(pieces.text)
        kept = [*parts, (pieces.tokens[begin].start, pieces.tokens[end - 1].end)]
        for place, letter in enumerate(shown):
            if letter != "\n" and not any(first <= place < last for first, last in kept):
                shown[place] = " "
        for (_, last), number in zip(parts, range(len(parts)), strict=True):
            shown[last : last + 1] = "," if number + 1 < len(parts) else " "
        start = pieces.tokens[0].start
        if parts:
            shown[start : start + len("with")] = "WITH"
        return Derived("".join(shown), pieces.text)

    def _computed(self, number: int, table: _Table) -> Relation:
        union = self._last_union(table)
        is_all = self._pieces.word_at(union + 1) == "all"
        first, step = (table.query[0], union), (union + 1 + is_all, table.query[1])
        if self._reads(table.name, *first):
            raise self._refused(
                "a recursive table that is read in several parts of a UNION", union, "one part"
            )
        before = self._tables[:number]
        base = self._planned(self._text(before, first), self._computed_tables)
        if table.columns:
            if len(table.columns) != len(base.columns):
                raise sql_error(
                    f"{table.name} has {len(table.columns)} names for {len(base.columns)} columns",
                    self._pieces.text, self._pieces.tokens[table.begin].start,
                )  # fmt: skip
            base = base.rename(dict(zip(base.columns, table.columns, strict=True)))
        return self._rounds(table, base, (self._text(before, step), is_all))

    def _last_union(self, table: _Table) -> int:
        """The last UNION of a table's query."""
        depth, place = 0, -1
        for number in range(*table.query):
            token = self._pieces.tokens[number]
            depth += token.is_operator("(") - token.is_operator(")")
            if depth == 0 and token.lower == "union":
                place = number
            if depth == 0 and token.lower in ("order", "limit", "offset", "intersect", "except"):
                raise self._refused(
                    f"{token.text.upper()} in a recursive query", number, "it behind the table"
                )
        if place < 0:
            raise self._refused(
                "a recursive table without UNION", table.begin, "SELECT ... UNION ALL SELECT ..."
            )
        return place

    def _rounds(self, table: _Table, base: Relation, step: tuple[str, bool]) -> Relation:
        text, is_all = step
        last = self._rows(base if is_all else base.distinct())
        parts, seen = [last], last
        while last.num_rows:
            if len(parts) > MOST_ROUNDS:
                raise sql_error(
                    f"{table.name} still makes rows after {MOST_ROUNDS:,} rounds",
                    self._pieces.text, self._pieces.tokens[table.begin].start,
                    "a condition that ends it, WHERE depth < 100, or UNION for UNION ALL",
                )  # fmt: skip
            tables = {**self._computed_tables, table.name: self._relation(last)}
            node = _of_types(self._planned(text, tables), last.schema)
            if is_all:
                last = self._rows(node)
            else:
                last = self._rows(node.distinct().except_(seen))
                seen = _one_below(seen, last)
            parts.append(last)
        return self._relation(_one_below(*parts))

    def _relation(self, rows: pa.Table) -> Relation:
        return Relation(self._dock, self._dock.scan(rows))

    def _rows(self, relation: Relation) -> pa.Table:
        return self._dock.execution().table(relation.narrowed())


def _of_types(node: Relation, schema: pa.Schema) -> Relation:
    """Rows with the names and types of the first ones."""
    if len(node.columns) != len(schema):
        raise sql_error(
            f"a recursive part has {len(node.columns)} columns, and the first one {len(schema)}"
        )
    items = {
        field.name: converted(Column(own_field.name), own_field.type, field.type)
        if own_field.type != field.type
        else Column(own_field.name)
        for own_field, field in zip(node.schema, schema, strict=True)
    }
    return node.select(**items)


def _one_below(*tables: pa.Table) -> pa.Table:
    import pyarrow as pa

    return pa.concat_tables([each.cast(tables[0].schema) for each in tables])
