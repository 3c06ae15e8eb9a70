"""Sorts of values whose order is easily got wrong: floats, strings that differ late or only by zero
bytes, integers at the ends of their types, decimals of 38 digits; and what a sort promises of
limits, stability and inputs that are sorted already."""

from __future__ import annotations

import decimal
import json
import math
from itertools import permutations, product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import EngineOf
from crossdock import _native
from group_by_run import result_of
from long_strings import LONG_STRINGS, TEXT_TYPES, long_strings
from same_rows import plain
from sort_run import Order, assert_sorted

STRATEGIES = ["auto", "msd", "lsd"]
WAYS = list(product([False, True], [False, True]))  # descending, nulls first


def sort_of(
    engine: _native.Engine, table: pa.Table, order: Order, strategy: str = "auto", **options: Any
) -> _native.Sort:
    """A sort of all columns."""
    return _native.Sort(
        engine,
        _native.Table.from_stream(engine, table),
        keys=list(order),
        output=[(name, name) for name in table.column_names],
        strategy=strategy,
        **options,
    )


def sorted_table(
    engine: _native.Engine, table: pa.Table, order: Order, strategy: str = "auto", **options: Any
) -> pa.Table:
    return result_of(sort_of(engine, table, order, strategy, **options), "collect")


def numbered(values: pa.Array) -> pa.Table:
    return pa.table({"k": values, "row": np.arange(len(values))})


def assert_order(table: pa.Table, actual: pa.Table, order: Order, **options: Any) -> None:
    """As assert_sorted, and each row has its own values."""
    rows = actual.column("row").to_numpy()
    assert_sorted(table, order, rows, **options)
    for name in table.column_names:
        assert plain(table.column(name)).take(pa.array(rows)).equals(plain(actual.column(name)))


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["float32", "float64"])
@pytest.mark.parametrize(("descending", "nulls_first"), WAYS)
def test_floats_have_one_order(
    engine_of: EngineOf, descending: bool, nulls_first: bool, name: str, strategy: str
) -> None:
    """-inf < numbers < inf < NaN; the zeros are equal, so a stable sort keeps their order."""
    tiny = float(np.finfo(name).smallest_subnormal)
    special = [0.0, -0.0, math.nan, -math.nan, math.inf, -math.inf, tiny, -tiny, 1.5, -1.5, None]
    values = np.random.default_rng(1).permutation(np.repeat(np.arange(len(special)), 30))
    table = numbered(pa.array([special[at] for at in values], name))
    order = [("k", descending, nulls_first)]
    result = sorted_table(engine_of(1), table, order, strategy, stable=True)
    assert_order(table, result, order, stable=True)
    expected = ["-inf", "-1.5", str(-tiny), "0.0", str(tiny), "1.5", "inf", "nan"]
    seen = [str(v) for v in result.column("k").to_pylist() if v is not None]
    seen = [text.replace("-0.0", "0.0") for text in seen]
    assert list(dict.fromkeys(seen)) == (expected[::-1] if descending else expected)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("name", ["float32", "float64"])
def test_keys_alone_keep_their_signs(engine_of: EngineOf, name: str, strategy: str) -> None:
    """A result of keys alone could be made from words that know no sign of zero."""
    values = pa.array([0.0, -0.0, 1.0, -0.0, math.nan, -1.0, 0.0, -0.0], name)
    result = sorted_table(engine_of(1), pa.table({"k": values}), [("k", False, False)], strategy)
    signs = [math.copysign(1, value) for value in result.column("k").to_pylist() if value == 0]
    assert sorted(signs) == [-1.0, -1.0, -1.0, 1.0, 1.0]


