"""The channels bench, small: every row that comes is right, and misuse is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from channels.iperf import pairs_of
from channels.peers import Peers
from channels.places import Place
from channels.rows import GROWTH, MEMORY, WORKS

ROOT = Path(__file__).resolve().parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "bench", "channels", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_an_exchange_of_threads_loses_and_doubles_nothing(tmp_path: Path) -> None:
    report = tmp_path / "channels.json"
    done = bench(
        *("--repeat", "1", "--bytes-scale", "0.02", "--only", "exchange-threads"),
        *("--json", str(report)),
    )
    assert done.returncode == 0, done.stdout + done.stderr
    written = json.loads(report.read_text())
    (row,) = written["rows"]
    assert row["wrong_rows"] == 0
    assert row["endpoints"] == 2
    assert row["peers"].keys() == {"scatter"}
    assert row["met"] in (True, False)
    assert written["failed"] == []


def test_rows_have_names_of_their_own_and_peers_that_exist() -> None:
    names = [work.name for work in (*WORKS, GROWTH, MEMORY)]
    assert len(set(names)) == len(names)
    known = Peers(Path()).forms().keys()
    assert all({*work.bars, *work.peers} <= known for work in WORKS)


@pytest.mark.parametrize(
    ("pattern", "busiest", "moved"),
    [("exchange", 75, 300), ("gather", 300, 300), ("scatter", 100, 100), ("broadcast", 300, 300)],
)
def test_bounds_count_what_leaves_and_reaches_hosts(
    pattern: str, busiest: float, moved: float
) -> None:
    (work,) = (one for one in WORKS if one.name == f"{pattern}-4-hosts-200mbit")
    work = replace(work, bytes=100, place=Place(4, ("200mbit", "200mbit")))
    assert (work.busiest_bytes(), work.moved_bytes()) == (busiest, moved)
    pairs = pairs_of(pattern, 4)
    assert len(pairs) == (12 if pattern == "exchange" else 3)
    assert all(a != b for a, b in pairs)


@pytest.mark.parametrize(
    ("options", "hint"),
    [
        (["--only", "exchange-treads"], "no row named 'exchange-treads'"),
        (["--repeat", "0"], "must be positive"),
        (["--bytes-scale", "-1"], "must be positive"),
    ],
)
def test_misuse_is_refused(options: list[str], hint: str) -> None:
    done = bench(*options)
    assert done.returncode == 2
    assert hint in done.stderr
