"""Random queries over TPC-H's tables have the rows of DuckDB, in memory and from Parquet."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import crossdock as xd
import duckdb
import pytest

from .conftest import are_same, rows_of
from .random_sql import random_query

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from queries import sources

SEEDS = range(160)
BATCHES = 8


@pytest.fixture(scope="module")
def engines() -> Iterator[tuple[xd.Dock, duckdb.DuckDBPyConnection]]:
    """Half of the tables in memory, half of them files."""
    files = sources.files_of("tpch", 0.01).by_name
    with xd.connect(threads=2, ranks="off") as dock, duckdb.connect() as connection:
        connection.execute("SET threads = 1")
        for i, (name, file) in enumerate(sorted(files.items())):
            relation = dock.read_parquet(str(file))
            dock.register(name, relation.collect() if i % 2 else relation)
            connection.execute(f"CREATE VIEW {name} AS SELECT * FROM read_parquet('{file}')")
        yield dock, connection


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_queries(batch: int, engines: tuple[xd.Dock, duckdb.DuckDBPyConnection]) -> None:
    dock, connection = engines
    for seed in list(SEEDS)[batch::BATCHES]:
        query = random_query(seed)
        theirs = rows_of(connection.sql(query.text).to_arrow_table())
        ours = rows_of(dock.sql(query.text).collect())
        same = are_same(ours, theirs, query.is_ordered)
        assert same, f"seed {seed}: {query.text}\nours   {ours[:5]}\ntheirs {theirs[:5]}"
