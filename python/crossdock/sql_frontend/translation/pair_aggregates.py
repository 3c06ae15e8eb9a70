"""Aggregates of pairs of values, from variances of their sums and differences, which lose no digits
as sums of products do."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from crossdock.expressions import aggregates
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr, Literal, when
from crossdock.sql_frontend.errors import unsupported

# What is said of the y and the x of pairs, from parts by name.
_Said = Callable[[Mapping[str, Expr]], Expr]

_NAN = Literal(float("nan"))


def _covariance(of: Mapping[str, Expr]) -> Expr:
    return (of["sums"] - of["differences"]) / 4.0


def _correlation(of: Mapping[str, Expr]) -> Expr:
    spread = (of["var_x"] * of["var_y"]).sqrt()
    value = (of["sums"] - of["var_x"] - of["var_y"]) / 2.0 / spread
    return when(of["n"] == 0).then(None).when(spread == 0.0).then(_NAN).otherwise(value)


def _slope(of: Mapping[str, Expr]) -> Expr:
    value = _covariance(of) / of["var_x"]
    return when(of["n"] == 0).then(None).when(of["var_x"] == 0.0).then(_NAN).otherwise(value)


def _intercept(of: Mapping[str, Expr]) -> Expr:
    value = of["mean_y"] - _covariance(of) / of["var_x"] * of["mean_x"]
    return when(of["var_x"] == 0.0).then(None).otherwise(value)


def _determination(of: Mapping[str, Expr]) -> Expr:
    covariance = _covariance(of)
    value = covariance * covariance / (of["var_x"] * of["var_y"])
    is_flat = of["var_y"] == 0.0
    return when(of["var_x"] == 0.0).then(None).when(is_flat).then(1.0).otherwise(value)


def _times_count(name: str) -> _Said:
    return lambda of: of[name] * of["n"].cast("float64")


_OF_PAIRS: dict[str, _Said] = {
    "covar_pop": _covariance,
    "covar": lambda of: _covariance({"sums": of["sums_1"], "differences": of["differences_1"]}),
    "covar_samp": lambda of: _covariance(
        {"sums": of["sums_1"], "differences": of["differences_1"]}
    ),
    "corr": _correlation,
    "regr_slope": _slope,
    "regr_intercept": _intercept,
    "regr_r2": _determination,
    "regr_count": lambda of: of["n"],
    "regr_avgx": lambda of: of["mean_x"],
    "regr_avgy": lambda of: of["mean_y"],
    "regr_sxx": _times_count("var_x"),
    "regr_syy": _times_count("var_y"),
    "regr_sxy": lambda of: _covariance(of) * of["n"].cast("float64"),
}
COMPOSED = frozenset(_OF_PAIRS)


class _Asked(dict[str, Expr]):
    """Columns by the names of parts, those that are asked for."""

    def __missing__(self, name: str) -> Expr:
        self[name] = Column(name)
        return self[name]


def composed(name: str, arguments: Sequence[Expr]) -> tuple[dict[str, Aggregate], Expr]:
    """The aggregates that one is computed from, by name, and what it is of columns of these
    names. SqlError for calls with other arguments."""
    if len(arguments) != 2:
        raise unsupported(f"{name} of other than two columns", word=name)
    asked = _Asked()
    whole = _OF_PAIRS[name](asked)
    y, x = (each.cast("float64") for each in arguments)
    is_pair = arguments[0].is_not_null() & arguments[1].is_not_null()
    parts = {
        "n": lambda: aggregates.count().where(is_pair),
        "sums": lambda: aggregates.var(y + x, 0),  # NULL where one of the two is
        "differences": lambda: aggregates.var(y - x, 0),
        "sums_1": lambda: aggregates.var(y + x, 1),
        "differences_1": lambda: aggregates.var(y - x, 1),
        "var_x": lambda: aggregates.var(x, 0).where(is_pair),
        "var_y": lambda: aggregates.var(y, 0).where(is_pair),
        "mean_x": lambda: aggregates.mean(x).where(is_pair),
        "mean_y": lambda: aggregates.mean(y).where(is_pair),
    }
    return {part: parts[part]() for part in asked}, whole
