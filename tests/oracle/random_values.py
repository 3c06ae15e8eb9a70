"""Types, values and small tables for random plans: few distinct values a column, so that row groups
have one value, filters keep some rows and joins match, and among them the values at the edges."""

from __future__ import annotations

import datetime
import math
import random
from decimal import Decimal
from typing import Any
from zoneinfo import ZoneInfo

import pyarrow as pa

NAN, INF = math.nan, math.inf
UNITS = ("s", "ms", "us", "ns")
_SECOND = {"s": 1, "ms": 10**3, "us": 10**6, "ns": 10**9}
_STRINGS = ["", "a", "A", "ab", "b%", "é", "a longer text than twelve", "2020-01-01"]
# Seconds since 1970 of some days at midnight, of an hour in between, and one before.
_MOMENTS = [0, 1577836800, 1577836800 + 54000, 1582934400, -86400, -1]
_DAYS = [0, 18262, 18321, -1, 11016]
_REALS = [0.0, -0.0, 0.5, 0.1, 0.10000000149011612, 1.0, -2.5, 5.0, NAN, INF, -INF]


def integer_types() -> list[Any]:
    return [pa.int8(), pa.int16(), pa.int32(), pa.int64(),
            pa.uint8(), pa.uint16(), pa.uint32(), pa.uint64()]  # fmt: skip


# Types whose columns compare with each other, and may be keys of one join.
KINDS: dict[str, list[Any]] = {
    "integer": integer_types(),
    "float": [pa.float32(), pa.float64()],
    "decimal": [pa.decimal128(9, 2), pa.decimal128(38, 4), pa.decimal128(18, 0)],
    "text": [pa.string(), pa.large_string(), pa.string_view(),
             pa.dictionary(pa.int32(), pa.string())],
    "day": [pa.date32()],
    "moment": [pa.timestamp(unit) for unit in UNITS],
    "instant": [pa.timestamp(unit, zone) for unit in UNITS
                for zone in ("UTC", "Asia/Tokyo", "America/New_York")],
    "span": [pa.duration(unit) for unit in UNITS],
    "time": [pa.time32("s"), pa.time32("ms"), pa.time64("us"), pa.time64("ns")],
    "bool": [pa.bool_()],
}  # fmt: skip
KEY_KINDS = ["integer", "integer", "float", "float", "decimal", "text", "day", "moment", "instant",
             "instant", "span"]  # fmt: skip


def kind_of(data_type: Any) -> str:
    """The name in KINDS of a type; "" for one that is in none."""
    return next((kind for kind, types in KINDS.items() if data_type in types), "")


def _pool(kind: str, data_type: Any) -> list[Any]:
    """The values of a type, as pa.array takes them."""
    if kind == "integer":
        size = data_type.bit_width
        signed = pa.types.is_signed_integer(data_type)
        low, high = (-(1 << size - 1), (1 << size - 1) - 1) if signed else (0, (1 << size) - 1)
        return [value for value in (0, 1, 2, 3, 5, 100, -1, low, high) if low <= value <= high]
    if kind == "float":
        return _REALS
    if kind == "decimal":
        digits = ["0", "1", "2", "5", "-3"] + ["0.5", "0.05", "99.99"] * (data_type.scale > 0)
        return [Decimal(text) for text in digits]
    if kind == "day":
        return [datetime.date(1970, 1, 1) + datetime.timedelta(days=days) for days in _DAYS]
    if kind == "time":
        return [value % 86400 * _SECOND[data_type.unit] for value in _MOMENTS]
    if kind in ("moment", "instant", "span"):
        return [value * _SECOND[data_type.unit] for value in _MOMENTS]
    return _STRINGS if kind == "text" else [True, False]


