"""Pools of values of every type the engine takes: what random key and payload columns draw from.

A pool holds ordinary values and what is extreme for its type. Values are distinct, except where a
type has several spellings of one key (the zeros and NaNs of floats).
"""

from __future__ import annotations

import decimal
from collections.abc import Callable

import numpy as np
import pyarrow as pa

Random = np.random.Generator
Pool = pa.Array

WORDS = ["", "a", "b\0c", "zwölf Zeichen", "exactly12byt", "exactly13byte", "common prefix 000000"]


def type_of(name: str) -> pa.DataType:
    """The Arrow type that a name such as "timestamp[ms,UTC]" or "dict8" stands for."""
    special = {
        "dict8": pa.dictionary(pa.int8(), pa.utf8()),
        "dict32": pa.dictionary(pa.int32(), pa.utf8()),
        "decimal": pa.decimal128(38, 3),
        "decimal_wide": pa.decimal128(38, 6),
        "decimal_full": pa.decimal128(38, 0),
        "decimal_small": pa.decimal128(12, 2),
        "string_view": pa.string_view(),
        "binary_view": pa.binary_view(),
        "bool": pa.bool_(),
    }
    if name in special:
        return special[name]
    if "[" not in name:
        return getattr(pa, name)()
    kind, arguments = name.rstrip("]").split("[")
    return getattr(pa, kind)(*arguments.split(","))


def integers(target: pa.DataType, size: int, random: Random) -> Pool:
    """Half the time a narrow range (dense keys), else values from the whole of the type."""
    limits = np.iinfo(target.to_pandas_dtype())
    if random.random() < 0.5:
        low = int(random.integers(-3, 1)) if limits.min < 0 else 0
        span = min(size, limits.max - low + 1)
        return pa.array(np.arange(low, low + span, dtype=np.int64).astype(limits.dtype), target)
    extremes = [limits.min, limits.max, 0, 1, limits.max - 1, limits.min + 1]
    drawn = random.integers(limits.min, limits.max, size, dtype=limits.dtype, endpoint=True)
    values = np.concatenate([np.array(extremes, limits.dtype), drawn])
    return pa.array(random.permutation(np.unique(values)), target)


def floats(target: pa.DataType, size: int, random: Random) -> Pool:
    kind = np.float32 if target == pa.float32() else np.float64
    special = np.array(
        [0.0, -0.0, np.nan, -np.nan, np.inf, -np.inf, np.finfo(kind).tiny, 0.1], kind
    )
    drawn = random.normal(0, 1e6, size).astype(kind)
    return pa.array(np.concatenate([special, drawn]), target, from_pandas=False)


def decimals(target: pa.DataType, size: int, random: Random) -> Pool:
    """Values at 10^-3, or at the type's own scale where it is another than the joins' types have:
    then the largest numbers of so many digits are among them."""
    unscaled = [0, 1, -1]
    scale = 3
    if target.scale in (3, 6):
        unscaled += [10**20, -(10**20), 2**64, 2**63]
    else:
        scale = target.scale
        largest = 10**target.precision - 1
        unscaled += [largest, -largest, largest - 1, 1 - largest]
    unscaled += [int(value) for value in random.integers(-(10**9), 10**9, size)]
    with decimal.localcontext() as context:
        context.prec = 60
        values = [decimal.Decimal(value).scaleb(-scale) for value in dict.fromkeys(unscaled)]
    return pa.array(values, target)


def instants(target: pa.DataType, size: int, random: Random) -> Pool:
    """Integers behind dates, times and timestamps: whole days, so that every unit can say them."""
    day = {"s": 86_400, "ms": 86_400_000, "us": 86_400 * 10**6, "ns": 86_400 * 10**9}
    days = np.unique(np.concatenate([[-1, 0, 1, 19_000], random.integers(-30_000, 60_000, size)]))
    if target in (pa.date32(),):
        return pa.array(days.astype(np.int32), pa.int32()).view(target)
    unit = "ms" if target == pa.date64() else target.unit
    return pa.array(days * day[unit], pa.int64()).view(target)


