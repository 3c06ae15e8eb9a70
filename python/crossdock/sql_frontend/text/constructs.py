"""Constructs that words of a text show to be none that run, with what to write instead."""

from __future__ import annotations

from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.pieces import Pieces

# Kinds of joins that the parser would take for the name of the table before them.
_OTHER_JOINS = {
    "positional": "row_number() OVER () of both sides, and a join by it",
    "asof": 'relation.join_asof(other, "left key", "right key")',
}
_WORDS = frozenset((*_OTHER_JOINS, "tablesample"))


def require_supported(pieces: Pieces, number: int) -> None:
    """SqlError where the word at a token begins a construct that does not run."""
    if pieces.tokens[number].lower not in _WORDS:
        return
    word, following = pieces.tokens[number].lower, pieces.at(number + 1)
    follows = "" if following is None else following.lower
    construct = None
    if word in _OTHER_JOINS and follows == "join":
        construct = f"{word.upper()} JOIN", _OTHER_JOINS[word]
    elif word == "tablesample":
        construct = "TABLESAMPLE", "relation.sample(fraction=0.1)"
    if construct is not None:
        what, instead = construct
        raise unsupported(what, pieces.text, pieces.tokens[number].start, instead)
