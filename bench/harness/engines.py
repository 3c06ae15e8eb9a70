"""The engines under test, each as a callable that runs one work and returns an Arrow table.

A *form* is one way to run one engine ("duckdb" on its own tables, "duckdb-arrow" scanning the
Arrow input, ...). Loading is not timed, except where the input is Parquet files. Engines are
imported when a form of theirs is opened: a process loads only what it measures.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from contextlib import ExitStack
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from harness.inputs import Inputs
from harness.work import Run, Work

OURS = "crossdock"


@dataclass(frozen=True, slots=True)
class Form:
    """`run` does the whole timed work. Only counted forms enter the ratio of the bar.

    `phases` runs once more and tells what the engine's own model predicted for each phase.
    """

    name: str
    run: Run
    counted: bool = True
    phases: Callable[[], list[dict[str, Any]]] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """What every form needs: the work, its input, the thread count, and who closes things."""

    work: Work
    inputs: Inputs
    threads: int
    stack: ExitStack


def limit_threads(threads: int) -> None:
    """Process-wide limits; must run before Polars is imported."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    pa.set_cpu_count(threads)


def duckdb_connection(threads: int, stack: ExitStack) -> Any:
    import duckdb

    connection = stack.enter_context(duckdb.connect(":memory:"))
    connection.execute(f"SET threads = {threads}")
    connection.execute("SET preserve_insertion_order = false")  # ORDER BY holds all the same
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET arrow_output_version = '1.4'")  # strings leave as views, uncopied
    return connection


def duckdb_run(setting: Setting, connection: Any, sides: dict[str, str]) -> Run:
    query = setting.work.sql(sides)
    return lambda: connection.sql(query).to_arrow_table()


def duckdb_native(setting: Setting) -> Run:
    """On DuckDB's own tables; where the input is files, on the files."""
    connection = duckdb_connection(setting.threads, setting.stack)
    sides = {}
    for name, source in setting.inputs.sources.items():
        sides[name] = f"native_{name}"
        if not isinstance(source, pa.Table):
            sides[name] = f"read_parquet('{source}')"
            continue
        connection.register("arrow_input", source)
        connection.execute(f"CREATE TABLE native_{name} AS SELECT * FROM arrow_input")
        connection.unregister("arrow_input")
    return duckdb_run(setting, connection, sides)


def duckdb_arrow(setting: Setting) -> Run:
    connection = duckdb_connection(setting.threads, setting.stack)
    for name, table in setting.inputs.sources.items():
        connection.register(f"arrow_{name}", table)
    sides = {name: f"arrow_{name}" for name in setting.inputs.sources}
    return duckdb_run(setting, connection, sides)


def polars_frames(setting: Setting) -> dict[str, Any]:
    import polars as pl

    frames = {}
    for name, source in setting.inputs.sources.items():
        in_memory = isinstance(source, pa.Table)
        frames[name] = pl.DataFrame(source).lazy() if in_memory else pl.scan_parquet(source)
    return frames


def polars_run(setting: Setting, engine: str) -> Run:
    import polars as pl

    query = setting.work.polars(polars_frames(setting))
    newest = pl.CompatLevel.newest()  # no copy of strings
    return lambda: query.collect(engine=engine).to_arrow(compat_level=newest)


def polars_streaming(setting: Setting) -> Run:
    return polars_run(setting, "streaming")


def polars_in_memory(setting: Setting) -> Run:
    return polars_run(setting, "in-memory")


def polars_series(setting: Setting) -> Run | None:
    return setting.work.polars_series(polars_frames(setting))


def datafusion(setting: Setting) -> Run:
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(setting.threads))
    for name, source in setting.inputs.sources.items():
        if isinstance(source, pa.Table):
            batches = source.to_batches()
            shares = [batches[i :: setting.threads] for i in range(setting.threads)]
            context.register_record_batches(name, [share for share in shares if share])
        else:
            context.register_parquet(name, str(source))
    query = setting.work.sql({name: name for name in setting.inputs.sources})
    return lambda: context.sql(query).to_arrow_table()


def pyarrow(setting: Setting) -> Run | None:
    return setting.work.arrow(setting.inputs.sources)


def numpy(setting: Setting) -> Run | None:
    return setting.work.numpy(setting.inputs.sources)


PEERS: dict[str, Callable[[Setting], Run | None]] = {
    "duckdb": duckdb_native,
    "duckdb-arrow": duckdb_arrow,
    "polars": polars_streaming,
    "polars-in-memory": polars_in_memory,
    "polars-series": polars_series,
    "datafusion": datafusion,
    "pyarrow": pyarrow,
    "numpy": numpy,
}
ONLY_IN_MEMORY = {"duckdb-arrow", "polars-series", "pyarrow", "numpy"}


def open_peers(setting: Setting, names: list[str]) -> list[Form]:
    """The chosen peer forms that exist for this work and this kind of input."""
    work, forms = setting.work, []
    for name in names:
        if (work.only_peers and name not in work.only_peers) or (
            name in ONLY_IN_MEMORY and not setting.inputs.in_memory
        ):
            continue
        run = PEERS[name](setting)
        if run is not None:
            forms.append(Form(name, run, name not in work.not_counted))
    return forms


def our_relations(setting: Setting) -> Callable[[], dict[str, Any]]:
    """Relations over the input: the same ones each time, or new ones where loading is timed."""
    import crossdock as xd

    dock = setting.stack.enter_context(xd.connect(threads=setting.threads))

    def opened() -> dict[str, Any]:
        return {
            name: dock.from_arrow(source)
            if isinstance(source, pa.Table)
            else dock.read_parquet(str(source))
            for name, source in setting.inputs.sources.items()
        }

    if setting.work.kind == "latency" or not setting.inputs.in_memory:
        return opened
    loaded = opened()  # peers have loaded their tables too
    return lambda: loaded


def crossdock(setting: Setting, name: str = OURS) -> Form:
    work, relations = setting.work, our_relations(setting)
    profiled = work.has_plan and work.kind != "latency"
    phases = (lambda: profiled_phases(work.ours(relations()))) if profiled else None
    return Form(name, lambda: work.run_ours(work.ours(relations())), phases=phases)


def open_own(setting: Setting) -> list[Form]:
    """Other ways to run ourselves: those the work names, else the same with one thread."""
    work, relations = setting.work, our_relations(setting)
    others = work.variants(relations())
    if not others:
        single = Setting(work, setting.inputs, 1, setting.stack)
        return [crossdock(single, f"{OURS}-1-thread")]
    return [
        Form(f"{OURS}-{name}", lambda relation=relation: work.run_ours(relation))
        for name, relation in others.items()
    ]


def profiled_phases(relation: Any) -> list[dict[str, Any]]:
    """One more run, with the model's prediction beside the measured time of each phase."""
    from crossdock.reports.operator_text import operator_phases

    profiles = [step["profile"] for step in relation.profile().data["steps"]]
    return [phase for one in profiles if one for phase in operator_phases(one)]
