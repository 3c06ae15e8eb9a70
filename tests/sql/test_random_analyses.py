"""Random queries of everyday kinds over small tables with NULLs have the rows of DuckDB."""

from __future__ import annotations

import crossdock as xd
import duckdb
import pytest

from .conftest import are_same, rows_of
from .random_analyses import random_analysis

SEEDS = range(500)
BATCHES = 5
MOST_FAILURES = 0.1  # of the statements: overflows, and what is refused


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_analyses(batch: int, dock: xd.Dock, oracle: duckdb.DuckDBPyConnection) -> None:
    failures = 0
    seeds = list(SEEDS)[batch::BATCHES]
    for seed in seeds:
        text = random_analysis(seed)
        try:
            theirs = rows_of(oracle.sql(text).to_arrow_table())
        except duckdb.Error:
            continue
        try:
            ours = rows_of(dock.sql(text).collect())
        except xd.CrossdockError:
            failures += 1
            continue
        same = are_same(ours, theirs, is_ordered=False)
        assert same, f"seed {seed}: {text}\nours   {ours[:5]}\ntheirs {theirs[:5]}"
    assert failures <= MOST_FAILURES * len(seeds)
