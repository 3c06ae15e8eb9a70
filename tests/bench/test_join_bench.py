"""The join bench at a thousandth of its size: every engine gives the same result on every row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
SMALL = ["--rows-scale", "0.001", "--repeat", "1"]


def test_all_engines_agree(tmp_path: Path) -> None:
    report = tmp_path / "join.json"
    run = subprocess.run(
        [sys.executable, "bench/join/run.py", *SMALL, "--json", str(report)],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    rows = json.loads(report.read_text())["rows"]
    assert {"sparse", "dense", "tpch-memory", "two-column"} <= {row["name"] for row in rows}
    for row in rows:
        assert {"work", "ours_s", "peers", "ratio", "memcpy_fraction", "bar", "met"} <= row.keys()
