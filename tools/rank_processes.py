"""Processes of this machine as the ranks of a group that meets in a folder: for tests and benches.

`crossdock perf --ranks` starts its own, which it watches while they run.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

# How variables begin by which a launcher, or a user, tells a rank what it is.
LAUNCHERS = ("CROSSDOCK_", "PMIX_", "PMI_", "OMPI_", "SLURM_")


@dataclass(frozen=True, slots=True)
class Ended:
    """How a rank ended."""

    code: int
    out: str
    err: str


def outside_of_groups() -> dict[str, str]:
    """The variables of this process without those of launchers and of Crossdock."""
    return {name: text for name, text in os.environ.items() if not name.startswith(LAUNCHERS)}


def run_ranks(
    command: Sequence[str],
    ranks: int,
    meet: Path,
    *,
    within_s: float,
    environment: Mapping[str, str] | None = None,
    cwd: Path | None = None,
) -> list[Ended]:
    """Runs a command as each rank; all are over, or ended, when this returns or raises.

    `environment`: what ranks have beside their numbers; outside_of_groups() unless given.
    """
    meet.mkdir(exist_ok=True)
    inherited = outside_of_groups() if environment is None else environment
    started = []
    try:
        for rank in range(ranks):
            given = {
                "CROSSDOCK_RANK": str(rank),
                "CROSSDOCK_RANKS": str(ranks),
                "CROSSDOCK_MEET": str(meet),
            }
            started.append(
                subprocess.Popen(
                    command,
                    env={**inherited, **given},
                    cwd=cwd,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.PIPE,
                    text=True,
                )
            )
        outputs = [process.communicate(timeout=within_s) for process in started]
    finally:
        for process in started:
            process.kill()
            process.wait()
    return [
        Ended(process.returncode, *said) for process, said in zip(started, outputs, strict=True)
    ]
