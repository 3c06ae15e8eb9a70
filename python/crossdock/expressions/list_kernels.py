"""Functions that look into each list of a column. Values are pyarrow Scalars, Arrays and
ChunkedArrays; all are pure and thread-safe. ArrowException where a type has no such function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crossdock.expressions.arithmetic import cast, common_type
from crossdock.expressions.literals import value_set
from crossdock.expressions.written_values import written
from crossdock.values.arrow_kinds import Datum

Evaluated = Callable[[pa.Table], pa.Array | pa.ChunkedArray]
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
        return self._filled(np.bincount(rows.to_numpy(), minlength=len(self.lists)), values)

    def with_values(self, values: pa.Array) -> pa.Array:
        """The lists with another value in place of each element."""
        return self._filled(self.lengths.to_numpy(), values)

    def _filled(self, lengths: NDArray[np.int64], values: pa.Array) -> pa.Array:
        offsets = pa.array(np.concatenate([[0], np.cumsum(lengths)]), pa.int32())
        return pa.ListArray.from_arrays(offsets, values, mask=pc.is_null(self.lists))

    def kept(self, are_kept: pa.Array) -> pa.Array:
        """The lists of the elements for which that is true."""
        return self.lists_of(self.values.filter(are_kept), self.rows.filter(are_kept))

    def aggregated(self, values: pa.Array, function: str, options: Any = None) -> pa.Array:
        """What an aggregate of pyarrow makes of each list; NULL of no value."""
        groups = pa.table({"row": self.rows, "x": values}).group_by("row")
        results = groups.aggregate([("x", function, options)]).combine_chunks()
        numbers = pa.arange(0, len(self.lists), 1)
        places = pc.index_in(numbers, value_set=results["row"].combine_chunks())
        return results[f"x_{function}"].combine_chunks().take(places)


def of_elements(function: str, values: list[Datum], evaluated: Evaluated) -> Datum:
    """ "list_transform" or "list_filter" of lists and the values beside them; `evaluated` computes
    the option of the call over its columns."""
    rows = _rows_of(values)
    columns = [_column(value, rows) for value in values]
    each = Elements(columns[0])
    elements = {"element": each.values, "place": pc.add(each.places, 1)}
    beside = {f"value {i}": column.take(each.rows) for i, column in enumerate(columns[1:])}
    results = _column(evaluated(pa.table(elements | beside)), 0)
    if function == "list_transform":
        lists = each.with_values(results)
    else:
        lists = each.kept(pc.fill_null(results, False))
    return lists[0] if all(isinstance(value, pa.Scalar) for value in values) else lists


def _rows_of(values: Sequence[Datum]) -> int:
    """How many rows values have, of which some are one value for all rows."""
    return next((len(value) for value in values if not isinstance(value, pa.Scalar)), 1)


def _column(value: Datum, rows: int) -> pa.Array:
    if isinstance(value, pa.Scalar):  # no rows of a list are more than repeat can make
        return pa.repeat(value, rows) if rows else pa.nulls(0, value.type)
    return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value


def _sort(lists: Datum, order: tuple[bool, bool]) -> pa.Array:
    """By `descending`; NULL comes last, or first by the second option."""
    each = Elements(lists)
    is_descending, nulls_first = order
    keys = pa.table({"x": each.values, "is_null": pc.is_null(each.values)})
    of_nulls = ("is_null", "descending" if nulls_first else "ascending")
    return each.ordered(keys, [of_nulls, ("x", "descending" if is_descending else "ascending")])


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
    return each.kept(pc.and_(pc.greater_equal(place, begin), pc.less_equal(place, end)))


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


def _counts(lists: Datum, _: None) -> pa.Array:
    """How often each known value is there, in the order of the values."""
    each = Elements(lists)
    known = pc.is_valid(each.values)
    table = pa.table({"row": each.rows, "x": each.values}).filter(known)
    counted = table.group_by(["row", "x"]).aggregate([("x", "count")])
    counted = counted.sort_by([("row", "ascending"), ("x", "ascending")]).combine_chunks()
    return each.lists_of(counted["x_count"].combine_chunks(), counted["row"].combine_chunks())


def _median(lists: Datum, _: None) -> pa.Array:
    """Of the known values, between the two in the middle: float64; NULL of none."""
    each = Elements(lists)
    known = each.kept(pc.is_valid(each.values))
    ordered = Elements(_sort(known, (False, False)))
    values = cast(ordered.values, pa.float64())
    begins = pc.subtract(pc.cumulative_sum(ordered.lengths), ordered.lengths)
    is_any = pc.greater(ordered.lengths, 0)
    last = pc.subtract(ordered.lengths, 1)
    halves = (pc.divide(last, 2), pc.divide(ordered.lengths, 2))
    low, high = (
        values.take(pc.if_else(is_any, pc.add(begins, half), pa.scalar(None, pa.int64())))
        for half in halves
    )
    return pc.add(low, pc.divide(pc.subtract(high, low), 2.0))


def _mad(lists: Datum, _: None) -> pa.Array:
    """The median distance of the known numbers from their median: float64; NULL of none."""
    each = Elements(lists)
    values = cast(each.values, pa.float64())
    middle = _median(each.with_values(values), None).take(each.rows)
    return _median(each.with_values(pc.abs(pc.subtract(values, middle))), None)


def _entropy(lists: Datum, _: None) -> pa.Array:
    """How evenly the known values spread over the different ones, in bits."""
    each = Elements(_counts(lists, None))
    counts = each.values.cast(pa.float64())
    weighted = each.aggregated(pc.multiply(counts, pc.log2(counts)), "sum")
    whole = each.aggregated(counts, "sum")
    bits = pc.subtract(pc.log2(whole), pc.divide(weighted, whole))
    return pc.max_element_wise(bits, 0.0, skip_nulls=False)


def _spread(function: str, ddof: int) -> Callable[[Datum, None], pa.Array]:
    options = pc.VarianceOptions(ddof=ddof, min_count=ddof + 1)

    def spread(lists: Datum, _: None) -> pa.Array:
        each = Elements(lists)
        return each.aggregated(each.values, function, options)

    return spread


def _product(lists: Datum, _: None) -> pa.Array:
    each = Elements(lists)
    return each.aggregated(cast(each.values, pa.float64()), "product")


def _aggregate(function: str) -> Callable[[Datum, None], pa.Array]:
    def aggregate(lists: Datum, _: None) -> pa.Array:
        each = Elements(lists)
        return each.aggregated(each.values, function)

    return aggregate


def _list_concat(values: list[Datum], _: None) -> Datum:
    """The elements of several lists as one; NULL has none."""
    rows = _rows_of(values)
    parts = [Elements(_column(value, rows)) for value in values]
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
    rows = _rows_of(values)
    each, column = Elements(_column(values[0], rows)), _column(values[1], rows)
    both = common_type([each.values.type, column.type])
    is_equal = pc.equal(cast(each.values, both), cast(column.take(each.rows), both))
    hits = each.rows.filter(pc.fill_null(is_equal, False)).unique()
    has = pc.is_in(pa.arange(0, len(each.lists), 1), value_set=hits)
    is_compared = pc.or_(pc.is_valid(column), pc.equal(each.lengths, 0))
    is_known = pc.and_(pc.is_valid(each.lists), is_compared)
    return pc.if_else(is_known, has, pa.scalar(None, pa.bool_()))


def _members(lists: list[Datum]) -> tuple[Elements, pa.Array, pa.Array]:
    """The elements of the first of two lists, whether each is one of the second, and where both
    lists are."""
    rows = _rows_of(lists)
    of, among = (Elements(_column(value, rows)) for value in lists)
    both = common_type([of.values.type, among.values.type])
    values, others = cast(of.values, both), cast(among.values, both)
    known = pa.table({"row": among.rows, "x": others}).filter(pc.is_valid(others))
    once = known.group_by(["row", "x"]).aggregate([])
    once = once.append_column("hit", pa.repeat(True, once.num_rows))
    table = pa.table({"row": of.rows, "x": values, "i": pa.arange(0, len(values), 1)})
    joined = table.join(once, ["row", "x"], join_type="left outer").sort_by("i")
    is_hit = pc.fill_null(joined["hit"].combine_chunks(), False)
    return of, is_hit, pc.and_(pc.is_valid(of.lists), pc.is_valid(among.lists))


def _has_any(values: list[Datum], _: None) -> Datum:
    of, is_hit, is_known = _members(values)
    return _of_known(_are_rows(of, is_hit), is_known, values)


def _has_all(values: list[Datum], _: None) -> Datum:
    """Whether all known elements of the second list are in the first one."""
    of, is_hit, is_known = _members(values[::-1])
    missing = pc.and_(pc.invert(is_hit), pc.is_valid(of.values))
    return _of_known(pc.invert(_are_rows(of, missing)), is_known, values)


def _intersect(values: list[Datum], _: None) -> Datum:
    of, is_hit, is_known = _members(values)
    return _of_known(_distinct(of.kept(is_hit), None), is_known, values)


def _are_rows(each: Elements, are_of: pa.Array) -> pa.Array:
    """Whether the rows have an element for which that is true."""
    rows = pa.arange(0, len(each.lists), 1)
    return pc.is_in(rows, value_set=each.rows.filter(are_of).unique())


def _of_known(results: pa.Array, is_known: pa.Array, values: list[Datum]) -> Datum:
    """The results where that is true; of one row where all values are of one."""
    known = pc.if_else(is_known, results, pa.scalar(None, results.type))
    return known[0] if all(isinstance(value, pa.Scalar) for value in values) else known


def _element_at(values: list[Datum], _: None) -> Datum:
    """The element at a place of its row, counted from 1, and from the end where below 0; NULL where
    there is none."""
    rows = _rows_of(values)
    each = Elements(_column(values[0], rows))
    place = _numbers_of(values[1], rows)
    from_end = pc.add(pc.add(each.lengths, place), 1)
    place = pc.if_else(pc.less(place, 0), from_end, place)
    is_there = pc.and_(pc.greater(place, 0), pc.less_equal(place, each.lengths))
    ends = pc.cumulative_sum(each.lengths)
    places = pc.add(pc.subtract(ends, each.lengths), pc.subtract(place, 1))
    taken = each.values.take(pc.if_else(is_there, places, pa.scalar(None, pa.int64())))
    return taken[0] if all(isinstance(value, pa.Scalar) for value in values) else taken


def _resized(values: list[Datum], _: None) -> Datum:
    """The first elements of lists, as many as beside, and behind fewer the value beside that."""
    rows = _rows_of(values)
    each = Elements(_column(values[0], rows))
    size = pc.fill_null(pc.max_element_wise(_numbers_of(values[1], rows), 0), 0)
    kept = pc.less(each.places, size.take(each.rows))
    missing = pc.max_element_wise(pc.subtract(size, each.lengths), 0)
    missing = pc.if_else(pc.is_valid(each.lists), missing, 0)
    fills = _range([pa.scalar(0), missing, pa.scalar(1)], False)
    added = Elements(fills)
    other = cast(_column(values[2], rows), each.values.type).take(added.rows)
    return _of_known(
        _list_concat([each.kept(kept), added.with_values(other)], None),
        pc.is_valid(each.lists), values,
    )  # fmt: skip


def _range(values: list[Datum], with_end: bool) -> Datum:
    """Lists of the numbers from one to another, by steps; NULL where one of these is."""
    rows = _rows_of(values)
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
    return _column(value, rows).cast(pa.int64())


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
    "list_has_any": _has_any,
    "list_has_all": _has_all,
    "list_intersect": _intersect,
    "list_at": _element_at,
    "list_resize": _resized,
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
    "list_median": _median,
    "list_mad": _mad,
    "list_entropy": _entropy,
    "list_product": _product,
    "list_counts": _counts,
    "list_stddev_samp": _spread("stddev", 1),
    "list_stddev_pop": _spread("stddev", 0),
    "list_var_samp": _spread("variance", 1),
    "list_var_pop": _spread("variance", 0),
}


# Those that give a double of a list of numbers, without "list_".
LIST_FOLDS = ("median", "product", "stddev_samp", "stddev_pop", "var_samp", "var_pop")


def of_lists(function: str, value: Datum, option: Any) -> Datum:
    """One of OF_LISTS."""
    if isinstance(value, pa.Scalar):
        return OF_LISTS[function](pa.array([value.as_py()], value.type), option)[0]
    return OF_LISTS[function](value, option)
