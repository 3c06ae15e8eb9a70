"""crossdock perf: what it measures, prints and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from prometheus_client.parser import text_string_to_metric_families

SMALL = ("--size", "256KiB", "--repeat", "2", "--memory", "512MiB")


@pytest.mark.parametrize(
    "pattern", ["exchange", "gather", "scatter", "p2p", "bisection", "broadcast", "loopback"]
)
def test_threads_of_one_process(crossdock: Any, pattern: str) -> None:
    ended = crossdock("perf", pattern, "--transport", "threads", "--ranks", "3", *SMALL, "--json")
    assert (ended.code, ended.err) == (0, "")
    report = json.loads(ended.out)
    assert (report["pattern"], report["ranks"], report["processes"]) == (pattern, 3, 1)
    (line,) = report["lines"]
    assert line["wrong_rows"] == 0
    assert line["rows_per_source"] == 16_384
    assert len(line["seconds"]) == 2
    assert line["predicted_s"] > 0
    assert line["bound"] in ("copying", "reading")
    sources = {"exchange": 3, "gather": 2, "loopback": 3}.get(pattern, 1)
    assert line["rows"] == 2 * sources * 16_384


def test_processes_print_a_table(crossdock: Any) -> None:
    ended = crossdock("perf", "exchange", "--ranks", "3", *SMALL[:1], "64KiB,256KiB", *SMALL[2:])
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "# exchange: 3 processes, transport auto; 1 thread each"
    assert lines[3].split()[:7] == ["size", "rows", "type", "time", "algbw", "busbw", "#wrong"]
    cells = [line.split() for line in lines[5:]]
    assert [row[:4] for row in cells] == [
        ["64.0", "KiB", "4,096", "2xint64"],
        ["256", "KiB", "16,384", "2xint64"],
    ]
    assert all(row[8] == "0" for row in cells)


def test_one_process_needs_no_launcher(crossdock: Any) -> None:
    ended = crossdock("perf", "p2p", "--ranks", "1", *SMALL, "--zipf", "1.2", "--width", "40")
    assert ended.code == 0
    assert "rows of 40 bytes, keys Zipf 1.2;" in ended.out
    assert "5xint64" in ended.out


def test_an_exchange_in_two_levels_counts_messages_by_level(crossdock: Any) -> None:
    who = ("--transport", "threads", "--ranks", "4", "--levels", "2", "--nodes", "2")
    ended = crossdock("perf", "exchange", *who, *SMALL, "--json")
    assert (ended.code, ended.err) == (0, "")
    (line,) = json.loads(ended.out)["lines"]
    assert line["wrong_rows"] == 0
    assert 0 < line["messages_second_level"] < line["messages"]
    ended = crossdock("perf", "gather", *who, *SMALL)
    assert ended.code == 1
    assert "no second level" in ended.err


def check_trace(trace: dict[str, Any], flows: list[dict[str, Any]]) -> None:
    """Every segment that was counted goes through its stages once, in order, and no two segments
    are on one track at a time."""
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    stages: dict[tuple[int, ...], dict[str, Any]] = {}
    tracks: dict[tuple[int, int], list[tuple[float, float]]] = {}
    for event in slices:
        args = event["args"]
        key = tuple(args[name] for name in ("level", "source", "outlet", "segment"))
        assert event["name"] not in stages.setdefault(key, {}), "twice"
        stages[key][event["name"]] = event
        tracks.setdefault((event["pid"], event["tid"]), []).append((event["ts"], event["dur"]))
    counted = {
        (flow["level"], flow["source"], flow["outlet"], segment)
        for flow in flows
        for segment in range(flow.get("segments_published", 0))
    }
    assert set(stages) == counted
    for result in stages.values():
        waits, used = result["waits in its ring"], result["in use"]
        assert waits["ts"] + waits["dur"] <= used["ts"] + 0.002
        assert (waits["pid"], used["pid"]) == (waits["args"]["source"], used["args"]["outlet"])
    for times in tracks.values():
        times.sort()
        for (begin, length), (after, _) in pairwise(times):
            assert begin + length <= after + 0.002


def test_a_trace_and_the_counters_tell_of_the_same_segments(crossdock: Any, tmp_path: Path) -> None:
    file = tmp_path / "t.json"
    options = ("--trace", str(file), "--counters", "json", "--segment", "16KiB")
    ended = crossdock("perf", "exchange", "--ranks", "3", *SMALL, *options)
    assert (ended.code, ended.err) == (0, "")
    ranks = json.loads(ended.out)["counters"]
    assert [result["rank"] for result in ranks] == [0, 1, 2]
    flows = [flow for rank in ranks for channel in rank["channels"] for flow in channel["flows"]]
    for key in ("segments_published", "segments_taken", "segments_given_back"):
        assert sum(flow.get(key, 0) for flow in flows) >= 3 * 16
    for sent, taken in (("rows_sent", "rows_taken"), ("segments_published", "segments_taken")):
        assert sum(flow.get(sent, 0) for flow in flows) == sum(flow.get(taken, 0) for flow in flows)
    trace = json.loads(file.read_text())
    check_trace(trace, flows)
    assert trace["otherData"]["dropped"] == 0


def test_counters_as_text_and_for_prometheus(crossdock: Any) -> None:
    who = ("perf", "p2p", "--ranks", "1", *SMALL)
    ended = crossdock(*who, "--counters", "text")
    assert (ended.code, ended.err) == (0, "")
    assert ended.out.splitlines()[-2].split()[:3] == ["rank", "channel", "flow"]
    ended = crossdock(*who, "--counters", "prometheus")
    assert (ended.code, ended.err) == (0, "")
    families = {family.name for family in text_string_to_metric_families(ended.out)}
    assert {"crossdock_flow_rows_taken", "crossdock_channel_memory_bytes"} <= families


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("exchagne",), 2, "Did you mean 'exchange'?"),
        (("exchange", "--width", "17"), 2, "columns have 8 bytes"),
        (("exchange", "--slots", "6"), 2, "no power of two"),
        (("exchange", "--json", "--counters", "text"), 2, "take one of both"),
        (("exchange", "--counters", "promtheus"), 2, "Did you mean 'prometheus'?"),
        (("exchange", "--trace", "no/such/folder/t.json"), 1, "CD-502"),
        (("exchange", "--size", "lots"), 1, "CD-105"),
        (("exchange", "--link-rate", "1GB"), 1, "CD-105"),
        (("exchange", "--ranks", "1", "--segment", "128B"), 1, "CD-105"),
        (("exchange", "--ranks", "1", "--memory", "16MiB"), 3, "CD-201"),
        (("exchange", "--ranks", "2", "--memory", "16MiB"), 3, "CD-201"),
    ],
)
def test_refused(crossdock: Any, arguments: tuple[str, ...], code: int, words: str) -> None:
    ended = crossdock("perf", *arguments)
    assert ended.code == code, ended.err
    assert words in ended.err
    assert ended.err.count("CD-") <= 1


def test_threads_are_of_one_process(crossdock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSDOCK_RANK", "0")
    ended = crossdock("perf", "exchange", "--transport", "threads")
    assert ended.code == 2
    assert "one process" in ended.err


def test_a_rank_that_is_interrupted_ends_the_others(tmp_path: Path) -> None:
    # The first size is over when its line is printed; the second would take very long.
    arguments = ("p2p", "--size", "64KiB,1TiB", "--repeat", "1", "--memory", "512MiB")
    settings = {"CROSSDOCK_RANKS": "2", "CROSSDOCK_MEET": str(tmp_path)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "crossdock_cli.main", "perf", *arguments],
            env=os.environ | settings | {"CROSSDOCK_RANK": str(rank)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        for rank in range(2)
    ]
    try:
        printed = ranks[0].stdout
        assert printed is not None
        assert any(line.split()[:2] == ["64.0", "KiB"] for line in iter(printed.readline, ""))
        ranks[1].send_signal(signal.SIGINT)
        said = [rank.communicate(timeout=60)[1] for rank in ranks]
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert all(rank.returncode != 0 for rank in ranks)
    # Rank 1 may have been between two sizes, where it just leaves.
    assert "cancelled" in said[0] or "rank 1 " in said[0], said


def test_a_destination_without_flows_of_its_own_names_no_number_of_segments(crossdock: Any) -> None:
    ended = crossdock("perf", "gather", "--ranks", "2", *SMALL)
    assert (ended.code, ended.err) == (0, "")
    assert "keys random; segments of 256 KiB per flow;" in ended.out


@pytest.mark.parametrize("limit", ["--open-within", "--step-within"])
def test_limits_of_waiting_are_numbers_of_seconds(crossdock: Any, limit: str) -> None:
    ended = crossdock("perf", "loopback", limit, "0")
    assert ended.code == 1
    assert f"{limit.strip('-').replace('-', '_')}_s='0.0'" in ended.err
