"""Verbs over ranks: one result, one voice, and one exit code for all."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest
import rank_processes

# The command line, in which rank 2 kills itself where it enters a function: "module:class:name".
KILLED = """
import importlib, os, signal, sys
from crossdock_cli.main import run
module, owner, name = sys.argv[1].split(":")
of = importlib.import_module(module)
if os.environ["CROSSDOCK_RANK"] == "2":
    kill = lambda *_, **__: os.kill(os.getpid(), signal.SIGKILL)
    setattr(getattr(of, owner) if owner else of, name, kill)
sys.exit(run(sys.argv[2:]))
"""


def run_ranks(
    folder: Path, ranks: int, *arguments: str, killed_at: str = ""
) -> list[tuple[int, str, str]]:
    """Exit code, output and errors of each rank of one command line."""
    how = ["-c", KILLED, killed_at] if killed_at else ["-m", "crossdock_cli.main"]
    command = [sys.executable, *how, *arguments]
    ended = rank_processes.run_ranks(command, ranks, folder / "meet", within_s=300, cwd=folder)
    return [(one.code, one.out, one.err) for one in ended]


def test_a_join_is_written_by_all_and_reported_by_one(folder: Path) -> None:
    line = ("join", "visits.parquet", "people.parquet", "--on", "who=id", "--out", "joined")
    first, second = run_ranks(folder, 2, *line, "--json")
    assert (first[0], second[0]) == (0, 0)
    assert json.loads(first[1])["rows"] == 3
    assert second[1:] == ("", "")
    files = sorted((folder / "joined").iterdir())
    assert [file.name for file in files] == ["part-00000.parquet", "part-00001.parquet"]
    assert sum(pyarrow.parquet.read_table(file).num_rows for file in files) == 3


def test_ranks_of_slurm_without_pmi_have_one_voice(folder: Path) -> None:
    """srun says which rank a process is, and the environment only where they meet."""
    (folder / "meet").mkdir()
    line = ("join", "visits.parquet", "people.parquet", "--on", "who=nothing")
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "crossdock_cli.main", *line],
            env={**os.environ, "SLURM_PROCID": str(rank), "SLURM_STEP_NUM_TASKS": "2",
                 "CROSSDOCK_MEET": str(folder / "meet")},
            cwd=folder, stderr=subprocess.PIPE, text=True,
        )
        for rank in range(2)
    ]  # fmt: skip
    said = [rank.communicate(timeout=100)[1] for rank in ranks]
    assert [rank.returncode for rank in ranks] == [1, 1]
    assert "no column 'nothing'" in said[0]
    assert said[1] == ""


def test_ranks_that_are_ended_leave_no_folder(folder: Path) -> None:
    ones = pa.table({"k": pa.repeat(1, 60_000), "v": pa.array(range(60_000))})
    pyarrow.parquet.write_table(ones, folder / "ones.parquet")
    (folder / "meet").mkdir()
    line = ("join", "ones.parquet", "ones.parquet", "--on", "k", "--out", "joined")
    ranks = [
        subprocess.Popen(
            [sys.executable, "-m", "crossdock_cli.main", *line],
            env={**os.environ, "CROSSDOCK_RANK": str(rank), "CROSSDOCK_RANKS": "2",
                 "CROSSDOCK_MEET": str(folder / "meet")},
        )
        for rank in range(2)
    ]  # fmt: skip
    try:
        while len(list(folder.glob(".*.partial.joined/*"))) < 2:
            assert all(rank.poll() is None for rank in ranks), "the join must run until it is ended"
            time.sleep(0.05)
        for rank in ranks:
            rank.send_signal(signal.SIGTERM)
        # The rank whose signal comes second may have heard of the end of the other.
        assert ranks[0].wait(60) in (1, 143)
        assert 143 in (ranks[0].wait(60), ranks[1].wait(60))
    finally:
        for rank in ranks:
            rank.kill()
            rank.wait()
    assert not list(folder.glob("*joined*"))
    assert not list(folder.glob(".*joined*"))


def test_one_rank_says_what_went_wrong(folder: Path) -> None:
    for line, code in (
        (("sort", "nowhere.parquet", "--by", "id"), 1),
        (("sort", "people.parquet", "--by", "idd"), 1),
        (("sort", "people.parquet"), 2),
    ):
        first, second = run_ranks(folder, 2, *line)
        assert (first[0], second[0]) == (code, code)
        assert first[1] == second[1] == second[2] == ""
        assert len(first[2].splitlines()) < 8
        assert first[2]


@pytest.mark.parametrize(
    ("killed_at", "target"),
    [
        ("crossdock.ranks.members:Ranks:eagerly", "joined"),  # before its rows go
        ("crossdock.engine.execution:Execution:operation", "joined"),  # before it joins what came
        ("crossdock.ranks.members:Ranks:rows_to_one", "joined.parquet"),  # before it sends results
        ("crossdock.files.writers::write_file", "joined"),  # before it writes its file
    ],
)
def test_a_rank_that_is_killed_ends_all_and_leaves_nothing(
    folder: Path, killed_at: str, target: str
) -> None:
    before = {path.name for path in folder.iterdir()}
    line = ("join", "visits.parquet", "people.parquet", "--on", "who=id", "--out", target)
    *others, last = run_ranks(folder, 3, *line, killed_at=killed_at)
    assert last[0] == -signal.SIGKILL
    assert all(code == 1 for code, _, _ in others)
    assert "CD-617" in others[0][2]
    assert "rank 2" in others[0][2]
    assert {path.name for path in folder.iterdir()} - before <= {"meet"}


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
def test_mpirun_is_all_it_takes(folder: Path) -> None:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    verb = [sys.executable, "-m", "crossdock_cli.main", "groupby", "visits.parquet"]
    ended = subprocess.run(
        [
            "mpirun",
            "--oversubscribe",
            "-n",
            "3",
            *verb,
            "--by",
            "who",
            "--agg",
            "n=count(*)",
            "--json",
        ],
        cwd=folder,
        env=os.environ | root,
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )
    assert ended.returncode == 0, ended.stderr
    report = json.loads(ended.stdout)
    assert report["rows"] == 2
    assert sorted(row["n"] for row in report["preview"]) == [1, 2]


@pytest.mark.skipif(
    shutil.which("mpirun") is None
    or not Path(xd.__file__).with_name("libcrossdock_mpi_openmpi.so").exists(),
    reason="needs Open MPI and its plugin",
)
def test_ranks_calibrate_what_moves_between_them(folder: Path) -> None:
    """One voice; rates of exchanges alone; nothing is stored without the work of one process."""
    more = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    verb = [sys.executable, "-m", "crossdock_cli.main", "calibrate", "--rows", "10000"]
    command = ["mpirun", "--oversubscribe", "-n", "2", *verb, "--repeat", "1", "--json"]
    environment = os.environ | more | {"CROSSDOCK_RATES": str(folder / "rates.json")}
    tried, stored = (
        subprocess.run(
            [*command, option], env=environment, capture_output=True, text=True, check=False,
            timeout=300,
        )
        for option in ("--dry-run", "--anyway")
    )  # fmt: skip
    assert tried.returncode == 0, tried.stderr
    report = json.loads(tried.stdout)
    assert all(name.startswith("exchange.") for name in report["rates_ns"])
    assert (report["ranks"], len(report["works"]), len(report["puts"])) == (2, 7, 4)
    assert stored.returncode != 0
    assert "without mpirun, before" in stored.stderr
    assert not (folder / "rates.json").exists()
