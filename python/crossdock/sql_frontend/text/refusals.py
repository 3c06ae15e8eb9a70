"""What is refused before DataFusion reads it: SQL that is nested too deep or too long."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.text.tokens import Token, words_of

_MOST_DEPTH = 100  # of brackets and CASEs
_MOST_CHAINED = 400
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
