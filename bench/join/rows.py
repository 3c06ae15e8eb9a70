"""Measures one workload and returns its row; runs inside a process that does nothing else."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import measure
import pyarrow as pa
from inputs import Inputs, in_memory
from measure import Memcpy, Series
from peers import MEMORY_FORMS, OURS, Form, Setting, crossdock, limit_threads, open_peers
from report import Row, best_peer, verdict
from workloads import Workload

LATENCY_CALLS = 200
SERIOUS_SCALE = 0.1  # below this a run checks results; it need not wait for a calm machine
IDLE_WAIT_S = 10.0
ONE_THREAD = f"{OURS}-1-thread"
SIDES = ("left", "right")
MEMORY_ENGINES = (OURS, "duckdb-arrow", "duckdb")


@dataclass(frozen=True, slots=True)
class Options:
    """What the command line says, as far as one row needs it."""

    scale: float
    repeat: int
    threads: int
    peers: list[str]
    with_ours: bool


def empty_row(work: Workload, options: Options) -> Row:
    return {
        "work": work.title, "name": work.name, "unit": "s", "bar": work.bar.text(), "met": None,
        "ours_s": None, "ours_spread": None, "peers": {}, "counted": [], "ratio": None,
        "predicted_s": None, "mrows_per_s": None, "memcpy_fraction": None,
        "memcpy_mtuples_per_s": None,
        "disturbed": False, "repeats": options.repeat, "threads": options.threads,
    }  # fmt: skip


def measure_row(work: Workload, options: Options) -> Row:
    limit_threads(options.threads)
    if work.kind == "memory":
        return memory_row(work, options)
    inputs = work.make(options.scale)
    with ExitStack() as stack:
        setting = Setting(work, inputs, options.threads, stack)
        ours = crossdock(setting) if options.with_ours else None
        if work.kind == "scaling":
            peers = [one_thread(setting)] if ours else []
        else:
            peers = open_peers(setting, options.peers)
        series, memcpy = run_forms(work, ours, peers, options)
        phases = ours.phases() if ours and ours.phases else []
    row = empty_row(work, options) | {"phases": phases}
    row["predicted_s"] = sum(phase.get("predicted_s", 0.0) for phase in phases) if phases else None
    row["input_rows"] = [inputs.left_rows, inputs.right_rows]
    fill(row, series, [peer.name for peer in peers if peer.counted], memcpy)
    row["process_peak_bytes"] = measure.peak_rss_bytes()  # all engines together
    row["met"] = verdict(work.bar, row)
    return row


def one_thread(setting: Setting) -> Form:
    single = Setting(setting.work, setting.inputs, 1, setting.stack)
    return crossdock(single, ONE_THREAD)


def run_forms(
    work: Workload, ours: Form | None, peers: list[Form], options: Options
) -> tuple[dict[str, Series], Memcpy]:
    if options.repeat >= 3 and options.scale >= SERIOUS_SCALE:
        measure.wait_until_idle(IDLE_WAIT_S)
    measure.warm_up([*([ours] if ours else []), *peers], work.shape != "collect")
    latency = work.kind == "latency"
    buffer_bytes = 1 << (30 if options.scale >= SERIOUS_SCALE else 24)
    memcpy = Memcpy(options.threads, buffer_bytes)
    memcpy.measure()
    repeat = LATENCY_CALLS if latency and options.repeat >= 3 else options.repeat
    between = (lambda: None) if latency else memcpy.measure
    return measure.interleave(ours, peers, repeat, between), memcpy


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


def memory_row(work: Workload, options: Options) -> Row:
    """Peak resident memory of a fresh process per engine, all reading the same Arrow files."""
    inputs = work.make(options.scale)
    row = empty_row(work, options) | {"unit": "bytes", "ours_bytes": None}
    row["input_rows"] = [inputs.left_rows, inputs.right_rows]
    row["input_bytes"] = sum(table.nbytes for table in inputs.tables())
    asked = [*options.peers, *([OURS] if options.with_ours else [])]
    engines = [engine for engine in MEMORY_ENGINES if engine in asked]
    peaks: dict[str, int] = {}
    with tempfile.TemporaryDirectory() as folder:
        for side, table in zip(SIDES, inputs.tables(), strict=True):
            with pa.ipc.new_file(f"{folder}/{side}.arrow", table.schema) as writer:
                writer.write_table(table)
        del inputs, table
        results = set()
        for engine in engines:
            told = memory_child(work, engine, folder, options)
            peaks[engine] = told["peak_bytes"]
            results.add(tuple(told["fingerprint"]))
    if len(results) > 1:
        raise measure.WrongResultError(f"{work.name}: {', '.join(engines)} give different results")
    row["ours_bytes"] = peaks.pop(OURS, None)
    row["peer_bytes"], row["counted"], row["repeats"] = peaks, list(peaks), 1
    best = best_peer({name: float(peak) for name, peak in peaks.items()}, list(peaks))
    row["ratio"] = best[1] / row["ours_bytes"] if best and row["ours_bytes"] else None
    row["met"] = verdict(work.bar, row)
    return row


def memory_child(work: Workload, engine: str, folder: str, options: Options) -> Row:
    script = Path(__file__).with_name("run.py")
    command = [sys.executable, str(script), "--only", work.name, "--threads", str(options.threads)]
    command += ["--peak-of", engine, "--inputs", folder]
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    told: Row = json.loads(done.stdout.splitlines()[-1])
    return told


def report_peak(work: Workload, engine: str, folder: Path, threads: int) -> None:
    """Body of the fresh process: load, join once, note the peak, only then look at the result."""
    limit_threads(threads)
    with ExitStack() as stack:
        setting = Setting(work, loaded(folder), threads, stack)
        form = crossdock(setting) if engine == OURS else MEMORY_FORMS[engine](setting)
        if engine == "duckdb":  # its own tables hold the rows now
            del setting
        result = form.run()
        peak = measure.peak_rss_bytes()
        told = {"peak_bytes": peak, "fingerprint": measure.fingerprint(result, False)}
    print(json.dumps(told))


def loaded(folder: Path) -> Inputs:
    """Both files copied into memory: the input counts in full, whichever pages an engine reads."""
    sides = []
    for side in SIDES:
        with pa.OSFile(str(folder / f"{side}.arrow"), "rb") as source:
            sides.append(pa.ipc.open_file(source).read_all())
    return in_memory(*sides)
