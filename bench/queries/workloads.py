"""The command line of whole queries, and the processes that it starts: one for each part.

A part is a suite at a scale factor in a mode; it inherits no heap of another.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

from harness.engines import OURS
from harness.programs import ROOT
from harness.report import Row, machine, write_json
from harness.results import WrongResultError

from queries import memory_peaks, planning_times, report
from queries.catalogue import SUITES, chosen
from queries.engines import DEFAULT_PEERS, ENGINES, OURS_IN_SQL
from queries.rounds import Part, measured

STANDARD_SCALES = {"tpch": (1.0, 5.0), "ssb": (1.0,)}
MODES = ("memory", "parquet")
PART_LIMIT_S = 3 * 3600
COMMAND = [sys.executable, str(ROOT / "bench"), "queries"]


def parse(arguments: list[str]) -> argparse.Namespace:
    peers = [name for name in ENGINES if name != OURS]
    parser = argparse.ArgumentParser(
        prog="python bench queries", description="Whole queries of TPC-H and SSB beside the peers"
    )
    add, hidden = parser.add_argument, argparse.SUPPRESS
    add("--suite", choices=list(SUITES), help="default: all")
    add("--scale", type=float, help="scale factor (default: 1 and 5 for tpch, 1 for ssb)")
    add("--mode", choices=MODES, help="where the tables are (default: both)")
    add("--queries", default="", metavar="1,6,...", help="default: all of the suite")
    add("--rounds", type=int, default=5, help="timed rounds (default 5)")
    add("--peers", default=",".join(DEFAULT_PEERS), help=f"of {','.join(peers)}")
    add("--sql", action="store_true", help="measure ours from SQL, beside ours by relations")
    add("--without-ours", action="store_true", help="measure the peers alone")
    add("--threads", type=int, default=2, help="threads of every engine (default 2)")
    layouts, what = ("string_view", "string"), "layout of strings in Arrow tables (default: views)"
    add("--strings", choices=layouts, default=layouts[0], help=what)
    add("--json", type=Path, default=ROOT / "build" / "bench" / "queries.json")
    add("--kept", type=Path, metavar="FILE", help="an earlier report or baseline to show beside")
    instead = parser.add_mutually_exclusive_group()
    flag = {"action": "store_true"}
    instead.add_argument("--memory-peaks", **flag, help="peak memory of 1, 9, 18 and 21 instead")
    instead.add_argument("--planning", **flag, help="time planning alone instead, over the files")
    add("--rows-to", type=Path, help=hidden)  # child: one part, its rows into a file
    add("--peak-of", help=hidden)  # child: one query of one engine, its peak to standard output
    options = parser.parse_args(arguments)
    options.peers = [peer for peer in options.peers.split(",") if peer]
    if options.sql and OURS_IN_SQL not in options.peers:
        options.peers.append(OURS_IN_SQL)
    options.queries = [name for name in options.queries.split(",") if name]
    unknown = [peer for peer in options.peers if peer not in peers]
    if unknown:
        parser.error(f"unknown peer {unknown[0]!r}; known: {', '.join(peers)}")
    if min(options.rounds, options.threads) < 1 or (
        options.scale is not None and options.scale <= 0
    ):
        parser.error("--scale, --rounds and --threads must be positive")
    if options.queries and not options.suite:
        options.suite = next((s for s in SUITES if options.queries[0] in SUITES[s]), "tpch")
    return options


def parts_of(options: argparse.Namespace) -> list[Part]:
    ours = () if options.without_ours else (OURS,)
    modes = ("parquet",) if options.planning else MODES
    engines = (*ours, *options.peers)
    return [
        Part(suite, scale, mode, options.rounds, options.threads, engines, options.strings)
        for suite in ([options.suite] if options.suite else SUITES)
        for scale in ([options.scale] if options.scale else STANDARD_SCALES[suite])
        for mode in ([options.mode] if options.mode else modes)
    ]


def child_command(part: Part, options: argparse.Namespace) -> list[str]:
    command = [*COMMAND, "--suite", part.suite, "--scale", str(part.scale), "--mode", part.mode]
    command += ["--threads", str(part.threads), "--rounds", str(part.rounds)]
    command += ["--strings", part.strings, *(["--planning"] if options.planning else [])]
    return [*command, "--without-ours"] if options.without_ours else command


def rows_of_part(part: Part, options: argparse.Namespace) -> list[Row]:
    command = child_command(part, options)
    if options.memory_peaks:
        names = options.queries or memory_peaks.QUERIES[part.suite]
        return [memory_peaks.row_of(part, query, command) for query in chosen(part.suite, names)]
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "rows.json"
        command += ["--rows-to", str(target), "--queries", ",".join(options.queries)]
        command += ["--peers", ",".join(options.peers)]
        done = subprocess.run(command, timeout=PART_LIMIT_S, check=False)
        if done.returncode != 0 or not target.exists():
            raise WrongResultError(f"{part.title}: exit status {done.returncode}")
        rows: list[Row] = json.loads(target.read_text())
        return rows


def one_part(part: Part, options: argparse.Namespace) -> int:
    """Body of a part's process."""
    queries = chosen(part.suite, options.queries)
    try:
        rows = (
            planning_times.planned(part, queries)
            if options.planning
            else report.rows_of(part, measured(part, queries))
        )
    except WrongResultError as wrong:
        print(f"bench: {part.title}, {wrong}", file=sys.stderr)
        return 1
    options.rows_to.write_text(json.dumps(rows))
    return 0


def print_rows(part: Part, rows: list[Row], options: argparse.Namespace) -> None:
    if options.memory_peaks:
        memory_peaks.print_peaks(part.title, rows)
    elif options.planning:
        planning_times.print_planned(part.title, rows)
    else:
        kept = report.kept_ratios(options.kept) if options.kept else {}
        report.print_part(part.title, rows, kept)


def run_all(options: argparse.Namespace) -> int:
    if not options.without_ours and find_spec(OURS) is None:
        print(f"bench: {sys.executable} has no crossdock", file=sys.stderr)
        print("  try  make bench-queries  ·  or --without-ours", file=sys.stderr)
        return 2
    parts, facts = parts_of(options), machine()
    for part in parts:
        chosen(part.suite, options.queries)  # names are checked before anything runs
    print(f"# queries bench: {facts['cpu']}, {facts['cores']} cores, {options.threads} threads")
    print("# " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    rows: list[Row] = []
    failed: list[str] = []
    for part in parts:
        try:
            of_part = rows_of_part(part, options)
        except (WrongResultError, subprocess.SubprocessError) as failure:
            print(f"# FAILED: {failure}", flush=True)
            failed.append(part.title)
            break  # no time counts beside a wrong result
        print_rows(part, of_part, options)
        rows += of_part
    write_json(options.json, "queries", rows, failed)
    print(f"# wrote {options.json}")
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.peak_of:
        part = replace(parts_of(options)[0], engines=(options.peak_of,))
        peak = memory_peaks.peak_of(part, chosen(part.suite, options.queries)[0])
        print(json.dumps(peak or {}))
        return 0
    if options.rows_to:
        return one_part(parts_of(options)[0], options)
    return run_all(options)
