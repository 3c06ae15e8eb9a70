"""Phases over ranks: means, the last rank, shares of ranks, text and trace."""

from __future__ import annotations

from typing import Any

import crossdock as xd
import pytest
from crossdock.ranks.phases import ended, over_ranks, own_phases, phase_lines, trace_events
from crossdock.ranks.places import (
    Places,
    places_of,
    predicted_moves,
    predicted_total,
    prediction_lines,
)


def rank(number: int, total_s: float, *phases: tuple[str, float], **parts: float) -> dict[str, Any]:
    took: list[dict[str, Any]] = [{"name": name, "seconds": seconds} for name, seconds in phases]
    if parts:
        took[0]["parts"] = parts
    return {"rank": number, "total_s": total_s, "phases": took}


RANKS = [
    rank(0, 1.0, ("network partition", 0.6), ("build", 0.2), partition=0.4, put=0.2),
    rank(1, 3.0, ("network partition", 1.0), ("build", 0.4), ("build", 0.2), put=0.6),
    rank(2, 2.0, ("network partition", 0.8), ("spill", 0.9), partition=0.2, flush=0.3),
]


def test_the_ranks_side_by_side() -> None:
    result = over_ranks(RANKS)
    assert [phase["name"] for phase in result["phases"]] == ["network partition", "build", "spill"]
    partition, build, spill = result["phases"]
    assert partition["mean_s"] == pytest.approx(0.8)
    assert (partition["max_s"], partition["min_s"], partition["longest_in"]) == (1.0, 0.6, 1)
    assert partition["parts"] == pytest.approx({"partition": 0.2, "put": 0.8 / 3, "flush": 0.1})
    assert build["seconds"] == pytest.approx([0.2, 0.6, 0.0])
    assert spill["mean_s"] == pytest.approx(0.3)
    assert result["total"]["mean_s"] == pytest.approx(2.0)
    assert result["imbalance_s"] == pytest.approx(1.0)
    assert result["other_s"] == pytest.approx(2.0 - 0.8 - 0.8 / 3 - 0.3)


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


def facts(number: int, how: str, received: int, seconds: float) -> dict[str, Any]:
    move = {"rule": "by key", "how": how, "sent_rows": 1000, "sent_bytes": 16_000}
    return {
        "rank": number,
        "host": "one",
        "exchanges": [move | {"received_rows": received, "seconds": seconds}],
    }


def test_exchanges_are_predicted_from_what_went_between_ranks() -> None:
    even, uneven = (
        predicted_moves([facts(0, "in bulk", rows, 0.1), facts(1, "in bulk", 2000 - rows, 0.3)])
        for rows in (1000, 1900)
    )
    expected = places_of(["one", "one"]).phases(2000, 16, 16, 0.5)
    assert even[0]["predicted_s"] == pytest.approx(sum(expected.values()))
    assert (even[0]["rows"], even[0]["measured_s"]) == (2000, 0.3)
    assert uneven[0]["predicted_s"] > even[0]["predicted_s"]
    assert prediction_lines(even)[0].startswith("exchange by key: predicted ")
    assert prediction_lines(even)[0].endswith(", took 300 ms")


def test_a_run_is_predicted_as_its_exchanges_and_the_mean_of_its_steps() -> None:
    ranks = [
        facts(number, "in bulk", 1000, 0.1) | {"predicted_s": steps_s}
        for number, steps_s in enumerate((0.2, 0.4))
    ]
    exchange_s = predicted_moves(ranks)[0]["predicted_s"]
    assert predicted_total(ranks) == pytest.approx(exchange_s + 0.3)
    ranks[0]["exchanges"][0]["how"] = "by channel"
    assert predicted_total(ranks) is None


def test_how_rows_went_decides_what_they_cost() -> None:
    def seconds(**changes: Any) -> float:
        ranks = [facts(number, "in bulk", 1000, 0.1) for number in (0, 1)]
        for rank in ranks:
            rank["exchanges"][0] |= {"received_bytes": 16_000} | changes
        return float(predicted_moves(ranks)[0]["predicted_s"])

    places = places_of(["one", "one"])
    cut = [{"name": "cut", "seconds": 0.1}]
    for changes, form in (
        ({}, {}),
        ({"rule": "into partitions"}, {"into_partitions": True}),
        ({"phases": cut}, {"by_order": True}),
    ):
        expected = places.phases(2000, 16, 16, 0.5, **form)
        assert seconds(**changes) == pytest.approx(sum(expected.values()))
    assert len({seconds(), seconds(rule="into partitions"), seconds(phases=cut)}) == 3


def test_no_model_tells_of_channels() -> None:
    moves = predicted_moves([facts(0, "by channel", 1000, 0.1), facts(1, "by channel", 1000, 0.1)])
    assert moves[0]["predicted_s"] is None
    assert prediction_lines(moves) == []


def test_places() -> None:
    assert places_of(["a", "a", "b", "a"], 5e9).ranks_per_node == 3
    assert places_of(["a", "a"], 5e9).node_bytes_per_s == 0  # no link between them
    assert places_of(["a", "b"], 5e9).node_bytes_per_s == 5e9


def test_rows_that_a_source_knows_are_predicted() -> None:
    import pyarrow as pa

    places = Places(ranks=4, ranks_per_node=2, cores_per_node=2, node_bytes_per_s=1e9)
    with xd.connect() as dock:
        numbers = dock.from_arrow(pa.table({"k": [1, 2, 3], "v": [1.0, 2.0, 3.0]}))
        strings = dock.from_arrow(pa.table({"k": ["a"]}))
        expected = sum(places.phases(12, 16, 16).values())
        filtered = numbers.filter(xd.col("k") > 1)
        assert places.predicted(filtered._node) == (12, pytest.approx(expected))
        assert places.predicted(strings._node) is None
        assert places.predicted(numbers.sort("k")._node) is None
