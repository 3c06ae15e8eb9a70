"""The bench of ranks: verdicts, misuse, and the row of the models at a small size."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from mpi.rows import WORKS, RankWork
from mpi.workloads import row_of

ROOT = Path(__file__).resolve().parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "bench", "mpi", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_rows_have_names_of_their_own_and_peers_that_exist() -> None:
    names = [work.name for work in WORKS]
    assert len(set(names)) == len(names)
    assert all(work.bars.keys() <= {"embedded", "memcpy"} for work in WORKS)


def work(**more: Any) -> RankWork:
    return RankWork(name="one", title="one", rows_per_rank=1000, **more)


SAID = {"rows": 4000, "size": 2, "busiest_by_mean": 1.2, "samples_s": [9.0]}


@pytest.mark.parametrize(
    ("bars", "most_busy", "met"),
    [
        ({"embedded": 0.8}, None, True),
        ({"embedded": 1.1}, None, False),
        ({"embedded": 0.8, "memcpy": 0.5}, None, False),
        ({}, 1.3, True),
        ({}, 1.1, False),
        ({}, None, None),
    ],
)
def test_verdicts(bars: dict[str, float], most_busy: float | None, met: bool | None) -> None:
    samples = {"ours": [1.0, 3.0, 2.0], "embedded": [2.0]}
    row = row_of(work(bars=bars, most_busy=most_busy), SAID, samples, 1e4, {"rival": 3.0})
    assert row["ours_s"] == 2.0
    assert row["ours_spread"] == 1.0
    assert row["ratios"] == pytest.approx({"embedded": 1.0, "memcpy": 0.2, "rival": 1.5})
    assert row["mrows_per_s"] == pytest.approx(0.002)
    assert row["met"] is met


def test_the_models_row(tmp_path: Path) -> None:
    report = tmp_path / "mpi.json"
    small = ("--repeat", "1", "--rows-scale", "0.002", "--only", "model")
    done = bench(*small, "--json", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(report.read_text())["rows"]
    assert len(row["works"]) == 10
    assert all(one["predicted_s"] > 0 and one["measured_s"] > 0 for one in row["works"])
    assert row["near"] == sum(one["is_near"] for one in row["works"])


@pytest.mark.parametrize(
    "options",
    [("--only", "nothing"), ("--rival", "x=1"), ("--only", "dense", "--rival", "x"),
     ("--repeat", "0")],
)  # fmt: skip
def test_misuse_is_refused(options: tuple[str, ...]) -> None:
    assert bench(*options).returncode == 2
