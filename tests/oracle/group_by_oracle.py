"""What a group-by must answer: DuckDB says which rows make a group, and counts them, finds their
extremes and distinct values; sums are added as Python integers; what must only be near (means,
variances, quantiles, sums of floats) is computed in extended precision, with its error bound.

test_group_by_oracle.py holds these against DuckDB's own functions as well.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from fractions import Fraction
from itertools import pairwise
from typing import Any

import duckdb_rows
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from group_by_cases import BITS, FLOAT, Aggregate, GroupCase, aggregates, key_names
from same_rows import plain, plain_keys

EPSILON = 2.0**-52
DISTINCT_ERROR = 0.016  # of approx_distinct: one standard deviation, relative
QUANTILE_ERROR = 0.001  # of quantile, relative to the value
EXACT_DISTINCT = 192  # up to so many values, both are exact
EXACT_VALUES = 512


@dataclass(frozen=True)
class Groups:
    """Which rows make which group: group g has rows[starts[g]:starts[g + 1]], in input order;
    `answers` has DuckDB's part of the aggregates, one row a group."""

    rows: np.ndarray
    starts: np.ndarray
    answers: pa.Table

    def __len__(self) -> int:
        return len(self.starts) - 1

    def __getitem__(self, group: int) -> np.ndarray:
        return self.rows[self.starts[group] : self.starts[group + 1]]

    def kept(self, mask: np.ndarray) -> Groups:
        """The groups with only the rows that are true in the mask."""
        keep = mask[self.rows]
        before = np.concatenate([[0], np.cumsum(keep)])
        return Groups(self.rows[keep], before[self.starts], self.answers)


def _query_of(item: Aggregate, floating: bool) -> str:
    """DuckDB's expression for an aggregate; of an extreme the number of a row that has it. NaN,
    DuckDB's largest number, is an extreme only of a group that has no other value."""
    column, only = item.column, f" FILTER (WHERE {item.filter})" if item.filter else ""
    if item.function == "count":
        return f"count({column or '*'}){only}"
    if item.function in ("count_distinct", "approx_distinct"):
        return f"count(DISTINCT {column}){only}"
    if item.function in ("bool_and", "bool_or", *BITS):
        return f"{item.function}({column}){only}"
    if item.function == "quantile_disc":
        return f"quantile_disc({column}, {item.options['q']}){only}"
    if item.function not in ("min", "max"):
        return ""
    extreme = f"arg_{item.function}(i, {column})"
    if not floating:
        return extreme + only
    numbers = f"NOT isnan({column})" + (f" AND {item.filter}" if item.filter else "")
    return f"coalesce({extreme} FILTER (WHERE {numbers}), {extreme}{only})"


def group(case: GroupCase, table: pa.Table) -> Groups:
    """The groups of a case, in any order, and DuckDB's answers for each aggregate by its name."""
    columns = [name for name in table.column_names if name != "i"]
    duckdb_rows.register("grouped", table, columns)
    floating = case.values in FLOAT
    named = [(item.name, _query_of(item, floating)) for item in aggregates(case)]
    items = [f"{text} AS {name}" for name, text in named if text]
    keys = key_names(case)
    tail = f" GROUP BY {', '.join(keys)}" if keys else ""
    result = duckdb_rows.query(
        f"SELECT {', '.join(['list(i ORDER BY i) AS members', *items])} FROM grouped{tail}"
    )
    members = result.column("members").combine_chunks()
    lengths = pc.list_value_length(members).fill_null(0).to_numpy().astype(np.int64)
    rows = members.flatten().to_numpy().astype(np.int64)
    return Groups(rows, np.concatenate([[0], np.cumsum(lengths)]), result)


# --- values of a column, as the functions below need them


def exact_integers(column: pa.ChunkedArray) -> tuple[np.ndarray, int]:
    """Python integers and the scale by which they are larger than the values; nulls as 0."""
    array = pa.concat_arrays(column.chunks) if column.num_chunks else pa.array([], column.type)
    if not pa.types.is_decimal(array.type):
        whole = array.cast(pa.uint8()) if array.type == pa.bool_() else array
        return np.asarray(whole.fill_null(0)).astype(object), 0
    words = np.frombuffer(array.buffers()[1], np.uint64)[2 * array.offset :][: 2 * len(array)]
    high = words[1::2].astype(np.int64).astype(object)
    values = high * 2**64 + words[0::2].astype(object)
    return np.where(np.asarray(array.is_valid()), values, 0), array.type.scale


