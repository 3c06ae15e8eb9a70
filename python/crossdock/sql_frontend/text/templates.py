"""Functions and powers that are written with others, and calls behind what they are of,
`s.upper().trim()`."""

from __future__ import annotations

import re
from collections.abc import Sequence

from crossdock.sql_frontend.added_functions import INSTANT
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.derived import Change, replaced
from crossdock.sql_frontend.text.formats import formatted
from crossdock.sql_frontend.text.lambdas import without_lambdas
from crossdock.sql_frontend.text.operands import (
    NO_VALUES,
    ends_value,
    value_before,
    value_behind,
)
from crossdock.sql_frontend.text.scopes import between_commas, brackets_of
from crossdock.sql_frontend.text.tokens import Token, tokens_of

_UNITS = ("years", "months", "weeks", "days", "hours", "minutes", "seconds")
_INSTANT = f"arrow_cast(cast({{}} AS bigint), '{INSTANT}')"
# By name and number of arguments, which are $1, $2 and so on.
OF_ROWS = {
    ("list_reverse_sort", 1): "list_sort($1, 'desc')",
    ("array_reverse_sort", 1): "list_sort($1, 'desc')",
    ("list_unique", 1): "array_length(list_distinct($1))",
    ("array_unique", 1): "array_length(list_distinct($1))",
    ("list_count", 1): "array_length(list_filter($1, x -> x IS NOT NULL))",
    ("list_any_value", 1): "array_element(list_filter($1, x -> x IS NOT NULL), 1)",
    ("list_first", 1): "array_element($1, 1)",
    ("list_last", 1): "array_element($1, -1)",
    ("list_where", 2): (
        "CASE WHEN $1 IS NOT NULL THEN list_transform(list_filter("
        "generate_series(1, cast(array_length($2) AS bigint)), i -> array_element($2, i)), "
        "i -> array_element($1, i)) END"
    ),
    ("list_select", 2): (
        "CASE WHEN $1 IS NOT NULL THEN list_transform("
        "$2, i -> CASE WHEN i > 0 THEN array_element($1, i) END) END"
    ),
    ("map_contains", 2): "array_has(map_keys($1), $2)",
    ("map_contains_value", 2): "array_has(map_values($1), $2)",
    ("regexp_escape", 1): r"regexp_replace($1, '([^\w\x{80}-\x{10FFFF}])', '\\\1', 'g')",
    ("timezone", 2): "($2) AT TIME ZONE $1",
    ("epoch_ns", 1): "epoch_us($1) * 1000",
    ("get_current_timestamp", 0): "now()",
    ("transaction_timestamp", 0): "now()",
    ("isinf", 1): "abs($1) = cast('inf' AS double)",
    ("isfinite", 1): "abs($1) < cast('inf' AS double)",
    ("typeof", 1): "arrow_typeof($1)",
    ("make_timestamp", 1): _INSTANT.format("$1"),
    ("make_timestamp_ms", 1): _INSTANT.format("($1) * 1000"),
    ("make_timestamp", 6): (
        "(($1) || '-' || ($2) || '-' || ($3) || ' ' || ($4) || ':' || ($5) || ':' "
        "|| cast($6 AS decimal(18, 6)))::timestamp"
    ),
    ("make_time", 3): (
        "(lpad(cast($1 AS varchar), 2, '0') || ':' || lpad(cast($2 AS varchar), 2, '0') || ':' "
        "|| lpad(cast(cast($3 AS decimal(18, 6)) AS varchar), 9, '0'))::time"
    ),
    ("mod", 2): "($1) % ($2)",
    ("date_add", 2): "($1) + ($2)",
    ("if", 3): "CASE WHEN $1 THEN $2 ELSE $3 END",
    **{(f"to_{unit}", 1): f"($1) * interval '1 {unit}'" for unit in _UNITS},
}
# The same of a number, which is a constant for frames and table functions.
_OF_NUMBERS = {f"to_{unit}": f"interval '$1 {unit}'" for unit in _UNITS}
# The same of aggregates: $0 is what stands behind the call, FILTER and OVER.
OF_GROUPS = {
    ("count_star", 0): "count(*)$0",
    **{
        (name, 1): "CASE WHEN count($1)$0 > 0 THEN count(CASE WHEN ($1) THEN 1 END)$0 END"
        for name in ("count_if", "countif")
    },
    ("sem", 1): "stddev_pop($1)$0 / sqrt(count($1)$0)",
    ("geomean", 1): "exp(avg(ln($1))$0)",
    ("geometric_mean", 1): "exp(avg(ln($1))$0)",
    ("favg", 1): "avg(($1)::double)$0",
    **{(name, 1): "sum(($1)::double)$0" for name in ("fsum", "kahan_sum", "sumkahan")},
}
_NAMES = frozenset(name for name, _ in (*OF_ROWS, *OF_GROUPS))
_PLACES = re.compile(r"\$(\d)")
_POWERS = ("^", "**")


def written_out(text: str) -> str:
    """The text without them; itself where it has none."""
    numbers: dict[str, int] = {}
    while True:
        longer = without_lambdas(_Templates(text).applied(), numbers)
        if longer is text:
            return text
        text = longer


