"""Random statements over tables of many types have the rows of DuckDB, in one process."""

from __future__ import annotations

import crossdock as xd
import duckdb
import pytest

from .conftest import are_same, rows_of
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
        refused = 0
        for seed in range(batch * SEEDS, (batch + 1) * SEEDS):
            statement = random_statement(seed)
            try:
                theirs = rows_of(oracle.sql(statement.text).to_arrow_table())
                ours = rows_of(dock.sql(statement.text).collect())
            except (duckdb.Error, xd.CrossdockError):
                refused += 1
                continue
            same = are_same(ours, theirs, statement.is_ordered)
            assert same, f"seed {seed}: {statement.text}\n{ours[:5]}\n{theirs[:5]}"
        assert refused < MOST_REFUSED * SEEDS
