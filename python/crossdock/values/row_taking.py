"""Takes rows of columns of any Arrow type by their positions.

pyarrow's take has no kernels for string and binary views and for run-end encoding, nor for types
that hold such inside; these are taken in a plainer type, or else as slices of one row each.
Everything here is pure and thread-safe.
"""

from __future__ import annotations

from functools import lru_cache

import pyarrow as pa
import pyarrow.compute as pc

from crossdock.values.arrow_kinds import ArrayLike, Rows

_VIEWS = {pa.string_view(): pa.string(), pa.binary_view(): pa.binary()}
_FEW_ROWS = 64  # of so many rows one is taken: less than putting chunks together
_BLOCK_BYTES = 1 << 30  # of values in one array, so that 32-bit offsets do not run over


def take(column: pa.Array, positions: pa.Array) -> pa.Array:
    """The rows of an Array at `positions`, an array of integers in which NULL gives NULL."""
    try:
        return column.take(positions)
    except pa.ArrowNotImplementedError:
        return _taken_plainly(column, positions)


def filter_rows(rows: Rows, mask: ArrayLike) -> Rows:
    """The rows of a Table or RecordBatch where a mask of booleans is true."""
    try:
        return rows.filter(mask)
    except pa.ArrowNotImplementedError:
        columns = [_filtered(column, mask) for column in rows.columns]
        return type(rows).from_arrays(columns, schema=rows.schema)


def take_rows(rows: pa.Table, positions: pa.Array) -> pa.Table:
    """The rows of a Table at `positions`."""
    columns = [Blocks(column).take(positions) for column in rows.columns]
    return type(rows).from_arrays(columns, schema=rows.schema)


def selectable_schema(schema: pa.Schema) -> pa.Schema:
    """`schema` with string and binary in place of their views, at any depth where pyarrow can cast
    them; `schema` itself if there are none."""
    if not any(_has_views(field.type) for field in schema):
        return schema
    return pa.schema([_field_without_views(field) for field in schema])


def is_selectable(data_type: pa.DataType) -> bool:
    """Whether pyarrow has the kernels to select rows of columns of this type."""
    if pa.types.is_run_end_encoded(data_type) or data_type in _VIEWS:
        return False
    return all(map(is_selectable, _types_inside(data_type)))


def column_bytes(column: ArrayLike) -> int:
    """Bytes of an Array or ChunkedArray. pyarrow's own number of those that a slice refers to ends
    the process where a union inside has no rows, so of unions it is that of all buffers."""
    held = column.get_total_buffer_size() if _has_union(column.type) else column.nbytes
    return int(held)


def table_bytes(table: Rows) -> int:
    """Bytes of the columns of a Table or RecordBatch."""
    return sum(map(column_bytes, table.columns))


