"""A query of a suite, as each engine says it.

Relations get their join order by hand, since nothing reorders them; SQL is the text of the
standard, and every engine is asked for the same columns under the same names.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any


@dataclass(frozen=True, slots=True)
class Tables:
    """The tables of a suite by name, as one engine has them, and their scale factor."""

    by_name: SimpleNamespace
    scale: float

    def __getattr__(self, name: str) -> Any:
        return getattr(self.by_name, name)


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """`order` names the result columns of the ORDER BY, and `sql` is the text without its LIMIT."""

    name: str
    sql: Callable[[float], str]
    relation: Callable[[Tables], Any]
    frame: Callable[[Tables], Any] | None = None  # Polars; None where no form is written
    order: tuple[str, ...] = ()
    limit: int | None = None

    def limited_sql(self, scale: float) -> str:
        return f"{self.sql(scale)} LIMIT {self.limit}" if self.limit else self.sql(scale)