def tricky_strings() -> list[str | None]:
    """Strings whose order hangs on their ends, around the lengths at which words are full."""
    result: list[str | None] = [None, ""]
    for length in (1, 2, 6, 7, 8, 9, 13, 14, 15, 16, 17, 21, 22, 30, 31):
        stem = "a" * length
        result += [stem, stem + "\0", stem + "\0\0", stem + "b", stem[:-1] + "\0", stem[:-1] + "é"]
        result += [stem[:-1] + "\x01", stem[:-1] + "\x7f", stem[:-1] + "\U0010ffff", "\0" * length]
    return result


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("prefix", ["", "https://example.org/a/long/common/prefix/", "\0" * 11])
@pytest.mark.parametrize(("descending", "nulls_first"), WAYS)
def test_strings_that_differ_late(
    engine_of: EngineOf, descending: bool, nulls_first: bool, prefix: str, strategy: str
) -> None:
    strings = [None if text is None else prefix + text for text in tricky_strings()]
    at = np.random.default_rng(2).permutation(np.repeat(np.arange(len(strings)), 4))
    drawn = pa.array(strings).take(pa.array(at))
    order = [("k", descending, nulls_first)]
    kinds = [pa.utf8(), pa.string_view(), pa.binary(), pa.dictionary(pa.int32(), pa.utf8())]
    for kind in kinds:
        encoded = drawn.dictionary_encode() if pa.types.is_dictionary(kind) else drawn.cast(kind)
        table = numbered(encoded)
        result = sorted_table(engine_of(2), table, order, strategy, stable=True)
        assert_order(table, result, order, stable=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("first", ["utf8", "int64", "bool"])
def test_strings_behind_and_before_other_keys(
    engine_of: EngineOf, first: str, strategy: str
) -> None:
    random = np.random.default_rng(3)
    strings = pa.array(tricky_strings())
    rows = 4000
    text = strings.take(pa.array(random.integers(0, len(strings), rows)))
    number = pa.array(random.integers(-3, 3, rows) * 2**61, mask=random.random(rows) < 0.1)
    flag = pa.array(random.random(rows) < 0.5)
    columns = {"utf8": ("t", "n", "b"), "int64": ("n", "t", "b"), "bool": ("b", "t", "n")}[first]
    table = pa.table({"t": text, "n": number, "b": flag, "row": np.arange(rows)})
    for ways in permutations([(False, False), (True, True), (True, False)]):
        order = [(name, *way) for name, way in zip(columns, ways, strict=True)]
        result = sorted_table(engine_of(2), table, order, strategy, stable=True)
        assert_order(table, result, order, stable=True)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("kind", TEXT_TYPES, ids=str)
def test_long_strings(engine_of: EngineOf, kind: pa.DataType, strategy: str) -> None:
    engine = engine_of(2)
    numbers = np.random.default_rng(4).permutation(np.repeat(np.arange(len(LONG_STRINGS)), 10))
    table = numbered(long_strings(kind, numbers))
    for descending, nulls_first in WAYS:
        order = [("k", descending, nulls_first)]
        result = sorted_table(engine, table, order, strategy, stable=True)
        assert_order(table, result, order, stable=True)
    del result
    assert engine.memory_used_bytes == 0


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize(("descending", "nulls_first"), WAYS)
@pytest.mark.parametrize("name", ["int8", "int64", "uint64", "uint8"])
def test_integers_at_the_ends(
    engine_of: EngineOf, name: str, descending: bool, nulls_first: bool, strategy: str
) -> None:
    """Where a null's word, or that of the opposite order, could be one that a value has."""
    limits = np.iinfo(name)
    ends = [int(limits.min), int(limits.max), 0, 1, int(limits.max) - 1, int(limits.min) + 1, None]
    at = np.random.default_rng(6).permutation(np.repeat(np.arange(len(ends)), 50))
    table = numbered(pa.array([ends[i] for i in at], name))
    order = [("k", descending, nulls_first)]
    result = sorted_table(engine_of(2), table, order, strategy, stable=True)
    assert_order(table, result, order, stable=True)
    both = pa.table({"k": table["k"], "k1": table["k"][::-1], "row": table["row"]})
    order.append(("k1", not descending, nulls_first))
    assert_order(both, sorted_table(engine_of(2), both, order, strategy), order)


@pytest.mark.parametrize("strategy", STRATEGIES)
@pytest.mark.parametrize("descending", [False, True])
def test_decimals_of_38_digits(engine_of: EngineOf, descending: bool, strategy: str) -> None:
    """Numbers that agree in all but the lowest of 128 bits, and in all but the highest."""
    low = [10**37 + n for n in range(-20, 20)] + [2**64 * n for n in range(-20, 20)]
    numbers = [*low, 10**38 - 1, 1 - 10**38, *(-n for n in low)]
    random = np.random.default_rng(7)
    with decimal.localcontext() as context:
        context.prec = 60
        values = [decimal.Decimal(numbers[i]) for i in random.integers(0, len(numbers), 3000)]
    table = numbered(pa.array(values, pa.decimal128(38, 0)))
    order = [("k", descending, False)]
    result = sorted_table(engine_of(2), table, order, strategy, stable=True)
    assert_order(table, result, order, stable=True)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("arrangement", ["sorted", "reversed", "equal", "sawtooth"])
def test_rows_in_order_are_found_in_order(
    engine_of: EngineOf, arrangement: str, threads: int
) -> None:
    rows = 300_000
    keys = {
        "sorted": np.arange(rows) // 3,
        "reversed": np.arange(rows)[::-1] // 3,
        "equal": np.zeros(rows, np.int64),
        "sawtooth": np.arange(rows) % 1000,
    }[arrangement]
    table = numbered(pa.array(keys))
    for descending in (False, True):
        order = [("k", descending, False)]
        for stable in (False, True):
            result = sorted_table(engine_of(threads), table, order, stable=stable)
            assert_order(table, result, order, stable=stable)


@pytest.mark.parametrize("rows", [0, 1, 5])
@pytest.mark.parametrize("limit", [-1, 0, 1, 3, 5, 6, 10**12])
@pytest.mark.parametrize("offset", [0, 1, 4, 5, 6, 10**12])
def test_limits_and_offsets(engine_of: EngineOf, offset: int, limit: int, rows: int) -> None:
    table = numbered(pa.array([3, 1, None, 2, 1][:rows], pa.int32()))
    order = [("k", False, False)]
    for strategy in ("auto", "msd", "lsd", "topk")[: 4 if limit >= 0 else 3]:
        options = {"limit": limit, "offset": offset, "stable": True}
        sort = sort_of(engine_of(1), table, order, strategy, **options)
        result = result_of(sort, "collect")
        assert_order(table, result, order, **options)
        assert sort.count() == result.num_rows


def test_a_small_limit_does_not_sort_everything(engine_of: EngineOf) -> None:
    """Seen in the plan, which says so; the rows are those of the whole sort."""
    random = np.random.default_rng(9)
    table = numbered(pa.array(random.integers(0, 10**9, 500_000)))
    order = [("k", True, False)]
    sort = sort_of(engine_of(2), table, order, limit=100)
    assert_order(table, result_of(sort, "collect"), order, limit=100)
    assert json.loads(sort.profile())["strategy"] == "topk"


def test_a_row_index_is_a_position_in_the_input(engine_of: EngineOf) -> None:
    random = np.random.default_rng(10)
    pieces = [pa.table({"k": random.integers(0, 50, rows)}) for rows in (10, 0, 5000, 1, 70_000)]
    table = pa.concat_tables(pieces)
    imported = _native.Table.from_stream(engine_of(3), table)
    order = [("k", False, False)]
    sort = _native.Sort(
        engine_of(3), imported, keys=order, output=[], row_index="index", stable=True
    )
    result = result_of(sort, "collect")
    assert result.schema == pa.schema([pa.field("index", pa.int64(), False)]) or (
        result.schema.names == ["index"] and result.schema.types == [pa.int64()]
    )
    assert_sorted(table, order, result.column("index").to_numpy(), stable=True)


@pytest.mark.parametrize("threads", [1, 4])
@pytest.mark.parametrize("rows", [2, 5000, 300_000])
def test_a_wrong_declaration_of_order_is_an_error(
    engine_of: EngineOf, rows: int, threads: int
) -> None:
    """Wherever the one pair of rows is that breaks it."""
    for at in sorted({0, rows // 2 - 1, rows - 2}):
        keys = np.arange(rows)
        keys[at] = rows
        engine = engine_of(threads)
        sort = sort_of(engine, numbered(pa.array(keys)), [("k", False, False)], "presorted")
        with pytest.raises(_native.NativeError, match="order") as raised:
            result_of(sort, "collect")
        assert raised.value.args[0] == "CD-105"
        del raised
        assert engine.memory_used_bytes == 0
