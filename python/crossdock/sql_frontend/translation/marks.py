"""IN and EXISTS that are values rather than filters, and NOT IN, with NULL as SQL has it."""

from __future__ import annotations

from collections.abc import Sequence

from crossdock.expressions import aggregates
from crossdock.expressions.expression import Column, Expr, Literal, when
from crossdock.expressions.free_functions import coalesce
from crossdock.plan.nodes import Node
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.translation import joins
from crossdock.sql_frontend.translation.building import Builder, unused
from crossdock.sql_frontend.translation.joins import Sides, Table

_ROWS, _VALUES = "rows of a list", "values of a list"


def marked(
    builder: Builder, sides: tuple[Node, Node], conditions: Sequence[Expr], of: str
) -> tuple[Node, str]:
    """The rows of the left side and a column that says whether they have a partner: a left join
    with the keys of the right side, each once. `of` is "in", "exists", or "" where it is not known.
    SqlError where that would need more than equal keys."""
    left, right = sides
    parts = joins.taken_apart(conditions, set(left.schema.names), set(right.schema.names))
    if parts.residual or parts.left or parts.null_keys:
        raise unsupported(
            "IN or EXISTS under OR with a condition that is no equality",
            try_="two queries with UNION, one for each side of the OR", word="or",
        )  # fmt: skip
    has_three_values = of != "exists" and _may_be_null(parts, left, right)
    known: list[tuple[str, Expr]] = [(name, Column(name)) for name in left.schema.names]
    mark = unused("has partner", left.schema.names)
    if of == "in" and not parts.keys and len(parts.right) == 1:
        node, value = _of_constant(builder, left, right, parts.right[0])
        return builder.project(node, [*known, (mark, value)]), mark
    if has_three_values and (not of or len(parts.keys) != 1 or parts.right):
        raise unsupported(
            "IN under OR over columns that may be NULL, beside EXISTS or correlated",
            try_="EXISTS, or coalesce(...) on both sides", word="in",
        )  # fmt: skip
    right = builder.filter(right, parts.right)
    node = _with_partners(builder, left, right, (parts, mark))
    value = coalesce(Column(mark), False)
    if has_three_values:
        node, value = _three_valued(builder, node, right, (parts.keys[0], mark))
    return builder.project(node, [*known, (mark, value)]), mark


def _with_partners(builder: Builder, left: Node, right: Node, how: tuple[Sides, str]) -> Node:
    """The left join that has true in the column of that name where there is a partner."""
    parts, mark = how
    names = [unused(f"key {i}", (*left.schema.names, mark)) for i in range(len(parts.keys))]
    if not names:
        one = builder.project(builder.limit(right, 1, 0), [(mark, Literal(True))])
        return joins.joined(builder, left, one, "left", ())
    keys = [(name, b) for name, (_, b) in zip(names, parts.keys, strict=True)]
    partners = builder.with_columns(builder.group(right, keys, {}), [(mark, Literal(True))])
    pairs = [a == Column(name) for name, (a, _) in zip(names, parts.keys, strict=True)]
    return joins.joined(builder, left, partners, "left", pairs)


def _of_constant(builder: Builder, left: Node, right: Node, same: Expr) -> tuple[Node, Expr]:
    """The value of `constant IN (...)`, by how many rows `same` holds for, and is NULL for."""
    counts = {
        _ROWS: aggregates.count().where(same),
        _VALUES: aggregates.count().where(same.is_null()),
    }
    both = builder.join(left, builder.group(right, (), counts), (), "inner")
    value = when(Column(_ROWS) > 0).then(True).when(Column(_VALUES) > 0).then(None).otherwise(False)
    return both, value


def _three_valued(
    builder: Builder, matched: Node, right: Node, what: tuple[tuple[Expr, Expr], str]
) -> tuple[Node, Expr]:
    """The value of IN: NULL where there is no partner, but a NULL on either side could be one."""
    (ours, theirs), mark = what
    counts = {_ROWS: aggregates.count(), _VALUES: aggregates.count(theirs)}
    both = builder.join(matched, builder.group(right, (), counts), (), "inner")
    rows, values = Column(_ROWS), Column(_VALUES)
    return both, (
        when(coalesce(Column(mark), False)).then(True)
        .when(rows == 0).then(False)
        .when(ours.is_null() | (values < rows)).then(None)
        .otherwise(False)
    )  # fmt: skip


def _may_be_null(parts: Sides, left: Node, right: Node) -> bool:
    fields = {field.name: field for field in (*left.schema, *right.schema)}
    pairs = [*parts.keys, *((each, each) for each in parts.right)]
    read = {name for pair in pairs for side in pair for name in side.columns()}
    return any(fields[name].nullable for name in read)


def not_in(conditions: Sequence[Expr], left: Table, right: Node) -> tuple[str, tuple[Expr, ...]]:
    """How NOT IN is joined, and on what: NULL on the right side leaves nothing over."""
    sides = joins.taken_apart(conditions, set(left.schema().names), set(right.schema.names))
    if conditions and not any(each.columns() for each in conditions):  # NULL NOT IN (...)
        return "anti", tuple(coalesce(each, True) for each in conditions)
    others = sides.residual or sides.left or sides.null_keys
    if not others and not sides.keys and len(sides.right) == 1:  # a constant NOT IN
        return "anti", (coalesce(sides.right[0], True),)
    pairs = [*sides.keys, *((each, each) for each in sides.right)]
    read = {name for pair in pairs for side in pair for name in side.columns()}
    fields = [*left.schema(), *right.schema]
    if not any(field.nullable for field in fields if field.name in read):
        return "anti", tuple(conditions)
    if not others and not sides.right and len(sides.keys) == 1:
        return "anti_null_aware", tuple(conditions)
    raise unsupported(
        "NOT IN with a correlated subquery over columns that may be NULL", try_="NOT EXISTS"
    )
