"""Inner joins of a query while their order is open: the tables, and the conditions between them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import pyarrow as pa

from crossdock.expressions.expression import Call, Column, Expr, conjunction, rename_columns
from crossdock.expressions.window_expressions import Over, Scope
from crossdock.plan.nodes import Node
from crossdock.sql_frontend.translation.building import Builder, JoinCondition, name_for, unused


@dataclass(frozen=True)
class Partners:
    """A semi or anti join: which rows stay is decided by partners in `right`, whose columns have
    names that no leaf has."""

    right: Node
    how: str
    conditions: tuple[Expr, ...]


@dataclass(frozen=True)
class JoinTree:
    """Tables without a name in common, in the order of the text, conditions over all of them, and
    semi and anti joins with others."""

    leaves: tuple[Node, ...]
    conditions: tuple[Expr, ...] = ()
    partners: tuple[Partners, ...] = ()

    def names(self) -> set[str]:
        """Of all columns that conditions name."""
        nodes = (*self.leaves, *(each.right for each in self.partners))
        return {name for node in nodes for name in node.schema.names}


@dataclass(frozen=True)
class Table:
    """Rows of a plan: a node or a tree of joins, and its columns by position. A column may stand at
    several positions, and some at none."""

    tree: JoinTree
    columns: tuple[str, ...]

    def schema(self) -> pa.Schema:
        """All columns of the leaves."""
        return pa.schema([each for leaf in self.tree.leaves for each in leaf.schema])


def table_of(node: Node, columns: Sequence[str] | None = None) -> Table:
    """The rows of a node."""
    return Table(JoinTree((node,)), tuple(node.schema.names if columns is None else columns))


def beside(builder: Builder, left: Table, right: Table) -> Table:
    """The right table, with other names for columns that the left one has, too."""
    taken = left.tree.names()
    both = taken | right.tree.names()
    names: dict[str, str] = {}
    for name in sorted(right.tree.names()):
        if name in taken:
            names[name] = unused(name, both)
            both.add(names[name])
    if not names:
        return right

    def renamed(conditions: Sequence[Expr]) -> tuple[Expr, ...]:
        return tuple(rename_columns(each, names) for each in conditions)

    tree = JoinTree(
        tuple(builder.renamed(leaf, names) for leaf in right.tree.leaves),
        renamed(right.tree.conditions),
        tuple(
            Partners(builder.renamed(each.right, names), each.how, renamed(each.conditions))
            for each in right.tree.partners
        ),
    )
    return Table(tree, tuple(names.get(name, name) for name in right.columns))


@dataclass
class Sides:
    """The conditions of a join, taken apart: equal keys, conditions on one side, and the rest."""

    keys: list[tuple[Expr, Expr]] = field(default_factory=list)
    null_keys: list[tuple[Expr, Expr]] = field(default_factory=list)  # where NULL equals NULL
    left: list[Expr] = field(default_factory=list)
    right: list[Expr] = field(default_factory=list)
    residual: list[Expr] = field(default_factory=list)


def taken_apart(conditions: Sequence[Expr], left: set[str], right: set[str]) -> Sides:
    """The conditions of a join of sides that have these columns."""
    sides = Sides()
    for each in conditions:
        used = each.columns()
        pair = _equal_sides(each, left, right)
        same = _same_sides(each, left, right)
        if pair is not None:
            sides.keys.append(pair)
        elif same is not None:
            sides.null_keys.append(same)
        elif used <= left and used:
            sides.left.append(each)
        elif used <= right and used:
            sides.right.append(each)
        else:
            sides.residual.append(each)
    return sides


def _equal_sides(condition: Expr, left: set[str], right: set[str]) -> tuple[Expr, Expr] | None:
    if not isinstance(condition, Call) or condition.function != "equal":
        return None
    return _as_pair(condition.arguments, left, right)


def _same_sides(condition: Expr, left: set[str], right: set[str]) -> tuple[Expr, Expr] | None:
    """The sides of `coalesce(a == b, a.is_null() & b.is_null())`, which is IS NOT DISTINCT FROM."""
    if not isinstance(condition, Call) or condition.function != "coalesce":
        return None
    first, *rest = condition.arguments
    if len(rest) != 1 or not isinstance(first, Call) or first.function != "equal":
        return None
    both = rest[0]
    is_same = (
        isinstance(both, Call)
        and both.function == "and_kleene"
        and all(isinstance(part, Call) and part.function == "is_null" for part in both.arguments)
    )
    return _as_pair(first.arguments, left, right) if is_same else None


def _as_pair(sides: Sequence[Expr], left: set[str], right: set[str]) -> tuple[Expr, Expr] | None:
    a, b = sides
    if not a.columns() or not b.columns():
        return None
    if a.columns() <= left and b.columns() <= right:
        return a, b
    return (b, a) if a.columns() <= right and b.columns() <= left else None


def joined(builder: Builder, left: Node, right: Node, how: str, conditions: Sequence[Expr]) -> Node:
    """The join of two nodes that have no name in common, all of whose columns the result has."""
    left_names, right_names = set(left.schema.names), set(right.schema.names)
    sides = taken_apart(conditions, left_names, right_names)
    residual = list(sides.residual)
    # A condition on one side is a filter of it where rows without a partner do not stay.
    if how in ("inner", "left", "semi", "anti", "anti_null_aware"):
        right = builder.filter(right, sides.right)
    else:
        residual += sides.right
    if how in ("inner", "right", "semi"):
        left = builder.filter(left, sides.left)
    else:
        residual += sides.left
    names = (*left.schema.names, *right.schema.names)
    constants = [each for each in residual if not each.columns()]
    residual = [each for each in residual if each.columns()]
    whole = conjunction(constants)
    if whole is not None and how == "full":  # a condition of the join reads a column
        condition_name = unused("condition", names)
        right = builder.with_columns(right, [(condition_name, whole)])
        residual.append(Column(condition_name))
    elif how == "right":
        left = builder.filter(left, constants)
    else:
        right = builder.filter(right, constants)
    pairs = sides.keys
    if sides.null_keys and not pairs:
        pairs = sides.null_keys
    elif sides.null_keys:
        residual += [same_value(a, b) for a, b in sides.null_keys]
    left, left_keys = _with_keys(builder, left, [a for a, _ in pairs])
    right, right_keys = _with_keys(builder, right, [b for _, b in pairs])
    keys = list(zip(left_keys, right_keys, strict=True))
    null_equals_null = bool(sides.null_keys) and pairs is sides.null_keys
    condition = JoinCondition(conjunction(residual), null_equals_null)
    joined_node = builder.join(left, right, keys, how, condition)
    if constants and how == "full":
        return builder.project(joined_node, [(name, Column(name)) for name in names])
    return joined_node


def kept(builder: Builder, sides: tuple[Node, Node], how: str, conditions: Sequence[Expr]) -> Node:
    """INTERSECT ALL (a semi join) and EXCEPT ALL (an anti join): equal rows of each side are
    numbered, and a row goes with the one of the same number."""
    left, right = sides
    parts = taken_apart(conditions, set(left.schema.names), set(right.schema.names))
    pairs = [*parts.keys, *parts.null_keys]
    number = unused("number", (*left.schema.names, *right.schema.names))
    other = unused("other number", (*left.schema.names, *right.schema.names))
    numbered = []
    for side, name, keys in (
        (left, number, [a for a, _ in pairs]),
        (right, other, [b for _, b in pairs]),
    ):
        over = Over("row_number", None, (), Scope(tuple(keys)))
        numbered.append(builder.with_columns(side, [(name, over)]))
    same = [same_value(a, b) for a, b in [*pairs, (Column(number), Column(other))]]
    joined_node = joined(builder, numbered[0], numbered[1], how, same)
    return builder.project(joined_node, [(name, Column(name)) for name in left.schema.names])


def same_value(a: Expr, b: Expr) -> Expr:
    """Whether two values are equal, or both NULL."""
    both = Call("and_kleene", (a.is_null(), b.is_null()))
    return Call("coalesce", (a == b, both))


def _with_keys(builder: Builder, node: Node, keys: Sequence[Expr]) -> tuple[Node, list[str]]:
    """The node with its computed keys as columns, and the names of all keys."""
    names: list[str] = []
    added: list[tuple[str, Expr]] = []
    taken = set(node.schema.names)
    for key in keys:
        if isinstance(key, Column):
            names.append(key.name)
            continue
        name = unused("key of " + name_for(key, ()), taken)
        taken.add(name)
        added.append((name, key))
        names.append(name)
    return builder.with_columns(node, added), names
