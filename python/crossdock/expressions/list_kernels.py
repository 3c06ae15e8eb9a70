"""Functions that look into each list of a column. Values are pyarrow Scalars, Arrays and
ChunkedArrays; all are pure and thread-safe. ArrowException where a type has no such function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crossdock.expressions.arithmetic import cast, common_type
from crossdock.expressions.literals import value_set
from crossdock.expressions.written_values import written
from crossdock.values.arrow_kinds import Datum

_MOST_NUMBERS = 100_000_000  # of ranges in a batch
_KINDS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


class Elements:
    """The elements of a column of lists, with the number of each one's row and its place there."""

    def __init__(self, lists: Datum) -> None:
        if not any(is_kind(lists.type) for is_kind in _KINDS):
            raise pa.ArrowTypeError(f"{lists.type} is no list")
        self.lists = lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists
        self.rows = pc.list_parent_indices(self.lists).cast(pa.int64())
        self.values = pc.list_flatten(self.lists)
        self.lengths = pc.fill_null(pc.list_value_length(self.lists).cast(pa.int64()), 0)
        begins = pc.subtract(pc.cumulative_sum(self.lengths), self.lengths)
        numbers = pa.arange(0, len(self.values), 1)
        self.places = pc.subtract(numbers, begins.take(self.rows))

    def ordered(self, keys: pa.Table, order: list[tuple[str, str]]) -> pa.Array:
        """The lists with their elements in another order, the row first."""
        by = [("row", "ascending"), *order]
        places = pc.sort_indices(keys.append_column("row", self.rows), sort_keys=by)
        return self.lists_of(self.values.take(places), self.rows)

    def lists_of(self, values: pa.Array, rows: pa.Array) -> pa.Array:
        """Lists of values whose rows ascend; NULL where there was no list."""
        counts = rows.value_counts()
        places = pc.index_in(pa.arange(0, len(self.lists), 1), counts.field(0))
        lengths = pc.fill_null(counts.field(1).take(places), 0)
        ends = pc.cumulative_sum(lengths)
        offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
        return pa.ListArray.from_arrays(offsets, values, mask=pc.is_null(self.lists))

    def aggregated(self, values: pa.Array, function: str) -> pa.Array:
        """What an aggregate of pyarrow makes of each list; NULL of no value."""
        groups = pa.table({"row": self.rows, "x": values}).group_by("row")
        results = groups.aggregate([("x", function)]).combine_chunks()
        numbers = pa.arange(0, len(self.lists), 1)
        places = pc.index_in(numbers, value_set=results["row"].combine_chunks())
        return results[f"x_{function}"].combine_chunks().take(places)


def _sort(lists: Datum, descending: bool) -> pa.Array:
    """NULL comes last."""
    each = Elements(lists)
    keys = pa.table({"x": each.values})
    return each.ordered(keys, [("x", "descending" if descending else "ascending")])


def _reverse(lists: Datum, _: None) -> pa.Array:
    each = Elements(lists)
    return each.ordered(pa.table({"place": each.places}), [("place", "descending")])


def _distinct(lists: Datum, _: None) -> pa.Array:
    """Each known value once, where it is first."""
    each = Elements(lists)
    table = pa.table({"row": each.rows, "x": each.values, "place": each.places})
    groups = table.filter(pc.is_valid(each.values)).group_by(["row", "x"])
    firsts = groups.aggregate([("place", "min")])
    kept = firsts.sort_by([("row", "ascending"), ("place_min", "ascending")]).combine_chunks()
    return each.lists_of(kept["x"].combine_chunks(), kept["row"].combine_chunks())


def _mode(lists: Datum, _: None) -> pa.Array:
    """The value that each list has most often, the first of several; NULL of none."""
    each = Elements(lists)
    table = pa.table({"row": each.rows, "x": each.values, "place": each.places})
    groups = table.filter(pc.is_valid(each.values)).group_by(["row", "x"])
    counted = groups.aggregate([("place", "count"), ("place", "min")])
    order = [("row", "ascending"), ("place_count", "descending"), ("place_min", "ascending")]
    counted = counted.sort_by(order).combine_chunks()
    numbers = pa.arange(0, len(each.lists), 1)
    first_of_row = pc.index_in(numbers, value_set=counted["row"].combine_chunks())
    return counted["x"].combine_chunks().take(first_of_row)


