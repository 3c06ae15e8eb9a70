"""Aggregates without keys: what `agg` takes, their result types, and how batches are folded.

Joins are aggregated by the engine without building their rows; everything else is folded here,
batch by batch, in bounded memory.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.errors import CrossdockError, make_error
from crossdock.evaluation import without_views


@dataclass(frozen=True)
class Aggregate:
    """`function` (count, sum, min or max) of a column; count of no column counts rows."""

    function: str
    column: str | None

    def __repr__(self) -> str:
        return f"{self.function}({self.column or ''})"


def count(column: str | None = None) -> Aggregate:
    """Number of rows, or of values of `column` that are not NULL: int64."""
    return Aggregate("count", column)


def sum(column: str) -> Aggregate:
    """Sum of the values that are not NULL; NULL when there is none. Integers give int64 or uint64
    (an overflow is a DataError, never a wrap), floats float64, decimals precision 38."""
    return Aggregate("sum", column)


def min(column: str) -> Aggregate:
    """Smallest value that is not NULL, of the column's type; NULL when there is none."""
    return Aggregate("min", column)


def max(column: str) -> Aggregate:
    """Largest value that is not NULL, of the column's type; NULL when there is none."""
    return Aggregate("max", column)


def aggregate_type(aggregate: Aggregate, schema: Any) -> Any:
    """The Arrow type of the result; TypeError when the column has none for this function."""
    if aggregate.function == "count":
        return pa.int64()
    column_type = schema.field(aggregate.column).type
    if aggregate.function in ("min", "max"):
        return column_type
    if pa.types.is_signed_integer(column_type):
        return pa.int64()
    if pa.types.is_unsigned_integer(column_type) or pa.types.is_boolean(column_type):
        return pa.uint64()
    if pa.types.is_floating(column_type):
        return pa.float64()
    if pa.types.is_decimal128(column_type):
        return pa.decimal128(38, column_type.scale)
    raise make_error(
        "CD-102",
        f"{aggregate!r} needs a number, column {aggregate.column!r} is {column_type}",
        try_=f"xd.count({aggregate.column!r}), xd.min or xd.max",
    )


def fold(aggregates: tuple[Aggregate, ...], schema: Any, batches: Iterable[Any]) -> list[Any]:
    """One pyarrow scalar per aggregate, of `aggregate_type`, over RecordBatches of `schema`."""
    states = [_State(item, aggregate_type(item, schema)) for item in aggregates]
    for batch in batches:
        plain = without_views(batch)
        for state in states:
            state.add(plain)
    return [state.result() for state in states]


def narrowed_sum(total: Any, field: Any) -> Any:
    """The engine's sum, which is exact in 128 bits, as the type of `field`; DataError if it does
    not fit."""
    try:
        return total.cast(field.type)
    except pa.ArrowException:
        raise _too_large(field.name, total[0].as_py(), field.type) from None


def _too_large(name: str, total: object, data_type: Any) -> CrossdockError:
    return make_error(
        "CD-303",
        f"the sum {name!r} is {total}, which does not fit {data_type}",
        try_="the sum of select(x=xd.col(...).cast('float64'))",
    )


class _State:
    """What one aggregate remembers: a Python integer, or one partial value per batch."""

    def __init__(self, aggregate: Aggregate, data_type: Any) -> None:
        self.aggregate = aggregate
        self.data_type = data_type
        self.total = 0
        self.seen = False
        self.partials: list[Any] = []

    def add(self, batch: Any) -> None:
        function, name = self.aggregate.function, self.aggregate.column
        if name is None:
            self.total += batch.num_rows
            return
        column = batch.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.dictionary_decode()
        values = len(column) - column.null_count
        if function == "count":
            self.total += values
        elif values and function == "sum" and pa.types.is_integer(self.data_type):
            self.seen = True
            self.total += _exact_sum(column)
        elif values:
            partial = pc.sum(column) if function == "sum" else pc.min_max(column)[function]
            self.partials.append(partial.cast(_partial_type(self.data_type)))

    def result(self) -> Any:
        function = self.aggregate.function
        if function == "count" or self.seen:
            return self._integer()
        if not self.partials:
            return pa.scalar(None, self.data_type)
        values = pa.array(self.partials, _partial_type(self.data_type))
        whole = pc.sum(values) if function == "sum" else pc.min_max(values)[function]
        return whole.cast(self.data_type)

    def _integer(self) -> Any:
        try:
            return pa.scalar(self.total, self.data_type)
        except (pa.ArrowException, OverflowError):
            raise _too_large(repr(self.aggregate), self.total, self.data_type) from None


def _partial_type(data_type: Any) -> Any:
    plain = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    if plain == pa.string_view():
        return pa.string()
    return pa.binary() if plain == pa.binary_view() else plain


def _exact_sum(column: Any) -> int:
    """The sum as a Python integer: halves are added apart, so that no 64-bit total wraps."""
    if column.type.bit_width < 64:
        return int(pc.sum(column).as_py())
    low = pc.bit_wise_and(column, pa.scalar(2**32 - 1, column.type))
    high = pc.shift_right(column, pa.scalar(32, column.type))
    return (int(pc.sum(high).as_py()) << 32) + int(pc.sum(low).as_py())
