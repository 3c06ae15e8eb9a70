"""How columns of Arrow types that the engine does not have lie in it while it computes with them.

A column of type null lies there as booleans that are all NULL, fixed-size binary (UUIDs too) as
binary, a short decimal as decimal128, and decimal256 as bytes that order as its values do. Types
that nothing compares (nested ones, intervals, unions, run-end encoded ones) do not lie there at
all: `late_columns` carries them along. Columns of the engine's own types pass through untouched.
Everything here is pure and thread-safe.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa
import pyarrow.compute as pc

from crossdock import _native
from crossdock.values.arrow_kinds import ArrayLike, Rows

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

_STORED = pa.large_binary()  # unlike binary, it takes any number of bytes
_WIDE_BYTES = 32  # of a decimal256
_SIGN_FLIPPED = bytes(byte ^ 0x80 for byte in range(256))
_OWN = frozenset(
    getattr(pa.lib, f"Type_{name}")
    for name in ("BOOL", "INT32", "INT64", "DOUBLE", "STRING", "DATE32", "TIMESTAMP", "DECIMAL128")
)
_ABSENT = frozenset(
    getattr(pa.lib, f"Type_{name}")
    for name in (
        "LIST", "LARGE_LIST", "FIXED_SIZE_LIST", "LIST_VIEW", "LARGE_LIST_VIEW", "STRUCT", "MAP",
        "DENSE_UNION", "SPARSE_UNION", "RUN_END_ENCODED", "INTERVAL_MONTH_DAY_NANO",
    )
)  # fmt: skip


def engine_type(data_type: pa.DataType) -> pa.DataType | None:
    """The type in which a column of `data_type` lies in the engine: itself if the engine has it;
    None if it cannot lie there at all."""
    if data_type.id in _OWN:  # most columns, so this comes first
        return data_type
    if isinstance(data_type, pa.BaseExtensionType):
        storage = data_type.storage_type
        stored = engine_type(storage)
        return data_type if stored is storage else stored
    if data_type.id in _ABSENT:
        return None
    if pa.types.is_dictionary(data_type):
        values = data_type.value_type
        return data_type if engine_type(values) is values else None
    if pa.types.is_null(data_type):
        return pa.bool_()
    if pa.types.is_fixed_size_binary(data_type) or pa.types.is_decimal256(data_type):
        return _STORED
    if pa.types.is_decimal32(data_type) or pa.types.is_decimal64(data_type):
        return pa.decimal128(data_type.precision, data_type.scale)
    return data_type


def lies_as_it_is(data_type: pa.DataType) -> bool:
    """Whether the engine has columns of this type."""
    return engine_type(data_type) is data_type


def is_late(data_type: pa.DataType) -> bool:
    """Whether columns of this type cannot lie in the engine, and are carried along by reference."""
    return engine_type(data_type) is None


def engine_schema(schema: pa.Schema) -> pa.Schema:
    """`schema` with the types of the engine; `schema` itself where it has no others. Types that the
    engine cannot take stay, for it to refuse."""
    if all(lies_as_it_is(field.type) for field in schema):
        return schema
    return pa.schema([field.with_type(engine_type(field.type) or field.type) for field in schema])


def to_engine(rows: Rows) -> Rows:
    """A Table, RecordBatch or RecordBatchReader with the types of the engine."""
    schema = rows.schema
    target = engine_schema(schema)
    if target is schema:
        return rows
    if isinstance(rows, pa.RecordBatchReader):
        return pa.RecordBatchReader.from_batches(target, map(to_engine, rows))
    columns = [
        column if field.type == column.type else _by_chunk(column, field.type, _stored)
        for column, field in zip(rows.columns, target, strict=True)
    ]
    return type(rows).from_arrays(columns, schema=target)


def from_engine(column: ArrayLike, data_type: pa.DataType) -> ArrayLike:
    """A column that lay in the engine, an Array or ChunkedArray, as `data_type` again."""
    if column.type == data_type:
        return column
    if pa.types.is_dictionary(column.type) and not pa.types.is_dictionary(data_type):
        column = column.cast(column.type.value_type)  # views have no cast from dictionaries
    if lies_as_it_is(data_type):
        return column if column.type == data_type else column.cast(data_type)
    return _by_chunk(column, data_type, _restored)


def with_schema(rows: Rows, schema: pa.Schema) -> Rows:
    """A Table or RecordBatch with the names, types and metadata of `schema`, as its columns
    stand."""
    if not len(schema) or rows.schema.equals(schema, check_metadata=True):
        return rows
    pairs = zip(rows.columns, schema, strict=True)
    columns = [from_engine(column, field.type) for column, field in pairs]
    return type(rows).from_arrays(columns, schema=schema)


def empty_table(schema: pa.Schema) -> pa.Table:
    """A Table of no rows. (pyarrow's own cannot have unions and run-end encoding, and it imports
    pandas where that is installed: 0.2 s of a process that does not need it.)"""
    return pa.Table.from_batches([], schema)


def distinct_names(names: Iterable[str]) -> list[str]:
    """The names, of which those that came before end with _1, _2, ..."""
    result: list[str] = []
    for name in names:
        candidate, count = name, 1
        while candidate in result:
            candidate, count = f"{name}_{count}", count + 1
        result.append(candidate)
    return result


def engine_table(engine: _native.Engine, rows: pa.Table) -> _native.Table:
    """A pyarrow Table, RecordBatch or RecordBatchReader as a table of the engine, zero copy but for
    columns of types that it does not have. Errors: NativeError."""
    return _native.Table.from_stream(engine, to_engine(rows))


def _by_chunk(
    column: ArrayLike, data_type: pa.DataType, change: Callable[[pa.Array, pa.DataType], pa.Array]
) -> ArrayLike:
    if isinstance(column, pa.ChunkedArray):
        return pa.chunked_array([change(chunk, data_type) for chunk in column.chunks], data_type)
    return change(column, data_type)


def _stored(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    if isinstance(array.type, pa.BaseExtensionType):
        array = array.storage
    if pa.types.is_decimal256(array.type):
        array = _with_nulls_of(array, _reversed_lanes(array, pa.binary(_WIDE_BYTES), to_order=True))
    return array.cast(data_type)


def _restored(array: pa.Array, data_type: pa.DataType) -> pa.Array:
    if isinstance(data_type, pa.BaseExtensionType):
        return data_type.wrap_array(_restored(array, data_type.storage_type))
    if pa.types.is_null(data_type):
        return pa.nulls(len(array))
    if pa.types.is_decimal256(data_type):
        lanes = array.fill_null(bytes(_WIDE_BYTES)).cast(pa.binary(_WIDE_BYTES))
        return _with_nulls_of(array, _reversed_lanes(lanes, data_type, to_order=False))
    return array.cast(data_type)


def _reversed_lanes(array: pa.Array, data_type: pa.DataType, to_order: bool) -> pa.Array:
    """The values of a decimal256 array, as bytes that compare as they do, or back; no NULLs."""
    begin = array.offset * _WIDE_BYTES
    lanes = bytes(array.buffers()[1] or b"")[begin : begin + len(array) * _WIDE_BYTES]
    turned = bytearray(len(lanes))
    for place in range(_WIDE_BYTES):
        turned[place::_WIDE_BYTES] = lanes[_WIDE_BYTES - 1 - place :: _WIDE_BYTES]
    sign = 0 if to_order else _WIDE_BYTES - 1
    turned[sign::_WIDE_BYTES] = turned[sign::_WIDE_BYTES].translate(_SIGN_FLIPPED)
    return pa.Array.from_buffers(data_type, len(array), [None, pa.py_buffer(bytes(turned))])


def _with_nulls_of(array: pa.Array, values: pa.Array) -> pa.Array:
    if not array.null_count:
        return values
    return pc.if_else(array.is_valid(), values, pa.scalar(None, values.type))