@dataclass(frozen=True)
class Values:
    """The values of a column that are not null, group by group."""

    groups: Groups
    column: pa.ChunkedArray

    @staticmethod
    def of(groups: Groups, column: pa.ChunkedArray) -> Values:
        valid = np.asarray(column.is_valid().combine_chunks())
        return Values(groups.kept(valid), column)

    def counts(self) -> np.ndarray:
        return np.diff(self.groups.starts)

    def exact_sums(self) -> tuple[list[int], int]:
        values, scale = exact_integers(self.column)
        members = values[self.groups.rows]
        return [int(sum(members[a:b])) for a, b in pairwise(self.groups.starts)], scale

    def floats(self) -> list[np.ndarray]:
        """Per group, in the longest floating type there is: 64 bits of mantissa."""
        if pa.types.is_floating(self.column.type):
            numbers = np.asarray(self.column.combine_chunks()).astype(np.longdouble)
        else:
            integers, scale = exact_integers(self.column)
            numbers = integers.astype(np.longdouble) / np.longdouble(10) ** scale
        members = numbers[self.groups.rows]
        return [members[a:b] for a, b in pairwise(self.groups.starts)]


@dataclass(frozen=True)
class Near:
    """A number per group that must be hit within `error`; NaN for null."""

    values: np.ndarray
    errors: np.ndarray
    null: np.ndarray


@dataclass(frozen=True)
class Between:
    """A number per group that must lie in [low, high]."""

    low: np.ndarray
    high: np.ndarray
    null: np.ndarray


@dataclass(frozen=True)
class Exactly:
    """The very values, in plain form with the zeros alike."""

    values: pa.Array


@dataclass(frozen=True)
class OneOf:
    """For each group one of its non-null values, null where it has none."""

    values: Values


class TooLarge:
    """Some group's sum does not fit the type of the result: an error."""


Expected = Exactly | Near | Between | OneOf | TooLarge


def expected(case: GroupCase, table: pa.Table, groups: Groups, item: Aggregate) -> Expected:
    """What an aggregate of a case must give for each group."""
    answer = _EXACT.get(item.function)
    if answer is not None:
        return answer(table, groups, item)
    counted = groups
    if item.filter:
        passes = table.column(item.filter).fill_null(False).combine_chunks()
        counted = groups.kept(np.asarray(passes))
    values = Values.of(counted, table.column(item.column))
    if item.function == "sum" and not pa.types.is_floating(values.column.type):
        return integer_sums(values, item)
    return _COMPUTED[item.function](values, item)


def answered(table: pa.Table, groups: Groups, item: Aggregate) -> Expected:
    return Exactly(groups.answers.column(item.name).combine_chunks())


def approx_distinct(table: pa.Table, groups: Groups, item: Aggregate) -> Expected:
    exact = duckdb_rows.numbers_of(groups.answers.column(item.name))
    slack = np.where(exact <= EXACT_DISTINCT, 0, np.ceil(exact * 5 * DISTINCT_ERROR))
    return Between(exact - slack, exact + slack, np.zeros(len(exact), bool))


def extremes(table: pa.Table, groups: Groups, item: Aggregate) -> Expected:
    rows = duckdb_rows.numbers_of(groups.answers.column(item.name))
    return Exactly(plain_at(table.column(item.column), rows))


def plain_at(column: pa.ChunkedArray, rows: np.ndarray) -> pa.Array:
    return plain_keys(column).take(pa.array(rows, mask=rows < 0))


def integer_sums(values: Values, item: Aggregate) -> Expected:
    sums, scale = values.exact_sums()
    kind = values.column.type
    if pa.types.is_decimal(kind) or item.options.get("wide"):
        low, high = -(10**38) + 1, 10**38 - 1
        target = pa.decimal128(38, scale)
    else:
        signed = not pa.types.is_unsigned_integer(kind)
        low, high = (-(2**63), 2**63 - 1) if signed else (0, 2**64 - 1)
        target = pa.int64() if signed else pa.uint64()
    if any(not low <= total <= high for total in sums):
        return TooLarge()
    shown = [total if n else None for total, n in zip(sums, values.counts(), strict=True)]
    if not pa.types.is_decimal(target):
        return Exactly(pa.array(shown, target))
    return Exactly(decimal_array(shown, target))


def decimal_array(unscaled: list[int | None], target: pa.DataType) -> pa.Array:
    """A decimal128 array from its unscaled integers, without a detour over decimal contexts."""
    data = b"".join((value or 0).to_bytes(16, "little", signed=True) for value in unscaled)
    valid = np.array([value is not None for value in unscaled], bool)
    bitmap = np.packbits(valid, bitorder="little").tobytes()
    buffers = [pa.py_buffer(bitmap), pa.py_buffer(data)]
    return pa.Array.from_buffers(target, len(unscaled), buffers)


def float_sum(values: np.ndarray) -> float:
    """The sum rounded once; what IEEE says where infinities or NaN take part."""
    if np.isfinite(values).all():
        return math.fsum(values.astype(np.float64))
    return float(values.sum())


