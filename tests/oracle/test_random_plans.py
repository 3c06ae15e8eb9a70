"""Random plans as a whole, over memory and files, against the same plans step by step."""

from __future__ import annotations

from pathlib import Path

import pytest
from random_plans import Differences

PLANS = 1000


@pytest.mark.parametrize("seed", [1, 2, 3])
def test_plans_give_what_their_steps_give(seed: int, tmp_path: Path) -> None:
    differences = Differences(seed, tmp_path)
    for number in range(PLANS):
        differences.run(number)
    counts = differences.counts
    assert not counts.differences, "\n\n".join(counts.differences[:5])
    assert counts.plans > PLANS * 0.98
    assert counts.of_csv > PLANS * 0.05
    assert counts.kept_rows > PLANS  # most plans keep some rows, or they would show little
