"""Expressions over columns: small immutable trees, built with Python operators.

`xd.col("price") * 2 > 10` builds a tree and reads nothing. A tree is evaluated batch by batch with
pyarrow.compute (evaluation.py); what means the same to readers of files is handed to them
(reader_filters.py).
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, TypeAlias

from crossdock.errors import make_error
from crossdock.expressions.functions import (
    TEXT_TESTS,
    TOTAL_FUNCTIONS,
    DateFunctions,
    NestedFunctions,
    NumberFunctions,
    StringFunctions,
)
from crossdock.familiar_options import answering_class
from crossdock.option_checks import require_text, require_type, require_values

if TYPE_CHECKING:
    import pyarrow as pa

_SYMBOLS = {
    "equal": "==",
    "not_equal": "!=",
    "less": "<",
    "less_equal": "<=",
    "greater": ">",
    "greater_equal": ">=",
    "and_kleene": "&",
    "or_kleene": "|",
    "add": "+",
    "subtract": "-",
    "multiply": "*",
    "divide": "/",
    "floor_divide": "//",
    "remainder": "%",
    "power": "**",
}
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
# What a comparison is with its sides exchanged, where it is another one.
TURNED = {"less": "greater", "less_equal": "greater_equal",
          "greater": "less", "greater_equal": "less_equal"}  # fmt: skip
ARITHMETIC = frozenset(("add", "subtract", "multiply", "divide", "floor_divide", "remainder"))
_OF_A_TYPE = frozenset(("cast", "try_cast", "parsed_as", "try_parsed_as", "written"))
# Written as functions.
_LISTED = frozenset(("coalesce", "concat", "greatest", "least", "make_date"))
_BOOLEAN = frozenset(("and_kleene", "or_kleene", "invert"))
_TESTS = COMPARISONS | TEXT_TESTS | _BOOLEAN | {"is_null", "is_valid", "is_in", "matches"}
_Operator: TypeAlias = "Callable[[Expr, object], Expr]"
MOST_DEPTH = 200  # of calls within calls: walks over an expression are recursive
OF_ELEMENTS = frozenset(("list_transform", "list_filter"))
_numbers = itertools.count()  # of functions of elements
CHOICES = frozenset(("case", "coalesce", "greatest", "least"))
_TOTAL = _TESTS | TOTAL_FUNCTIONS | CHOICES | {"concat"}


@dataclass(frozen=True, eq=False)
class Alias:
    """An expression or an aggregate, and the name of the column that it becomes: what `.alias`
    gives, for `select`, `with_columns`, `group_by` and `agg`."""

    item: Any
    name: str

    def __repr__(self) -> str:
        return f"{self.item!r}.alias({self.name!r})"


def _operators(function: str) -> tuple[_Operator, _Operator]:
    """What Python calls with the expression on the left, and on the right where the left is none
    itself."""

    def on_left(expression: Expr, other: object) -> Expr:
        return Call(function, (expression, lit(other)))

    def on_right(expression: Expr, other: object) -> Expr:
        return Call(function, (lit(other), expression))

    return on_left, on_right


@answering_class
class Expr(
    StringFunctions["Expr"], NumberFunctions["Expr"], DateFunctions["Expr"], NestedFunctions["Expr"]
):
    """A value per row. NULL follows SQL: a comparison with NULL is NULL, and a filter drops it.

    Integer arithmetic that overflows is an error, never a wrap. `/` of integers and of decimals is
    a float64; `//` and `%` round towards minus infinity, as in Python, and a divisor of 0 is an
    error (of floats, an infinity or NaN). + - * of decimals are exact: the result has all their
    digits after the point and up to 38 in all, and a value with more is an error.

    Python literals take the type that fits what they meet: beside a decimal, 1 and 0.05 are the
    decimals of these digits, beside a float32 they are float32 (but 1e300, which would be an
    infinity, is float64); beside a date or time, '1995-01-01' is one.

    Instances are immutable and may be shared between threads.
    """

    __slots__ = ()
    depth = 0  # of calls within calls

    def __getattr__(self, name: str) -> Any:
        from crossdock.familiar_names import instead_of_method

        text = f"an expression has no {name}; {instead_of_method(name)}"
        raise AttributeError(text, name=name, obj=self)

    def alias(self, name: str) -> Alias:
        """The expression as a column of that name: `select("id", (xd.col("a") * 2).alias("b"))`."""
        return Alias(self, require_text(name, "alias()", '.alias("total")'))

    def _called(self, function: str, option: Any = None, *others: object) -> Expr:
        return Call(function, (self, *map(lit, others)), option)

    def __eq__(self, other: object) -> Expr:  # type: ignore[override]
        return Call("equal", (self, lit(other)))

    def __ne__(self, other: object) -> Expr:  # type: ignore[override]
        return Call("not_equal", (self, lit(other)))

    def __lt__(self, other: object) -> Expr:
        return Call("less", (self, lit(other)))

    def __le__(self, other: object) -> Expr:
        return Call("less_equal", (self, lit(other)))

    def __gt__(self, other: object) -> Expr:
        return Call("greater", (self, lit(other)))

    def __ge__(self, other: object) -> Expr:
        return Call("greater_equal", (self, lit(other)))

    __and__, __rand__ = _operators("and_kleene")
    __or__, __ror__ = _operators("or_kleene")
    __add__, __radd__ = _operators("add")
    __sub__, __rsub__ = _operators("subtract")
    __mul__, __rmul__ = _operators("multiply")
    __truediv__, __rtruediv__ = _operators("divide")
    __floordiv__, __rfloordiv__ = _operators("floor_divide")
    __mod__, __rmod__ = _operators("remainder")
    __pow__, __rpow__ = _operators("power")

    def __invert__(self) -> Expr:
        return Call("invert", (self,))

    def __neg__(self) -> Expr:
        return Call("negate", (self,))

    def __abs__(self) -> Expr:
        return Call("abs", (self,))

    def between(self, low: object, high: object) -> Expr:
        """True where low <= value <= high."""
        return (self >= low) & (self <= high)

    def is_null(self) -> Expr:
        """True where the value is NULL; never NULL itself."""
        return Call("is_null", (self,))

    def is_not_null(self) -> Expr:
        """True where the value is not NULL; never NULL itself."""
        return Call("is_valid", (self,))

    def is_in(self, values: Collection[Any]) -> Expr:
        """True where the value is one of `values`; NULL values are in no list."""
        members = require_values(values, "is_in()")
        for value in members:
            if isinstance(value, Expr):
                raise make_error(
                    "CD-504", f"is_in() takes values, not the expression {value!r}",
                    try_="(a == b) | (a == c)",
                )  # fmt: skip
        return Call("is_in", (self,), members)

    def cast(self, data_type: pa.DataType | str) -> Expr:
        """The value as another Arrow type (a pyarrow.DataType or its name, such as "int64").

        A value that does not fit is an ExpressionError when the expression is evaluated.
        """
        return Call("cast", (self,), require_type(data_type, "cast()"))

    def try_cast(self, data_type: pa.DataType | str) -> Expr:
        """The same as `cast`, but a value that does not fit is NULL."""
        return Call("try_cast", (self,), require_type(data_type, "try_cast()"))

    def _of_elements(self, name: str, function: Callable[[Expr], object]) -> Expr:
        if not callable(function) or isinstance(function, Expr):
            raise make_error(
                "CD-504", f"{name}() takes a function of an element, not {function!r}",
                try_=f"{name}(lambda x: x > 0)",
            )  # fmt: skip
        element = f"element {next(_numbers)}"
        return of_elements(name, self, lit(function(Column(element))), (element,))

    def columns(self) -> frozenset[str]:
        """Names of the columns the expression reads."""
        raise NotImplementedError

    def __bool__(self) -> bool:
        raise make_error(
            "CD-504",
            f"the expression {self!r} has no truth value before it is evaluated",
            cause="Python's and, or, not, in and chained comparisons ask for one",
            try_="& | ~ with brackets: (xd.col('a') > 1) & (xd.col('b') < 2)",
        )

    __hash__ = object.__hash__


class Column(Expr):
    """The value of a column."""

    __slots__ = ("name",)

    def __init__(self, name: str) -> None:
        self.name = name

    def columns(self) -> frozenset[str]:
        return frozenset((self.name,))

    def __repr__(self) -> str:
        return self.name


class Literal(Expr):
    """The same value on every row; None is NULL."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def columns(self) -> frozenset[str]:
        return frozenset()

    def __repr__(self) -> str:
        value = self.value
        return repr(value.as_py() if hasattr(value, "as_py") else value)


