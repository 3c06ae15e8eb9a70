"""Constants among the arguments of SQL's functions."""

from __future__ import annotations

from typing import Any

from crossdock.expressions.expression import Expr, Literal
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.translation.folding import folded


def constant(argument: Expr, what: str) -> Any:
    """The value of an argument that must be a constant. SqlError if it is none."""
    argument = folded(argument)
    if not isinstance(argument, Literal):
        raise unsupported(
            f"{what} that is no constant", try_="a constant, or a join that computes it"
        )
    value = argument.value
    return value.as_py() if hasattr(value, "as_py") else value
