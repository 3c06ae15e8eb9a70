"""First and last values by one order, as values at an extreme of it: group-bys find these while
rows pass, where windows sort. Rows whose order is NULL stand at one end of it, and are looked at
apart.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import pyarrow as pa

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Column, Expr, lit
from crossdock.expressions.free_functions import coalesce
from crossdock.expressions.orders import Order
from crossdock.expressions.result_types import TypesOver
from crossdock.plan.lowering import unused_name
from crossdock.values.arrow_kinds import is_moment, is_number

_KINDS = (
    is_number,
    is_moment,
    pa.types.is_boolean,
    pa.types.is_string,
    pa.types.is_large_string,
    pa.types.is_string_view,
)


def as_extremes(
    items: Mapping[str, Aggregate], schema: pa.Schema
) -> tuple[dict[str, Aggregate], dict[str, Expr]]:
    """Aggregates that need no order for each `first` and `last` by one order, the others as they
    are, and what each item is of their results."""
    parts: dict[str, Aggregate] = {}
    results: dict[str, Expr] = {}
    for name, item in items.items():
        if not _is_end(item, schema):
            parts[name], results[name] = item, Column(name)
            continue
        ends = _Ends(name, item, {*items, *schema.names, *parts})
        results[name] = ends.value(schema)
        parts.update(ends.parts)
    return parts, results


def _is_end(item: Aggregate, schema: pa.Schema) -> bool:
    if item.function not in ("first", "last") or len(item.orders) != 1 or item.argument is None:
        return False
    if not item.columns().issubset(schema.names):  # which the group-by itself says
        return False
    type_of = TypesOver(schema)
    types = type_of(item.argument), type_of(item.orders[0].by)
    return all(any(is_kind(data_type) for is_kind in _KINDS) for data_type in types)


class _Ends:
    """What a `first` or `last` is put together from."""

    def __init__(self, name: str, item: Aggregate, taken: set[str]) -> None:
        self.parts: dict[str, Aggregate] = {}
        self._name = name
        self._item = item
        self._order = item.orders[0]
        self._is_last = item.function == "last"
        self._taken = taken

    def value(self, schema: pa.Schema) -> Expr:
        """The result, of the parts."""
        by = self._order.by
        extreme = self._part(self._extreme())
        if isinstance(by, Column) and not schema.field(by.name).nullable:
            return extreme
        without = self._part(replace(self._item, orders=()).where(by.is_null()))
        nulls_at_this_end = self._order.nulls_first != self._is_last
        sides = (without, extreme) if nulls_at_this_end else (extreme, without)
        if ("ignore_nulls", False) not in self._item.options:
            return coalesce(*sides)
        is_there = by.is_null() if nulls_at_this_end else by.is_not_null()
        rows = Aggregate("count", None, condition=self._item.condition).where(is_there)
        return Call("case", (self._part(rows) > lit(0), *sides))

    def _extreme(self) -> Aggregate:
        is_most = self._order.descending != self._is_last
        ties = (("last_of_equals", True),) if self._is_last else ()
        return replace(
            self._item,
            function="arg_max" if is_most else "arg_min",
            options=(*self._item.options, *ties),
            orders=(Order(self._order.by),),
        )

    def _part(self, item: Aggregate) -> Column:
        name = unused_name(self._name, self._taken)
        self._taken.add(name)
        self.parts[name] = item
        return Column(name)
