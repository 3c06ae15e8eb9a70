"""Both benches at a fraction of their size: every engine gives the same result on every row."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {"work", "ours_s", "peers", "ratio", "memcpy_fraction", "bar", "met"}


def small_run(report: Path, bench: str, *options: str) -> dict[str, Any]:
    command = [sys.executable, "bench", bench, "--rows-scale", "0.001", "--repeat", "1"]
    run = subprocess.run(
        [*command, "--json", str(report), *options],
        cwd=ROOT,
        capture_output=True,
        text=True,
        timeout=300,
        check=False,
    )
    assert run.returncode == 0, run.stdout + run.stderr
    rows = json.loads(report.read_text())["rows"]
    assert all(row.keys() >= FIELDS for row in rows)
    return {row["name"]: row for row in rows}


def test_join(tmp_path: Path) -> None:
    rows = small_run(tmp_path / "join.json", "join")
    assert rows.keys() >= {"sparse", "dense", "tpch-memory", "two-column"}


def test_operators(tmp_path: Path) -> None:
    rows = small_run(tmp_path / "operators.json", "operators")
    assert rows.keys() >= {"group-10m-sparse", "q1", "sort-urls", "merge-sorted", "memory-sort"}
    assert {"duckdb", "polars", "datafusion", "pyarrow"} <= rows["sort-lineitem"]["peers"].keys()


def test_an_unknown_row_proposes_the_nearest() -> None:
    run = subprocess.run(
        [sys.executable, "bench", "operators", "--only", "group-lineitm"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=False,
    )
    assert run.returncode == 1
    assert "did you mean group-lineitem?" in run.stderr
