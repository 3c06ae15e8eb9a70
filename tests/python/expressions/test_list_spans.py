"""Functions of lists by the engine's kernels say what plain Python does, whatever the lists lie in:
slices, NULL lists that have elements, lists of a fixed size, large ones, and long ones."""

from __future__ import annotations

import math
import random
import statistics
from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pytest
from crossdock.expressions.list_kernels import OF_LISTS, OF_SEVERAL
from crossdock.expressions.nested_kernels import OF_NESTED

Values = list[Any]
_NAN = float("nan")


def _key(value: Any) -> Any:
    return "nan" if isinstance(value, float) and math.isnan(value) else value


def _known(values: Values) -> Values:
    return [value for value in values if value is not None]


def _distinct(values: Values) -> Values:
    once: dict[Any, Any] = {}
    for value in _known(values):
        once.setdefault(_key(value), value)
    return list(once.values())


def _place(values: Values, sought: Any) -> int | None:
    places = [i + 1 for i, v in enumerate(values) if v is not None and _key(v) == _key(sought)]
    return places[0] if places else None


def _has_all(values: Values, others: Values) -> bool:
    return {_key(v) for v in _known(others)} <= {_key(v) for v in _known(values)}


def lists_of(data_type: pa.DataType, seed: int) -> tuple[pa.Array, list[Values | None]]:
    """Lists of few different values in a slice of an array, with NULL lists that hide elements."""
    draw = random.Random(seed)
    pool = {
        pa.int64(): [-5, 0, 7, 1 << 40], pa.uint64(): [0, 3, (1 << 64) - 9], pa.int8(): [-3, 0, 9],
        pa.float64(): [0.0, -0.0, 1.5, _NAN, math.inf], pa.float32(): [0.25, -2.0],
        pa.string(): ["", "a", "bc"], pa.date32(): [0, 5], pa.bool_(): [True, False],
    }[data_type]  # fmt: skip
    rows = [
        [draw.choice([*pool, None]) for _ in range(draw.choice([0, 1, 2, 5, 60]))]
        for _ in range(60)
    ]
    ends = [0]
    for row in rows:
        ends.append(ends[-1] + len(row))
    nulls = [draw.random() < 0.2 for _ in rows]
    values = pa.array([v for row in rows for v in row], data_type)
    array = pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=pa.array(nulls))
    plain = array.to_pylist()
    return array.slice(7, 41), plain[7:48]


def same(mine: Any, other: Any) -> bool:
    if isinstance(mine, list):
        return isinstance(other, list) and len(mine) == len(other) and all(map(same, mine, other))
    if isinstance(mine, float) and isinstance(other, float):
        return _key(mine) == _key(other) or math.isclose(mine, other, rel_tol=1e-12)
    return bool(mine == other)


def check(result: pa.Array, plain: list[Values | None], of: Callable[[Values], Any]) -> None:
    expected = [None if values is None else of(values) for values in plain]
    for mine, other, values in zip(result.to_pylist(), expected, plain, strict=True):
        assert same(mine, other), (values, mine, other)


NUMBERS = [pa.int64(), pa.uint64(), pa.int8(), pa.float64(), pa.float32()]
TYPES = [*NUMBERS, pa.string(), pa.date32(), pa.bool_()]


def _extreme(function: Callable[[Values], Any]) -> Callable[[Values], Any]:
    def extreme(values: Values) -> Any:
        numbers = [v for v in _known(values) if _key(v) != "nan"]
        return function(numbers) if numbers else (_known(values) or [None])[0]

    return extreme


def _if_any(function: Callable[[Values], Any], least: int = 1) -> Callable[[Values], Any]:
    return lambda values: function(_known(values)) if len(_known(values)) >= least else None


