"""Functions that DataFusion binds and that are none of SQL: what stands in a rewritten text for
what it has not; and its average, of another type."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

import pyarrow as pa

from crossdock.sql_frontend.added_functions import never_run
from crossdock.sql_frontend.text.rewritten import (
    CHARACTER,
    ELEMENT,
    FILTERED,
    INVERTED,
    KEEPS_ALL,
    LOCAL,
    MULTIPLIED,
    ONE_ROW,
    PLACE,
    RANDOM,
    SLICED,
    TIMES,
    TRANSFORMED,
    UNNEST,
    UUID,
    WHOLE,
    ZONED,
)

if TYPE_CHECKING:
    from types import ModuleType

    from datafusion import AggregateUDF, ScalarUDF

_LOCAL, _ZONED = pa.timestamp("us"), pa.timestamp("us", "UTC")
_MOVING = pa.month_day_nano_interval()
# Operators, by the types of their arguments and of their result.
_OPERATORS: dict[str, tuple[list[pa.DataType], pa.DataType]] = {
    ZONED: ([_LOCAL, pa.string(), pa.int64()], _ZONED),
    LOCAL: ([_ZONED, pa.string()], _LOCAL),
    SLICED: ([pa.string(), pa.int64(), pa.int64(), pa.int64()], pa.string()),
    CHARACTER: ([pa.string(), pa.int64(), pa.int64()], pa.string()),
    TIMES: ([pa.float64(), _MOVING], _MOVING),
    MULTIPLIED: ([_MOVING, pa.float64()], _MOVING),
}
# What marks a place, and stays where it is, by its type.
_MARKS = {
    KEEPS_ALL: pa.bool_(), WHOLE: pa.int8(), INVERTED: pa.int64(), UNNEST: pa.int64(),
    RANDOM: pa.float64(), UUID: pa.string(),
    **dict.fromkeys((ELEMENT, PLACE, TRANSFORMED, FILTERED), pa.int64()),
}  # fmt: skip


@cache
def average(library: ModuleType) -> AggregateUDF:
    """`avg` of what becomes a double, as here and in DuckDB: DataFusion's own gives decimals of
    decimals. Binding needs its types alone."""

    class NeverRun(library.Accumulator):  # type: ignore[misc, name-defined]
        """What DataFusion would run, were it to run queries."""

        update = merge = state = evaluate = never_run

    double = pa.float64()
    average: AggregateUDF = library.udaf(
        NeverRun, double, double, [double], "immutable", name="avg"
    )
    return average


@cache
def marks(library: ModuleType) -> list[ScalarUDF]:
    """Those of a context."""
    places = [
        library.udf(never_run, [pa.int64()], result, "volatile", name=name)
        for name, result in _MARKS.items()
    ]
    # What a subquery without rows gives is asked of it.
    one_row = library.udf(lambda rows: rows, [pa.int64()], pa.int64(), "immutable", name=ONE_ROW)
    return [one_row, *places] + [
        library.udf(never_run, of, result, "immutable", name=name)
        for name, (of, result) in _OPERATORS.items()
    ]
