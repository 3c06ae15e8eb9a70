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
from crossdock.expressions.list_spans import (
    Bytes,
    Spans,
    first_of_equals,
    folded,
    members,
    places_in,
    places_of,
    words_of,
)
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
    return Spans(lists).reversed()


def _distinct(lists: Datum, _: None) -> pa.Array:
    """Each known value once, where it is first."""
    spans = Spans(lists)
    return spans.kept(first_of_equals(spans))


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
    spans = Spans(lists)
    lengths = spans.lengths
    begin, end = (lengths + bound + 1 if bound < 0 else bound for bound in bounds)
    firsts = np.maximum(begin, 1) - 1
    counts = np.maximum(np.minimum(end, lengths) - firsts, 0)
    return spans.taken(np.where(counts > 0, firsts, 0), counts)


def _position(lists: Datum, value: Any) -> pa.Array:
    """The place of the first element that equals `value`, from 1; NULL where there is none."""
    spans = Spans(lists)
    places = places_of(spans, value)
    return spans.of_rows(places, places)


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
    return Spans(lists).flattened()


def _counts(lists: Datum, _: None) -> pa.Array:
    """How often each known value is there, in the order of the values."""
    each = Elements(lists)
    known = pc.is_valid(each.values)
    table = pa.table({"row": each.rows, "x": each.values}).filter(known)
    counted = table.group_by(["row", "x"]).aggregate([("x", "count")])
    counted = counted.sort_by([("row", "ascending"), ("x", "ascending")]).combine_chunks()
    return each.lists_of(counted["x_count"].combine_chunks(), counted["row"].combine_chunks())


def _of_reals(function: str) -> Callable[[Datum, None], pa.Array]:
    """A function of numbers as doubles: float64; NULL of too few."""

    def fold(lists: Datum, _: None) -> pa.Array:
        spans = Spans(lists)
        return folded(function, spans, cast(spans.values, pa.float64()))

    return fold


def _fold(function: str) -> Callable[[Datum, None], pa.Array]:
    """The sum, an extreme or the mean; of what are no numbers of 64 bits by pyarrow."""

    def fold(lists: Datum, _: None) -> pa.Array:
        spans = Spans(lists)
        data_type = spans.values.type
        if not (pa.types.is_integer(data_type) or pa.types.is_floating(data_type)):
            each = Elements(lists)
            return each.aggregated(each.values, function)
        numbers = cast(spans.values, pa.float64()) if function == "mean" else spans.values
        results = folded(function, spans, numbers)
        return results.cast(data_type) if function in ("min", "max") else results

    return fold


_median = _of_reals("median")


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


def _list_concat(values: list[Datum], _: None) -> Datum:
    """The elements of several lists as one; NULL has none."""
    rows = _rows_of(values)
    parts = [Spans(_column(value, rows)) for value in values]
    both = common_type([part.values.type for part in parts])
    elements = pa.concat_arrays([cast(part.values, both) for part in parts])
    before = np.cumsum([0, *(len(part.values) for part in parts[:-1])])
    # Of each row, one part behind the other.
    firsts = np.stack([part.ends[:-1] for part in parts], axis=1) + before
    lengths = np.stack([part.lengths for part in parts], axis=1).ravel()
    ends = np.concatenate([[0], np.cumsum(lengths)])
    places = np.repeat(firsts.ravel() - ends[:-1], lengths) + np.arange(ends[-1])
    offsets = pa.array(ends[:: len(parts)], pa.int32())
    lists = pa.ListArray.from_arrays(offsets, elements.take(pa.array(places)))
    return lists[0] if all(isinstance(value, pa.Scalar) for value in values) else lists


def _has(values: list[Datum], _: None) -> Datum:
    """Whether an element of a list equals the value beside it; NULL where the list is, and where
    the value is and there are elements."""
    rows = _rows_of(values)
    spans, column = Spans(_column(values[0], rows)), _column(values[1], rows)
    both = common_type([spans.values.type, column.type])
    words, sought = words_of(cast(spans.values, both), cast(column, both))
    is_valid = np.asarray(pc.is_valid(column))
    has = (places_in(spans, words, sought) > 0) & is_valid
    results = spans.of_rows(has, is_valid | (spans.lengths == 0))
    return results[0] if all(isinstance(value, pa.Scalar) for value in values) else results


def _members(lists: list[Datum]) -> tuple[Spans, Bytes, pa.Array]:
    """The elements of the first of two lists, whether each is one of the second, and where both
    lists are."""
    rows = _rows_of(lists)
    of = Spans(_column(lists[0], rows))
    among = Spans(lists[1] if isinstance(lists[1], pa.Scalar) else _column(lists[1], rows))
    both = common_type([of.values.type, among.values.type])
    of.values, among.values = cast(of.values, both), cast(among.values, both)
    return of, members(of, among), pc.and_(pc.is_valid(of.lists), pc.is_valid(lists[1]))


def _has_any(values: list[Datum], _: None) -> Datum:
    of, hits, is_known = _members(values)
    return _of_known(pa.array(of.counts(hits) > 0), is_known, values)


def _has_all(values: list[Datum], _: None) -> Datum:
    """Whether all known elements of the second list are in the first one."""
    if isinstance(values[1], pa.Scalar):  # one list is not written out for all rows
        of, hits, is_known = _members(values)
        sought = first_of_equals(Spans(values[1])).sum()
        return _of_known(
            pa.array(of.counts(hits & first_of_equals(of)) == sought), is_known, values
        )
    of, hits, is_known = _members(values[::-1])
    missing = (np.asarray(pc.is_valid(of.values)) & (hits == 0)).view(np.uint8)
    return _of_known(pa.array(of.counts(missing) == 0), is_known, values)


def _intersect(values: list[Datum], _: None) -> Datum:
    of, hits, is_known = _members(values)
    return _of_known(_distinct(of.kept(hits), None), is_known, values)


def _of_known(results: pa.Array, is_known: pa.Array, values: list[Datum]) -> Datum:
    """The results where that is true; of one row where all values are of one."""
    known = pc.if_else(is_known, results, pa.scalar(None, results.type))
    return known[0] if all(isinstance(value, pa.Scalar) for value in values) else known


def _element_at(values: list[Datum], _: None) -> Datum:
    """The element at a place of its row, counted from 1, and from the end where below 0; NULL where
    there is none."""
    rows = _rows_of(values)
    spans = Spans(_column(values[0], rows))
    place = np.asarray(pc.fill_null(_numbers_of(values[1], rows), 0))
    taken = spans.elements_at(np.where(place < 0, place, place - 1), place != 0)
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
    "list_sum": _fold("sum"),
    "list_min": _fold("min"),
    "list_max": _fold("max"),
    "list_mean": _fold("mean"),
    "list_mode": _mode,
    "list_median": _median,
    "list_mad": _mad,
    "list_entropy": _entropy,
    "list_product": _of_reals("product"),
    "list_counts": _counts,
    **{
        f"list_{name}": _of_reals(name)
        for name in ("stddev_samp", "stddev_pop", "var_samp", "var_pop")
    },
}


# Those that give a double of a list of numbers, without "list_".
LIST_FOLDS = ("median", "product", "stddev_samp", "stddev_pop", "var_samp", "var_pop")


def of_lists(function: str, value: Datum, option: Any) -> Datum:
    """One of OF_LISTS."""
    if isinstance(value, pa.Scalar):
        return OF_LISTS[function](pa.array([value.as_py()], value.type), option)[0]
    return OF_LISTS[function](value, option)
