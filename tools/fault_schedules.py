"""Schedules of faults by seed, a share of a million: `python tools/fault_schedules.py 3/7` runs the
third seventh of them, so that a week of nights runs them all.

Both programs are built with the address sanitizer: the flow level (tests/sim) and the product's
own controller, agents and movers under a virtual clock (tests/sim/stepped), which get one schedule
in fifty, since each takes some fifty times as long. A seed that fails prints its command.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "build" / "asan"
SCHEDULES = 1_000_000
# Program, case, and how many schedules there are to one of it.
SEARCHES = (
    ("crossdock_sim_test", "FaultyExchange.TenThousandSchedulesLoseAndDoubleNothing", 1),
    ("crossdock_sim_stepped_test", "SteppedExchange.SchedulesOfFaultsLoseAndDoubleNothing", 50),
)


def seeds_of(share: int, shares: int, schedules: int) -> tuple[int, int]:
    """First and last seed of a share, counted from 1; all shares together have each seed once."""
    return schedules * (share - 1) // shares, schedules * share // shares - 1


def main(arguments: list[str]) -> int:
    named = re.fullmatch(r"([0-9]+)/([0-9]+)", arguments[0]) if len(arguments) == 1 else None
    share, shares = (int(named[1]), int(named[2])) if named else (0, 0)
    if not 1 <= share <= shares:
        print(__doc__, file=sys.stderr)
        return 2
    build = ["cmake", "--build", "--preset", "asan", "--target", *(p for p, _, _ in SEARCHES)]
    for command in (["cmake", "--preset", "asan"], build):
        if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
            return 1
    failed = 0
    for program, case, each in SEARCHES:
        first, last = seeds_of(share, shares, SCHEDULES // each)
        print(f"{program}: seeds {first:,} to {last:,}", flush=True)
        environment = os.environ | {"CROSSDOCK_SEEDS": f"{first}..{last}"}
        command = [str(FOLDER / program), f"--gtest_filter={case}", "--gtest_brief=1"]
        failed += subprocess.run(command, cwd=ROOT, env=environment, check=False).returncode != 0
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
