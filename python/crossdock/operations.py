"""Plans operators in the engine: nodes and their input tables become `_native` objects."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from crossdock import _native
from crossdock.fusion import Fused
from crossdock.known_orders import known_sides, sort_is_done
from crossdock.lowering import Lowered, unused_name
from crossdock.nodes import Join, Partition, Sort

# A table of the engine, and node column -> column of that table.
Named = tuple[_native.Table, Mapping[str, str]]

# What the engine runs; one runs in one thread at a time.
Operation: TypeAlias = (
    _native.Join | _native.GroupBy | _native.Partition | _native.Sort | _native.Query
)


def plan_native_join(
    engine: _native.Engine,
    node: Join,
    sides: tuple[Named, Named],
    residual: Callable[[Any], object] | None,
) -> _native.Join:
    """The join of two tables. Errors: NativeError."""
    left, right = sides
    options = join_arguments(node, left, right) | _declared_sides(node)
    return _native.Join(engine, left[0], right[0], residual=residual, **options)


def join_arguments(node: Join, left: Named, right: Named) -> dict[str, Any]:
    """What the engine is told of a join, but for what runs in Python."""
    left_names, right_names = left[1], right[1]
    options = node.options

    def located(outputs: tuple[tuple[str, str, str], ...]) -> list[tuple[str, str, str]]:
        return [
            (side, (right_names if side == "right" else left_names)[column], name)
            for side, column, name in outputs
        ]

    return {
        "on": [(left_names[a], right_names[b]) for a, b in node.on],
        "how": node.how,
        "output": located(node.outputs),
        "null_equals_null": options.null_equals_null,
        "strategy": options.strategy,
        "build": options.build,
        "materialize": options.materialize,
        "filter": options.filter,
        "partition_bits": options.partition_bits,
        "batch_rows": options.batch_rows,
        "residual_columns": located(node.residual_columns),
    }


def plan_native_group(
    engine: _native.Engine, lowered: Lowered, fused: Fused, table: Named
) -> tuple[_native.GroupBy, list[int]]:
    """The grouping of `lowered`, whose input is `fused`, over the table of `fused.table`; and where
    in its rows each column of the grouping stands, since keys that are one column are one key.
    Errors: NativeError."""
    rows, located = table
    fused = fused.located(located)
    names = fused.names
    keys = list(dict.fromkeys(names[key] for key in lowered.keys))
    places = [keys.index(names[key]) for key in lowered.keys]
    places += [len(keys) + number for number in range(len(lowered.items))]
    taken = set(keys)
    aggregates = []
    for function, column, condition, name, options in lowered.items:
        # Result columns are named by position; here an aggregate only must not be named as a key.
        result = unused_name(name, taken)
        taken.add(result)
        columns = (names[column] if column else "", names[condition] if condition else "")
        aggregates.append((function, *columns, result, options))
    operation = _native.GroupBy(
        engine,
        rows,
        keys=keys,
        aggregates=aggregates,
        filters=fused.where,
        computed=list(fused.computed),
    )
    return operation, places


def plan_native_sort(engine: _native.Engine, node: Sort, table: Named) -> _native.Sort:
    """The sort of a table. Errors: NativeError."""
    rows, names = table
    strategy = node.strategy
    if strategy == "auto" and sort_is_done(node):
        strategy = "presorted"
    return _native.Sort(
        engine,
        rows,
        keys=[(names[o.column], o.descending, o.nulls_first) for o in node.orders],
        output=[(names[column], name) for column, name in node.outputs],
        limit=-1 if node.limit is None else node.limit,
        offset=node.offset,
        stable=node.stable,
        strategy=strategy,
        row_index=node.index,
    )


def plan_native_partition(
    engine: _native.Engine, node: Partition, table: Named
) -> _native.Partition:
    """The partitions of a table. Errors: NativeError."""
    rows, names = table
    return _native.Partition(
        engine,
        rows,
        keys=[names[key] for key in node.keys],
        partitions=node.partitions,
        by=node.by,
        output=[names[name] for name in node.schema.names],
    )


def _declared_sides(node: Join) -> dict[str, str]:
    """The sides that are known to be in the order of the keys, as options of the engine."""
    return {f"sorted_{side}": "declared" for side in known_sides(node)}
