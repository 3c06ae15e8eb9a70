"""Narrows queries some of whose parts are used more than once: such a part is narrowed to what all
its users need together, and stays one node, which the engine runs once.

Only parts with an operator in them count, and filters of Parquet files that leave few rows: other
filters and computed columns of a source cost less than a table of their rows. Filters above such a
part stay above it.
"""

from __future__ import annotations

from collections.abc import Mapping

from crossdock.files.parquet_files import ParquetSource
from crossdock.plan.estimates import Estimator
from crossdock.plan.nodes import Filter, Node, Scan, Shared, has_operator, users_of, with_inputs
from crossdock.plan.pushdown import narrow
from crossdock.plan.struct_fields import with_fields_read

_FEW = 16  # rows of files of which a filter leaves one: a table of these costs less than reading on
_ROWS_MOST = 1 << 20  # of that table, which stays in memory where reading again would stream


def narrow_whole(node: Node, needed: frozenset[str]) -> Node:
    """`node` narrowed to the columns `needed`, as `narrow` does it for queries that are trees, and
    to the fields of structs that are needed."""
    node = with_fields_read(node)
    parts = shared_parts(node)
    if not parts:
        return narrow(node, needed)
    leaves = {part: Shared(part) for part in parts}
    top = narrow(_without(node, leaves), needed)
    narrowed: dict[Node, Node] = {}
    for part in parts:  # users before what they use, so that a leaf has heard all of its users
        leaf = leaves[part]
        body = with_inputs(part, lambda below: _without(below, leaves))
        narrowed[leaf] = narrow(body, frozenset(leaf.needed))
    return substituted(top, narrowed)


def shared_parts(root: Node) -> list[Node]:
    """The nodes that several nodes use and that run once for all, each before what it uses
    itself."""
    several = [part for part, count in users_of(root).items() if count > 1]
    return [part for part in several if has_operator(part) or _leaves_few(part)]


def substituted(node: Node, parts: Mapping[Node, Node]) -> Node:
    """`node` with others in the place of some nodes; a node that is used twice stays one."""
    return _substituted(node, parts, {})


def _leaves_few(node: Node) -> bool:
    """Whether a node is a filter that leaves few rows of Parquet files."""
    if not isinstance(node, Filter) or not isinstance(node.input, Scan):
        return False
    if not isinstance(node.input.source, ParquetSource):
        return False
    estimate = Estimator()
    rows, of = estimate(node).rows, estimate(node.input).rows
    if rows is None or of is None or rows > _ROWS_MOST:
        return False
    return rows * _FEW <= of


def _without(node: Node, leaves: dict[Node, Shared]) -> Node:
    """`node` with each shared part in it replaced by its leaf."""
    if node in leaves:
        return leaves[node]
    return with_inputs(node, lambda below: _without(below, leaves))


def _substituted(node: Node, parts: Mapping[Node, Node], done: dict[Node, Node]) -> Node:
    if node not in done:
        whole = parts.get(node)
        if whole is not None:
            done[node] = _substituted(whole, parts, done)
        else:
            done[node] = with_inputs(node, lambda below: _substituted(below, parts, done))
    return done[node]
