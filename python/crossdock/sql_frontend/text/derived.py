"""A text that is made of another one knows where it comes from: errors show what was typed."""

from __future__ import annotations

import re
from collections.abc import Sequence

Change = tuple[int, int, str]  # from a place to another one, and what is written there
_WORD = re.compile(r"\w+|\S")


class Derived(str):
    """A text, the one that it was made of, and what is no copy of it: from where to where here, and
    of what there."""

    origin: str
    _written: Sequence[tuple[int, int, int, int]]

    def __new__(
        cls, text: str, origin: str, written: Sequence[tuple[int, int, int, int]] = ()
    ) -> Derived:
        """Without `written`, both have the same places."""
        derived = super().__new__(cls, text)
        derived.origin, derived._written = origin, written
        return derived

    def place_in_origin(self, place: int) -> int | None:
        """Where the origin has what stands at a place; None where it has nothing of the kind."""
        moved = 0
        for begin, end, first, last in self._written:
            if place < begin:
                break
            if place < end:
                return self._word_at(place, first, last)
            moved = last - end
        return place + moved

    def copy_of(self, place: int) -> int | None:
        """Where the origin has the character at a place; None where it was written."""
        is_written = any(begin <= place < end for begin, end, *_ in self._written)
        return None if is_written else self.place_in_origin(place)

    def _word_at(self, place: int, first: int, last: int) -> int | None:
        """The word at a place where the origin has it, too, in the part that it stands for."""
        word = _WORD.match(self, place)
        if word is None:
            return None
        pattern = re.compile(rf"(?<!\w){re.escape(word[0])}(?!\w)", re.IGNORECASE)
        match = pattern.search(self.origin, first, last)
        return None if match is None else match.start()


def replaced(text: str, changes: Sequence[Change]) -> str:
    """The text with changes, which stand in its order and in none of each other; itself where there
    are none."""
    if not changes:
        return text
    parts: list[str] = []
    written: list[tuple[int, int, int, int]] = []
    place = length = 0
    for first, last, by in changes:
        parts += (text[place:first], by)
        length += first - place
        written.append((length, length + len(by), first, last))
        length += len(by)
        place = last
    return Derived("".join([*parts, text[place:]]), text, written)


def as_typed(text: str, begin: int, end: int) -> str:
    """A part of a text as it was typed, where its ends were."""
    while isinstance(text, Derived):
        first, last = text.copy_of(begin), text.copy_of(end - 1)
        if first is None or last is None:
            break
        text, begin, end = text.origin, first, last + 1
    return text[begin:end]


def part_of(text: str, origin: str) -> str:
    """A text that was written with words of another one."""
    return Derived(text, origin, [(0, len(text) + 1, 0, len(origin))])
