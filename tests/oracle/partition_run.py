"""Cases of the partition oracle, their tables, and the check of what the engine makes of them."""

from __future__ import annotations

from dataclasses import dataclass

import duckdb_rows
import numpy as np
import pyarrow as pa
from crossdock import _native
from group_by_cases import GROUPS, Names
from group_by_run import result_of
from join_cases import NULL_SHARES
from made_tables import MadeColumn, assemble
from same_rows import codes_of, plain
from sort_run import duckdb_order
from value_pools import Random, make_pool


@dataclass(frozen=True)
class PartitionCase:
    """One partitioning of a generated table. `by` explicit takes the first key's type, which is an
    integer's, and values below the number of parts."""

    seed: int = 0
    keys: Names = ("int64",)
    by: str = "hash"
    partitions: int = 7
    rows: int = 1000
    groups: str = "many"
    arrangement: str = "random"
    nulls: str = "some"
    chunks: str = "one"
    threads: int = 1
    run: str = "collect"

    def label(self) -> str:
        """A short name for test lists."""
        return f"{self.by}-{'+'.join(self.keys)}-{self.rows}-into-{self.partitions}"


def make_table(case: PartitionCase) -> pa.Table:
    """The table of a case: keys k0.., a text, and the row number `row`."""
    random = np.random.default_rng(case.seed)
    columns = []
    tuples = _key_tuples(case, random)
    for i, name in enumerate(case.keys):
        pool = make_pool(name, max(8, case.rows), random)
        if case.by == "explicit":
            pool = pa.array(np.arange(min(case.partitions, 128)), pool.type)
        codes = (tuples if i == 0 else tuples * (7 + i) // 3) % len(pool)
        nulls = random.random(case.rows) < NULL_SHARES[case.nulls]
        columns.append(MadeColumn(f"k{i}", name, pool, codes, nulls))
    strings = make_pool("utf8", 100, random)
    drawn = random.integers(0, len(strings), case.rows)
    columns.append(MadeColumn("text", "utf8", strings, drawn, random.random(case.rows) < 0.1))
    numbers = pa.array(np.arange(max(1, case.rows)))
    every = np.arange(case.rows)
    columns.append(MadeColumn("row", "int64", numbers, every, np.zeros(case.rows, bool)))
    return assemble(case.chunks, columns, case.rows, random)


def _key_tuples(case: PartitionCase, random: Random) -> np.ndarray:
    domain = max(1, int(case.rows * GROUPS[case.groups]))
    if case.arrangement == "zipf":
        return np.minimum(random.zipf(1.2, case.rows), domain) - 1
    tuples = random.integers(0, domain, case.rows)
    return np.sort(tuples) if case.arrangement == "grouped" else tuples


def check(engine: _native.Engine, case: PartitionCase) -> list[int]:
    """Runs a case and checks every promise; answers the number of rows of each part."""
    table = make_table(case)
    keys = [f"k{i}" for i in range(len(case.keys))]
    imported = _native.Table.from_stream(engine, table)
    partition = _native.Partition(
        engine,
        imported,
        keys=keys,
        partitions=case.partitions,
        how=case.by,
        output=table.column_names,
    )
    result = result_of(partition, case.run)
    result.validate(full=True)
    assert result.schema.types == table.schema.types
    assert result.column_names == table.column_names
    counts = partition.counts()
    assert len(counts) == case.partitions
    assert sum(counts) == result.num_rows == table.num_rows
    rows = duckdb_rows.numbers_of(result.column("row"))
    for name in table.column_names:
        codes = codes_of(plain(table.column(name)).take(pa.array(rows)), plain(result.column(name)))
        np.testing.assert_array_equal(codes[0], codes[1], err_msg=name)
    assert_parts(case.by, table, keys, rows, counts)
    return counts


def assert_parts(
    by: str, table: pa.Table, keys: list[str], rows: np.ndarray, counts: list[int]
) -> None:
    """Every row once; in a part the order of the input; equal keys in one part; ranges in order."""
    np.testing.assert_array_equal(np.sort(rows), np.arange(table.num_rows))
    part_of = np.empty(len(rows), np.int64)
    parts = np.repeat(np.arange(len(counts)), counts)
    part_of[rows] = parts
    same_part = parts[1:] == parts[:-1]
    assert (np.diff(rows)[same_part] > 0).all(), "a part is not in the order of the input"
    order, ranks = duckdb_order(table, [(name, False, False) for name in keys])
    equal = ranks[order][1:] == ranks[order][:-1]
    assert (part_of[order][1:][equal] == part_of[order][:-1][equal]).all(), "equal keys part"
    if by == "range":
        assert (np.diff(part_of[order]) >= 0).all(), "a later range has an earlier key"
    if by == "explicit":
        np.testing.assert_array_equal(part_of, np.asarray(table.column("k0")).astype(np.int64))