def _slice(lists: Datum, bounds: tuple[int, int]) -> pa.Array:
    """From one place to another, both counted from 1, and from the end where below 0."""
    each = Elements(lists)
    lengths = each.lengths.take(each.rows)
    place = pc.add(each.places, 1)
    begin, end = (pc.add(lengths, bound + 1) if bound < 0 else bound for bound in bounds)
    is_kept = pc.and_(pc.greater_equal(place, begin), pc.less_equal(place, end))
    return each.lists_of(each.values.filter(is_kept), each.rows.filter(is_kept))


def _position(lists: Datum, value: Any) -> pa.Array:
    """The place of the first element that equals `value`, from 1; NULL where there is none."""
    each = Elements(lists)
    is_hit = pc.is_in(each.values, value_set=value_set((value,), each.values.type))
    places = pc.if_else(is_hit, pc.add(each.places, 1), pa.scalar(None, pa.int64()))
    return each.aggregated(places, "min")


def _joined(lists: Datum, separator: str) -> pa.Array:
    """The known elements as one string; NULL where there are others alone."""
    each = Elements(lists)
    is_known = pc.is_valid(each.values)
    strings = each.values.filter(is_known)
    if not pa.types.is_string(strings.type):
        strings = written(strings, pa.string())
    known = each.lists_of(strings, each.rows.filter(is_known))
    is_none = pc.and_(pc.equal(pc.list_value_length(known), 0), pc.greater(each.lengths, 0))
    return pc.if_else(is_none, pa.scalar(None, pa.string()), pc.binary_join(known, separator))


def _flattened(lists: Datum, _: None) -> pa.Array:
    """The lists in a list as one."""
    outer = Elements(lists)
    inner = Elements(outer.values)
    return outer.lists_of(inner.values, outer.rows.take(inner.rows))


def _aggregate(function: str) -> Callable[[Datum, None], pa.Array]:
    def aggregate(lists: Datum, _: None) -> pa.Array:
        each = Elements(lists)
        return each.aggregated(each.values, function)

    return aggregate


def _list_concat(values: list[Datum], _: None) -> Datum:
    """The elements of several lists as one; NULL has none."""
    rows = next((len(v) for v in values if not isinstance(v, pa.Scalar)), 1)
    parts = [
        Elements(pa.array([v.as_py()] * rows, v.type) if isinstance(v, pa.Scalar) else v)
        for v in values
    ]
    both = common_type([part.values.type for part in parts])
    numbers = pa.concat_arrays([part.rows for part in parts])
    elements = pa.concat_arrays([cast(part.values, both) for part in parts])
    order = pc.sort_indices(pa.table({"row": numbers, "i": pa.arange(0, len(numbers), 1)}),
                            sort_keys=[("row", "ascending"), ("i", "ascending")])  # fmt: skip
    every = Elements(pa.array([[]] * rows, pa.list_(both)))
    lists = every.lists_of(elements.take(order), numbers.take(order))
    return lists[0] if all(isinstance(value, pa.Scalar) for value in values) else lists


def _has(values: list[Datum], _: None) -> Datum:
    """Whether an element of a list equals the value beside it; NULL where the list is, and where
    the value is and there are elements."""
    listed, value = values
    if isinstance(listed, pa.Scalar):
        rows = 1 if isinstance(value, pa.Scalar) else len(value)
        listed = pa.array([listed.as_py()] * rows, listed.type)
    each = Elements(listed)
    both = common_type([each.values.type, value.type])
    column = pa.array([value.as_py()] * len(each.lists), value.type) if isinstance(
        value, pa.Scalar) else value  # fmt: skip
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    is_equal = pc.equal(cast(each.values, both), cast(column.take(each.rows), both))
    hits = each.rows.filter(pc.fill_null(is_equal, False)).unique()
    has = pc.is_in(pa.arange(0, len(each.lists), 1), value_set=hits)
    is_compared = pc.or_(pc.is_valid(column), pc.equal(each.lengths, 0))
    is_known = pc.and_(pc.is_valid(each.lists), is_compared)
    return pc.if_else(is_known, has, pa.scalar(None, pa.bool_()))


