"""A text token by token, and what is written in place of its tokens and around them."""

from __future__ import annotations

from dataclasses import dataclass

from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.text.rewritten import FileCall, stem_of
from crossdock.sql_frontend.text.select_items import ends_value, is_operator_word, is_unit
from crossdock.sql_frontend.text.tokens import Token, tokens_of, words_of

# Words that end a list of select items at the depth where it began.
CLAUSES = words_of(
    "from where group having order limit offset fetch union intersect except qualify window"
)
NOT_ALIASES = CLAUSES | words_of(
    "on using join inner left right full cross natural semi anti lateral as set tablesample "
    "asof positional"
)


# Words that end an operand of IS, and those that open and close a CASE within it.
_LOOSER = CLAUSES | words_of(
    "and or is then when else as join inner left right full cross natural semi anti on using "
    "asc desc nulls"
)


@dataclass
class Operand:
    """A table of FROM: its tokens without its name, the token behind both, and the name."""

    start: int
    end: int
    behind: int
    name: str
    has_alias: bool


class Pieces:
    """The tokens of a text, and changes of it by their numbers."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens = tokens_of(text)
        self.pieces: dict[int, str] = {}  # what is written in place of a token
        self.before: dict[int, str] = {}  # what is written before it
        self.behind: dict[int, str] = {}  # what is written behind it
        self.closing: dict[int, str] = {}  # what is written behind that

    def behind_bracket(self, number: int) -> int:
        """The token behind the bracket that closes the one at `number`."""
        depth = 0
        for each in range(number, len(self.tokens)):
            depth += self.tokens[each].is_operator("(", "[", "{")
            depth -= self.tokens[each].is_operator(")", "]", "}")
            if depth == 0:
                return each + 1
        raise sql_error("a bracket is missing at the end", self.text, len(self.text))

    def opening(self, close: int) -> int:
        """The bracket that the one at a token closes; -1 where it is none."""
        depth = 0
        for number in range(close, -1, -1):
            token = self.tokens[number]
            depth += token.is_operator(")") - token.is_operator("(")
            if depth == 0:
                return number
        return -1

    def behind_operand(self, number: int) -> int:
        """The token behind the operand of IS [NOT] DISTINCT FROM that begins at `number`: all that
        binds closer, comparisons included."""
        cases = betweens = 0
        end = number
        while (token := self.at(end)) is not None:
            opens = token.is_operator("(", "[", "{")
            if cases == 0:
                is_and = token.lower == "and" and betweens > 0
                betweens += (token.lower == "between") - is_and
                is_call = self._is_call(end)
                if token.is_operator(")", "]", "}", ",", ";") or token.lower == "end":
                    break
                if token.lower in _LOOSER and not is_and and not is_call:
                    break
                if end > number and self._begins_name(end):
                    break
            cases += (token.lower == "case") - (token.lower == "end")
            end = self.behind_bracket(end) if opens else end + 1
        return end

    def _is_call(self, number: int) -> bool:
        """left(x, 1) and right(x, 1) are no joins."""
        following = self.at(number + 1)
        is_opened = following is not None and following.is_operator("(")
        return is_opened and self.tokens[number].lower in ("left", "right")

    def _begins_name(self, number: int) -> bool:
        """Whether a name is given, without AS, to the value before it."""
        token, before = self.tokens[number], self.tokens[number - 1]
        if token.kind not in ("word", "quoted") or is_operator_word(token):
            return False
        return ends_value(before) and not is_unit(self.tokens[max(number - 2, 0) : number + 1])

    def commas(self, begin: int, end: int) -> list[int]:
        """Those between the arguments that stand between two brackets."""
        depth, result = 0, []
        for each in range(begin, end):
            token = self.tokens[each]
            depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
            if depth == 1 and token.is_operator(","):
                result.append(each)
        return result

    def has_alias(self, number: int) -> bool:
        """Whether a name for a table begins at a token."""
        token = self.at(number)
        if token is None:
            return False
        return (
            token.lower == "as"
            or token.kind == "quoted"
            or (token.kind == "word" and token.lower not in NOT_ALIASES)
        )

    def operand(self, number: int) -> Operand | None:
        """The table that begins at a token; no name where it has none."""
        token = self._named(number)
        end, name = number + 1, token.name.lower() if token.kind in ("word", "quoted") else ""
        following = self.at(end)
        if token.is_operator("("):
            end = self.behind_bracket(number)
        elif following is not None and following.is_operator("("):
            end = self.behind_bracket(end)
        elif token.kind == "string":
            name = stem_of(FileCall("read", (token.value,), (), 0))
        if not self.has_alias(end):
            return Operand(number, end, end, name, has_alias=False)
        alias = end + (1 if self.tokens[end].lower == "as" else 0)
        return Operand(number, end, alias + 1, self._named(alias).name.lower(), has_alias=True)

    def _named(self, number: int) -> Token:
        """The token of a table, or of the name that it gets."""
        if number >= len(self.tokens):
            raise sql_error("a table or a name is missing at the end", self.text, len(self.text))
        return self.tokens[number]

    def at(self, number: int) -> Token | None:
        """The token of a number; None where there is none."""
        return self.tokens[number] if 0 <= number < len(self.tokens) else None

    def word_at(self, number: int) -> str:
        """The word at a token, in lower case; "" where there is none."""
        token = self.at(number)
        return "" if token is None else token.lower

    def is_at(self, number: int, operator: str) -> bool:
        """Whether an operator is at a token."""
        token = self.at(number)
        return token is not None and token.is_operator(operator)

    def _written(self, number: int) -> str:
        """What becomes of one token."""
        piece = self.before.get(number, "") + self.pieces.get(number, self.tokens[number].text)
        return piece + self.behind.get(number, "") + self.closing.get(number, "")

    def copied(self, begin: int, end: int) -> str:
        """The tokens from one number to another, as they are written."""
        return " ".join(map(self._written, range(begin, end)))

    def taken_out(self, begin: int, end: int) -> str:
        """The tokens from one number to another, as they are written, which then are not."""
        piece = self.copied(begin, end)
        for number in range(begin, end):
            self.pieces[number] = ""
            for around in (self.before, self.behind, self.closing):
                around.pop(number, None)
        return piece

    def leave_out(self, begin: int, end: int) -> None:
        """Writes nothing for tokens, but for what closes others behind the last one."""
        closing = self.closing.get(end - 1)
        self.taken_out(begin, end)
        if closing is not None:
            self.closing[end - 1] = closing

    def written(self) -> tuple[str, list[tuple[int, int]]]:
        """The pieces together, and places in them with those of the text: what was between tokens
        stays."""
        parts: list[str] = []
        length = last = 0
        places = [(0, 0)]
        for number, token in enumerate(self.tokens):
            between, piece = self.text[last : token.start], self._written(number)
            parts += (between, piece)
            length += len(between)
            places.append((length, token.start))
            length += len(piece)
            places.append((length, token.end))
            last = token.end
        return "".join(parts), places
