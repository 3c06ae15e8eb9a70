"""What the benches compare before they time: wrong results must not look right."""

from __future__ import annotations

import datetime
from decimal import Decimal

import pyarrow as pa
from harness.report import verdict
from harness.results import of_groups, of_rows, of_sequence, same
from harness.work import Bar

KEYS = pa.chunked_array([[3, 1], [2]])


def rows(*values: int) -> pa.Table:
    return pa.table({"k": KEYS, "v": pa.chunked_array([list(values)])})


def in_one_chunk(column: pa.ChunkedArray) -> pa.ChunkedArray:
    return pa.chunked_array([column.combine_chunks()])


def test_rows_may_come_in_any_order() -> None:
    table = rows(10, 20, 30)
    assert of_rows(table) == of_rows(table.take([2, 0, 1]))


def test_a_value_beside_the_wrong_key_is_seen() -> None:
    assert of_rows(rows(10, 20, 30)) != of_rows(rows(20, 10, 30))


def test_the_type_of_a_sum_does_not_matter() -> None:
    table = rows(10, 20, 30)
    as_decimal = table.set_column(1, "v", table["v"].cast(pa.decimal128(38, 0)))
    assert of_rows(table) == of_rows(as_decimal)


def test_decimals_of_a_slice_are_its_own() -> None:
    column = pa.chunked_array([pa.array([Decimal("1.25"), Decimal("-2.50"), Decimal("3.00")])])
    table = pa.table({"d": column})
    assert of_rows(table.slice(1, 2)) == of_rows(pa.table({"d": column.take([1, 2])}))


def test_sequences_see_order_and_borders() -> None:
    numbers, strings = KEYS, pa.chunked_array([["ab", "c"], ["", "d"]])
    assert of_sequence(numbers) == of_sequence(in_one_chunk(numbers))
    assert of_sequence(numbers) != of_sequence(pa.chunked_array([[1, 2, 3]]))
    assert of_sequence(strings) == of_sequence(in_one_chunk(strings.cast(pa.string_view())))
    assert of_sequence(strings) != of_sequence(pa.chunked_array([["a", "bc", "", "d"]]))
    assert of_sequence(strings.slice(1, 2)) == of_sequence(pa.chunked_array([["c", ""]]))


def test_dates_count_as_days() -> None:
    days = pa.chunked_array([[datetime.date(1998, 9, 2), datetime.date(1970, 1, 1)]])
    assert of_sequence(days) == of_sequence(days.cast(pa.int32()).cast(pa.int64()))


def test_groups_are_compared_within_a_tolerance() -> None:
    one = pa.table({"k": ["b", "a"], "x": [Decimal("2.000000"), Decimal("1.000000")]})
    other = pa.table({"k": pa.array(["a", "b"], pa.string_view()), "x": [1.0000001, 2.0]})
    wrong = pa.table({"k": ["a", "b"], "x": [1.1, 2.0]})
    assert same(of_groups(one, ["k"]), of_groups(other, ["k"]))
    assert not same(of_groups(one, ["k"]), of_groups(wrong, ["k"]))


def test_every_part_of_a_bar_must_hold() -> None:
    row = {"ours_s": None, "ours_bytes": 300, "ratio": 1.1, "ours_needed_bytes": 230}
    bar = Bar(ratio=1.0, of_input=2.2)
    assert bar.text() == ">= 1x, <= 2.2 inputs"
    assert verdict(bar, row | {"input_bytes": 100}) is False
    assert verdict(bar, row | {"input_bytes": 110}) is True
    assert verdict(bar, row | {"ours_bytes": None}) is None