def _range(values: list[Datum], with_end: bool) -> Datum:
    """Lists of the numbers from one to another, by steps; NULL where one of these is."""
    rows = next((len(v) for v in values if not isinstance(v, pa.Scalar)), 1)
    first, last, step = (_numbers_of(value, rows) for value in values)
    is_known = pc.and_(pc.and_(pc.is_valid(first), pc.is_valid(last)), pc.is_valid(step))
    begin, end, by = (
        pc.fill_null(pc.if_else(is_known, each, 1), 1).to_numpy() for each in (first, last, step)
    )
    if not by.all():
        raise pa.ArrowInvalid("a range by steps of 0")
    counts = np.where(is_known.to_numpy(zero_copy_only=False), _steps(begin, end, by, with_end), 0)
    if counts.sum() > _MOST_NUMBERS:
        raise pa.ArrowInvalid(f"ranges of more than {_MOST_NUMBERS:,} numbers")
    lengths = counts.astype(np.int64)
    ends = np.concatenate([[0], np.cumsum(lengths)])
    numbers = np.arange(ends[-1])
    if (by != 1).any():
        numbers *= np.repeat(by, lengths)
    numbers += np.repeat(begin - by * ends[:-1], lengths)
    lists = pa.ListArray.from_arrays(
        pa.array(ends, pa.int32()), pa.array(numbers, pa.int64()), mask=pc.invert(is_known)
    )
    return lists[0] if all(isinstance(value, pa.Scalar) for value in values) else lists


def _numbers_of(value: Datum, rows: int) -> pa.Array:
    column = pa.repeat(value, rows) if isinstance(value, pa.Scalar) else value
    column = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
    return column.cast(pa.int64())


def _steps(
    begin: NDArray[np.int64], end: NDArray[np.int64], by: NDArray[np.int64], with_end: bool
) -> NDArray[np.float64]:
    """How many numbers each range has, rounded where they are more than 2^53. Differences of 64-bit
    numbers fit without a sign."""
    ascends = by > 0
    low, high = (np.where(ascends, *pair).view(np.uint64) for pair in ((begin, end), (end, begin)))
    size = np.where(ascends, by, -by).view(np.uint64)
    whole, rest = np.divmod(high - low, size)
    is_empty = np.where(ascends, begin > end, begin < end)
    one_more = 1.0 if with_end else (rest != 0).astype(np.float64)
    return np.where(is_empty, 0.0, whole.astype(np.float64) + one_more)


# Functions of several values and an option.
OF_SEVERAL: dict[str, Callable[[list[Datum], Any], Datum]] = {
    "list_concat": _list_concat,
    "list_has": _has,
    "list_range": _range,
}
# Functions of one value and an option.
OF_LISTS: dict[str, Callable[[Datum, Any], pa.Array]] = {
    "list_sort": _sort,
    "list_reverse": _reverse,
    "list_distinct": _distinct,
    "list_slice": _slice,
    "list_position": _position,
    "list_join": _joined,
    "list_flatten": _flattened,
    "list_sum": _aggregate("sum"),
    "list_min": _aggregate("min"),
    "list_max": _aggregate("max"),
    "list_mean": _aggregate("mean"),
    "list_mode": _mode,
}


def of_lists(function: str, value: Datum, option: Any) -> Datum:
    """One of OF_LISTS."""
    if isinstance(value, pa.Scalar):
        return OF_LISTS[function](pa.array([value.as_py()], value.type), option)[0]
    return OF_LISTS[function](value, option)
