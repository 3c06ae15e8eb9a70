"""Input tables of the operators bench: one table `t`, or the sides `l` and `r` of a join."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import numpy.typing as npt
import pyarrow as pa
from harness.inputs import (
    SEED,
    Inputs,
    Int64,
    chunk_starts,
    chunked,
    in_memory,
    keyed,
    scaled,
    scatter,
    sides,
    tpch_table,
    zipf_ranks,
)

ROWS = 50_000_000
TEXT_ROWS = 20_000_000
JOIN_ROWS = 20_000_000
WINDOW_ROWS = 10_000_000
ZIPF_KEYS = 10_000_000

Bytes = npt.NDArray[np.uint8]
Arrange = Callable[[Int64], Int64]


def as_drawn(keys: Int64) -> Int64:
    return keys


def ascending(keys: Int64) -> Int64:
    return np.sort(keys)


def descending(keys: Int64) -> Int64:
    return np.ascontiguousarray(np.sort(keys)[::-1])


def group_ids(scale: float, groups: int) -> Int64:
    """50 M draws from `groups` ids, in random order; a shrunk run has fewer of both."""
    rng = np.random.default_rng(SEED)
    distinct = groups if groups <= 1_000 else scaled(groups, scale)
    return rng.integers(0, distinct, scaled(ROWS, scale))


def grouped(scale: float, groups: int, spread: Arrange, arrange: Arrange = as_drawn) -> Inputs:
    """Keys `k` and an int64 `v` to be summed; `spread` makes keys of ids."""
    return in_memory(t=keyed(arrange(spread(group_ids(scale, groups))), "v"))


def partitioned(scale: float, partitions: int) -> Inputs:
    """10 M rows of `partitions` keys `k`, their order `t`, in which no two are equal, and `v`."""
    rng = np.random.default_rng(SEED)
    rows = scaled(WINDOW_ROWS, scale)
    distinct = partitions if partitions <= 1_000 else scaled(partitions, scale)
    columns = {
        "k": rng.integers(0, distinct, rows),
        "t": rng.permutation(rows),
        "v": rng.integers(0, 1_000, rows),
    }
    return in_memory(t=pa.table(columns))


def aggregated(scale: float, groups: int) -> Inputs:
    """10 M rows of keys `k`, integers `v`, doubles `x`, strings `s`, and `t`, in which no two are
    equal."""
    rng = np.random.default_rng(SEED)
    rows = scaled(WINDOW_ROWS, scale)
    distinct = groups if groups <= 1_000 else scaled(groups, scale)
    words = pa.array([f"name number {number:05d}" for number in range(5_000)])
    columns = {
        "k": rng.integers(0, distinct, rows),
        "v": rng.integers(0, 1_000, rows),
        "x": rng.normal(size=rows),
        "s": words.take(pa.array(rng.integers(0, len(words), rows))),
        "t": rng.permutation(rows),
    }
    return in_memory(t=pa.table(columns))


def intervals(scale: float, rows: int) -> Inputs:
    """Intervals of 50 on average among a million values, as many points and other intervals, and 20
    keys on either side."""
    rng = np.random.default_rng(SEED)
    rows = scaled(rows, scale)
    start, low = (rng.integers(0, 1_000_000, rows) for _ in range(2))
    left = {"k": rng.integers(0, 20, rows), "start": start}
    right = {"key": rng.integers(0, 20, rows), "low": low, "row": np.arange(rows)}
    return in_memory(
        l=pa.table({**left, "stop": start + rng.integers(1, 100, rows)}),
        r=pa.table({**right, "high": low + rng.integers(1, 100, rows)}),
    )


def grouped_zipf(scale: float) -> Inputs:
    rng = np.random.default_rng(SEED)
    ranks = zipf_ranks(rng, scaled(ROWS, scale), scaled(ZIPF_KEYS, scale))
    return in_memory(t=keyed(scatter(ranks), "v"))


def grouped_strings(scale: float) -> Inputs:
    """A million different strings of 4 to 20 bytes, drawn 50 times each on average."""
    rng = np.random.default_rng(SEED)
    rows, distinct = scaled(ROWS, scale), scaled(1_000_000, scale)
    stems = random_words(rng, distinct, longest=12).combine_chunks().to_pylist()
    strings = pa.array([f"{stem}{number:x}" for number, stem in enumerate(stems)])
    ids = rng.integers(0, distinct, rows)
    starts = chunk_starts(rows)
    size = starts.step
    keys = pa.chunked_array([strings.take(pa.array(ids[start : start + size])) for start in starts])
    values = np.arange(rows, dtype=np.int64)
    numbers = pa.chunked_array([pa.array(values[start : start + size]) for start in starts])
    return in_memory(t=pa.table({"k": keys, "v": numbers}))


def lineitem(scale: float, columns: list[str]) -> Inputs:
    return in_memory(t=tpch_table("lineitem", scale, columns))


def keys_only(scale: float, arrange: Arrange = as_drawn) -> Inputs:
    """50 M unique sparse keys and nothing else."""
    keys = scatter(np.random.default_rng(SEED).permutation(scaled(ROWS, scale)))
    return in_memory(t=chunked({"k": arrange(keys)}))


def few_keys(scale: float, distinct: int) -> Inputs:
    return in_memory(t=chunked({"k": scatter(group_ids(scale, distinct))}))


def zipf_keys(scale: float) -> Inputs:
    return in_memory(t=grouped_zipf(scale).sources["t"].select(["k"]))


def pairs(scale: float) -> Inputs:
    """Unique sparse keys and the number of the row."""
    keys = scatter(np.random.default_rng(SEED).permutation(scaled(ROWS, scale)))
    return in_memory(t=keyed(keys, "row"))


def strings_of(lengths: Int64, data: Bytes) -> pa.ChunkedArray:
    """Strings that stand one after the other in `data`, as utf8 chunks that share its memory."""
    ends = np.concatenate([np.zeros(1, dtype=np.int64), np.cumsum(lengths)])
    starts = chunk_starts(len(lengths))
    chunks = []
    for start in starts:
        stop = min(start + starts.step, len(lengths))
        first, last = ends[start], ends[stop]
        offsets = pa.py_buffer((ends[start : stop + 1] - first).astype(np.int32))
        buffers = [None, offsets, pa.py_buffer(data[first:last])]
        chunks.append(pa.Array.from_buffers(pa.string(), stop - start, buffers))
    return pa.chunked_array(chunks)


def random_words(rng: np.random.Generator, rows: int, longest: int) -> pa.ChunkedArray:
    """4 to `longest` letters each, every letter drawn by itself."""
    lengths = rng.integers(4, longest + 1, rows)
    letters = rng.integers(ord("a"), ord("z") + 1, int(lengths.sum()), dtype=np.uint8)
    return strings_of(lengths, letters)


def words(scale: float) -> Inputs:
    rng = np.random.default_rng(SEED)
    return in_memory(t=pa.table({"k": random_words(rng, scaled(TEXT_ROWS, scale), longest=12)}))


HOSTS, CATEGORIES, DIGITS = 20, 50, 10


def urls(scale: float) -> Inputs:
    """Item pages of 20 shops with 50 categories each: two urls of a category differ behind byte 58.

    All begin with the same 17 bytes, and a thousand prefixes are shared by 20,000 urls each.
    """
    rng = np.random.default_rng(SEED)
    rows = scaled(TEXT_ROWS, scale)
    stems = [
        f"https://www.shop-{host:02d}.example.com/catalogue/category-{category:02d}/items/"
        for host in range(HOSTS)
        for category in range(CATEGORIES)
    ]
    width = len(stems[0])
    table = np.frombuffer("".join(stems).encode(), dtype=np.uint8).reshape(-1, width)
    data = np.empty((rows, width + DIGITS), dtype=np.uint8)
    data[:, :width] = table[rng.integers(0, len(stems), rows)]
    numbers = rng.integers(0, 10**DIGITS, rows)
    for place in range(width + DIGITS - 1, width - 1, -1):
        data[:, place] = ord("0") + numbers % 10
        numbers //= 10
    lengths = np.full(rows, width + DIGITS, dtype=np.int64)
    return in_memory(t=pa.table({"k": strings_of(lengths, data.reshape(-1))}))


def sorted_sides(scale: float) -> Inputs:
    """20 M unique sparse keys on both sides, both in ascending order."""
    keys = np.sort(scatter(np.arange(scaled(JOIN_ROWS, scale), dtype=np.int64)))
    return sides(keyed(keys, "lv"), keyed(keys.copy(), "rv"))