def random_literal(chance: random.Random, data_type: Any) -> Any:
    """A Python value that may stand beside a column of this type."""
    kind = kind_of(data_type)
    if kind == "integer" and chance.random() < 0.2:
        return chance.choice([2.5, 1e18, 300, -1, 2**63, Decimal("1.5")])
    if kind == "float":
        return chance.choice([*_REALS, 0, 1, 5, 1e300])
    if kind == "decimal":
        return chance.choice([0, 1, 2, 0.05, 0.5, Decimal("0.055"), Decimal("99.99")])
    if kind == "text":
        return chance.choice(_STRINGS)
    if kind == "time":
        return datetime.time(chance.choice([0, 15]), 0, 0)
    if kind == "span":
        return datetime.timedelta(seconds=chance.choice(_MOMENTS))
    if kind in ("moment", "instant"):
        zone = None if kind == "moment" else chance.choice([datetime.UTC, ZoneInfo("Asia/Tokyo")])
        moment = datetime.datetime.fromtimestamp(chance.choice(_MOMENTS), datetime.UTC)
        moment = moment.replace(tzinfo=None) if zone is None else moment.astimezone(zone)
        return chance.choice([moment, "2020-01-01 00:00:00"])
    if kind == "day" and chance.random() < 0.3:
        return chance.choice(["2020-01-01", datetime.datetime(2020, 1, 1, 12)])
    return chance.choice(_pool(kind, data_type))


def random_column(chance: random.Random, data_type: Any, rows: int) -> Any:
    """Values of the type, some NULL: of two to five distinct ones, in runs, sorted or mixed."""
    kind = kind_of(data_type)
    pool = _pool(kind, data_type)
    few = [chance.choice(pool) for _ in range(chance.choice([1, 2, 3, 5]))]
    if kind == "float" and chance.random() < 0.3:
        few = [0.0, -0.0, chance.choice(pool)]
    values = [chance.choice(few) for _ in range(rows)]
    shape = chance.random()
    if shape < 0.3:
        values = [value for value in few for _ in range(rows)][:: len(few)][:rows]
    elif shape < 0.5 and kind not in ("bool", "float"):
        values.sort()
    nulls = chance.choice([0.0, 0.0, 0.2, 0.6, 1.0 if chance.random() < 0.2 else 0.2])
    column = [None if chance.random() < nulls else value for value in values]
    if pa.types.is_dictionary(data_type):
        return pa.array(column, pa.string()).dictionary_encode()
    return pa.array(column, data_type)


def random_table(chance: random.Random, key_kind: str) -> Any:
    """A table of key columns `k` and `j`, and of other columns of any type."""
    rows = chance.choice([0, 1, 7, 20, 30])
    types = {"k": chance.choice(KINDS[key_kind]), "j": chance.choice(KINDS["integer"])}
    for name in ("x", "y", "z", "2")[: chance.randint(1, 4)]:
        types[name] = chance.choice(KINDS[chance.choice([*KINDS, "float"])])
    if chance.random() < 0.4:  # a second column that compares with another one
        types["w"] = chance.choice(KINDS[kind_of(types["x"])])
    columns = {name: random_column(chance, each, rows) for name, each in types.items()}
    return pa.table(columns)


def comparable_rows(table: Any) -> dict[tuple[Any, ...], int]:
    """How often each row occurs: zeros without their sign, NaN as a text, times as numbers."""
    columns = [_plain_values(column) for column in table.columns]
    counts: dict[tuple[Any, ...], int] = {}
    rows = zip(*columns, strict=True) if columns else [()] * table.num_rows
    for row in rows:
        counts[row] = counts.get(row, 0) + 1
    return counts


def _plain_values(column: Any) -> list[Any]:
    data_type = column.type
    if pa.types.is_dictionary(data_type):
        column = column.cast(data_type.value_type)
    elif pa.types.is_temporal(data_type):
        column = column.cast(pa.int32() if data_type.bit_width == 32 else pa.int64())
    values = column.to_pylist()
    if pa.types.is_floating(data_type):
        return [
            "NaN" if v is not None and math.isnan(v) else v if v is None else v + 0.0
            for v in values
        ]
    return values
