"""The rows of the channels bench: bytes between threads, processes and hosts, beside others.

Programs do the work: bench/data/perf/perf_bench.cpp is ours, and peers.py knows the others. Each
form runs a few times in a process of its own, round by round, ours first. rows.py has the rows.
"""

from __future__ import annotations

import argparse
import os
import subprocess
from dataclasses import dataclass, field, replace
from fnmatch import fnmatch
from pathlib import Path
from typing import Any

from harness import measure
from harness.engines import OURS
from harness.measure import Sample, Series
from harness.programs import ROOT, ProgramError, build_all, watched
from harness.report import Row, cells, header, line, machine, seconds, summary, write_json

from channels import places
from channels.growth_work import GrowthWork, growth_row, print_growth
from channels.memory_work import MemoryWork, memory_row, print_memory
from channels.peers import MIB, ChannelWork, Peers
from channels.rows import GROWTH, MEMORY, WORKS

PROGRAMS = (
    "perf_bench",
    "scatter_bench",
    "mapping_copy_bench",
    "mpi_peer",
    "ucx_peer",
    "crossdock_ucx",
)
IDLE_WAIT_S = 10.0
SETTLED = 1.5


@dataclass(slots=True)
class Taken:
    """Samples of each form, what ours said last, and why a form has none."""

    series: dict[str, Series] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, form: str, samples: list[float], share: float) -> None:
        series = self.series.setdefault(form, Series())
        series.samples += [Sample(wall_s, share) for wall_s in samples]

    def fastest_s(self, form: str) -> float:
        return min(sample.wall_s for sample in self.series[form].samples)

    def is_settled(self, form: str, work: ChannelWork) -> bool:
        """Whether the fastest run of a peer is so far from its bar that more would say nothing."""
        if form == OURS or not {form, OURS} <= self.series.keys():
            return False
        bar = work.bars.get(form, 1.0)
        return self.fastest_s(form) > SETTLED * bar * self.fastest_s(OURS)


def take(work: ChannelWork, peers: Peers, options: argparse.Namespace) -> Taken:
    """`repeat` rounds of every form; one that fails or cannot win is not tried again."""
    taken = Taken()
    forms = ([] if options.without_ours else [OURS]) + [*work.bars, *work.peers]
    for _ in range(options.repeat):
        for form in forms:
            if form in taken.failures or taken.is_settled(form, work):
                continue
            try:
                if form == OURS:
                    command = work.command(peers.programs)
                    said, share = watched(
                        lambda command=command: places.ours(work.place, command, work.disturbance)
                    )
                    taken.said, samples = said, said["samples_s"]
                else:
                    samples, share = watched(lambda form=form: peers.run(form, work))
            except (ProgramError, subprocess.TimeoutExpired) as failure:
                taken.failures[form] = str(failure)
                continue
            taken.add(form, samples, share)
    return taken


AnyWork = ChannelWork | GrowthWork | MemoryWork


def bar_text(work: AnyWork) -> str:
    if not work.bars:
        return "no row lost, none twice"
    least, *others = sorted(set(work.bars.values()))
    return f">= {least:.3g}x" + "".join(f", {other:.3g}x" for other in others)


def empty_row(work: AnyWork) -> Row:
    return {
        "work": work.title, "name": work.name, "unit": "s", "bar": bar_text(work), "met": None,
        "ours_s": None, "ours_spread": None, "peers": {}, "counted": [], "ratio": None,
        "predicted_s": None, "mrows_per_s": None, "memcpy_fraction": None, "disturbed": False,
        "repeats": 0, "bars": dict(work.bars), "failures": {},
    }  # fmt: skip


def filled_row(work: ChannelWork, taken: Taken) -> Row:
    medians = {form: series.median_s() for form, series in taken.series.items()}
    ours_s = medians.pop(OURS, None)
    row = empty_row(work) | {
        "ours_s": ours_s,
        "peers": medians,
        "threads": work.threads,
        "failures": taken.failures,
        "samples_s": {f: [s.wall_s for s in one.samples] for f, one in taken.series.items()},
    }
    if ours_s is None:
        return row
    series = taken.series[OURS]
    row |= {"ours_spread": series.spread(), "disturbed": series.disturbed()}
    row |= {"repeats": len(series.samples)} | {k: v for k, v in taken.said.items() if k not in row}
    ratios = {peer: medians[peer] / ours_s for peer in work.bars if peer in medians}
    if ratios:
        nearest = min(ratios, key=lambda peer: ratios[peer] / work.bars[peer])
        row |= {"counted": [nearest], "ratio": ratios[nearest]}
    row["met"] = len(ratios) == len(work.bars) and all(
        ratio >= work.bars[peer] for peer, ratio in ratios.items()
    )
    return row


