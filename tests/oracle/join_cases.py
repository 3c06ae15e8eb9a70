"""Cases of the join oracle: what is varied, and the two tables that a case describes.

A case is made of plain words and one seed; the same case always gives the same tables.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from made_tables import MadeColumn, assemble
from value_pools import Pool, Random, make_pool, shared_pools

Names = tuple[str, ...]
KeyColumns = tuple[tuple[str, str], ...]  # (type on the left, type on the right)

SINGLE = [
    "bool",
    "int8",
    "int16",
    "int32",
    "int64",
    "uint8",
    "uint16",
    "uint32",
    "uint64",
    "float32",
    "float64",
    "decimal",
    "date32",
    "date64",
    "timestamp[s]",
    "timestamp[ms]",
    "timestamp[us]",
    "timestamp[ns]",
    "timestamp[us,UTC]",
    "timestamp[ns,Europe/Berlin]",
    "time32[s]",
    "time64[us]",
    "duration[ms]",
    "utf8",
    "large_utf8",
    "string_view",
    "binary",
    "large_binary",
    "binary_view",
    "dict8",
    "dict32",
]
UNLIKE = [
    ("int8", "int64"),
    ("uint32", "int64"),
    ("int32", "int64"),
    ("uint64", "int64"),
    ("float32", "float64"),
    ("int32", "decimal"),
    ("decimal", "decimal_wide"),
    ("date32", "date64"),
    ("timestamp[s]", "timestamp[ns]"),
    ("timestamp[ms,UTC]", "timestamp[us,Europe/Berlin]"),
    ("utf8", "string_view"),
    ("utf8", "large_utf8"),
    ("utf8", "dict32"),
    ("dict8", "dict32"),
    ("binary", "binary_view"),
]
MIXES = [
    ("int32", "utf8"),
    ("int64", "int64"),
    ("int16", "int16", "int32"),
    ("bool", "int32"),
    ("uint8", "int8", "uint16"),
    ("float64", "date32"),
    ("float32", "int32"),
    ("dict8", "int8"),
    ("utf8", "binary", "int64"),
    ("timestamp[us]", "decimal"),
    ("date32", "int32"),
    ("dict32", "string_view", "uint64"),
]
KEYS: list[KeyColumns] = [
    *(((name, name),) for name in SINGLE),
    *((pair,) for pair in UNLIKE),
    *(tuple((name, name) for name in mix) for mix in MIXES),
]

PAYLOADS: dict[str, Names] = {
    "none": (),
    "narrow": ("int8", "bool"),
    "one word": ("int64",),
    "wide": ("int64", "float64", "decimal", "timestamp[us,UTC]", "uint16"),
    "strings": ("utf8", "string_view", "dict8"),
    "bytes": ("large_utf8", "binary", "bool", "date32"),
}
SIZES = [
    (0, 0),
    (0, 1000),
    (1000, 0),
    (1, 1),
    (1, 2),
    (2, 1000),
    (1000, 1000),
    (5000, 300),
    (1000, 70_000),
    (70_000, 1000),
    (70_000, 70_000),
]
NULL_SHARES = {"none": 0.0, "some": 0.1, "most": 0.9, "all": 1.0}
PAIRS_MAX = 150_000


@dataclass(frozen=True)
class Case:
    """One join of two generated tables. `swap` exchanges the key types of the sides."""

    seed: int = 0
    keys: KeyColumns = (("int64", "int64"),)
    swap: bool = False
    how: str = "inner"
    nulls_equal: bool = False
    residual: bool = False
    sizes: tuple[int, int] = (1000, 1000)
    nulls: str = "some"
    duplicates: str = "few"
    skew: str = "uniform"
    match: str = "some"
    chunks: str = "one"
    payload: tuple[str, str] = ("narrow", "one word")
    strategy: str = "auto"
    build: str = "auto"
    materialize: str = "auto"
    filter: str = "auto"
    bits: int = -1
    threads: int = 1
    run: str = "collect"
    pairs_max: int = PAIRS_MAX

    def label(self) -> str:
        """A short name for test lists."""
        keys = "+".join(left if left == right else f"{left}~{right}" for left, right in self.keys)
        return f"{self.how}-{keys}-{self.strategy}-{self.sizes[0]}x{self.sizes[1]}"


@dataclass(frozen=True)
class Sides:
    """The tables of a case: keys k0.., payload columns a0.. and b0.., `p` and `q` for residuals."""

    left: pa.Table
    right: pa.Table
    payloads: tuple[Names, Names]


def _row_keys(case: Case, side: int, rows: int, random: Random) -> np.ndarray:
    """Which tuple of the key pool each row has."""
    share = {"none": 1.0, "few": 0.4, "heavy": 0.02}[case.duplicates]
    domain = max(1, int(rows * share))
    offset = {"all": 0, "some": domain // 2, "none": 10**6}[case.match] * side
    if case.skew == "equal" and side == 0:
        return np.full(rows, offset)
    if case.skew == "zipf" and side == 0:
        return np.minimum(random.zipf(1.2, rows), domain) - 1 + offset
    if case.duplicates == "none":
        return random.permutation(domain)[:rows] + offset
    return random.integers(0, domain, rows) + offset


def _key_codes(pools: list[Pool], tuples: np.ndarray) -> list[np.ndarray]:
    """Positions in the pool of each key column. A tuple's first column counts through the pool; the
    others depend on all of the tuple, so that columns alone do not tell who matches."""
    codes = [tuples % len(pools[0])]
    codes += [(tuples * (7 + i) // 3) % len(pool) for i, pool in enumerate(pools[1:])]
    return codes


def _limited(
    case: Case, codes: list[list[np.ndarray]], nulls: list[list[np.ndarray]]
) -> tuple[int, int]:
    """Rows of either side, fewer than asked for where the result would be too large."""
    rows = [len(side[0]) for side in codes]
    keys = []  # one number for each row's key; that two keys may share one does no harm
    for number, (side, absent) in enumerate(zip(codes, nulls, strict=True)):
        lost = -1 if case.nulls_equal else -2 - number  # what a null counts as
        columns = [np.where(null, lost, code) for code, null in zip(side, absent, strict=True)]
        key = sum(column * 1_000_003**i for i, column in enumerate(columns))
        keys.append(key if case.nulls_equal else np.where(np.any(absent, axis=0), lost, key))
    while True:
        both = np.concatenate([keys[0][: rows[0]], keys[1][: rows[1]]])
        _, inverse = np.unique(both, return_inverse=True)
        left = np.bincount(inverse[: rows[0]], minlength=len(both))
        right = np.bincount(inverse[rows[0] :], minlength=len(both))
        if int((left * right).sum()) <= case.pairs_max:
            return rows[0], rows[1]
        larger = 0 if rows[0] < rows[1] else 1
        rows[larger] //= 2


def make_sides(case: Case) -> Sides:
    """The tables of a case."""
    random = np.random.default_rng(case.seed)
    size = max(8, *case.sizes)
    pools = [shared_pools(left, right, size, random) for left, right in case.keys]
    if case.swap:
        pools = [(right, left) for left, right in pools]
    types = [(right, left) if case.swap else (left, right) for left, right in case.keys]
    tuples = [_row_keys(case, side, case.sizes[side], random) for side in (0, 1)]
    codes = [_key_codes([pool[side] for pool in pools], tuples[side]) for side in (0, 1)]
    share = NULL_SHARES[case.nulls]
    nulls = [[random.random(len(column)) < share for column in side] for side in codes]
    rows = _limited(case, codes, nulls)
    tables = []
    payloads = tuple(PAYLOADS[name] for name in case.payload)
    for side in (0, 1):
        columns = [
            MadeColumn(f"k{i}", types[i][side], pools[i][side], codes[side][i], nulls[side][i])
            for i in range(len(types))
        ]
        named = [("pq"[side], "int32")]
        named += [(f"{'ab'[side]}{i}", name) for i, name in enumerate(payloads[side])]
        for i, (name, type_name) in enumerate(named):
            pool = make_pool(type_name, 50, random)
            at = random.integers(0, len(pool), len(tuples[side]))
            absent = random.random(len(at)) < (0.0, 0.2, 1.0)[i % 3]
            columns.append(MadeColumn(name, type_name, pool, at, absent))
        tables.append(assemble(case.chunks, columns, rows[side], random))
    return Sides(tables[0], tables[1], (payloads[0], payloads[1]))


def run_options(case: Case) -> dict[str, Any]:
    """The choices of a case, as the engine takes them."""
    return {
        "strategy": case.strategy,
        "build": case.build,
        "materialize": case.materialize,
        "filter": case.filter,
        "partition_bits": case.bits,
    }