class Call(Expr):
    """A function of other expressions. `function` is one of the names in this module; `option` has
    what is no expression: the values of is_in, the type of cast, a pattern.

    The arguments of "case" are condition, value, condition, value, ..., and the value otherwise.
    """

    __slots__ = ("_columns", "arguments", "depth", "function", "option")

    def __init__(self, function: str, arguments: tuple[Expr, ...], option: Any = None) -> None:
        self.depth = 1 + max(argument.depth for argument in arguments)
        if self.depth > MOST_DEPTH:
            raise make_error(
                "CD-504",
                f"an expression has more than {MOST_DEPTH} operators inside each other",
                try_="is_in([...]) for many ==, several filter() for many &, with_columns() for "
                "parts of it",
            )
        self.function = function
        self.arguments = arguments
        self.option = option
        self._columns: frozenset[str] | None = None  # until first asked for: long walks ask often

    def rewritten(self, change: Callable[[Expr], Expr]) -> Call:
        """The same with `change` applied to each of its arguments."""
        return Call(self.function, tuple(map(change, self.arguments)), self.option)

    def columns(self) -> frozenset[str]:
        if self._columns is None:
            parts = (argument.columns() for argument in self.arguments)
            self._columns = frozenset[str]().union(*parts)
        return self._columns

    def __repr__(self) -> str:
        if self.function == "case":
            return _case_text(self.arguments)
        if self.function in _LISTED:
            return f"{self.function}({', '.join(map(repr, self.arguments))})"
        shown = [
            f"({argument!r})" if isinstance(argument, Call) else repr(argument)
            for argument in self.arguments
        ]
        if self.function in _SYMBOLS:
            return f"{shown[0]} {_SYMBOLS[self.function]} {shown[1]}"
        if self.function == "invert":
            return f"~{shown[0]}"
        if self.function == "negate":
            return f"-{shown[0]}"
        shows = str if self.function in _OF_A_TYPE else repr
        several = isinstance(self.option, tuple) and self.function != "is_in"
        options = self.option if several else () if self.option is None else (self.option,)
        others = [*map(repr, self.arguments[1:]), *map(shows, options)]
        return f"{shown[0]}.{self.function}({', '.join(others)})"


