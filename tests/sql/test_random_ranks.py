"""Random statements over ranks have the rows of one process, however rows are spread; what is
refused is refused with one error by all. CROSSDOCK_RANDOM_SEED makes others."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from rank_processes import outside_of_groups

SEED = int(os.environ.get("CROSSDOCK_RANDOM_SEED", "1"))
STATEMENTS = 75


@pytest.mark.skipif(shutil.which("mpirun") is None, reason="there is no mpirun")
@pytest.mark.parametrize(("ranks", "moves"), [(2, "auto"), (3, "channels"), (4, "auto")])
def test_random_statements_over_ranks(ranks: int, moves: str) -> None:
    root = {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
    program = str(Path(__file__).with_name("rank_statements.py"))
    ended = subprocess.run(
        ["mpirun", "--oversubscribe", "-n", str(ranks),
         sys.executable, program, str(10 * SEED + ranks), str(STATEMENTS)],
        env=outside_of_groups() | root | {"CROSSDOCK_MOVES": moves},
        capture_output=True, text=True, timeout=900, check=False,
    )  # fmt: skip
    assert ended.returncode == 0, ended.stderr
    same, refused = map(int, ended.stdout.split())
    assert same + refused == STATEMENTS
    assert refused < STATEMENTS / 3
