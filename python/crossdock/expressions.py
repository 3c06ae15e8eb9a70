"""Expressions over columns: small immutable trees, built with Python operators.

`xd.col("price") * 2 > 10` builds a tree and reads nothing. A tree is evaluated batch by batch with
pyarrow.compute (evaluation.py) and, where it is a simple comparison, handed to the readers.
"""

from __future__ import annotations

from collections.abc import Collection
from typing import Any

import pyarrow as pa

from crossdock.errors import make_error

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
}
COMPARISONS = frozenset(("equal", "not_equal", "less", "less_equal", "greater", "greater_equal"))
_BOOLEAN = frozenset(("and_kleene", "or_kleene", "invert"))


class Expr:
    """A value per row. NULL follows SQL: a comparison with NULL is NULL, and a filter drops it.

    Integer arithmetic that overflows is an error, never a wrap; `/` of two integers is a float64.
    Instances are immutable and may be shared between threads.
    """

    __slots__ = ()

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

    def __and__(self, other: object) -> Expr:
        return Call("and_kleene", (self, lit(other)))

    def __rand__(self, other: object) -> Expr:
        return Call("and_kleene", (lit(other), self))

    def __or__(self, other: object) -> Expr:
        return Call("or_kleene", (self, lit(other)))

    def __ror__(self, other: object) -> Expr:
        return Call("or_kleene", (lit(other), self))

    def __invert__(self) -> Expr:
        return Call("invert", (self,))

    def __add__(self, other: object) -> Expr:
        return Call("add", (self, lit(other)))

    def __radd__(self, other: object) -> Expr:
        return Call("add", (lit(other), self))

    def __sub__(self, other: object) -> Expr:
        return Call("subtract", (self, lit(other)))

    def __rsub__(self, other: object) -> Expr:
        return Call("subtract", (lit(other), self))

    def __mul__(self, other: object) -> Expr:
        return Call("multiply", (self, lit(other)))

    def __rmul__(self, other: object) -> Expr:
        return Call("multiply", (lit(other), self))

    def __truediv__(self, other: object) -> Expr:
        return Call("divide", (self, lit(other)))

    def __rtruediv__(self, other: object) -> Expr:
        return Call("divide", (lit(other), self))

    def __neg__(self) -> Expr:
        return Call("negate", (self,))

    def is_null(self) -> Expr:
        """True where the value is NULL; never NULL itself."""
        return Call("is_null", (self,))

    def is_not_null(self) -> Expr:
        """True where the value is not NULL; never NULL itself."""
        return Call("is_valid", (self,))

    def is_in(self, values: Collection[Any]) -> Expr:
        """True where the value is one of `values`; NULL values are in no list."""
        return Call("is_in", (self,), tuple(values))

    def cast(self, data_type: Any) -> Expr:
        """The value as another Arrow type (a pyarrow.DataType or its name, such as "int64").

        A value that does not fit is an ExpressionError when the expression is evaluated.
        """
        return Call("cast", (self,), pa.type_for_alias(data_type) if isinstance(data_type, str)
                    else data_type)  # fmt: skip

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
        return repr(self.value)


class Call(Expr):
    """A function of other expressions; `function` is a name of pyarrow.compute, `option` the
    values of is_in or the type of cast."""

    __slots__ = ("arguments", "function", "option")

    def __init__(self, function: str, arguments: tuple[Expr, ...], option: Any = None) -> None:
        self.function = function
        self.arguments = arguments
        self.option = option

    def columns(self) -> frozenset[str]:
        return frozenset().union(*(argument.columns() for argument in self.arguments))

    def __repr__(self) -> str:
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
        option = "" if self.option is None else str(self.option)
        return f"{shown[0]}.{self.function}({option})"


def col(name: str) -> Expr:
    """The column `name` of the relation in which the expression is used."""
    return Column(name)


def lit(value: Any) -> Expr:
    """`value` on every row: a Python or pyarrow scalar, or None for NULL. An Expr passes as is."""
    return value if isinstance(value, Expr) else Literal(value)


def conjuncts(expression: Expr) -> tuple[Expr, ...]:
    """The parts of a conjunction: `a & (b & c)` gives (a, b, c)."""
    if isinstance(expression, Call) and expression.function == "and_kleene":
        return tuple(part for side in expression.arguments for part in conjuncts(side))
    return (expression,)


def conjunction(parts: Collection[Expr]) -> Expr | None:
    """All of `parts` joined with &; None when there are none."""
    whole: Expr | None = None
    for part in parts:
        whole = part if whole is None else Call("and_kleene", (whole, part))
    return whole


def is_simple(expression: Expr) -> bool:
    """True for comparisons of columns and literals, NULL tests, is_in, and what & | ~ make of
    them. These cannot raise on a row, so they may be evaluated earlier than where they stand."""
    if not isinstance(expression, Call):
        return False
    if expression.function in _BOOLEAN:
        return all(is_simple(argument) for argument in expression.arguments)
    leaves = all(isinstance(argument, Column | Literal) for argument in expression.arguments)
    return leaves and expression.function in COMPARISONS | {"is_null", "is_valid", "is_in"}


def rename_columns(expression: Expr, names: dict[str, str]) -> Expr:
    """The expression with each column `c` read from `names[c]` (columns not in it stay)."""
    if isinstance(expression, Column):
        return Column(names.get(expression.name, expression.name))
    if isinstance(expression, Call):
        renamed = tuple(rename_columns(argument, names) for argument in expression.arguments)
        return Call(expression.function, renamed, expression.option)
    return expression
