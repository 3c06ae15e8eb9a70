"""The analytics bench at a fraction of its size, and what it takes for equal results."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from analytics.results import difference

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(("family", "works"), [("groups", 10), ("joins", 5), ("views", 43)])
def test_all_works_beside_the_peers(family: str, works: int, tmp_path: Path) -> None:
    report = tmp_path / "analytics.json"
    command = [sys.executable, "bench", "analytics", "--family", family, "--rows", "20000"]
    command += ["--rounds", "1", "--json", str(report)]
    run = subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )
    assert run.returncode == 0, run.stdout + run.stderr
    rows = json.loads(report.read_text())["rows"]
    assert len(rows) == 2 * works
    without_polars = {row["name"] for row in rows if "polars" not in row["peers"]}
    assert without_polars == ({"referring hosts"} if family == "views" else set())


def test_an_unknown_family_is_refused() -> None:
    command = [sys.executable, "bench", "analytics", "--family", "nothing"]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert run.returncode == 2
    assert "views" in run.stderr


def test_what_makes_results_different() -> None:
    rows = pa.table({"k": ["a", "b"], "c": [1, 2], "m": [0.5, None]})
    same = rows.take(pa.array([1, 0])).cast(
        pa.schema([("k", pa.string_view()), ("c", pa.int32()), ("m", pa.float64())])
    )
    assert difference("SELECT k", rows, same) is None
    assert "3 rows" in str(difference("SELECT k", rows, pa.concat_tables([rows, rows[:1]])))
    other = rows.set_column(1, "c", pa.array([1, 3]))
    assert "a row" in str(difference("SELECT k", rows, other))
    assert difference("SELECT k, c ORDER BY m LIMIT 2", rows, other) is None
    assert "a row" in str(difference("SELECT k, c ORDER BY c DESC LIMIT 2", rows, other))
    large = pa.table({"v": pa.array(range(200_000))})
    assert difference("SELECT v", large, large) is None
    wrong = pa.table({"v": pa.array([*range(199_999), 5])})
    assert "of which all" in str(difference("SELECT v", large, wrong))
