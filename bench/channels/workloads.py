"""The rows of the channels bench: bytes between threads, processes and hosts, beside others.

Programs do the work: bench/data/perf/perf_bench.cpp is ours, and peers.py knows the others. Each
form runs a few times in a process of its own, round by round, ours first. Adding a row is adding an
entry to `WORKS`.
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
from channels.peers import MIB, ChannelWork, Peers
from channels.places import Place

PROGRAMS = ("perf_bench", "scatter_bench", "mapping_copy_bench", "mpi_peer", "crossdock_ucx")
IDLE_WAIT_S = 10.0
GBIT = "1gbit"
LARGE_SEGMENTS = {"segment": MIB, "slots": 2, "batch": 1 << 14}  # four slots stay in the cache
OVER_LINKS = 48 * MIB  # 0.4 s over one link of 1 Gbit
COLLECTIVE = 24 * MIB
HOSTS_4 = Place(4, (GBIT, GBIT))
DEEP = {"slots": 5}  # 32 segments of 256 KiB: four links have 16 under way, and as many wait
FASTER = {"max-flow": 0.9, "openmpi": 1.0, "openmpi-ucx": 1.0}


def skewed(theta: int) -> ChannelWork:
    return ChannelWork(
        name=f"zipf-{theta}",
        title=f"2 hosts, 2 links: Zipf {theta}, beside none",
        pattern="p2p",
        place=Place(2, (GBIT, GBIT)),
        bytes=2 * OVER_LINKS,
        options={"zipf": theta},
        bars={"zipf-0": 0.9},
    )


def collective(pattern: str) -> ChannelWork:
    return ChannelWork(
        name=f"{pattern}-4-hosts",
        title=f"{pattern} among 4 hosts, 2 links each",
        pattern=pattern,
        place=HOSTS_4,
        bytes=COLLECTIVE,
        bars=FASTER,
    )


WORKS = (
    ChannelWork(
        name="exchange-threads",
        title="exchange of 16-byte rows, 2 threads",
        pattern="exchange",
        place=Place(),
        threads=2,
        bytes=128 * MIB,
        bars={"scatter": 0.5},
    ),
    ChannelWork(
        name="p2p-shm",
        title="p2p of 2 processes, segments of 1 MiB",
        pattern="p2p",
        place=Place(2),
        bytes=256 * MIB,
        options=LARGE_SEGMENTS,
        bars={"memcpy": 0.8, "openmpi": 1.0, "openmpi-ucx": 1.0, "ucx": 1.0},
        peers=("memcpy-8MiB",),
    ),
    ChannelWork(
        name="p2p-1-link",
        title="p2p of 2 hosts, 1 Gbit",
        pattern="p2p",
        place=Place(2, (GBIT,)),
        bytes=OVER_LINKS,
        bars={"iperf3": 0.95},
        peers=("openmpi", "ucx"),
    ),
    ChannelWork(
        name="p2p-2-links",
        title="p2p of 2 hosts, 2 x 1 Gbit, beside one",
        pattern="p2p",
        place=Place(2, (GBIT,) * 2),
        bytes=2 * OVER_LINKS,
        options=DEEP,
        bars={"1-link": 1.95},
        peers=("iperf3", "openmpi", "ucx"),
    ),
    ChannelWork(
        name="p2p-4-links",
        title="p2p of 2 hosts, 4 x 1 Gbit, beside one",
        pattern="p2p",
        place=Place(2, (GBIT,) * 4),
        bytes=4 * OVER_LINKS,
        options=DEEP,
        bars={"1-link": 3.8},
        peers=("iperf3", "openmpi", "ucx"),
    ),
    ChannelWork(
        name="p2p-unequal",
        title="p2p of 2 hosts, 1 Gbit + 250 Mbit",
        pattern="p2p",
        place=Place(2, (GBIT, "250mbit")),
        bytes=2 * OVER_LINKS,
        options=DEEP,
        bars={"iperf3": 0.92},
        peers=("openmpi", "ucx"),
    ),
    *(collective(pattern) for pattern in ("exchange", "gather", "scatter", "broadcast")),
    skewed(1),
    skewed(2),
    ChannelWork(
        name="pipelining",
        title="exchange of 2 hosts, 4 Gbit, beside its longer half",
        pattern="exchange",
        place=Place(2, ("4gbit",)),
        bytes=128 * MIB,
        bars={"longer-alone": 1 / 1.15},
    ),
)

GROWTH = GrowthWork(
    name="growth",
    title="1,024 channels of 64 endpoints, one by one",
    channel=ChannelWork(
        name="growth",
        title="",
        pattern="exchange",
        place=Place(),
        threads=64,
        bytes=1 << 14,
        options={"segment": 1 << 12, "slots": 0},
        bars={},
    ),
    channels=128,
    rounds=8,
)


@dataclass(slots=True)
class Taken:
    """Samples of each form, what ours said last, and why a form has none."""

    series: dict[str, Series] = field(default_factory=dict)
    said: dict[str, Any] = field(default_factory=dict)
    failures: dict[str, str] = field(default_factory=dict)

    def add(self, form: str, samples: list[float], share: float) -> None:
        series = self.series.setdefault(form, Series())
        series.samples += [Sample(wall_s, share) for wall_s in samples]


def take(work: ChannelWork, peers: Peers, options: argparse.Namespace) -> Taken:
    """`repeat` rounds of every form; one that fails is not tried again."""
    taken = Taken()
    forms = ([] if options.without_ours else [OURS]) + [*work.bars, *work.peers]
    for _ in range(options.repeat):
        for form in forms:
            if form in taken.failures:
                continue
            try:
                if form == OURS:
                    command = work.command(peers.programs)
                    said, share = watched(lambda command=command: places.ours(work.place, command))
                    taken.said, samples = said, said["samples_s"]
                else:
                    samples, share = watched(lambda form=form: peers.run(form, work))
            except (ProgramError, subprocess.TimeoutExpired) as failure:
                taken.failures[form] = str(failure)
                continue
            taken.add(form, samples, share)
    return taken


def bar_text(work: ChannelWork | GrowthWork) -> str:
    least, *others = sorted(set(work.bars.values()))
    return f">= {least:.3g}x" + "".join(f", {other:.3g}x" for other in others)


def empty_row(work: ChannelWork | GrowthWork) -> Row:
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
        wanted = "" if bar is None else f", {bar:.3g}x wanted"
        ratio = "" if row["ours_s"] is None else f"ours {peer_s / row['ours_s']:.2f}x{wanted}"
        rate = work.bytes / peer_s / 1e6
        print(f"      {peer}: {seconds(peer_s)}, {rate:,.0f} MB/s of a source; {ratio or '-'}")
    if row["ours_s"] is not None:
        rate = work.bytes / row["ours_s"] / 1e6
        print(
            f"      ours: {rate:,.0f} MB/s of a source, {row['wrong_rows']} wrong rows, buffers "
            f"{row['channel_bytes'] / MIB:.1f} MiB, threads slept {row['waited_share']:.0%}"
        )
    if row["met"] is False:
        print("      MISSED")
    for form, why in row["failures"].items():
        print(f"      {form}: not measured, {why.splitlines()[-1]}", flush=True)


def parse(arguments: list[str]) -> argparse.Namespace:
    names = [work.name for work in (*WORKS, GROWTH)]
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


def measured_growth(peers: Peers) -> Row:
    row = empty_row(GROWTH)
    try:
        row = growth_row(GROWTH, peers, row)
    except (ProgramError, subprocess.TimeoutExpired) as failure:
        row["failures"] = {OURS: str(failure)}
        print(f"  {GROWTH.title}: FAILED, {failure}", flush=True)
        return row
    print("  " + line(cells(row)))
    print_growth(GROWTH, row)
    return row


def main(arguments: list[str]) -> int:
    options = parse(arguments)

    def is_wanted(name: str) -> bool:
        return not options.only or any(fnmatch(name, pattern) for pattern in options.only)

    peers = Peers(build_all(*PROGRAMS))
    print(f"# channels bench: {machine()['cpu']}, {os.cpu_count()} cores")
    print(header(), flush=True)
    rows = [measured(work, peers, options) for work in WORKS if is_wanted(work.name)]
    if is_wanted(GROWTH.name) and not options.without_ours:
        rows.append(measured_growth(peers))
    failed = [row["name"] for row in rows if OURS in row["failures"]]
    print(summary(rows))
    write_json(options.json, "channels", rows, failed)
    print(f"# wrote {options.json}")
    return 1 if failed else 0
