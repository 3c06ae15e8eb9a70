"""Words of DuckDB that DataFusion's parser has not, as those that it has, before anything else
reads a text."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crossdock.sql_frontend.text.derived import Change, replaced
from crossdock.sql_frontend.text.operands import value_before
from crossdock.sql_frontend.text.pieces import CLAUSES
from crossdock.sql_frontend.text.scopes import between_commas, brackets_of, query_of
from crossdock.sql_frontend.text.tokens import Token, tokens_of, words_of

_TYPES = {
    "hugeint": "decimal(38, 0)", "blob": "bytea", "ubigint": "bigint unsigned",
    "uinteger": "integer unsigned",
    "json": "varchar", "usmallint": "smallint unsigned", "utinyint": "tinyint unsigned",
}  # fmt: skip
_OF_JSON = words_of(
    "json_extract json_extract_string json_extract_path json_extract_path_text json_array_length "
    "json_type json_exists json_keys"
)
_ARROWS = {"->": "json_extract", "->>": "json_extract_string"}
_QUANTILES = words_of("quantile quantile_cont quantile_disc approx_quantile")
_LIST_FOLDS = words_of("list_aggregate list_aggr array_aggregate array_aggr")
_WORDS = (
    words_of(
        "fetch filter materialized in strftime struct_pack percentile_disc mode over window "
        "generate_subscripts grouping exclude collate"
    )
    | words_of("from group having order limit")
    | frozenset((*_TYPES, *_QUANTILES, *_LIST_FOLDS, *_OF_JSON))
)
_ENDS = CLAUSES
_CONSTANTS = ("string", "number")
_BEHIND_KEYS = words_of("asc desc nulls limit offset rows range groups")
_OF_WINDOWS = words_of("partition order rows range groups")
# Words behind which an operand begins that is as long as it stands.
_BEFORE = words_of("select where and or not on when then else having qualify distinct all case")


def respelled(text: str) -> str:
    """The text; itself where it has none of them."""
    tokens = tokens_of(text)
    has_end = bool(tokens) and tokens[-1].is_operator(",")
    if not has_end and not any(t.lower in _WORDS or t.is_operator(*_ARROWS) for t in tokens):
        return text
    return replaced(text, _Respelling(text, tokens).changes())


class _Respelling:
    def __init__(self, text: str, tokens: Sequence[Token]) -> None:
        self._text = text
        self._tokens = tokens
        self._closing: dict[int, int] = {}

    def changes(self) -> list[Change]:
        """Places of the text, and what is written there; none within another one."""
        changes: list[Change] = []
        for number, token in enumerate(self._tokens):
            place = changes[-1][1] if changes else 0
            if not number or token.start < place:
                continue
            if token.is_operator(*_ARROWS):
                self._arrow(number, changes)
            elif token.lower in _WORDS:
                changes += self._changes_at(number, token.lower)
        last = self._tokens[-1]
        if last.is_operator(",") and len(self._tokens) > 1:
            changes.append((last.start, last.end, " "))
        return changes

    def _arrow(self, number: int, changes: list[Change]) -> None:
        """`j -> 'a' ->> 0` as calls of functions of paths. What an operand before it has of other
        changes becomes a part of this one."""
        begin, end = max(value_before(self._tokens, number), 0), number
        start = self._tokens[begin].start
        within = [change for change in changes if change[0] >= start]
        del changes[len(changes) - len(within) :]
        written, place = "", start
        for first, last, by in within:
            written += self._text[place:first] + by
            place = last
        written += self._text[place : self._tokens[number - 1].end]
        while end + 1 < len(self._tokens) and self._tokens[end].is_operator(*_ARROWS):
            behind = end + 2 + self._is_at(end + 1, "-")
            path, name = self._place_in_json(end + 1, behind), _ARROWS[self._tokens[end].text]
            if path is None and self._tokens[end + 1].kind != "string":
                break
            written = f"{name}({written}, {path or self._tokens[end + 1].text})"
            end = behind
        if end > number:
            changes.append((start, self._tokens[end - 1].end, written))
        else:
            changes += within

    def _place_in_json(self, begin: int, end: int) -> str | None:
        """The path of a place in an array, which a number says; None of what is none."""
        said = "".join(token.text for token in self._tokens[begin:end])
        return f"'$[{said}]'" if re.fullmatch(r"-?\d+", said) else None

    def _json_place(self, number: int) -> list[Change]:
        """`json_extract(j, 0)` with a path."""
        arguments = self._arguments(number)
        place = self._place_in_json(*arguments[1]) if len(arguments) == 2 else None
        return self._over(arguments[1][0], arguments[1][1] - 1, place) if place else []

    def _changes_at(self, number: int, word: str) -> list[Change]:
        if word in _ENDS and self._is_at(number - 1, ","):  # a comma behind the last of a list
            token = self._tokens[number - 1]
            return [] if word == "fetch" else [(token.start, token.end, " ")]
        change = {
            "fetch": self._fetch, "filter": self._filter, "materialized": self._materialized,
            "in": self._in, "strftime": self._strftime, "struct_pack": self._struct_pack,
            "percentile_disc": self._percentile_disc, "mode": self._mode, "over": self._over_window,
            "window": self._windows, "generate_subscripts": self._subscripts,
            "group": self._group, "grouping": self._grouping_set, "exclude": self._exclude,
            "collate": self._collate,
            **dict.fromkeys(_TYPES, self._type), **dict.fromkeys(_QUANTILES, self._quantiles),
            **dict.fromkeys(_LIST_FOLDS, self._list_fold),
            **dict.fromkeys(_OF_JSON, self._json_place),
        }.get(word)  # fmt: skip
        return [] if change is None else change(number)

    def _word(self, number: int) -> str:
        return self._tokens[number].lower if 0 <= number < len(self._tokens) else ""

    def _is_at(self, number: int, operator: str) -> bool:
        return 0 <= number < len(self._tokens) and self._tokens[number].is_operator(operator)

    def _close(self, number: int) -> int:
        """The bracket that closes the one at a token; -1 where there is none."""
        if not self._closing:
            self._closing = brackets_of(self._tokens)
        return self._closing.get(number, -1)

    def _opening(self, close: int) -> int:
        """The bracket that the one at a token closes; -1 where there is none."""
        self._close(0)
        return next((opened for opened, each in self._closing.items() if each == close), -1)

    def _over(self, begin: int, end: int, by: str) -> list[Change]:
        return [(self._tokens[begin].start, self._tokens[end].end, by)]

    def _fetch(self, number: int) -> list[Change]:
        """`FETCH FIRST 2 ROWS ONLY` as `LIMIT 2`."""
        words = [self._word(number + i) for i in (1, 3, 4)]
        if words[0] not in ("first", "next") or words[1:] not in (
            ["rows", "only"],
            ["row", "only"],
        ):
            return []
        return self._over(number, number + 4, f"LIMIT {self._tokens[number + 2].text}")

    def _filter(self, number: int) -> list[Change]:
        """`FILTER (x > 1)` with WHERE."""
        is_call = self._is_at(number + 1, "(") and self._is_at(number - 1, ")")
        if not is_call or self._word(number + 2) == "where":
            return []
        return self._over(number + 1, number + 1, "(WHERE ")

    def _materialized(self, number: int) -> list[Change]:
        """`AS [NOT] MATERIALIZED (...)`, which is about how a query runs."""
        is_not = self._word(number - 1) == "not"
        if self._word(number - 1 - is_not) != "as" or not self._is_at(number + 1, "("):
            return []
        return self._over(number - is_not, number, "")

    def _in(self, number: int) -> list[Change]:
        """`x IN [1, 2]` with round brackets; `x IN l` of a column, of what a call gives, and of a
        list that may have NULL, which equals nothing there."""
        if self._is_at(number + 1, "["):
            close = self._close(number + 1)
            listed = self._tokens[number + 2 : close]
            are_known = all(t.kind in _CONSTANTS or t.is_operator(",", "-") for t in listed)
            if listed and are_known and self._word(close + 1) != "for":
                opened, closed = self._tokens[number + 1], self._tokens[close]
                inner = self._text[opened.end : closed.start]
                return [(opened.start, closed.end, f"({inner})")]
        is_not = self._word(number - 1) == "not"
        begin, last = self._value_before(number - is_not), self._value_behind(number)
        if begin < 0 or last < 0 or self._word(begin - 2) == "position":
            return []
        value, listed_column = self._said(begin, number - is_not), self._said(number + 1, last + 1)
        call = f"list_contains({listed_column}, {value})"
        return self._over(begin, last, f"(NOT {call})" if is_not else call)

    def _said(self, begin: int, end: int) -> str:
        if begin >= end:
            return ""
        return self._text[self._tokens[begin].start : self._tokens[end - 1].end]

    def _value_before(self, number: int) -> int:
        """The first token of the constant, column, place in a list or call that ends before a
        token, and is all of an operand; -1 where there is none."""
        begin = number - 1
        while self._is_at(begin, ")") or self._is_at(begin, "]"):
            begin = self._opening(begin)
            if begin <= 0:
                return -1
            is_owned = self._is_value(begin - 1) or self._is_at(begin - 1, ")")
            begin -= is_owned or self._is_at(begin - 1, "]")
        while self._is_at(begin - 1, "."):
            begin -= 2
        before = self._tokens[begin - 1] if begin > 0 else None
        is_begun = before is None or before.is_operator("(", ",") or before.lower in _BEFORE
        return begin if is_begun and (begin < number - 1 or self._is_value(begin)) else -1

    def _is_value(self, number: int) -> bool:
        kinds = ("word", "quoted", *_CONSTANTS)
        return self._tokens[number].kind in kinds and self._word(number) not in _BEFORE

    def _value_behind(self, number: int) -> int:
        """The last token of the column, the list or the call behind a token; -1 where there is
        none."""
        last = number + 1
        if self._is_at(last, "["):
            last = self._close(last)
        elif last >= len(self._tokens) or self._tokens[last].kind not in ("word", "quoted"):
            return -1
        while self._is_at(last + 1, "."):
            last += 2
        while last >= 0 and (self._is_at(last + 1, "(") or self._is_at(last + 1, "[")):
            last = self._close(last + 1)
        return last if last < len(self._tokens) else -1

    def _strftime(self, number: int) -> list[Change]:
        """`strftime('%Y', d)` with the format behind."""
        close = self._close(number + 1)
        is_format = close > 0 and self._tokens[number + 2].kind == "string"
        if not is_format or not self._is_at(number + 3, ","):
            return []
        value = self._text[self._tokens[number + 4].start : self._tokens[close].start]
        return self._over(number + 2, close - 1, f"{value}, {self._tokens[number + 2].text}")

    def _type(self, number: int) -> list[Change]:
        """A type of a cast."""
        is_type = self._is_at(number - 1, "::") or self._word(number - 1) == "as"
        return self._over(number, number, _TYPES[self._word(number)]) if is_type else []

    def _arguments(self, number: int) -> list[tuple[int, int]]:
        """The tokens of each argument of the call at a token; none where it is no call."""
        close = self._close(number + 1) if self._is_at(number + 1, "(") else -1
        if close <= number + 2 or self._is_at(number - 1, "."):
            return []
        return between_commas(self._tokens, number + 2, close)

    def _quantiles(self, number: int) -> list[Change]:
        """`quantile_cont(x, [0.25, 0.5])` as a list of two."""
        arguments = self._arguments(number)
        if len(arguments) != 2 or not self._is_at(arguments[1][0], "["):
            return []
        value, (begin, end) = self._said(*arguments[0]), arguments[1]
        shares = [t for t in self._tokens[begin + 1 : end - 1] if not t.is_operator(",")]
        if not shares or any(share.kind != "number" for share in shares):
            return []
        name = self._tokens[number].text
        listed = ", ".join(f"{name}({value}, {share.text})" for share in shares)
        last = self._close(number + 1)
        if self._word(last + 1) in ("filter", "over"):
            return []
        return self._over(number, last, f"CASE WHEN count({value}) > 0 THEN [{listed}] END")

    def _percentile_disc(self, number: int) -> list[Change]:
        """`percentile_disc(0.5) WITHIN GROUP (ORDER BY x)` as `quantile_disc(x, 0.5)`."""
        value, _, last = self._within_group(number)
        if not value or self._word(last - 1) == "desc":
            return []
        share = self._said(number + 2, self._close(number + 1))
        return self._over(number, last, f"quantile_disc({value}, {share})")

    def _mode(self, number: int) -> list[Change]:
        """`mode() WITHIN GROUP (ORDER BY x)` as `mode(x ORDER BY x)`."""
        value, order, last = self._within_group(number)
        return self._over(number, last, f"mode({value} ORDER BY {order})") if value else []

    def _within_group(self, number: int) -> tuple[str, str, int]:
        """The value that orders the rows of a call, that with its direction, and the last bracket;
        no value where it has none."""
        close = self._close(number + 1)
        words = [self._word(close + i) for i in (1, 2, 4, 5)]
        last = self._close(close + 3)
        if words != ["within", "group", "order", "by"]:
            return "", "", last
        end = last - (self._word(last - 1) in ("asc", "desc"))
        return self._said(close + 6, end), self._said(close + 6, last), last

    def _over_window(self, number: int) -> list[Change]:
        """`OVER w` and `OVER (w ROWS ...)` with what w is of."""
        if self._is_at(number + 1, "("):
            return self._based(number + 1, number)
        known = self._windows_at(number)
        written = self._window_named(number + 1, known, len(known))
        return self._over(number + 1, number + 1, f"({written})") if written is not None else []

    def _windows(self, number: int) -> list[Change]:
        """`WINDOW v AS (w ORDER BY ...)` in the same way."""
        opened = self._windows_at(number).values()
        return [change for each in opened for change in self._based(each, number)]

    def _windows_at(self, number: int) -> dict[str, int]:
        """The brackets of the windows that the query around a token names."""
        begin, end = query_of(self._text, self._tokens, number).clause("window")
        named = between_commas(self._tokens, begin + 1, end)
        return {self._tokens[first].name.lower(): first + 2 for first, _ in named}

    def _based(self, opened: int, number: int) -> list[Change]:
        """The change of the name that a window begins with."""
        known = self._windows_at(number)
        written = self._window_named(opened + 1, known, len(known))
        return self._over(opened + 1, opened + 1, written) if written is not None else []

    def _window_named(self, number: int, known: dict[str, int], depth: int) -> str | None:
        """What stands in the brackets of the window that a token names; None where it is none."""
        token = self._tokens[number] if number < len(self._tokens) else None
        is_name = token is not None and token.kind in ("word", "quoted")
        opened = None if token is None else known.get(token.name.lower())
        if opened is None or not is_name or self._word(number) in _OF_WINDOWS or not depth:
            return None
        begin, close = opened + 1, self._close(opened)
        base = self._window_named(begin, known, depth - 1) if begin < close else None
        return self._said(begin, close) if base is None else (
            f"{base} {self._said(begin + 1, close)}"
        )  # fmt: skip

    def _list_fold(self, number: int) -> list[Change]:
        """`list_aggregate(l, 'sum')` as `list_sum(l)`."""
        arguments = self._arguments(number)
        if len(arguments) != 2 or self._tokens[arguments[1][0]].kind != "string":
            return []
        name = self._tokens[arguments[1][0]].value
        return self._over(
            number, self._close(number + 1), f"list_{name}({self._said(*arguments[0])})"
        )

    def _group(self, number: int) -> list[Change]:
        """`GROUP BY ()`, the row of all, as a HAVING, which asks for it, too."""
        is_empty = [self._is_at(number + 2, "("), self._is_at(number + 3, ")")]
        if self._word(number + 1) != "by" or not all(is_empty):
            return []
        return self._whole(number, number + 3)

    def _grouping_set(self, number: int) -> list[Change]:
        """`GROUPING SETS ((a, b))` of one set as its keys: DataFusion's plan does not say of one
        that it has numbers of sets."""
        close = self._close(number + 2)
        if self._word(number + 1) != "sets" or close < 0:
            return []
        sets = between_commas(self._tokens, number + 3, close)
        if len(sets) != 1:
            return []
        begin, end = sets[0]
        if self._is_at(begin, "(") and self._close(begin) == end - 1:
            begin, end = begin + 1, end - 1
        if begin < end:
            return self._over(number, close, self._said(begin, end))
        if self._is_at(number - 1, ","):
            return self._over(number - 1, close, "")
        if self._is_at(close + 1, ","):
            return self._over(number, close + 1, "")
        return self._whole(number - 2, close)

    def _whole(self, begin: int, end: int) -> list[Change]:
        """A HAVING that one row meets in place of a GROUP BY; none beside another one."""
        is_asked = self._word(end + 1) == "having"
        return self._over(begin, end, "" if is_asked else "HAVING count(*) >= 0")

    def _exclude(self, number: int) -> list[Change]:
        """`* EXCLUDE a` with brackets."""
        name = number + 1
        if not self._is_at(number - 1, "*") or self._is_at(name, "(") or name >= len(self._tokens):
            return []
        return self._over(name, name, f"({self._tokens[name].text})")

    def _collate(self, number: int) -> list[Change]:
        """A key of ORDER BY without case as a function of it."""
        begin = number - 3 if self._is_at(number - 2, ".") else number - 1
        first, last = query_of(self._text, self._tokens, number).clause("order")
        is_next = self._is_at(begin - 1, ",") and first < number < last
        is_key = is_next or (self._word(begin - 2), self._word(begin - 1)) == ("order", "by")
        behind = self._tokens[number + 2 : number + 3]
        is_end = not behind or behind[0].is_operator(",", ")") or behind[0].lower in _BEHIND_KEYS
        if not is_key or self._word(number + 1) != "nocase" or not is_end:
            return []
        return self._over(begin, number + 1, f"lower({self._said(begin, number)})")

    def _subscripts(self, number: int) -> list[Change]:
        """`generate_subscripts(l, 1)` as the UNNEST of the places in l."""
        arguments = self._arguments(number)
        if len(arguments) != 2 or self._said(*arguments[1]) != "1":
            return []
        places = f"unnest(generate_series(1, len({self._said(*arguments[0])})))"
        return self._over(number, self._close(number + 1), places)

    def _struct_pack(self, number: int) -> list[Change]:
        """`struct_pack(a := x)` as `{'a': x}`."""
        fields = []
        for begin, end in self._arguments(number):
            if not self._is_at(begin + 1, ":=") or end <= begin + 2:
                return []
            fields.append(f"'{self._tokens[begin].name}': {self._said(begin + 2, end)}")
        return self._over(number, self._close(number + 1), f"{{{', '.join(fields)}}}")
