"""Cases of the sort oracle: what is varied, and the table that a case describes.

A case is made of plain words and one seed; the same case always gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from group_by_cases import pool_ranks
from join_cases import MIXES, NULL_SHARES, PAYLOADS, SINGLE
from made_tables import MadeColumn, assemble, in_order
from value_pools import Random, make_pool

Names = tuple[str, ...]

KEYS: list[Names] = [
    *((name,) for name in [*SINGLE, "decimal_full", "decimal_small"]),
    *MIXES,
    ("int64", "float64", "utf8"),
    ("decimal_full", "utf8"),
    ("bool", "bool", "bool", "utf8"),
]
# Of each key column in turn: descending?, nulls first?
DIRECTIONS: dict[str, list[tuple[bool, bool]]] = {
    "up": [(False, False)],
    "up, nulls first": [(False, True)],
    "down": [(True, False)],
    "down, nulls first": [(True, True)],
    "mixed": [(True, False), (False, True)],
    "mixed otherwise": [(False, False), (True, True), (True, False)],
}
ARRANGEMENTS = ["random", "sorted", "reversed", "nearly sorted", "zipf", "equal"]
DISTINCT = {"few": 0.01, "many": 0.4, "all": 1.0}
PAYLOAD_WORDS = [*PAYLOADS, "keys only"]


@dataclass(frozen=True)
class SortCase:
    """One sort of a generated table. `limit` and `offset` are shares of the rows where they are
    floats; a payload of "keys only" leaves out the row numbers too, by which rows are known."""

    seed: int = 0
    keys: Names = ("int64",)
    directions: str = "up"
    rows: int = 1000
    distinct: str = "many"
    arrangement: str = "random"
    nulls: str = "some"
    chunks: str = "one"
    payload: str = "narrow"
    limit: float = -1
    offset: float = 0
    stable: bool = False
    row_index: bool = False
    strategy: str = "auto"
    digit_bits: int = 0  # of strategy lsd; 0: the default
    batch_rows: int = 0
    threads: int = 1
    run: str = "collect"

    def label(self) -> str:
        """A short name for test lists."""
        limit = f"-limit {self.limit}" if self.limit != -1 else ""
        return f"{'+'.join(self.keys)}-{self.directions}-{self.strategy}-{self.rows}{limit}"


def order_of(case: SortCase) -> list[tuple[str, bool, bool]]:
    """The sort keys: column, descending, nulls first."""
    cycle = DIRECTIONS[case.directions]
    return [(f"k{i}", *cycle[i % len(cycle)]) for i in range(len(case.keys))]


def absolute(share: float, rows: int) -> int:
    """A limit or an offset of a case in rows."""
    return share if isinstance(share, int) else int(share * rows)


def make_table(case: SortCase) -> pa.Table:
    """The table of a case: keys k0.., payload columns a0.., and the row number `row`."""
    random = np.random.default_rng(case.seed)
    tuples = _key_tuples(case, random)
    columns = []
    for i, name in enumerate(case.keys):
        pool = make_pool(name, max(8, case.rows), random)
        codes = (tuples if i == 0 else tuples * (7 + i) // 3) % len(pool)
        nulls = random.random(case.rows) < NULL_SHARES[case.nulls]
        columns.append(MadeColumn(f"k{i}", name, pool, codes, nulls))
    columns = _arranged(case, columns, random)
    for i, name in enumerate(PAYLOADS.get(case.payload, ())):
        pool = make_pool(name, 50, random)
        codes = random.integers(0, len(pool), case.rows)
        absent = random.random(case.rows) < (0.0, 0.2, 1.0)[i % 3]
        columns.append(MadeColumn(f"a{i}", name, pool, codes, absent))
    numbers = np.arange(case.rows)
    pool = pa.array(np.arange(max(1, case.rows)))
    columns.append(MadeColumn("row", "int64", pool, numbers, np.zeros(case.rows, bool)))
    return assemble(case.chunks, columns, case.rows, random)


def _key_tuples(case: SortCase, random: Random) -> np.ndarray:
    domain = max(1, int(case.rows * DISTINCT[case.distinct]))
    if case.arrangement == "equal":
        return np.full(case.rows, int(random.integers(1000)))
    if case.arrangement == "zipf":
        return np.minimum(random.zipf(1.2, case.rows), domain) - 1
    if case.distinct == "all":
        return random.permutation(case.rows)
    return random.integers(0, domain, case.rows)


def _arranged(case: SortCase, columns: list[MadeColumn], random: Random) -> list[MadeColumn]:
    """The rows as they come, in the order that is asked for, in its reverse, or nearly in it."""
    if case.arrangement not in ("sorted", "reversed", "nearly sorted"):
        return columns
    ranks = []
    for column, (_, descending, nulls_first) in zip(columns, order_of(case), strict=True):
        rank = pool_ranks(column.pool)[column.codes] * (-1 if descending else 1)
        far = case.rows + len(column.pool)
        ranks.append(np.where(column.nulls, -far if nulls_first else far, rank))
    order = np.lexsort(ranks[::-1])
    if case.arrangement == "reversed":
        order = order[::-1]
    if case.arrangement == "nearly sorted" and case.rows > 1:
        moved = random.integers(0, case.rows, 2)
        order[moved] = order[moved[::-1]]
    return [in_order(column, order) for column in columns]


def run_options(case: SortCase) -> dict[str, Any]:
    """The choices of a case, as the engine takes them."""
    options: dict[str, Any] = {
        "limit": absolute(case.limit, case.rows),
        "offset": absolute(case.offset, case.rows),
        "stable": case.stable,
        "row_index": "position" if case.row_index else "",
        "strategy": case.strategy,
    }
    if case.digit_bits:
        options["digit_bits"] = case.digit_bits
    if case.batch_rows:
        options["batch_rows"] = case.batch_rows
    return options


def output_of(case: SortCase, table: pa.Table) -> list[tuple[str, str]]:
    """The columns of the result: (column, name)."""
    names = table.column_names
    if case.payload == "keys only":
        names = [name for name in names if name.startswith("k")]
    return [(name, f"{name}_out") for name in names]
