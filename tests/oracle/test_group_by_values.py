"""Group-bys of values at the ends of their types: sums beyond 64 bits, decimals of 38 digits,
zeros, NaN and infinities, long strings; and what sketches and exact sums promise."""

from __future__ import annotations

import decimal
import math
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import EngineOf
from crossdock import _native
from group_by_oracle import DISTINCT_ERROR, EXACT_DISTINCT, QUANTILE_ERROR
from group_by_run import result_of
from long_strings import LONG_STRINGS, TEXT_TYPES, long_strings
from same_rows import assert_same_rows, plain

STRATEGIES = ["auto", "table", "radix", "adaptive"]
Aggregates = list[tuple[str, str, str, str, dict[str, Any]]]


def item(function: str, column: str = "v", **options: Any) -> tuple[str, str, str, str, Any]:
    return (function, column, "", function, options)


def grouped(
    engine: _native.Engine,
    table: pa.Table,
    keys: list[str],
    aggregates: Aggregates,
    **options: Any,
) -> pa.Table:
    if not keys and options.get("strategy") in ("radix", "adaptive"):
        options.pop("strategy")  # one group needs no partitions
    imported = _native.Table.from_stream(engine, table)
    run = _native.GroupBy(engine, imported, keys=keys, aggregates=aggregates, **options)
    return result_of(run, "collect")


def only(actual: pa.Table) -> dict[str, Any]:
    """The one row of a result."""
    assert actual.num_rows == 1
    row: dict[str, Any] = actual.to_pylist()[0]
    return row


LIMITS = {name: np.iinfo(name) for name in ("int8", "int32", "int64", "uint8", "uint32", "uint64")}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("keys", [[], ["k"]])
@pytest.mark.parametrize("name", ["int64", "uint64"])
def test_a_sum_beyond_64_bits_is_an_error_or_wide(
    engine_of: EngineOf, name: str, keys: list[str], strategy: str
) -> None:
    engine = engine_of(2)
    limit = int(LIMITS[name].max)
    table = pa.table({"k": [1, 1, 2], "v": pa.array([limit, 1, 5], name)})
    with pytest.raises(_native.NativeError) as raised:
        grouped(engine, table, keys, [("sum", "v", "", "total", {})], strategy=strategy)
    code, kind, text = raised.value.args
    assert (code, kind) == ("CD-303", "DataError")
    assert "total" in text
    assert "wide" in text
    del raised
    aggregates: Aggregates = [("sum", "v", "", "total", {"wide": True})]
    result = grouped(engine, table, keys, aggregates, strategy=strategy)
    assert result.schema.field("total").type == pa.decimal128(38, 0)
    totals = sorted(int(value) for value in result.column("total").to_pylist())
    assert totals == ([5, limit + 1] if keys else [limit + 6])
    del result
    assert engine.memory_used_bytes == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("threads", [1, 4])
def test_a_sum_may_leave_64_bits_on_its_way(
    engine_of: EngineOf, threads: int, strategy: str
) -> None:
    """Many largest numbers, then as many smallest: whatever part of them a worker adds."""
    high, low = 2**63 - 1, -(2**63)
    values = np.repeat(np.array([high, low], np.int64), 210_000)
    table = pa.table({"k": np.arange(420_000) % 3, "v": values})
    aggregates = [item("sum"), item("mean"), item("min"), item("max")]
    result = grouped(engine_of(threads), table, ["k"], aggregates, strategy=strategy).sort_by("k")
    for key, row in enumerate(result.to_pylist()):
        mine = values[key::3].astype(object)
        assert row["sum"] == mine.sum()
        assert row["mean"] == pytest.approx(mine.sum() / len(mine), rel=1e-14)
        assert (row["min"], row["max"]) == (low, high)


