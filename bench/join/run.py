"""Join bench: Crossdock beside DuckDB, Polars and DataFusion on the same rows in the same minutes.

    python bench/join/run.py                                 every row at full size
    python bench/join/run.py --only sparse --only 'hits-*'   some rows
    python bench/join/run.py --rows-scale 0.001 --repeat 1   small: a test of results, not of speed

Each row runs in a process of its own. Exit status: 0 all results agree (whether or not the bars
are met), 1 two engines disagree or a row died, 2 wrong usage.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path

from measure import WrongResultError
from peers import OURS, PEERS
from report import Row, header, machine, print_row, summary, write_json
from rows import Options, measure_row, report_peak
from workloads import WORKLOADS, Workload, chosen

ROOT = Path(__file__).resolve().parents[2]
ROW_LIMIT_S = 900


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        description=(__doc__ or "").split("\n", 1)[0],
        epilog="rows: " + ", ".join(work.name for work in WORKLOADS),
    )
    add, hidden = parser.add_argument, argparse.SUPPRESS
    add("--rows-scale", type=float, default=1.0, help="share of the full row counts")
    add("--repeat", type=int, default=5, help="timed rounds (default 5)")
    add("--only", action="append", default=[], metavar="NAME", help="row or pattern; repeatable")
    add("--peers", default=",".join(PEERS), help=f"of {','.join(PEERS)}")
    add("--without-ours", action="store_true", help="measure the peers alone")
    add("--threads", type=int, default=2, help="threads of every engine (default 2)")
    add("--json", type=Path, default=ROOT / "build" / "bench" / "join.json")
    add("--row-to", type=Path, help=hidden)  # child: one row, into a file
    add("--peak-of", help=hidden)  # child: peak memory of one engine
    add("--inputs", type=Path, help=hidden)  # with --peak-of: folder of the Arrow files
    options = parser.parse_args(arguments)
    unknown = [peer for peer in options.peers.split(",") if peer and peer not in PEERS]
    if unknown:
        parser.error(f"unknown peer {unknown[0]!r}; known: {', '.join(PEERS)}")
    if options.rows_scale <= 0 or options.repeat < 1 or options.threads < 1:
        parser.error("--rows-scale, --repeat and --threads must be positive")
    return options


def row_options(options: argparse.Namespace) -> Options:
    return Options(
        scale=options.rows_scale,
        repeat=options.repeat,
        threads=options.threads,
        peers=[peer for peer in options.peers.split(",") if peer],
        with_ours=not options.without_ours,
    )


def in_child(work: Workload, arguments: list[str]) -> Row:
    """One row in a fresh process: no row inherits the heap, threads or pages of another."""
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "row.json"
        command = [sys.executable, __file__, *arguments]
        command += ["--only", work.name, "--row-to", str(target)]
        done = subprocess.run(command, timeout=ROW_LIMIT_S, env=dict(os.environ))
        if done.returncode != 0 or not target.exists():
            raise WrongResultError(f"{work.name}: exit status {done.returncode}")
        row: Row = json.loads(target.read_text())
        return row


def forwarded(options: argparse.Namespace) -> list[str]:
    arguments = ["--rows-scale", str(options.rows_scale), "--repeat", str(options.repeat)]
    arguments += ["--peers", options.peers, "--threads", str(options.threads)]
    return [*arguments, "--without-ours"] if options.without_ours else arguments


def run_all(options: argparse.Namespace) -> int:
    if not options.without_ours and find_spec(OURS) is None:
        print(f"bench: {sys.executable} has no crossdock", file=sys.stderr)
        print("  try  make bench-join  ·  or --without-ours to measure the peers", file=sys.stderr)
        return 2
    facts = machine()
    print(f"# join bench: {facts['cpu']}, {facts['cores']} cores, {options.threads} threads")
    print("# " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    print(header(), flush=True)
    rows, failures = [], []
    for work in chosen(options.only):
        if options.without_ours and work.kind == "scaling":
            continue
        try:
            rows.append(in_child(work, forwarded(options)))
            print_row(rows[-1])
        except (WrongResultError, subprocess.TimeoutExpired) as failure:
            failures.append(work.name)
            print(f"  {work.title}: FAILED, {failure}", flush=True)
    print(summary(rows))
    write_json(options.json, sys.argv, rows, failures)
    print(f"# wrote {options.json}")
    if failures:
        print(f"bench: {len(failures)} row(s) failed: {', '.join(failures)}", file=sys.stderr)
    return 1 if failures else 0


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.peak_of:
        report_peak(chosen(options.only)[0], options.peak_of, options.inputs, options.threads)
        return 0
    if options.row_to:
        try:
            row = measure_row(chosen(options.only)[0], row_options(options))
        except WrongResultError as wrong:
            print(f"bench: {wrong}", file=sys.stderr)
            return 1
        options.row_to.write_text(json.dumps(row))
        return 0
    return run_all(options)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
