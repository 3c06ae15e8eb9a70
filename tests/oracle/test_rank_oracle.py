"""Queries over ranks, held against the oracles of one process: joins, group-bys and sorts of every
type and kind, with ranks that have no rows, or all of them. One process per rank runs all cases;
CROSSDOCK_ORACLE_SEED and CROSSDOCK_ORACLE_CASES, with other numbers, make others.
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest
from rank_processes import run_ranks

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
