"""What pages of reproduced figures share: points with their errors, tables, and fitting."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from crossdock.machines.simulated_joins import Strategy

ONE = Strategy("one level", bulk=True)
TWO = Strategy("two levels", bulk=True, two_levels=True)
STREAMING = Strategy("streaming")


@dataclass(frozen=True)
class Point:
    """A published number and ours. `calibrated`: ours was made to fit, so it shows nothing."""

    what: str
    theirs: float
    ours: float
    calibrated: bool = False

    @property
    def error(self) -> float:
        return self.ours / self.theirs - 1


def mean_error(points: Sequence[Point]) -> float:
    """Of those that nothing was calibrated on."""
    errors = [abs(point.error) for point in points if not point.calibrated]
    return sum(errors) / len(errors)


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = ["| " + " | ".join(row) + " |" for row in (head, ["---:"] * len(head), *rows)]
    return "\n".join(lines)


def points_table(points: Sequence[Point], what: str, unit: str) -> str:
    form = ",.0f" if unit == "messages" else ".3g"
    rows = [
        (
            point.what,
            f"{point.theirs:{form}}",
            f"{point.ours:{form}}",
            "calibrated" if point.calibrated else f"{point.error:+.1%}",
        )
        for point in points
    ]
    return table((what, f"theirs, {unit}", f"simulated, {unit}", "error"), rows)


def fitted(value_of: Callable[[float], float], target: float, low: float, high: float) -> float:
    """Where a function that falls meets a value, by halving."""
    for _ in range(40):
        middle = (low + high) / 2
        low, high = (middle, high) if value_of(middle) > target else (low, middle)
    return (low + high) / 2