@pytest.mark.parametrize("name", list(LIMITS))
def test_integers_are_summed_exactly(engine_of: EngineOf, name: str) -> None:
    limits = LIMITS[name]
    random = np.random.default_rng(5)
    numbers = random.integers(limits.min, limits.max, 150_000, dtype=name, endpoint=True)
    numbers[:1000] = limits.max
    numbers[1000:1500] = limits.min
    keys = random.integers(0, 100, 150_000)
    aggregates = [item("sum", wide=True), item("min"), item("max")]
    table = pa.table({"k": keys, "v": numbers})
    result = grouped(engine_of(2), table, ["k"], aggregates).sort_by("k")
    for key, row in enumerate(result.to_pylist()):
        mine = numbers[keys == key]
        assert int(row["sum"]) == int(mine.astype(object).sum())
        assert (row["min"], row["max"]) == (int(mine.min()), int(mine.max()))


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_decimals_of_38_digits_are_exact(engine_of: EngineOf, strategy: str) -> None:
    """However often a sum passes the ends of 128 bits, it is exact if it ends within 38 digits."""
    engine = engine_of(2)
    largest = 10**38 - 1
    with decimal.localcontext() as context:
        context.prec = 60
        ends = [decimal.Decimal(sign * largest).scaleb(-7) for sign in (1, -1)]
        small = [decimal.Decimal(n * 12345678901234567890).scaleb(-7) for n in range(-50, 50)]
    kind = pa.decimal128(38, 7)
    for copies in range(1, 12):
        values = pa.array(ends[:1] * copies + small + ends[1:] * copies, kind)
        table = pa.table({"k": [1] * len(values), "v": values})
        row = only(grouped(engine, table, ["k"], [item("sum"), item("min")], strategy=strategy))
        assert row["sum"] == sum(small)
        assert row["min"] == ends[1]
        many = pa.table({"k": [1] * copies, "v": pa.array(ends[:1] * copies, kind)})
        if copies == 1:
            assert only(grouped(engine, many, ["k"], [item("sum")]))["sum"] == ends[0]
            continue
        with pytest.raises(_native.NativeError, match="sum") as raised:
            grouped(engine, many, ["k"], [item("sum")], strategy=strategy)
        assert raised.value.args[0] == "CD-303"
        del raised
    assert engine.memory_used_bytes == 0


# --- floats

SPECIAL = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, 1.5, None]


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_zeros_and_nans_make_one_group_each(engine_of: EngineOf, name: str, strategy: str) -> None:
    keys = pa.array(SPECIAL * 40, name)
    table = pa.table({"k": keys, "v": np.arange(len(keys))})
    result = grouped(engine_of(2), table, ["k"], [item("count", "")], strategy=strategy)
    counts = {str(row["k"]).replace("-0.0", "0.0"): row["count"] for row in result.to_pylist()}
    assert counts == {"0.0": 80, "nan": 80, "inf": 40, "-inf": 40, "1.5": 40, "None": 40}


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_nan_is_an_extreme_only_where_there_is_nothing_else(engine_of: EngineOf, name: str) -> None:
    values = [math.nan, 5.0, math.nan, 7.0, math.nan, math.nan, math.inf, math.nan, None]
    table = pa.table({"k": [1, 1, 1, 1, 2, 2, 3, 3, 4], "v": pa.array(values, name)})
    result = grouped(engine_of(1), table, ["k"], [item("min"), item("max")]).sort_by("k")
    rows = [(str(row["min"]), str(row["max"])) for row in result.to_pylist()]
    assert rows == [("5.0", "7.0"), ("nan", "nan"), ("inf", "inf"), ("None", "None")]


def test_sums_of_infinities_are_those_of_ieee(engine_of: EngineOf) -> None:
    values = [math.inf, 1.0, math.inf, -math.inf, math.nan, 2.0, 1e308, 1e308, -math.inf, 3.0]
    keys = [1, 1, 2, 2, 3, 3, 4, 4, 5, 5]
    table = pa.table({"k": keys, "v": values})
    for floats in ("fast", "exact"):
        aggregates = [item("sum", floats=floats), item("mean", floats=floats)]
        result = grouped(engine_of(1), table, ["k"], aggregates).sort_by("k")
        assert [str(value) for value in result.column("sum").to_pylist()] == [
            "inf", "nan", "nan", "inf", "-inf",
        ]  # fmt: skip
        assert str(result.column("mean").to_pylist()[:3]) == "[inf, nan, nan]"


def hard_floats(random: np.random.Generator, rows: int) -> np.ndarray:
    """Numbers of all magnitudes, of which most cancel."""
    numbers = random.normal(size=rows) * 10.0 ** random.integers(-300, 300, rows)
    numbers[1::3] = -numbers[: len(numbers[1::3]) * 3 : 3]
    return random.permutation(numbers)


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_exact_sums_of_floats_are_rounded_once(engine_of: EngineOf, strategy: str) -> None:
    random = np.random.default_rng(8)
    numbers = hard_floats(random, 60_000)
    keys = random.integers(0, 50, len(numbers))
    expected = [math.fsum(numbers[keys == key]) for key in range(50)]
    for threads in (1, 3):
        order = random.permutation(len(numbers))
        table = pa.table({"k": keys[order], "v": numbers[order]})
        aggregates = [item("sum", floats="exact"), item("mean", floats="exact")]
        result = grouped(engine_of(threads), table, ["k"], aggregates, strategy=strategy)
        result = result.sort_by("k")
        assert result.column("sum").to_pylist() == expected
        sizes = np.bincount(keys)
        means = [total / size for total, size in zip(expected, sizes, strict=True)]
        np.testing.assert_array_max_ulp(result.column("mean").to_numpy(), np.array(means), 1)


