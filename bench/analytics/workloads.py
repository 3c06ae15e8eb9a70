"""The command line of the analytics bench: SQL over one wide table, group-bys and joins, engines in
turns."""

from __future__ import annotations

import argparse
import sys
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from harness.engines import OURS, Form, duckdb_connection, limit_threads
from harness.measure import Series
from harness.programs import ROOT
from harness.report import Row, beside_peers, seconds, write_json
from harness.results import WrongResultError
from queries.rounds import interleaved
from queries.sources import with_strings

from analytics.results import difference
from analytics.tables import FAMILIES, folder_of
from analytics.works import AnalyticsWork, works

Sources = dict[str, Any]  # by table: a path, or a table in memory


def parse(arguments: list[str]) -> argparse.Namespace:
    parser = argparse.ArgumentParser(
        prog="python bench analytics",
        description="Group-bys, joins and page views beside DuckDB and Polars",
    )
    add = parser.add_argument
    add("--family", choices=list(FAMILIES), help="default: all")
    add("--mode", choices=("memory", "parquet"), help="where the tables are (default: both)")
    add(
        "--rows", type=int, default=10_000_000, help="rows of the large tables (default 10 million)"
    )
    add("--works", default="", metavar="TEXT", help="those whose name has the text (default: all)")
    add("--rounds", type=int, default=5, help="timed rounds (default 5)")
    add("--threads", type=int, default=2, help="threads of every engine (default 2)")
    add("--json", type=Path, default=ROOT / "build" / "bench" / "analytics.json")
    options = parser.parse_args(arguments)
    if min(options.rows, options.rounds, options.threads) < 1:
        parser.error("--rows, --rounds and --threads must be positive")
    return options


def sources_of(family: str, mode: str, rows: int) -> Sources:
    folder = folder_of(family, rows)
    files = {name: folder / f"{name}.parquet" for name in FAMILIES[family]}
    if mode == "parquet":
        return dict(files)
    return {name: with_strings(pq.read_table(file), "string_view") for name, file in files.items()}


def some_user(family: str, rows: int) -> int:
    if family != "views":
        return 0
    file = pq.ParquetFile(folder_of(family, rows) / "hits.parquet")
    users = file.read_row_group(file.num_row_groups // 2, columns=["UserID"])
    return int(users["UserID"][0].as_py())


class Engines:
    """Each opens the tables once in memory, and files in every run."""

    def __init__(self, sources: Sources, threads: int, stack: ExitStack) -> None:
        import crossdock as xd

        self.sources = sources
        self.dock = stack.enter_context(xd.connect(threads=threads))
        self.connection = duckdb_connection(threads, stack)
        self.register()
        for name, source in sources.items():
            if isinstance(source, pa.Table):
                self.connection.register("arrow_input", source)
                self.connection.execute(f"CREATE TABLE {name} AS SELECT * FROM arrow_input")
                self.connection.unregister("arrow_input")
            else:
                view = f"CREATE VIEW {name} AS FROM read_parquet('{source}')"
                self.connection.execute(view)

    def register(self) -> None:
        for name, source in self.sources.items():
            is_table = isinstance(source, pa.Table)
            self.dock.register(name, source if is_table else self.dock.read_parquet(str(source)))

    def ours(self, text: str) -> pa.Table:
        if not all(isinstance(source, pa.Table) for source in self.sources.values()):
            self.register()
        return self.dock.sql(text).collect()

    def frames(self) -> dict[str, Any]:
        import polars as pl

        return {
            name: pl.DataFrame(source).lazy()
            if isinstance(source, pa.Table)
            else pl.scan_parquet(source)
            for name, source in self.sources.items()
        }

    def forms(self, work: AnalyticsWork) -> list[Form]:
        forms = [
            Form(OURS, lambda: self.ours(work.sql)),
            Form("duckdb", lambda: self.connection.sql(work.sql).to_arrow_table()),
        ]
        frame = work.polars
        if frame is not None:
            import polars as pl

            newest = pl.CompatLevel.newest()
            forms.append(
                Form(
                    "polars",
                    lambda: (
                        frame(self.frames())
                        .collect(engine="streaming")
                        .to_arrow(compat_level=newest)
                    ),
                )
            )
        return forms


def check(work: AnalyticsWork, forms: list[Form]) -> None:
    """Raises WrongResultError unless all have the rows of DuckDB."""
    expected = forms[1].run()
    for form in forms:
        if form.name != "duckdb":
            wrong = difference(work.sql, expected, form.run())
            if wrong is not None:
                raise WrongResultError(f"{work.name}: {form.name} has {wrong}")


def row_of(title: str, work: AnalyticsWork, series: dict[str, Series]) -> Row:
    return beside_peers(f"{title}, {work.name}", work.name, series)


def print_rows(title: str, rows: list[Row]) -> None:
    print(f"\n{title}", flush=True)
    for row in rows:
        mark = "!" if row["disturbed"] else ""
        times = f"{seconds(row['ours_s']):>10}{mark:1}  cpu {seconds(row['ours_cpu_s']):>10}"
        ratios = f"{row['ratio']:5.2f}x  cpu {row['cpu_ratio']:5.2f}x"
        print(f"{row['name']:32} {times}  {ratios} of {row['best']}", flush=True)


def measured(family: str, mode: str, options: argparse.Namespace) -> list[Row]:
    title = f"{family} of {options.rows} rows, " + (
        "in memory" if mode == "memory" else "from Parquet"
    )
    user = some_user(family, options.rows)
    chosen = [work for work in works(family, user) if options.works in work.name]
    with ExitStack() as stack:
        sources = sources_of(family, mode, options.rows)
        engines = Engines(sources, options.threads, stack)
        forms = {work.name: engines.forms(work) for work in chosen}
        for work in chosen:
            check(work, forms[work.name])
        timings = interleaved(forms, options.rounds)
    rows = [row_of(title, work, timings[work.name]) for work in chosen]
    print_rows(title, rows)
    return rows


def main(arguments: list[str]) -> int:
    options = parse(arguments)
    limit_threads(options.threads)
    rows: list[Row] = []
    failed: list[str] = []
    for family in [options.family] if options.family else list(FAMILIES):
        for mode in [options.mode] if options.mode else ["parquet", "memory"]:
            try:
                rows += measured(family, mode, options)
            except WrongResultError as wrong:
                print(f"# FAILED: {family}, {mode}: {wrong}", file=sys.stderr, flush=True)
                failed.append(f"{family}, {mode}")
    write_json(options.json, "analytics", rows, failed)
    print(f"# wrote {options.json}")
    return 1 if failed else 0
