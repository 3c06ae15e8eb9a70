"""A text token by token, and what is written in place of its tokens and around them."""

from __future__ import annotations

from crossdock.sql_frontend.errors import sql_error
from crossdock.sql_frontend.tokens import Token, tokens_of, words_of

# Words that end a list of select items at the depth where it began.
CLAUSES = words_of(
    "from where group having order limit offset fetch union intersect except qualify window"
)
NOT_ALIASES = CLAUSES | words_of(
    "on using join inner left right full cross natural semi anti lateral as set tablesample"
)


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
            depth += self.tokens[each].is_operator("(")
            depth -= self.tokens[each].is_operator(")")
            if depth == 0:
                return each + 1
        raise sql_error("a bracket is opened and not closed", self.text, self.tokens[number].start)

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

    def at(self, number: int) -> Token | None:
        """The token of a number; None where there is none."""
        return self.tokens[number] if 0 <= number < len(self.tokens) else None

    def written(self) -> tuple[str, list[tuple[int, int]]]:
        """The pieces together, and places in them with those of the text: what was between tokens
        stays."""
        parts: list[str] = []
        length = last = 0
        if self.tokens[0].lower == "from":
            parts.append("SELECT * ")
            length = len(parts[0])
        places = [(length, 0)]
        for number, token in enumerate(self.tokens):
            between = self.text[last : token.start]
            piece = self.before.get(number, "") + self.pieces.get(number, token.text)
            piece += self.behind.get(number, "") + self.closing.get(number, "")
            parts += (between, piece)
            length += len(between)
            places.append((length, token.start))
            length += len(piece)
            places.append((length, token.end))
            last = token.end
        return "".join(parts), places
