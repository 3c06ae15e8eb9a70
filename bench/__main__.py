"""The benches: `python bench join` and `python bench operators`; then `--help`.

Exit status: 0 all results agree (whether or not the bars are met), 1 two engines disagree or a row
died, 2 wrong usage.
"""

from __future__ import annotations

import sys
from importlib import import_module

from harness.command import Bench, main

BENCHES = ("join", "operators")


def opened(arguments: list[str]) -> Bench:
    if not arguments or arguments[0] not in BENCHES:
        print(__doc__)
        raise SystemExit(0 if arguments in (["--help"], ["-h"]) else 2)
    bench: Bench = import_module(f"{arguments[0]}.workloads").BENCH
    return bench


if __name__ == "__main__":
    sys.exit(main(opened(sys.argv[1:]), sys.argv[2:]))