def _case_text(arguments: tuple[Expr, ...]) -> str:
    pairs = zip(arguments[::2], arguments[1::2], strict=False)
    cases = ".".join(f"when({condition!r}).then({value!r})" for condition, value in pairs)
    return f"{cases}.otherwise({arguments[-1]!r})"


class SqlText(Expr):
    """An expression as SQL writes it. A method of a relation reads it over the relation's columns,
    and puts what it means in its place."""

    __slots__ = ("text",)

    def __init__(self, text: str) -> None:
        self.text = text

    def columns(self) -> frozenset[str]:
        raise make_error(
            "CD-504", f"the SQL text {self.text!r} stands where no relation reads it",
            limits="filter(), select(), with_columns(), group_by(), agg(), distinct(), sort(), "
            "top_k(), partition_by() and join(residual=...)",
        )  # fmt: skip

    def __repr__(self) -> str:
        return f"sql_expr({self.text!r})"


def sql_expr(text: str) -> Expr:
    """The expression that an SQL text is, for select(), with_columns() and wherever expressions go:
    `xd.sql_expr("price * (1 - discount)")`, in agg() also of aggregates, `"sum(x) / count(*)"`. It
    names columns of the relation where it is used, whatever the case of letters. Errors in it are
    SqlErrors of that place, with a caret under theirs."""
    return SqlText(require_text(text, "sql_expr()", 'sql_expr("a + b")'))


def condition_of(value: Any) -> Expr:
    """A condition: an expression, or an SQL text."""
    return SqlText(value) if isinstance(value, str) else lit(value)


class When:
    """A condition that waits for its value: `xd.when(condition).then(value)`."""

    __slots__ = ("_condition", "_earlier")

    def __init__(self, condition: Expr, earlier: tuple[Expr, ...] = ()) -> None:
        self._condition = condition
        self._earlier = earlier

    def then(self, value: object) -> Then:
        """The value of the rows on which this condition is the first that is true."""
        return Then((*self._earlier, self._condition, lit(value)))


class Then(Call):
    """Conditions and their values so far; NULL where none is true, unless `otherwise` is given."""

    __slots__ = ()

    def __init__(self, cases: tuple[Expr, ...]) -> None:
        super().__init__("case", (*cases, Literal(None)))

    def when(self, condition: object) -> When:
        """A further condition, for the rows on which none so far is true."""
        return When(condition_of(condition), self.arguments[:-1])

    def otherwise(self, value: object) -> Expr:
        """The value of the rows on which no condition is true."""
        return Call("case", (*self.arguments[:-1], lit(value)))


def col(name: str) -> Expr:
    """The column `name` of the relation in which the expression is used."""
    return Column(require_text(name, "col()", "the name of a column; xd.lit(...) is a value"))


