"""GROUPING SETS as a union of groupings. Each is of the groups of the smallest other one that has
its keys, where the aggregates of these can be put together, else of the rows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import pyarrow as pa

from crossdock.expressions import aggregates
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.result_types import result_type
from crossdock.expressions.window_expressions import replace_columns
from crossdock.plan.nodes import Node
from crossdock.sql_frontend.translation.aggregation import (
    Aggregation,
    Item,
    with_distinct,
    with_results,
)
from crossdock.sql_frontend.translation.building import Builder, unused

# By function, what puts its values of several groups together.
_TOGETHER: dict[str, Callable[[str], Aggregate]] = {
    "count": aggregates.sum,
    "sum": aggregates.sum,
    "min": aggregates.min,
    "max": aggregates.max,
    "any": aggregates.any,
    "bool_and": aggregates.bool_and,
    "bool_or": aggregates.bool_or,
    "bit_and": aggregates.bit_and,
    "bit_or": aggregates.bit_or,
    "bit_xor": aggregates.bit_xor,
    "product": aggregates.product,
}

_SUMMED_DIGITS = 28  # of decimals: 10 more for the sum of any number of rows


@dataclass
class _Measures:
    """Named aggregates of each group, and the measures of the query in terms of their names."""

    items: list[Item]
    results: list[Expr]

    @property
    def can_be_put_together(self) -> bool:
        return all(item.function in _TOGETHER for _, item in self.items)

    def together(self) -> list[Item]:
        """The same aggregates of groups that have them."""
        return [(name, _TOGETHER[item.function](name)) for name, item in self.items]

    def shown(self, name: str, item: Aggregate, is_of_groups: bool) -> Expr:
        """The column of an aggregate; no groups at all have a count, too."""
        if is_of_groups and item.function == "count":
            return Call("coalesce", (Column(name), Literal(0)))
        return Column(name)


def grouping_sets(builder: Builder, node: Node, aggregation: Aggregation) -> tuple[Node, list[str]]:
    """One grouping per set, one below the other; keys that are not in a set are NULL. Behind the
    keys stands a number with a bit for each that is not in it, the last key lowest."""
    keys = aggregation.keys(node)
    names = [name for name, _ in keys]
    items, results = aggregation.items(names)
    measures = _with_means_in_parts(_Measures(items, results), node)
    once = aggregation.of_once
    columns = [name for name, _ in measures.items] + [each.name for each in once]
    bits = unused("grouping sets", [*names, *columns])

    def with_once(groups: Node, places: Sequence[int]) -> Node:
        for each in once:
            groups = with_distinct(builder, (groups, [keys[i] for i in places]), node, each)
        return groups

    every = range(len(keys))
    schema = with_once(builder.group(node, keys, dict(measures.items)), every).schema
    sets = aggregation.sets()
    grouped = _groupings(builder, node, keys, measures, sets)
    parts = []
    for chosen in sets:
        groups, is_of_groups = grouped[frozenset(chosen)]
        groups = with_once(groups, chosen)
        missing = sum(1 << (len(keys) - 1 - i) for i in every if i not in chosen)
        shown: list[tuple[str, Expr]] = []
        for i, name in enumerate(names):
            null = Literal(pa.scalar(None, _plain(schema.field(name).type)))
            shown.append((name, Column(name) if i in chosen else null))
        shown.append((bits, Literal(pa.scalar(missing, pa.int64()))))
        shown += [(n, measures.shown(n, item, is_of_groups)) for n, item in measures.items]
        shown += [(each.name, Column(each.name)) for each in once]
        parts.append(builder.project(groups, _of_types(shown, schema)))
    whole, of_measures = with_results(builder, builder.union(parts), measures.results)
    return whole, [*names, bits, *of_measures]


def _groupings(
    builder: Builder,
    node: Node,
    keys: Sequence[tuple[str, Expr]],
    measures: _Measures,
    sets: Sequence[Sequence[int]],
) -> dict[frozenset[int], tuple[Node, bool]]:
    """The groups of each set of keys, and whether they are of other groups."""
    grouped: dict[frozenset[int], tuple[Node, bool]] = {}
    for chosen in sorted(set(map(frozenset, sets)), key=len, reverse=True):
        places = sorted(chosen)
        above = [one for one in grouped if chosen < one] if measures.can_be_put_together else []
        if above:
            groups = grouped[min(above, key=len)][0]
            columns = [(keys[i][0], Column(keys[i][0])) for i in places]
            below = builder.group(groups, columns, dict(measures.together()))
        else:
            below = builder.group(node, [keys[i] for i in places], dict(measures.items))
        grouped[chosen] = below, bool(above)
    return grouped


def _with_means_in_parts(measures: _Measures, node: Node) -> _Measures:
    """Means of numbers as sums and counts, where all can be put together then."""
    parts: dict[str, tuple[Aggregate, Aggregate]] = {}
    for name, item in measures.items:
        if item.function == "mean" and not item.options and item.argument is not None:
            data_type = result_type(item.argument, node.schema)
            is_integer = pa.types.is_integer(data_type)
            is_summed = pa.types.is_decimal(data_type) and data_type.precision <= _SUMMED_DIGITS
            if is_integer or pa.types.is_floating(data_type) or is_summed:
                added = aggregates.sum(item.argument, wide=is_integer)
                both = (added, aggregates.count(item.argument))
                if item.condition is not None:
                    both = (both[0].where(item.condition), both[1].where(item.condition))
                parts[name] = both
    split: list[Item] = []
    means: dict[str, Expr] = {}
    taken = dict.fromkeys(name for name, _ in measures.items)
    for name, item in measures.items:
        if name not in parts:
            split.append((name, item))
            continue
        names = [unused(f"{kind} of {name}", taken) for kind in ("sum", "count")]
        taken |= dict.fromkeys(names)
        split += zip(names, parts[name], strict=True)
        total, count = (Column(each).cast("float64") for each in names)
        means[name] = total / count
    whole = _Measures(split, [replace_columns(each, means) for each in measures.results])
    return whole if whole.can_be_put_together else measures


def _of_types(items: list[tuple[str, Expr]], schema: pa.Schema) -> list[tuple[str, Expr]]:
    """The columns with types that all parts of the union have."""
    result = []
    for name, item in items:
        field = schema.field(name) if name in schema.names else None
        if isinstance(item, Column) and field is not None and _plain(field.type) != field.type:
            item = item.cast(_plain(field.type))
        result.append((name, item))
    return result


def _plain(data_type: pa.DataType) -> pa.DataType:
    return data_type.value_type if pa.types.is_dictionary(data_type) else data_type
