"""The command line of a bench, and the processes it starts: one for each row.

A row in a fresh process inherits no heap, threads or pages of another. Runs that only check results
measure all rows in one, since to import six engines takes longer than most rows.
"""

from __future__ import annotations

import argparse
import difflib
import json
import subprocess
import sys
import tempfile
from dataclasses import dataclass
from fnmatch import fnmatch
from importlib.util import find_spec
from pathlib import Path

from harness.engines import OURS, PEERS
from harness.memory_rows import memory_row, report_peak
from harness.report import Row, header, machine, print_row, summary, write_json
from harness.results import WrongResultError
from harness.rows import SERIOUS_SCALE, Options, measure_row
from harness.work import Work

ROOT = Path(__file__).resolve().parents[2]
ROW_LIMIT_S = 900


@dataclass(frozen=True, slots=True)
class Bench:
    """`name` is what stands behind `python bench`, and what the report is called."""

    name: str
    purpose: str
    works: tuple[Work, ...]
    peers: tuple[str, ...]

    def chosen(self, patterns: list[str]) -> list[Work]:
        """The rows whose name equals or matches a shell pattern; all when there is none."""
        names = [work.name for work in self.works]
        for pattern in patterns:
            if not any(fnmatch(name, pattern) for name in names):
                near = difflib.get_close_matches(pattern, names, 1) or names
                hint = ", ".join(near)
                raise SystemExit(f"bench: no row named {pattern!r}; did you mean {hint}?")
        return [
            work
            for work in self.works
            if not patterns or any(fnmatch(work.name, pattern) for pattern in patterns)
        ]

    def command(self) -> list[str]:
        return [sys.executable, str(ROOT / "bench"), self.name]


def parse(bench: Bench, arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog=f"python bench {bench.name}",
        description=bench.purpose,
        epilog="rows: " + ", ".join(work.name for work in bench.works),
    )
    add, hidden = parser.add_argument, argparse.SUPPRESS
    add("--rows-scale", type=float, default=1.0, help="share of the full row counts")
    add("--repeat", type=int, default=5, help="timed rounds (default 5)")
    add("--only", action="append", default=[], metavar="NAME", help="row or pattern; repeatable")
    add("--peers", default=",".join(bench.peers), help=f"of {','.join(bench.peers)}")
    add("--without-ours", action="store_true", help="measure the peers alone")
    add("--threads", type=int, default=2, help="threads of every engine (default 2)")
    add("--json", type=Path, default=ROOT / "build" / "bench" / f"{bench.name}.json")
    add("--row-to", type=Path, help=hidden)  # child: one row, into a file
    add("--peak-of", help=hidden)  # child: peak memory of one engine
    add("--inputs", type=Path, help=hidden)  # with --peak-of: folder of the Arrow files
    options = parser.parse_args(arguments)
    options.peers = [peer for peer in options.peers.split(",") if peer]
    unknown = [peer for peer in options.peers if peer not in PEERS]
    if unknown:
        parser.error(f"unknown peer {unknown[0]!r}; known: {', '.join(PEERS)}")
    if options.rows_scale <= 0 or options.repeat < 1 or options.threads < 1:
        parser.error("--rows-scale, --repeat and --threads must be positive")
    return options


def in_child(bench: Bench, work: Work, options: argparse.Namespace) -> Row:
    with tempfile.TemporaryDirectory() as folder:
        target = Path(folder) / "row.json"
        command = [*bench.command(), "--only", work.name, "--row-to", str(target)]
        command += ["--rows-scale", str(options.rows_scale), "--repeat", str(options.repeat)]
        command += ["--peers", ",".join(options.peers), "--threads", str(options.threads)]
        command += ["--without-ours"] if options.without_ours else []
        done = subprocess.run(command, timeout=ROW_LIMIT_S, check=False)
        if done.returncode != 0 or not target.exists():
            raise WrongResultError(f"{work.name}: exit status {done.returncode}")
        row: Row = json.loads(target.read_text())
        return row


def row_here(bench: Bench, work: Work, options: argparse.Namespace) -> Row:
    asked = Options(
        scale=options.rows_scale,
        repeat=options.repeat,
        threads=options.threads,
        peers=options.peers,
        with_ours=not options.without_ours,
    )
    if work.kind == "memory":
        command = [*bench.command(), "--only", work.name, "--threads", str(options.threads)]
        return memory_row(work, asked, command)
    return measure_row(work, asked)


def one_row(bench: Bench, options: argparse.Namespace) -> int:
    """Body of a row's process."""
    try:
        row = row_here(bench, bench.chosen(options.only)[0], options)
    except WrongResultError as wrong:
        print(f"bench: {wrong}", file=sys.stderr)
        return 1
    options.row_to.write_text(json.dumps(row))
    return 0


def shares_a_process(work: Work, options: argparse.Namespace) -> bool:
    """Polars takes its threads once for a process."""
    return options.rows_scale < SERIOUS_SCALE and work.threads in (None, options.threads)


def run_all(bench: Bench, options: argparse.Namespace) -> int:
    if not options.without_ours and find_spec(OURS) is None:
        print(f"bench: {sys.executable} has no crossdock", file=sys.stderr)
        hint = f"make bench-{bench.name}  ·  or --without-ours to measure the peers"
        print(f"  try  {hint}", file=sys.stderr)
        return 2
    facts = machine()
    print(
        f"# {bench.name} bench: {facts['cpu']}, {facts['cores']} cores, {options.threads} threads"
    )
    print("# " + ", ".join(f"{name} {number}" for name, number in facts["versions"].items()))
    print(header(), flush=True)
    rows, failures = [], []
    for work in bench.chosen(options.only):
        if options.without_ours and work.kind == "own":
            continue
        try:
            measured = row_here if shares_a_process(work, options) else in_child
            rows.append(measured(bench, work, options))
            print_row(rows[-1])
        except (WrongResultError, subprocess.TimeoutExpired) as failure:
            failures.append(work.name)
            print(f"  {work.title}: FAILED, {failure}", flush=True)
    print(summary(rows))
    write_json(options.json, bench.name, rows, failures)
    print(f"# wrote {options.json}")
    if failures:
        print(f"bench: {len(failures)} row(s) failed: {', '.join(failures)}", file=sys.stderr)
    return 1 if failures else 0


def main(bench: Bench, arguments: list[str]) -> int:
    options = parse(bench, arguments)
    if options.peak_of:
        work = bench.chosen(options.only)[0]
        report_peak(work, options.peak_of, options.inputs, options.threads)
        return 0
    return one_row(bench, options) if options.row_to else run_all(bench, options)
