"""The bench of ranks: verdicts, misuse, and the row of the models at a small size."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from channels.places import Place
from harness.engines import PEERS
from mpi import model_row
from mpi.program_rows import ExchangeWork, names, row_of_counts, row_of_forms
from mpi.rows import WORKS, RankWork
from mpi.workloads import row_of

ROOT = Path(__file__).resolve().parents[2]


def bench(*options: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "bench", "mpi", *options]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_rows_have_names_of_their_own_and_peers_that_exist() -> None:
    all_names = [*(work.name for work in WORKS), *names()]
    assert len(set(all_names)) == len(all_names)
    known = {"embedded", "memcpy", *PEERS}
    assert all(work.bars.keys() <= known for work in WORKS)
    assert all(work.source == "tpch" for work in WORKS if work.engines())


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
    samples = {"ours": [1.0, 3.0, 2.0], "embedded": [1.0, 3.0, 6.0]}  # in turns: 1x, 1x, 3x
    row = row_of(work(bars=bars, most_busy=most_busy), SAID, samples, 1e4, {"rival": 3.0})
    assert row["ours_s"] == 2.0
    assert row["ours_spread"] == 1.0
    assert row["ratios"] == pytest.approx({"embedded": 1.0, "memcpy": 0.2, "rival": 1.5})
    assert row["mrows_per_s"] == pytest.approx(0.002)
    assert row["met"] is met


def said_of_form(form: str, samples: list[float], sent: int, moving_s: float) -> dict[str, Any]:
    phases = {"network partition": [moving_s]}
    return {"form": form, "samples_s": samples, "bytes_sent": sent, "phases_s": phases}


@pytest.mark.parametrize(
    ("packed_s", "packed_bytes", "moving_s", "met"),
    [
        (1.0, 400, 1.0, True),
        (2.5, 400, 1.0, False),  # slower than without
        (1.0, 600, 1.0, False),  # too many bytes
        (1.0, 400, 2.0, False),  # half of the links' rate
    ],
)
def test_verdicts_on_exchanges(
    packed_s: float, packed_bytes: int, moving_s: float, met: bool
) -> None:
    asked = ExchangeWork(
        name="one", title="one", place=Place(2, ("1gbit",)), rows_per_rank=1000,
        forms=("packed", "plain"), bars={"plain": 1.0}, bytes_most=0.5, line_least=0.9,
    )  # fmt: skip
    said = [
        said_of_form("packed", [packed_s], packed_bytes, moving_s),
        said_of_form("plain", [2.0], 1000, 1.0),
    ]
    row = row_of_forms(asked, said, packed_bytes / 2)  # of a host, in a second
    assert row["ratios"] == {"plain": pytest.approx(2.0 / packed_s)}
    assert row["bytes_share"] == packed_bytes / 1000
    assert row["line_share"] == pytest.approx(1 / moving_s)
    assert row["met"] is met


def said_of_counts(form: str, messages: int, seconds: float, predicted: int) -> dict[str, Any]:
    sent = {"messages": messages, "predicted_messages": predicted}
    sizes = {"bytes": 8, "predicted_bytes": 8, "buckets": 64}
    return {"form": form, "seconds": seconds, **sent, **sizes}


@pytest.mark.parametrize(
    ("ranks", "seconds", "messages", "met"),
    [(8, 1.0, 10, True), (8, 3.0, 10, False), (2, 3.0, 10, True), (2, 1.0, 50, False),
     (8, 1.0, 9, False)],
)  # fmt: skip
def test_verdicts_on_counts(ranks: int, seconds: float, messages: int, met: bool) -> None:
    """Fast from 8 ranks on, few, and as many as predicted."""
    said = [
        said_of_counts("task buffers", 40, 2.0, 40),
        said_of_counts("chunk buffers", 20, 2.0, 20),
        said_of_counts("contiguous", messages, seconds, 50 if messages == 50 else 10),
    ]
    row = row_of_counts("counts", ranks, said)
    assert row["ours"] == "contiguous"
    assert row["met"] is met


NEEDS_MPI = pytest.mark.skipif(shutil.which("mpirun") is None, reason="needs Open MPI")


@pytest.mark.parametrize(
    "name", [model_row.NAME, pytest.param(model_row.RANKS_NAME, marks=NEEDS_MPI)]
)
def test_the_models_rows(tmp_path: Path, name: str) -> None:
    report = tmp_path / "mpi.json"
    small = ("--repeat", "1", "--rows-scale", "0.002", "--only", name)
    done = bench(*small, "--json", str(report))
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(report.read_text())["rows"]
    assert len(row["works"]) == 10
    assert all(one["predicted_s"] > 0 and one["measured_s"] > 0 for one in row["works"])
    assert row["near"] == sum(one["is_near"] for one in row["works"])


@NEEDS_MPI
def test_queries_over_ranks(tmp_path: Path) -> None:
    report = tmp_path / "mpi.json"
    done = bench(
        "--repeat", "1", "--rows-scale", "0.002", "--only", "queries", "--json", str(report)
    )
    assert done.returncode == 0, done.stdout + done.stderr
    (row,) = json.loads(report.read_text())["rows"]
    assert [one["query"] for one in row["queries"]] == ["3", "5", "10", "12", "14", "19"]
    assert all(one["sent_bytes"] > 0 and one["slower"] > 0 for one in row["queries"])


@pytest.mark.parametrize(
    "options",
    [("--only", "nothing"), ("--rival", "x=1"), ("--only", "dense", "--rival", "x"),
     ("--repeat", "0")],
)  # fmt: skip
def test_misuse_is_refused(options: tuple[str, ...]) -> None:
    assert bench(*options).returncode == 2