def print_details(work: ChannelWork, row: Row) -> None:
    for peer, peer_s in row["peers"].items():
        bar = work.bars.get(peer)
        required = "" if bar is None else f", {bar:.3g}x wanted"
        ratio = "" if row["ours_s"] is None else f"ours {peer_s / row['ours_s']:.2f}x{required}"
        rate = work.bytes / peer_s / 1e6
        print(f"      {peer}: {seconds(peer_s)}, {rate:,.0f} MB/s of a source; {ratio or '-'}")
    if row["ours_s"] is not None:
        rate = work.bytes / row["ours_s"] / 1e6
        print(
            f"      ours: {rate:,.0f} MB/s of a source, {row['wrong_rows']} wrong rows, buffers "
            f"{row['channel_bytes'] / MIB:.1f} MiB, threads slept {row['waited_share']:.0%}"
        )
        print_links(row)
    if row["met"] is False:
        print("      MISSED")
    for form, why in row["failures"].items():
        print(f"      {form}: not measured, {why.splitlines()[-1]}", flush=True)


def print_links(row: Row) -> None:
    """What happened on the way, if anything did."""
    links = row.get("links", [])
    counts = {name: sum(link[name] for link in links) for name in ("resent", "duplicates")}
    lost = [link["name"] for link in links if link["is_lost"]]
    if any(counts.values()) or lost:
        print(
            f"      resent: {counts['resent']} segments; came twice: {counts['duplicates']}; "
            f"links lost: {', '.join(lost) or 'none'}"
        )


def parse(arguments: list[str]) -> argparse.Namespace:
    names = [work.name for work in (*WORKS, GROWTH, MEMORY)]
    parser = argparse.ArgumentParser(
        prog="python bench channels",
        description="Bytes between threads, processes and hosts (network namespaces, which need "
        "root), beside memcpy, Open MPI, UCX and iperf3",
        epilog="rows: " + ", ".join(names),
    )
    add = parser.add_argument
    add("--repeat", type=int, default=3, help="rounds of every form (default 3)")
    add("--bytes-scale", type=float, default=1.0, help="share of the full bytes (default 1)")
    add("--only", action="append", default=[], metavar="NAME", help="row or pattern")
    add("--without-ours", action="store_true", help="measure the peers alone")
    add("--json", type=Path, default=ROOT / "build" / "bench" / "channels.json")
    options = parser.parse_args(arguments)
    if options.repeat < 1 or options.bytes_scale <= 0:
        parser.error("--repeat and --bytes-scale must be positive")
    for pattern in options.only:
        if not any(fnmatch(name, pattern) for name in names):
            parser.error(f"no row named {pattern!r}; rows: {', '.join(names)}")
    return options


def measured(work: ChannelWork, peers: Peers, options: argparse.Namespace) -> Row:
    if options.repeat >= 3:
        measure.wait_until_idle(IDLE_WAIT_S)
    scaled = max(round(work.bytes * options.bytes_scale / MIB), 1) * MIB
    row = filled_row(work, take(replace(work, bytes=scaled), peers, options))
    print("  " + line(cells(row)))
    print_details(replace(work, bytes=scaled), row)
    return row


def measured_bytes(work: GrowthWork | MemoryWork, peers: Peers) -> Row:
    row = empty_row(work)
    try:
        if isinstance(work, GrowthWork):
            row = growth_row(work, peers, row)
        else:
            row = memory_row(work, peers, row)
    except (ProgramError, subprocess.TimeoutExpired) as failure:
        row["failures"] = {OURS: str(failure)}
        print(f"  {work.title}: FAILED, {failure}", flush=True)
        return row
    print("  " + line(cells(row)))
    if isinstance(work, GrowthWork):
        print_growth(work, row)
    else:
        print_memory(row)
    return row


def failed_rows(rows: list[Row]) -> list[str]:
    return [row["name"] for row in rows if OURS in row["failures"]]


def main(arguments: list[str]) -> int:
    options = parse(arguments)

    def is_wanted(name: str) -> bool:
        return not options.only or any(fnmatch(name, pattern) for pattern in options.only)

    peers = Peers(build_all(*PROGRAMS))
    print(f"# channels bench: {machine()['cpu']}, {os.cpu_count()} cores")
    print(header(), flush=True)
    rows: list[Row] = []

    def keep(row: Row) -> None:
        """Also what a run has that is ended before its time."""
        rows.append(row)
        write_json(options.json, "channels", rows, failed_rows(rows))

    for work in WORKS:
        if is_wanted(work.name):
            keep(measured(work, peers, options))
    for in_bytes in () if options.without_ours else (GROWTH, MEMORY):
        if is_wanted(in_bytes.name):
            keep(measured_bytes(in_bytes, peers))
    print(summary(rows))
    print(f"# wrote {options.json}")
    return 1 if failed_rows(rows) else 0
