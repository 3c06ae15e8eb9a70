"""Rates that explain measured times: non-negative least squares with a pull to the rates known.

A model's prediction is a sum of rates times coefficients (rows over workers, mostly), so measured
times are linear equations. There are fewer of them than rates at times, and rates that always
occur together cannot be separated: each is pulled a little to its built-in value, scaled by how
fast this machine is as a whole.
"""

from __future__ import annotations

import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

# Of a rate to its known value times the machine's factor, beside one equation of weight 1 that owes
# all of its time to it. By the factor: a pull of 0.02 that was not, held what a new group costs
# at half of what it was.
_PULL = 0.01
_LEAST = 0.05  # no rate becomes less than this share of its known value
_MOST = 50.0
_ROUNDS = 2000
_SETTLED = 1e-6


@dataclass(frozen=True)
class Equation:
    """seconds = fixed_s + the sum of coefficients[name] * rate(name); `weight` of its error."""

    seconds: float
    fixed_s: float
    coefficients: Mapping[str, float]
    weight: float = 1.0

    def predicted_s(self, rates: Mapping[str, float]) -> float:
        """With these rates."""
        return self.fixed_s + sum(c * rates[name] for name, c in self.coefficients.items())


def fit_rates(equations: Sequence[Equation], known: Mapping[str, float]) -> dict[str, float]:
    """All rates of `known`, those that occur in an equation fitted to it. Errors are relative to
    the measured seconds. Equations without a time are left out. Deterministic."""
    usable = [equation for equation in equations if equation.seconds > 0 and equation.coefficients]
    names = sorted({name for equation in usable for name in equation.coefficients})
    if not names:
        return dict(known)
    scale = statistics.median(e.seconds / max(e.predicted_s(known), 1e-12) for e in usable)
    # In shares of the known rates: how much of its time each equation owes to each rate.
    rows = [
        [known[name] * equation.coefficients.get(name, 0.0) / equation.seconds for name in names]
        for equation in usable
    ]
    targets = [1 - equation.fixed_s / equation.seconds for equation in usable]
    weights = [equation.weight for equation in usable]
    shares = _solve(rows, targets, weights, scale)
    rates = {name: value * scale for name, value in known.items()}
    return rates | {name: known[name] * share for name, share in zip(names, shares, strict=True)}


def _solve(
    rows: list[list[float]], targets: list[float], weights: list[float], scale: float
) -> list[float]:
    """Least squares by coordinate descent, each unknown between its bounds."""
    shares = [scale] * len(rows[0])
    left = [
        goal - sum(a * s for a, s in zip(row, shares, strict=True))
        for row, goal in zip(rows, targets, strict=True)
    ]
    # Of each unknown the equations that it occurs in: row, weighted coefficient, coefficient.
    columns = [
        [(i, w * row[at], row[at]) for i, (row, w) in enumerate(zip(rows, weights, strict=True))
         if row[at]]
        for at in range(len(shares))
    ]  # fmt: skip
    pull = _PULL / scale**2
    squares = [sum(wa * a for _, wa, a in column) + pull for column in columns]
    for _ in range(_ROUNDS):
        moved = 0.0
        for i, column in enumerate(columns):
            slope = sum(wa * left[at] for at, wa, _ in column) - pull * (shares[i] - scale)
            target = min(max(shares[i] + slope / squares[i], _LEAST * scale), _MOST * scale)
            step = target - shares[i]
            if step:
                shares[i] = target
                for at, _, a in column:
                    left[at] -= a * step
            moved = max(moved, abs(step))
        if moved < _SETTLED * scale:
            break
    return shares
