"""The benches: `python bench join`, `operators`, `queries`, `analytics`, `scan`, `control`,
`channels`, `mpi` or `sim`; then `--help`.

Exit status: 0 all results agree (whether or not the bars are met), 1 two engines disagree or a row
died, 2 wrong usage.
"""

from __future__ import annotations

import sys
from importlib import import_module

from harness.command import Bench, main
from harness.programs import ROOT

BENCHES = ("join", "operators")  # engines beside engines
# With a command line of their own: whole queries, and programs beside other programs.
PROGRAMS = ("queries", "analytics", "scan", "control", "channels", "mpi", "sim")


def run(arguments: list[str]) -> int:
    if not arguments or arguments[0] not in (*BENCHES, *PROGRAMS):
        print(__doc__)
        return 0 if arguments in (["--help"], ["-h"]) else 2
    sys.path.insert(0, str(ROOT / "tools"))  # rank_processes.py
    workloads = import_module(f"{arguments[0]}.workloads")
    if arguments[0] in PROGRAMS:
        status: int = workloads.main(arguments[1:])
        return status
    bench: Bench = workloads.BENCH
    return main(bench, arguments[1:])


if __name__ == "__main__":
    sys.exit(run(sys.argv[1:]))
