"""crossdock perf: what it measures, prints and refuses."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

SMALL = ("--size", "256KiB", "--repeat", "2", "--memory", "512MiB")


@pytest.mark.parametrize(
    "pattern", ["exchange", "gather", "scatter", "p2p", "bisection", "broadcast", "loopback"]
)
def test_threads_of_one_process(crossdock: Any, pattern: str) -> None:
    ended = crossdock("perf", pattern, "--transport", "threads", "--ranks", "3", *SMALL, "--json")
    assert (ended.code, ended.err) == (0, "")
    found = json.loads(ended.out)
    assert (found["pattern"], found["ranks"], found["processes"]) == (pattern, 3, 1)
    (line,) = found["lines"]
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


@pytest.mark.parametrize(
    ("arguments", "code", "words"),
    [
        (("exchagne",), 2, "Did you mean 'exchange'?"),
        (("exchange", "--width", "17"), 2, "columns have 8 bytes"),
        (("exchange", "--slots", "6"), 2, "no power of two"),
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
    told = {"CROSSDOCK_RANKS": "2", "CROSSDOCK_MEET": str(tmp_path)}
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "crossdock_cli.main", "perf", *arguments],
            env=os.environ | told | {"CROSSDOCK_RANK": str(rank)},
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
    assert "cancelled" in said[0], said
