"""Whether two engines give the same rows, in any order, of results that may be large."""

from __future__ import annotations

import math
import re
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

ROWS_MOST = 100_000  # compared row by row; of more, columns are compared as wholes
TOLERANCE = 1e-6  # relative: a squared correlation near 0 has lost most of its digits
_ORDER = re.compile(r"ORDER BY (\w+)[^()]*LIMIT", re.DOTALL)


def difference(sql: str, expected: pa.Table, actual: pa.Table) -> str | None:
    """None where they are the same. Of results that LIMIT cuts, the column of the ORDER BY is
    compared alone, if it is one of them: rows that are equal by it may be others."""
    if expected.num_rows != actual.num_rows:
        return f"{actual.num_rows} rows and not {expected.num_rows}"
    if "LIMIT" in sql:
        order = _ORDER.search(sql)
        names = expected.column_names
        if order is None or order[1] not in names:
            return None
        place = names.index(order[1])
        expected, actual = expected.select([place]), actual.select([place])
    if expected.num_rows > ROWS_MOST:
        return _of_wholes(expected, actual)
    pairs = zip(_rows(expected), _rows(actual), strict=True)
    wrong = next((pair for pair in pairs if not all(map(_same, *pair))), None)
    return None if wrong is None else f"a row {wrong[1]} and not {wrong[0]}"


def _of_wholes(expected: pa.Table, actual: pa.Table) -> str | None:
    for place in range(actual.num_columns if actual.num_columns == expected.num_columns else 0):
        one, other = _whole(expected[place]), _whole(actual[place])
        if not all(map(_same, one, other)):
            return f"a column {place} of which all are {other} and not {one}"
    return None


def _whole(column: pa.ChunkedArray) -> tuple[Any, ...]:
    """Number of NULLs, and the sum of the numbers, or of the strings' lengths."""
    kind = column.type
    if pa.types.is_string_view(kind) or pa.types.is_string(kind):
        column = pc.binary_length(column.cast(pa.large_string()))
    return column.null_count, pc.sum(column.cast(pa.float64())).as_py()


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    columns = [[_plain(value) for value in column.to_pylist()] for column in table.columns]
    return sorted(zip(*columns, strict=True), key=lambda row: [_key(value) for value in row])


def _plain(value: Any) -> Any:
    """Integers of any width and booleans as floats, where they are no ids beyond 2^53."""
    if value is None or isinstance(value, str | bytes):
        return value
    try:
        return float(value)
    except TypeError:
        return str(value)


def _key(value: Any) -> tuple[int, Any]:
    """Floats by six digits: their last ones may differ."""
    if value is None:
        return 0, 0
    return (1, float(f"{value:.6g}")) if isinstance(value, float) else (2, str(value))


def _same(one: Any, other: Any) -> bool:
    if isinstance(one, float) and isinstance(other, float):
        both_nan = math.isnan(one) and math.isnan(other)
        return both_nan or math.isclose(one, other, rel_tol=TOLERANCE, abs_tol=1e-12)
    return bool(one == other)
