"""Reads expressions from the command line (--where and its like): SQL's words or Python's, the same
meaning. Nothing in the text is run.

The package reads SQL text, too, with DataFusion, which comes with the extra `crossdock[sql]`; the
verbs do without it, and take what is easy to write in a shell: Python's signs, too, and names in
backquotes.

l_quantity > 10 and o_orderpriority = '1-URGENT'
o_orderdate between '1995-01-01' and '1995-12-31' and l_shipmode in ('AIR', 'RAIL')
year(o_orderdate) == 1995 and not l_comment like '%special%' and price * (1 - discount) > 100
case when flag is null then 0 else cast(size as float64) end >= 2

From weak to strong: or, and, not, comparisons (which chain: 1 < a <= 3), + -, * / // %, minus.
`names with spaces` stand between backquotes (a backquote in one is written twice), strings between
' or ".
"""

from __future__ import annotations

import difflib
import operator
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, NoReturn

import click
import crossdock as xd

_TOKEN = re.compile(
    r"""\s*(?:
      (?P<number>(?:\d+(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?)
    | (?P<text>'(?:[^']|'')*'|"(?:[^"]|"")*")
    | (?P<name>[^\W\d]\w*)
    | (?P<quoted>`(?:[^`]|``)+`)
    | (?P<sign><=|>=|==|!=|<>|//|[-+*/%<>=(),\[\]])
    )""",
    re.VERBOSE,
)
_Signs = dict[str, Callable[[Any, Any], Any]]
_OR: _Signs = {"or": operator.or_}
_AND: _Signs = {"and": operator.and_}
_COMPARE: _Signs = {
    "=": operator.eq, "==": operator.eq, "!=": operator.ne, "<>": operator.ne,
    "<": operator.lt, "<=": operator.le, ">": operator.gt, ">=": operator.ge,
}  # fmt: skip
_SUMS: _Signs = {"+": operator.add, "-": operator.sub}
_PRODUCTS: _Signs = {
    "*": operator.mul, "/": operator.truediv, "//": operator.floordiv, "%": operator.mod,
}  # fmt: skip
_QUOTING = "a name with spaces or signs stands in backquotes: `{}`"
CONSTANTS = {"null": None, "none": None, "true": True, "false": False}
_RESERVED = frozenset(
    ("and", "or", "not", "in", "is", "like", "between", "case", "when", "then", "else", "end", "as")
) | frozenset(CONSTANTS)
# Methods of an expression: without arguments, and with one constant (of these types).
_METHODS = ("abs", "lower", "upper", "length", "strip", "date",
            "year", "quarter", "month", "week", "day", "day_of_year", "weekday",
            "hour", "minute", "second",
            "floor", "ceil", "sign", "sqrt", "exp", "ln", "log2", "log10", "is_nan")  # fmt: skip
_SYNONYMS = {"trim": "strip", "len": "length"}
_WITH_CONSTANT: dict[str, type] = {
    "round": int, "starts_with": str, "ends_with": str, "contains": str, "strip": str,
    "left": int, "right": int, "truncate": str, "add_months": int,
}  # fmt: skip
_LISTED = ("coalesce", "concat", "greatest", "least")  # of any number of values
_FUNCTIONS = sorted({*_METHODS, *_WITH_CONSTANT, *_SYNONYMS, *_LISTED, "cast"})


def parse_predicate(text: str) -> xd.Expr:
    """The expression that `text` says; click.UsageError with place and reason where it says
    none."""
    return parse_expression(text, "--where")


def parse_expression(text: str, option: str) -> xd.Expr:
    """The same for the value of another option, which the errors name."""
    parser = Parser(text, option)
    try:
        expression = parser.expression()
    except RecursionError:
        raise click.UsageError(f"{option}: too many brackets inside each other") from None
    parser.require_end()
    return xd.lit(expression)


@dataclass(frozen=True)
class Token:
    kind: str  # number, text, name, quoted, sign, end
    text: str
    at: int

    @property
    def word(self) -> str:
        """The token as a keyword or sign, in lower case; "" when it can be none."""
        return self.text.lower() if self.kind in ("name", "sign") else ""

    @property
    def column(self) -> str:
        """The name that the token stands for; "" when it is none."""
        if self.kind == "quoted":
            return _unquoted(self.text)
        return self.text if self.kind == "name" else ""