def test_an_exact_sum_keeps_what_is_tiny(engine_of: EngineOf) -> None:
    smallest = 5e-324
    cases = [
        ([1e308, 1e308, -1e308, -1e308, smallest], smallest),
        ([1.0, 2.0**-53, 2.0**-106], 1.0 + 2.0**-52),
        ([1.0, 2.0**-53], 1.0),
        ([smallest] * 3, 3 * smallest),
        ([-0.0, -0.0], 0.0),
        ([2.0**1023, 2.0**1023, -(2.0**1023)], 2.0**1023),
    ]
    for values, want in cases:
        table = pa.table({"v": pa.array(values, pa.float64())})
        result = only(grouped(engine_of(1), table, [], [item("sum", floats="exact")]))
        assert result["sum"] == want, values


def test_variances_of_far_away_numbers(engine_of: EngineOf) -> None:
    """A difference of sums of squares would have no digit left of these."""
    for offset in (0.0, 1e9, 1e12):
        values = offset + np.array([4.0, 7.0, 13.0, 16.0])
        table = pa.table({"v": np.tile(values, 1000)})
        aggregates = [item("var", ddof=0), item("stddev", ddof=0)]
        row = only(grouped(engine_of(2), table, [], aggregates))
        assert row["var"] == pytest.approx(22.5, rel=1e-3 if offset == 1e12 else 1e-6)
        assert row["stddev"] == pytest.approx(math.sqrt(22.5), rel=1e-3)


@pytest.mark.parametrize("ddof", [0, 1, 2])
def test_a_variance_needs_more_values_than_ddof(engine_of: EngineOf, ddof: int) -> None:
    table = pa.table({"k": [1, 2, 2, 3, 3, 3, 4], "v": [1.0, 2, 4, 1, 2, 3, None]})
    aggregates = [item("var", ddof=ddof), item("stddev", ddof=ddof)]
    result = grouped(engine_of(1), table, ["k"], aggregates).sort_by("k")
    squares = {1: (1, 0.0), 2: (2, 2.0), 3: (3, 2.0), 4: (0, 0.0)}
    for key, (count, square) in squares.items():
        row = result.to_pylist()[key - 1]
        if count <= ddof:
            assert (row["var"], row["stddev"]) == (None, None)
        else:
            assert row["var"] == pytest.approx(square / (count - ddof), abs=1e-15)
            assert row["stddev"] == pytest.approx(math.sqrt(square / (count - ddof)), abs=1e-15)


# --- nothing, one row, long strings

KINDS = {"int64": pa.int64(), "utf8": pa.utf8(), "bool": pa.bool_(), "float64": pa.float64()}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", list(KINDS))
def test_no_rows_make_no_group_but_one_without_keys(
    engine_of: EngineOf, kind: str, strategy: str
) -> None:
    table = pa.table({"k": pa.array([], pa.int32()), "v": pa.array([], KINDS[kind])})
    aggregates = [item("count", ""), item("min"), item("count_distinct"), item("first")]
    assert grouped(engine_of(2), table, ["k"], aggregates, strategy=strategy).num_rows == 0
    row = only(grouped(engine_of(2), table, [], aggregates, strategy=strategy))
    assert row == {"count": 0, "min": None, "count_distinct": 0, "first": None}


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", TEXT_TYPES, ids=str)
def test_long_strings_group_and_compare(
    engine_of: EngineOf, kind: pa.DataType, strategy: str
) -> None:
    engine = engine_of(2)
    numbers = np.random.default_rng(4).permutation(np.repeat(np.arange(len(LONG_STRINGS)), 10))
    strings = long_strings(kind, numbers)
    table = pa.table({"k": strings, "v": strings, "n": numbers})
    aggregates = [item("count", ""), item("min", "n"), item("max", "n"), item("first")]
    result = grouped(engine, table, ["k"], aggregates, strategy=strategy)
    expected = pa.array(np.arange(len(LONG_STRINGS)))
    key = plain(long_strings(kind, np.arange(len(LONG_STRINGS))))
    assert_same_rows([key, pa.array([10] * len(key)), expected, expected, key], result)
    aggregates = [item("min"), item("max"), item("count_distinct"), item("any")]
    row = grouped(engine, table, [], aggregates, strategy=strategy)
    assert plain(row.column("min")).equals(key.slice(6, 1))
    assert plain(row.column("max")).equals(key.slice(1, 1))
    assert row.column("count_distinct").to_pylist() == [len(LONG_STRINGS) - 1]
    del row, result
    assert engine.memory_used_bytes == 0


