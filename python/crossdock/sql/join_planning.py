"""Joins of a query in an order of our own."""

from __future__ import annotations

from crossdock.nodes import Node
from crossdock.sql.building import Builder
from crossdock.sql.joins import JoinTree, joined


def ordered_joins(builder: Builder, tree: JoinTree) -> Node:
    """The rows of a tree of inner joins."""
    whole = tree.leaves[0]
    waiting = list(tree.conditions)
    for leaf in tree.leaves[1:]:
        names = {*whole.schema.names, *leaf.schema.names}
        ready = [each for each in waiting if each.columns() <= names]
        waiting = [each for each in waiting if not each.columns() <= names]
        whole = joined(builder, whole, leaf, "inner", ready)
    return builder.filter(whole, waiting)