class Parser:
    """One function per level of the grammar; each leaves the token after what it has read."""

    def __init__(self, text: str, option: str) -> None:
        self.text = text
        self.option = option
        self.tokens: list[Token] = []
        self.tokens = list(self._tokens())
        self.next = 0

    def expression(self) -> Any:
        return self._chain(_OR, self._conjunction)

    def require_end(self) -> None:
        token = self._peek()
        if token.kind != "end":
            self._fail(token, f"{token.text!r} does not continue the expression")

    def _tokens(self) -> Iterator[Token]:
        at, end = 0, len(self.text.rstrip())
        while at < end:
            match = _TOKEN.match(self.text, at)
            if match is None:
                start = at + len(self.text[at:]) - len(self.text[at:].lstrip())
                letter = self.text[start]
                what = f"{letter!r} has no meaning; {_QUOTING.format('a b')}"
                if letter in "'\"`":
                    what = "this text has no end"
                self._fail(Token("end", letter, start), what)
            kind = str(match.lastgroup)
            yield Token(kind, match[kind], match.start(kind))
            at = match.end()
        yield Token("end", "", end)

    def _peek(self) -> Token:
        return self.tokens[self.next]

    def _advance(self) -> Token:
        token = self.tokens[self.next]
        self.next = min(self.next + 1, len(self.tokens) - 1)
        return token

    def _take(self, *words: str) -> bool:
        """Passes `words` if they come next."""
        coming = [token.word for token in self.tokens[self.next : self.next + len(words)]]
        if coming != list(words):
            return False
        self.next += len(words)
        return True

    def _require(self, word: str, after: str) -> None:
        if not self._take(word):
            token = self._peek()
            given = repr(token.text) if token.text else "the end"
            self._fail(token, f"{word!r} is missing {after}; there is {given}")

    def _fail(self, token: Token, what: str) -> NoReturn:
        name = self._name_in_two(token)
        if name and "did you mean" not in what:
            what += "; " + _QUOTING.format(name)
        line = self.text.replace("\n", " ").replace("\t", " ")
        mark = " " * token.at + "^" * max(1, len(token.text))
        raise click.UsageError(f"{self.option}: {what}\n  {line}\n  {mark}")

    def _fail_as_text(self, token: Token) -> NoReturn:
        """Where a text in double quotes is compared with constants alone: SQL has names there."""
        name = _unquoted(token.text)
        shown = name if re.fullmatch(r"[^\W\d]\w*", name) else f"`{name}`"
        self._fail(
            token, f"{token.text} is a text here, as in single quotes; did you mean {shown}?"
        )

    def _name_in_two(self, token: Token) -> str:
        """The name that the user may have meant, where the text cannot go on at `token`: this one
        and the one before it with a space between, or what stands at both sides of a sign."""
        at = next((at for at, known in enumerate(self.tokens) if known is token), 0)
        before = self.tokens[at - 1] if at else token
        if before.kind != "name" or before.word in _RESERVED:
            return ""
        if token.kind == "name":
            return self.text[before.at : token.at] + token.text
        behind = self.tokens[min(at + 1, len(self.tokens) - 1)]
        signed = token.word in (*_SUMS, *_PRODUCTS) and behind.kind in ("name", "number")
        return self.text[before.at : behind.at] + behind.text if signed else ""

    def _conjunction(self) -> Any:
        return self._chain(_AND, self._negation)

    def _negation(self) -> Any:
        return ~self._negation() if self._take("not") else self._comparison()

    def _comparison(self) -> Any:
        first = self._peek()
        left = self._sum()
        is_quoted = first.text.startswith('"') and self.tokens[self.next - 1] is first
        negated = self._take("not")
        word = self._peek().word
        if is_quoted and word in ("in", "between", "like", "is"):
            self._fail_as_text(first)
        if word in ("in", "between", "like"):
            self._advance()
            membership = self._membership(word, left)
            return ~membership if negated else membership
        if negated:
            self._fail(self._peek(), "in, between or like is missing after 'not'")
        if self._take("is"):
            negated = self._take("not")
            if not (self._take("null") or self._take("none")):
                self._fail(self._peek(), "'null' is missing after 'is'")
            return left.is_not_null() if negated else left.is_null()
        whole: Any = None
        while self._peek().word in _COMPARE:
            compare = _COMPARE[self._advance().word]
            right = self._sum()
            if is_quoted and whole is None and not right.columns():
                self._fail_as_text(first)
            part = compare(left, right)
            whole = part if whole is None else whole & part
            left = right
        return left if whole is None else whole

    def _membership(self, word: str, subject: Any) -> Any:
        if word == "between":
            low = self._sum()
            self._require("and", "after the lower bound of 'between'")
            return subject.between(low, self._sum())
        if word == "like":
            return subject.like(self._constant("like", str))
        closing = {"(": ")", "[": "]"}.get(self._peek().word)
        if closing is None:
            self._fail(self._peek(), "'in' takes a list of values: in ('a', 'b')")
        self._advance()
        values: list[Any] = []
        while not self._take(closing):
            if values:
                self._require(",", "in the list")
                if self._take(closing):
                    break
            values.append(self._constant("in", object))
        return subject.is_in(values)

    def _sum(self) -> Any:
        return self._chain(_SUMS, self._product)

    def _product(self) -> Any:
        return self._chain(_PRODUCTS, self._signed)

    def _chain(self, signs: _Signs, part: Callable[[], Any]) -> Any:
        left = part()
        while self._peek().word in signs:
            apply = signs[self._advance().word]
            left = apply(left, part())
        return left

    def _signed(self) -> Any:
        if not self._take("-"):
            return self._primary()
        if self._peek().kind == "number":
            return xd.lit(-_number(self._advance().text))
        return -self._signed()

    def _primary(self) -> Any:
        token = self._advance()
        word = token.word
        if token.kind == "number":
            return xd.lit(_number(token.text))
        if token.kind == "text":
            return xd.lit(_unquoted(token.text))
        if token.kind == "quoted":
            return xd.col(token.column)
        if word == "(":
            inner = self.expression()
            self._require(")", "after the bracket")
            return inner
        if word in CONSTANTS:
            return xd.lit(CONSTANTS[word])
        if word == "case":
            return self._case()
        if token.kind == "name" and word not in _RESERVED:
            if self._peek().word == "(":
                return self._call(token)
            if word in ("date", "timestamp") and self._peek().kind == "text":
                return xd.lit(_unquoted(self._advance().text))
            return xd.col(token.text)
        return self._fail(
            token,
            "a column, a number, a 'text' or a function is missing before "
            + (repr(token.text) if token.text else "the end"),
        )

    def _case(self) -> Any:
        conditions, values = [], []
        if self._peek().word != "when":
            self._fail(self._peek(), "'when' is missing after 'case'")
        while self._take("when"):
            conditions.append(self.expression())
            self._require("then", "after the condition")
            values.append(self.expression())
        if self._take("else"):
            values.append(self.expression())
        self._require("end", "after the last value of 'case'")
        cases: Any = xd
        values = _digits_kept(values)
        for condition, value in zip(conditions, values, strict=False):
            cases = cases.when(condition).then(value)
        return cases if len(values) == len(conditions) else cases.otherwise(values[-1])

    def _call(self, name: Token) -> Any:
        function = _SYNONYMS.get(name.word, name.word)
        if name.word not in _FUNCTIONS:
            close = difflib.get_close_matches(name.word, _FUNCTIONS, n=1)
            advice = f"did you mean {close[0]}?" if close else "there are " + ", ".join(_FUNCTIONS)
            self._fail(name, f"no function {name.text!r}; {advice}")
        self._advance()
        subject = self.expression()
        if function == "cast":
            return self._cast(subject)
        others: list[Any] = []
        while self._take(","):
            constant = _WITH_CONSTANT.get(function)
            taken = self._constant(function, constant) if constant else self.expression()
            others.append(taken)
        self._require(")", f"after the arguments of {name.text}")
        if function in _LISTED:
            return getattr(xd, function)(*_digits_kept([subject, *others]))
        has_right_number = len(others) <= (function in _WITH_CONSTANT)
        if not has_right_number or (not others and function not in (*_METHODS, "round")):
            self._fail(name, f"{name.text} takes {_arguments(function)}")
        return getattr(subject, function)(*others)

    def _cast(self, subject: Any) -> Any:
        from crossdock.sql_frontend.type_names import arrow_type_named  # and pyarrow with it

        self._require("as", "after the value of cast")
        token = self._advance()
        spelled = _unquoted(token.text) if token.kind == "text" else token.text
        digits = ""
        if token.word in ("decimal", "decimal128"):
            self._require("(", "after decimal, as in decimal(15, 2)")
            precision = self._constant("decimal", int)
            scale = self._constant("decimal", int) if self._take(",") else 0
            self._require(")", "after the digits of decimal")
            spelled, digits = "decimal", f"({precision}, {scale})"
        try:
            data_type = arrow_type_named(spelled + digits)
        except (xd.OptionError, ValueError):
            self._fail(token, f"no type {spelled!r}; such as int64, float64, string, date32")
        self._require(")", "after the type of cast")
        return subject.cast(data_type)

    def _constant(self, function: str, kind: type) -> Any:
        token = self._peek()
        number = self._signed()
        value = getattr(number, "value", number)
        if isinstance(value, xd.Expr) or not isinstance(value, kind):
            shown = {str: "a 'text'", int: "a whole number"}.get(kind, "a constant")
            self._fail(token, f"{function} takes {shown} here")
        return value


def _number(text: str) -> int | float | Decimal:
    if text.isdigit():
        return int(text)
    value = float(text)
    # Digits that a float would lose belong to a decimal.
    return value if "e" in text.lower() or Decimal(repr(value)) == Decimal(text) else Decimal(text)


def _digits_kept(values: list[Any]) -> list[Any]:
    """Constants alone, of which a choice is made, keep their digits as decimals: there is no
    column among them whose type they could take."""
    if any(value.columns() for value in values):
        return values
    numbers = [getattr(value, "value", None) for value in values]
    return [
        xd.lit(Decimal(repr(number)))
        if isinstance(number, float) and "e" not in repr(number) and "n" not in repr(number)
        else value
        for value, number in zip(values, numbers, strict=True)
    ]


def _unquoted(text: str) -> str:
    mark = text[0]
    return text[1:-1].replace(mark * 2, mark)


def _arguments(function: str) -> str:
    if function not in _WITH_CONSTANT:
        return "one argument"
    digits = "digits" if function == "round" else "number"
    constant = {str: "'text'", int: digits}[_WITH_CONSTANT[function]]
    optional = function in ("round", "strip")
    return f"(value[, {constant}])" if optional else f"(value, {constant})"
