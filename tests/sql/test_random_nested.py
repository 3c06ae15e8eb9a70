"""Random statements over lists, maps and JSON have the rows of DuckDB, on one thread and several,
whole tables and small batches."""

from __future__ import annotations

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

from .conftest import require_same_rows
from .random_nested import random_nested
from .random_statements import random_tables

SEEDS = 60
MOST_REFUSED = 0.35  # of the statements: of lists as keys, and what DuckDB refuses


@pytest.mark.parametrize(("batch", "threads", "rows"), [(0, 1, 0), (1, 3, 50), (4, 3, 100)])
def test_random_statements_of_nested_values(batch: int, threads: int, rows: int) -> None:
    with xd.connect(threads=threads, ranks="off") as dock, duckdb.connect() as oracle:
        oracle.execute("SET threads = 1")
        oracle.execute("SET TimeZone = 'UTC'")
        for name, table in random_tables(batch).items():
            parts = table.to_batches(max_chunksize=rows) if rows else table.to_batches()
            dock.register(name, pa.Table.from_batches(parts, table.schema))
            oracle.register(name, table)
        seeds = range(batch * SEEDS, (batch + 1) * SEEDS)
        statements = {seed: random_nested(seed) for seed in seeds}
        require_same_rows(dock, oracle, statements, MOST_REFUSED)
