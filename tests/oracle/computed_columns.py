"""Columns that the engine computes of an expression, alone and beside the evaluator."""

from __future__ import annotations

from typing import Any

import crossdock as xd
import pyarrow as pa
from crossdock import _native
from crossdock.expressions.engine_expressions import Compiler
from crossdock.expressions.evaluation import evaluate


def computed(engine: _native.Engine, expression: xd.Expr, table: pa.Table) -> Any:
    """The column that the engine computes, which it must be able to."""
    rows = _native.Table.from_stream(engine, table)
    compiled = Compiler(rows.column, table.schema).compile(expression)
    assert compiled is not None, repr(expression)
    result = pa.table(_native.compute_columns(engine, rows, [("x", compiled)]))["x"]
    result.validate(full=True)
    return result


def computed_by_both(
    engine: _native.Engine, expression: xd.Expr, table: pa.Table
) -> tuple[Any, Any]:
    """The engine's column in the type that the evaluator's has, and that one."""
    result = computed(engine, expression, table)
    evaluated = evaluate(expression, table)
    if result.type == pa.string_view():  # the type of all strings that the engine computes
        result = result.cast(evaluated.type)
    assert result.type == evaluated.type
    return result, evaluated
