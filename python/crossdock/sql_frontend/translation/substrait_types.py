"""Types and constants of Substrait messages, as DataFusion writes them, as Arrow's."""

from __future__ import annotations

import datetime
from collections.abc import Sequence
from decimal import Context, Decimal
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.expressions.expression import Literal
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.translation.intervals import Interval

if TYPE_CHECKING:
    from google.protobuf.message import Message

_SIMPLE = {
    "bool": pa.bool_(),
    "fp32": pa.float32(),
    "fp64": pa.float64(),
    "date": pa.date32(),
    "timestamp": pa.timestamp("us"),
    "timestamp_tz": pa.timestamp("us", "UTC"),
    "time": pa.time64("us"),
    "varchar": pa.string(),
    "fixed_char": pa.string(),
}
_INTEGERS = {  # by variation
    "i8": (pa.int8(), pa.uint8()),
    "i16": (pa.int16(), pa.uint16()),
    "i32": (pa.int32(), pa.uint32()),
    "i64": (pa.int64(), pa.uint64()),
}
_UNITS = {0: "s", 3: "ms", 6: "us", 9: "ns"}
_EPOCH = datetime.date(1970, 1, 1)
_EXACT = Context(prec=76)  # the default one rounds to 28 digits


def arrow_type(message: Message) -> pa.DataType:
    """The Arrow type that a Substrait type stands for. SqlError for one that has none here."""
    kind = message.WhichOneof("kind")
    value: Any = getattr(message, kind) if kind else None
    if kind in _INTEGERS:
        return _INTEGERS[kind][value.type_variation_reference == 1]
    if kind in _SIMPLE:
        return _SIMPLE[kind]
    if kind == "string":
        return pa.string()
    if kind == "binary":
        return pa.binary()
    if kind == "decimal":
        wide = value.type_variation_reference == 1
        return (pa.decimal256 if wide else pa.decimal128)(value.precision, value.scale)
    if kind == "fixed_binary":
        return pa.binary(value.length)
    if kind in ("precision_timestamp", "precision_timestamp_tz"):
        zone = "UTC" if kind.endswith("tz") else None
        return pa.timestamp(_UNITS[value.precision], zone)
    if kind == "precision_time":
        unit = _UNITS[value.precision]
        return pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
    if kind == "interval_day":
        return pa.duration(_UNITS.get(value.precision, "us"))
    if kind == "list":
        return pa.list_(arrow_type(value.type))
    if kind == "map":
        return pa.map_(arrow_type(value.key), arrow_type(value.value))
    if kind == "user_defined":  # DataFusion's type of a bare NULL
        return pa.null()
    raise unsupported(f"a cast to {str(kind).replace('_', ' ')}")


def column_names(names: Sequence[str], types: Sequence[pa.DataType]) -> list[str]:
    """The names of columns among those of a plan, which has the names of the fields of a struct
    behind that of its column."""
    all_names, place = [], 0
    for data_type in types:
        all_names.append(names[place])
        place += 1 + _names_inside(data_type)
    return all_names


def _names_inside(data_type: pa.DataType) -> int:
    if pa.types.is_map(data_type):
        return _names_inside(data_type.key_type) + _names_inside(data_type.item_type)
    if not pa.types.is_nested(data_type):
        return 0
    inside = [data_type.field(i).type for i in range(data_type.num_fields)]
    named = len(inside) if pa.types.is_struct(data_type) else 0
    return named + sum(map(_names_inside, inside))


def constant_of(message: Message) -> Literal | Interval:
    """The constant of a Literal message."""
    kind = message.WhichOneof("literal_type")
    if kind == "null":
        data_type = arrow_type(message.null)
        return Literal(None if pa.types.is_null(data_type) else pa.scalar(None, data_type))
    value = getattr(message, kind)
    if kind in ("i8", "i16", "i32", "i64"):
        if message.type_variation_reference == 1 and value < 0:
            value += 1 << int(kind[1:])
        return Literal(value)
    if kind in ("boolean", "string", "binary", "fp64", "fixed_char", "fixed_binary"):
        return Literal(value)
    if kind == "fp32":
        return Literal(pa.scalar(value, pa.float32()))
    if kind == "var_char":
        return Literal(value.value)
    if kind == "date":
        return Literal(_EPOCH + datetime.timedelta(days=value))
    if kind == "decimal":
        digits = int.from_bytes(value.value, "little", signed=True)
        return Literal(Decimal(digits).scaleb(-value.scale, _EXACT))
    if kind in ("precision_timestamp", "precision_timestamp_tz"):
        zone = "UTC" if kind.endswith("tz") else None
        number, unit = value.value, _UNITS[value.precision]
        if unit == "ns" and number % 1000 == 0:  # DataFusion's unit, not one of the text
            number, unit = number // 1000, "us"
        return Literal(pa.scalar(number, pa.timestamp(unit, zone)))
    if kind == "precision_time":
        unit = _UNITS[value.precision]
        data_type = pa.time32(unit) if unit in ("s", "ms") else pa.time64(unit)
        return Literal(pa.scalar(value.value, data_type))
    if kind == "empty_list":
        return Literal(pa.scalar([], pa.list_(arrow_type(value.type))))
    if kind == "list":
        return _list_of([constant_of(each) for each in value.values])
    if kind in ("interval_compound", "interval_day_to_second", "interval_year_to_month"):
        return _interval_of(kind, value)
    raise unsupported(f"a constant of type {str(kind).replace('_', ' ')}")


def _list_of(elements: Sequence[Literal | Interval]) -> Literal:
    """A list, which a parameter may be."""
    values = [each.value if isinstance(each, Literal) else None for each in elements]
    scalars = [value if isinstance(value, pa.Scalar) else pa.scalar(value) for value in values]
    known = next((s.type for s in scalars if s.is_valid), pa.null())
    return Literal(pa.scalar([scalar.as_py() for scalar in scalars], pa.list_(known)))


def _interval_of(kind: str, value: Message) -> Interval:
    if kind == "interval_year_to_month":
        return Interval(12 * value.years + value.months, 0, 0)
    months, part = 0, value
    if kind == "interval_compound":
        months = 12 * value.interval_year_to_month.years + value.interval_year_to_month.months
        part = value.interval_day_to_second
    scale = part.precision
    fraction = part.subseconds if scale <= 6 else part.subseconds // 10 ** (scale - 6)
    microseconds = part.seconds * 1_000_000 + fraction * 10 ** max(0, 6 - scale)
    return Interval(months, part.days, microseconds)
