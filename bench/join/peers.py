"""The engines under test, each as a callable that runs one workload and returns an Arrow table.

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
from inputs import Inputs
from workloads import Workload

OURS = "crossdock"


@dataclass(frozen=True, slots=True)
class Form:
    """`run` does the whole timed work. Only counted forms enter the ratio of the bar.

    `phases` runs once more and tells what the engine's own model predicted for each phase.
    """

    name: str
    run: Callable[[], pa.Table]
    counted: bool = True
    phases: Callable[[], list[dict[str, Any]]] | None = None


@dataclass(frozen=True, slots=True)
class Setting:
    """What every form needs: the workload, its input, the thread count, and who closes things."""

    work: Workload
    inputs: Inputs
    threads: int
    stack: ExitStack


def limit_threads(threads: int) -> None:
    """Process-wide limits; must run before Polars is imported."""
    os.environ["POLARS_MAX_THREADS"] = str(threads)
    pa.set_cpu_count(threads)


def duckdb_connection(setting: Setting) -> Any:
    import duckdb

    connection = setting.stack.enter_context(duckdb.connect(":memory:"))
    connection.execute(f"SET threads = {setting.threads}")
    connection.execute("SET preserve_insertion_order = false")  # a join promises no order
    connection.execute("SET enable_progress_bar = false")
    connection.execute("SET arrow_output_version = '1.4'")  # texts leave as views, uncopied
    return connection


def duckdb_form(setting: Setting, left: str, right: str, connection: Any, name: str) -> Form:
    query = setting.work.sql(left, right)
    return Form(name, lambda: connection.sql(query).to_arrow_table())


def duckdb_native(setting: Setting) -> Form:
    connection = duckdb_connection(setting)
    for side, table in zip("lr", setting.inputs.tables(), strict=True):
        connection.register("arrow_input", table)
        connection.execute(f"CREATE TABLE native_{side} AS SELECT * FROM arrow_input")
        connection.unregister("arrow_input")
    return duckdb_form(setting, "native_l", "native_r", connection, "duckdb")


def duckdb_arrow(setting: Setting) -> Form:
    connection = duckdb_connection(setting)
    for side, table in zip("lr", setting.inputs.tables(), strict=True):
        connection.register(f"arrow_{side}", table)
    return duckdb_form(setting, "arrow_l", "arrow_r", connection, "duckdb-arrow")


def duckdb_parquet(setting: Setting) -> Form:
    files = [f"read_parquet('{path}')" for path in setting.inputs.paths()]
    return duckdb_form(setting, files[0], files[1], duckdb_connection(setting), "duckdb")


def polars_query(setting: Setting) -> Any:
    import polars as pl

    work = setting.work
    if isinstance(setting.inputs.left, pa.Table):
        left, right = (pl.DataFrame(table).lazy() for table in setting.inputs.tables())
    else:
        left, right = (pl.scan_parquet(path) for path in setting.inputs.paths())
    left_on, right_on = zip(*work.on, strict=True)
    joined = left.join(right, how="inner", left_on=left_on, right_on=right_on)
    if work.shape == "collect":
        return joined.select([column for _, column in work.output])
    if work.shape == "count":
        return joined.select(n=pl.len())
    return joined.select(n=pl.len(), a=pl.col(work.sums[0]).sum(), b=pl.col(work.sums[1]).sum())


def polars_form(setting: Setting, engine: str, name: str) -> Form:
    import polars as pl

    query, newest = polars_query(setting), pl.CompatLevel.newest()  # newest: no copy of texts
    return Form(name, lambda: query.collect(engine=engine).to_arrow(compat_level=newest))


def polars_streaming(setting: Setting) -> Form:
    return polars_form(setting, "streaming", "polars")


def polars_in_memory(setting: Setting) -> Form:
    return polars_form(setting, "in-memory", "polars-in-memory")


def datafusion(setting: Setting) -> Form:
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(setting.threads))
    for side in ("left", "right"):
        source = getattr(setting.inputs, side)
        if isinstance(source, pa.Table):
            batches = source.to_batches()
            shares = [batches[i :: setting.threads] for i in range(setting.threads)]
            context.register_record_batches(side[0], [share for share in shares if share])
        else:
            context.register_parquet(side[0], str(source))
    query = setting.work.sql("l", "r")
    return Form(
        "datafusion", lambda: context.sql(query).to_arrow_table(), setting.work.datafusion_counts
    )


def crossdock(setting: Setting, name: str = OURS) -> Form:
    import crossdock as xd

    work = setting.work
    dock = setting.stack.enter_context(xd.connect(threads=setting.threads))

    def relations() -> Any:
        if isinstance(setting.inputs.left, pa.Table):
            return [dock.from_arrow(table) for table in setting.inputs.tables()]
        return [dock.read_parquet(str(path)) for path in setting.inputs.paths()]

    def joined(sides: list[Any]) -> Any:
        join = sides[0].join(sides[1], on=list(work.on))
        if work.shape == "collect":
            return join.select(*(column for _, column in work.output))
        if work.shape == "count":
            return join
        return join.agg(n=xd.count(), a=xd.sum(work.sums[0]), b=xd.sum(work.sums[1]))

    def run(relation: Any) -> pa.Table:
        counted = work.shape == "count"
        return pa.table({"n": [relation.count()]}) if counted else relation.collect()

    if work.kind != "latency" and isinstance(setting.inputs.left, pa.Table):
        loaded = relations()  # peers have loaded their tables too
    else:
        loaded = None
    profiled = work.kind != "latency" and work.shape != "count"
    phases = (lambda: join_phases(joined(loaded or relations()))) if profiled else None
    return Form(name, lambda: run(joined(loaded or relations())), phases=phases)


def join_phases(relation: Any) -> list[dict[str, Any]]:
    """One more run, with the model's prediction beside the measured time of each phase."""
    steps = relation.profile().data["steps"]
    return [phase for step in steps if step["profile"] for phase in step["profile"]["phases"]]


MEMORY_FORMS: dict[str, Callable[[Setting], Form]] = {
    "duckdb": duckdb_native,
    "duckdb-arrow": duckdb_arrow,
    "polars": polars_streaming,
    "polars-in-memory": polars_in_memory,
    "datafusion": datafusion,
}
PARQUET_FORMS: dict[str, Callable[[Setting], Form]] = {
    "duckdb": duckdb_parquet,
    "polars": polars_streaming,
    "polars-in-memory": polars_in_memory,
    "datafusion": datafusion,
}
PEERS = tuple(MEMORY_FORMS)


def open_peers(setting: Setting, names: list[str]) -> list[Form]:
    """The chosen peer forms that exist for this kind of input."""
    in_memory = isinstance(setting.inputs.left, pa.Table)
    forms = MEMORY_FORMS if in_memory else PARQUET_FORMS
    return [forms[name](setting) for name in names if name in forms]
