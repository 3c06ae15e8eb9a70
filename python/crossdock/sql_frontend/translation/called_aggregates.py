"""Calls of aggregates in plans, of groups and of windows, as ours."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import pyarrow as pa

from crossdock.expressions import aggregates
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Expr, Literal
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import HIDDEN
from crossdock.sql_frontend.translation.folding import constant
from crossdock.sql_frontend.translation.functions import is_null

DISTINCT = 2  # AGGREGATION_INVOCATION_DISTINCT
OF_ORDER = frozenset(("first_value", "last_value", "string_agg", "array_agg"))  # of their rows
_PLAIN = {
    "min": aggregates.min,
    "max": aggregates.max,
    "bool_and": aggregates.bool_and,
    "bool_or": aggregates.bool_or,
    "bit_and": aggregates.bit_and,
    "bit_or": aggregates.bit_or,
    "bit_xor": aggregates.bit_xor,
    "any_value": aggregates.any,
    "median": aggregates.median_exact,
    "approx_median": aggregates.median,
    "approx_distinct": aggregates.approx_distinct,
}
EXTREMES: dict[object, Callable[..., Aggregate]] = {
    HIDDEN + "arg_min": aggregates.arg_min,
    HIDDEN + "arg_max": aggregates.arg_max,
}
# What a constant behind the order of a call says that it is, as DataFusion does not know it.
QUANTILE_DISC = HIDDEN + "quantile_disc"
MODE = HIDDEN + "mode"
HISTOGRAM = HIDDEN + "histogram"
ENTROPY = HIDDEN + "entropy"
MARKED: dict[object, Callable[..., Aggregate]] = {
    MODE: aggregates.mode,
    HIDDEN + "product": aggregates.product,
    ENTROPY: aggregates.entropy,
    HIDDEN + "mad": aggregates.mad,
    HIDDEN + "skewness": aggregates.skewness,
    HIDDEN + "kurtosis": aggregates.kurtosis,
    HIDDEN + "kurtosis_pop": aggregates.kurtosis_pop,
    QUANTILE_DISC: aggregates.quantile_disc,
}
_SPREADS = {
    "stddev": (aggregates.stddev, 1),
    "stddev_samp": (aggregates.stddev, 1),
    "stddev_pop": (aggregates.stddev, 0),
    "var": (aggregates.var, 1),
    "var_samp": (aggregates.var, 1),
    "var_sample": (aggregates.var, 1),
    "var_pop": (aggregates.var, 0),
}
_SKETCHES = frozenset(("approx_percentile_cont",))
QUANTILES = frozenset(("approx_percentile_cont", "quantile_cont", "percentile_cont"))
AGGREGATES = frozenset(("count", "sum", "avg", *_PLAIN, *_SPREADS, *OF_ORDER, *QUANTILES))
SAME_WHEN_DISTINCT = frozenset(
    ("min", "max", "bool_and", "bool_or", "bit_and", "bit_or", "any_value", "approx_distinct")
)


class Reading(Protocol):
    """What translates the expressions of a plan."""

    def any_of(self, message: Any) -> Any:
        """An expression, or an interval."""

    def type_of(self, expression: Expr) -> pa.DataType:
        """Its type."""

    def narrow(self, expression: Expr) -> Expr:
        """The argument of a sum without a cast to a wider integer, which sums have anyway."""

    def without_float_cast(self, expression: Expr) -> Expr:
        """The argument of a mean without a cast to a double, which means have anyway."""


def called(name: str, arguments: Sequence[Expr], reading: Reading, *, distinct: bool) -> Aggregate:
    """The aggregate that a plan calls by a name. SqlError for what aggregates have not."""
    first = arguments[0] if arguments else None
    if name not in AGGREGATES:
        raise unsupported(f"the aggregate {name}", word=name)
    if name == "count":
        return _count(arguments, distinct)
    if first is None:
        raise unsupported(f"{name}() of nothing")
    if name == "sum":
        return aggregates.sum(reading.narrow(first))
    if name == "avg":
        return aggregates.mean(reading.without_float_cast(first))
    if name in _PLAIN:
        return _PLAIN[name](first)
    if name in ("first_value", "last_value"):
        of_row = aggregates.first if name == "first_value" else aggregates.last
        return of_row(first, ignore_nulls=False)
    if name == "array_agg":
        return aggregates.list_agg(first)
    if name == "string_agg":
        return aggregates.string_agg(first, _separator(arguments))
    if name in _SPREADS:
        build, ddof = _SPREADS[name]
        return build(reading.without_float_cast(first), ddof)
    share = float(constant(arguments[1], "a share"))
    return quantile_of(reading.without_float_cast(first), share, is_sketch=name in _SKETCHES)


def _count(arguments: Sequence[Expr], distinct: bool) -> Aggregate:
    if len(arguments) > 1:
        raise unsupported(
            "count() of several columns", try_="count(*) of (select distinct a, b ...)"
        )
    first = arguments[0] if arguments else Literal(1)
    if isinstance(first, Literal) and not distinct and not is_null(first):
        return aggregates.count()
    return aggregates.count_distinct(first) if distinct else aggregates.count(first)


def _separator(arguments: Sequence[Expr]) -> str:
    if len(arguments) < 2:
        return ","
    separator = constant(arguments[1], "a separator of string_agg")
    return "" if separator is None else str(separator)


def of_marked(mark: object, value: Expr) -> Expr:
    """What a marked aggregate is of, of the value that says its type: FOLDS of rewritten.py."""
    if mark not in (ENTROPY, HISTOGRAM):
        return value
    while isinstance(value, Call):
        if value.function == "list_of":
            return value.arguments[0]
        value = value.arguments[0]
    raise unsupported(f"{str(mark).removeprefix(HIDDEN)} of a constant", try_="a column")


def quantile_of(value: Expr, share: float, *, is_sketch: bool) -> Aggregate:
    """The value below which a share of the values is."""
    build = aggregates.quantile if is_sketch else aggregates.quantile_exact
    return build(value, share)
