"""Moments of all rows from those of each rank, about the means, which lose no digits (Chan, Golub
and LeVeque, 1979; Pebay, 2008)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from crossdock.expressions.aggregates import Aggregate

SPREADS = frozenset(("var", "stddev"))
SHAPES = frozenset(("skewness", "kurtosis", "kurtosis_pop"))


@dataclass(frozen=True)
class Moments:
    """How many values there are, their mean, and the sums of powers of their distances from it."""

    count: int = 0
    mean: float = 0.0
    squares: float = 0.0
    cubes: float = 0.0
    fourths: float = 0.0

    def merged(self, other: Moments) -> Moments:
        """Those of the values of both."""
        if not self.count or not other.count:
            return other if other.count else self
        here, there = self.count, other.count
        step = (other.mean - self.mean) / (here + there)
        between = step * step * here * there * (here + there)
        cubes = between * step * (here - there)
        cubes += 3 * step * (here * other.squares - there * self.squares)
        fourths = between * step * step * (here * here - here * there + there * there)
        fourths += 6 * step * step * (here * here * other.squares + there * there * self.squares)
        fourths += 4 * step * (here * other.cubes - there * self.cubes)
        return Moments(
            here + there, self.mean + step * there, self.squares + other.squares + between,
            self.cubes + other.cubes + cubes, self.fourths + other.fourths + fourths,
        )  # fmt: skip

    def value_of(self, function: str, ddof: int) -> float | None:
        """What one of SPREADS or SHAPES is of them, as the engine has it."""
        n = self.count
        if function in SPREADS:
            if n <= max(ddof, 0):
                return None
            spread = self.squares / (n - ddof)
            return math.sqrt(spread) if function == "stddev" else spread
        least = {"skewness": 3, "kurtosis": 4, "kurtosis_pop": 2}[function]
        if n < least or self.squares == 0:
            return None
        variance = self.squares / n
        if function == "skewness":
            return math.sqrt(n * (n - 1)) / (n - 2) * (self.cubes / n / math.pow(variance, 1.5))
        excess = self.fourths / n / variance**2 - 3
        if function == "kurtosis_pop":
            return excess
        return (n - 1) / ((n - 2) * (n - 3)) * ((n + 1) * excess + 6)


def parts_of(item: Aggregate) -> dict[str, Aggregate]:
    """The aggregates of each rank that moments are taken from."""
    named = {"count": (), "mean": (), "var": (("ddof", 0),)}
    if item.function in SHAPES:
        named |= {"skewness": (), "kurtosis_pop": ()}
    return {
        name: Aggregate(name, item.argument, options, item.condition)
        for name, options in named.items()
    }


def of_rank(count: int, mean: float | None, var: float | None, *shape: float | None) -> Moments:
    """The moments of one rank, of its aggregates in the order of parts_of."""
    if not count or mean is None or var is None:
        return Moments()
    skewness, excess = shape or (None, None)
    cubes = fourths = 0.0
    if skewness is not None:
        cubes = skewness * (count - 2) / math.sqrt(count * (count - 1)) * var**1.5 * count
    if excess is not None:
        fourths = (excess + 3) * var * var * count
    return Moments(count, mean, var * count, cubes, fourths)


def value_over_ranks(item: Aggregate, columns: Sequence[Sequence[float | None]]) -> float | None:
    """The value of all rows; columns: those of parts_of, with a row of each rank."""
    whole = Moments()
    for row in zip(*columns, strict=True):
        whole = whole.merged(of_rank(*row))
    return whole.value_of(item.function, dict(item.options).get("ddof", 1))
