"""Columns of lists as the engine's kernels look at them: the ends of the lists, and a 64-bit word
for each element. Values are pyarrow's; all is pure and thread-safe."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from crossdock import _native
from crossdock.expressions.literals import value_set
from crossdock.values.arrow_kinds import Datum

Bytes = NDArray[np.uint8]  # one of each row or element: 1 where something is true of it
_KINDS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def plain_lists(lists: Datum) -> pa.Array:
    """Lists as one array with offsets. ArrowTypeError for what is no list."""
    if not any(is_kind(lists.type) for is_kind in _KINDS):
        raise pa.ArrowTypeError(f"{lists.type} is no list")
    if isinstance(lists, pa.Scalar):
        lists = pa.array([lists.as_py()], lists.type)
    if isinstance(lists, pa.ChunkedArray):
        lists = lists.combine_chunks()
    if pa.types.is_fixed_size_list(lists.type):
        lists = lists.cast(pa.list_(lists.type.value_type))
    return lists


class Spans:
    """The elements of lists, and the end of each list among them. Nothing is copied but the ends.
    ArrowTypeError for what is no list."""

    def __init__(self, lists: Datum) -> None:
        self.lists = lists = plain_lists(lists)
        ends = np.asarray(lists.offsets).astype(np.int64) if len(lists) else np.zeros(1, np.int64)
        self.values = lists.values.slice(ends[0], ends[-1] - ends[0])
        self.ends: NDArray[np.int64] = ends - ends[0]
        self.is_null = None if lists.null_count == 0 else np.asarray(pc.is_null(lists))

    @property
    def lengths(self) -> NDArray[np.int64]:
        """Of each list; 0 of NULL."""
        lengths = np.diff(self.ends)
        return lengths if self.is_null is None else np.where(self.is_null, 0, lengths)

    def parts(self, words: NDArray[Any]) -> tuple[Any, Any, Any]:
        """What the engine's kernels take, with these words for the elements."""
        valid = None if self.values.null_count == 0 else np.asarray(pc.is_valid(self.values))
        return self.ends, np.ascontiguousarray(words), valid

    def of_rows(self, values: NDArray[Any], valid: NDArray[Any] | None = None) -> pa.Array:
        """An array with a value of each row; NULL where there is no list, or none is valid."""
        is_null = self.is_null
        if valid is not None:
            is_null = valid == 0 if is_null is None else (valid == 0) | is_null
        return pa.array(values, mask=is_null)

    def kept(self, are_kept: Bytes) -> pa.Array:
        """The lists of the elements for which that is 1."""
        return self._lists(self._before(are_kept), self.values.filter(are_kept.view(np.bool_)))

    def counts(self, are_of: Bytes) -> NDArray[np.int64]:
        """For how many elements of each list that is 1."""
        return np.diff(self._before(are_of))

    def taken(self, firsts: NDArray[np.int64], lengths: NDArray[np.int64]) -> pa.Array:
        """Of each list so many elements from a place on, which it has."""
        ends = np.concatenate([[0], np.cumsum(lengths)])
        places = np.repeat(self.ends[:-1] + firsts - ends[:-1], lengths) + np.arange(ends[-1])
        return self._lists(ends, self.values.take(pa.array(places)))

    def reversed(self) -> pa.Array:
        """The lists from their last element on."""
        lasts = self.ends[:-1] + self.ends[1:] - 1  # of a list, the first and the last place added
        places = np.repeat(lasts, np.diff(self.ends)) - np.arange(self.ends[-1])
        return self._lists(self.ends, self.values.take(pa.array(places)))

    def flattened(self) -> pa.Array:
        """The lists in each list as one. ArrowTypeError for elements that are no lists."""
        inner = Spans(self.values)
        before = np.concatenate([[0], np.cumsum(inner.lengths)])
        return self._lists(before[self.ends], pc.list_flatten(inner.lists))

    def elements_at(
        self, places: NDArray[np.int64], are_places: NDArray[np.bool_] | bool = True
    ) -> pa.Array:
        """The elements at places from 0, or from the end where below 0; NULL where there are
        none."""
        lengths = self.lengths
        places = np.where(places < 0, lengths + places, places)
        are_there = (places >= 0) & (places < lengths) & are_places
        return self.values.take(pa.array(self.ends[:-1] + places, mask=~are_there))

    def _before(self, are_of: Bytes) -> NDArray[np.int64]:
        return np.concatenate([[0], np.cumsum(are_of, dtype=np.int64)])[self.ends]

    def _lists(self, ends: NDArray[np.int64], values: pa.Array) -> pa.Array:
        mask = None if self.is_null is None else pa.array(self.is_null)
        return pa.ListArray.from_arrays(pa.array(ends, pa.int32()), values, mask=mask)