def lit(value: Any) -> Expr:
    """`value` on every row: a Python or pyarrow scalar, or None for NULL. An Expr passes as is."""
    if isinstance(value, When):
        raise make_error(
            "CD-504", "a when() without its value is no value", try_="xd.when(...).then(...)"
        )
    if isinstance(value, Alias):
        raise make_error(
            "CD-504", f"{value!r} stands inside an expression, where columns have no names",
            try_="alias() at the end: (xd.col('a') + 1).alias('b')",
        )  # fmt: skip
    if callable(value):
        raise make_error(
            "CD-504", f"a function is no value of rows: {value!r}",
            try_="an expression: xd.col('a') * 2",
        )  # fmt: skip
    return value if isinstance(value, Expr) else Literal(value)


def as_column(item: Any) -> Expr:
    """What a text stands for where columns are computed: the column of that name. Other values
    stand for themselves."""
    return Column(item) if isinstance(item, str) else lit(item)


def when(condition: object) -> When:
    """Starts a choice by conditions, `xd.when(c).then(x).when(d).then(y).otherwise(z)`: SQL's CASE.
    A value is computed only on the rows that take it. A condition may be SQL: `when("x > 1")`."""
    return When(condition_of(condition))


def conjuncts(expression: Expr) -> tuple[Expr, ...]:
    """The parts of a conjunction: `a & (b & c)` gives (a, b, c)."""
    if isinstance(expression, Call) and expression.function == "and_kleene":
        return tuple(part for side in expression.arguments for part in conjuncts(side))
    return (expression,)


def conjunction(parts: Collection[Expr]) -> Expr | None:
    """All of `parts` joined with &; None when there are none."""
    listed = list(parts)
    if len(listed) > MOST_DEPTH // 4:
        middle = len(listed) // 2
        halves = (conjunction(listed[:middle]), conjunction(listed[middle:]))
        return conjunction([half for half in halves if half is not None])
    whole: Expr | None = None
    for part in listed:
        whole = part if whole is None else Call("and_kleene", (whole, part))
    return whole


def is_simple(expression: Expr) -> bool:
    """True for conditions that cannot raise on a row, so that they may be evaluated earlier than
    where they stand: comparisons, NULL tests, in-lists and tests of strings, on columns, literals,
    date parts, functions of strings and choices, and what & | ~ make of them."""
    return (
        isinstance(expression, Call) and expression.function in _TESTS and not may_raise(expression)
    )


def may_raise(expression: Expr) -> bool:
    """Whether some value of its columns can make the expression an error, such as an overflow."""
    if not isinstance(expression, Call):
        return False
    if expression.function not in _TOTAL:
        return True
    return any(may_raise(argument) for argument in expression.arguments)


def of_elements(function: str, lists: Expr, body: Expr, parameters: Sequence[str]) -> Expr:
    """ "list_transform" or "list_filter" by an expression of an element and its place, which are
    columns of these names in it. What it has of other columns becomes arguments: the option of the
    call is the expression of columns "element", "place", "value 0" and so on."""
    names = dict(zip(parameters, ("element", "place"), strict=False))
    beside: list[Expr] = []

    def placed(part: Expr) -> Expr:
        if isinstance(part, Literal):
            return part
        if isinstance(part, Column) and part.name in names:
            return Column(names[part.name])
        is_beside = part.columns().isdisjoint(names) and not may_raise(part)
        if isinstance(part, Call) and not is_beside:
            return part.rewritten(placed)
        beside.append(part)
        return Column(f"value {len(beside) - 1}")

    option = placed(body)
    return Call(function, (lists, *beside), option)


def rename_columns(expression: Expr, names: dict[str, str]) -> Expr:
    """The expression with each column `c` read from `names[c]` (columns not in it stay)."""
    if isinstance(expression, Column):
        return Column(names.get(expression.name, expression.name))
    if isinstance(expression, Call):
        return expression.rewritten(lambda part: rename_columns(part, names))
    return expression


def identity(expression: Expr) -> object:
    """What two expressions that mean the same have in common, and no others; hashable. (A repr has
    not: a column named 2 and the number 2 have the same.)"""
    if isinstance(expression, Column):
        return ("column", expression.name)
    if isinstance(expression, Literal):
        return ("literal", _value_identity(expression.value))
    assert isinstance(expression, Call)
    arguments = tuple(identity(argument) for argument in expression.arguments)
    return (expression.function, _value_identity(expression.option), arguments)


def _value_identity(value: Any) -> object:
    if isinstance(value, Expr):
        return identity(value)
    if isinstance(value, tuple):
        return tuple(map(_value_identity, value))
    return (type(value), repr(value), str(getattr(value, "type", "")))
