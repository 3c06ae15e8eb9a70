"""Where the values begin and end that stand beside a token: names, constants, calls and what is in
brackets, with the fields, elements and casts behind them."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.sql_frontend.text.scopes import brackets_of
from crossdock.sql_frontend.text.tokens import Token, words_of

# Words behind which a bracket is none of a call, and that are no value.
NO_VALUES = words_of(
    "select where and or not on when then else having qualify distinct all case in from join by "
    "values over exists any between like ilike similar to escape is limit using as for both "
    "leading trailing"
)
_VALUES = ("word", "quoted", "string", "number", "parameter")


def value_before(tokens: Sequence[Token], number: int) -> int:
    """The first token of the value that ends before one; -1 where none does."""
    opening = {close: opened for opened, close in brackets_of(tokens).items()}
    begin = number - 1
    while begin >= 0:
        token = tokens[begin]
        if token.is_operator(")", "]", "}"):
            begin, is_place = opening.get(begin, -1), token.is_operator("]")
            if begin > 0 and is_place and ends_value(tokens[begin - 1]):
                begin -= 1
                continue
            is_of_name = begin > 0 and _is_name(tokens[begin - 1])
            is_map = token.is_operator("}") and begin > 0 and tokens[begin - 1].lower == "map"
            begin -= is_map or (token.is_operator(")") and is_of_name)
        elif token.lower == "end":
            begin = _case_of(tokens, begin)
        elif token.kind not in _VALUES or token.lower in NO_VALUES:
            return -1
        if begin < 2 or not tokens[begin - 1].is_operator(".", "::"):
            return begin
        begin -= 2
    return -1


def value_behind(tokens: Sequence[Token], number: int) -> int:
    """The token behind the value that begins at one, which may have a sign; -1 where none does."""
    closing = brackets_of(tokens)
    while number < len(tokens) and tokens[number].is_operator("-", "+"):
        number += 1
    token = tokens[number] if number < len(tokens) else None
    if token is None or token.lower in NO_VALUES:
        return -1
    if token.is_operator("(", "[", "{"):
        end = closing.get(number, -2) + 1
    else:
        end = number + 1 if token.kind in _VALUES else -1
    while 0 < end < len(tokens):
        is_call = tokens[end].is_operator("(") and _is_name(tokens[end - 1])
        if is_call or tokens[end].is_operator("["):
            end = closing.get(end, -2) + 1
        elif tokens[end].is_operator(".", "::"):
            end += 2
        else:
            break
    return min(end, len(tokens))


def ends_value(token: Token) -> bool:
    """Whether a value may end with a token."""
    is_constant = token.kind in ("string", "number", "parameter")
    return is_constant or _is_name(token) or token.is_operator(")", "]", "}")


def _is_name(token: Token) -> bool:
    return token.kind in ("word", "quoted") and token.lower not in NO_VALUES


def _case_of(tokens: Sequence[Token], end: int) -> int:
    """The CASE that an END closes; -1 where there is none."""
    depth = 0
    for number in range(end, -1, -1):
        depth += (tokens[number].lower == "end") - (tokens[number].lower == "case")
        if depth == 0:
            return number
    return -1
