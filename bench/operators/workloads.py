"""The rows of the operators bench: what is done, to which table, and the bar of each row.

Adding a row is adding an entry to `WORKS`; nothing else in the bench names a single row.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from harness.command import Bench
from harness.inputs import Inputs, scatter
from harness.work import NOT_SLOWER, Bar, Work
from join.inputs import sparse_unique
from join.workloads import DUCKDB

from operators import inputs
from operators.aggregate_work import AggregateWork
from operators.group_work import Q1_COLUMNS, GroupWork, PricingSummary
from operators.merge_work import MergeWork
from operators.range_work import RangeWork
from operators.sort_work import SortWork
from operators.window_work import WindowWork

GROUPS = {"100": 100, "10k": 10_000, "1m": 1_000_000, "10m": 10_000_000}
GROUP_BARS = {"100": 1.3, "10k": 1.3, "1m": 4.0, "10m": 4.0}
FEW = 10
SPREADS = {"sparse": scatter, "dense": inputs.as_drawn}
SORT_COLUMNS = (
    "l_orderkey", "l_partkey", "l_linenumber", "l_quantity", "l_shipdate", "l_shipmode",
)  # fmt: skip


def group_sizes() -> tuple[Work, ...]:
    """Four numbers of groups; keys spread over 64 bits, and keys from 0 to groups - 1."""
    return tuple(
        GroupWork(
            name=f"group-{size}-{kind}",
            title=f"50M, {size} groups, {kind} random keys, sum",
            make=partial(inputs.grouped, groups=groups, spread=spread),
            bar=Bar(ratio=GROUP_BARS[size]),
        )
        for size, groups in GROUPS.items()
        for kind, spread in SPREADS.items()
    )


def group_shapes() -> tuple[Work, ...]:
    million = partial(inputs.grouped, groups=GROUPS["1m"], spread=scatter)
    shapes: dict[str, tuple[str, Callable[[float], Inputs]]] = {
        "sorted": ("1m groups, sorted", partial(million, arrange=inputs.ascending)),
        "reversed": ("1m groups, reversed", partial(million, arrange=inputs.descending)),
        "few": ("few distinct keys", partial(inputs.grouped, groups=FEW, spread=scatter)),
        "equal": ("all keys equal", partial(inputs.grouped, groups=1, spread=scatter)),
        "zipf": ("Zipf 1.0 over 10m keys", inputs.grouped_zipf),
    }
    return tuple(
        GroupWork(name=f"group-{name}", title=f"50M, {words}, sum", make=make, bar=NOT_SLOWER)
        for name, (words, make) in shapes.items()
    )


def sort_shapes() -> tuple[Work, ...]:
    shapes: dict[str, tuple[str, Callable[[float], Inputs]]] = {
        "sorted": ("already sorted", partial(inputs.keys_only, arrange=inputs.ascending)),
        "reversed": ("reversed", partial(inputs.keys_only, arrange=inputs.descending)),
        "few": ("few distinct keys", partial(inputs.few_keys, distinct=FEW)),
        "equal": ("all equal", partial(inputs.few_keys, distinct=1)),
        "zipf": ("Zipf 1.0 over 10m keys", inputs.zipf_keys),
    }
    return tuple(
        SortWork(name=f"sort-{name}", title=f"sort 50M int64, {words}", make=make, bar=NOT_SLOWER)
        for name, (words, make) in shapes.items()
    )


GROUP_WORKS: tuple[Work, ...] = (
    *group_sizes(),
    GroupWork(
        name="group-lineitem",
        title="TPC-H SF5 lineitem by order key, sum quantity",
        make=partial(inputs.lineitem, columns=["l_orderkey", "l_quantity"]),
        bar=Bar(ratio=3.0),
        key="l_orderkey",
        value="l_quantity",
    ),
    PricingSummary(
        name="q1",
        title="TPC-H SF5 Q1, from memory",
        make=partial(inputs.lineitem, columns=Q1_COLUMNS),
        bar=Bar(ratio=1.5),
    ),
    GroupWork(
        name="group-utf8",
        title="50M, 1m utf8 keys, sum",
        make=inputs.grouped_strings,
        bar=Bar(ratio=2.0),
    ),
    *group_shapes(),
)

AGGREGATES = {
    "bits": "bit_xor(v)",
    "product": "product(1 + x / 1e9)",
    "median": "median(x)",
    "disc": "quantile_disc(x, 0.9)",
    "disc-text": "quantile_disc(s, 0.9)",
    "covariance": "covar_pop(v, x)",
    "arg-max": "arg_max(s, t)",
}

AGGREGATE_WORKS: tuple[Work, ...] = tuple(
    AggregateWork(
        name=f"aggregate-{name}-{size}",
        title=f"10M, {size} groups, {function}",
        make=partial(inputs.aggregated, groups=GROUPS[size]),
        bar=NOT_SLOWER,
        only_peers=DUCKDB,
        function=function,
        has_plan=False,
    )
    for name, function in AGGREGATES.items()
    for size in ("100", "10k", "1m")
)

SORT_WORKS: tuple[Work, ...] = (
    SortWork(
        name="sort",
        title="sort 50M random int64",
        make=inputs.keys_only,
        bar=Bar(ratio=3.5),
        # The bar names the faster of DuckDB and Polars; the others never were faster.
        not_counted=frozenset({"datafusion", "pyarrow", "numpy"}),
    ),
    SortWork(
        name="sort-one-core",
        title="same on one core, beside numpy",
        make=inputs.keys_only,
        bar=NOT_SLOWER,
        threads=1,
        only_peers=frozenset({"numpy"}),
    ),
    SortWork(
        name="sort-pairs",
        title="sort 50M (key, row id)",
        make=inputs.pairs,
        bar=Bar(ratio=5.0),
    ),
    SortWork(
        name="sort-lineitem",
        title="sort TPC-H SF5 lineitem by two columns",
        make=partial(inputs.lineitem, columns=list(SORT_COLUMNS)),
        bar=Bar(ratio=2.0),
        by=("l_shipdate", "l_partkey"),
    ),
    SortWork(
        name="sort-words",
        title="sort 20M utf8, random words",
        make=inputs.words,
        bar=Bar(ratio=1.5),
    ),
    SortWork(
        name="sort-urls",
        title="sort 20M utf8, urls",
        make=inputs.urls,
        bar=Bar(ratio=1.5),
    ),
    *sort_shapes(),
)

DUCKDB_POLARS = frozenset({"duckdb", "polars"})


def _row_number() -> Any:
    import crossdock as xd

    return xd.row_number().over("k", order_by="t")


def _running_sum() -> Any:
    import crossdock as xd

    return xd.sum("v").over("k", order_by="t")


def _sliding_max() -> Any:
    import crossdock as xd

    return xd.max("v").over("k", order_by="t", rows=(-999, 0))


def _polars(name: str) -> Any:
    import polars as pl

    value = pl.col("v")
    functions = {
        "number": pl.int_range(1, pl.len() + 1),
        "sum": value.cum_sum(),
        "max": value.rolling_max(1000, min_samples=1),
    }
    return functions[name].over("k", order_by="t")


WINDOW_WORKS: tuple[Work, ...] = (
    WindowWork(
        name="window-number",
        title="10M, 1m partitions, row_number",
        make=partial(inputs.partitioned, partitions=1_000_000),
        bar=Bar(ratio=1.5),
        only_peers=DUCKDB_POLARS,
        sql_function="row_number() OVER (PARTITION BY k ORDER BY t)",
        expression=_row_number,
        in_polars=partial(_polars, "number"),
        has_plan=False,
    ),
    WindowWork(
        name="window-sum",
        title="10M, 1k partitions, running sum",
        make=partial(inputs.partitioned, partitions=1_000),
        bar=Bar(ratio=1.5),
        only_peers=DUCKDB_POLARS,
        sql_function="sum(v) OVER (PARTITION BY k ORDER BY t)",
        expression=_running_sum,
        in_polars=partial(_polars, "sum"),
        has_plan=False,
    ),
    WindowWork(
        name="window-max",
        title="10M, 10 partitions, max of 1,000 rows",
        make=partial(inputs.partitioned, partitions=10),
        bar=Bar(ratio=1.5),
        only_peers=DUCKDB_POLARS,
        sql_function=(
            "max(v) OVER (PARTITION BY k ORDER BY t ROWS BETWEEN 999 PRECEDING AND CURRENT ROW)"
        ),
        expression=_sliding_max,
        in_polars=partial(_polars, "max"),
        has_plan=False,
    ),
)


def _polars_range(name: str) -> list[Any]:
    import polars as pl

    start, stop, low, high = map(pl.col, ("start", "stop", "low", "high"))
    conditions = {
        "contain": [start <= low, low < stop],
        "overlap": [start <= high, low <= stop],
        "keyed": [pl.col("k") == pl.col("key"), start <= low, low < stop],
    }
    return conditions[name]


RANGE_WORKS: tuple[Work, ...] = tuple(
    RangeWork(
        name=f"range-{name}",
        title=title,
        make=partial(inputs.intervals, rows=rows),
        bar=NOT_SLOWER,
        only_peers=DUCKDB_POLARS,
        keys=keys,
        condition=condition,
        in_polars=partial(_polars_range, name),
        has_plan=False,
    )
    for name, rows, title, keys, condition in (
        ("contain", 1_000_000, "1M points in 1M intervals", None, "start <= low AND low < stop"),
        (
            "overlap",
            1_000_000,
            "1M x 1M intervals that overlap",
            None,
            "start <= high AND low <= stop",
        ),
        (
            "keyed",
            100_000,
            "0.1M points in as many intervals, 20 keys",
            {"k": "key"},
            "start <= low AND low < stop",
        ),
    )
)

MERGE_WORKS: tuple[Work, ...] = (
    MergeWork(
        name="merge",
        title="merge join 20M x 20M, counted, beside DuckDB",
        make=sparse_unique,
        bar=Bar(ratio=2.5),
        only_peers=DUCKDB,
        has_plan=False,
    ),
    MergeWork(
        name="merge-hash",
        title="same beside our hash join",
        make=sparse_unique,
        bar=Bar(ratio=0.5),
        kind="own",
        has_plan=False,
    ),
    MergeWork(
        name="merge-sorted",
        title="both sides sorted, beside our hash join",
        make=inputs.sorted_sides,
        bar=Bar(ratio=2.0),
        kind="own",
        has_plan=False,
    ),
)

MEMORY_WORKS: tuple[Work, ...] = (
    GroupWork(
        name="memory-group",
        title="peak memory, 50M, 10m groups",
        make=partial(inputs.grouped, groups=GROUPS["10m"], spread=scatter),
        bar=Bar(ratio=1.0),
        kind="memory",
    ),
    SortWork(
        name="memory-sort",
        title="peak memory, sort 50M (key, row id)",
        make=inputs.pairs,
        bar=Bar(ratio=1.0, of_input=2.2),
        kind="memory",
    ),
)

BENCH = Bench(
    name="operators",
    purpose="Group-by, sort, windows and further joins beside others: same rows, same minutes",
    works=(
        *GROUP_WORKS,
        *AGGREGATE_WORKS,
        *SORT_WORKS,
        *WINDOW_WORKS,
        *RANGE_WORKS,
        *MERGE_WORKS,
        *MEMORY_WORKS,
    ),
    peers=(
        "duckdb",
        "duckdb-arrow",
        "polars",
        "polars-in-memory",
        "polars-series",
        "datafusion",
        "pyarrow",
        "numpy",
    ),
)
