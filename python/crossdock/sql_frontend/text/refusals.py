"""What is refused before DataFusion reads it: SQL that is nested too deep or too long, and brackets
that are open at one end."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.text.tokens import Token, tokens_of, words_of

_MOST_DEPTH = 100  # of brackets and CASEs
_MOST_CHAINED = 400
_PAIRS = ("()", "[]", "{}")
_CHAINED = words_of("and or not join union intersect except")
_CHAIN_ENDS = words_of("select from where group having order when then else on")


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


def require_closed(text: str) -> None:
    """SqlError for a bracket that is not closed, or closed and not open."""
    opened: list[Token] = []
    for token in tokens_of(text):
        if token.is_operator("(", "[", "{"):
            opened.append(token)
        elif token.is_operator(")", "]", "}") and (
            not opened or opened.pop().text + token.text not in _PAIRS
        ):
            raise sql_error("a bracket is closed that is not open", text, token.start)
    if opened:
        raise sql_error("a bracket is opened and not closed", text, opened[-1].start)
