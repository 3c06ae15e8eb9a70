"""Random conditions and values over the columns of a schema."""

from __future__ import annotations

import operator
import random
from collections.abc import Callable
from typing import Any

import crossdock as xd
from random_values import kind_of, random_literal

_COMPARISONS = [operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge]
_PARTS = {
    "day": ["year", "month", "day", "weekday"],
    "moment": ["year", "month", "day", "weekday", "hour", "minute", "second"],
    "instant": ["year", "month", "day", "weekday", "hour", "minute", "second"],
    "time": ["hour", "minute", "second"],
}
_AROUND = {"year": [1969, 1970, 2020], "weekday": [0, 3], "day": [1, 31], "month": [1, 12]}


def random_predicate(chance: random.Random, schema: Any, depth: int = 2) -> xd.Expr:
    """A condition over columns of `schema`. Some are refused: no common type, no such function."""
    if depth and chance.random() < 0.45:
        result = chance.random()
        first = random_predicate(chance, schema, depth - 1)
        if result < 0.3:
            return ~first
        if result < 0.45:
            return chance.choice([first.is_null, first.is_not_null])()
        if result < 0.6:
            return chance.choice([operator.eq, operator.ne])(first, chance.choice([True, False]))
        second = random_predicate(chance, schema, depth - 1)
        return (first & second) if result < 0.85 else (first | second)
    return _test(chance, schema)


def random_value(chance: random.Random, schema: Any) -> xd.Expr:
    """A value that has one type, whatever the rows are."""
    item = chance.choice(list(schema))
    column = xd.col(item.name)
    makes: list[Callable[[], xd.Expr]] = [
        lambda: xd.coalesce(column, _beside(chance, schema, item)),
        lambda: xd.when(random_predicate(chance, schema, 1)).then(column).otherwise(column),
        lambda: random_predicate(chance, schema, 1),
        lambda: _derived(chance, item),
        lambda: column + chance.choice([1, 2]),
        lambda: column * chance.choice([2, _column(chance, schema)]),
    ]
    return chance.choice(makes)()


def _test(chance: random.Random, schema: Any) -> xd.Expr:
    keys = [field for field in schema if field.name.startswith("k")]
    item = chance.choice(keys if keys and chance.random() < 0.3 else list(schema))
    column = xd.col(item.name)
    compare = chance.choice(_COMPARISONS)
    literal = random_literal(chance, item.type)
    result = chance.random()
    if result < 0.35:
        return compare(column, literal)
    if result < 0.5:
        listed = [random_literal(chance, item.type) for _ in range(chance.choice([0, 1, 1, 2, 3]))]
        return column.is_in(listed + [None] * (chance.random() < 0.1))
    if result < 0.58:
        return chance.choice([column.is_null, column.is_not_null])()
    if result < 0.7:
        return compare(column, _beside(chance, schema, item))
    if result < 0.8:
        return compare(xd.coalesce(column, _beside(chance, schema, item)), literal)
    if result < 0.85:
        return compare(xd.when(_test(chance, schema)).then(column).otherwise(literal), literal)
    return _derived_test(chance, item)


def _derived_test(chance: random.Random, item: Any) -> xd.Expr:
    compare = chance.choice(_COMPARISONS)
    kind = kind_of(item.type)
    column = xd.col(item.name)
    if kind in _PARTS:
        part = chance.choice(_PARTS[kind])
        value = chance.choice(_AROUND.get(part, [0, 9, 15]))
        return compare(getattr(column, part)(), value)
    if kind == "text":
        tests = [column.starts_with("a"), column.lower().contains("a"), column.like("a%"),
                 compare(column.length(), 1), compare(column.upper(), "A")]  # fmt: skip
        return chance.choice(tests)
    if kind == "bool":
        return column if chance.random() < 0.5 else ~column
    return column.between(random_literal(chance, item.type), random_literal(chance, item.type))


def _derived(chance: random.Random, item: Any) -> xd.Expr:
    kind = kind_of(item.type)
    column = xd.col(item.name)
    if kind in _PARTS:
        return getattr(column, chance.choice(_PARTS[kind]))()
    if kind == "text":
        return chance.choice([column.lower(), column.length()])
    return chance.choice([column.is_null(), -column])


def _beside(chance: random.Random, schema: Any, item: Any) -> Any:
    """A column of the same kind, or a literal."""
    alike = [f.name for f in schema if kind_of(f.type) == kind_of(item.type)]
    if len(alike) > 1 and chance.random() < 0.7:
        return xd.col(chance.choice(alike))
    return random_literal(chance, item.type)


def _column(chance: random.Random, schema: Any) -> xd.Expr:
    return xd.col(chance.choice(schema.names))