def day_times(target: pa.DataType, size: int, random: Random) -> Pool:
    per_second = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}[target.unit]
    seconds = np.unique(np.concatenate([[0, 86_399], random.integers(0, 86_400, size)]))
    width = pa.int32() if pa.types.is_time32(target) else pa.int64()
    return pa.array(seconds * per_second, width).view(target)


def strings(target: pa.DataType, size: int, random: Random) -> Pool:
    drawn = [f"common prefix {n:06}" if n % 3 else f"k{n}" for n in range(size)]
    words = pa.array(list(dict.fromkeys(WORDS + [drawn[i] for i in random.permutation(size)])))
    if pa.types.is_binary(target) or pa.types.is_large_binary(target):
        return words.cast(target)
    return (
        words.cast(pa.binary()).cast(target) if target == pa.binary_view() else words.cast(target)
    )


def bools(target: pa.DataType, size: int, random: Random) -> Pool:
    return pa.array([True, False], target)


def make_pool(name: str, size: int, random: Random) -> Pool:
    """About `size` values of the named type, or as many as it has; dictionaries as their text."""
    target = type_of(name)
    if pa.types.is_dictionary(target):
        return strings(pa.utf8(), min(size, 100) if name == "dict8" else size, random)
    makers: list[tuple[Callable[[pa.DataType], bool], Callable[..., Pool]]] = [
        (pa.types.is_boolean, bools),
        (pa.types.is_integer, integers),
        (pa.types.is_floating, floats),
        (pa.types.is_decimal, decimals),
        (pa.types.is_time, day_times),
        (pa.types.is_temporal, instants),
    ]
    make = next((maker for fits, maker in makers if fits(target)), strings)
    return make(target, size, random)


def shared_pools(left: str, right: str, size: int, random: Random) -> tuple[Pool, Pool]:
    """Pools of two types that compare, the left one the narrower: equal values at equal positions;
    behind these, values of the right type alone, among them some that must not meet the left's
    although their low bits are equal."""
    if "dict8" in (left, right):
        size = min(size, 100)
    if (left, right) == ("uint64", "int64"):
        equal = list(range(size))
        twins = [-1, -(2**63), -(2**63) + 7]
        unsigned = pa.array(equal + [value + 2**64 for value in twins], pa.uint64())
        return unsigned, pa.array(equal + twins, pa.int64())
    narrow = make_pool(left, size, random)
    if left == right:
        return narrow, narrow
    wide_type = type_of(right)
    if pa.types.is_dictionary(wide_type):
        return narrow, narrow.cast(pa.utf8())
    wide = narrow.cast(wide_type)
    if wide_type == pa.int64():
        values = wide.to_numpy()
        bits = type_of(left).bit_width
        return narrow, pa.array(np.concatenate([values, values + 2**bits]))
    return narrow, wide


def column_of(pool: Pool, name: str, codes: np.ndarray, nulls: np.ndarray) -> pa.Array:
    """The values pool[codes], null where `nulls`, as an array of the named type."""
    target = type_of(name)
    if pa.types.is_dictionary(target):
        width = target.index_type.to_pandas_dtype()
        indices = without_bitmap(pa.array(codes.astype(width), mask=nulls))
        return pa.DictionaryArray.from_arrays(indices, pool)
    indices = pa.array(codes, pa.int64(), mask=nulls)
    if pool.type in (pa.string_view(), pa.binary_view()):
        plain = pa.utf8() if pool.type == pa.string_view() else pa.binary()
        return without_bitmap(pool.cast(plain).take(indices).cast(pool.type))
    return without_bitmap(pool.take(indices))


def without_bitmap(array: pa.Array) -> pa.Array:
    """The array without a validity bitmap if it has no nulls: many kernels leave one that is all
    ones, and the engine has other paths for columns that have none."""
    if array.null_count > 0:
        return array
    buffers = [None, *array.buffers()[1:]]
    return pa.Array.from_buffers(array.type, len(array), buffers, 0, array.offset)
