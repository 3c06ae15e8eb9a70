"""The channels bench, small: every row that comes is right, and misuse is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from channels.iperf import pairs_of
from channels.memory_work import used_by
from channels.peers import Peers
from channels.places import Disturbance, Place
from channels.rows import GROWTH, MEMORY, WORKS
from harness.programs import ProgramError

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


def disturbance_of(name: str) -> Disturbance:
    (work,) = (one for one in WORKS if one.name == name)
    assert work.disturbance is not None
    return work.disturbance


def link(name: str, bytes_sent: int, is_lost: bool = False) -> dict[str, object]:
    return {"name": f"{name} to rank 1", "bytes_sent": bytes_sent, "is_lost": is_lost}


@pytest.mark.parametrize(
    ("name", "happened", "did_not"),
    [
        (
            "cut",
            [link("link0", 135, False), link("link1", 69, True)],
            [link("link0", 100), link("link1", 100)],
        ),
        (
            "slowed",
            [link("link0", 132), link("link1", 75)],
            [link("link0", 100), link("link1", 98)],
        ),
    ],
)
def test_a_disturbance_that_did_not_happen_fails_its_row(
    name: str, happened: list[object], did_not: list[object]
) -> None:
    disturbance = disturbance_of(name)
    disturbance.check({"links": happened})
    with pytest.raises(ProgramError, match="came too late, or did nothing"):
        disturbance.check({"links": did_not})


def test_the_wrong_link_lost_is_no_cut() -> None:
    with pytest.raises(ProgramError, match="links lost: link0 to rank 1"):
        disturbance_of("cut").check({"links": [link("link0", 1, is_lost=True)]})


def test_memory_is_that_of_one_process_and_not_nothing() -> None:
    rank = {"grown_bytes": 100, "memory_here_bytes": 90, "channel_here_bytes": 6}
    assert used_by(rank) == (16, 6)
    with pytest.raises(ProgramError, match="less than its tables"):
        used_by(rank | {"grown_bytes": 84})


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
