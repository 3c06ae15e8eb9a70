"""Input tables of the join bench: the sides `l` and `r` of a join."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
from harness.inputs import (
    CHUNK_ROWS,
    SEED,
    Inputs,
    Int64,
    chunk_starts,
    keyed,
    scaled,
    scatter,
    sides,
    tpch_file,
    tpch_table,
    zipf_ranks,
)


def unique_keys(rows: int, key_of: Callable[[Int64], Int64]) -> Inputs:
    """One to one: both sides hold the same keys, each side in its own random order."""
    rng = np.random.default_rng(SEED)
    left = key_of(rng.permutation(rows))
    right = key_of(rng.permutation(rows))
    return sides(keyed(left, "lv"), keyed(right, "rv"))


def sparse_unique(scale: float) -> Inputs:
    return unique_keys(scaled(20_000_000, scale), scatter)


def dense_unique(scale: float) -> Inputs:
    return unique_keys(scaled(20_000_000, scale), lambda ids: ids + 1)


def foreign_key(scale: float, hit_share: float) -> Inputs:
    """20 M rows look for 5 M unique sparse keys; `hit_share` of them find one."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    ids = rng.integers(0, build_rows, probe_rows)
    ids[rng.random(probe_rows) >= hit_share] += build_rows  # ids beyond the build side: no partner
    build = keyed(scatter(rng.permutation(build_rows)), "rv")
    return sides(keyed(scatter(ids), "lv"), build)


def zipf_probe(scale: float) -> Inputs:
    """Probe keys with Zipf exponent 1.0 over 5 M keys; the hottest has 4.5 % of the rows."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    ranks = zipf_ranks(rng, probe_rows, build_rows)
    build = keyed(scatter(rng.permutation(build_rows)), "rv")
    return sides(keyed(scatter(ranks), "lv"), build)


def equal_probe(scale: float) -> Inputs:
    """Every one of the 20 M probe rows carries the same key, which one of 5 M build rows has."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    ids = np.full(probe_rows, build_rows // 2, dtype=np.int64)
    build = keyed(scatter(rng.permutation(build_rows)), "rv")
    return sides(keyed(scatter(ids), "lv"), build)


def duplicate_build(scale: float) -> Inputs:
    """5 M build rows with 100 rows per key; 1 M probe rows: 100 M rows result, so it is counted."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(1_000_000, scale)
    keys = max(1, build_rows // 100)
    return sides(
        keyed(scatter(rng.integers(0, keys, probe_rows)), "lv"),
        keyed(scatter(rng.permutation(build_rows) % keys), "rv"),
    )


def small_tables(scale: float) -> Inputs:
    """10 k rows x 1 k rows. The row asks for latency, so it does not shrink with the scale."""
    del scale
    rng = np.random.default_rng(SEED)
    ids = rng.integers(0, 1_000, 10_000)
    return sides(keyed(scatter(ids), "lv"), keyed(scatter(rng.permutation(1_000)), "rv"))


STRING_COUNT = 50_000  # distinct strings; with 100 numbers they name 5 M (int32, utf8) pairs


def two_column_side(ids: Int64, strings: pa.Array, payload: str) -> pa.Table:
    """Pair id -> (int32, utf8); neither column alone identifies a row."""
    starts = chunk_starts(len(ids))
    chunks = [ids[start : start + CHUNK_ROWS] for start in starts]
    numbers = [pa.array((chunk // STRING_COUNT).astype(np.int32)) for chunk in chunks]
    words = [strings.take(pa.array(chunk % STRING_COUNT)) for chunk in chunks]
    values = np.arange(len(ids), dtype=np.int64)
    payloads = [pa.array(values[start : start + CHUNK_ROWS]) for start in starts]
    columns = [pa.chunked_array(parts) for parts in (numbers, words, payloads)]
    return pa.table(columns, names=["k1", "k2", payload])


def two_column_key(scale: float) -> Inputs:
    """5 M unique (int32, utf8) keys, strings of 10 to 24 bytes; every probe row hits."""
    rng = np.random.default_rng(SEED)
    build_rows, probe_rows = scaled(5_000_000, scale), scaled(20_000_000, scale)
    strings = pa.array([f"part-{i:05d}{'-abcdefghijklm'[: i % 15]}" for i in range(STRING_COUNT)])
    return sides(
        two_column_side(rng.integers(0, build_rows, probe_rows), strings, "lv"),
        two_column_side(rng.permutation(build_rows), strings, "rv"),
    )


LINEITEM_COLUMNS = ["l_orderkey", "l_linenumber"]
ORDERS_COLUMNS = ["o_orderkey", "o_orderpriority"]


def tpch_files(scale: float) -> Inputs:
    """TPC-H scale factor 5 (times `scale`) as Parquet."""
    import pyarrow.parquet as pq

    files = {"l": tpch_file("lineitem", scale), "r": tpch_file("orders", scale)}
    return Inputs(dict(files), {name: pq.read_metadata(f).num_rows for name, f in files.items()})


def tpch_memory(scale: float) -> Inputs:
    return sides(
        tpch_table("lineitem", scale, LINEITEM_COLUMNS),
        tpch_table("orders", scale, ORDERS_COLUMNS),
    )
