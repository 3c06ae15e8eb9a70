"""Joins over ranks that mpirun starts, beside ourselves in one process, memcpy, other engines, and
whatever was measured by hand: `--rival name=seconds` for a row chosen with `--only`. rows.py has
the rows; program_rows.py those of C++ programs.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
from collections.abc import Callable
from fnmatch import fnmatch
from functools import partial
from pathlib import Path
from typing import Any

from harness import measure
from harness.inputs import tpch_file
from harness.measure import Memcpy, ratio_in_turns
from harness.programs import ROOT, ProgramError, output_of
from harness.report import Row, machine, seconds, write_json

from mpi import model_row, program_rows, query_row
from mpi.rows import WORKS, RankWork

WORKER = Path(__file__).with_name("rank_work.py")
LIMIT_S = 120.0
RUNS_A_ROUND = 3
MEMCPY_BYTES = 1 << 28
IDLE_WAIT_S = 10.0


def parse(arguments: list[str]) -> argparse.Namespace:
    names = [*(work.name for work in WORKS), *program_rows.names(), *model_row.NAMES]
    names.append(query_row.NAME)
    parser = argparse.ArgumentParser(
        prog="python bench mpi",
        description="Joins over ranks of one machine beside one process, memcpy and rivals",
        epilog="rows: " + ", ".join(names),
    )
    add = parser.add_argument
    add("--repeat", type=int, default=3, help="rounds of every form (default 3)")
    add("--rows-scale", type=float, default=1.0, help="share of the full rows (default 1)")
    add("--only", action="append", default=[], metavar="NAME", help="row or pattern")
    add("--rival", action="append", default=[], metavar="NAME=SECONDS",
        help="a time measured by hand in the same minutes, for the rows of --only")  # fmt: skip
    add("--mpirun", default="mpirun", help="Open MPI's launcher (default mpirun)")
    add("--json", type=Path, default=ROOT / "build" / "bench" / "mpi.json")
    options = parser.parse_args(arguments)
    if options.repeat < 1 or options.rows_scale <= 0:
        parser.error("--repeat and --rows-scale must be positive")
    for pattern in options.only:
        if not any(fnmatch(name, pattern) for name in names):
            parser.error(f"no row named {pattern!r}; rows: {', '.join(names)}")
    if options.rival and not options.only:
        parser.error("--rival goes with --only: a time is of one work")
    options.rivals = {}
    for text in options.rival:
        name, _, value = text.partition("=")
        try:
            options.rivals[name] = float(value)
        except ValueError:
            parser.error(f"--rival {text} is not NAME=SECONDS")
    return options


def launch(mpirun: str, ranks: int) -> list[str]:
    """What starts a command in so many ranks of this machine. ProgramError: nothing does."""
    if shutil.which(mpirun) is None:
        raise ProgramError(f"there is no {mpirun}")
    how = ["--allow-run-as-root", "--oversubscribe", "--bind-to", "none"]
    return [mpirun, *how, "-n", str(ranks)]


def ran(work: RankWork, options: argparse.Namespace, engine: str = "") -> dict[str, Any]:
    """What one process group says, ours over ranks or another engine in one process."""
    asked = work.asked(RUNS_A_ROUND, options.rows_scale)
    command = [sys.executable, str(WORKER)]
    if engine:
        asked |= {"threads": min(work.ranks, os.cpu_count() or 1), "engine": engine}
    else:
        command = [*launch(options.mpirun, work.ranks), *command]
    said = output_of([*command, json.dumps(asked)], LIMIT_S)
    return dict(json.loads(said.strip().splitlines()[-1]))


def measured(work: RankWork, options: argparse.Namespace) -> Row:
    """Rounds of ours, with one process beside it run by run, and of each engine; two forms with
    different results are an error."""
    if work.source == "tpch":
        tpch_file("lineitem", options.rows_scale)  # made here, not by all ranks at once
    if options.repeat >= 3:
        measure.wait_until_idle(IDLE_WAIT_S)
    memcpy = Memcpy(min(work.ranks, os.cpu_count() or 1), MEMCPY_BYTES)
    samples: dict[str, list[float]] = {}
    said: dict[str, Any] = {}
    for _ in range(options.repeat):
        said = ran(work, options)
        others = [ran(work, options, engine) for engine in work.engines()]
        for one in [said, *others]:
            if one["result"] != said["result"]:
                raise ProgramError(f"{said['result']} over ranks, {one['result']} by an engine")
            for form, times in one["samples_s"].items():
                samples.setdefault(form, []).extend(times)
        memcpy.measure()
    return row_of(work, said, samples, memcpy.tuples_per_s(), options.rivals)


def row_of(
    work: RankWork,
    said: dict[str, Any],
    samples: dict[str, list[float]],
    memcpy_rate: float,
    rivals: dict[str, float],
) -> Row:
    """Medians, ratios and the verdict."""
    medians = {form: statistics.median(times) for form, times in samples.items()}
    ours_s = medians.pop("ours")
    peers = {**medians, "memcpy": said["rows"] / memcpy_rate, **rivals}
    ratios = {peer: peer_s / ours_s for peer, peer_s in peers.items()}
    if "embedded" in samples:
        ratios["embedded"] = ratio_in_turns(samples["embedded"], samples["ours"])
    held = [ratios[peer] >= bar for peer, bar in work.bars.items()]
    if work.most_busy is not None:
        busiest = said["busiest_by_mean"]
        held.append(busiest is not None and busiest <= work.most_busy)
    times = samples["ours"]
    return {
        "name": work.name,
        "work": work.title,
        "ranks": said["size"],
        "ours_s": ours_s,
        "ours_spread": (max(times) - min(times)) / ours_s,
        "peers": peers,
        "ratios": ratios,
        "bars": dict(work.bars),
        "mrows_per_s": said["rows"] / ours_s / 1e6,
        "samples_s": samples,
        "met": all(held) if held else None,
        **{k: v for k, v in said.items() if k not in ("samples_s", "size")},
    }


def print_row(row: Row) -> None:
    met = {True: "yes", False: "NO", None: "-"}[row["met"]]
    print(
        f"  {row['work']}: {seconds(row['ours_s'])} +-{row['ours_spread']:.0%}, "
        f"{row['mrows_per_s']:.0f} Mrows/s, met: {met}"
    )
    for peer, peer_s in row["peers"].items():
        required = f", {row['bars'][peer]:g}x wanted" if peer in row["bars"] else ""
        print(f"      {peer}: {seconds(peer_s)}, ours {row['ratios'][peer]:.2f}x{required}")
    print(f"      predicted of a rank's operators: {seconds(row['predicted_local_s'])}")
    if row["busiest_by_mean"] is not None:
        print(f"      busiest rank: {row['busiest_by_mean']:.2f} of the mean rows received")
    across = row["over_ranks"]
    if across is not None:
        phases = (f"{phase['name']} {seconds(phase['mean_s'])}" for phase in across["phases"])
        print(f"      phases: {', '.join(phases)}; imbalance {seconds(across['imbalance_s'])}")


def _rows_of_modules(
    options: argparse.Namespace,
) -> list[tuple[str, str, Callable[[], Row], Callable[[Row], None]]]:
    """Names, titles, what measures the row, and what prints it."""
    scale, repeat = options.rows_scale, options.repeat

    def in_ranks(row: Callable[..., Row], ranks: int) -> Callable[[], Row]:
        return lambda: row(scale, repeat, launch(options.mpirun, ranks))

    alone = partial(model_row.model_row, scale, repeat)
    over_ranks = in_ranks(model_row.rank_model_row, model_row.RANKS)
    queries = in_ranks(query_row.query_row, query_row.RANKS)
    return [
        (model_row.NAME, model_row.TITLE, alone, model_row.print_model),
        (model_row.RANKS_NAME, model_row.RANKS_TITLE, over_ranks, model_row.print_model),
        (query_row.NAME, query_row.TITLE, queries, query_row.print_queries),
    ]


def main(arguments: list[str]) -> int:
    options = parse(arguments)

    def is_wanted(name: str) -> bool:
        return not options.only or any(fnmatch(name, pattern) for pattern in options.only)

    print(f"# bench of ranks: {machine()['cpu']}, {os.cpu_count()} cores", flush=True)
    rows: list[Row] = []
    failed: list[str] = []

    def attempt(
        name: str, title: str, measure: Callable[[], Row], show: Callable[[Row], None]
    ) -> None:
        try:
            rows.append(measure())
            show(rows[-1])
        except (ProgramError, subprocess.TimeoutExpired) as failure:
            print(f"  {title}: FAILED, {failure}", flush=True)
            failed.append(name)

    for work in filter(lambda work: is_wanted(work.name), WORKS):
        attempt(work.name, work.title, partial(measured, work, options), print_row)
    scale, repeat = options.rows_scale, options.repeat
    for name, of_program in program_rows.rows_wanted(is_wanted):
        measure = partial(of_program, repeat, scale)
        attempt(name, name, measure, program_rows.print_program_row)
    for module_row in _rows_of_modules(options):
        if is_wanted(module_row[0]):
            attempt(*module_row)
    write_json(options.json, "mpi", rows, failed)
    return 1 if failed else 0
