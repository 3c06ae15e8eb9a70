"""SQL's names of types as Arrow's, and back."""

from __future__ import annotations

import re

import pyarrow as pa

from crossdock.option_checks import require_type

_NAMES = {
    "tinyint": "int8", "smallint": "int16", "integer": "int32", "int": "int32", "bigint": "int64",
    "utinyint": "uint8", "usmallint": "uint16", "uinteger": "uint32", "ubigint": "uint64",
    "real": "float32", "float4": "float32", "double": "float64", "float8": "float64",
    "varchar": "string", "text": "string", "char": "string", "boolean": "bool", "date": "date32",
    "timestamp": "timestamp[us]", "time": "time64[us]", "blob": "binary",
}  # fmt: skip
_SHOWN = {
    "int8": "TINYINT", "int16": "SMALLINT", "int32": "INTEGER", "int64": "BIGINT",
    "uint8": "UTINYINT", "uint16": "USMALLINT", "uint32": "UINTEGER", "uint64": "UBIGINT",
    "float": "FLOAT", "double": "DOUBLE", "string": "VARCHAR", "large_string": "VARCHAR",
    "string_view": "VARCHAR", "bool": "BOOLEAN", "date32[day]": "DATE", "binary": "BLOB",
    "timestamp[us]": "TIMESTAMP", "timestamp[ns]": "TIMESTAMP_NS", "timestamp[ms]": "TIMESTAMP_MS",
    "timestamp[s]": "TIMESTAMP_S", "time64[us]": "TIME",
}  # fmt: skip
_DECIMAL = re.compile(r"(?:decimal|numeric)\s*\(\s*(\d+)\s*(?:,\s*(\d+)\s*)?\)\s*$", re.IGNORECASE)


def arrow_type_named(name: str) -> pa.DataType:
    """The Arrow type of a name of SQL's or Arrow's. OptionError for one that is none."""
    decimal = _DECIMAL.match(name.strip())
    if decimal is not None:
        return pa.decimal128(int(decimal[1]), int(decimal[2] or 0))
    lowered = name.strip().lower()
    return require_type(_NAMES.get(lowered, lowered), "types")


def shown_type(data_type: pa.DataType) -> str:
    """The name that SQL has for a type; Arrow's where it has none."""
    if pa.types.is_decimal(data_type):
        return f"DECIMAL({data_type.precision},{data_type.scale})"
    if pa.types.is_dictionary(data_type):
        return shown_type(data_type.value_type)
    if pa.types.is_timestamp(data_type) and data_type.tz is not None:
        return "TIMESTAMP WITH TIME ZONE"
    if pa.types.is_list(data_type) or pa.types.is_large_list(data_type):
        return f"{shown_type(data_type.value_type)}[]"
    if pa.types.is_fixed_size_list(data_type):
        return f"{shown_type(data_type.value_type)}[{data_type.list_size}]"
    if pa.types.is_struct(data_type):
        fields = ", ".join(f"{field.name} {shown_type(field.type)}" for field in data_type)
        return f"STRUCT({fields})"
    if pa.types.is_time(data_type):
        return "TIME"
    return _SHOWN.get(str(data_type), str(data_type).upper())
