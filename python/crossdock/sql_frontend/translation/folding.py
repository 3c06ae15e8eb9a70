"""Constants of a text, computed as the engine computes columns: by no rules but its own."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache
from typing import Any

import pyarrow as pa

from crossdock.errors import CrossdockError
from crossdock.expressions.evaluation import evaluate
from crossdock.expressions.expression import Call, Expr, Literal, conjuncts, identity
from crossdock.sql_frontend.errors import unsupported

# Types whose values a literal gives back as they are.
_PLAIN = (pa.bool_(), pa.int64(), pa.float64(), pa.string(), pa.date32())


def folded(expression: Expr) -> Expr:
    """The literal that an expression without columns is; as it is where it has columns, and where
    it cannot be computed: that is an error of the run, if a row comes so far."""
    if isinstance(expression, Call) and expression.function == "case":
        expression = _chosen(expression)
    if isinstance(expression, Call) and expression.function == "coalesce":
        expression = _first_known(expression)
    if isinstance(expression, Literal) or not _is_constant(expression):
        return expression
    try:
        value = evaluate(expression, _one_row())[0]
        is_plain = value.is_valid and value.type in _PLAIN
        is_moment = pa.types.is_timestamp(value.type) and value.type.unit != "ns"
        if is_plain or is_moment:
            plain = value.as_py()
    except (CrossdockError, OverflowError):  # the latter of years that Python has not
        return expression
    return Literal(plain if is_plain else value)


def constant(argument: Expr, what: str) -> Any:
    """The value of an argument that must be a constant. SqlError if it is none."""
    argument = folded(argument)
    if not isinstance(argument, Literal):
        raise unsupported(
            f"{what} that is no constant", try_="a constant, or a join that computes it"
        )
    value = argument.value
    return value.as_py() if hasattr(value, "as_py") else value


def _chosen(choice: Call) -> Expr:
    """A CASE without what is never chosen, which may be an error if it is computed."""
    parts: list[Expr] = []
    otherwise = choice.arguments[-1]
    for condition, value in zip(choice.arguments[:-1:2], choice.arguments[1::2], strict=True):
        known = folded(condition)
        if is_true(known):
            otherwise = value
            break
        if not is_never(known):
            parts += (known, value)
    return Call("case", (*parts, otherwise)) if parts else folded(otherwise)


def _first_known(choice: Call) -> Expr:
    """A COALESCE without what is behind the first value that is known."""
    parts: list[Expr] = []
    for each in choice.arguments:
        known = folded(each)
        parts.append(known)
        if isinstance(known, Literal) and not _is_null(known):
            break
    return parts[0] if len(parts) == 1 else Call("coalesce", tuple(parts))


@cache
def _one_row() -> pa.Table:
    return pa.table({"row": [0]})


def _is_constant(expression: Expr) -> bool:
    if isinstance(expression, Call):
        return all(map(_is_constant, expression.arguments))
    return isinstance(expression, Literal)


def conditions_of(condition: Expr) -> tuple[Expr, ...]:
    """The parts of a condition that all must be true; what all sides of an OR have in common is a
    part by itself, so that it may be a key of a join. One part that is never true is the whole."""
    parts = [part for each in map(_known, conjuncts(condition)) for part in _without_common(each)]
    unknown = [part for part in parts if not is_true(part)]
    never = [part for part in unknown if is_never(part)]
    return tuple(never[:1] or unknown)


def _known(condition: Expr) -> Expr:
    """`coalesce(a == 1, False)` as a == 1: of conditions NULL is as good as FALSE."""
    if not isinstance(condition, Call) or condition.function != "coalesce":
        return condition
    first, *others = condition.arguments
    return first if len(others) == 1 and is_never(others[0]) else condition


def _without_common(condition: Expr) -> Sequence[Expr]:
    """`(a & b) | (a & c)` as a and b | c: with NULL, too."""
    sides = [conjuncts(side) for side in _disjuncts(condition)]
    if len(sides) < 2:
        return (condition,)
    known = [{identity(part) for part in side} for side in sides]
    common = set.intersection(*known)
    if not common:
        return (condition,)
    common_parts = list(
        {identity(part): part for part in sides[0] if identity(part) in common}.values()
    )
    rest = [[part for part in side if identity(part) not in common] for side in sides]
    if all(rest):
        common_parts.append(balanced("or_kleene", [balanced("and_kleene", side) for side in rest]))
    return common_parts


def _disjuncts(condition: Expr) -> tuple[Expr, ...]:
    if isinstance(condition, Call) and condition.function == "or_kleene":
        return tuple(part for side in condition.arguments for part in _disjuncts(side))
    return (condition,)


def balanced(function: str, parts: Sequence[Expr]) -> Expr:
    """One operator over many parts, as flat as it can be."""
    if len(parts) == 1:
        return parts[0]
    middle = len(parts) // 2
    halves = (balanced(function, parts[:middle]), balanced(function, parts[middle:]))
    return Call(function, halves)


def is_true(expression: Expr) -> bool:
    """Whether it is the constant TRUE."""
    return isinstance(expression, Literal) and expression.value is True


def is_never(expression: Expr) -> bool:
    """Whether it is the constant FALSE or NULL."""
    return isinstance(expression, Literal) and (expression.value is False or _is_null(expression))


def _is_null(constant: Literal) -> bool:
    return constant.value is None or getattr(constant.value, "is_valid", True) is False
