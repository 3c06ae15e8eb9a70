"""What methods of relations take as columns: names, lists of names, expressions with `.alias`, and
`name=expression`, in any mixture."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from crossdock.errors import make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Alias, Column, Expr, SqlText, as_column, lit


def flattened(items: Iterable[Any]) -> Iterator[Any]:
    """The items, those of lists and tuples one by one."""
    for item in items:
        if isinstance(item, list | tuple):
            yield from flattened(item)
        else:
            yield item


def named_columns(
    items: Iterable[Any], named: Mapping[str, Any], where: str
) -> list[tuple[str, Expr]]:
    """A name and an expression per column. OptionError for what has no name or is no column."""
    columns = [_named(item, where) for item in flattened(items)]
    return columns + [(name, as_column(item)) for name, item in named.items()]


def named_aggregates(items: Iterable[Any], named: Mapping[str, Any], where: str) -> dict[str, Any]:
    """Aggregates by name. OptionError for one that has no name, or a name that another has."""
    aggregates: dict[str, Any] = {}
    for item in flattened(items):
        if not (isinstance(item, Alias) and isinstance(item.item, Aggregate | SqlText)):
            raise _nameless_aggregate(item, where)
        if item.name in aggregates or item.name in named:
            raise make_error(
                "CD-104", f"two columns named {item.name!r} in {where}",
                values=repr(item), try_=f'.alias("{item.name}_2")',
            )  # fmt: skip
        aggregates[item.name] = item.item
    return {**aggregates, **named}


def _named(item: Any, where: str) -> tuple[str, Expr]:
    if isinstance(item, str):
        return item, Column(item)
    if isinstance(item, Column):
        return item.name, item
    if isinstance(item, Alias) and not isinstance(item.item, Aggregate):
        return item.name, lit(item.item)
    if isinstance(item, Expr | Aggregate):
        raise _nameless(item, where)
    raise make_error(
        "CD-105", f"{where} takes no {type(item).__name__} as a column",
        values=repr(item), try_=f"a column's name, or {where[:-1]}name=xd.col('a') * 2)",
    )  # fmt: skip


def _nameless(item: Expr | Aggregate, where: str) -> Exception:
    return make_error(
        "CD-105", f"the computed column {item!r} of {where} has no name",
        try_=f"{where[:-1]}name={item!r}), or (...).alias('name')",
    )  # fmt: skip


def _nameless_aggregate(item: Any, where: str) -> Exception:
    if isinstance(item, Aggregate):
        return _nameless(item, where)
    return make_error(
        "CD-105", f"{where} takes no {type(item).__name__} as an aggregate",
        values=repr(item), try_=f"{where[:-1]}total=xd.sum('price'))",
    )  # fmt: skip
