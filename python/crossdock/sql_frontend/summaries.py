"""SUMMARIZE: of each column the range, distinct values, mean, spread and share of NULL."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.expressions import aggregates
from crossdock.expressions.aggregates import Aggregate
from crossdock.sql_frontend.type_names import shown_type

if TYPE_CHECKING:
    from crossdock.relation import Relation

_QUARTILES = {"q25": 0.25, "q50": 0.5, "q75": 0.75}


def summary_of(relation: Relation) -> pa.Table:
    """A row per column, as a pyarrow.Table. Runs the relation once. Errors as for `collect`."""
    asked: dict[str, Aggregate] = {"rows": aggregates.count()}
    for i, field in enumerate(relation.schema):
        for what, item in _aggregates_of(field).items():
            asked[f"{i} {what}"] = item
    result = relation.agg(**asked).gather()
    row = {} if result is None else result.to_pylist()[0]
    rows = int(row.get("rows", 0))
    columns: dict[str, list[Any]] = {
        "column_name": list(relation.schema.names),
        "column_type": [shown_type(field.type) for field in relation.schema],
    }
    for what in ("min", "max", "approx_unique", "avg", "std", *_QUARTILES, "count"):
        columns[what] = [row.get(f"{i} {what}") for i in range(len(relation.schema))]
    counts = columns.pop("count")
    as_strings = ("min", "max", "q25", "q50", "q75")
    for what in as_strings:
        columns[what] = [None if value is None else str(value) for value in columns[what]]
    columns["count"] = [rows] * len(relation.schema)
    columns["null_percentage"] = [
        None if count is None or not rows else 100.0 * (rows - count) / rows for count in counts
    ]
    types = {
        "approx_unique": pa.int64(), "avg": pa.float64(), "std": pa.float64(),
        "count": pa.int64(), "null_percentage": pa.float64(),
    }  # fmt: skip
    arrays = [pa.array(v, types.get(name, pa.string())) for name, v in columns.items()]
    return pa.table(arrays, list(columns))


def _aggregates_of(field: pa.Field) -> dict[str, Aggregate]:
    """What can be said of a column of its type."""
    name, result = field.name, field.type
    if pa.types.is_nested(result) or pa.types.is_null(result):
        return {"count": aggregates.count(name)} if not pa.types.is_null(result) else {}
    asked = {
        "count": aggregates.count(name),
        "min": aggregates.min(name),
        "max": aggregates.max(name),
        "approx_unique": aggregates.approx_distinct(name),
    }
    if pa.types.is_integer(result) or pa.types.is_floating(result) or pa.types.is_decimal(result):
        asked |= {"avg": aggregates.mean(name), "std": aggregates.stddev(name)}
        asked |= {what: aggregates.quantile(name, q) for what, q in _QUARTILES.items()}
    return asked
