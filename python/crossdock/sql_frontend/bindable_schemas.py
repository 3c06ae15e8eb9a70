"""Schemas of relations as DataFusion sees them."""

from __future__ import annotations

import pyarrow as pa

from crossdock.expressions.evaluation import plain_type

# Layouts of lists that a plan of DataFusion has no type for.
_LISTS = (pa.types.is_fixed_size_list, pa.types.is_list_view, pa.types.is_large_list_view)


def bindable_schema(schema: pa.Schema) -> tuple[pa.Schema, list[str]]:
    """A relation's schema as DataFusion sees it: names in lower case, and types without the
    layouts that mean the same. And the names of the columns, in order."""
    fields, taken = [], set()
    for field in schema:
        name, count = field.name.lower(), 1
        while name in taken:
            name, count = f"{field.name.lower()}_{count}", count + 1
        taken.add(name)
        fields.append(pa.field(name, _bindable_type(field.type), field.nullable))
    return pa.schema(fields), list(schema.names)


def _bindable_type(data_type: pa.DataType) -> pa.DataType:
    plain = plain_type(data_type)
    if pa.types.is_dictionary(plain) or pa.types.is_run_end_encoded(plain):
        return _bindable_type(plain.value_type)
    if pa.types.is_large_string(plain):
        return pa.string()
    if pa.types.is_large_binary(plain):
        return pa.binary()
    if pa.types.is_decimal32(plain) or pa.types.is_decimal64(plain):
        return pa.decimal128(plain.precision, plain.scale)
    if any(is_list(plain) for is_list in _LISTS):
        return pa.list_(plain.value_field.with_type(_bindable_type(plain.value_type)))
    if isinstance(plain, pa.BaseExtensionType):
        return _bindable_type(plain.storage_type)
    if pa.types.is_timestamp(plain) and plain.tz is not None:
        return pa.timestamp(plain.unit, "UTC")  # instants of all zones compare
    return plain


def with_numbers(schema: pa.Schema) -> pa.Schema:
    """Columns of type null as numbers."""
    return pa.schema(
        [field.with_type(pa.int64()) if pa.types.is_null(field.type) else field for field in schema]
    )