class _Templates:
    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens: Sequence[Token] = tokens_of(text)

    def applied(self) -> str:
        """The text with calls written with others: the last of them, and those before it that are
        around none of the rest."""
        tokens, changes = self._tokens, list[Change]()
        for number in range(len(tokens) - 2, -1, -1):
            change = None
            if number and tokens[number].is_operator(*_POWERS):
                change = self._power(number)
            elif not tokens[number + 1].is_operator("(") or tokens[number].kind != "word":
                continue
            elif number > 0 and tokens[number - 1].is_operator("."):
                change = self._chained(number)
            elif tokens[number].lower in ("format", "printf"):
                change = self._formatted(number)
            elif tokens[number].lower in _NAMES:
                change = self._written(number)
            if change is not None and (not changes or change[1] <= changes[-1][0]):
                changes.append(change)
        return replaced(self._text, changes[::-1])

    def _said(self, begin: int, end: int) -> str:
        if begin >= end:
            return ""
        return self._text[self._tokens[begin].start : self._tokens[end - 1].end]

    def _written(self, number: int) -> Change | None:
        close = brackets_of(self._tokens).get(number + 1, -1)
        if close < 0 or self._is_no_call(number, close):
            return None
        arguments = between_commas(self._tokens, number + 2, close)
        key = (self._tokens[number].lower, len(arguments))
        said = [self._said(*argument) for argument in arguments]
        words = {token.lower for token in self._tokens[number + 2 : close]}
        if key in OF_ROWS:
            is_constant = bool(said) and said[0].isdecimal() and key[0] in _OF_NUMBERS
            template = _OF_NUMBERS[key[0]] if is_constant else f"({OF_ROWS[key]})"
            end = close + 1
        elif key not in OF_GROUPS:
            raise self._other_count(number, len(arguments))
        elif not words & {"distinct", "order"}:
            template, end = f"({OF_GROUPS[key]})", self._behind_clauses(close + 1)
        else:
            return None
        behind = self._said(close + 1, end)
        said.insert(0, f" {behind}" if behind else "")
        written = _PLACES.sub(lambda match: said[int(match[1])], template)
        first, last = self._tokens[number].start, self._tokens[end - 1].end
        return first, last, written

    def _formatted(self, number: int) -> Change | None:
        """`format` and `printf` of a constant template; None where a table is called so."""
        token, close = self._tokens[number], brackets_of(self._tokens)[number + 1]
        if self._is_no_call(number, close):
            return None
        template, *values = between_commas(self._tokens, number + 2, close) or [(0, 0)]
        first, said = self._tokens[template[0]], [self._said(*value) for value in values]
        is_constant = template[1] == template[0] + 1 and first.kind == "string"
        written = formatted(token.lower, first.value, said) if is_constant else None
        if written is None:
            raise unsupported(
                f"{token.text} of this template", self._text, token.start,
                "format('{:.2f} of {}', a, b), printf('%.2f of %s', a, b)",
            )  # fmt: skip
        return token.start, self._tokens[close].end, written

    def _is_no_call(self, number: int, close: int) -> bool:
        """Whether a name has those of its columns behind it, or is the condition of `[x for x in l
        if (x > 1)]`."""
        before, behind = (
            self._tokens[place].lower if 0 <= place < len(self._tokens) else ""
            for place in (number - 1, close + 1)
        )
        is_query = behind == "as" and self._tokens[close + 2 : close + 3]
        is_table = before == "as" or bool(is_query and is_query[0].is_operator("("))
        is_condition = self._tokens[number].lower == "if" and before not in NO_VALUES
        return is_table or (is_condition and self._tokens[number - 1].kind != "operator")

    def _other_count(self, number: int, count: int) -> Exception:
        token = self._tokens[number]
        known = sorted(count for name, count in (*OF_ROWS, *OF_GROUPS) if name == token.lower)
        calls = (f"{token.lower}({', '.join('xyz'[:count])})" for count in known)
        return sql_error(
            f"{token.text} of {count} values", self._text, token.start, " or ".join(calls)
        )

    def _behind_clauses(self, number: int) -> int:
        """Behind FILTER and OVER, where they begin at a token."""
        closing = brackets_of(self._tokens)
        for word in ("filter", "over"):
            if number + 1 >= len(self._tokens) or self._tokens[number].lower != word:
                continue
            is_named = word == "over" and not self._tokens[number + 1].is_operator("(")
            number = number + 2 if is_named else closing.get(number + 1, number) + 1
        return number

    def _chained(self, number: int) -> Change | None:
        """`s.upper()` as `upper(s)`; None where it is no value that stands before the dot."""
        begin = value_before(self._tokens, number - 1)
        owner = self._tokens[begin - 1].lower if begin > 0 else ""
        if begin < 0 or owner in ("from", "join"):
            return None
        operand = self._said(begin, number - 1)
        name, close = self._tokens[number].text, self._tokens[number + 2].is_operator(")")
        first, last = self._tokens[begin].start, self._tokens[number + 1].end
        call = f"{name}({operand}" + ("" if close else ", ")
        return first, last, call

    def _power(self, number: int) -> Change | None:
        """`a ^ b` as `power(a, b)`, the first of several; None where no value is beside it."""
        begin = value_before(self._tokens, number)
        end = value_behind(self._tokens, number + 1)
        if begin < 0 or end < 0 or (begin and self._tokens[begin - 1].is_operator(*_POWERS)):
            return None
        if begin and self._tokens[begin - 1].is_operator("-", "+"):  # signs bind closer
            begin -= begin == 1 or not ends_value(self._tokens[begin - 2])
        written = f"power({self._said(begin, number)}, {self._said(number + 1, end)})"
        return self._tokens[begin].start, self._tokens[end - 1].end, written
