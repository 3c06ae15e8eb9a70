"""Names that select items give, where the same query uses them: `a * 2 AS x, x + 1`. DataFusion
knows columns alone, so what the item computes is written in their place."""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass

from crossdock.sql_frontend.text.pieces import Pieces

Query = tuple[int, int]  # the id of a frame, and the part of a set operation in it


@dataclass
class _Item:
    name: str
    begin: int
    end: int  # behind what it computes
    behind: int  # behind its name
    query: Query


class SelectAliases:
    """Those of one text. `expanded` are names that no table has, which stand for items."""

    def __init__(self, pieces: Pieces, expanded: Set[str]) -> None:
        self._pieces = pieces
        self._expanded = expanded
        self._items: list[_Item] = []
        self._used: list[tuple[int, Query]] = []

    @property
    def names(self) -> set[str]:
        """All names that items give."""
        return {each.name for each in self._items}

    def item(self, begin: int, behind: int, query: Query) -> None:
        """An item that ends with a name, with AS before it or without."""
        has_as = self._pieces.tokens[behind - 2].lower == "as"
        name = self._pieces.tokens[behind - 1].name.lower()
        self._items.append(_Item(name, begin, behind - 2 if has_as else behind - 1, behind, query))

    def name(self, number: int, query: Query) -> None:
        """A name by itself, in a query: names mean other columns in another one."""
        self._used.append((number, query))

    def finish(self) -> None:
        """Writes what is meant, the first item first, for later ones may use it. A name of items in
        several queries may be a column in one of them, and stays."""
        queries: dict[str, set[int]] = {}
        for item in self._items:
            queries.setdefault(item.name, set()).add(item.query[0])
        for item in self._items:
            if item.name not in self._expanded or len(queries[item.name]) > 1:
                continue
            for number, query in self._used:
                is_named = self._pieces.tokens[number].name.lower() == item.name
                if is_named and query == item.query and number >= item.behind:
                    self._pieces.pieces[number] = f"({self._pieces.copied(item.begin, item.end)})"
