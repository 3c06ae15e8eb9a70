"""The rows of the control bench: channels among all GPUs of machines from the catalogue, planned
here, and channels created in one process (creation_work.py) and through gRPC (rpc_work.py).

The work is done by C++ programs, bench/control/optimizer/planning_bench.cpp and
bench/control/rpc/rpc_bench.cpp, which are built first and started once per row. Adding a row is
adding an entry to `WORKS`.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from dataclasses import dataclass
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from harness import measure
from harness.engines import OURS
from harness.measure import Sample, Series
from harness.programs import ProgramError, build, call
from harness.report import Row, best_peer, header, machine, print_row, summary, verdict, write_json
from harness.work import Bar

from control import creation_work, rpc_work
from control.creation_work import CreationWork
from control.rpc_work import RpcWork

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = "planning_bench"
IDLE_WAIT_S = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class PlanningWork:
    """A channel from each of `endpoints` GPUs to each of them.

    `what` is a first channel, with an optimizer that knows nothing, or a second one over the same
    endpoints. `baselines` are forms of plain Edmonds-Karp on the whole graph, run once if they are
    `slow`. `memory_of` makes it a row of bytes: at most in proportion to that many endpoints.
    """

    name: str
    title: str
    machine: str
    endpoints: int
    bar: Bar
    what: str = "first"
    baselines: tuple[str, ...] = ()
    slow: bool = False
    memory_of: tuple[str, int] | None = None


WORKS = (
    PlanningWork(
        name="first-100",
        title="channel among 100 GPUs, 13 DGX A100",
        machine="dgx-a100:13",
        endpoints=100,
        bar=Bar(at_most_s=1e-3),
        baselines=("joint", "pairs"),
        slow=True,
    ),
    PlanningWork(
        name="first-1024",
        title="channel among 1,024 GPUs, 128 HGX H100",
        machine="superpod-h100:128",
        endpoints=1024,
        bar=Bar(at_most_s=10e-3),
        baselines=("joint",),
        slow=True,
    ),
    PlanningWork(
        name="first-16384",
        title="channel among 16,384 GPUs, 2,048 HGX H100",
        machine="superpod-h100:2048",
        endpoints=16384,
        bar=Bar(at_most_s=150e-3),
    ),
    PlanningWork(
        name="second-100",
        title="same 100 GPUs again, beside the first",
        machine="dgx-a100:13",
        endpoints=100,
        bar=Bar(ratio=10.0),
        what="second",
    ),
    PlanningWork(
        name="second-16384",
        title="same 16,384 GPUs again, beside the first",
        machine="superpod-h100:2048",
        endpoints=16384,
        bar=Bar(ratio=10.0),
        what="second",
    ),
    PlanningWork(
        name="memory-16384",
        title="plan for 16,384 GPUs, beside 16 for 1,024",
        machine="superpod-h100:2048",
        endpoints=16384,
        bar=Bar(ratio=1.0),
        memory_of=("superpod-h100:128", 1024),
    ),
)

AnyWork = PlanningWork | CreationWork | RpcWork

ALL_WORKS: tuple[AnyWork, ...] = (*WORKS, *creation_work.WORKS, *rpc_work.WORKS)


def empty_row(work: AnyWork, repeat: int) -> Row:
    return {
        "work": work.title, "name": work.name, "unit": "s", "bar": work.bar.text(), "met": None,
        "ours_s": None, "ours_spread": None, "peers": {}, "counted": [], "ratio": None,
        "predicted_s": None, "mrows_per_s": None, "memcpy_fraction": None, "disturbed": False,
        "repeats": repeat, "threads": 1,
    }  # fmt: skip


def time_row(program: Path, work: PlanningWork, repeat: int) -> Row:
    machine_name, endpoints = work.machine, work.endpoints
    samples: dict[str, list[Sample]] = {}
    said: dict[str, Any] = {}
    baselines = ",".join(work.baselines) or "none"
    # Quick baselines run in every round; slow ones once, and ours alone again for its median.
    rounds = [(1, baselines), (repeat, "none")] if work.slow else [(repeat, baselines)]
    for count, which in rounds:
        said, share = call(program, machine_name, endpoints, work.what, count, which)
        for form, times in said["samples_s"].items():
            samples.setdefault(form, []).extend(Sample(wall_s, share) for wall_s in times)
    series = {form: Series(times) for form, times in samples.items()}
    row = empty_row(work, repeat)
    row["peers"] = {form: one.median_s() for form, one in series.items() if form != OURS}
    # One joint flow names only some of the pairs, so its time is shown and not compared with.
    row["counted"] = [form for form in row["peers"] if not form.endswith("-joint")]
    row["ours_s"], row["ours_spread"] = series[OURS].median_s(), series[OURS].spread()
    best = best_peer(row["peers"], row["counted"])
    row["ratio"] = best[1] / row["ours_s"] if best else None
    row["disturbed"] = series[OURS].disturbed()
    row["samples_s"] = {form: [one.wall_s for one in times] for form, times in samples.items()}
    return row | {key: value for key, value in said.items() if key != "samples_s"}


def memory_row(program: Path, work: PlanningWork) -> Row:
    assert work.memory_of is not None
    large, _ = call(program, work.machine, work.endpoints, "first", 1, "none")
    small, _ = call(program, *work.memory_of, "first", 1, "none")
    times = work.endpoints / work.memory_of[1]
    in_proportion = times * small["plan_bytes"]
    row = empty_row(work, 1) | {
        "unit": "bytes",
        "ours_bytes": large["plan_bytes"],
        "peer_bytes": {f"{times:g} x {work.memory_of[1]:,} GPUs": in_proportion},
        "ratio": in_proportion / large["plan_bytes"],
    }
    return row | {key: value for key, value in large.items() if key != "samples_s"}


def measured(work: AnyWork, repeat: int) -> Row:
    if isinstance(work, RpcWork):
        return rpc_work.rpc_row(call, build(rpc_work.PROGRAM), work, empty_row(work, repeat))
    if isinstance(work, CreationWork):
        program, row = build(creation_work.PROGRAM), empty_row(work, repeat)
        return creation_work.creation_row(call, program, work, row)
    program = build(PROGRAM)
    return memory_row(program, work) if work.memory_of else time_row(program, work, repeat)


def print_sizes(row: Row) -> None:
    per_endpoint = row["plan_bytes"] / row["endpoints"]
    print(
        f"      plan {row['plan_bytes']:,} bytes, {per_endpoint:.1f} per endpoint; tables of all "
        f"different servers {row['table_bytes']:,} bytes"
    )


def parse(arguments: list[str]) -> argparse.Namespace:
    names = [work.name for work in ALL_WORKS]
    parser = argparse.ArgumentParser(
        prog="python bench control",
        description="Planning of channels, beside plain Edmonds-Karp on the whole graph, and their "
        "creation through gRPC",
        epilog="rows: " + ", ".join(names),
    )
    parser.add_argument("--repeat", type=int, default=21, help="timed rounds (default 21)")
    parser.add_argument(
        "--only", action="append", default=[], metavar="NAME", help="row or pattern"
    )
    default = ROOT / "build" / "bench" / "control.json"
    parser.add_argument("--json", type=Path, default=default, help="report to write")
    options = parser.parse_args(arguments)
    if options.repeat < 1:
        parser.error("--repeat must be positive")
    for pattern in options.only:
        if not any(fnmatch(name, pattern) for name in names):
            parser.error(f"no row named {pattern!r}; rows: {', '.join(names)}")
    return options


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    rows: list[Row] = []
    failed: list[str] = []
    facts = machine()
    print(f"# control bench: {facts['cpu']}, {os.cpu_count()} cores, 1 thread")
    print(header(), flush=True)
    for work in ALL_WORKS:
        if options.only and not any(fnmatch(work.name, pattern) for pattern in options.only):
            continue
        if options.repeat >= 3:
            measure.wait_until_idle(IDLE_WAIT_S)
        try:
            row = measured(work, options.repeat)
        except (ProgramError, subprocess.TimeoutExpired) as failure:
            failed.append(work.name)
            print(f"  {work.title}: FAILED, {failure}", flush=True)
            continue
        row["met"] = verdict(work.bar, row) if row["bar"] else None
        rows.append(row)
        print_row(row)
        if isinstance(work, RpcWork):
            rpc_work.print_rates(row)
        elif isinstance(work, CreationWork):
            creation_work.print_creations(row)
        else:
            print_sizes(row)
    print(summary(rows))
    write_json(options.json, "control", rows, failed)
    print(f"# wrote {options.json}")
    return 1 if failed else 0
