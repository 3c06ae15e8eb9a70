"""Names that select items give, where the same query uses them: `a * 2 AS x, x + 1`. DataFusion
knows columns alone, so what the item computes is written in their place."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.text import using_joins
from crossdock.sql_frontend.text.pieces import Operand, Pieces
from crossdock.sql_frontend.text.rewritten import RENAMED, Meant
from crossdock.sql_frontend.text.tokens import quoted, words_of

_BEHIND_KEYS = words_of("asc desc nulls limit offset fetch")
_BY_NAME = ("order", "having", "qualify")  # clauses that see what items are called


class Frame(using_joins.Frame, Protocol):
    """A query, the tables of its FROM, and whether it has a star."""

    opened: int  # the token of its bracket; -1: it is the whole text
    operands: list[Operand]
    has_star: bool


@dataclass
class _Item:
    name: str
    begin: int
    end: int  # behind what it computes
    behind: int  # behind its name
    query: Frame
    part: int
    is_column: bool  # a plain one under its own name


@dataclass
class _Use:
    """A name by itself, where it stands, and whether it is all that a sort orders by."""

    number: int
    query: Frame
    part: int
    clause: str
    is_key: bool
    tables: Sequence[Operand]


class SelectAliases:
    """Those of one text. `meant.items` are names that no table has, which stand for items;
    `is_joined` says whether a name is a key of joins of a query, which is the same in all."""

    def __init__(
        self, pieces: Pieces, meant: Meant, is_joined: Callable[[str, Frame], bool]
    ) -> None:
        self._pieces = pieces
        self._meant = meant
        self._is_joined = is_joined
        self._items: list[_Item] = []
        self._used: list[_Use] = []
        self.of_tables: set[str] = set()  # t.x, written where x is a name of an item, too
        self._renamed: dict[str, str] = {}  # by the name, as it is written
        self.aliases: dict[str, str] = {}  # of columns of the result -> what they are called

    @property
    def names(self) -> set[str]:
        """All names that items give."""
        return {each.name for each in self._items if not each.is_column}

    def item(self, begin: int, behind: int, query: Frame, *, is_column: bool = False) -> None:
        """An item that ends with a name, with AS before it or without; or that is a column."""
        has_as = self._pieces.tokens[behind - 2].lower == "as"
        name = self._pieces.tokens[behind - 1].name.lower()
        end = behind if is_column else behind - 2 if has_as else behind - 1
        self._items.append(_Item(name, begin, end, behind, query, query.part, is_column))

    def name(self, number: int, query: Frame, *, is_within: bool) -> None:
        """A name by itself, in a query: names mean other columns in another one. `is_within`:
        there are brackets around it."""
        before, following = self._pieces.at(number - 1), self._pieces.at(number + 1)
        begins = before is not None and (before.lower == "by" or before.is_operator(","))
        ends = following is None or following.is_operator(",", ")", ";")
        ends = ends or (following is not None and following.lower in _BEHIND_KEYS)
        is_key = begins and ends and not is_within
        clause = query.clause
        self._used.append(_Use(number, query, query.part, clause, is_key, query.operands))

    def finish(self) -> None:
        """Writes what is meant, the first item first, for later ones may use it. A name of items in
        several queries may be a column in one of them, and stays. SqlError for names of several
        items."""
        self._rename()
        for use in self._used:
            if use.clause in _BY_NAME:
                self._write_of_result(use)
        meant = [e for e in self._items if not e.is_column and e.name in self._meant.items]
        queries: dict[str, set[int]] = {}
        for item in meant:
            queries.setdefault(item.name, set()).add(id(item.query))
        for item in meant:
            if len(queries[item.name]) > 1:
                continue
            for use in self._used:
                is_same = use.query is item.query and use.part == item.part
                if is_same and self._name_of(use) == item.name and use.number >= item.behind:
                    piece = f"({self._pieces.copied(item.begin, item.end)})"
                    self._pieces.pieces[use.number] = piece

    def _rename(self) -> None:
        """Gives items of the whole text other names where DataFusion puts a column of theirs, by
        which rows are sorted, beside them."""
        for each in self._items:
            if each.name in self._meant.renamed and each.query.opened < 0 and not each.is_column:
                last = each.behind - 1
                self._renamed[each.name] = self._pieces.pieces[last] = quoted(RENAMED + each.name)
                self.aliases[RENAMED + each.name] = self._pieces.tokens[last].name

    def _name_of(self, use: _Use) -> str:
        return self._pieces.tokens[use.number].name.lower()

    def _write_of_result(self, use: _Use) -> None:
        """A name in ORDER BY, HAVING or QUALIFY. In an expression of ORDER BY, which DataFusion
        reads over the items, a column of a table comes before an item."""
        name = self._name_of(use)
        items = [e for e in self._items if e.query is use.query and e.part == 0 and e.name == name]
        if not items or use.number in self._pieces.pieces or self._is_joined(name, use.query):
            return
        has_column = any(each.is_column for each in items)
        if (written := self._renamed.get(name)) is not None and use.query is items[0].query:
            if use.is_key:
                self._pieces.pieces[use.number] = written
            return
        if use.clause == "order" and not use.is_key and use.part == 0 and not has_column:
            for table in use.tables:
                column = f"{table.name}.{name}"
                if table.name and column not in self._meant.no_columns:
                    self.of_tables.add(column)
                    self._pieces.pieces[use.number] = f"{quoted(table.name)}.{quoted(name)}"
                    return
        tokens, text = self._pieces.tokens, self._pieces.text
        said = {text[tokens[e.begin].start : tokens[e.end - 1].end].lower() for e in items}
        are_columns = all(each.is_column for each in items)
        is_of_star = name in self._meant.of_stars and use.query.has_star and not are_columns
        if len(said) + is_of_star > 1 and (use.clause == "order" or not has_column):
            token = self._pieces.tokens[use.number]
            raise sql_error(
                f"{token.text!r} is the name of several select items", self._pieces.text,
                token.start, "the number of the column, or names that differ",
            )  # fmt: skip
