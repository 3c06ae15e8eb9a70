"""Choices between values, by conditions: SQL's CASE and COALESCE over pyarrow data.

Where a value can raise, it is computed only on the rows that take it:
`xd.when(b != 0).then(a // b)` must not divide by zero.
"""

from __future__ import annotations

from collections.abc import Callable

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import cast, common_type
from crossdock.expressions.expression import Call, Expr, Literal
from crossdock.expressions.literals import fit_literal
from crossdock.values.arrow_kinds import ArrayLike, Datum, Rows
from crossdock.values.engine_types import empty_table

Evaluate = Callable[[Expr, Rows], Datum]


def choose(values: list[Datum]) -> Datum:
    """The value beside the first condition that is true: `values` are condition, value, condition,
    value, ..., and the value otherwise. ArrowException when the values have no type in common."""
    conditions, results = values[:-1:2], [*values[1:-1:2], values[-1]]
    for condition in conditions:
        if not (pa.types.is_boolean(condition.type) or pa.types.is_null(condition.type)):
            raise pa.ArrowTypeError(f"a condition is of type {condition.type}, not bool")
    both = common_type([result.type for result in results])
    chosen = cast(results[-1], both)
    for condition, result in reversed(list(zip(conditions, results, strict=False))):
        true = pc.fill_null(pc.cast(condition, pa.bool_()), False)
        chosen = pc.if_else(true, cast(result, both), chosen)
    return chosen


def choose_lazily(expression: Call, rows: Rows, evaluate: Evaluate) -> ArrayLike:
    """The same for an expression, "case" or "coalesce", that must not compute values in vain.
    `rows` have its columns alone, none of a view type: pyarrow cannot filter those."""
    arguments = expression.arguments
    cases: list[tuple[Expr, Expr]]
    if expression.function == "coalesce":
        cases = [(Call("is_valid", (value,)), value) for value in arguments[:-1]]
    else:
        cases = list(zip(arguments[:-1:2], arguments[1:-1:2], strict=True))
    results = [*(value for _, value in cases), arguments[-1]]
    literals, both = _result_types(results, empty_table(rows.schema), evaluate)
    if rows.num_rows == 0:  # the types are known now, and nested choices would ask for them again
        for condition, _ in cases:
            _mask(evaluate(condition, rows), 0)
        return pa.chunked_array([], both) if isinstance(rows, pa.Table) else pa.array([], both)
    left, indices = rows, pa.array(range(rows.num_rows), pa.int64())
    result, found_at = [], []

    def take(position: int, taken: Rows, at: ArrayLike) -> None:
        literal = literals[position]
        value = evaluate(results[position], taken) if literal is None else literal
        result.extend(_chunks(cast(value, both), len(at)))
        found_at.append(at)

    for position, (condition, _) in enumerate(cases):
        true = _mask(evaluate(condition, left), left.num_rows)
        take(position, left.filter(true), indices.filter(true))
        false = pc.invert(true)
        left, indices = left.filter(false), indices.filter(false)
    take(len(cases), left, indices)
    order = pc.sort_indices(pa.chunked_array(found_at, pa.int64()))
    values = pa.chunked_array(result, both).take(order)
    return values if isinstance(rows, pa.Table) else _one_array(values)


def _result_types(
    results: list[Expr], empty: pa.Table, evaluate: Evaluate
) -> tuple[list[pa.Scalar | None], pa.DataType]:
    """Per result its value if it is a literal, else None; and the type of all."""
    types = [None if isinstance(r, Literal) else evaluate(r, empty).type for r in results]
    known = [t for t in types if t is not None and not pa.types.is_null(t)]
    target = known[0] if known else pa.null()
    literals = [fit_literal(r.value, target) if isinstance(r, Literal) else None for r in results]
    both = common_type([t if v is None else v.type for t, v in zip(types, literals, strict=True)])
    return literals, both


def _mask(condition: Datum, rows: int) -> ArrayLike:
    if not (pa.types.is_boolean(condition.type) or pa.types.is_null(condition.type)):
        raise pa.ArrowTypeError(f"a condition is of type {condition.type}, not bool")
    if isinstance(condition, pa.Scalar):
        condition = pa.repeat(condition, rows)
    return pc.fill_null(pc.cast(condition, pa.bool_()), False)


def _chunks(value: Datum, rows: int) -> list[pa.Array]:
    if isinstance(value, pa.Scalar):
        return [pa.repeat(value, rows)]
    return value.chunks if isinstance(value, pa.ChunkedArray) else [value]


def _one_array(values: pa.ChunkedArray) -> pa.Array:
    joined = values.combine_chunks()
    return joined if isinstance(joined, pa.Array) else pa.concat_arrays(joined.chunks)
