"""USING. DataFusion binds it in outer joins, and Substrait has it not; and `*` of an inner join has
its keys where the names of the tables say. So the sides get their keys under names that results
leave out, the join ON, and the keys are written for what they are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Protocol

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.pieces import CLAUSES, Operand, Pieces
from crossdock.sql_frontend.text.rewritten import HIDDEN, hidden_columns
from crossdock.sql_frontend.text.tokens import Token, quoted

_KINDS = ("left", "right", "full", "semi", "anti")
_OF_LEFT = ("semi", "anti")  # those whose result has no columns of the right side


class Frame(Protocol):
    """What is open between two brackets: whether it is a query, and its tables so far."""

    is_query: bool
    clause: str
    part: int  # of a set operation, from 0
    tables: list[int]  # the tokens at which the tables of this part of FROM begin


Query = tuple[int, int]  # the id of a frame, and the part of a set operation in it


def _query_of(frame: Frame) -> Query:
    return id(frame), frame.part


def _named(table: Operand) -> Operand:
    """A query in brackets that has no name, with one."""
    return table if table.name else replace(table, name=f"{HIDDEN}query {table.start}")


@dataclass
class _Names:
    """What names mean in one query: keys by themselves, and columns that are left out."""

    keys: dict[str, str] = field(default_factory=dict)
    hidden: list[str] = field(default_factory=list)
    joined: set[str] = field(default_factory=set)  # keys of all joins
    operands: dict[str, Operand] = field(default_factory=dict)  # its tables by their names
    numbers: dict[str, list[str]] = field(default_factory=dict)  # those hidden in a table
    of_tables: dict[tuple[str, str], str] = field(default_factory=dict)  # (table, key) -> its name
    shown: set[str] = field(default_factory=set)  # keys that are columns of the result


ColumnsOf = Callable[[str], Sequence[str] | None]


class UsingJoins:
    """The joins of one text."""

    def __init__(self, pieces: Pieces, columns_of: ColumnsOf) -> None:
        self._pieces = pieces
        self._columns_of = columns_of
        self._merges = any(  # whether keys may be of both sides
            token.lower in ("right", "full")
            and self._pieces.word_at(number + 1) in ("join", "outer")
            for number, token in enumerate(pieces.tokens)
        )
        self._count = 0
        self._names: dict[Query, _Names] = {}
        self._frames: list[Frame] = []  # so that ids stay
        # Tokens that may be keys, their queries, the inner one first, and whether they order the
        # result.
        self._used: list[tuple[int, list[Query], bool]] = []
        self._given: set[int] = set()
        self.aliases: dict[str, str] = {}  # of columns of the result -> what they are called
        self._items: dict[int, int] = {}  # the last token of a plain select item -> its first
        self._stars: list[tuple[int, int, Query]] = []  # items with a star: first, last, query
        self._unselected: list[tuple[int, Query]] = []  # FROM without SELECT before it, query

    def name(self, number: int, queries: Sequence[Frame]) -> None:
        """A name that may be a key of a join of the first of the queries around it."""
        is_order = queries[0].clause == "order"
        self._used.append((number, [_query_of(each) for each in queries], is_order))

    def is_joined(self, name: str, query: Frame) -> bool:
        """Whether a name is a key of joins of a query."""
        names = self._names.get(_query_of(query))
        return names is not None and name in names.joined

    def given(self, number: int) -> None:
        """A token that is a name for an item, without AS, and no key."""
        self._given.add(number)

    def item(self, first: int, last: int) -> None:
        """A select item that is a plain column."""
        self._items[last] = first

    def star(self, first: int, last: int, query: Frame) -> None:
        """A select item that begins with a star, of all tables or of one."""
        self._stars.append((first, last, _query_of(query)))

    def unselected(self, number: int, query: Frame) -> None:
        """A FROM that begins a query, which selects all columns."""
        self._unselected.append((number, _query_of(query)))

    def table(self, number: int, frame: Frame, query: Frame) -> None:
        """A table that begins at a token, in the FROM of a query or in brackets of it."""
        frame.tables.append(number)
        self._frames.append(query)
        self._require_condition(number)
        names = self._names.setdefault(_query_of(query), _Names())
        right = self._pieces.operand(number)
        if right is not None:
            names.operands[right.name] = right
            self._hide_numbers(right, names)
        kind = self._kind(number)
        if right is None or not kind:
            return
        pieces = self._pieces
        if (natural := self._natural(number)) >= 0:
            if kind != "inner" or self._merges:
                keys = self._common(number, right, frame)
                pieces.pieces[natural] = ""
                condition = self._join(kind, right, keys, (frame, names))
                last = right.behind - 1
                pieces.closing[last] = pieces.closing.get(last, "") + " " + condition
            return
        word, opened = pieces.at(right.behind), pieces.at(right.behind + 1)
        if word is None or word.lower != "using" or opened is None:
            return
        right = _named(right)
        close = pieces.behind_bracket(right.behind + 1)
        keys = [t.name.lower() for t in pieces.tokens[right.behind + 2 : close - 1 : 2]]
        pieces.pieces[right.behind] = self._join(kind, right, keys, (frame, names))
        for each in range(right.behind + 1, close):
            pieces.pieces[each] = ""

    def _hide_numbers(self, table: Operand, names: _Names) -> None:
        """Leaves out numbers of rows that a table has beside its columns."""
        token = self._pieces.tokens[table.start]
        if token.kind == "quoted" and (numbers := hidden_columns(token.name)):
            hidden = [quoted(each) for each in numbers]
            names.hidden += hidden
            names.numbers[table.name] = hidden

    def _natural(self, number: int) -> int:
        """The NATURAL of the join before a table; -1 where there is none."""
        for each in range(number - 1, max(number - 5, -1), -1):
            if self._pieces.word_at(each) == "natural":
                return each
            if self._pieces.word_at(each) not in ("join", "outer", *_KINDS, "inner"):
                break
        return -1

    def _common(self, number: int, right: Operand, frame: Frame) -> list[str]:
        """The columns that a table has in common with those before it."""
        tables = [self._pieces.operand(each) for each in frame.tables[:-1]]
        columns = [self._known(each) for each in (*tables, right)]
        sides = [{name.lower() for name in each} for each in columns if each is not None]
        if len(sides) < len(columns) or not frame.is_query:
            raise unsupported(
                "NATURAL in an outer join of what is no table", self._pieces.text,
                self._pieces.tokens[self._natural(number)].start, "USING (columns)",
            )  # fmt: skip
        before = set[str]().union(*sides[:-1])
        names = [name.lower() for name in columns[-1] or () if name.lower() in before]
        if not names:
            raise sql_error(
                "NATURAL of tables that have no column in common", self._pieces.text,
                self._pieces.tokens[self._natural(number)].start, "ON, or CROSS JOIN",
            )  # fmt: skip
        return names

    def _known(self, table: Operand | None) -> Sequence[str] | None:
        is_name = table is not None and table.end == table.start + 1
        if table is None or not is_name:
            return None
        return self._columns_of(self._pieces.tokens[table.start].name)

    def _require_condition(self, number: int) -> None:
        """The parser takes a JOIN without ON for a cross join, which is what a forgotten ON is not
        meant to be."""
        pieces = self._pieces
        before = [self._pieces.word_at(number - i) for i in range(1, 5)]
        if before[0] != "join" or "cross" in before or "natural" in before:
            return
        table = self._pieces.operand(number)
        behind = None if table is None else pieces.at(table.behind)
        is_end = behind is None or behind.is_operator(")", ",", ";") or behind.lower in CLAUSES
        if table is not None and is_end:
            raise sql_error(
                "a JOIN has neither ON nor USING", pieces.text, pieces.tokens[number].start,
                try_="ON t.a = u.a, or CROSS JOIN",
            )  # fmt: skip

    def _join(self, kind: str, right: Operand, keys: list[str], where: tuple[Frame, _Names]) -> str:
        """Hides the keys of the sides, notes what they are, and gives the condition."""
        frame, names = where
        is_of_left = kind in _OF_LEFT
        theirs = self._hide(right, keys, _Names() if is_of_left else names)
        if not is_of_left:
            names.joined.update(keys)
        new = [key for key in keys if key not in names.keys]
        is_behind = bool(new) and (len(frame.tables) != 2 or not frame.is_query)
        if is_of_left or (kind in ("inner", "left") and (is_behind or not self._merges)):
            ours = [names.keys.get(key, quoted(key)) for key in keys]
        elif is_behind:
            raise unsupported(
                f"USING in a {kind} join behind others, of other columns", self._pieces.text,
                self._pieces.tokens[right.start].start, "ON t.a = u.a, and coalesce(t.a, u.a)",
            )  # fmt: skip
        else:
            first = self._pieces.operand(frame.tables[0])
            assert first is not None
            left = _named(first)
            hidden = dict(zip(new, self._hide(left, new, names), strict=True)) if new else {}
            ours = [names.keys.get(key) or hidden[key] for key in keys]
            for key, a, b in zip(keys, ours, theirs, strict=True):
                of_kind = {"right": b, "full": f"coalesce({a}, {b})"}
                names.keys[key] = of_kind.get(kind, a)
        equal = " AND ".join(f"{a} = {b}" for a, b in zip(ours, theirs, strict=True))
        return f"ON ({equal})"

    def _hide(self, table: Operand, keys: list[str], names: _Names) -> list[str]:
        """Gives a table its keys under names that are left out; these."""
        pieces = self._pieces
        self._count += 1
        hidden = [quoted(f"{HIDDEN}{self._count} {key}") for key in keys]
        shown = ", ".join(f"{quoted(k)} AS {h}" for k, h in zip(keys, hidden, strict=True))
        dropped = ", ".join(map(quoted, keys))
        pieces.before[table.start] = f"(SELECT * EXCLUDE ({dropped}), {shown} FROM "
        alias = "" if table.has_alias else f" AS {quoted(table.name)}"
        pieces.closing[table.end - 1] = ")" + alias + pieces.closing.get(table.end - 1, "")
        names.hidden += hidden
        of_table = [f"{quoted(table.name)}.{name}" for name in hidden]
        for key, written in zip(keys, of_table, strict=True):
            names.of_tables[table.name, key] = written
        return of_table

    def _kind(self, number: int) -> str:
        """inner, left, right, full, semi or anti, of the join before a table; "" for others."""
        before = [self._pieces.word_at(number - i) for i in range(1, 4)]
        if before[0] != "join" or "cross" in before[:2]:
            return ""
        kind = before[2] if before[1] == "outer" else before[1]
        return kind if kind in _KINDS else "inner"

    def finish(self) -> None:
        """Writes the keys for what they are, once all joins are known."""
        for first, last, query in self._stars:
            if query in self._names:
                self._write_star(first, last, self._names[query])
        for number, query in self._unselected:
            before = self._pieces.before
            names_of_query = self._names.get(query, _Names())
            star = "*"
            if hidden := names_of_query.hidden:
                keys = self._shown_keys(names_of_query.keys, names_of_query)
                star = f"{keys}* EXCLUDE ({', '.join(hidden)})"
            before[number] = f"SELECT {star} " + before.get(number, "")
        for is_order in (False, True):
            for number, queries, orders in self._used:
                names = [self._names.get(query, _Names()) for query in queries]
                if number in self._given:
                    continue
                if orders == is_order and self._pieces.pieces.get(number) != "":
                    self._write_name(number, names, is_order)

    def _write_name(self, number: int, around: Sequence[_Names], is_order: bool) -> None:
        pieces, names = self._pieces, around[0]
        key = pieces.tokens[number].name.lower()
        table = pieces.at(number - 2) if self._is_dotted(number) else None
        written = None
        if table is not None:
            named = table.name.lower()
            of = next((each for each in around if named in each.operands), names)
            written = of.of_tables.get((named, key))
        elif not (is_order and key in names.shown):  # there the column of the result is meant
            written = names.keys.get(key)
        if written is not None:
            if table is not None:
                pieces.pieces[number - 2] = pieces.pieces[number - 1] = ""
            pieces.pieces[number] = written
        elif key not in names.joined:
            return
        if number in self._items and number not in pieces.behind:
            pieces.behind[number] = f" AS {quoted(self._shown(key, names))}"

    def _shown(self, key: str, names: _Names) -> str:
        """A name for a column of the result, each once."""
        shown, count = key, 1
        while shown in names.shown:
            shown, count = f"{key}_{count}", count + 1
        names.shown.add(shown)
        if shown != key:
            self.aliases[shown] = key
        return shown

    def _is_dotted(self, number: int) -> bool:
        before = self._pieces.at(number - 1)
        return before is not None and before.is_operator(".")

    def _write_star(self, first: int, last: int, names: _Names) -> None:
        """All columns: keys that are of both sides first, and none that are left out."""
        if first == last:
            self._write_columns(first, last, (names.keys, names.hidden), names)
            return
        table: Token = self._pieces.tokens[first]
        own_names = {k: w for (t, k), w in names.of_tables.items() if t == table.name.lower()}
        hidden = [written.rpartition(".")[2] for written in own_names.values()]
        hidden += names.numbers.get(table.name.lower(), [])
        self._write_columns(first, last, (own_names, hidden), names)
        if not own_names:
            self._show_columns(first, last, names)

    def _write_columns(
        self, first: int, last: int, left_out: tuple[Mapping[str, str], list[str]], names: _Names
    ) -> None:
        """A star without columns that are hidden, behind the keys in their place. What its own
        EXCLUDE names is in neither."""
        keys, hidden = left_out
        if not hidden:
            return
        pieces = self._pieces
        excluded, end = self._excluded(last + 1)
        shown = {key: written for key, written in keys.items() if key not in excluded}
        pieces.before[first] = self._shown_keys(shown, names) + pieces.before.get(first, "")
        others = [quoted(name) for name in excluded if name not in keys]
        pieces.pieces[last] = f"* EXCLUDE ({', '.join([*hidden, *others])})"
        if end > last + 1:
            pieces.leave_out(last + 1, end)

    def _excluded(self, number: int) -> tuple[list[str], int]:
        """The names of an EXCLUDE, and the token behind it."""
        pieces = self._pieces
        opened = pieces.at(number + 1)
        if self._pieces.word_at(number) not in ("exclude", "except") or opened is None:
            return [], number
        if not opened.is_operator("("):
            return [opened.name.lower()], number + 2
        end = pieces.behind_bracket(number + 1)
        return [token.name.lower() for token in pieces.tokens[number + 2 : end - 1 : 2]], end

    def _show_columns(self, first: int, last: int, names: _Names) -> None:
        """A star of a table that has keys under their names, of which another may have been shown
        before."""
        pieces = self._pieces
        columns = self._known(names.operands.get(pieces.tokens[first].name.lower()))
        listed = [*names.joined] if columns is None else [column.lower() for column in columns]
        keys = names.joined & set(listed)
        if columns is not None and keys & names.shown and not self._excluded(last + 1)[0]:
            owner = pieces.tokens[first].text
            items = [
                f"{owner}.{quoted(name)} AS {quoted(self._shown(name, names))}"
                if name in keys else f"{owner}.{quoted(name)}"
                for name in listed
            ]  # fmt: skip
            pieces.leave_out(first, last)
            pieces.pieces[last] = ", ".join(items)
        names.shown |= keys

    def _shown_keys(self, keys: Mapping[str, str], names: _Names) -> str:
        items = [f"{written} AS {quoted(self._shown(k, names))}, " for k, written in keys.items()]
        return "".join(items)
