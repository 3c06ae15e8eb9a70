"""Peak resident memory: a fresh process per engine, all reading the same Arrow files.

The whole process counts (`VmHWM`): interpreter, libraries, input, result. What the work itself
needs is measured too: the bytes of the input, and by how much the peak passed what the process held
when the input was loaded and the engine had not seen it. Libraries and the slack of the
allocator that loaded the input are in neither.
"""

from __future__ import annotations

import json
import subprocess
import tempfile
from contextlib import ExitStack
from importlib import import_module
from pathlib import Path

import pyarrow as pa

from harness import measure
from harness.engines import OURS, Setting, crossdock, limit_threads, open_peers
from harness.inputs import Inputs, in_memory
from harness.report import Row, best_peer, verdict
from harness.results import WrongResultError, same
from harness.rows import Options, empty_row
from harness.work import Work


def memory_row(work: Work, options: Options, command: list[str]) -> Row:
    """`command` starts this bench again for one engine; see `report_peak`."""
    inputs = work.make(options.scale)
    row = empty_row(work, options) | {"unit": "bytes", "ours_bytes": None, "repeats": 1}
    row["input_rows"] = list(inputs.row_counts.values())
    row["input_bytes"] = inputs.bytes
    peers = [name for name in options.peers if not work.only_peers or name in work.only_peers]
    answers: dict[str, Row] = {}
    with tempfile.TemporaryDirectory() as folder:
        for name, table in inputs.sources.items():
            with pa.ipc.new_file(f"{folder}/{name}.arrow", table.schema) as writer:
                writer.write_table(table)
        del inputs, table
        for engine in [*peers, *([OURS] if options.with_ours else [])]:
            answer = answer_of_child([*command, "--peak-of", engine, "--inputs", folder])
            if answer:
                answers[engine] = answer
    check(work, answers)
    fill(row, answers)
    row["met"] = verdict(work.bar, row)
    return row


def answer_of_child(command: list[str]) -> Row:
    """The last line of its output; empty when the engine has no form of this work."""
    done = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True)
    answer: Row = json.loads(done.stdout.splitlines()[-1])
    return answer


def check(work: Work, answers: dict[str, Row]) -> None:
    prints = {engine: tuple(answer["fingerprint"]) for engine, answer in answers.items()}
    first = next(iter(prints), None)
    for engine, one in prints.items():
        if not same(one, prints[first]):
            raise WrongResultError(f"{work.name}: {engine} gives {one}, {first} {prints[first]}")


def fill(row: Row, answers: dict[str, Row]) -> None:
    row["needed_bytes"] = {engine: answer["needed_bytes"] for engine, answer in answers.items()}
    peaks = {engine: answer["peak_bytes"] for engine, answer in answers.items()}
    row["ours_needed_bytes"] = row["needed_bytes"].get(OURS)
    row["ours_bytes"] = peaks.pop(OURS, None)
    row["peer_bytes"], row["counted"] = peaks, list(peaks)
    best = best_peer({name: float(peak) for name, peak in peaks.items()}, list(peaks))
    row["ratio"] = best[1] / row["ours_bytes"] if best and row["ours_bytes"] else None


def report_peak(work: Work, engine: str, folder: Path, threads: int) -> None:
    """Body of the fresh process: load, run once, note the peak, only then look at the result."""
    limit_threads(threads)
    import_module(engine.split("-", maxsplit=1)[0])  # forms are named engine-form
    inputs = loaded(folder)
    ready, input_bytes = measure.rss_bytes(), inputs.bytes
    with ExitStack() as stack:
        setting = Setting(work, inputs, threads, stack)
        del inputs
        forms = [crossdock(setting)] if engine == OURS else open_peers(setting, [engine])
        if not forms:
            print("{}")
            return
        if engine == "duckdb":  # its own tables hold the rows now
            del setting
        result = forms[0].run()
        peak = measure.peak_rss_bytes()
        answer = {"peak_bytes": peak, "needed_bytes": peak - ready + input_bytes}
        print(json.dumps(answer | {"fingerprint": work.fingerprint(result)}))


def loaded(folder: Path) -> Inputs:
    """The files copied into memory: the input counts in full, whichever pages an engine reads."""
    tables = {}
    for file in sorted(folder.glob("*.arrow")):
        with pa.OSFile(str(file), "rb") as source:
            tables[file.stem] = pa.ipc.open_file(source).read_all()
    return in_memory(**tables)
