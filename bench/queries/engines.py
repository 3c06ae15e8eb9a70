"""The engines beside each other: each opens the tables once, and then runs any query on them.

A run is the whole query, from the description (relation, SQL text, lazy frame) to an Arrow table.
In memory, loading is not timed; files are opened in every run.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from typing import Any

import pyarrow as pa
from harness.engines import OURS, duckdb_connection
from harness.work import Run

from queries.comparison import BEYOND_LIMIT, FLOAT_TOLERANCE, Equality, Expected
from queries.query import Query
from queries.sources import Sources, tables_of

OURS_IN_SQL = "crossdock-sql"
RunOf = Callable[[Query], Run | None]  # None: no form of this query is written for the engine


def crossdock(sources: Sources, threads: int, stack: ExitStack) -> RunOf:
    import crossdock as xd

    dock = stack.enter_context(xd.connect(threads=threads))

    def opened() -> dict[str, Any]:
        return {
            name: dock.from_arrow(source)
            if isinstance(source, pa.Table)
            else dock.read_parquet(str(source))
            for name, source in sources.by_name.items()
        }

    in_memory = opened() if sources.in_memory else None

    def run_of(query: Query) -> Run:
        return lambda: query.relation(tables_of(in_memory or opened(), sources.scale)).collect()

    return run_of


def crossdock_sql(sources: Sources, threads: int, stack: ExitStack) -> RunOf:
    """The same from SQL."""
    import crossdock as xd

    dock = stack.enter_context(xd.connect(threads=threads))

    def register() -> None:
        for name, source in sources.by_name.items():
            is_table = isinstance(source, pa.Table)
            dock.register(name, source if is_table else dock.read_parquet(str(source)))

    register()

    def run_of(query: Query) -> Run:
        text = query.limited_sql(sources.scale)

        def run() -> pa.Table:
            if not sources.in_memory:
                register()
            return dock.sql(text).collect()

        return run

    return run_of


def duckdb(sources: Sources, threads: int, stack: ExitStack) -> RunOf:
    """Its own tables, in the order of the input; or views on the files."""
    connection = duckdb_connection(threads, stack)
    connection.execute("SET preserve_insertion_order = true")
    for name, source in sources.by_name.items():
        if isinstance(source, pa.Table):
            connection.register("arrow_input", source)
            connection.execute(f'CREATE TABLE "{name}" AS SELECT * FROM arrow_input')
            connection.unregister("arrow_input")
        else:
            connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{source}')")
    connection.execute("SET preserve_insertion_order = false")
    scale = sources.scale  # runs must not keep tables in memory that were copied

    def run_of(query: Query) -> Run:
        text = query.limited_sql(scale)
        return lambda: connection.sql(text).to_arrow_table()

    return run_of


def polars_with(engine: str) -> Callable[[Sources, int, ExitStack], RunOf]:
    """With one of its two engines, for frames that share their columns with the Arrow tables."""

    def polars(sources: Sources, threads: int, stack: ExitStack) -> RunOf:
        del threads, stack  # the number of threads is that of the process
        import polars as pl

        in_memory, files = {}, {}
        for name, source in sources.by_name.items():
            if isinstance(source, pa.Table):
                in_memory[name] = pl.DataFrame(source).lazy()
            else:
                files[name] = source
        newest, scale = pl.CompatLevel.newest(), sources.scale  # newest: no copy of strings

        def opened() -> dict[str, Any]:
            return in_memory or {name: pl.scan_parquet(file) for name, file in files.items()}

        def run_of(query: Query) -> Run | None:
            frame = query.frame
            if frame is None:
                return None

            def run() -> pa.Table:
                result = frame(tables_of(opened(), scale)).collect(engine=engine)
                return result.to_arrow(compat_level=newest)

            return run

        return run_of

    return polars


def datafusion(sources: Sources, threads: int, stack: ExitStack) -> RunOf:
    del stack
    from datafusion import SessionConfig, SessionContext

    context = SessionContext(SessionConfig().with_target_partitions(threads))
    for name, source in sources.by_name.items():
        if isinstance(source, pa.Table):
            batches = source.to_batches()
            shares = [batches[i::threads] for i in range(threads)]
            context.register_record_batches(name, [share for share in shares if share])
        else:
            context.register_parquet(name, str(source))

    def run_of(query: Query) -> Run:
        text = query.limited_sql(sources.scale)
        return lambda: context.sql(text).to_arrow_table()

    return run_of


ENGINES: dict[str, Callable[[Sources, int, ExitStack], RunOf]] = {
    OURS: crossdock,
    OURS_IN_SQL: crossdock_sql,
    "duckdb": duckdb,
    "polars": polars_with("streaming"),
    "polars-in-memory": polars_with("in-memory"),
    "datafusion": datafusion,
}
DEFAULT_PEERS = ("duckdb", "polars", "polars-in-memory")

# Polars rounds products of decimals to the scale of their operands, DataFusion means of decimals
# to six places.
ROUNDED = Equality(tolerance=1e-6, rounds_decimals=True)
EQUALITIES = {"polars": ROUNDED, "polars-in-memory": ROUNDED, "datafusion": ROUNDED}
EXACT = Equality(tolerance=FLOAT_TOLERANCE)


def expected_results(files: Sources, queries: list[Query]) -> dict[str, Expected]:
    """DuckDB's results from the files, with rows beyond the limits."""
    with ExitStack() as stack:
        connection = duckdb_connection(2, stack)
        for name, file in files.by_name.items():
            connection.execute(f"CREATE VIEW \"{name}\" AS SELECT * FROM read_parquet('{file}')")
        results = {}
        for query in queries:
            text = query.sql(files.scale)
            if query.limit is not None:
                text += f" LIMIT {query.limit + BEYOND_LIMIT}"
            table = connection.sql(text).to_arrow_table()
            results[query.name] = Expected.of(table, query.order, query.limit)
    return results
