"""SQL text among the expressions that methods of relations take: it is read over the columns of
its relation, and replaced by what it means."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from crossdock.errors import make_error
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Alias, Call, Expr, SqlText
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Over

if TYPE_CHECKING:
    import pyarrow as pa

# Aggregates that other libraries take by name alone.
_WORDS = ("count", "first", "last", "max", "mean", "median", "min", "sum")


def read_sql(item: Any, schema: pa.Schema) -> Any:
    """`item`, an expression, an aggregate, an order, or a list or dictionary of such, with each SQL
    text in it as it is over columns of `schema`; the same object where there is none. SqlError."""
    if isinstance(item, SqlText):
        from crossdock.sql_frontend.fragments import expression_of

        return expression_of(item.text, schema)
    if isinstance(item, list | tuple):
        values = [read_sql(each, schema) for each in item]
        return (
            item if all(a is b for a, b in zip(values, item, strict=True)) else type(item)(values)
        )
    if isinstance(item, Mapping):
        return {name: read_sql(each, schema) for name, each in item.items()}
    if not _has_text(item):
        return item
    if isinstance(item, Alias):
        return Alias(read_sql(item.item, schema), item.name)
    if isinstance(item, Order):
        return replace(item, by=read_sql(item.by, schema))
    assert isinstance(item, Aggregate | Call | Over)
    return item.rewritten(lambda part: read_sql(part, schema))


def _has_text(item: Any) -> bool:
    if isinstance(item, SqlText):
        return True
    if isinstance(item, Alias):
        return _has_text(item.item)
    if isinstance(item, Order):
        return _has_text(item.by)
    if isinstance(item, Call):
        return any(map(_has_text, item.arguments))
    if isinstance(item, Over):
        return any(map(_has_text, item.parts()))
    return isinstance(item, Aggregate) and any(map(_has_text, item.expressions()))


def read_aggregates(
    items: Mapping[str, Any], schema: pa.Schema
) -> tuple[dict[str, Any], dict[str, Expr]]:
    """Aggregates by name, of which some may be SQL text: those to compute, and, for those that
    compute from several, how. SqlError."""
    grouped: dict[str, Any] = {}
    computed: dict[str, Expr] = {}
    for name, item in items.items():
        if isinstance(item, str) and item in _WORDS:
            raise make_error(
                "CD-105", f"agg({name}={item!r}) does not say of what",
                try_=f"agg({name}=xd.{item}({name!r}))",
            )  # fmt: skip
        text = SqlText(item) if isinstance(item, str) else item
        if not isinstance(text, SqlText):
            grouped[name] = read_sql(item, schema)
            continue
        from crossdock.sql_frontend.fragments import aggregates_of

        parts, whole = aggregates_of(text.text, schema, name)
        grouped.update(parts)
        if whole is not None:
            computed[name] = whole
    return grouped, computed
