"""Joins of a query in an order of our own: what is known of the tables goes to join_order.py, and
the tree that it finds becomes nodes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from crossdock.estimates import Estimator, semi_share
from crossdock.expressions import Call, Column, Expr
from crossdock.join_order import Condition, Equality, Input, Tree, order_joins
from crossdock.nodes import Filter, GroupBy, Node, Project
from crossdock.sql_frontend.building import Builder
from crossdock.sql_frontend.joins import JoinTree, Partners, joined, taken_apart

_FEW = 0.3  # of a key's values: then groups of other values are not made
_KEEPS = 0.5  # of rows that have partners, where nothing is known


def ordered_joins(builder: Builder, tree: JoinTree) -> Node:
    """The rows of a tree of joins, in the order that costs least; where distinct values of keys are
    not known, in the order of the text."""
    graph = _Graph(builder, tree)
    inputs = graph.inputs()
    if inputs is None:
        return graph.as_written()
    graph.push_into_groups()
    return graph.built(order_joins(inputs, graph.equalities(), graph.other_conditions()))


def joins_as_written(builder: Builder, tree: JoinTree) -> Node:
    """The rows of a tree of joins, in the order of the text."""
    return _Graph(builder, tree).as_written()


@dataclass
class _Member:
    """A column that equals others, and the leaf it is of."""

    leaf: int
    column: str


class _Graph:
    """The leaves of a tree, filtered, and what connects them."""

    def __init__(self, builder: Builder, tree: JoinTree) -> None:
        self._builder = builder
        self._estimate = Estimator()
        self._partners = list(tree.partners)
        self._leaf_of = {
            name: i for i, leaf in enumerate(tree.leaves) for name in leaf.schema.names
        }
        self._between: list[Expr] = []
        own: list[list[Expr]] = [[] for _ in tree.leaves]
        for condition in tree.conditions:
            used = self._leaves_of(condition)
            if len(used) == 1:
                own[next(iter(used))].append(condition)
            else:
                self._between.append(condition)
        self._leaves = [
            builder.filter(leaf, conditions)
            for leaf, conditions in zip(tree.leaves, own, strict=True)
        ]
        self._classes: list[list[_Member]] = []
        self._rest: list[Expr] = []  # conditions that make no class
        for condition in self._between:
            self._take(condition)

    def _leaves_of(self, expression: Expr) -> frozenset[int]:
        return frozenset(self._leaf_of[n] for n in expression.columns() if n in self._leaf_of)

    def _take(self, condition: Expr) -> None:
        """Puts an equality of two columns into a class of equal ones."""
        if isinstance(condition, Call) and condition.function == "equal":
            left, right = condition.arguments
            if isinstance(left, Column) and isinstance(right, Column):
                self._unite(left.name, right.name)
                return
        self._rest.append(condition)

    def _unite(self, *names: str) -> None:
        touched = [c for c in self._classes if any(m.column in names for m in c)]
        merged = [member for each in touched for member in each]
        known = {member.column for member in merged}
        merged += [_Member(self._leaf_of[n], n) for n in names if n not in known]
        self._classes = [c for c in self._classes if c not in touched] + [merged]

    def inputs(self) -> list[Input] | None:
        """Leaves, then semi and anti joins; None where too little is known to order them."""
        found: list[Input] = []
        for leaf in self._leaves:
            rows = self._estimate(leaf).rows
            if rows is None:
                return None
            found.append(Input(rows))
        for members in self._classes:
            if any(self._distinct(member) is None for member in members):
                return None
        equal = [each for each in self._rest if _is_equality(each)]
        if len(self._leaves) > 2 and equal:  # of computed values, whose number is not known
            return None
        return found + [self._input_of(each) for each in self._partners]

    def _distinct(self, member: _Member) -> float | None:
        return self._estimate(self._leaves[member.leaf]).distinct(member.column)

    def _input_of(self, partners: Partners) -> Input:
        rows = self._estimate(partners.right).rows
        names = set(self._leaf_of)
        sides = taken_apart(partners.conditions, names, set(partners.right.schema.names))
        pairs = []
        for left, right in sides.keys:
            if isinstance(left, Column) and isinstance(right, Column):
                ours = self._estimate(self._leaves[self._leaf_of[left.name]]).distinct(left.name)
                theirs = self._estimate(partners.right).distinct(right.name)
                if ours is not None and theirs is not None:
                    pairs.append((ours, theirs))
        share = semi_share(pairs) if pairs and len(pairs) == len(sides.keys) else _KEEPS
        if partners.how == "anti":
            share = max(1.0 - share, 0.1)
        needs = [self._leaves_of(condition) for condition in partners.conditions]
        return Input(rows or 1e6, share, frozenset[int]().union(*needs))

    def equalities(self) -> list[Equality]:
        """The classes, with distinct values by leaf."""
        found = []
        for members in self._classes:
            distinct: dict[int, float] = {}
            for member in members:
                known = self._distinct(member) or 1.0
                distinct[member.leaf] = min(distinct.get(member.leaf, known), known)
            if len(distinct) > 1:
                found.append(Equality(distinct))
        return found

    def other_conditions(self) -> list[Condition]:
        """Conditions between leaves that are no equalities of columns."""
        return [Condition(self._leaves_of(each), 0.3) for each in self._rest]

    def as_written(self) -> Node:
        """The joins in the order of the text."""
        tree: Tree = 0
        for number in range(1, len(self._leaves) + len(self._partners)):
            tree = (tree, number)
        return self.built(tree)

    def built(self, tree: Tree) -> Node:
        """The nodes of a tree over leaves and partners."""
        node, _ = self._built(tree)
        node = self._builder.filter(node, [e for e in self._rest if not self._leaves_of(e)])
        return self._with_probed_keys(node, _leaves_in_order(tree))

    def _with_probed_keys(self, node: Node, leaves: Sequence[int]) -> Node:
        """The columns of each class as one: that of the side that probes, which need not be looked
        up in the other."""
        place = {leaf: i for i, leaf in enumerate(leaves)}
        same: dict[str, Expr] = {}
        for members in self._classes:
            first, *others = sorted(members, key=lambda member: place[member.leaf])
            kept = node.schema.field(first.column)
            for other in others:
                if not pa.types.is_floating(kept.type) and (
                    node.schema.field(other.column).type == kept.type
                ):
                    same[other.column] = Column(first.column)
        if not same:
            return node
        items = [(name, same.get(name, Column(name))) for name in node.schema.names]
        return self._builder.project(node, items)

    def _built(self, tree: Tree) -> tuple[Node, frozenset[int]]:
        if isinstance(tree, int):
            return self._leaves[tree], frozenset((tree,))
        (left, left_leaves), right_tree = self._built(tree[0]), tree[1]
        if isinstance(right_tree, int) and right_tree >= len(self._leaves):
            partners = self._partners[right_tree - len(self._leaves)]
            how, conditions = partners.how, partners.conditions
            return joined(self._builder, left, partners.right, how, conditions), left_leaves
        right, right_leaves = self._built(right_tree)
        conditions = self._across(left_leaves, right_leaves)
        node = joined(self._builder, left, right, "inner", conditions)
        return node, left_leaves | right_leaves

    def _across(self, left: frozenset[int], right: frozenset[int]) -> tuple[Expr, ...]:
        """What a join of two sets of leaves must meet: one equality per class that both have, and
        the other conditions that became decidable."""
        found: list[Expr] = []
        for members in self._classes:
            ours = [each for each in members if each.leaf in left]
            theirs = [each for each in members if each.leaf in right]
            if ours and theirs:
                found.append(Column(ours[0].column) == Column(theirs[0].column))
        for condition in self._rest:
            used = self._leaves_of(condition)
            if used <= left | right and not used <= left and not used <= right:
                found.append(condition)
        return tuple(found)

    def push_into_groups(self) -> None:
        """Of leaves and partners that are groups, makes only those that other tables of the join
        have: where few values of a key are left elsewhere, the rows below the groups get a semi
        join with them."""
        for number, leaf in enumerate(self._leaves):
            names = {column: {column} for column in _grouped_by(leaf)}
            self._leaves[number] = self._fewer_groups(leaf, names)
        for number, partners in enumerate(self._partners):
            keys = {right.name: {left.name} for left, right in self._column_keys(partners)}
            right = self._fewer_groups(partners.right, keys)
            self._partners[number] = replace(partners, right=right)

    def _fewer_groups(self, node: Node, equal: Mapping[str, set[str]]) -> Node:
        """`node`, some of whose columns equal columns of leaves."""
        best: tuple[float, Node, str, str] | None = None
        for column, key in _grouped_by(node).items():
            ours = self._estimate(node).distinct(column)
            for other, name in self._equal_elsewhere(node, equal.get(column, set())):
                theirs = self._estimate(other).distinct(name)
                if ours is None or theirs is None or theirs > _FEW * ours:
                    continue
                if best is None or theirs / ours < best[0]:
                    best = (theirs / ours, other, name, key)
        if best is None:
            return node
        _, other, name, key = best
        return self._with_fewer_groups(node, other, name, key)

    def _equal_elsewhere(self, node: Node, equal: set[str]) -> list[tuple[Node, str]]:
        """Columns of other leaves, and of right sides of semi joins, that equal one of these."""
        members = [m for c in self._classes if any(m.column in equal for m in c) for m in c]
        names = equal | {member.column for member in members}
        found = [(self._leaves[self._leaf_of[name]], name) for name in sorted(names)]
        for each in self._partners:
            if each.how == "semi":
                keys = self._column_keys(each)
                found += [(each.right, right.name) for left, right in keys if left.name in names]
        return [(other, name) for other, name in found if other is not node]

    def _column_keys(self, partners: Partners) -> list[tuple[Column, Column]]:
        """The keys of a semi or anti join that are plain columns on both sides."""
        sides = taken_apart(
            partners.conditions, set(self._leaf_of), set(partners.right.schema.names)
        )
        return [
            (left, right)
            for left, right in sides.keys
            if isinstance(left, Column) and isinstance(right, Column)
        ]

    def _with_fewer_groups(self, node: Node, few: Node, column: str, key: str) -> Node:
        """The groups in `node` of rows whose `key` is in `column` of `few`."""
        if isinstance(node, GroupBy):
            values = self._builder.project(few, [("a value of " + key, Column(column))])
            below = self._builder.join(node.input, values, [(key, "a value of " + key)], "semi")
            return replace(node, input=below)
        assert isinstance(node, Filter | Project)
        return replace(node, input=self._with_fewer_groups(node.input, few, column, key))


def _leaves_in_order(tree: Tree) -> list[int]:
    """The numbers in a tree, those that probe first."""
    if isinstance(tree, int):
        return [tree]
    return [*_leaves_in_order(tree[0]), *_leaves_in_order(tree[1])]


def _is_equality(condition: Expr) -> bool:
    return isinstance(condition, Call) and condition.function == "equal"


def _grouped_by(node: Node) -> dict[str, str]:
    """Columns of a node that are keys of the groups it is of, and the columns that these are
    grouped by."""
    if isinstance(node, GroupBy):
        return {name: item.name for name, item in node.keys if isinstance(item, Column)}
    if isinstance(node, Filter):
        return _grouped_by(node.input)
    if isinstance(node, Project):
        below = _grouped_by(node.input)
        return {
            name: below[item.name]
            for name, item in node.items
            if isinstance(item, Column) and item.name in below
        }
    return {}
