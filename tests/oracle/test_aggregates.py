"""Aggregates that the engine folds over the pairs of a join, against the same over its rows."""

from __future__ import annotations

import decimal
import math
from typing import Any

import crossdock as xd
import numpy as np
import pyarrow as pa
import pytest

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
ROWS = 200_000  # two workers, several batches


def fold(values: pa.Array, items: list[str], **options: Any) -> Any:
    """Aggregates of a column that a join passes through as it is, from both sides of the table."""
    keys = np.arange(len(values))
    with xd.connect(threads=2) as dock:
        left = dock.from_arrow(pa.table({"k": keys, "x": values}))
        pairs = left.join(pa.table({"k": keys}), on="k", **options)
        is_integer = pa.types.is_integer(values.type)
        of = {"sum": xd.sum("x", wide=is_integer), "min": xd.min("x"), "max": xd.max("x")}
        row = pairs.agg(**{item: of[item] for item in items}).collect().to_pylist()[0]
    return [row[item] for item in items]


@pytest.mark.parametrize("strategy", ["radix", "direct", "merge"])
@pytest.mark.parametrize("name", INTEGERS)
def test_integers_are_summed_exactly(name: str, strategy: str) -> None:
    limits = np.iinfo(name)
    random = np.random.default_rng(INTEGERS.index(name))
    numbers = random.integers(limits.min, limits.max, ROWS, dtype=name, endpoint=True)
    numbers[:1000] = limits.max
    numbers[1000:1500] = limits.min
    absent = random.random(ROWS) < 0.1
    result = fold(pa.array(numbers, mask=absent), ["sum", "min", "max"], strategy=strategy)
    present = numbers[~absent]
    assert result == [int(present.astype(object).sum()), int(present.min()), int(present.max())]


@pytest.mark.parametrize("name", ["float32", "float64"])
def test_nan_is_no_extreme_unless_there_is_nothing_else(name: str) -> None:
    """As pyarrow's min_max has it; a batch or a worker that saw only NaN changes nothing."""
    numbers = np.full(ROWS, np.nan, name)
    low, high, total = fold(pa.array(numbers), ["min", "max", "sum"])
    assert math.isnan(low)
    assert math.isnan(high)
    assert math.isnan(total)
    numbers[-3:] = [5, 7, 6]
    assert fold(pa.array(numbers), ["min", "max"]) == [5, 7]
    numbers[:3] = [-np.inf, 9, np.inf]
    assert fold(pa.array(numbers), ["min", "max"]) == [-np.inf, np.inf]


def test_aggregates_of_no_values_are_null() -> None:
    for values in (pa.nulls(10, pa.float64()), pa.nulls(10, pa.int16()), pa.array([], pa.int32())):
        assert fold(values, ["sum", "min", "max"]) == [None] * 3


def test_a_sum_of_too_many_digits_is_an_error() -> None:
    """However often the sum passes the ends of 128 bits."""
    largest = decimal.Decimal("9" * 38)
    for copies in range(1, 12):
        values = pa.array([largest] * copies, pa.decimal128(38, 0))
        if copies == 1:
            assert fold(values, ["sum"]) == [largest]
            continue
        with pytest.raises(xd.DataError, match="38 digits") as raised:
            fold(values, ["sum"])
        assert raised.value.code == "CD-303"


@pytest.mark.parametrize("name", ["date32", "timestamp", "duration"])
def test_dates_and_times_have_extremes(name: str) -> None:
    kind = {"date32": pa.date32(), "timestamp": pa.timestamp("us", "UTC")}.get(name)
    kind = kind or pa.duration("ms")
    width = pa.int32() if name == "date32" else pa.int64()
    values = pa.array([5, -7, None, 30], width).view(kind)
    assert fold(values, ["min", "max"]) == [values[1].as_py(), values[3].as_py()]
