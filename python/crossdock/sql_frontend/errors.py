"""Errors of SQL: what is wrong, the line with a caret under the place, and what to write
instead."""

from __future__ import annotations

from collections.abc import Callable

from crossdock.errors import CrossdockError, SqlError, make_error
from crossdock.sql_frontend.text.derived import Derived

_WIDTH = 100  # of the part of a line that is shown


class Fragment(str):
    """A text of which errors show the middle alone: an expression in a query around it."""

    begin: int
    end: int

    def __new__(cls, before: str, middle: str, behind: str) -> Fragment:
        """`before` ends with a line, and `behind` begins with one."""
        message = super().__new__(cls, before + middle + behind)
        message.begin, message.end = len(before), len(before) + len(middle)
        return message

    def is_closed(self, place: int) -> bool:
        """Whether the expression has no open bracket before `place`."""
        before = self[self.begin : place]
        return before.count("(") == before.count(")")


class ZonedValueError(Exception):
    """AT TIME ZONE of what is an instant already; args = (its number in the text,)."""


class UnknownTableError(Exception):
    """A name in FROM that is no table; args = (the name in lower case,)."""


class UnknownNameError(Exception):
    """A name that is no column; args = (the name, the error that says so)."""


class RepeatedNameError(Exception):
    """A name that a star and a select item have; args = (the name, the error that says so)."""


class OtherTypeError(Exception):
    """A function is of another type; args = (its name, the error that says so)."""


class AmbiguousNameError(Exception):
    """A name of columns of several tables; args = (the name, the error that says so)."""


class ListPlaceError(Exception):
    """An element or a slice is of a list, not of a string; args = (its number in the text,)."""


def sql_error(
    what: str, text: str = "", place: int | None = None, try_: str = ""
) -> CrossdockError:
    """A text that is no SQL, or names what is not there."""
    return make_error("CD-512", what, **_shown(text, place), try_=try_)


def unsupported(
    what: str, text: str = "", place: int | None = None, try_: str = "", word: str = ""
) -> SqlError:
    """SQL that Crossdock does not run. `word` is one by which its place is found in the text, where
    the text is not at hand."""
    error = make_error("CD-513", f"{what} is not supported", **_shown(text, place), try_=try_)
    assert isinstance(error, SqlError)
    if place is None:
        error.parts = (what, word, try_)
    return error


def with_place(error: SqlError, text: str, place_of_word: Callable[[str], int | None]) -> SqlError:
    """The error of `unsupported` with the place of its word in the text."""
    if error.parts is None:
        return error
    what, word, try_ = error.parts
    place = place_of_word(word) if word else None
    return error if place is None else unsupported(what, text, place, try_)


def place_of(text: str, line: int, column: int) -> int:
    """The place in `text` of a line and a column, both counted from 1."""
    lines = text.splitlines(keepends=True)
    before = sum(len(each) for each in lines[: line - 1])
    return min(before + column - 1, len(text))


def _shown(text: str, place: int | None) -> dict[str, str]:
    """The line of the place, and a caret below it, in the text that was typed."""
    while place is not None and isinstance(text, Derived):
        place = text.place_in_origin(place)
        text = text.origin
    if place is None or not text:
        return {}
    first = 1
    if isinstance(text, Fragment):
        place = min(max(place, text.begin), text.end)
        first -= text.count("\n", 0, text.begin)
    start = text.rfind("\n", 0, place) + 1
    end = text.find("\n", place)
    line = text[start : len(text) if end < 0 else end].replace("\t", " ")
    column = place - start
    spaces = len(line) - len(line.lstrip())  # also in place of statements before this one
    cut = max(spaces if spaces > _WIDTH // 4 else 0, column - _WIDTH // 2)
    part = line[cut : cut + _WIDTH]
    prefix = "… " if cut > spaces else ""
    number = text.count("\n", 0, place) + first
    caret = " " * (len(prefix) + column - cut) + "^"
    indent = " " * 11
    return {f"line {number}": f"{prefix}{part}\n{indent}{caret}"}