def _median(values: Values) -> float:
    ordered = sorted(map(float, values), key=lambda v: (math.isnan(v), v))
    low, high = ordered[(len(ordered) - 1) // 2], ordered[len(ordered) // 2]
    return low if low == high else low + (high - low) / 2


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data_type", [pa.int8(), pa.float32()])
def test_numbers(data_type: pa.DataType, seed: int) -> None:
    lists, plain = lists_of(data_type, seed)
    for name, of in {
        "sum": _if_any(sum), "mean": _if_any(statistics.fmean), "product": _if_any(math.prod),
        "var_pop": _if_any(statistics.pvariance), "var_samp": _if_any(statistics.variance, 2),
        "stddev_pop": _if_any(statistics.pstdev), "stddev_samp": _if_any(statistics.stdev, 2),
    }.items():  # fmt: skip
        result = OF_LISTS[f"list_{name}"](lists, None)
        numbers = [None if row is None else [v if v is None else float(v) for v in row]
                   for row in plain]  # fmt: skip
        check(result.cast(pa.float64()), numbers, of)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data_type", NUMBERS)
def test_extremes_and_medians(data_type: pa.DataType, seed: int) -> None:
    lists, plain = lists_of(data_type, seed)
    for function in (min, max):
        result = OF_LISTS[f"list_{function.__name__}"](lists, None)
        assert result.type == data_type
        check(result, plain, _extreme(function))
    check(OF_LISTS["list_median"](lists, None), plain, _if_any(_median))


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("data_type", TYPES)
def test_what_is_in_lists(data_type: pa.DataType, seed: int) -> None:
    lists, plain = lists_of(data_type, seed)
    others, plain_others = lists_of(data_type, seed + 10)
    check(OF_LISTS["list_distinct"](lists, None), plain, _distinct)
    sought = next(row for row in plain if row and _known(row))
    one = _known(sought)[0]
    check(OF_LISTS["list_position"](lists, one), plain, lambda row: _place(row, one))
    contains = OF_NESTED["list_contains"](lists, one)
    check(contains, plain, lambda row: _place(row, one) is not None)
    constant = pa.scalar([*sought[:3], None], lists.type)
    for among, rows in ((others, plain_others), (constant, [constant.as_py()] * len(lists))):
        any_of = OF_SEVERAL["list_has_any"]([lists, among], None).to_pylist()
        all_of = OF_SEVERAL["list_has_all"]([lists, among], None).to_pylist()
        for row, other, has_any, has_all in zip(plain, rows, any_of, all_of, strict=True):
            is_known = row is not None and other is not None
            both = is_known and bool({*map(_key, _known(row))} & {*map(_key, _known(other))})
            assert has_any == (both if is_known else None)
            assert has_all == (_has_all(row, other) if is_known else None)
    beside = pa.array([row[0] if row else one for row in plain], data_type)
    has = OF_SEVERAL["list_has"]([lists, beside], None).to_pylist()
    for row, is_in, value in zip(plain, has, beside.to_pylist(), strict=True):
        expected = (
            None if row is None or (value is None and row) else _place(row, value) is not None
        )
        assert is_in == expected, (row, value)


@pytest.mark.parametrize("data_type", TYPES)
def test_places(data_type: pa.DataType) -> None:
    lists, plain = lists_of(data_type, 3)
    for begin, end in ((2, 3), (1, -1), (-2, -1), (0, 2), (3, 1), (-70, 2), (50, 1000)):

        def part(row: Values, begin: int = begin, end: int = end) -> Values:
            first = max(begin + len(row) + 1 if begin < 0 else begin, 1)
            last = end + len(row) + 1 if end < 0 else end
            return row[first - 1 : max(last, 0)]

        check(OF_LISTS["list_slice"](lists, (begin, end)), plain, part)
    for place in (0, 3, -1, -4, 100):
        at = OF_NESTED["list_element"](lists, place)
        check(at, plain, lambda row, p=place: row[p] if -len(row) <= p < len(row) else None)
    places = pa.array([[1, -2, 0, None, 9][i % 5] for i in range(len(lists))], pa.int64())
    taken = OF_SEVERAL["list_at"]([lists, places], None).to_pylist()
    for row, place, value in zip(plain, places.to_pylist(), taken, strict=True):
        index = None if not place else place - 1 if place > 0 else place
        is_there = row is not None and index is not None and -len(row) <= index < len(row)
        assert same(value, row[index] if row is not None and is_there else None)


@pytest.mark.parametrize("kind", ["fixed", "large", "chunks", "dictionary", "empty"])
def test_kinds_of_lists(kind: str) -> None:
    rows = [[1, 2], None, [2, 2], [None, 7]]
    lists: Any = {
        "fixed": pa.array(rows, pa.list_(pa.int64(), 2)).slice(1),
        "large": pa.array(rows, pa.large_list(pa.int64())).slice(1),
        "chunks": pa.chunked_array([rows[1:3], rows[3:]], pa.list_(pa.int64())),
        "dictionary": pa.array(
            [row and [None if v is None else str(v) for v in row] for row in rows],
            pa.list_(pa.dictionary(pa.int32(), pa.string())),
        ).slice(1),
        "empty": pa.array([], pa.list_(pa.int64())),
    }[kind]
    expected = [] if kind == "empty" else [None, 1, None]
    sought = "2" if kind == "dictionary" else 2
    assert OF_LISTS["list_position"](lists, sought).to_pylist() == expected
    assert OF_NESTED["list_contains"](lists, None).to_pylist() == [
        None if place is None and i == 0 else False for i, place in enumerate(expected)
    ]
    last = {"empty": [], "dictionary": [None, "2", "7"]}.get(kind, [None, 2, 7])
    assert OF_NESTED["list_element"](lists, -1).to_pylist() == last
    if kind != "dictionary":
        sums = [] if kind == "empty" else [None, 4, 7]
        assert OF_LISTS["list_sum"](lists, None).to_pylist() == sums


def test_a_sum_that_does_not_fit() -> None:
    with pytest.raises(pa.ArrowInvalid, match="does not fit 64 bits"):
        OF_LISTS["list_sum"](pa.array([[(1 << 63) - 1, 1]]), None)
