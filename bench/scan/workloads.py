"""The command line of the scan bench: works on the files of lineitem, engines in turns, and the
peak memory of a copy, each in a process of its own."""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
from harness.engines import OURS, Form, duckdb_connection, limit_threads
from harness.inputs import tpch_folder
from harness.measure import Series, peak_rss_bytes
from harness.programs import ROOT
from harness.report import Row, beside_peers, seconds, write_json
from harness.results import WrongResultError
from queries.rounds import interleaved
from queries.sources import files_of

from scan.works import ScanWork, same_rows, works

COPIES = (OURS, "duckdb", "polars")
COPY_LIMIT_S = 3600


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python bench scan", description="Reading files beside DuckDB and Polars"
    )
    add = parser.add_argument
    add("--scale", type=float, default=1.0, help="scale factor of lineitem (default 1)")
    add("--works", default="", metavar="TEXT", help="those whose name has the text (default: all)")
    add("--rounds", type=int, default=5, help="timed rounds (default 5)")
    add("--threads", type=int, default=2, help="threads of every engine (default 2)")
    add("--json", type=Path, default=ROOT / "build" / "bench" / "scan.json")
    add("--copy-of", choices=COPIES, help=argparse.SUPPRESS)  # child: its peak to standard output
    return parser.parse_args(arguments)


def forms_of(work: ScanWork, file: Path, engines: tuple[Any, Any]) -> list[Form]:
    """Every run opens the file."""
    import polars as pl

    dock, connection = engines
    scan: Any = pl.scan_csv if work.kind == "csv" else pl.scan_parquet
    return [
        Form(OURS, lambda: work.ours(dock.read(file)).collect()),
        Form("duckdb", lambda: connection.sql(work.sql).to_arrow_table()),
        Form(
            "polars",
            lambda: work.polars(scan(file)).collect(engine="streaming").to_arrow(),
        ),
    ]


def check(work: ScanWork, forms: list[Form]) -> None:
    """Raises WrongResultError unless all have the rows of DuckDB."""
    results: dict[str, pa.Table] = {form.name: form.run() for form in forms}
    for name, answer in results.items():
        if not same_rows(work, results["duckdb"], answer):
            raise WrongResultError(f"{work.name}: {name} has other rows than duckdb")


def row_of(work: ScanWork, scale: float, series: dict[str, Series]) -> Row:
    row = beside_peers(f"lineitem SF{scale:g}, {work.name}", work.name, series)
    is_met = row["ratio"] >= work.bar and (not work.most_s or row["ours_s"] <= work.most_s)
    return {**row, "bar": work.bar, "most_s": work.most_s, "met": is_met}


def print_row(row: Row) -> None:
    mark = "!" if row["disturbed"] else ""
    times = f"{seconds(row['ours_s']):>10}{mark:1}  cpu {seconds(row['ours_cpu_s']):>10}"
    ratios = f"{row['ratio']:5.2f}x  cpu {row['cpu_ratio']:5.2f}x"
    bar = f"at least {row['bar']:g}x" if row["bar"] else "no bar"
    bar = f"at most {seconds(row['most_s'])}" if row["most_s"] else bar
    print(f"{row['name']:28} {times}  {ratios} of {row['best']:7} {bar}", flush=True)


def copied(engine: str, file: Path, target: Path, threads: int) -> None:
    if engine == OURS:
        import crossdock as xd

        xd.connect(threads=threads).read_parquet(file).write_parquet(target, compression="snappy")
    elif engine == "duckdb":
        with ExitStack() as stack:
            connection = duckdb_connection(threads, stack)
            copy = f"COPY (FROM read_parquet('{file}')) TO '{target}' (FORMAT parquet)"
            connection.execute(copy)
    else:
        import polars as pl

        pl.scan_parquet(file).sink_parquet(target, compression="snappy")


def peak_of_copy(engine: str, options: argparse.Namespace) -> int:
    command = [sys.executable, str(ROOT / "bench"), "scan", "--copy-of", engine]
    command += ["--scale", str(options.scale), "--threads", str(options.threads)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=COPY_LIMIT_S, check=True)
    return int(done.stdout)


def copy_alone(options: argparse.Namespace) -> int:
    """Prints the peak of resident bytes of this process."""
    limit_threads(options.threads)
    file = files_of("tpch", options.scale).by_name["lineitem"]
    assert isinstance(file, Path)
    with tempfile.TemporaryDirectory() as folder:
        copied(options.copy_of, file, Path(folder) / "copy.parquet", options.threads)
    print(peak_rss_bytes())
    return 0


def in_turns(options: argparse.Namespace, file: Path) -> list[Row]:
    import crossdock as xd

    limit_threads(options.threads)
    chosen = [work for work in works() if options.works in work.name]
    with ExitStack() as stack:
        connection = duckdb_connection(options.threads, stack)
        connection.execute(f"CREATE VIEW lineitem AS FROM read_parquet('{file}')")
        files = {"parquet": file}
        if any(work.kind == "csv" for work in chosen):
            files["csv"] = tpch_folder(options.scale, ["lineitem"], "csv") / "lineitem.csv"
            connection.execute(f"CREATE VIEW lineitem_csv AS FROM read_csv('{files['csv']}')")
        dock = stack.enter_context(xd.connect(threads=options.threads))
        forms = {work.name: forms_of(work, files[work.kind], (dock, connection)) for work in chosen}
        for work in chosen:
            check(work, forms[work.name])
        timings = interleaved(forms, options.rounds)
    return [row_of(work, options.scale, timings[work.name]) for work in chosen]


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    if options.copy_of:
        return copy_alone(options)
    file = files_of("tpch", options.scale).by_name["lineitem"]
    assert isinstance(file, Path)
    try:
        rows = in_turns(options, file)
    except WrongResultError as error:
        print(error, file=sys.stderr)
        return 1
    for row in rows:
        print_row(row)
    if not options.works:
        for engine in COPIES:
            peak = peak_of_copy(engine, options)
            print(f"peak memory of a copy by {engine}: {peak / 2**20:.0f} MiB", flush=True)
    write_json(options.json, "scan", rows, [])
    return 0
