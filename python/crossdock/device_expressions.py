"""What tables on a device compute of expressions: comparisons of a column with a number, and the
aggregates of columns."""

from __future__ import annotations

from crossdock.errors import CrossdockError, make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Column, Expr, Literal, conjuncts, lit

_FUNCTIONS = ("count", "sum", "mean", "min", "max")
_EXACT = ("floats", "exact")  # of sums and means, which never are anything else here
_COMPARISONS = {
    "equal": "==", "less": "<", "less_equal": "<=", "greater": ">", "greater_equal": ">=",
}  # fmt: skip
_TURNED = {"==": "==", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_PRESENCE = {"is_null": "is_null", "is_valid": "is_not_null"}

Condition = tuple[str, str, int | float | None]  # column, comparison, number


def conditions_of(where: str, *predicates: Expr) -> list[Condition]:
    """Each comparison of the predicates. ExpressionError for another expression."""
    return [
        _condition(where, part) for predicate in predicates for part in conjuncts(lit(predicate))
    ]


def _condition(where: str, part: Expr) -> Condition:
    if isinstance(part, Call) and part.function in _PRESENCE:
        subject = part.arguments[0]
        if isinstance(subject, Column):
            return subject.name, _PRESENCE[part.function], None
    if isinstance(part, Call) and part.function in _COMPARISONS:
        left, right = part.arguments
        symbol = _COMPARISONS[part.function]
        if isinstance(right, Column):
            left, right, symbol = right, left, _TURNED[symbol]
        if isinstance(left, Column) and isinstance(right, Literal):
            return left.name, symbol, _number(where, part, right.value)
    raise no_expression(where, part, "comparisons of a column with a number, joined by &")


def _number(where: str, part: Expr, value: object) -> int | float:
    if isinstance(value, float):
        return value
    if isinstance(value, int) and not isinstance(value, bool) and -(1 << 63) <= value < 1 << 63:
        return value
    raise no_expression(where, part, "whole numbers of 64 bits and floats")


def native_aggregate(name: str, aggregate: Aggregate) -> tuple[str, str, str, list[Condition]]:
    """(name of the result, function, column, conditions) as the engine takes them."""
    argument = aggregate.argument
    plain = argument is None or isinstance(argument, Column)
    if aggregate.function not in _FUNCTIONS or not set(aggregate.options) <= {_EXACT} or not plain:
        expected = "xd.count, xd.sum, xd.mean, xd.min and xd.max of columns"
        raise no_expression("agg", aggregate, expected)
    conditions = [] if aggregate.condition is None else conditions_of("agg", aggregate.condition)
    column = argument.name if isinstance(argument, Column) else ""
    return name, aggregate.function, column, conditions


def no_expression(where: str, given: object, expected: str) -> CrossdockError:
    return make_error(
        "CD-504", f"{where}() on a device does not compute {given!r}",
        limits=expected, try_="to_arrow(), and the dock's own operators",
    )  # fmt: skip
