"""Lists as parameters behind IN: `x IN ?` has a parameter for each value, so that NULL means there
what it means in a list of constants."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from crossdock.sql_frontend.text.derived import Change, replaced
from crossdock.sql_frontend.text.tokens import Token, tokens_of

_EMPTY = "(SELECT NULL WHERE FALSE)"


def with_list_parameters(text: str, values: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The text and its values with one for each of those lists; the same where there is none."""
    tokens = tokens_of(text)
    names = _names_of(tokens)
    behind_in: dict[int, Any] = {
        i: values.get(name) for i, name in names.items() if i and tokens[i - 1].lower == "in"
    }
    listed = {i: list(value) for i, value in behind_in.items() if is_list(value)}
    if not listed:
        return text, dict(values)
    changes, kept = list[Change](), dict(values)
    for i, name in names.items():
        token = tokens[i]
        written = f"${name}"
        if i in listed:
            elements = {f"{name}_of_{i}_{n}": each for n, each in enumerate(listed[i], 1)}
            kept |= elements
            written = f"({', '.join('$' + each for each in elements)})" if elements else _EMPTY
        changes.append((token.start, token.end, written))
    used = {name for i, name in names.items() if i not in listed}
    spent = {names[i] for i in listed} - used
    return replaced(text, changes), {k: v for k, v in kept.items() if k not in spent}


def is_list(value: Any) -> bool:
    """Whether a value is several."""
    return isinstance(value, list | tuple | set | frozenset)


def _names_of(tokens: Sequence[Token]) -> dict[int, str]:
    """The parameters of a text by their tokens, ? by its number."""
    names: dict[int, str] = {}
    count = 0
    for i, token in enumerate(tokens):
        if token.kind == "parameter":
            count += token.text == "?"
            names[i] = str(count) if token.text == "?" else token.text[1:]
    return names
