"""Counters as dictionaries and for Prometheus, and traces of segments."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.counters import METRICS, to_text
from prometheus_client.parser import text_string_to_metric_families

PAGE = Path(__file__).parents[2] / "docs" / "reference-counters.md"


def numbers(count: int) -> pa.Table:
    return pa.table({"k": pa.array(range(count), pa.int64())})


def samples(text: str) -> dict[tuple[str, frozenset[tuple[str, str]]], float]:
    """What Prometheus reads, by name and labels; all metrics have a type and a text."""
    result = {}
    for family in text_string_to_metric_families(text):
        assert family.type in ("counter", "gauge"), family
        assert family.documentation
        for sample in family.samples:
            key = (sample.name, frozenset(sample.labels.items()))
            assert key not in result
            result[key] = sample.value
    return result


def a_rank() -> dict[str, Any]:
    """Counters as of a rank that is among several hosts."""
    flow = {
        "level": 2,
        "source": 0,
        "outlet": 3,
        "slots": 8,
        "segments_published": 7,
        "stalls": {"ring_full": 1, "no_credit": 2, "link_full": 0},
    }
    link = {"link": 'eth"0\\\n to rank 1', "peer": 1, "bytes_sent": 2**53, "lost": True}
    channel = {"channel": 5, "refused": 1, "memory_bytes": 4096, "flows": [flow]}
    return {"rank": 2, "channels": [channel], "links": [link]}


def test_counters_follow_the_rows(group: xd.Group) -> None:
    assert group.counters() == {"rank": 0, "channels": [], "links": []}
    with group.channel(numbers(1).schema, by="k", segment_bytes="8KiB", slots=4) as channel:
        batch = numbers(100_000).to_batches()[0].slice(0, 8000)
        assert channel.try_send(batch)
        assert not channel.try_send(batch)
        counters = channel.counters()
        (flow,) = counters["flows"]
        assert counters["refused"] == 1
        assert counters["memory_bytes"] == channel.memory_bytes
        assert flow["segments_published"] == flow["slots"] == flow["segments_waiting"] == 4
        assert flow["segments_occupied"] == 4
        assert flow["rows_taken"] == flow["segments_taken"] == 0
        assert flow["stalls"] == {"ring_full": 2, "no_credit": 0, "link_full": 0}
        assert group.counters()["channels"] == [counters]
        assert sum(rows.num_rows for rows in channel) == 8000
        (flow,) = channel.counters()["flows"]
        assert flow["rows_sent"] == flow["rows_taken"] == 8000
        assert flow["bytes_taken"] >= 64_000
        assert flow["segments_published"] == flow["segments_taken"] == flow["segments_given_back"]
        assert flow["segments_waiting"] == flow["segments_occupied"] == 0
    assert group.counters()["channels"] == []


def test_prometheus_reads_them(group: xd.Group) -> None:
    with group.channel(numbers(1).schema, by="k") as channel:
        channel.send(numbers(1000))
        channel.flush()
        result = samples(xd.to_prometheus(group.counters()))
    labels = {"rank": "0", "channel": "1", "level": "1", "source": "0", "outlet": "0"}
    assert result["crossdock_flow_rows_sent_total", frozenset(labels.items())] == 1000
    stalls = labels | {"cause": "no_credit"}
    assert result["crossdock_flow_stalls_total", frozenset(stalls.items())] == 0
    only = frozenset({"rank": "0", "channel": "1"}.items())
    assert result["crossdock_channel_memory_bytes", only] > 0


def test_prometheus_reads_names_with_quotes_and_several_ranks() -> None:
    first = a_rank()
    result = samples(xd.to_prometheus([first, first | {"rank": 3}]))
    link = {"rank": "2", "link": 'eth"0\\\n to rank 1', "peer": "1"}
    assert result["crossdock_link_bytes_sent_total", frozenset(link.items())] == 2**53
    assert result["crossdock_link_lost", frozenset(link.items())] == 1
    assert len([name for name, _ in result if name == "crossdock_flow_slots"]) == 2
    assert xd.to_prometheus([]) == ""


def test_people_read_a_line_per_flow_and_link() -> None:
    lines = to_text(a_rank()).splitlines()
    assert lines[0].split()[:3] == ["rank", "channel", "flow"]
    assert lines[1].split()[:5] == ["2", "5/2", "0", "to", "3"]
    assert lines[1].endswith("ring_full 1, no_credit 2")
    assert lines[-1].endswith("lost")


def test_the_page_names_every_metric() -> None:
    cells = re.findall(
        r"^\| `(\w+)` +\| `(\w+)` +\|", PAGE.read_text(encoding="utf-8"), re.MULTILINE
    )
    assert {(key, name) for key, name in cells if name.startswith("crossdock_")} == {
        (metric.key, metric.name) for metric in METRICS
    }


def test_a_trace_has_every_segment_once(group: xd.Group, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    with (
        group.trace(file),
        group.channel(numbers(1).schema, by="k", segment_bytes="8KiB") as channel,
    ):
        channel.send(numbers(50_000))
        assert sum(rows.num_rows for rows in channel) == 50_000
        (flow,) = channel.counters()["flows"]
    trace = json.loads(file.read_text(encoding="utf-8"))
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    for name in ("waits in its ring", "in use"):
        result = [event["args"]["segment"] for event in slices if event["name"] == name]
        assert sorted(result) == list(range(flow["segments_published"]))
    assert trace["otherData"] == {"notes": 3 * flow["segments_published"], "dropped": 0}


def test_a_trace_is_one_at_a_time_and_bounded(group: xd.Group, tmp_path: Path) -> None:
    with group.trace(tmp_path / "t.json", notes=2):
        with pytest.raises(xd.OptionError, match="running"), group.trace(tmp_path / "u.json"):
            pass
        group.exchange(numbers(1000), by="k")
    trace = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))
    assert trace["otherData"]["notes"] >= 2
    assert trace["otherData"]["dropped"] > 0
    assert not (tmp_path / "u.json").exists()
    with pytest.raises(xd.OptionError, match="notes=0"), group.trace(tmp_path / "t.json", notes=0):
        pass


def test_an_error_leaves_what_the_rank_has_noted(group: xd.Group, tmp_path: Path) -> None:
    file = tmp_path / "t.json"

    def traced() -> None:
        with group.trace(file):
            group.exchange(numbers(1000), by="k")
            _ = 1 // 0

    with pytest.raises(ZeroDivisionError):
        traced()
    assert not file.exists()
    mine = json.loads((tmp_path / "t.rank0.json").read_text(encoding="utf-8"))
    assert mine["otherData"]["notes"] > 0
    with group.trace(file):
        group.exchange(numbers(1000), by="k")
    assert file.exists()
