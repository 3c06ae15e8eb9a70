"""Orders of rows: what `sort`, `top_k` and `assume_sorted` take."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from crossdock.errors import make_error, unknown_choice
from crossdock.expressions.expression import Column, Expr
from crossdock.option_checks import require_flag

_NULLS = ("last", "first")


@dataclass(frozen=True, eq=False)
class Order:
    """Rows by one column or expression. NaN counts as greater than every number, -0.0 as 0.0, text
    and bytes compare byte by byte, and false is less than true."""

    by: Expr
    descending: bool = False
    nulls_first: bool = False

    @property
    def column(self) -> str:
        """The name of the column; for a computed order, that of the column it is computed into."""
        return self.by.name if isinstance(self.by, Column) else repr(self.by)

    @property
    def key(self) -> tuple[str, bool, bool]:
        """What two equal orders have in common, and what the engine takes."""
        return (self.column, self.descending, self.nulls_first)

    def __repr__(self) -> str:
        nulls = " nulls first" if self.nulls_first else ""
        return self.column + (" desc" if self.descending else "") + nulls


def asc(column: str | Expr, nulls: str = "last") -> Order:
    """Smallest first. nulls: "last" or "first"."""
    return Order(_subject(column), False, _nulls_first(nulls))


def desc(column: str | Expr, nulls: str = "last") -> Order:
    """Largest first. nulls: "last" or "first"."""
    return Order(_subject(column), True, _nulls_first(nulls))


def orders_of(
    by: Iterable[Any], method: str, descending: bool | Sequence[bool] = False
) -> tuple[Order, ...]:
    """The orders a method was given; names stand for `asc`, or for `desc` if `descending`, which
    may say it of each.

    Errors: OptionError (no order, or something that is none).
    """
    items = list(by)
    flags = descending if isinstance(descending, Sequence) else [descending] * len(items)
    if len(flags) != len(items) and items:
        raise make_error(
            "CD-105", f"{method}(descending={descending!r}) is not one for each of {len(items)}",
            try_="descending=True, or xd.desc('a') of one",
        )  # fmt: skip
    for flag in flags:
        require_flag(flag, "descending", method)
    orders = tuple(
        item if isinstance(item, Order) else Order(_subject(item), flag)
        for item, flag in zip(items, flags, strict=True)
    )
    if not orders:
        raise make_error(
            "CD-105", f"{method}() needs a column to order by",
            try_=f'{method}("a", xd.desc("b"))',
        )  # fmt: skip
    return orders


def _subject(column: object) -> Expr:
    if isinstance(column, str):
        return Column(column)
    if isinstance(column, Expr):
        return column
    raise make_error(
        "CD-105",
        f"an order is a column's name, xd.asc() or xd.desc(), not {type(column).__name__}",
        values=repr(column),
        try_='sort("a", xd.desc("b"))',
    )


def _nulls_first(nulls: str) -> bool:
    if nulls not in _NULLS:
        raise unknown_choice("nulls", nulls, _NULLS)
    return nulls == "first"