class Blocks:
    """A ChunkedArray of which rows can be taken often. Where many are taken its chunks are put
    together into few: pyarrow puts all chunks together at each take."""

    def __init__(self, column: pa.ChunkedArray) -> None:
        # So many rows weigh no more than a block, if those that are taken weigh as all do.
        self._rows = max(1, _BLOCK_BYTES * max(1, len(column)) // max(1, column_bytes(column)))
        self._length = len(column)
        self._blocks = column.chunks or [pa.nulls(0, column.type)]
        self._are_together = len(self._blocks) == 1

    def _put_together(self) -> None:
        blocks: list[pa.Array] = []
        held: list[pa.Array] = []
        for chunk in self._blocks:
            if held and sum(map(column_bytes, (*held, chunk))) > _BLOCK_BYTES:
                blocks.append(pa.concat_arrays(held))
                held = []
            held.append(chunk)
        self._blocks = [*blocks, pa.concat_arrays(held)]
        self._are_together = True

    def take(self, positions: ArrayLike) -> ArrayLike:
        """The rows at `positions`, an Array or ChunkedArray, as the same."""
        if isinstance(positions, pa.ChunkedArray):
            pieces = [
                chunk.slice(at, self._rows)
                for chunk in positions.chunks
                for at in range(0, len(chunk), self._rows)
            ]
            return pa.chunked_array([self.take(piece) for piece in pieces], self._blocks[0].type)
        if not self._are_together and len(positions) * _FEW_ROWS > self._length:
            self._put_together()
        if len(self._blocks) == 1:
            return take(self._blocks[0], positions)
        result, places, begin = [], [], 0
        for number, block in enumerate(self._blocks):
            end = begin + len(block)
            inside = pc.and_(pc.greater_equal(positions, begin), pc.less(positions, end))
            # NULL belongs to every block; the first one gives it.
            there = pc.indices_nonzero(inside.fill_null(number == 0))
            places.append(there)
            result.append(take(block, pc.subtract(pc.take(positions, there), begin)))
            begin = end
        order = pc.array_sort_indices(pa.concat_arrays(places))
        return take(pa.concat_arrays(result), order)


def _filtered(column: ArrayLike, mask: ArrayLike) -> ArrayLike:
    try:
        return column.filter(mask)
    except pa.ArrowNotImplementedError:
        positions = pc.indices_nonzero(mask.fill_null(False))
        chunked = isinstance(column, pa.ChunkedArray)
        return Blocks(column).take(positions) if chunked else take(column, positions)


def _taken_plainly(column: pa.Array, positions: pa.Array) -> pa.Array:
    if isinstance(column.type, pa.BaseExtensionType):
        return column.type.wrap_array(take(column.storage, positions))
    if pa.types.is_run_end_encoded(column.type):
        taken = take(pc.run_end_decode(column), positions)
        return pc.run_end_encode(taken, run_end_type=column.type.run_end_type)
    if pa.types.is_struct(column.type):
        fields = [take(field, positions) for field in column.flatten()]
        null = take(column.is_null(), positions).fill_null(True)
        return pa.StructArray.from_arrays(fields, fields=column.type.fields, mask=null)
    try:
        plain = column.cast(_without_views(column.type))
        return plain.take(positions).cast(column.type)
    except pa.ArrowNotImplementedError:
        return _sliced(column, positions)


def _sliced(column: pa.Array, positions: pa.Array) -> pa.Array:
    null = pa.nulls(1, column.type)
    rows = [null if at is None else column.slice(at, 1) for at in positions.to_pylist()]
    return pa.concat_arrays(rows or [column.slice(0, 0)])


def _has_views(data_type: pa.DataType) -> bool:
    return data_type in _VIEWS or any(map(_has_views, _types_inside(data_type)))


@lru_cache(maxsize=256)  # it is asked for each column that moves between ranks
def _has_union(data_type: pa.DataType) -> bool:
    return pa.types.is_union(data_type) or any(map(_has_union, _types_inside(data_type)))


def _types_inside(data_type: pa.DataType) -> list[pa.DataType]:
    if isinstance(data_type, pa.BaseExtensionType):
        return [data_type.storage_type]
    if pa.types.is_dictionary(data_type):
        return [data_type.value_type]
    if not pa.types.is_nested(data_type):
        return []
    return [data_type.field(place).type for place in range(data_type.num_fields)]


def _without_views(data_type: pa.DataType) -> pa.DataType:
    """The type with string and binary in place of their views, at any depth."""
    if data_type in _VIEWS:
        return _VIEWS[data_type]
    if pa.types.is_struct(data_type):
        return pa.struct([_field_without_views(field) for field in data_type.fields])
    if pa.types.is_map(data_type):
        return pa.map_(
            _field_without_views(data_type.key_field),
            _field_without_views(data_type.item_field),
            keys_sorted=data_type.keys_sorted,
        )
    if pa.types.is_list(data_type):
        return pa.list_(_field_without_views(data_type.value_field))
    if pa.types.is_large_list(data_type):
        return pa.large_list(_field_without_views(data_type.value_field))
    if pa.types.is_fixed_size_list(data_type):
        return pa.list_(_field_without_views(data_type.value_field), data_type.list_size)
    if pa.types.is_dictionary(data_type):
        values = _without_views(data_type.value_type)
        return pa.dictionary(data_type.index_type, values, data_type.ordered)
    return data_type


def _field_without_views(field: pa.Field) -> pa.Field:
    return field.with_type(_without_views(field.type))
