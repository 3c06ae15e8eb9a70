"""Sums of a column and a number each, `sum(x + 1)` beside `sum(x + 2)`: one sum and one count serve
them all."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

import pyarrow as pa

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Column, Expr, Literal
from crossdock.expressions.result_types import TypesOver
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import GroupBy, Node, Project

_NARROW = (pa.int8(), pa.int16(), pa.int32())
_MOST = 2**31  # a number and a value: no sum of theirs that one row more or less takes beyond int64
_LEAST_SUMS = 2


@dataclass(frozen=True)
class _Shifted:
    """The sum of `argument` and `number`."""

    argument: Expr
    number: int


def with_shared_sums(group: GroupBy) -> Node:
    """The same rows, with fewer aggregates where several sums differ by a number that is added."""
    type_of = TypesOver(group.input.schema)
    by_argument: dict[str, dict[str, _Shifted]] = defaultdict(dict)
    for name, item in group.items:
        shifted = _shifted(item, type_of)
        if shifted is not None:
            by_argument[repr(shifted.argument)][name] = shifted
    shared = [sums for sums in by_argument.values() if len(sums) >= _LEAST_SUMS]
    return _grouped(group, shared) if shared else group


def _shifted(item: Aggregate, type_of: TypesOver) -> _Shifted | None:
    """Where neither the argument nor the sum can leave int64, whatever is added first."""
    call = item.argument
    if item.function != "sum" or item.options or item.condition is not None:
        return None
    if not isinstance(call, Call) or call.function not in ("add", "subtract"):
        return None
    left, right = call.arguments
    if call.function == "add" and isinstance(left, Literal):
        left, right = right, left
    if not isinstance(right, Literal) or type(right.value) is not int or abs(right.value) >= _MOST:
        return None
    argument = _without_widening(left)
    if type_of(argument) not in _NARROW or type_of(call) != pa.int64():
        return None
    return _Shifted(argument, right.value if call.function == "add" else -right.value)


def _without_widening(item: Expr) -> Expr:
    if isinstance(item, Call) and item.function == "cast" and item.option == pa.int64():
        return item.arguments[0]
    return item


def _grouped(group: GroupBy, shared: Iterable[Mapping[str, _Shifted]]) -> Project:
    items = dict(group.items)
    fields = {field.name: field for field in group.schema}
    taken = set(fields)
    computed: dict[str, Expr] = {}
    for sums in shared:
        names = []
        for function in ("sum", "count"):
            item = Aggregate(function, next(iter(sums.values())).argument)
            name = unused_name(repr(item), taken)
            taken.add(name)
            items[name] = item
            fields[name] = pa.field(name, pa.int64(), function == "sum")
            names.append(name)
        total, rows = map(Column, names)
        for name, shifted in sums.items():
            computed[name] = total + rows * shifted.number
            del items[name]
            del fields[name]
    below = replace(
        group,
        items=tuple(items.items()),
        schema=pa.schema([fields[name] for name, _ in (*group.keys, *items.items())]),
    )
    columns = [(field.name, computed.get(field.name, Column(field.name))) for field in group.schema]
    return Project(below, tuple(columns), group.schema)
