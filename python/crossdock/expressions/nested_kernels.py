"""Functions of lists and structs, as evaluation.py calls them. Values are pyarrow Arrays and
ChunkedArrays; everything is pure and thread-safe. ArrowException where a type has no such function.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.list_spans import Spans, places_of, plain_lists
from crossdock.values.arrow_kinds import ArrayLike, Datum

_KINDS = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)


def _list_length(lists: ArrayLike, _: None) -> Datum:
    return pc.cast(pc.list_value_length(_of_lists(lists)), pa.int64())


def _list_element(lists: ArrayLike, index: int) -> pa.Array:
    """The element at `index`, from the end where that is below 0; NULL where there is none. By
    kernels of Arrow, whose memory is kept: NumPy's is mapped again for each batch."""
    lists = plain_lists(lists)
    rows = len(lists)
    offsets = lists.offsets.cast(pa.int64()) if rows else pa.array([0], pa.int64())
    begins, ends = offsets.slice(0, rows), offsets.slice(1)
    places = pc.add(begins if index >= 0 else ends, index)
    are_there = pc.less(places, ends) if index >= 0 else pc.greater_equal(places, begins)
    if lists.null_count:
        are_there = pc.and_(are_there, pc.is_valid(lists))
    return lists.values.take(pc.if_else(are_there, places, None))


def _list_contains(lists: ArrayLike, value: Any) -> pa.Array:
    """Whether an element equals `value`; NULL of NULL alone."""
    spans = Spans(lists)
    return spans.of_rows(places_of(spans, value) > 0)


def _of_lists(lists: ArrayLike) -> Datum:
    if not any(is_kind(lists.type) for is_kind in _KINDS):
        raise pa.ArrowTypeError(f"{lists.type} is no list")
    return lists.combine_chunks() if isinstance(lists, pa.ChunkedArray) else lists


def _field(structs: ArrayLike, name: str) -> ArrayLike:
    if not pa.types.is_struct(structs.type):
        raise pa.ArrowTypeError(f"{structs.type} is no struct")
    names = [field.name for field in structs.type]
    if name not in names:
        raise pa.ArrowInvalid(f"the struct has no field {name!r}, but {', '.join(names)}")
    return pc.struct_field(structs, [names.index(name)])


def list_of(values: list[Datum], both: pa.DataType) -> Datum:
    """Lists of the values of each row, which are of the type `both`."""
    rows = pc.make_struct(*values, field_names=[str(i) for i in range(len(values))])
    if isinstance(rows, pa.Scalar):
        return pa.scalar([value.as_py() for value in values], pa.list_(both))
    rows = rows.combine_chunks() if isinstance(rows, pa.ChunkedArray) else rows
    count, width = len(rows), len(values)
    by_column = pa.concat_arrays(rows.flatten())
    numbers = pa.arange(0, count * width, 1)
    row = pc.divide(numbers, width)
    column = pc.subtract(numbers, pc.multiply(row, width))
    offsets = pa.arange(0, (count + 1) * width, width).cast(pa.int32())
    places = pc.add(pc.multiply(column, count), row)
    return pa.ListArray.from_arrays(offsets, by_column.take(places))


def struct_of(values: list[Datum], names: tuple[str, ...]) -> Datum:
    """Structs of the values of each row."""
    return pc.make_struct(*values, field_names=names)


# Functions of one value and an option.
OF_NESTED: dict[str, Callable[[Datum, Any], Datum]] = {
    "list_length": _list_length,
    "list_element": _list_element,
    "list_contains": _list_contains,
    "field": _field,
}
