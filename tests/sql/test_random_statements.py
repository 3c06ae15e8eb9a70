"""Random statements over tables of many types have the rows of DuckDB, in one process."""

from __future__ import annotations

import crossdock as xd
import duckdb
import pytest

from .conftest import require_same_rows
from .random_statements import random_statement, random_tables

SEEDS = 60
BATCHES = 5
MOST_REFUSED = 0.3  # of the statements: overflows, and what is not supported


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_statements(batch: int) -> None:
    with xd.connect(threads=2, ranks="off") as dock, duckdb.connect() as oracle:
        oracle.execute("SET threads = 1")
        oracle.execute("SET TimeZone = 'UTC'")
        for name, table in random_tables(batch).items():
            dock.register(name, table)
            oracle.register(name, table)
        seeds = range(batch * SEEDS, (batch + 1) * SEEDS)
        statements = {seed: random_statement(seed) for seed in seeds}
        require_same_rows(dock, oracle, statements, MOST_REFUSED)
