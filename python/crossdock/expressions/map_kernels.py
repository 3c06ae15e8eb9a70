"""Functions of maps, as evaluation.py calls them. Values are pyarrow Scalars, Arrays and
ChunkedArrays; all are pure and thread-safe. ArrowException where a type has no such function."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.arithmetic import cast
from crossdock.expressions.list_kernels import Elements
from crossdock.values.arrow_kinds import Datum


class _Entries:
    """The keys and values of a column of maps, as elements of lists."""

    def __init__(self, maps: Datum, rows: int = 1) -> None:
        """Of as many rows, where it is one map."""
        if not pa.types.is_map(maps.type):
            raise pa.ArrowTypeError(f"{maps.type} is no map")
        fields = [("key", maps.type.key_type), ("value", maps.type.item_type)]
        self.each = Elements(_column(maps, rows).cast(pa.list_(pa.struct(fields))))
        self.keys, self.values = (pc.struct_field(self.each.values, i) for i in (0, 1))

    def hits(self, key: Datum) -> pa.Array:
        """Whether each entry has the key of its row."""
        given = cast(_column(key, 1), self.keys.type)
        of_entries = given[0] if isinstance(key, pa.Scalar) else given.take(self.each.rows)
        return pc.fill_null(pc.equal(self.keys, of_entries), False)


def _column(value: Datum, rows: int) -> pa.Array:
    if isinstance(value, pa.Scalar):
        return pa.array([value.as_py()] * rows, value.type)
    return value.combine_chunks() if isinstance(value, pa.ChunkedArray) else value


def _rows(values: list[Datum]) -> int:
    return next((len(value) for value in values if not isinstance(value, pa.Scalar)), 1)


def _map_of(values: list[Datum], _: None) -> Datum:
    """Maps of lists of keys and of values."""
    keys, items = (Elements(_column(value, _rows(values))) for value in values)
    if keys.lengths != items.lengths:
        raise pa.ArrowInvalid("a map has as many values as keys")
    if keys.values.null_count:
        raise pa.ArrowInvalid("a map has no NULL as a key")
    once = pa.table({"row": keys.rows, "key": keys.values}).group_by(["row", "key"]).aggregate([])
    if once.num_rows < len(keys.values):
        raise pa.ArrowInvalid("a map has each key once")
    ends = pc.cumulative_sum(keys.lengths)
    offsets = pa.concat_arrays([pa.array([0], pa.int64()), ends]).cast(pa.int32())
    is_null = pc.or_(pc.is_null(keys.lists), pc.is_null(items.lists))
    maps = pa.MapArray.from_arrays(offsets, keys.values, items.values, mask=is_null)
    return maps[0] if all(isinstance(value, pa.Scalar) for value in values) else maps


def _keys(values: list[Datum], _: None) -> Datum:
    entries = _Entries(values[0])
    return entries.each.lists_of(entries.keys, entries.each.rows)


def _values(values: list[Datum], _: None) -> Datum:
    entries = _Entries(values[0])
    return entries.each.lists_of(entries.values, entries.each.rows)


def _entries(values: list[Datum], _: None) -> Datum:
    return _Entries(values[0]).each.lists


def _length(values: list[Datum], _: None) -> Datum:
    lists = _Entries(values[0]).each.lists
    return pc.cast(pc.list_value_length(lists), pa.int64())


def _value(values: list[Datum], _: None) -> Datum:
    """The value of a key; NULL where the map has it not."""
    entries = _Entries(values[0], _rows(values))
    hits = entries.hits(values[1])
    rows = pa.arange(0, len(entries.each.lists), 1)
    places = pc.index_in(rows, value_set=entries.each.rows.filter(hits))
    return entries.values.filter(hits).take(places)


def _extracted(values: list[Datum], _: None) -> Datum:
    """A list of the value of a key, or of nothing."""
    entries = _Entries(values[0], _rows(values))
    hits = entries.hits(values[1])
    return entries.each.lists_of(entries.values.filter(hits), entries.each.rows.filter(hits))


OF_MAPS: dict[str, Callable[[list[Datum], Any], Datum]] = {
    "map_of": _map_of,
    "map_keys": _keys,
    "map_values": _values,
    "map_entries": _entries,
    "map_length": _length,
    "map_value": _value,
    "map_extract": _extracted,
}
