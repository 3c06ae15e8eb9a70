"""A run of our own, and what it was predicted to take before."""

from __future__ import annotations

from dataclasses import dataclass

NEAR = 0.2


@dataclass(frozen=True)
class PredictedRun:
    what: str
    measured_s: float
    predicted_s: float

    @property
    def error(self) -> float:
        return self.predicted_s / self.measured_s - 1
