"""The command line of whole queries, and the processes that it starts: one for each part.

A part is a suite at a scale factor in a mode; it inherits no heap of another.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from harness.engines import OURS
from harness.programs import ROOT
from harness.report import Row, machine, write_json
from harness.results import WrongResultError

from queries import report
from queries.catalogue import SUITES, chosen
from queries.engines import DEFAULT_PEERS, ENGINES
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
    add("--without-ours", action="store_true", help="measure the peers alone")
    add("--threads", type=int, default=2, help="threads of every engine (default 2)")
    add("--json", type=Path, default=ROOT / "build" / "bench" / "queries.json")
    add("--kept", type=Path, metavar="FILE", help="an earlier report or baseline to show beside")
    add("--rows-to", type=Path, help=hidden)  # child: one part, its rows into a file
    options = parser.parse_args(arguments)
    options.peers = [peer for peer in options.peers.split(",") if peer]
    options.queries = [name for name in options.queries.split(",") if name]
    unknown = [peer for peer in options.peers if peer not in peers]
    if unknown:
        parser.error(f"unknown peer {unknown[0]!r}; known: {', '.join(peers)}")
    if options.rounds < 1 or options.threads < 1 or (options.scale or 1.0) <= 0:
        parser.error("--scale, --rounds and --threads must be positive")
    if options.queries and not options.suite:
        options.suite = next((s for s in SUITES if options.queries[0] in SUITES[s]), "tpch")
    return options


def parts_of(options: argparse.Namespace) -> list[Part]:
    ours = () if options.without_ours else (OURS,)
    return [
        Part(suite, scale, mode, options.rounds, options.threads, (*ours, *options.peers))
        for suite in ([options.suite] if options.suite else SUITES)
        for scale in ([options.scale] if options.scale else STANDARD_SCALES[suite])
        for mode in ([options.mode] if options.mode else MODES)
    ]


def in_child(part: Part, options: argparse.Namespace) -> list[Row]:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "rows.json"
        command = [*COMMAND, "--rows-to", str(target), "--suite", part.suite, "--mode", part.mode]
        command += ["--scale", str(part.scale), "--queries", ",".join(options.queries)]
        command += ["--rounds", str(part.rounds), "--threads", str(part.threads)]
        command += ["--peers", ",".join(options.peers)]
        command += ["--without-ours"] if options.without_ours else []
        done = subprocess.run(command, timeout=PART_LIMIT_S, check=False)
        if done.returncode != 0 or not target.exists():
            raise WrongResultError(f"{part.title}: exit status {done.returncode}")
        rows: list[Row] = json.loads(target.read_text())
        return rows


def one_part(part: Part, options: argparse.Namespace) -> int:
    """Body of a part's process."""
    try:
        timings = measured(part, chosen(part.suite, options.queries))
    except WrongResultError as wrong:
        print(f"bench: {part.title}, {wrong}", file=sys.stderr)
        return 1
    options.rows_to.write_text(json.dumps(report.rows_of(part, timings)))
    return 0


def run_all(options: argparse.Namespace) -> int:
    if not options.without_ours and find_spec(OURS) is None:
        print(f"bench: {sys.executable} has no crossdock", file=sys.stderr)
        print("  try  make bench-queries  ·  or --without-ours", file=sys.stderr)
        return 2
    parts = parts_of(options)
    for part in parts:
        chosen(part.suite, options.queries)  # names are checked before anything runs
    facts, kept = machine(), report.kept_ratios(options.kept) if options.kept else {}
    print(f"# queries bench: {facts['cpu']}, {facts['cores']} cores, {options.threads} threads")
    print("# " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    rows: list[Row] = []
    failed: list[str] = []
    for part in parts:
        try:
            of_part = in_child(part, options)
        except (WrongResultError, subprocess.TimeoutExpired) as failure:
            print(f"# FAILED: {failure}", flush=True)
            failed.append(part.title)
            break  # no time counts beside a wrong result
        report.print_part(part.title, of_part, kept)
        rows += of_part
    write_json(options.json, "queries", rows, failed)
    print(f"# wrote {options.json}")
    return 1 if failed else 0


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.rows_to:
        return one_part(parts_of(options)[0], options)
    return run_all(options)
