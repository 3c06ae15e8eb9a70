"""crossdock generate and calibrate: what they write and say."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest


def test_generate_and_join(crossdock: Any, tmp_path: Path) -> None:
    folder = str(tmp_path / "pairs")
    ended = crossdock("generate", folder, "--rows", "2k", "--ratio", "4", "--selectivity", "0.5")
    assert (ended.code, ended.err) == (0, "")
    lines = ended.out.splitlines()
    assert lines[0] == "inner         2,000 rows, unique keys"
    assert lines[1] == "outer         8,000 rows, 4,000 with partner"
    counted = crossdock("join", f"{folder}/outer", f"{folder}/inner", "--on", "key", "--count")
    assert counted.out == "4000\n"


def test_generate_as_a_rank(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OMPI_COMM_WORLD_SIZE", "2")
    for rank in range(2):
        monkeypatch.setenv("OMPI_COMM_WORLD_RANK", str(rank))
        ended = crossdock("generate", str(tmp_path), "--rows", "1000", "--zipf", "1", "--json")
        assert ended.code == 0
        if rank == 1:
            assert ended.out == ""
            continue
        report = json.loads(ended.out)
        assert (report["ranks"], report["files"], report["rows"]) == (2, 2, 1000)
    assert pq.read_table(tmp_path / "outer").num_rows == 1000


def test_generate_in_a_batch_script_writes_all(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A batch script of Slurm is one process, though its job has several tasks."""
    monkeypatch.setenv("SLURM_PROCID", "0")
    monkeypatch.setenv("SLURM_NTASKS", "4")
    ended = crossdock("generate", str(tmp_path), "--rows", "1000", "--files", "4", "--json")
    assert ended.code == 0
    assert json.loads(ended.out)["ranks"] == 1
    assert pq.read_table(tmp_path / "inner").num_rows == 1000


def test_generate_refuses_a_rank_that_is_none(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSDOCK_RANK", "2")
    ended = crossdock("generate", str(tmp_path), "--rows", "1000")
    assert ended.code == 1
    assert "set CROSSDOCK_RANK and CROSSDOCK_RANKS" in ended.err
    monkeypatch.setenv("CROSSDOCK_RANKS", "2")
    ended = crossdock("generate", str(tmp_path), "--rows", "1000")
    assert ended.code == 1
    assert "rank 2 of 2" in ended.err


@pytest.mark.parametrize("rows", ["0", "1.5", "many", "-3", "2X"])
def test_generate_refuses_rows(crossdock: Any, tmp_path: Path, rows: str) -> None:
    ended = crossdock("generate", str(tmp_path), f"--rows={rows}")
    assert ended.code == 2
    assert "is no number of rows" in ended.err


@pytest.fixture
def few_cache_reads(monkeypatch: pytest.MonkeyPatch) -> None:
    """A bandwidth is read once, not five times; these tests look at none."""
    monkeypatch.setattr("crossdock.machines.calibration._CACHE_READS", 1)


@pytest.mark.usefixtures("few_cache_reads")
def test_calibrate_stores_rates_that_info_names(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rates.json"
    monkeypatch.setenv("CROSSDOCK_RATES", str(path))
    small = ("calibrate", "--rows", "10000", "--repeat", "1")
    tried = crossdock(*small, "--dry-run")
    assert tried.code == 0
    assert tried.out.splitlines()[0].split() == ["work", "measured", "predicted"]
    assert not path.exists()
    assert "rates       built-in: none measured yet" in crossdock("info").out
    report = json.loads(crossdock(*small, "--anyway", "--json").out)
    assert report["file"] == str(path)
    assert report["rates_ns"]["join.scatter"] > 0
    assert f"rates       measured {report['measured']}" in crossdock("info").out
    doctor = json.loads(crossdock("doctor", "--json").out)["findings"]
    assert next(f for f in doctor if f["check"] == "rates")["verdict"] == "ok"


@pytest.mark.usefixtures("few_cache_reads")
def test_calibrate_stores_no_rates_that_do_not_fit(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "rates.json"
    monkeypatch.setenv("CROSSDOCK_RATES", str(path))
    monkeypatch.setattr("crossdock.machines.calibration.misfit", lambda works: "all are off")
    ended = crossdock("calibrate", "--rows", "10000", "--repeat", "1")
    assert ended.code == 1
    assert "nothing is stored: all are off" in ended.err
    assert ended.out.splitlines()[0].split() == ["work", "measured", "predicted"]
    assert not path.exists()


def test_calibrate_wants_a_file(crossdock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSDOCK_RATES", "none")
    ended = crossdock("calibrate", "--rows", "10000")
    assert ended.code == 2
    assert "--dry-run" in ended.err
