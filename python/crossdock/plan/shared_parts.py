"""Narrows queries some of whose parts are used more than once: such a part is narrowed to what all
its users need together, and stays one node, which the engine runs once.

Only parts with an operator in them count: filters and computed columns of a source cost less than a
table of their rows. Filters above such a part stay above it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from crossdock.plan.nodes import Join, Node, Shared, Union, has_operator, inputs_of
from crossdock.plan.pushdown import narrow


def narrow_whole(node: Node, needed: frozenset[str]) -> Node:
    """`node` narrowed to the columns `needed`, as `narrow` does it for queries that are trees."""
    parts = shared_parts(node)
    if not parts:
        return narrow(node, needed)
    leaves = {part: Shared(part) for part in parts}
    top = narrow(_without(node, leaves), needed)
    narrowed: dict[Node, Node] = {}
    for part in parts:  # users before what they use, so that a leaf has heard all of its users
        leaf = leaves[part]
        body = _with_inputs(part, lambda below: _without(below, leaves))
        narrowed[leaf] = narrow(body, frozenset(leaf.needed))
    return substituted(top, narrowed)


def shared_parts(root: Node) -> list[Node]:
    """The nodes with an operator that several nodes use, each before what it uses itself."""
    return [part for part, count in _users(root).items() if count > 1 and has_operator(part)]


def substituted(node: Node, parts: Mapping[Node, Node]) -> Node:
    """`node` with others in the place of some nodes; a node that is used twice stays one."""
    return _substituted(node, parts, {})


def _users(root: Node) -> Counter[Node]:
    """How many inputs of other nodes each node is, with users before what they use."""
    order: list[Node] = []
    seen: set[Node] = set()
    _visit(root, seen, order)
    users: Counter[Node] = Counter(dict.fromkeys(reversed(order), 0))
    for node in order:
        users.update(inputs_of(node))
    return users


def _visit(node: Node, seen: set[Node], order: list[Node]) -> None:
    if node in seen:
        return
    seen.add(node)
    for below in inputs_of(node):
        _visit(below, seen, order)
    order.append(node)


def _without(node: Node, leaves: dict[Node, Shared]) -> Node:
    """`node` with each shared part in it replaced by its leaf."""
    if node in leaves:
        return leaves[node]
    return _with_inputs(node, lambda below: _without(below, leaves))


def _substituted(node: Node, parts: Mapping[Node, Node], done: dict[Node, Node]) -> Node:
    if node not in done:
        whole = parts.get(node)
        if whole is not None:
            done[node] = _substituted(whole, parts, done)
        else:
            done[node] = _with_inputs(node, lambda below: _substituted(below, parts, done))
    return done[node]


def _with_inputs(node: Node, change: Callable[[Node], Node]) -> Node:
    """`node` over changed inputs; `node` itself where none changes."""
    inputs = inputs_of(node)
    changed = tuple(map(change, inputs))
    if all(new is old for new, old in zip(changed, inputs, strict=True)):
        return node
    if isinstance(node, Join):
        return replace(node, left=changed[0], right=changed[1])
    several: dict[str, Any] = {"inputs": changed} if isinstance(node, Union) else {}
    return replace(node, **(several or {"input": changed[0]}))
