"""The channels bench, small: every row that comes is right, and misuse is refused."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

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
