"""Cases of the group-by oracle: what is varied, and the table that a case describes.

A case is made of plain words and one seed; the same case always gives the same table.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from join_cases import MIXES, NULL_SHARES, SINGLE
from made_tables import MadeColumn, assemble, in_order
from same_rows import plain
from value_pools import Pool, Random, make_pool, type_of

Names = tuple[str, ...]

KEYS: list[Names] = [
    (),
    *((name,) for name in SINGLE),
    ("decimal_full",),
    ("decimal_small",),
    *MIXES,
]
VALUES = [*SINGLE, "decimal_full", "decimal_small"]

INTEGER = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
FLOAT = ("float32", "float64")
DECIMAL = ("decimal", "decimal_full", "decimal_small")
NUMBER = INTEGER + FLOAT + DECIMAL
DATED = tuple(name for name in SINGLE if name.startswith(("date", "timestamp")))
ANY = tuple(VALUES)

BITS = ("bit_and", "bit_or", "bit_xor")

# function -> the types it takes
FUNCTIONS: dict[str, Names] = {
    "count": ANY,
    "sum": (*NUMBER, "bool"),
    "min": ANY,
    "max": ANY,
    "mean": NUMBER,
    "var": NUMBER,
    "stddev": NUMBER,
    "first": ANY,
    "any": ANY,
    "bool_and": ("bool",),
    "bool_or": ("bool",),
    "count_distinct": ANY,
    "approx_distinct": ANY,
    "quantile": (*NUMBER, *DATED),
    "quantile_disc": (*INTEGER, *DECIMAL),
    "bit_and": INTEGER,
    "bit_or": INTEGER,
    "bit_xor": INTEGER,
}
# The options that a function is tried with, where it has any.
OPTIONS: dict[str, list[dict[str, Any]]] = {
    "var": [{}, {"ddof": 0}],
    "stddev": [{}, {"ddof": 0}],
    "quantile": [{"q": 0.5}, {"q": 0.0}, {"q": 1.0}, {"q": 0.9}],
    "quantile_disc": [{"q": 0.5}, {"q": 0.0}, {"q": 1.0}, {"q": 0.07}],
}
FILTERS = ["none", "some", "all false", "all null"]
ARRANGEMENTS = ["random", "grouped", "zipf"]
GROUPS = {"one": 0.0, "few": 0.01, "many": 0.4, "distinct": 1.0}


@dataclass(frozen=True)
class Aggregate:
    """One aggregate of a case; no column: rows are counted."""

    function: str
    column: str = ""
    filter: str = ""
    options: dict[str, Any] = field(default_factory=dict)
    name: str = ""


@dataclass(frozen=True)
class GroupCase:
    """One group-by of a generated table. `function` is one of FUNCTIONS, or "all" that the type of
    the values takes; `values` says of which type they are, `extreme` lets them be any."""

    seed: int = 0
    keys: Names = ("int64",)
    values: str = "int64"
    function: str = "all"
    extreme: bool = False
    rows: int = 1000
    groups: str = "few"
    arrangement: str = "random"
    nulls: str = "some"
    value_nulls: str = "some"
    filter: str = "none"
    chunks: str = "one"
    strategy: str = "auto"
    batch_rows: int = 0
    threads: int = 1
    run: str = "collect"

    def label(self) -> str:
        """A short name for test lists."""
        keys = "+".join(self.keys) or "no keys"
        return f"{self.function}-{self.values}-by-{keys}-{self.strategy}-{self.rows}"


def key_names(case: GroupCase) -> list[str]:
    return [f"k{i}" for i in range(len(case.keys))]


def aggregates(case: GroupCase) -> list[Aggregate]:
    """The aggregates of a case: over `v` and, for a second column of the kind, `w`; with a filter
    every other one of a case of many is filtered by `f`."""
    names = list(FUNCTIONS) if case.function == "all" else [case.function]
    items = [Aggregate("count")]
    for name in names:
        if case.values not in FUNCTIONS[name]:
            continue
        for options in OPTIONS.get(name, [{}]):
            items.append(Aggregate(name, "v", options=options))
        if name == "sum" and case.values in (*INTEGER, "bool"):
            items.append(Aggregate(name, "v", options={"wide": True}))
        if name in ("sum", "mean") and case.values in FLOAT:
            items.append(Aggregate(name, "v", options={"floats": "exact"}))
        if len(names) == 1:
            items.append(Aggregate(name, "w", options=OPTIONS.get(name, [{}])[-1]))
    filtered = case.filter != "none"
    return [
        Aggregate(
            item.function,
            item.column,
            "f" if filtered and (case.function != "all" or at % 2 == case.seed % 2) else "",
            item.options,
            f"a{at}_{item.function}",
        )
        for at, item in enumerate(items)
    ]


def pool_ranks(pool: Pool) -> np.ndarray:
    """Where each value of a pool stands in their order; equal values (the zeros, NaNs) alike."""
    known = plain(pool) if not pa.types.is_floating(pool.type) else pool
    if not pa.types.is_floating(pool.type):
        return pc.rank(known, "ascending", tiebreaker="dense").to_numpy().astype(np.int64)
    values = np.where(np.asarray(pool) == 0, 0.0, np.asarray(pool))
    return np.unique(values, return_inverse=True)[1]


def tame(pool: Pool) -> Pool:
    """Values of the type of which 100,000 can be summed without leaving 64 bits, 38 digits or the
    finite numbers."""
    kind = pool.type
    if pa.types.is_floating(kind):
        return pool.filter(pc.is_finite(pool))
    if pa.types.is_integer(kind) and kind.bit_width == 64 and pc.max(pool).as_py() > 2**40:
        return pa.array(np.unique(np.asarray(pool) // 2**24), kind)
    if pa.types.is_decimal(kind) and kind.scale == 0:
        return pa.array([value for value in pool.to_pylist() if abs(value) < 10**33], kind)
    return pool


def _key_tuples(case: GroupCase, random: Random) -> np.ndarray:
    """Which tuple of key values each row has."""
    domain = max(1, int(case.rows * GROUPS[case.groups]))
    if case.arrangement == "zipf":
        return np.minimum(random.zipf(1.2, case.rows), domain) - 1
    if case.groups == "distinct":
        return random.permutation(case.rows)
    return random.integers(0, domain, case.rows)


def make_table(case: GroupCase) -> pa.Table:
    """The table of a case: keys k0.., values v and w, a filter column f."""
    random = np.random.default_rng(case.seed)
    size = max(8, case.rows)
    tuples = _key_tuples(case, random)
    columns = []
    for i, name in enumerate(case.keys):
        pool = make_pool(name, size, random)
        codes = (tuples if i == 0 else tuples * (7 + i) // 3) % len(pool)
        nulls = random.random(case.rows) < NULL_SHARES[case.nulls]
        columns.append(MadeColumn(f"k{i}", name, pool, codes, nulls))
    if case.arrangement == "grouped" and columns:
        columns = in_key_order(columns)
    for name in ("v", "w"):
        pool = make_pool(case.values, max(8, min(case.rows, 5000)), random)
        pool = pool if case.extreme else tame(pool)
        codes = random.integers(0, len(pool), case.rows)
        nulls = random.random(case.rows) < NULL_SHARES[case.value_nulls]
        columns.append(MadeColumn(name, case.values, pool, codes, nulls))
    if case.filter != "none":
        columns.append(_filter_column(case, random))
    if not columns:
        raise ValueError(f"a table needs a column: {case}")
    return assemble(case.chunks, columns, case.rows, random)


def _filter_column(case: GroupCase, random: Random) -> MadeColumn:
    truth = random.integers(0, 2, case.rows) * (case.filter == "some")
    share = {"some": 0.2, "all false": 0.0, "all null": 1.0}[case.filter]
    pool = pa.array([False, True])
    return MadeColumn("f", "bool", pool, truth, random.random(case.rows) < share)


def in_key_order(columns: list[MadeColumn]) -> list[MadeColumn]:
    """The columns with their rows in the order of the first column, then the second, ...; nulls
    last."""
    ranks = []
    for column in columns:
        rank = pool_ranks(column.pool)[column.codes]
        ranks.append(np.where(column.nulls, rank.max(initial=0) + 1, rank))
    order = np.lexsort(ranks[::-1])
    return [in_order(column, order) for column in columns]


def result_type(item: Aggregate, value: pa.DataType | None) -> pa.DataType:
    """The type that an aggregate of values of a type must have."""
    if item.function in ("count", "count_distinct", "approx_distinct"):
        return pa.int64()
    assert value is not None
    if item.function in ("min", "max", "first", "any", "quantile_disc", *BITS):
        return value
    if item.function in ("bool_and", "bool_or"):
        return pa.bool_()
    if item.function == "quantile":
        return value if pa.types.is_temporal(value) else pa.float64()
    if item.function != "sum" or pa.types.is_floating(value):
        return pa.float64()
    if pa.types.is_decimal(value):
        return pa.decimal128(38, value.scale)
    if item.options.get("wide"):
        return pa.decimal128(38, 0)
    return pa.uint64() if pa.types.is_unsigned_integer(value) else pa.int64()


def value_type(case: GroupCase, item: Aggregate) -> pa.DataType | None:
    return type_of(case.values) if item.column else None
