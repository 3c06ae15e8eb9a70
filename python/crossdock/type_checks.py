"""Asks the engine, with tables of no rows, whether it takes columns of these types; it alone knows
the rules. Plain types are not asked about: they all work, and asking takes some microseconds."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.errors import public_errors


def require_comparable(left: Any, right: Any, keys: tuple[tuple[str, str], ...]) -> None:
    """TypeError for keys of a join, columns of the schemas `left` and `right`, that do not
    compare."""
    pairs = [(left.field(left_key), right.field(right_key)) for left_key, right_key in keys]
    if all(a.type == b.type and _is_plain(a.type) for a, b in pairs):
        return
    engine = _checking_engine()
    with public_errors():
        _native.Join(
            engine,
            _empty_table(engine, (a for a, _ in pairs)),
            _empty_table(engine, (b for _, b in pairs)),
            on=list(keys),
            how="inner",
            output=[],
        )


def require_groupable(fields: Iterable[Any]) -> None:
    """TypeError for a field by which rows cannot be grouped."""
    asked = _doubtful(fields)
    if asked:
        engine = _checking_engine()
        with public_errors():
            table = _empty_table(engine, asked)
            _native.GroupBy(engine, table, keys=[f.name for f in asked], aggregates=[])


def require_aggregable(items: Iterable[tuple[str, dict[str, Any], Any]]) -> None:
    """TypeError for the first (function, options, field) that the engine does not compute."""
    for function, options, field in items:
        if _is_plain(field.type):
            continue
        engine = _checking_engine()
        with public_errors():
            table = _empty_table(engine, [field])
            aggregate = (function, field.name, "", field.name, options)
            _native.GroupBy(engine, table, keys=[], aggregates=[aggregate])


def require_sortable(fields: Iterable[Any]) -> None:
    """TypeError for a field by which rows cannot be sorted."""
    asked = _doubtful(fields)
    if asked:
        engine = _checking_engine()
        with public_errors():
            table = _empty_table(engine, asked)
            keys = [(field.name, False, False) for field in asked]
            _native.Sort(engine, table, keys=keys, output=[(asked[0].name, "out")])


def require_partitionable(fields: Iterable[Any], by: str) -> None:
    """TypeError for a field by which rows cannot be partitioned."""
    asked = list(fields)
    engine = _checking_engine()
    with public_errors():
        table = _empty_table(engine, asked)
        names = [field.name for field in asked]
        _native.Partition(engine, table, keys=names, partitions=1, by=by, output=[])


def _doubtful(fields: Iterable[Any]) -> list[Any]:
    return [field for field in fields if not _is_plain(field.type)]


def _is_plain(data_type: Any) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_string, pa.types.is_date32)
    return any(is_kind(data_type) for is_kind in kinds)


def _empty_table(engine: _native.Engine, fields: Iterable[Any]) -> _native.Table:
    unique = {field.name: field for field in fields}
    return _native.Table.from_stream(engine, pa.schema(list(unique.values())).empty_table())


_checker: _native.Engine | None = None


def _checking_engine() -> _native.Engine:
    global _checker
    if _checker is None:
        _checker = _native.Engine(threads=1)
    return _checker
