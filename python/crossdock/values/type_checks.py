"""Asks the engine, with tables of no rows, whether it takes columns of these types; it alone knows
the rules. Plain types are not asked about: they all work, and asking takes some microseconds. Types
that the engine does not have are refused here, where they would have to be computed with."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.errors import CrossdockError, make_error, public_errors
from crossdock.values.engine_types import empty_table, engine_table, is_late

_OF_ANY_TYPE = frozenset(("count", "first", "any"))
_BY_ORDER = _OF_ANY_TYPE | {"min", "max", "mode", "entropy", "count_distinct", "approx_distinct"}


def require_comparable(
    left: pa.Schema, right: pa.Schema, keys: tuple[tuple[str, str], ...]
) -> None:
    """TypeError for keys of a join, columns of the schemas `left` and `right`, that do not
    compare."""
    pairs = [(left.field(left_key), right.field(right_key)) for left_key, right_key in keys]
    if all(a.type == b.type and _is_plain(a.type) for a, b in pairs):
        return
    for pair in pairs:
        _require_same_scale(*pair)
    engine = checking_engine()
    with public_errors():
        _native.Join(
            engine,
            _empty_table(engine, (a for a, _ in pairs)),
            _empty_table(engine, (b for _, b in pairs)),
            on=list(keys),
            how="inner",
            output=[],
        )


def require_groupable(fields: Iterable[pa.Field]) -> None:
    """TypeError for a field by which rows cannot be grouped."""
    asked = _doubtful(fields)
    if asked:
        engine = checking_engine()
        with public_errors():
            table = _empty_table(engine, asked)
            _native.GroupBy(engine, table, keys=[f.name for f in asked], aggregates=[])


def require_aggregable(items: Iterable[tuple[str, dict[str, Any], Any]]) -> None:
    """TypeError for the first (function, options, field) that the engine does not compute."""
    for function, options, field in items:
        if _is_plain(field.type) or (function in _OF_ANY_TYPE and is_late(field.type)):
            continue
        if pa.types.is_decimal256(field.type) and function not in _BY_ORDER:
            raise make_error(
                "CD-102", f"{function} of {field.name} of type {field.type} is not computed",
                limits="decimal128, of up to 38 digits",
                try_=f"xd.col({field.name!r}).cast(pa.decimal128(38, {field.type.scale}))",
            )  # fmt: skip
        engine = checking_engine()
        with public_errors():
            table = _empty_table(engine, [field])
            aggregate = (function, field.name, "", field.name, options)
            _native.GroupBy(engine, table, keys=[], aggregates=[aggregate])


def require_sortable(fields: Iterable[pa.Field]) -> None:
    """TypeError for a field by which rows cannot be sorted."""
    asked = _doubtful(fields)
    if asked:
        engine = checking_engine()
        with public_errors():
            table = _empty_table(engine, asked)
            keys = [(field.name, False, False) for field in asked]
            _native.Sort(engine, table, keys=keys, output=[(asked[0].name, "out")])


def require_partitionable(fields: Iterable[pa.Field], how: str) -> None:
    """TypeError for a field by which rows cannot be partitioned."""
    asked = list(fields)
    engine = checking_engine()
    with public_errors():
        table = _empty_table(engine, asked)
        names = [field.name for field in asked]
        _native.Partition(engine, table, keys=names, partitions=1, how=how, output=[])


def _doubtful(fields: Iterable[pa.Field]) -> list[pa.Field]:
    return [field for field in fields if not _is_plain(field.type)]


def _require_same_scale(left: pa.Field, right: pa.Field) -> None:
    """A decimal256 is compared by its bytes."""
    types = (left.type, right.type)
    wide = [pa.types.is_decimal256(data_type) for data_type in types]
    if True not in wide or (False not in wide and types[0].scale == types[1].scale):
        return
    raise make_error(
        "CD-103",
        f"the keys {left.name!r} and {right.name!r} of a join do not compare",
        types=f"left {left.type}, right {right.type}",
        limits="a decimal256 compares with one of the same scale",
        try_=f"with_columns({right.name}=xd.col({right.name!r}).cast(pa.{left.type})) on the right",
    )


def _not_computed_with(field: pa.Field) -> CrossdockError:
    name, column = field.name, field.type
    values = getattr(column, "value_type", None)
    flat = pa.types.is_run_end_encoded(column) or pa.types.is_dictionary(column)
    if flat and values is not None and not is_late(values):
        found_type = f"relation.schema.field({name!r}).type.value_type"
        advice = f"with_columns({name}=xd.col({name!r}).cast({found_type}))"
    else:
        advice = (
            f"xd.first({name!r}), xd.any or xd.count of it; or a column of strings beside it, made "
            f"before from_arrow(): pa.array(map(str, table[{name!r}].to_pylist()))"
        )
    return make_error(
        "CD-102",
        f"column {name!r} of type {column} cannot be a key or be compared",
        limits="columns of this type are only carried along with others",
        try_=advice,
    )


def _is_plain(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_date32)
    return any(is_kind(data_type) for is_kind in kinds)


def _empty_table(engine: _native.Engine, fields: Iterable[pa.Field]) -> _native.Table:
    unique = {field.name: field for field in fields}
    for field in unique.values():
        if is_late(field.type):
            raise _not_computed_with(field)
    return engine_table(engine, empty_table(pa.schema(list(unique.values()))))


_checker: _native.Engine | None = None


def checking_engine() -> _native.Engine:
    """One engine of one thread for the process: it is asked what types mean to it, and has tables
    that no operator reads. Making an engine looks at the machine, which takes a millisecond."""
    global _checker
    if _checker is None:
        _checker = _native.Engine(threads=1)
    return _checker