def float_sums(values: Values, item: Aggregate) -> Expected:
    members = values.floats()
    sums = np.array([float_sum(one) for one in members])
    errors = np.zeros(len(members))
    if item.options.get("floats") != "exact":
        magnitudes = np.array([float(np.abs(one).sum()) for one in members])
        errors = magnitudes * EPSILON * (2 + np.sqrt(values.counts()))
    return Near(sums, errors, values.counts() == 0)


def means(values: Values, item: Aggregate) -> Expected:
    counts = values.counts()
    divisor = np.maximum(counts, 1)
    if pa.types.is_floating(values.column.type):
        sums = float_sums(values, item)
        assert isinstance(sums, Near)
        quotients = sums.values / divisor
        return Near(quotients, sums.errors / divisor + np.abs(quotients) * EPSILON, counts == 0)
    totals, scale = values.exact_sums()
    exact = [Fraction(t, int(n) * 10**scale) for t, n in zip(totals, divisor, strict=True)]
    quotients = np.array([float(value) for value in exact])
    return Near(quotients, np.abs(quotients) * 4 * EPSILON, counts == 0)


def spreads(values: Values, item: Aggregate) -> Expected:
    """Variances, or their roots. The error that is allowed is that of a sound method: a few
    roundings times sqrt(1 + mean^2 / variance), not its square, which a difference of sums has."""
    ddof = item.options.get("ddof", 1)
    members = values.floats()
    result, errors = np.zeros(len(members)), np.zeros(len(members))
    for at, one in enumerate(members):
        count = len(one)
        if count <= ddof:
            continue
        mean = one.mean()
        with np.errstate(invalid="ignore"):  # of an infinity it is no number
            variance = float(((one - mean) ** 2).sum() / (count - ddof))
        scale = math.sqrt(variance * (variance + float(mean) ** 2)) if variance < math.inf else 0
        error = (8 + count) * EPSILON * scale
        error += ((8 + count) * EPSILON * float(abs(mean))) ** 2
        result[at], errors[at] = variance, error
    if item.function == "stddev":
        errors = np.maximum(
            np.sqrt(result + errors) - np.sqrt(result),
            np.sqrt(result) - np.sqrt(np.maximum(result - errors, 0)),
        )
        result = np.sqrt(result)
        errors += result * 2 * EPSILON
    return Near(result, errors, values.counts() <= ddof)


def quantiles(values: Values, item: Aggregate) -> Expected:
    """Between the two values around the asked rank, with the stated error: a share of the value,
    or for moments of the distance from the column's earliest, and for days half a day. NaN is left
    out."""
    q = item.options["q"]
    column = values.column
    origin = 0.0
    if pa.types.is_temporal(column.type):
        column = pa.chunked_array([plain(column)])
        origin = pc.min(column).as_py() or 0
    day = 86_400_000 if pa.types.is_date64(values.column.type) else 1
    rounded = day / 2 if pa.types.is_temporal(values.column.type) else 0
    members = [one[~np.isnan(one)] for one in Values(values.groups, column).floats()]
    low, high = np.zeros(len(members)), np.zeros(len(members))
    for at, one in enumerate(members):
        if len(one) == 0:
            continue
        ordered = np.sort(one)
        rank = q * (len(one) - 1)
        share = 0 if len(one) <= EXACT_VALUES else QUANTILE_ERROR
        below, above = ordered[math.floor(rank)], ordered[math.ceil(rank)]
        low[at], high[at] = below, above
        if math.isfinite(below):
            low[at] -= share * abs(below - origin) + rounded
        if math.isfinite(above):
            high[at] += share * abs(above - origin) + rounded
    return Between(low, high, np.array([len(one) == 0 for one in members], bool))


def firsts(values: Values, item: Aggregate) -> Expected:
    starts = values.groups.starts
    rows = np.full(len(starts) - 1, -1)
    some = values.counts() > 0
    rows[some] = values.groups.rows[starts[:-1][some]]
    return Exactly(plain_at(values.column, rows))


_EXACT: dict[str, Callable[[pa.Table, Groups, Aggregate], Expected]] = {
    "count": answered,
    "count_distinct": answered,
    "bool_and": answered,
    "bool_or": answered,
    "quantile_disc": answered,
    **dict.fromkeys(BITS, answered),
    "approx_distinct": approx_distinct,
    "min": extremes,
    "max": extremes,
}
_COMPUTED: dict[str, Callable[[Values, Any], Expected]] = {
    "sum": float_sums,
    "mean": means,
    "var": spreads,
    "stddev": spreads,
    "quantile": quantiles,
    "first": firsts,
    "any": lambda values, item: OneOf(values),
}
