"""The constants between the brackets of a table function."""

from __future__ import annotations

import datetime
from collections.abc import Sequence

from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.text.tokens import Token
from crossdock.sql_frontend.translation.intervals import parsed_interval

_TIMES = ("date", "timestamp", "datetime")


def call_arguments(
    tokens: Sequence[Token], text: str, number: int
) -> tuple[int, tuple[object, ...], tuple[tuple[str, object], ...]]:
    """The constants from the token `number` on, behind an opened bracket: the token behind the
    closing one, the arguments and the options. SqlError for what is no constant."""
    return _Reader(tokens, text).arguments(number)


class _Reader:
    def __init__(self, tokens: Sequence[Token], text: str) -> None:
        self._tokens = tokens
        self._text = text

    def arguments(
        self, number: int
    ) -> tuple[int, tuple[object, ...], tuple[tuple[str, object], ...]]:
        arguments: list[object] = []
        options: list[tuple[str, object]] = []
        while True:
            token, following = self._at(number), self._at(number + 1)
            if token is None:
                raise sql_error("a bracket is opened and not closed", self._text, len(self._text))
            if token.is_operator(")"):
                return number + 1, tuple(arguments), tuple(options)
            if token.is_operator(","):
                number += 1
            elif (
                token.kind == "word"
                and following is not None
                and following.is_operator("=", ":=", "=>")
            ):
                value, number_behind = self._constant(number + 2)
                options.append((token.lower, value))
                number = number_behind
            else:
                value, number = self._constant(number)
                arguments.append(value)

    def _constant(self, number: int) -> tuple[object, int]:
        """A string, a number, true, false or a list of such, and the token behind it."""
        token = self._at(number)
        following = self._at(number + 1)
        is_below = token is not None and token.is_operator("-") and following is not None
        if is_below and following is not None and following.kind == "number":
            value, behind = self._constant(number + 1)
            assert isinstance(value, int | float)
            return -value, behind
        if token is not None and token.kind == "string":
            return self._cast(token.value, number + 1)
        if token is not None and following is not None and following.kind == "string":
            if token.lower in _TIMES:
                return self._time(following.value, number + 1), number + 2
            if token.lower == "interval":
                return self._interval(number)
        if token is not None and token.lower == "interval":
            return self._interval(number)
        if token is not None and token.kind == "number":
            return (float(token.text) if "." in token.text else int(token.text)), number + 1
        if token is not None and token.lower in ("true", "false"):
            return token.lower == "true", number + 1
        if token is not None and token.is_operator("[", "{"):
            return self._list(number)
        where = len(self._text) if token is None else token.start
        raise sql_error("a table function takes constants", self._text, where)

    def _cast(self, value: str, number: int) -> tuple[object, int]:
        """A string, or the date or timestamp that it is cast to behind it."""
        operator, target = self._at(number), self._at(number + 1)
        is_cast = operator is not None and operator.is_operator("::")
        if not is_cast or target is None or target.lower not in _TIMES:
            return value, number
        return self._time(value, number - 1), number + 2

    def _time(self, text: str, number: int) -> datetime.datetime:
        try:
            return datetime.datetime.fromisoformat(text.strip())
        except ValueError:
            raise sql_error(
                f"{text!r} is no date or timestamp", self._text, self._tokens[number].start,
                "'2026-01-31', or '2026-01-31 12:00:00'",
            ) from None  # fmt: skip

    def _interval(self, number: int) -> tuple[object, int]:
        """`interval '1 day'`, `interval '1' day` and `interval 1 day`."""
        said, unit = self._at(number + 1), self._at(number + 2)
        text = "" if said is None else said.value if said.kind == "string" else said.text
        if unit is not None and unit.kind == "word":
            return parsed_interval(f"{text} {unit.text}"), number + 3
        return parsed_interval(text), number + 2

    def _list(self, number: int) -> tuple[object, int]:
        """[a, b], or {'name': value, ...}."""
        is_map = self._tokens[number].is_operator("{")
        values: list[object] = []
        keys: list[object] = []
        number += 1
        while (token := self._at(number)) is not None:
            if token.is_operator("]", "}"):
                return (dict(zip(keys, values, strict=True)) if is_map else values), number + 1
            if token.is_operator(","):
                number += 1
                continue
            if is_map:
                key, number = self._constant(number)
                keys.append(key)
                colon = self._at(number)
                if colon is None or not colon.is_operator(":"):
                    break
                number += 1
            value, number = self._constant(number)
            values.append(value)
        raise sql_error("a list is opened and not closed", self._text, len(self._text))

    def _at(self, number: int) -> Token | None:
        return self._tokens[number] if number < len(self._tokens) else None
