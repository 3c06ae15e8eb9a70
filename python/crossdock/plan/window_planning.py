"""Window functions in projections and filters. What the engine has of groups alone, such as a
median, is computed of whole partitions: in groups by the same keys, joined to their rows."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.expressions.aggregates import IGNORE_NULLS, OF_PARTITIONS, Aggregate
from crossdock.expressions.expression import Column, Expr, identity
from crossdock.expressions.window_expressions import WHOLE, Over
from crossdock.plan import windows
from crossdock.plan.group_planning import plan_group
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import JoinOptions, Node, Project
from crossdock.plan.planning import plan_join, plan_keyless_join, plan_project

_ORDERLESS = frozenset(
    ("count_distinct", "mode", "entropy", "mad", "approx_distinct", "quantile", "quantile_exact",
     "quantile_disc")
)  # fmt: skip


def project(node: Node, items: Sequence[tuple[str, Expr]], where: str) -> Project:
    """`plan_project` of expressions in which window functions may stand. Errors: those of
    plan_project; TypeError and OptionError for functions that do not go with their arguments."""
    below, plain = _without_groups(node, [item for _, item in items], where)
    names = [name for name, _ in items]
    return windows.project(below, list(zip(names, plain, strict=True)), where)


def filtered(node: Node, predicates: Sequence[Expr]) -> Node:
    """`plan_filter` of the same: the filter sees each function over all rows."""
    below, plain = _without_groups(node, predicates, "filter()")
    kept = windows.filtered(below, plain)
    if below is node:
        return kept
    return plan_project(kept, [(name, Column(name)) for name in node.schema.names], "filter()")


def _without_groups(node: Node, expressions: Sequence[Expr], where: str) -> tuple[Node, list[Expr]]:
    """`node` with a column for each function that is one of groups, and the expressions over these
    columns."""
    asked = {
        windows.identity_of(over): over
        for expression in expressions
        for over in windows.functions_in(expression)
        if over.function in OF_PARTITIONS and over.window.frame == WHOLE
    }
    if not asked:
        return node, list(expressions)
    by_partition: dict[object, list[Over]] = {}
    for over in asked.values():
        windows.require_plain(over, node.schema, where)
        partition = tuple(identity(key) for key in over.window.partition)
        by_partition.setdefault(partition, []).append(over)
    columns: dict[object, Column] = {}
    joined = node
    for members in by_partition.values():
        items: dict[str, Aggregate] = {}
        for over in members:
            name = unused_name(repr(over), {*joined.schema.names, *items})
            items[name] = _aggregate(over)
            columns[windows.identity_of(over)] = Column(name)
        joined = _joined(joined, node, members[0].window.partition, items)
    return joined, [windows.replaced(expression, columns) for expression in expressions]


def _aggregate(over: Over) -> Aggregate:
    orders = () if over.function in _ORDERLESS else over.window.orders
    options = tuple(option for option in over.options if option != IGNORE_NULLS)
    aggregate = Aggregate(over.function, over.argument, options, orders=orders)
    if len(options) < len(over.options) and over.argument is not None:
        return aggregate.where(over.argument.is_not_null())
    return aggregate


def _joined(node: Node, grouped: Node, keys: Sequence[Expr], items: dict[str, Aggregate]) -> Node:
    """`node`, which has the rows of `grouped`, with the aggregates of the groups of these."""
    taken = {*node.schema.names, *items}
    names: list[str] = []
    for number in range(2 * len(keys)):
        names.append(unused_name(f"\x01key {number}", {*taken, *names}))
    ours, theirs = names[: len(keys)], names[len(keys) :]
    groups = plan_group(grouped, tuple(zip(theirs, keys, strict=True)), items)
    if not keys:
        return plan_keyless_join(node, groups, None, "cross", ("_right", None, JoinOptions()))
    known: list[tuple[str, Expr]] = [(name, Column(name)) for name in node.schema.names]
    rows = plan_project(node, [*known, *zip(ours, keys, strict=True)], "over()")
    extras = ("_right", None, JoinOptions(null_equals_null=True))
    return plan_join(rows, groups, tuple(zip(ours, theirs, strict=True)), "inner", extras)
