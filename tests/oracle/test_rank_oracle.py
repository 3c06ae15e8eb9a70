"""Queries over ranks, held against the oracles of one process: joins, group-bys and sorts of every
type and kind, with ranks that have no rows, or all of them. One process per rank runs all cases;
CROSSDOCK_ORACLE_SEED and CROSSDOCK_ORACLE_CASES, with other numbers, make others.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SEED = int(os.environ.get("CROSSDOCK_ORACLE_SEED", "1"))
CASES = int(os.environ.get("CROSSDOCK_ORACLE_CASES", "12"))
LAUNCHERS = ("CROSSDOCK_", "PMIX_", "PMI_", "OMPI_", "SLURM_")
WITHIN_S = 900


@pytest.mark.parametrize("ranks", [1, 2, 3, 4, 5, 7, 8])
def test_cases_over_ranks(ranks: int, tmp_path: Path) -> None:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(LAUNCHERS)}
    program = Path(__file__).with_name("rank_run.py")
    started = []
    for rank in range(ranks):
        environment = {
            "CROSSDOCK_RANK": str(rank),
            "CROSSDOCK_RANKS": str(ranks),
            "CROSSDOCK_MEET": str(tmp_path),
            "CROSSDOCK_JOB": "oracle",
        }
        command = [sys.executable, str(program), str(SEED * 100 + ranks), str(CASES)]
        started.append(
            subprocess.Popen(
                command,
                env=clean | environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    try:
        ended = [process.communicate(timeout=WITHIN_S) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    done = {out for out, _ in ended}
    assert [process.returncode for process in started] == [0] * ranks, ended[0][1] or ended[-1][1]
    assert len(done) == 1
    assert int(done.pop()) > 3 * CASES
