"""Select items by their words: whether one is a plain column, has a name, or needs one."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.sql_frontend.text.tokens import Token, words_of

# A word behind one of these is a part of the expression, not a name given to it.
_OPERATOR_WORDS = words_of(
    "and or not is in like ilike similar to between then else when case over collate zone time at "
    "escape from distinct interval date timestamp by all any some exists select as within ignore "
    "respect nulls with without precision varying"
)
_CONSTANTS = words_of("null true false current_date current_timestamp current_time")
_TYPE_ENDS = words_of("precision zone varying")  # x::double precision
_UNITS = words_of(
    "millennium millennia century centurie decade year quarter month week day hour minute second "
    "millisecond microsecond"
)
_VALUE_WORDS = words_of("null true false end nulls last first precision varying zone")


def is_unit(words: Sequence[Token]) -> bool:
    """Whether words end with the unit of an interval: `interval 3 day` and `interval (n) day`, and
    no name behind one."""
    if len(words) > 3 and words[-2].is_operator(")"):
        depth, place = 1, len(words) - 2
        while depth and place > 1:
            place -= 1
            depth += words[place].is_operator(")") - words[place].is_operator("(")
        return words[place - 1].lower == "interval" and is_unit_word(words[-1])
    if len(words) < 3 or words[-3].lower != "interval":
        return False
    is_number = not any(letter.isalpha() for letter in words[-2].text)
    return is_number and is_unit_word(words[-1])


def is_unit_word(word: Token) -> bool:
    """Whether a word is the unit of an interval."""
    return word.lower.removesuffix("s") in _UNITS


def is_operator_word(word: Token) -> bool:
    """Whether a word goes on with an expression, or begins one."""
    return word.lower in _OPERATOR_WORDS or word.lower in ("over", "filter")


def ends_value(word: Token) -> bool:
    """Whether an expression may end with a word."""
    if word.kind == "operator":
        return word.is_operator(")", "]", "}")
    return word.lower not in _OPERATOR_WORDS or word.lower in _VALUE_WORDS


def star_of(words: Sequence[Token]) -> int:
    """The place of the star that a select item begins with, `*` or `t.*`; -1 where it has none."""
    for place in (0, 2):
        is_dotted = place == 0 or (len(words) > 2 and words[1].is_operator("."))
        if is_dotted and words[place].is_operator("*"):
            return place
    return -1


def needs_name(words: Sequence[Token]) -> bool:
    """Whether a select item is computed and has no name."""
    if star_of(words) >= 0 or words[-1].is_operator("*"):
        return False
    is_open = words[-1].kind == "operator" and not words[-1].is_operator(")", "]", "}", "*")
    return not is_open and not is_column(words) and not is_named(words)


def is_column(words: Sequence[Token]) -> bool:
    """a, t.a and the like."""
    return (
        len(words) % 2 == 1
        and all(word.kind in ("word", "quoted") for word in words[::2])
        and all(word.is_operator(".") for word in words[1::2])
        and words[0].lower not in _CONSTANTS
    )


def is_named(words: Sequence[Token]) -> bool:
    """Whether a select item ends with a name for it."""
    if len(words) == 1:
        return False
    last, before = words[-1], words[-2]
    if before.lower == "as":
        return True
    is_value = last.lower in _VALUE_WORDS and last.lower not in ("first", "last")
    if last.kind not in ("word", "quoted") or is_value:
        return False
    if is_unit(words):
        return False
    if before.kind == "operator":
        return before.is_operator(")", "]", "}")
    is_type = len(words) > 3 and words[-3].is_operator("::")  # x::date day
    return is_type or before.lower not in _OPERATOR_WORDS or before.lower in _TYPE_ENDS
