"""Measures one work and returns its row; runs inside a process that does nothing else."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import dataclass

from harness import measure
from harness.engines import OURS, Form, Setting, crossdock, limit_threads, open_own, open_peers
from harness.measure import Memcpy, Series
from harness.report import Row, best_peer, verdict
from harness.work import Work

LATENCY_CALLS = 200
SERIOUS_SCALE = 0.1  # below this a run checks results; it need not wait for a calm machine
IDLE_WAIT_S = 10.0


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says, as far as one row needs it."""

    scale: float
    repeat: int
    threads: int
    peers: list[str]
    with_ours: bool


def empty_row(work: Work, options: Options) -> Row:
    return {
        "work": work.title, "name": work.name, "unit": "s", "bar": work.bar.text(), "met": None,
        "ours_s": None, "ours_spread": None, "peers": {}, "counted": [], "ratio": None,
        "predicted_s": None, "mrows_per_s": None, "memcpy_fraction": None,
        "memcpy_mtuples_per_s": None, "disturbed": False, "repeats": options.repeat,
        "threads": work.threads or options.threads,
    }  # fmt: skip


def measure_row(work: Work, options: Options) -> Row:
    threads = work.threads or options.threads
    limit_threads(threads)
    inputs = work.make(options.scale)
    with ExitStack() as stack:
        setting = Setting(work, inputs, threads, stack)
        ours = crossdock(setting) if options.with_ours else None
        peers = open_own(setting) if work.kind == "own" else open_peers(setting, options.peers)
        series, memcpy = run_forms(setting, ours, peers, options)
        phases = ours.phases() if ours and ours.phases else []
    row = empty_row(work, options) | {"phases": phases}
    row["predicted_s"] = sum(phase.get("predicted_s", 0.0) for phase in phases) if phases else None
    row["input_rows"] = list(inputs.row_counts.values())
    fill(row, series, [peer.name for peer in peers if peer.counted], memcpy)
    row["process_peak_bytes"] = measure.peak_rss_bytes()  # all engines together
    row["met"] = verdict(work.bar, row)
    return row


def run_forms(
    setting: Setting, ours: Form | None, peers: list[Form], options: Options
) -> tuple[dict[str, Series], Memcpy]:
    if options.repeat >= 3 and options.scale >= SERIOUS_SCALE:
        measure.wait_until_idle(IDLE_WAIT_S)
    first = measure.warm_up(setting.work, [*([ours] if ours else []), *peers])
    behind = measure.far_behind(peers, first)
    latency = setting.work.kind == "latency"
    buffer_bytes = 1 << (30 if options.scale >= SERIOUS_SCALE else 24)
    memcpy = Memcpy(setting.threads, buffer_bytes)
    memcpy.measure()
    repeat = LATENCY_CALLS if latency and options.repeat >= 3 else options.repeat
    between = (lambda: None) if latency else memcpy.measure
    repeated = [peer for peer in peers if peer not in behind]
    series = measure.interleave(ours, repeated, repeat, between)
    return series | {peer.name: Series([first[peer.name]]) for peer in behind}, memcpy


def fill(row: Row, series: dict[str, Series], counted: list[str], memcpy: Memcpy) -> None:
    """Medians, ratio and rates out of the samples."""
    medians = {name: one.median_s() for name, one in series.items() if one.samples}
    row["samples_s"] = {n: [s.wall_s for s in one.samples][:50] for n, one in series.items()}
    row["spreads"] = {name: one.spread() for name, one in series.items() if one.samples}
    best = best_peer({n: s for n, s in medians.items() if n != OURS}, counted)
    decisive = [OURS, *([best[0]] if best else [])]
    row["disturbed"] = any(series[name].disturbed() for name in decisive if name in series)
    row["memcpy_mtuples_per_s"] = memcpy.tuples_per_s() / 1e6
    row["peers"] = {name: value for name, value in medians.items() if name != OURS}
    row["counted"] = counted
    if OURS not in medians:
        return
    row["ours_s"], row["ours_spread"] = medians[OURS], row["spreads"][OURS]
    row["repeats"] = len(series[OURS].samples)
    rows_per_s = sum(row["input_rows"]) / medians[OURS]
    row["mrows_per_s"] = rows_per_s / 1e6
    row["memcpy_fraction"] = rows_per_s / memcpy.tuples_per_s()
    row["ratio"] = best[1] / medians[OURS] if best else None
