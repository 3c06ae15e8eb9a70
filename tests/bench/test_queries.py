"""The bench of whole queries at a fraction of its size, and what it takes for equal results."""

from __future__ import annotations

import json
import subprocess
import sys
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from harness.engines import Form
from harness.results import WrongResultError
from queries.comparison import Equality, Expected
from queries.report import geometric_mean, summaries
from queries.rounds import check

ROOT = Path(__file__).resolve().parents[2]
FIELDS = {"work", "name", "ours_s", "ours_cpu_s", "peers", "ratio", "cpu_ratio", "bar", "met"}
EXACT = Equality()


def small_run(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "bench", "queries", "--scale", "0.01", *options]
    return subprocess.run(
        command, cwd=ROOT, capture_output=True, text=True, timeout=300, check=False
    )


def rows_of_run(report: Path, *options: str) -> list[dict[str, Any]]:
    run = small_run("--json", str(report), *options)
    assert run.returncode == 0, run.stdout + run.stderr
    rows: list[dict[str, Any]] = json.loads(report.read_text())["rows"]
    return rows


def test_tpch_in_memory_beside_every_engine(tmp_path: Path) -> None:
    peers = "duckdb,polars,polars-in-memory,datafusion"
    options = ("--suite", "tpch", "--mode", "memory", "--rounds", "1", "--peers", peers)
    rows = rows_of_run(tmp_path / "queries.json", *options)
    assert len(rows) == 22
    assert all(row.keys() >= FIELDS for row in rows)
    assert rows[0]["peers"].keys() == set(peers.split(","))
    assert rows[1]["peers"].keys() == {"duckdb", "datafusion"}


def test_a_query_from_files_beside_a_kept_run(tmp_path: Path) -> None:
    kept = tmp_path / "kept.json"
    options = ("--mode", "parquet", "--rounds", "1", "--queries", "6,14", "--peers", "duckdb")
    assert [row["query"] for row in rows_of_run(kept, *options)] == ["6", "14"]
    beside = small_run("--json", str(tmp_path / "again.json"), *options, "--kept", str(kept))
    assert "kept run: geometric mean" in beside.stdout


def test_memory_peaks_and_planning(tmp_path: Path) -> None:
    options = ("--suite", "ssb", "--queries", "Q1.1", "--mode", "memory", "--peers", "duckdb")
    (peaks,) = rows_of_run(tmp_path / "peaks.json", "--memory-peaks", *options)
    assert peaks["ours_bytes"] > peaks["loaded_bytes"]["crossdock"] > 0
    assert peaks["peer_bytes"]["duckdb"] > 0
    (planned,) = rows_of_run(
        tmp_path / "planned.json", "--planning", "--queries", "3", "--rounds", "1"
    )
    assert planned["peers"].keys() == {"duckdb", "polars"}
    assert planned["steps_s"].keys() == {"described", "explained"}


def test_an_unknown_query_proposes_the_nearest() -> None:
    run = small_run("--suite", "ssb", "--queries", "Q3.5")
    assert run.returncode == 1
    assert "did you mean Q3." in run.stderr


RESULT = pa.table({"k": ["a", "b", "c", "d"], "n": [3, 2, 2, 1]})
BY_NUMBER = Expected.of(RESULT, ["n"], None)


def taken(*rows: int) -> pa.Table:
    return RESULT.take(list(rows))


def test_rows_of_equal_keys_may_change_places() -> None:
    assert BY_NUMBER.difference(taken(0, 1, 2, 3), EXACT) is None
    assert BY_NUMBER.difference(taken(0, 2, 1, 3), EXACT) is None
    assert BY_NUMBER.difference(taken(1, 0, 2, 3), EXACT) == "row 0: (b, 2), expected (a, 3)"


def test_rows_of_equal_keys_are_compared_all_the_same() -> None:
    assert BY_NUMBER.difference(taken(0, 1, 1, 3), EXACT) == "row 2: (b, 2), expected (c, 2)"


def test_rows_too_few_and_too_many_are_seen() -> None:
    assert BY_NUMBER.difference(taken(0, 1, 2), EXACT) == "3 rows, expected 4"
    assert BY_NUMBER.difference(taken(0, 1, 2, 3, 3), EXACT) == "5 rows, expected 4"
    assert BY_NUMBER.difference(taken(0, 1), EXACT) == "2 rows, expected 4"


def test_a_limit_may_cut_rows_of_equal_keys() -> None:
    first_two = Expected.of(RESULT, ["n"], 2)
    assert first_two.difference(taken(0, 1), EXACT) is None
    assert first_two.difference(taken(0, 2), EXACT) is None
    assert first_two.difference(taken(0, 3), EXACT) == "row 1: (d, 1), expected (b, 2)"


def test_other_names_of_columns_are_a_difference() -> None:
    assert BY_NUMBER.difference(RESULT.rename_columns(["k", "m"]), EXACT) is not None


def test_numbers_are_compared_by_value() -> None:
    assert EXACT.of_values(7, Decimal("7.00"))
    assert not EXACT.of_values(Decimal("7.00"), Decimal("7.01"))
    assert EXACT.of_values(1.0, 1.0 + 1e-10)
    assert not EXACT.of_values(1.0, 1.0 + 1e-8)
    assert not EXACT.of_values(None, 0)
    assert EXACT.of_values(None, None)
    rounding = Equality(1e-6, rounds_decimals=True)
    assert rounding.of_values(Decimal("1000000.0000"), Decimal("1000000.01"))
    assert not rounding.of_values(Decimal(1000), Decimal(1001))


def test_a_wrong_result_names_query_and_row() -> None:
    with pytest.raises(WrongResultError, match=r"query 7: duckdb gives row 3: \(a, 3\)"):
        check("7", [Form("duckdb", lambda: taken(0, 1, 2, 0))], BY_NUMBER)


def test_summaries_of_ratios() -> None:
    assert geometric_mean([0.5, 2.0]) == pytest.approx(1.0)
    rows = [
        {"suite": "tpch", "scale": 1, "mode": "memory", "query": "1", "ratio": 2.0, "cpu_ratio": 1},
        {"suite": "tpch", "scale": 1, "mode": "memory", "query": "2", "ratio": 0.5, "cpu_ratio": 1},
    ]
    ratio, cpu_ratio, kept = summaries(rows, {("tpch", 1, "memory", "2"): 0.25})
    assert ratio == "ratio: geometric mean 1.000x, worst 0.50x (query 2), 1 of 2 at 1x or more"
    assert cpu_ratio.startswith("CPU ratio: geometric mean 1.000x")
    assert kept == "kept run: geometric mean 0.250x then, 0.500x now"
