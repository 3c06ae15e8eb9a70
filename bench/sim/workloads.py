"""The rows of the sim bench: how far simulated joins are from published ones, and what simulating
takes.

Errors are those of docs/reproduce.py, over points that nothing was calibrated on, and of our own
runs, predicted before they run: among hosts of network namespaces (which needs root), and joins
over ranks that mpirun starts. Times and memory are of processes of their own: an exchange in which
every pair of 1,024 GPUs has its own flows (bench/sim/sim_bench.cpp), the same by real movers
(bench/sim/stepped), and a join among 16,384 by groups of servers. Where Debian's libsimgrid-dev is
installed, SMPI has a second opinion.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from fnmatch import fnmatch
from functools import partial
from pathlib import Path

from harness.programs import ROOT, ProgramError, build, output_of, watched
from mpi.workloads import launch

from sim import own_runs, rank_joins, second_opinion
from sim.predicted_run import NEAR, PredictedRun

GIB = 1 << 30
PROGRAM = "sim_bench"
# What a join among 16,384 needs, printed by the process that simulates it.
JOIN = """
import resource, sys, json
import crossdock as xd
text = json.dumps(xd.simulate("1e12 x 4e12, 16 B, Zipf 0.5", "superpod-h100:2048", seed=int(sys.argv[1])).to_dict())
print(json.dumps({"text": text, "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024}))
"""  # noqa: E501


@dataclass(frozen=True)
class Row:
    name: str
    what: str
    value: float
    unit: str
    bar: float  # at most
    aim: float

    @property
    def met(self) -> bool:
        return self.value <= self.bar

    def text(self) -> str:
        met = "met" if self.met else "MISSED"
        value, bar, aim = (shown(one, self.unit) for one in (self.value, self.bar, self.aim))
        return f"{self.what:<64} {value:>10}  bar {bar:>8}  aim {aim:>8}  {met}"


def shown(value: float, unit: str) -> str:
    if unit == "%":
        return f"{value:.1%}"
    return f"{value / GIB:.2f} GiB" if unit == "bytes" else f"{value:.3g} {unit}"


def curves() -> list[Row]:
    sys.path.insert(0, str(ROOT / "docs"))
    import reproduce
    import reproduced_buckets
    import reproduced_exchanges
    from reproduced_points import mean_error

    gpus, cores = reproduce.thousand_gpus_world(), reproduce.thousand_cores_world()
    plain = gpus.curve(reproduce.PLAIN_Y, 1, fitted_too=True)
    coded = gpus.curve(reproduce.CODED_Y, reproduce.CODED_SHARE, fitted_too=True)
    sorts = reproduced_buckets.time_points()
    measured = (
        ("gpus-plain", "a thousand GPUs, plain: mean error of 4 points", plain, 0.10),
        ("gpus-coded", "a thousand GPUs, coded: mean error of 4 points", coded, 0.10),
        ("cores-sizes", "1,024 cores, sizes of Table 2: mean error",
         reproduce.table_2(cores), 0.05),
        ("cores-phases", "1,024 cores, phases of Table 3: mean error",
         reproduce.phase_points(cores), 0.05),
        ("cores-4096", "4,096 cores, sort-merge: error", reproduce.fastest(cores)[1], 0.05),
        ("all-to-all", "MGI, all to all over UCX and NCCL: mean error of 6 ratios",
         [one for pattern in reproduced_exchanges.ALL_TO_ALL
          for one in reproduced_exchanges.points(pattern)], 0.10),
        ("patterns", "MGI, one to many and many to one in a server: mean error of 4 ratios",
         [one for pattern in reproduced_exchanges.INSIDE[2:]
          for one in reproduced_exchanges.points(pattern)], 0.10),
        ("between", "MGI, one to many between servers: mean error of 2 ratios",
         reproduced_exchanges.points(reproduced_exchanges.BETWEEN[-1]), 0.10),
        ("sort-after", "Arkouda's sort, after: mean error of 2 times",
         [one for one in sorts if one.what.startswith("after")], 0.10),
        ("sort-before", "Arkouda's sort, before: mean error of 4 times",
         [one for one in sorts if one.what.startswith("before")], 0.10),
    )  # fmt: skip
    return [
        Row(name, what, mean_error(points), "%", bar, 0.05) for name, what, points, bar in measured
    ]


def all_pairs() -> list[Row]:
    said = json.loads(output_of([str(build(PROGRAM)), "superpod-h100:128", "16e9"]))
    what = f"{said['endpoints']:,} GPUs, {said['flows']:,} flows of their own"
    return [
        Row("pairs-time", f"{what}: time", said["wall_s"], "s", 60, 10),
        Row("pairs-memory", f"{what}: memory", said["peak_bytes"], "bytes", 4 * GIB, 4 * GIB),
    ]


def real_movers() -> list[Row]:
    """By the product's own movers, one on each server: all to all, and all to one."""
    program = str(build("stepped_bench"))
    rows = []
    for name, machine, pattern, size, bars in (
        ("movers", "superpod-h100:128", "exchange", "16e9", (60, 10, 4)),
        ("gather", "superpod-h100:2048", "gather", "16777216", (300, 60, 12)),
    ):
        said = json.loads(
            output_of([program, machine, pattern, size, "16777216", "0", "1e-6"], 600)
        )
        what = f"{said['endpoints']:,} GPUs, {said['segments']:,} segments by real movers"
        most_s, aim_s, most_gib = bars
        memory = most_gib * GIB
        rows += [
            Row(f"{name}-time", f"{what}: time", said["wall_s"], "s", most_s, aim_s),
            Row(f"{name}-memory", f"{what}: memory", said["peak_bytes"], "bytes", memory, memory),
        ]
    return rows


def own_rows() -> list[Row]:
    return rows_of_runs("own", "own runs among 2 to 8 hosts", own_runs.runs())


def rank_rows() -> list[Row]:
    """Of ranks that have no cores of their own, so that a busy machine makes all of it wrong."""
    runs = partial(rank_joins.runs, partial(launch, "mpirun"))
    rows, others = watched(lambda: rows_of_runs("mpi", "joins over 2 and 4 MPI ranks", runs()))
    print(f"#   others used {others:.0%} of the cores meanwhile", flush=True)
    return rows


def rows_of_runs(name: str, what: str, runs: Iterable[PredictedRun]) -> list[Row]:
    """How many of our own runs are predicted within 20 %; prints them."""
    rows = []
    for run in runs:
        rows.append(run)
        print(f"#   {run.what:<36} measured {run.measured_s:7.3f} s  predicted "
              f"{run.predicted_s:7.3f} s  {run.error:+.1%}", flush=True)  # fmt: skip
    far = sum(abs(run.error) > NEAR for run in rows) / len(rows)
    mean = sum(abs(run.error) for run in rows) / len(rows)
    what = f"{len(rows)} {what}"
    return [
        Row(f"{name}-far", f"{what}: not within 20 %", far, "%", 0.10, 0.0),
        Row(f"{name}-error", f"{what}: mean error", mean, "%", 0.20, 0.10),
    ]


def opinion() -> list[Row]:
    if not second_opinion.is_there():
        print("# SimGrid is not here (apt install libsimgrid-dev): no second opinion", flush=True)
        return []
    worst = 0.0
    for what, ours_s, theirs_s in second_opinion.opinions():
        print(f"#   {what:<24} ours {ours_s:.6f} s  SMPI {theirs_s:.6f} s", flush=True)
        worst = max(worst, abs(ours_s / theirs_s - 1))
    return [Row("smpi", "put exchange, up to 64 ranks: farthest from SMPI", worst, "%", 0.10, 0.05)]


def large_join() -> list[Row]:
    command = [sys.executable, "-c", JOIN]
    begin = time.monotonic()
    first = json.loads(output_of([*command, "1"]))
    wall_s = time.monotonic() - begin
    again = json.loads(output_of([*command, "1"]))
    what = "16,384 GPUs, seven strategies, Zipf 0.5"
    different = float(first["text"] != again["text"])
    return [
        Row("large-time", f"{what}: time", wall_s, "s", 300, 60),
        Row("large-memory", f"{what}: memory", first["peak_bytes"], "bytes", 12 * GIB, 12 * GIB),
        Row("same-seed", "the same seed twice: bytes that differ", different, "", 0, 0),
    ]


PARTS: dict[str, Callable[[], list[Row]]] = {
    "curves": curves,
    "pairs": all_pairs,
    "movers": real_movers,
    "own": own_rows,
    "mpi": rank_rows,
    "opinion": opinion,
    "large": large_join,
}


def main(arguments: list[str]) -> int:
    parser = argparse.ArgumentParser(
        prog="python bench sim",
        description="Simulated joins beside published ones, and what simulating takes",
        epilog="parts: " + ", ".join(PARTS),
    )
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="part or pattern"
    )
    default = ROOT / "build" / "bench" / "sim.json"
    parser.add_argument("--json", type=Path, default=default, help="report to write")
    options = parser.parse_args(arguments)
    for pattern in options.only:
        if not any(fnmatch(name, pattern) for name in PARTS):
            parser.error(f"no part named {pattern!r}; parts: {', '.join(PARTS)}")
    rows: list[Row] = []
    failed = 0
    for name, part in PARTS.items():
        if options.only and not any(fnmatch(name, pattern) for pattern in options.only):
            continue
        try:
            measured = part()
        except (ProgramError, subprocess.TimeoutExpired) as failure:
            failed += 1
            print(f"{name}: FAILED, {failure}", flush=True)
            continue
        for row in measured:
            print(row.text(), flush=True)
        rows += measured
    print(f"# {sum(row.met for row in rows)} of {len(rows)} rows met")
    options.json.parent.mkdir(parents=True, exist_ok=True)
    report = [{"name": row.name, "value": row.value, "unit": row.unit, "bar": row.bar,
               "met": row.met} for row in rows]  # fmt: skip
    options.json.write_text(json.dumps({"bench": "sim", "rows": report}, indent=2) + "\n")
    print(f"# wrote {options.json}")
    return 1 if failed else 0
