"""The words of an SQL text, with their places: enough to find statements, names of files,
parameters and operators. What the words mean is DataFusion's business."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

from crossdock.sql_frontend.errors import sql_error

_PATTERN = re.compile(
    r"""
    (?P<space>\s+)
  | (?P<comment>--[^\n]*|/\*)
  | (?P<string>[eE]'(?:[^'\\]|''|\\.)*'|'(?:[^']|'')*')
  | (?P<quoted>"(?:[^"]|"")*")
  | (?P<dollar>\$(?P<tag>[A-Za-z_]*)\$(?s:.*?)\$(?P=tag)\$)
  | (?P<parameter>\?|\$[A-Za-z0-9_]+)
  | (?P<number>\d[\d_]*(?:\.[\d_]*)?(?:[eE][+-]?\d+)?|\.\d+(?:[eE][+-]?\d+)?)
  | (?P<word>[^\W\d]\w*)
  | (?P<operator><=>|\|\||::|<>|!=|<=|>=|==|//|->>?|:=|=>|\*\*|!?~~?\*?|<<|>>|.)
    """,
    re.VERBOSE,
)
_LONGEST = 1_000_000  # characters of a text
_LONGEST_KEPT = 20_000  # of one whose words are kept
_OPENED = {"'": "string", '"': "quoted name"}


class Token(NamedTuple):
    """A word of a text: its kind (word, quoted, string, number, parameter or operator), how it is
    written, and where it begins."""

    kind: str
    text: str
    start: int

    @property
    def end(self) -> int:
        """Behind its last character."""
        return self.start + len(self.text)

    @property
    def lower(self) -> str:
        """A word in lower case; "" for everything else, quoted names included."""
        return self.text.lower() if self.kind == "word" else ""

    @property
    def name(self) -> str:
        """What a word or a quoted name names."""
        return self.text[1:-1].replace('""', '"') if self.kind == "quoted" else self.text

    @property
    def value(self) -> str:
        """The characters of a string."""
        if self.kind == "dollar":
            return self.text[self.text.index("$", 1) + 1 : self.text.rindex("$", 0, -1)]
        return self.text[self.text.index("'") + 1 : -1].replace("''", "'")

    def is_operator(self, *operators: str) -> bool:
        """Whether it is one of these operators."""
        return self.kind == "operator" and self.text in operators


def tokens_of(text: str) -> Sequence[Token]:
    """The words of `text`, without space and comments. SqlError for what is opened and not
    closed."""
    if len(text) > _LONGEST:
        raise sql_error(
            f"the text has {len(text)} characters; up to {_LONGEST} are read",
            try_="a table of values, joined",
        )
    return (_known_tokens if len(text) <= _LONGEST_KEPT else _long_tokens)(text)


@lru_cache(maxsize=64)
def _known_tokens(text: str) -> Sequence[Token]:
    """Those of a text that several parts of the frontend read, or that comes again."""
    return _read_tokens(text)


@lru_cache(maxsize=2)
def _long_tokens(text: str) -> Sequence[Token]:
    """Those of a long text, until it is planned."""
    return _read_tokens(text)


def forget_long() -> None:
    """Drops the words of what was long, which are many."""
    _long_tokens.cache_clear()


def _read_tokens(text: str) -> Sequence[Token]:
    tokens: list[Token] = []
    place: int | None = 0
    while place is not None:
        place = _read_on(text, place, tokens)
    return tuple(tokens)


def _read_on(text: str, place: int, tokens: list[Token]) -> int | None:
    """Reads from a place to the end, or to a comment: the place behind it."""
    for match in _PATTERN.finditer(text, place):  # the last alternative is any character
        kind = match.lastgroup or ""
        if kind == "space":
            continue
        if kind == "comment":
            if match[0] == "/*":
                return _behind_comment(text, match.start())
            continue
        if kind == "operator" and match[0] in _OPENED:
            raise sql_error(
                f"a {_OPENED[match[0]]} is opened and not closed", text, match.start(),
                try_=f"a {match[0]} behind it",
            )  # fmt: skip
        tokens.append(Token("string" if kind == "dollar" else kind, match[0], match.start()))
    return None


def _behind_comment(text: str, start: int) -> int:
    """Behind the comment that begins at `start`; comments nest."""
    depth = 0
    for match in re.compile(r"/\*|\*/").finditer(text, start):
        depth += 1 if match[0] == "/*" else -1
        if depth == 0:
            return match.end()
    is_path = start > 0 and not text[start - 1].isspace()
    instead = "quotes around a path: '/data/*.csv'" if is_path else "*/ behind it"
    raise sql_error("a comment is opened and not closed", text, start, try_=instead)


@lru_cache(maxsize=64)
def statements_of(text: str) -> Sequence[tuple[int, int]]:
    """Where the statements of `text` begin and end, without their semicolons; empty ones left
    out."""
    statements: list[tuple[int, int]] = []
    words: list[Token] = []
    for token in [*tokens_of(text), Token("operator", ";", len(text))]:
        if not token.is_operator(";"):
            words.append(token)
        elif words:
            statements.append((words[0].start, words[-1].end))
            words = []
    return tuple(statements)


def place_of_word(text: str, word: str) -> int | None:
    """Where a name stands in a text for the first time."""
    lowered = word.lower()
    for token in tokens_of(text):
        if token.kind in ("word", "quoted") and token.name.lower() == lowered:
            return token.start
    return None


def quoted(name: str) -> str:
    """`name` as a quoted name of a text."""
    return '"' + name.replace('"', '""') + '"'


def quoted_string(value: str) -> str:
    """`value` as a string of a text."""
    return "'" + value.replace("'", "''") + "'"


def words_of(listed: str) -> frozenset[str]:
    """The words of a list with spaces between them."""
    return frozenset(listed.split())
