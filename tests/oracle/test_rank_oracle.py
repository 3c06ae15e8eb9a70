"""Queries over ranks, held against the oracles of one process: joins, group-bys and sorts of every
type and kind, with ranks that have no rows, or all of them. One process per rank runs all cases;
CROSSDOCK_ORACLE_SEED and CROSSDOCK_ORACLE_CASES, with other numbers, make others.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rank_processes import outside_of_groups, run_ranks

SEED = int(os.environ.get("CROSSDOCK_ORACLE_SEED", "1"))
CASES = int(os.environ.get("CROSSDOCK_ORACLE_CASES", "12"))
WITHIN_S = 900


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7, 8])
def test_cases_over_ranks(ranks: int, tmp_path: Path) -> None:
    program = Path(__file__).with_name("rank_run.py")
    command = [sys.executable, str(program), str(SEED * 100 + ranks), str(CASES)]
    ended = run_ranks(command, ranks, tmp_path, within_s=WITHIN_S)
    assert [one.code for one in ended] == [0] * ranks, ended[0].err or ended[-1].err
    (done,) = {one.out for one in ended}
    assert int(done) > 3 * CASES


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
@pytest.mark.parametrize("ranks", [2, 5])
def test_cases_over_ranks_of_mpi(ranks: int) -> None:
    """The same where rows move in bulk."""
    ended = _ran_by_mpi("rank_run.py", ranks, SEED * 100 + 50 + ranks, CASES)
    assert ended.returncode == 0, ended.stderr
    done = set(ended.stdout.split())
    assert len(done) == 1
    assert int(done.pop()) > 3 * CASES


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
def test_random_plans_over_ranks() -> None:
    """Plans of relations have the rows of one process, step by step."""
    ended = _ran_by_mpi("rank_plans.py", 3, SEED, 2 * CASES)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout.split() == [str(2 * CASES), "plans"]


def _ran_by_mpi(
    program: str, ranks: int, seed: int, cases: int
) -> subprocess.CompletedProcess[str]:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    path = str(Path(__file__).with_name(program))
    return subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(ranks), sys.executable, path, str(seed),
         str(cases)],
        env=outside_of_groups() | root, capture_output=True, text=True, timeout=WITHIN_S,
        check=False,
    )  # fmt: skip
