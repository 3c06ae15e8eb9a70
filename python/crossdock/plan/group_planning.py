"""Plans groups, aggregates and distinct rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

import pyarrow as pa

from crossdock.errors import make_error
from crossdock.expressions.aggregates import (
    COUNTS,
    OF_ROWS,
    Aggregate,
    aggregate_type,
    argument_of,
)
from crossdock.expressions.evaluation import not_boolean
from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.named_items import named_columns
from crossdock.expressions.result_types import TypesOver
from crossdock.plan.list_planning import ListColumns, group_lists, in_input_order, is_list
from crossdock.plan.nodes import GroupBy, Node
from crossdock.plan.ordered_groups import is_ordered, with_ordered_columns
from crossdock.plan.planning import plan_project, require_columns, require_different
from crossdock.plan.row_ends import as_extremes
from crossdock.plan.shared_sums import with_shared_sums
from crossdock.values.arrow_kinds import is_moment
from crossdock.values.type_checks import require_aggregable, require_groupable

Key = tuple[str, Expr]

_WITHOUT_NULLS = frozenset(("count", "sum", "mean", "min", "max"))


def group_keys(
    names: Iterable[object], computed: Mapping[str, object], schema: pa.Schema, where: str
) -> tuple[Key, ...]:
    """The keys of group_by() or distinct(). ColumnError, OptionError (none, or not a name),
    ExpressionError."""
    keys = named_columns(names, computed, where)
    if not keys:
        raise make_error(
            "CD-105", f"{where} needs at least one key", try_=".agg(...) for one row over all"
        )
    for _, item in keys:
        require_columns(sorted(item.columns()), schema, where)
    require_different(keys, where)
    return tuple(keys)


def plan_group(node: Node, keys: tuple[Key, ...], items: Mapping[str, Aggregate]) -> Node:
    """Aggregates of `node` per combination of keys, those that need an order by windows below.
    ColumnError, TypeError, OptionError, ExpressionError."""
    if not any(is_list(item) or is_ordered(item, node.schema) for item in items.values()):
        return with_shared_sums(plan_plain_group(node, keys, items))
    require_different([*keys, *items.items()], "agg()")
    type_of = TypesOver(node.schema)
    for name, item in items.items():
        require_columns(sorted(item.columns()), node.schema, f"agg({name}={item!r})")
    items = {name: _typed(item, type_of) for name, item in items.items()}
    parts, results = as_extremes(items, node.schema)
    if parts.keys() != items.keys() and not any(
        is_ordered(part, node.schema) for part in parts.values()
    ):
        named = [(name, Column(name)) for name, _ in keys]
        return plan_project(plan_group(node, keys, parts), [*named, *results.items()], "agg()")
    scalars = {name: item for name, item in items.items() if not is_list(item)}
    lists = {name: item for name, item in items.items() if is_list(item)}
    if any(is_ordered(item, node.schema) for item in scalars.values()):
        node, lists = in_input_order(node, lists)
        node, scalars = with_ordered_columns(node, keys, scalars)
    columns: list[tuple[str, Expr]] = [(name, Column(name)) for name, _ in keys]
    if lists:
        group, columns = _with_lists(node, keys, scalars, lists)
    else:
        group = plan_plain_group(node, keys, scalars)
    columns += [(name, Column(name)) for name in items]
    return plan_project(group, columns, "agg()")


def _with_lists(
    node: Node,
    keys: tuple[Key, ...],
    items: Mapping[str, Aggregate],
    lists: Mapping[str, Aggregate],
) -> tuple[Node, list[tuple[str, Expr]]]:
    """Groups with lists, and the keys among their columns, whose names may be other ones."""
    columns = ListColumns(node)
    names = [columns.column(item) for _, item in keys]
    list_items = [columns.list_item(name, item) for name, item in lists.items()]
    below = columns.planned()
    read = dict.fromkeys(names)  # a key may stand there twice
    plain = plan_plain_group(below, tuple((name, Column(name)) for name in read), items)
    group = group_lists(below, list(read), list_items, (plain.schema, items))
    shown = zip(keys, names, strict=True)
    return group, [(name, Column(column)) for (name, _), column in shown]


def plan_plain_group(node: Node, keys: tuple[Key, ...], items: Mapping[str, Aggregate]) -> GroupBy:
    """The same of aggregates that need no order."""
    where = "agg()" if keys == () or items else "distinct()"
    type_of = TypesOver(node.schema)
    key_fields = [_field(name, item, type_of, node.schema) for name, item in keys]
    fields = list(key_fields)
    asked = []
    planned: dict[str, Aggregate] = {}
    for name, item in items.items():
        if not isinstance(item, Aggregate):
            raise make_error(
                "CD-105",
                f"agg({name}=...) takes an aggregate, not {type(item).__name__}",
                values=repr(item),
                try_=f"{name}=xd.sum('price'), xd.count(), xd.min(...) or xd.max(...)",
            )
        require_columns(sorted(item.columns()), node.schema, f"agg({name}={item!r})")
        _require_condition(item, type_of)
        item = planned[name] = _typed(_of_kept_rows(item), type_of)
        data_type = None if item.argument is None else type_of(item.argument)
        nullable = item.function not in COUNTS
        fields.append(pa.field(name, aggregate_type(item, data_type), nullable))
        if data_type is not None:
            named = pa.field(repr(item.argument), data_type)
            plain = "first" if item.function in OF_ROWS else item.function
            asked.append((plain, dict(item.options), named))
        asked += [("min", {}, pa.field(repr(each.by), type_of(each.by))) for each in item.orders]
    require_different([*keys, *items.items()], where)
    require_groupable(key_fields)
    require_aggregable(asked)
    return GroupBy(node, keys, tuple(planned.items()), pa.schema(fields))


def _of_kept_rows(item: Aggregate) -> Aggregate:
    """count(CASE WHEN c THEN x END) as count(x) of the rows for which c is true: nothing is copied
    then. What is computed may fail for the others, and stays as it is."""
    case = item.argument
    if item.function not in _WITHOUT_NULLS or not isinstance(case, Call) or case.function != "case":
        return item
    if len(case.arguments) != 3 or not _is_null(case.arguments[2]):
        return item
    condition, value, _ = case.arguments
    if isinstance(value, Literal) and item.function == "count" and not _is_null(value):
        return replace(item, argument=None).where(condition)
    if not isinstance(value, Column):
        return item
    return replace(item, argument=value).where(condition)


def _is_null(expression: Expr) -> bool:
    return isinstance(expression, Literal) and expression.value is None


def _typed(item: Aggregate, type_of: TypesOver) -> Aggregate:
    """The aggregate with an argument of a type that it takes. Between two dates or times there is
    no quantile: it is one of them."""
    argument = argument_of(item.function, item.argument, type_of)
    if argument is not item.argument:
        item = replace(item, argument=argument)
    if item.function == "quantile_exact" and argument is not None and is_moment(type_of(argument)):
        return replace(item, function="quantile_disc")
    return item


def _field(name: str, item: Expr, type_of: TypesOver, schema: pa.Schema) -> pa.Field:
    if isinstance(item, Column):
        return schema.field(item.name).with_name(name)
    return pa.field(name, type_of(item))


def _require_condition(item: Aggregate, type_of: TypesOver) -> None:
    if item.condition is not None:
        data_type = type_of(item.condition)
        if not pa.types.is_boolean(data_type):
            raise not_boolean(item.condition, data_type)
