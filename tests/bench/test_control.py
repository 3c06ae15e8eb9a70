"""The control bench with one round: every plan's flow is that of the whole graph."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "bench", "control", *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=900, check=False
    )


def test_every_row_runs(tmp_path: Path) -> None:
    report = tmp_path / "control.json"
    done = run("--repeat", "1", "--json", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    rows = {row["name"]: row for row in json.loads(report.read_text())["rows"]}
    assert rows.keys() >= {"first-100", "first-1024", "first-16384", "second-100", "memory-16384"}
    assert rows.keys() >= {"rpc-one-2", "rpc-one-64", "rpc-many-2", "rpc-many-64"}
    assert rows["create-2"]["endpoints"] == 2
    assert rows["create-512"]["endpoints"] == 512
    assert rows["rpc-many-2"]["channels_per_s"] > 0
    assert rows["first-100"]["peers"].keys() == {"edmonds-karp-joint", "edmonds-karp-pairs"}
    assert rows["memory-16384"]["met"]
    assert rows["first-16384"]["plan_bytes"] < 16 * rows["first-1024"]["plan_bytes"]


def test_an_unknown_row_names_those_there_are() -> None:
    done = run("--only", "third")
    assert done.returncode == 2
    assert "no row named 'third'; rows: first-100" in done.stderr
