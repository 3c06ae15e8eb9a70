"""Whether two results of a query are the same, and the first row in which they are not.

Rows are compared in their order. Rows that share their values of the ORDER BY may stand in any
order among themselves, and where LIMIT cuts such rows, any of them will do: the expected result
has more rows than the limit, so all of them are known.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pyarrow as pa

RowValues = tuple[Any, ...]

FLOAT_TOLERANCE = 1e-9  # relative; sums of floats depend on the order of their rows
BEYOND_LIMIT = 100  # rows more than asked for in the expected result


@dataclass(frozen=True, slots=True)
class Equality:
    """`tolerance` is relative, and for floats; for decimals, too, where an engine rounds them."""

    tolerance: float = FLOAT_TOLERANCE
    rounds_decimals: bool = False

    def of_values(self, one: Any, other: Any) -> bool:
        if one is None or other is None:
            return one is other
        kinds = (float, Decimal) if self.rounds_decimals else (float,)
        if isinstance(one, kinds) or isinstance(other, kinds):
            absolute = self.tolerance if self.rounds_decimals else 0.0
            return math.isclose(float(one), float(other), rel_tol=self.tolerance, abs_tol=absolute)
        return bool(one == other)

    def of_rows(self, one: Sequence[Any], other: Sequence[Any]) -> bool:
        return all(map(self.of_values, one, other))


@dataclass(frozen=True, slots=True)
class Expected:
    """The rows of the reference; `order` are the positions of the columns of the ORDER BY."""

    names: list[str]
    rows: list[RowValues]
    order: tuple[int, ...]
    limit: int | None

    @staticmethod
    def of(table: pa.Table, order: Sequence[str], limit: int | None) -> Expected:
        names = table.column_names
        positions = tuple(names.index(name) for name in order)
        return Expected(names, rows_of(table), positions, limit)

    def difference(self, table: pa.Table, equality: Equality) -> str | None:
        """None where the table has the same rows; otherwise what differs first."""
        if table.column_names != self.names:
            return f"columns {table.column_names}, expected {self.names}"
        rows = rows_of(table)
        count = len(self.rows) if self.limit is None else min(self.limit, len(self.rows))
        start = 0
        while start < min(count, len(rows)):
            end = self.end_of_equals(start, equality)
            row = self.first_unmatched(rows[start:end], self.rows[start:end], equality)
            if row is not None:
                expected = self.rows[start + row]
                return f"row {start + row}: {shown(rows[start + row])}, expected {shown(expected)}"
            start = end
        return None if len(rows) == count else f"{len(rows)} rows, expected {count}"

    def end_of_equals(self, start: int, equality: Equality) -> int:
        """Past the rows that may change places with the one at `start`; the next row where the
        query has no order."""
        end = start + 1
        while self.order and end < len(self.rows):
            pair = (self.rows[end - 1], self.rows[end])
            if not all(equality.of_values(pair[0][i], pair[1][i]) for i in self.order):
                break
            end += 1
        return end

    @staticmethod
    def first_unmatched(
        rows: list[RowValues], candidates: list[RowValues], equality: Equality
    ) -> int | None:
        """The first of the rows that equals none of the candidates left by those before it."""
        left = list(candidates)
        for number, row in enumerate(rows):
            match = next((i for i, other in enumerate(left) if equality.of_rows(row, other)), None)
            if match is None:
                return number
            del left[match]
        return None


def rows_of(table: pa.Table) -> list[RowValues]:
    columns = [column.to_pylist() for column in table.columns]
    return list(zip(*columns, strict=True))


def shown(row: RowValues) -> str:
    return "(" + ", ".join(str(value) for value in row) + ")"
