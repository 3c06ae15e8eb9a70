"""Joins of a query in an order of our own: what is known of the tables goes to join_order.py, and
the tree that it finds becomes nodes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from math import prod
from typing import Any

import pyarrow as pa

from crossdock.expressions.expression import Call, Column, Expr
from crossdock.plan.estimates import Estimator
from crossdock.plan.join_order import Condition, Equality, Input, Tree, order_joins
from crossdock.plan.nodes import Node
from crossdock.sql_frontend.translation.building import Builder
from crossdock.sql_frontend.translation.joins import JoinTree, Partners, joined, taken_apart
from crossdock.sql_frontend.translation.semi_filters import filtered_by, grouped_by, rebased

_FEW = 0.3  # of a key's values: then groups of other values are not made
_FEW_TO_KEEP = 0.1  # of a key's values: then their rows are kept for others that read them
_KEEPS = 0.5  # of rows that have partners, where nothing is known


@dataclass(frozen=True)
class GroupFilter:
    """That of groups, a leaf or the right side of partners, only those are made whose `column` is
    one of the values of `few_column` of another one. Sides are numbers as in trees of joins."""

    groups: int
    column: str
    few: int
    few_column: str
    is_kept: bool  # whether the filtered rows are kept for other leaves over the same table


@dataclass(frozen=True)
class JoinDecision:
    """In which order a tree of joins runs, and which groups are filtered before."""

    filters: tuple[GroupFilter, ...]
    tree: Tree


def as_json(decisions: Sequence[JoinDecision]) -> list[Any]:
    """Decisions as what JSON can say."""
    return [asdict(each) for each in decisions]


def decisions_of(said: Sequence[Any]) -> list[JoinDecision]:
    """The decisions that `as_json` gave."""
    return [
        JoinDecision(tuple(GroupFilter(**each) for each in one["filters"]), one["tree"])
        for one in said
    ]


class JoinOrders:
    """Orders trees of joins by cost, or as the text has them. Over ranks each sees rows of its own
    and would decide for itself, so that one decides and the others repeat it, tree by tree."""

    def __init__(
        self,
        as_written: bool = False,
        decided: Sequence[JoinDecision] | None = None,
        ranks: int = 1,
    ) -> None:
        self._as_written = as_written
        self._ranks = ranks
        self._repeated = None if decided is None else list(reversed(decided))
        self.decisions: list[JoinDecision] = []

    def __call__(self, builder: Builder, tree: JoinTree) -> Node:
        """The rows of a tree of joins."""
        graph = _Graph(builder, tree, self._ranks)
        if self._repeated is not None:
            decision = self._repeated.pop()
            for each in decision.filters:
                graph.filter_groups(each)
        elif self._as_written:
            decision = JoinDecision((), graph.tree_as_written())
        else:
            decision = graph.decide()
        self.decisions.append(decision)
        return graph.built(decision.tree)


@dataclass
class _Member:
    """A column that equals others, and the leaf it is of."""

    leaf: int
    column: str


class _Graph:
    """The leaves of a tree, filtered, and what connects them."""

    def __init__(self, builder: Builder, tree: JoinTree, ranks: int) -> None:
        self._builder = builder
        self._estimate = Estimator(ranks)
        self._partners = list(tree.partners)
        self._leaf_of = {
            name: i for i, leaf in enumerate(tree.leaves) for name in leaf.schema.names
        }
        self._between: list[Expr] = []
        leaf_conditions: list[list[Expr]] = [[] for _ in tree.leaves]
        for condition in tree.conditions:
            used = self._leaves_of(condition)
            if len(used) == 1:
                leaf_conditions[next(iter(used))].append(condition)
            else:
                self._between.append(condition)
        self._leaves = [
            builder.filter(leaf, conditions)
            for leaf, conditions in zip(tree.leaves, leaf_conditions, strict=True)
        ]
        self._classes: list[list[_Member]] = []
        self._rest: list[Expr] = []  # conditions that make no class
        for condition in self._between:
            self._take(condition)
        self._filter_within_leaves()

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

    def _filter_within_leaves(self) -> None:
        """Two columns of one leaf that equal the same column elsewhere equal each other: a join
        compares one of each class, so that the leaf must compare the others."""
        for members in self._classes:
            first: dict[int, str] = {}
            for member in members:
                kept = first.setdefault(member.leaf, member.column)
                if kept != member.column:
                    same = Column(kept) == Column(member.column)
                    self._leaves[member.leaf] = self._builder.filter(
                        self._leaves[member.leaf], [same]
                    )

    def inputs(self) -> list[Input] | None:
        """Leaves, then semi and anti joins; None where too little is known to order them."""
        result: list[Input] = []
        for leaf in self._leaves:
            rows = self._estimate(leaf).rows
            if rows is None:
                return None
            result.append(Input(rows))
        for members in self._classes:
            if any(self._distinct(member) is None for member in members):
                return None
        equal = [each for each in self._rest if _is_equality(each)]
        if len(self._leaves) > 2 and equal:  # of computed values, whose number is not known
            return None
        return result + [self._input_of(each) for each in self._partners]

    def _distinct(self, member: _Member) -> float | None:
        return self._estimate(self._leaves[member.leaf]).distinct(member.column)

    def _input_of(self, partners: Partners) -> Input:
        rows = self._estimate(partners.right).rows
        names = set(self._leaf_of)
        sides = taken_apart(partners.conditions, names, set(partners.right.schema.names))
        shares = []
        for left, right in sides.keys:
            if isinstance(left, Column) and isinstance(right, Column):
                leaf = self._estimate(self._leaves[self._leaf_of[left.name]])
                ours = leaf.distinct(left.name)
                share = self._estimate(partners.right).share_of_values(right.name, ours or 1.0)
                if ours is not None and share is not None:
                    shares.append(share)
        share = prod(shares) if shares and len(shares) == len(sides.keys) else _KEEPS
        if partners.how == "anti":
            share = max(1.0 - share, 0.1)
        needs = [self._leaves_of(condition) for condition in partners.conditions]
        return Input(rows or 1e6, share, frozenset[int]().union(*needs))

    def equalities(self) -> list[Equality]:
        """The classes, with distinct values by leaf."""
        result = []
        for members in self._classes:
            distinct: dict[int, float] = {}
            for member in members:
                known = self._distinct(member) or 1.0
                distinct[member.leaf] = min(distinct.get(member.leaf, known), known)
            if len(distinct) > 1:
                result.append(Equality(distinct))
        return result

    def other_conditions(self) -> list[Condition]:
        """Conditions between leaves that are no equalities of columns."""
        return [Condition(self._leaves_of(each), 0.3) for each in self._rest]

    def decide(self) -> JoinDecision:
        """What costs least; where distinct values of keys are not known, the order of the text."""
        filters = () if self.inputs() is None else tuple(self.filters_of_groups())
        inputs = self.inputs()
        if inputs is None:
            return JoinDecision(filters, self.tree_as_written())
        tree = order_joins(inputs, self.equalities(), self.other_conditions())
        return JoinDecision(filters, tree)

    def tree_as_written(self) -> Tree:
        """The joins in the order of the text."""
        tree: Tree = 0
        for number in range(1, len(self._leaves) + len(self._partners)):
            tree = (tree, number)
        return tree

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
        result: list[Expr] = []
        for members in self._classes:
            ours = [each for each in members if each.leaf in left]
            theirs = [each for each in members if each.leaf in right]
            if ours and theirs:
                result.append(Column(ours[0].column) == Column(theirs[0].column))
        for condition in self._rest:
            used = self._leaves_of(condition)
            if used <= left | right and not used <= left and not used <= right:
                result.append(condition)
        return tuple(result)

    def filters_of_groups(self) -> Iterator[GroupFilter]:
        """Of leaves and partners that are groups, makes only those that other tables of the join
        have: where few values of a key are left elsewhere, the rows below the groups get a semi
        join with them. Gives what it did."""
        for number in range(len(self._leaves) + len(self._partners)):
            best: tuple[float, GroupFilter] | None = None
            groups = self._side(number)
            for column in sorted(grouped_by(groups)):
                ours = self._estimate(groups).distinct(column)
                for few, name in self._equal_elsewhere(number, column):
                    theirs = self._estimate(self._side(few)).distinct(name)
                    if ours is None or theirs is None or theirs > _FEW * ours:
                        continue
                    if best is None or theirs / ours < best[0]:
                        is_kept = theirs < _FEW_TO_KEEP * ours
                        group_filter = GroupFilter(number, column, few, name, is_kept)
                        best = (theirs / ours, group_filter)
            if best is not None:
                self.filter_groups(best[1])
                yield best[1]

    def filter_groups(self, what: GroupFilter) -> None:
        """Puts the semi join below the groups. Leaves over the table whose rows it filters have
        their rows from those that are kept, too, where they join by the same key: the table is
        read once then."""
        few = self._side(what.few)
        values = [("a value of " + what.few_column, Column(what.few_column))]
        groups = self._side(what.groups)
        filtered = filtered_by(
            self._builder, groups, what.column, self._builder.project(few, values)
        )
        if what.groups < len(self._leaves):
            self._leaves[what.groups] = filtered.node
        else:
            number = what.groups - len(self._leaves)
            self._partners[number] = replace(self._partners[number], right=filtered.node)
        if not what.is_kept:
            return
        equal = self._equal_columns(what.groups, what.column)
        for number, leaf in enumerate(self._leaves):
            rebuilt = None if number == what.few else rebased(leaf, filtered)
            if rebuilt is not None and rebuilt[1] & equal:
                self._leaves[number] = rebuilt[0]

    def _side(self, number: int) -> Node:
        """A leaf, or the right side of partners."""
        count = len(self._leaves)
        return self._leaves[number] if number < count else self._partners[number - count].right

    def _equal_columns(self, number: int, column: str) -> set[str]:
        """The columns of leaves that equal a column of a side."""
        equal = {column}
        if number >= len(self._leaves):
            keys = self._column_keys(self._partners[number - len(self._leaves)])
            equal = {left.name for left, right in keys if right.name == column}
        members = [m for c in self._classes if any(m.column in equal for m in c) for m in c]
        return equal | {member.column for member in members}

    def _equal_elsewhere(self, number: int, column: str) -> list[tuple[int, str]]:
        """Columns of other leaves, and of right sides of semi joins, that equal a column of a
        side, and the sides they are of."""
        names = self._equal_columns(number, column)
        places = [(self._leaf_of[name], name) for name in sorted(names)]
        for i, each in enumerate(self._partners, len(self._leaves)):
            if each.how == "semi":
                keys = self._column_keys(each)
                places += [(i, right.name) for left, right in keys if left.name in names]
        return [(other, name) for other, name in places if other != number]

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


def _leaves_in_order(tree: Tree) -> list[int]:
    """The numbers in a tree, those that probe first."""
    if isinstance(tree, int):
        return [tree]
    return [*_leaves_in_order(tree[0]), *_leaves_in_order(tree[1])]


def _is_equality(condition: Expr) -> bool:
    return isinstance(condition, Call) and condition.function == "equal"
