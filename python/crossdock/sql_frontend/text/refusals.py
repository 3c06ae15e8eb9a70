"""What is refused before DataFusion reads it: SQL that is nested too deep or too long, and what
does not run, with what to write instead."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.pieces import Pieces
from crossdock.sql_frontend.text.tokens import Token, words_of

_MOST_DEPTH = 100  # of brackets and CASEs
_MOST_CHAINED = 400
_CHAINED = words_of("and or not join union intersect except")
_CHAIN_ENDS = words_of("select from where group having order when then else on")
# Kinds of joins that the parser would take for the name of the table before them.
_OTHER_JOINS = {
    "positional": "row_number() OVER () of both sides, and a join by it",
    "asof": 'relation.join_asof(other, "left key", "right key")',
}
_WORDS = frozenset((*_OTHER_JOINS, "tablesample", "pivot", "unpivot"))


def require_shallow(tokens: Sequence[Token], text: str) -> None:
    """SqlError for what is nested so deep, or so long a chain of operators, that DataFusion
    would take minutes, or more stack than there is."""
    chains = [0]  # of operators since the last comma or clause, per open bracket
    for token in tokens:
        if token.is_operator("(", "[", "{") or token.lower == "case":
            chains.append(0)
        elif (token.is_operator(")", "]", "}") or token.lower == "end") and len(chains) > 1:
            chains.pop()
        elif token.is_operator(",", ";") or token.lower in _CHAIN_ENDS:
            chains[-1] = 0
        elif (token.kind == "operator" and token.text not in ".*") or token.lower in _CHAINED:
            chains[-1] += 1
        if len(chains) > _MOST_DEPTH:
            what = f"more than {_MOST_DEPTH} brackets in each other"
        elif chains[-1] > _MOST_CHAINED:
            what = f"more than {_MOST_CHAINED} operators one behind the other"
        else:
            continue
        raise sql_error(what, text, token.start, "x IN (...) for many =, or a table that is joined")


def _is_clause(before: Token | None, following: Token | None) -> bool:
    """Whether PIVOT between two tokens is no name of a column."""
    if before is None or following is None:
        return False
    is_table = following.kind in ("word", "quoted", "string")
    if before.is_operator("(", ")"):
        return is_table or following.is_operator("(")
    return following.is_operator("(") and before.kind in ("word", "quoted", "string")


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
    elif "pivot" in word and _is_clause(pieces.at(number - 1), following):
        construct = (
            f"{word.upper()} within a query",
            f"CREATE VIEW p AS {word.upper()} t ON ..., and FROM p",
        )
    if construct is not None:
        what, instead = construct
        raise unsupported(what, pieces.text, pieces.tokens[number].start, instead)
