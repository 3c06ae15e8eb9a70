"""Rewrites a query so that readers and joins touch only what the result needs.

`narrow` walks from the result to the sources with the set of columns needed above and the simple
comparisons that may be applied earlier. Rules for a comparison on a join's result: it moves to a
side when each row it drops there could only have led to rows it would drop from the result.

    inner  either side            left  left side           right  right side
    semi, anti  left side         full  stays above the join
    a key  also the other side (equal values), except under full and null-aware anti
"""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from crossdock.expressions import (
    Column,
    Expr,
    conjunction,
    conjuncts,
    is_simple,
    rename_columns,
)
from crossdock.nodes import AggregateAll, Filter, Join, Node, Project, Scan

_LEFT = frozenset(("inner", "left", "semi", "anti", "anti_null_aware"))
_RIGHT = frozenset(("inner", "right"))
_KEY_TO_LEFT = frozenset(("inner", "left", "right", "semi", "anti", "anti_null_aware"))
_KEY_TO_RIGHT = frozenset(("inner", "left", "right", "semi", "anti"))


def narrow(node: Node, needed: frozenset[str], predicates: tuple[Expr, ...] = ()) -> Node:
    """`node` with at least the columns `needed`, only rows for which all `predicates` hold, and
    everything below it narrowed. Columns keep their order. Pure; cost: one walk of the query."""
    if isinstance(node, Filter):
        return narrow(node.input, needed, (*predicates, *conjuncts(node.predicate)))
    if isinstance(node, Project):
        return _narrow_project(node, needed, predicates)
    if isinstance(node, Join):
        return _narrow_join(node, needed, predicates)
    if isinstance(node, AggregateAll):
        columns = frozenset(item.column for _, item in node.items if item.column is not None)
        return _kept_above(replace(node, input=narrow(node.input, columns)), predicates)
    return _narrow_scan(node, needed, predicates)


def _narrow_scan(node: Scan, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    pushed = [part for part in predicates if is_simple(part)]
    rest = tuple(part for part in predicates if not is_simple(part))
    wanted = needed.union(*(part.columns() for part in rest))
    columns = tuple(name for name in node.columns if name in wanted)
    schema = node.schema
    if len(columns) != len(node.columns):
        schema = pa.schema([schema.field(name) for name in columns])
    return _kept_above(Scan(node.source, columns, schema, conjunction(pushed)), rest)


def _narrow_project(node: Project, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    plain = {name: item.name for name, item in node.items if isinstance(item, Column)}
    pushed = tuple(
        rename_columns(part, plain)
        for part in predicates
        if is_simple(part) and part.columns() <= plain.keys()
    )
    rest = tuple(p for p in predicates if not (is_simple(p) and p.columns() <= plain.keys()))
    wanted = needed.union(*(part.columns() for part in rest))
    items = tuple((name, item) for name, item in node.items if name in wanted)
    below = frozenset[str]().union(*(item.columns() for _, item in items))
    schema = pa.schema([node.schema.field(name) for name, _ in items])
    return _kept_above(_fold(Project(narrow(node.input, below, pushed), items, schema)), rest)


def _fold(node: Project) -> Node:
    """A projection that only picks and renames becomes part of the join or projection below."""
    renames = node.renames()
    below = node.input
    if renames is None:
        return node
    if isinstance(below, Join):
        produced = {name: (side, column) for side, column, name in below.outputs}
        outputs = tuple((*produced[source], name) for name, source in renames.items())
        return replace(below, outputs=outputs, schema=node.schema)
    if isinstance(below, Project):
        made = dict(below.items)
        return Project(
            below.input,
            tuple((name, made[source]) for name, source in renames.items()),
            node.schema,
        )
    if isinstance(below, Scan) and all(name == source for name, source in renames.items()):
        return replace(below, columns=tuple(renames), schema=node.schema)
    return node


def _narrow_join(node: Join, needed: frozenset[str], predicates: tuple[Expr, ...]) -> Node:
    to_left, to_right, rest = _split_by_side(node, predicates)
    wanted = needed.union(*(part.columns() for part in rest))
    outputs = tuple(item for item in node.outputs if item[2] in wanted)
    schema = node.schema
    if len(outputs) != len(node.outputs):
        schema = pa.schema([schema.field(name) for _, _, name in outputs])
    left = {left_key for left_key, _ in node.on}
    right = {right_key for _, right_key in node.on}
    partner = dict(node.on)
    for side, column, _ in (*outputs, *node.residual_columns):
        if side != "right":
            left.add(column)
        if side != "left":
            right.add(partner[column] if side == "key" else column)
    joined = replace(
        node,
        left=narrow(node.left, frozenset(left), to_left),
        right=narrow(node.right, frozenset(right), to_right),
        outputs=outputs,
        schema=schema,
    )
    return _kept_above(joined, rest)


def _split_by_side(
    node: Join, predicates: tuple[Expr, ...]
) -> tuple[tuple[Expr, ...], tuple[Expr, ...], tuple[Expr, ...]]:
    """(for the left side, for the right side, to be applied above)."""
    left_names, right_names = _names_by_side(node)
    to_left: list[Expr] = []
    to_right: list[Expr] = []
    rest: list[Expr] = []
    keys_left = {name for name, source in left_names.items() if source in dict(node.on)}
    right_keys = {right_key for _, right_key in node.on}
    keys_right = {name for name, source in right_names.items() if source in right_keys}
    for part in predicates:
        columns = part.columns()
        on_left = columns <= left_names.keys()
        on_right = columns <= right_names.keys()
        if not is_simple(part) or not columns or not (on_left or on_right):
            rest.append(part)
            continue
        key = (on_left and columns <= keys_left) and (on_right and columns <= keys_right)
        go_left = on_left and node.how in (_KEY_TO_LEFT if key else _LEFT)
        go_right = on_right and node.how in (_KEY_TO_RIGHT if key else _RIGHT)
        if go_left:
            to_left.append(rename_columns(part, left_names))
        if go_right:
            to_right.append(rename_columns(part, right_names))
        if not (go_left or go_right):
            rest.append(part)
    return tuple(to_left), tuple(to_right), tuple(rest)


def _names_by_side(node: Join) -> tuple[dict[str, str], dict[str, str]]:
    """Result name -> column of the left side, and of the right side; a key that is one column of
    the result (or is equal on both sides because the join is inner) is in both."""
    left: dict[str, str] = {}
    right: dict[str, str] = {}
    to_right = dict(node.on)
    to_left = {right_key: left_key for left_key, right_key in node.on}
    for side, column, name in node.outputs:
        if side == "right":
            right[name] = column
            if node.how == "inner" and column in to_left:
                left[name] = to_left[column]
            continue
        left[name] = column
        # In a right or full join a plain left key is NULL where no left row matched: not equal.
        if column in to_right and (side == "key" or node.how in _LEFT):
            right[name] = to_right[column]
    return left, right


def _kept_above(node: Node, predicates: tuple[Expr, ...]) -> Node:
    remaining = conjunction(predicates)
    return node if remaining is None else Filter(node, remaining)
