"""Windows of which only the first rows of each partition are asked for: those up to a row number or
rank, or the one that has the value of a group. The engine leaves out the others before it sorts.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import TURNED, Call, Column, Expr, Literal
from crossdock.expressions.window_expressions import WHOLE
from crossdock.plan.nodes import Node, Project, Window, WindowItem

_NUMBERS = frozenset(("row_number", "rank"))
_MOST_ROWS = 1000  # of a partition


def rows_up_to(predicates: Iterable[Expr], items: Sequence[WindowItem]) -> int:
    """How many rows of a partition can be among those for which all `predicates` hold, if `items`
    are all that is computed of them; -1: any."""
    if not all(item.function in _NUMBERS for item in items):
        return -1
    names = frozenset(item.name for item in items)
    bounds = [bound for part in predicates if (bound := _bound(part, names)) is not None]
    least = max(1, min(bounds, default=_MOST_ROWS + 1))
    return least if least <= _MOST_ROWS else -1


def _bound(part: Expr, names: frozenset[str]) -> int | None:
    """The largest number that a condition allows a column of `names` to be."""
    if not isinstance(part, Call) or len(part.arguments) != 2:
        return None
    function, (left, right) = part.function, part.arguments
    if isinstance(left, Literal):
        function, left, right = TURNED.get(function, function), right, left
    if not isinstance(left, Column) or left.name not in names or not isinstance(right, Literal):
        return None
    if type(right.value) is not int:
        return None
    return {"less": right.value - 1, "less_equal": right.value, "equal": right.value}.get(function)


def of_groups(node: Node, keys: Sequence[tuple[str, Expr]], items: Iterable[Aggregate]) -> Node:
    """The input of a group-by that takes of each group what one row of a window below has, with
    one row of each partition asked for; another input as it is."""
    values = []
    for item in items:
        if item.function != "any" or item.condition is not None or item.argument is None:
            return node
        values.append(item.argument)
    names = _names([key for _, key in keys]), _names(values)
    return node if names[0] is None or names[1] is None else _one_each(node, names[0], names[1])


def _names(expressions: Sequence[Expr]) -> frozenset[str] | None:
    if not all(isinstance(each, Column) for each in expressions):
        return None
    return frozenset(each.name for each in expressions if isinstance(each, Column))


def _one_each(node: Node, keys: frozenset[str], values: frozenset[str]) -> Node:
    if isinstance(node, Project):
        below = dict(node.items)
        of_keys, of_values = (_names([below[name] for name in each]) for each in (keys, values))
        if of_keys is None or of_values is None:
            return node
        return replace(node, input=_one_each(node.input, of_keys, of_values))
    if not isinstance(node, Window) or frozenset(node.partition) != keys:
        return node
    functions = {item.function for item in node.items}
    is_whole = all(item.frame == WHOLE for item in node.items)
    is_theirs = values == frozenset(item.name for item in node.items)
    if functions in ({"first_value"}, {"last_value"}) and is_whole and is_theirs:
        return replace(node, first_rows=1)
    return node