# --- sketches


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("distinct", [0, 1, 10, 100, 1000, 10_000, 300_000])
def test_approx_distinct_is_near(engine_of: EngineOf, distinct: int, threads: int) -> None:
    random = np.random.default_rng(distinct)
    rows = max(2 * distinct, 1)
    numbers = random.integers(0, max(distinct, 1), rows) * 2654435761
    values = pa.array(numbers, mask=np.full(rows, distinct == 0))
    strings, floats = values.cast(pa.utf8()), values.cast(pa.float64())
    table = pa.table({"v": values, "t": strings, "f": floats})
    exact = len(np.unique(numbers)) if distinct else 0
    rel = 5 * DISTINCT_ERROR if exact > EXACT_DISTINCT else 0
    for column in table.column_names:
        engine = engine_of(threads)
        row = only(grouped(engine, table, [], [item("approx_distinct", column)]))
        assert row["approx_distinct"] == pytest.approx(exact, rel=rel), column


DISTRIBUTIONS = {
    "uniform": lambda random, rows: random.random(rows),
    "normal": lambda random, rows: random.normal(0, 1e6, rows),
    "lognormal": lambda random, rows: random.lognormal(0, 4, rows),
    "zipf": lambda random, rows: random.zipf(1.3, rows).astype(float) % 1e15,
    "two values": lambda random, rows: random.integers(0, 2, rows).astype(float),
    "sorted": lambda random, rows: np.arange(rows, dtype=float),
    "reversed": lambda random, rows: np.arange(rows, 0, -1, dtype=float),
}


@pytest.mark.parametrize("distribution", list(DISTRIBUTIONS))
def test_quantiles_are_within_their_error(engine_of: EngineOf, distribution: str) -> None:
    values = DISTRIBUTIONS[distribution](np.random.default_rng(2), 200_000)
    shares = [0.0, 0.001, 0.01, 0.25, 0.5, 0.75, 0.9, 0.99, 0.999, 1.0]
    aggregates: Aggregates = [("quantile", "v", "", f"q{q}", {"q": q}) for q in shares]
    ordered = np.sort(values)
    for threads in (1, 4):
        row = only(grouped(engine_of(threads), pa.table({"v": values}), [], aggregates))
        for q, result in zip(shares, row.values(), strict=True):
            rank = q * (len(ordered) - 1)
            low, high = ordered[math.floor(rank)], ordered[math.ceil(rank)]
            assert low - QUANTILE_ERROR * abs(low) <= result, (q, result, low)
            assert result <= high + QUANTILE_ERROR * abs(high), (q, result, high)


def test_quantiles_of_few_values_are_values(engine_of: EngineOf) -> None:
    """So few that no sketch need lose any: the ends are the ends."""
    table = pa.table({"k": [1, 2, 2, 3, 3, 3], "v": [5, 1, 9, 4, 8, 6]})
    aggregates: Aggregates = [("quantile", "v", "", f"q{q}", {"q": q}) for q in (0.0, 0.5, 1.0)]
    rows = grouped(engine_of(1), table, ["k"], aggregates).sort_by("k").to_pylist()
    assert [(row["q0.0"], row["q1.0"]) for row in rows] == [(5, 5), (1, 9), (4, 8)]
    assert rows[0]["q0.5"] == 5
    assert 1 <= rows[1]["q0.5"] <= 9
    assert rows[2]["q0.5"] == 6


# --- all strategies give the same


@pytest.mark.parametrize(("groups", "nulls"), list(product([1, 10, 3000, 100_000], [False, True])))
def test_strategies_and_threads_agree(engine_of: EngineOf, groups: int, nulls: bool) -> None:
    random = np.random.default_rng(groups)
    rows = 150_000
    keys = random.integers(0, groups, rows).astype(np.int32)
    table = pa.table(
        {
            "k": pa.array(keys, mask=random.random(rows) < 0.1 * nulls),
            "v": pa.array(random.integers(-100, 100, rows), mask=random.random(rows) < 0.1 * nulls),
            "t": pa.array(keys % 7).cast(pa.utf8()),
        }
    ).sort_by("k")
    aggregates = [item("sum"), item("count"), ("min", "t", "", "least", {}), item("first")]
    first: list[pa.Array] | None = None
    for strategy, threads in product(["table", "radix", "adaptive", "dense", "sorted"], [1, 4]):
        result = grouped(engine_of(threads), table, ["k"], aggregates, strategy=strategy)
        if first is None:
            first = [plain(column) for column in result.columns]
        else:
            assert_same_rows(first, result)
