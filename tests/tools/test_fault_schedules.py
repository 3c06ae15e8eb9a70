"""tools/fault_schedules.py: shares that leave no seed out, and what it refuses."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tools"))

import fault_schedules  # noqa: E402


@pytest.mark.parametrize("shares", [1, 7, 13])
def test_shares_have_each_seed_once(shares: int) -> None:
    ranges = [fault_schedules.seeds_of(share, shares, 1000) for share in range(1, shares + 1)]
    seeds = [seed for first, last in ranges for seed in range(first, last + 1)]
    assert seeds == list(range(1000))


@pytest.mark.parametrize("share", ["0/7", "8/7", "3", "a/b", ""])
def test_what_is_no_share_is_refused(share: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert fault_schedules.main([share]) == 2
    assert "a share of a million" in capsys.readouterr().err


def test_its_searches_are_cases_of_the_tests() -> None:
    sources = "".join(
        file.read_text(encoding="utf-8") for file in (ROOT / "tests/sim").rglob("*_test.cpp")
    )
    for _, case, _ in fault_schedules.SEARCHES:
        suite, name = case.split(".")
        assert f"TEST({suite}, {name})" in sources
