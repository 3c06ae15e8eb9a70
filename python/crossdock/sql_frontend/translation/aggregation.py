"""Aggregates of a Substrait plan as ours."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from crossdock.expressions.aggregates import Aggregate, count, list_agg
from crossdock.expressions.expression import (
    Call,
    Column,
    Expr,
    Literal,
    identity,
    rename_columns,
)
from crossdock.expressions.free_functions import coalesce
from crossdock.expressions.orders import Order
from crossdock.plan.nodes import Node
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import HIDDEN
from crossdock.sql_frontend.translation.building import Builder, name_for, unused
from crossdock.sql_frontend.translation.called_aggregates import (
    AGGREGATES,
    DISTINCT,
    ENTROPY,
    EXTREMES,
    HISTOGRAM,
    MARKED,
    MODE,
    OF_ORDER,
    QUANTILE_DISC,
    QUANTILES,
    SAME_WHEN_DISTINCT,
    called,
    of_marked,
    quantile_of,
)
from crossdock.sql_frontend.translation.folding import constant
from crossdock.sql_frontend.translation.joins import joined, same_value
from crossdock.sql_frontend.translation.messages import DIRECTIONS
from crossdock.sql_frontend.translation.pair_aggregates import COMPOSED, composed
from crossdock.sql_frontend.translation.values import Values

if TYPE_CHECKING:
    from google.protobuf.message import Message

_ORDERLESS = frozenset(("count", "sum", "avg", "min", "max", "bool_and", "bool_or", "any_value"))
_OF_NONE = {"count": 0, ENTROPY: 0.0}
Item = tuple[str, Aggregate]


@dataclass(frozen=True)
class OfOnce:
    """An aggregate of the values of a group that counts each once, and the column it becomes. Of
    rows `(a, b)` there is one value for each field."""

    name: str
    values: tuple[Expr, ...]
    condition: Expr | None
    aggregate: Callable[[str], Aggregate] | None  # None: a map of how many rows have each
    of_none: float | None = None  # what it is of no value
    counts_once: bool = False  # a map: of values that count once


class Aggregation:
    """The keys and aggregates of one AggregateRel over an input."""

    def __init__(self, message: Message, values: Values, functions: Mapping[int, str]) -> None:
        self._message = message
        self._values = values
        self._functions = functions
        self.of_once: list[OfOnce] = []
        self._distinct: list[Expr] = []  # grouping expressions of the plan, each once
        self._places: list[int] = []  # of each grouping expression of the message among them
        known: dict[bytes, int] = {}
        for each in message.grouping_expressions:  # two columns of the plan may be one of the node
            serialized = each.SerializeToString(deterministic=True)
            place = known.setdefault(serialized, len(self._distinct))
            if place == len(self._distinct):
                self._distinct.append(values(each))
            self._places.append(place)

    def keys(self, node: Node) -> list[tuple[str, Expr]]:
        """Names and expressions of the keys, by position."""
        keys_and_names: list[tuple[str, Expr]] = []
        taken = dict.fromkeys(node.schema.names)
        names: set[str] = set()
        for each in self._distinct:
            name = each.name if isinstance(each, Column) else name_for(each, taken)
            if name in names:
                name = unused(name, taken)
            names.add(name)
            taken.setdefault(name)
            keys_and_names.append((name, each))
        return keys_and_names

    def key_columns(self, keys: Sequence[tuple[str, Expr]]) -> list[str]:
        """The column of each key of the plan, of which two may be the same one."""
        return [keys[place][0] for place in self._places]

    def sets(self) -> list[list[int]]:
        """Of each grouping set the positions of its keys."""
        sets = []
        for grouping in self._message.groupings:
            places = [self._places[i] for i in grouping.expression_references]
            sets.append(sorted(set(places)))
        return sets

    def items(self, taken: Sequence[str]) -> tuple[list[Item], list[Expr]]:
        """Names and aggregates, and what the measures are of columns of these names, by
        position."""
        aggregates_by_name: list[Item] = []
        results: list[Expr] = []
        names = dict.fromkeys(taken)
        for number, each in enumerate(self._message.measures):
            if self._is_of_once(each):
                results.append(Column(self._of_once(each, number)))
                continue
            parts, whole = self._parts(each)
            columns = {}
            for part, item in parts.items():
                name = unused(repr(item) if len(repr(item)) <= 60 else item.function, names)
                names.setdefault(name)
                aggregates_by_name.append((name, item))
                columns[part] = name
            results.append(rename_columns(whole, columns))
        return aggregates_by_name, results

    def _is_of_once(self, message: Message) -> bool:
        """Whether a measure is of distinct values, and no function knows them by itself."""
        measure = message.measure
        name = self._name_of(measure)
        if name == HISTOGRAM:
            return True
        if name in MARKED:  # which of equally many values is the mode depends on their order
            return name != MODE and measure.invocation == DISTINCT
        if name == "count" and measure.invocation == DISTINCT and len(measure.arguments) == 1:
            return bool(_fields(self._values(measure.arguments[0].value)))
        is_known = name == "count" or name in SAME_WHEN_DISTINCT or name not in AGGREGATES
        return measure.invocation == DISTINCT and not is_known and bool(measure.arguments)

    def _of_once(self, message: Message, number: int) -> str:
        measure = message.measure
        function = self._name_of(measure)
        value, *others = (self._values(argument.value) for argument in measure.arguments)
        for order in self._orders(measure):
            if identity(order.by) != identity(value):
                raise unsupported(
                    f"{function}(DISTINCT ...) in the order of something else", word=function,
                    try_="ORDER BY what it is of",
                )  # fmt: skip

        def aggregate(column: str) -> Aggregate:
            if function == "count":
                return count()
            if function in MARKED:
                return MARKED[function](Column(column), *self._shares_of(measure))
            known = called(function, [Column(column), *others], self._values, distinct=False)
            orders = [replace(order, by=Column(column)) for order in self._orders(measure)]
            return replace(known, orders=tuple(orders)) if function in OF_ORDER else known

        condition = self._values(message.filter) if message.HasField("filter") else None
        value = of_marked(function, value)
        name, of_none = f"{function} of once {number}", _OF_NONE.get(function)
        values = _fields(value) or (value,)
        build = None if function == HISTOGRAM else aggregate
        is_once = measure.invocation == DISTINCT
        self.of_once.append(OfOnce(name, values, condition, build, of_none, is_once))
        return self.of_once[-1].name

    def _parts(self, message: Message) -> tuple[dict[str, Aggregate], Expr]:
        """The aggregates that a measure is computed from, and what it is of them."""
        measure = message.measure
        name = self._name_of(measure)
        arguments = [self._values(argument.value) for argument in measure.arguments]
        if name not in COMPOSED and name not in MARKED:
            return {"item": self._aggregate(message, arguments)}, Column("item")
        if measure.invocation == DISTINCT:
            shown = name.removeprefix(HIDDEN)
            raise unsupported(f"{shown}(DISTINCT ...)", try_="a SELECT DISTINCT below")
        whole: Expr = Column("item")
        if name == MODE and (orders := self._orders(measure)):
            listed = replace(list_agg(arguments[0]), orders=orders)
            parts = {"item": listed.where(arguments[0].is_not_null())}
            whole = Call("list_mode", (whole,))
        elif name in MARKED:
            value = of_marked(name, arguments[0])
            parts = {"item": MARKED[name](value, *self._shares_of(measure))}
        else:
            parts, whole = composed(name, arguments)
        if message.HasField("filter"):
            condition = self._values(message.filter)
            parts = {part: item.where(condition) for part, item in parts.items()}
        return parts, whole

    def _name_of(self, measure: Message) -> str:
        """The function of a measure, which a mark behind its order may name."""
        mark = self._values(measure.sorts[-1].expr) if len(measure.sorts) else None
        if isinstance(mark, Literal) and (mark.value in MARKED or mark.value == HISTOGRAM):
            return str(mark.value)
        return self._functions[measure.function_reference]

    def _shares_of(self, measure: Message) -> list[float]:
        """The share of a quantile, before the mark that it is one; none of others, which no order
        changes."""
        if self._name_of(measure) != QUANTILE_DISC:
            return []
        shares = [
            float(constant(self._values(each.expr), "a share")) for each in measure.sorts[:-1]
        ]
        for share in shares:
            if not 0 <= share <= 1:
                raise unsupported(f"a quantile at {share}", try_="a share from 0 to 1")
        return shares

    def _aggregate(self, message: Message, arguments: list[Expr]) -> Aggregate:
        measure = message.measure
        name = self._functions[measure.function_reference]
        is_distinct = measure.invocation == DISTINCT
        aggregate = called(name, arguments, self._values, distinct=is_distinct)
        if name in QUANTILES and len(measure.sorts):
            aggregate = self._of_order(aggregate, self._orders(measure))
        elif name in OF_ORDER:
            aggregate = self._of_rows(aggregate, measure)
        elif len(measure.sorts) and name not in _ORDERLESS:
            raise unsupported(
                f"{name}(... ORDER BY ...)", word=name,
                try_="min(x) or max(x), or a sort of the result",
            )  # fmt: skip
        if message.HasField("filter"):
            aggregate = aggregate.where(self._values(message.filter))
        return aggregate

    def _of_order(self, quantile: Aggregate, orders: tuple[Order, ...]) -> Aggregate:
        """A quantile WITHIN GROUP (ORDER BY x): of x, counted from the end where it descends."""
        assert quantile.argument is not None
        if len(orders) != 1 or identity(orders[0].by) != identity(quantile.argument):
            raise unsupported("a quantile in this order", word="within", try_="ORDER BY one column")
        share = float(dict(quantile.options)["q"])
        from_end = 1.0 - share if orders[0].descending else share
        return quantile_of(quantile.argument, from_end, is_sketch=quantile.function == "quantile")

    def _of_rows(self, aggregate: Aggregate, measure: Message) -> Aggregate:
        """The aggregate of rows in their order, or of the row at an extreme."""
        assert aggregate.argument is not None
        last = self._values(measure.sorts[-1].expr) if len(measure.sorts) else None
        if isinstance(last, Literal) and last.value in EXTREMES:
            by = self._values(measure.sorts[0].expr)
            if fields := _fields(by):
                return _at_extreme(aggregate, fields, is_most=last.value == HIDDEN + "arg_max")
            return EXTREMES[last.value](aggregate.argument, by)
        return replace(aggregate, orders=self._orders(measure))

    def _orders(self, measure: Message) -> tuple[Order, ...]:
        """The order of the rows that an aggregate sees; constants order nothing."""
        sorts = [(self._values(each.expr), DIRECTIONS[each.direction]) for each in measure.sorts]
        return tuple(Order(by, *how) for by, how in sorts if not isinstance(by, Literal))


def _fields(value: Expr) -> tuple[Expr, ...]:
    """What a row `(a, b)` is of; nothing for other values."""
    return value.arguments if isinstance(value, Call) and value.function == "struct_of" else ()


def _at_extreme(aggregate: Aggregate, fields: Sequence[Expr], *, is_most: bool) -> Aggregate:
    """The value where rows `(a, b)` are the most or the least, in which NULL is above all."""
    assert aggregate.argument is not None
    orders = tuple(Order(each, is_most, nulls_first=is_most) for each in fields)
    return replace(aggregate, orders=orders).where(aggregate.argument.is_not_null())


def with_results(builder: Builder, node: Node, results: Sequence[Expr]) -> tuple[Node, list[str]]:
    """The groups with what measures are of their aggregates, and the columns of these."""
    taken = dict.fromkeys(node.schema.names)
    computed: list[tuple[str, Expr]] = []
    columns = []
    for each in results:
        name = each.name if isinstance(each, Column) else name_for(each, taken)
        if not isinstance(each, Column):
            computed.append((name, each))
        taken.setdefault(name)
        columns.append(name)
    return builder.with_columns(node, computed), columns


def with_distinct(
    builder: Builder, groups: tuple[Node, Sequence[tuple[str, Expr]]], node: Node, once: OfOnce
) -> Node:
    """Groups, by their keys, with an aggregate of the distinct values of `node`."""
    base, keys = groups
    rows = node if once.condition is None else builder.filter(node, [once.condition])
    names = {name: unused(f"{name} of {once.name}", base.schema.names) for name, _ in keys}
    aggregated = _of_values(builder, rows, [(names[name], key) for name, key in keys], once)
    if not keys:
        return builder.join(base, aggregated, (), "inner")
    same = [same_value(Column(name), Column(names[name])) for name, _ in keys]
    whole = joined(builder, base, aggregated, "left", same)
    if once.of_none is None:
        return whole
    items: list[tuple[str, Expr]] = [(name, Column(name)) for name in whole.schema.names]
    known = dict(items) | {once.name: coalesce(Column(once.name), once.of_none)}
    return builder.project(whole, list(known.items()))


def _of_values(
    builder: Builder, rows: Node, keys: Sequence[tuple[str, Expr]], once: OfOnce
) -> Node:
    """Keys, and the aggregate of the different values that they have."""
    taken = [name for name, _ in keys]
    for _ in once.values:
        taken.append(unused("value", taken))
    values = taken[len(keys) :]
    columns: list[tuple[str, Expr]] = [(name, Column(name)) for name, _ in keys]
    by_value = [*keys, *zip(values, once.values, strict=True)]
    if once.aggregate is not None:
        distinct = builder.group(rows, by_value, {})
        return builder.group(distinct, columns, {once.name: once.aggregate(values[0])})
    value, number = Column(values[0]), unused("rows", taken)
    counted = builder.group(rows, by_value, {number: count()})
    if once.counts_once:
        counted = builder.group(counted, [(n, Column(n)) for n, _ in by_value], {number: count()})
    order = (Order(value),)
    lists = {
        name: replace(list_agg(column), orders=order).where(value.is_not_null())
        for name, column in (("keys", value), ("values", Column(number)))
    }
    named = {unused(name, taken): item for name, item in lists.items()}
    grouped = builder.group(counted, columns, named)
    whole = Call("map_of", tuple(Column(name) for name in named))
    return builder.project(grouped, [*columns, (once.name, whole)])
