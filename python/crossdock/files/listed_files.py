"""Parquet files of a table that another program keeps, such as Delta or Iceberg: which files there
are, and what is known of their values before any of them is opened.

Conditions leave out files by these bounds when a query is planned; footers are read of the files
that are left, when they are first asked for.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.evaluation import evaluate
from crossdock.expressions.expression import COMPARISONS, TURNED, Call, Column, Expr, Literal
from crossdock.files.file_sources import FileOptions, Opened, held_weakly
from crossdock.files.parquet_files import ParquetSource
from crossdock.files.sources import ArrowSource, Source, Split
from crossdock.values.arrow_kinds import ArrayLike

_VALUES_MOST = 64  # of a list, each of which is compared with the bounds of all files
# The bound, and how it compares where no row can.
_EXCLUDED = {
    "equal": (("max", "less"), ("min", "greater")),
    "less": (("min", "greater_equal"),),
    "less_equal": (("min", "greater"),),
    "greater": (("max", "less_equal"),),
    "greater_equal": (("max", "less"),),
}


@dataclass(frozen=True)
class Bounds:
    """Of a column: least and largest value of each file as arrays, NULL where not known or none;
    and how many NULLs each has."""

    least: Any
    largest: Any
    nulls: Any


@dataclass(frozen=True)
class Listing:
    """The files of a table as they were at one time; they are never written again.

    schema: of the table. rows: of each file, None = not known. values: a pyarrow.Table of the
    columns that a file has one value of, with a row for each. bounds: by column.
    """

    name: str
    schema: pa.Schema
    files: tuple[str, ...]
    sizes: tuple[int, ...]
    rows: tuple[int | None, ...]
    values: Any
    bounds: Mapping[str, Bounds] = field(default_factory=dict)


class ListedFiles(ParquetSource):
    """Files of a listing, by their numbers in it. Opened when their footers are first needed."""

    def __init__(self, listing: Listing, kept: Sequence[int] | None = None) -> None:
        everything = range(len(listing.files))
        self._listing = listing
        self._kept = list(everything if kept is None else kept)
        self._known: Opened | None = None
        self._narrowed: dict[tuple[int, ...], ListedFiles] = {}
        self._opening = threading.RLock()
        some = f"{listing.name}, {len(self._kept)} of {len(everything)} files"
        name = listing.name if len(self._kept) == len(everything) else some
        files = [listing.files[number] for number in self._kept]
        self._set_files("parquet", name, files, FileOptions(hive_partitioning=False))
        self.schema = listing.schema

    def __reduce__(self) -> tuple[Any, ...]:
        return ListedFiles, (self._listing, self._kept)

    def narrowed(self, conditions: Sequence[Expr]) -> ListedFiles:
        """The same without files that have no row for which all conditions hold; at least one file
        is left. Opens none."""
        left = self._kept
        for condition in conditions:
            out = _without_rows(condition, self._listing)
            if out is not None:
                left = [number for number in left if not out[number]]
        left = left or self._kept[:1]
        if len(left) == len(self._kept):
            return self
        narrowed = self._narrowed.setdefault(tuple(left), ListedFiles(self._listing, left))
        return narrowed.with_fields(self.paths) if self.paths else narrowed

    def split_filter(self, parts: Sequence[Expr]) -> Split:
        return (), tuple(parts)

    def known_rows(self) -> int | None:
        rows = [self._listing.rows[number] for number in self._kept]
        return sum(known) if len(known := [n for n in rows if n is not None]) == len(rows) else None

    def count_rows(self, predicate: Expr | None) -> int:
        known = self.known_rows() if predicate is None else None
        return super().count_rows(predicate) if known is None else known

    def sizes(self) -> list[int]:
        return [self._listing.sizes[number] for number in self._kept]

    @property
    def _opened(self) -> Opened:
        with self._opening, self.data_errors():
            if self._known is None:
                self._known = self._open()
            return self._known

    @_opened.setter
    def _opened(self, opened: Opened) -> None:
        self._known = opened

    def _open(self) -> Opened:
        self.read_schemas()
        # Files may have columns in narrower types, or not at all, as the table's schema grew.
        uneven = frozenset(self._listing.schema.names)
        values = self._listing.values.take(pa.array(self._kept, pa.int64()))
        return Opened(self._listing.schema, uneven, values, (), held_weakly(self.plain_fragments))

    def _versions(self) -> tuple[tuple[Any, ...], ...]:
        return ()


def open_listing(listing: Listing) -> Source:
    """A source over the files of a table, which may have none."""
    if not listing.files:
        return ArrowSource(pa.Table.from_batches([], listing.schema), listing.name)
    return ListedFiles(listing)


def _without_rows(condition: Expr, listing: Listing) -> list[bool] | None:
    """By file, whether its bounds say that no row meets the condition; None: they say nothing."""
    excluded = _excluded(condition, listing)
    if excluded is None:
        return None
    return [value is True for value in excluded.to_pylist()]


def _excluded(condition: Expr, listing: Listing) -> ArrayLike | None:
    if not isinstance(condition, Call):
        return None
    function, arguments = condition.function, condition.arguments
    if function in ("and_kleene", "or_kleene"):
        parts = [_excluded(part, listing) for part in arguments]
        known = [part for part in parts if part is not None]
        if function == "or_kleene":
            return pc.and_kleene(*known) if len(known) == len(parts) else None
        return pc.or_kleene(*known) if len(known) == len(parts) else (known or [None])[0]
    column = _column(arguments[0], listing)
    if function in ("is_null", "is_valid"):
        return None if column is None else _by_nulls(function, column, listing)
    if function == "is_in":
        if column is None or len(condition.option) > _VALUES_MOST:
            return None
        return _none_of(condition.option, column, listing)
    if function not in COMPARISONS:
        return None
    if isinstance(arguments[0], Literal):
        column, function = _column(arguments[1], listing), TURNED.get(function, function)
        arguments = arguments[::-1]
    if column is None or not isinstance(arguments[1], Literal):
        return None
    return _compared(function, column, arguments[1], listing)


def _column(part: Expr, listing: Listing) -> Bounds | None:
    return listing.bounds.get(part.name) if isinstance(part, Column) else None


def _by_nulls(function: str, column: Bounds, listing: Listing) -> pa.Array:
    rows = pa.array(listing.rows, pa.int64())
    return pc.equal(column.nulls, pa.scalar(0, pa.int64()) if function == "is_null" else rows)


def _compared(
    function: str, column: Bounds, literal: Literal, listing: Listing
) -> pa.ChunkedArray | None:
    value = literal.value.as_py() if isinstance(literal.value, pa.Scalar) else literal.value
    is_nan = isinstance(value, float) and math.isnan(value)
    if function not in _EXCLUDED or value is None or is_nan:
        return None
    ends = pa.table({"min": column.least, "max": column.largest})
    excluded = _by_nulls("is_valid", column, listing)
    for end, how in _EXCLUDED[function]:
        excluded = pc.or_kleene(excluded, evaluate(Call(how, (Column(end), literal)), ends))
    return excluded


def _none_of(values: Sequence[Any], column: Bounds, listing: Listing) -> pa.ChunkedArray:
    excluded = None
    for value in values:
        one = _compared("equal", column, Literal(value), listing)
        if value is not None and one is None:
            return None
        if one is not None:
            excluded = one if excluded is None else pc.and_kleene(excluded, one)
    return excluded


def single_values(values: pa.Table, rows: Sequence[int | None]) -> dict[str, Bounds]:
    """Bounds of columns of which each file has one value."""
    bounds = {}
    for name, column in zip(values.column_names, values.columns, strict=True):
        nulls = [0 if value.is_valid else count for value, count in zip(column, rows, strict=True)]
        bounds[name] = Bounds(column, column, pa.array(nulls, pa.int64()))
    return bounds


def plain_strings(schema: pa.Schema) -> pa.Schema:
    """The schema with strings and bytes in one layout, whatever the package took."""
    fields = []
    for one in schema:
        kind = one.type
        if pa.types.is_large_string(kind) or pa.types.is_string_view(kind):
            kind = pa.string()
        elif pa.types.is_large_binary(kind) or pa.types.is_binary_view(kind):
            kind = pa.binary()
        fields.append(pa.field(one.name, kind, one.nullable))
    return pa.schema(fields)