def words_of(*arrays: pa.Array) -> list[NDArray[np.uint64]]:
    """Words of arrays of one type, equal where their values are; those of NULL mean nothing.
    ArrowException for a type whose values are not compared."""
    arrays = tuple(
        each.dictionary_decode() if pa.types.is_dictionary(each.type) else each for each in arrays
    )
    data_type = arrays[0].type
    if pa.types.is_floating(data_type):
        reals = [_data(array.cast(pa.float64()), np.dtype(np.float64)) + 0.0 for array in arrays]
        for each in reals:
            each[np.isnan(each)] = np.nan
        return [each.view(np.uint64) for each in reals]
    if pa.types.is_integer(data_type):
        return [integers_of(array).view(np.uint64) for array in arrays]
    codes = pa.concat_arrays(arrays).dictionary_encode().indices.cast(pa.int64())
    words = _data(codes, np.dtype(np.uint64))
    return np.split(words, np.cumsum([len(array) for array in arrays])[:-1])


def integers_of(array: pa.Array) -> NDArray[Any]:
    """The values of an array of integers, in 64 bits."""
    if pa.types.is_unsigned_integer(array.type):
        return _data(array.cast(pa.uint64()), np.dtype(np.uint64))
    return _data(array.cast(pa.int64()), np.dtype(np.int64))


def folded(function: str, spans: Spans, numbers: pa.Array) -> pa.Array:
    """What a function of list_kernels.hpp is of each list, with these numbers as its elements:
    of integers an integer, of floats a float64. ArrowInvalid for a sum beyond 64 bits."""
    if pa.types.is_floating(numbers.type):
        format, words = "g", _data(numbers.cast(pa.float64()), np.dtype(np.float64))
    else:
        words = integers_of(numbers)
        format = "L" if words.dtype == np.uint64 else "l"
    try:
        values, valid = _native.fold_lists(function, format, spans.parts(words))
    except OverflowError as error:
        raise pa.ArrowInvalid(str(error)) from None
    return spans.of_rows(np.frombuffer(values, words.dtype), np.frombuffer(valid, np.uint8))


def places_in(spans: Spans, words: NDArray[Any], sought: NDArray[Any]) -> NDArray[np.int64]:
    """Where the word of each row, or the one of all, is first, from 1; 0 where it is not."""
    places = _native.find_in_lists(spans.parts(words), np.ascontiguousarray(sought))
    return np.frombuffer(places, np.int64)


def places_of(spans: Spans, value: Any) -> NDArray[np.int64]:
    """Where elements first equal one value, from 1; 0 where none does, as of NULL."""
    sought = value_set((value,), spans.values.type)[:1]
    if not len(sought):
        return np.zeros(len(spans.lists), np.int64)
    return places_in(spans, *words_of(spans.values, sought))


def members(of: Spans, among: Spans) -> Bytes:
    """Of each element of lists of one type whether the other list of its row has it, too."""
    words, others = words_of(of.values, among.values)
    hits = _native.members_of_lists(of.parts(words), among.parts(others))
    return np.frombuffer(hits, np.uint8)


def first_of_equals(spans: Spans) -> Bytes:
    """Of each element whether it is a value that none before it in its list equals."""
    firsts = _native.distinct_of_lists(spans.parts(words_of(spans.values)[0]))
    return np.frombuffer(firsts, np.uint8)


def _data(array: pa.Array, dtype: np.dtype[Any]) -> NDArray[Any]:
    """The memory of an array of 64-bit values, whichever of them are NULL."""
    if not len(array):
        return np.zeros(0, dtype)
    return np.frombuffer(array.buffers()[1], dtype)[array.offset : array.offset + len(array)]
