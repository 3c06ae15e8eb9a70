"""Phases over ranks: means, the last rank, shares of ranks, text and trace."""

from __future__ import annotations

from typing import Any

import pytest
from crossdock.ranks.phases import ended, over_ranks, own_phases, phase_lines, trace_events


def rank(number: int, total_s: float, *phases: tuple[str, float], **parts: float) -> dict[str, Any]:
    told: list[dict[str, Any]] = [{"name": name, "seconds": seconds} for name, seconds in phases]
    if parts:
        told[0]["parts"] = parts
    return {"rank": number, "total_s": total_s, "phases": told}


RANKS = [
    rank(0, 1.0, ("network partition", 0.6), ("build", 0.2), partition=0.4, put=0.2),
    rank(1, 3.0, ("network partition", 1.0), ("build", 0.4), ("build", 0.2), put=0.6),
    rank(2, 2.0, ("network partition", 0.8), ("spill", 0.9), partition=0.2, flush=0.3),
]


def test_the_ranks_side_by_side() -> None:
    found = over_ranks(RANKS)
    assert [phase["name"] for phase in found["phases"]] == ["network partition", "build", "spill"]
    partition, build, spill = found["phases"]
    assert partition["mean_s"] == pytest.approx(0.8)
    assert (partition["max_s"], partition["min_s"], partition["longest_in"]) == (1.0, 0.6, 1)
    assert partition["parts"] == pytest.approx({"partition": 0.2, "put": 0.8 / 3, "flush": 0.1})
    assert build["seconds"] == pytest.approx([0.2, 0.6, 0.0])
    assert spill["mean_s"] == pytest.approx(0.3)
    assert found["total"]["mean_s"] == pytest.approx(2.0)
    assert found["imbalance_s"] == pytest.approx(1.0)
    assert found["other_s"] == pytest.approx(2.0 - 0.8 - 0.8 / 3 - 0.3)


# As the paper's table 1: of 1,024 processes.
def test_shares_of_ranks() -> None:
    totals = [4.34 - n / 1000 for n in range(1024)]
    assert ended(totals, 1.0) == 4.34
    assert ended(totals, 0.5) == pytest.approx(4.34 - 512 / 1000)
    assert sum(total <= ended(totals, 0.99) for total in totals) >= 0.99 * 1024
    assert sum(total < ended(totals, 0.99) for total in totals) < 0.99 * 1024
    assert [ended([2.0], share) for share in (0.5, 1.0)] == [2.0, 2.0]
    assert ended([1.0, 2.0], 0.5) == 1.0


def test_text() -> None:
    lines = phase_lines(RANKS)
    assert lines[0].split() == ["phase", "mean", "longest", "shortest", "in", "rank"]
    assert lines[1].split() == ["network", "partition", "800", "ms", "1.00", "s", "600", "ms", "1"]
    assert lines[2].split() == ["partition", "200", "ms"]
    names = [line.split("  ")[0] for line in lines]
    assert [name for name in names if name in ("other", "imbalance", "total")] == [
        "other", "imbalance", "total",
    ]  # fmt: skip
    assert lines[-1].startswith("ranks that had ended: 50% 2.00 s (+0 µs), 75% 3.00 s")
    assert lines[-1].endswith("100% 3.00 s (+1.00 s)")


def test_trace() -> None:
    events = trace_events(RANKS)
    assert [e["args"]["name"] for e in events if e["ph"] == "M"] == ["rank 0", "rank 1", "rank 2"]
    second = [event for event in events if event["ph"] == "X" and event["pid"] == 1]
    assert [event["name"] for event in second] == ["network partition", "build", "build"]
    assert [event["ts"] for event in second] == pytest.approx([0.0, 1.0e6, 1.4e6])
    assert second[0]["args"] == {"put": 0.6}


def test_what_a_rank_tells() -> None:
    moves = [
        {"rule": "by key", "seconds": 0.5},
        {"rule": "to all", "seconds": 0.3, "phases": [{"name": "histogram", "seconds": 0.1}]},
    ]
    profile = {"phases": [{"name": "build", "measured_s": 0.2}, {"name": "not run"}]}
    steps = [
        {"operator": "read", "measured_s": 0.1, "profile": None},
        {"operator": "hash_join", "measured_s": 0.3, "profile": profile},
    ]
    assert own_phases(moves, steps) == [
        {"name": "exchange", "seconds": 0.5},
        {"name": "histogram", "seconds": 0.1},
        {"name": "read", "seconds": 0.1},
        {"name": "build", "seconds": 0.2},
    ]
