"""Turns nodes into a plan that the engine runs as a whole, in pipelines."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import pyarrow as pa

from crossdock import _native
from crossdock.engine.file_plans import scanned_files
from crossdock.engine.late_columns import has_late, late_names, residual_schema
from crossdock.expressions.engine_expressions import Compiler, are_computed, in_order, is_computed
from crossdock.expressions.expression import Column, Expr
from crossdock.files.sources import ArrowSource, read_for
from crossdock.plan.known_orders import known_sides, sort_is_done
from crossdock.plan.lowering import lower_group, unused_name
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Filter,
    FirstShare,
    FrameLists,
    GroupBy,
    GroupLists,
    Join,
    Limit,
    Node,
    Operated,
    Partition,
    Project,
    RankFilter,
    Sample,
    Scan,
    Sort,
    Union,
    Unnest,
    Window,
    has_operator,
    inputs_of,
)

# A table of the engine, and node column -> column of that table.
Named: TypeAlias = tuple[_native.Table, Mapping[str, str]]

# What the engine runs; one runs in one thread at a time.
Operation: TypeAlias = _native.Query | _native.Partition

# Gives the rows of a node that plans do not have.
Read: TypeAlias = Callable[[Node], Named]
# The residual predicate of a join as the engine calls it, where it cannot compute it itself.
Residual: TypeAlias = Callable[[Join], Callable[[Any], object]]


class UnplannedError(Exception):
    """What plans do not have; args = (what it is,)."""


def reads_files(node: Scan) -> bool:
    """Whether the engine reads the files of a scan itself, and its filter."""
    columns = read_for(node.columns, node.predicate)
    if isinstance(scanned_files(node.source, columns), str):
        return False
    return node.predicate is None or is_computed(node.predicate, _schema_of(node, columns))


def is_streamed_here(node: Node) -> bool:
    """Whether the batches of a node are made in Python: rows that are there already, or that
    pyarrow reads, and that go through no operator, which keeps them in bounded memory; samples;
    columns and conditions that the engine does not compute, or of types that it does not have."""
    if isinstance(node, FirstShare | Draws | Sample | Unnest | GroupLists | FrameLists):
        return True
    if isinstance(node, Operated):
        return False
    if late_names(node.schema) or has_late(node):
        return True
    if isinstance(node, Scan):
        if isinstance(node.source, ArrowSource):
            return node.predicate is None or not _filters_table(node)
        return not reads_files(node)
    if isinstance(node, Union):
        same = all(_is_like(below.schema, node.schema) for below in node.inputs)
        return not same or any(map(is_streamed_here, node.inputs))
    if isinstance(node, Filter):
        items = [node.predicate]
    else:
        items = [item for _, item in getattr(node, "items", ()) if not isinstance(item, Column)]
    if are_computed(items, node.input.schema):
        return is_streamed_here(node.input) and not (items and _is_in_memory(node.input))
    return True


def _is_like(schema: pa.Schema, other: pa.Schema) -> bool:
    """Whether columns have the same names and types, whichever of them may be NULL."""
    return bool(schema.names == other.names and schema.types == other.types)


def _is_in_memory(node: Node) -> bool:
    """Whether the rows are columns of a table: the engine computes faster with these."""
    while isinstance(node, AssumeSorted) or (isinstance(node, Project) and node.renames()):
        node = node.input
    return isinstance(node, Scan) and isinstance(node.source, ArrowSource)


def _filters_table(node: Scan) -> bool:
    assert node.predicate is not None
    return is_computed(node.predicate, _schema_of(node, read_for(node.columns, node.predicate)))


def _schema_of(node: Scan, columns: tuple[str, ...]) -> pa.Schema:
    return pa.schema([node.source.schema.field(name) for name in columns])


def native_plan(node: Node, read: Read, residual: Residual) -> _native.Plan:
    """The plan of `node`, with rows of `read` for what it cannot have. A node that is used twice
    becomes one, which runs once. Errors: those of reading, and NativeError."""
    try:
        return _Planning(node, (read, residual), scans_files=True).plan(node)
    except _native.NativeError:
        # Strings of files come as views or dictionaries; a union wants one type of all inputs.
        return _Planning(node, (read, residual), scans_files=False).plan(node)


class _Planning:
    def __init__(self, root: Node, of_python: tuple[Read, Residual], scans_files: bool) -> None:
        self.read, self.residual = of_python
        self.scans_files = scans_files
        # Strings of files that are few are better keys as codes. Without an operator rows pass
        # through in bounded memory, so that nothing may become a table first.
        self.has_operators = has_operator(root)
        self.keys: dict[Node, frozenset[str]] = {}  # of a scan, by which all its rows are grouped
        self._noted: set[tuple[Node, frozenset[str]]] = set()
        self._note_keys(root, frozenset())
        self._known: dict[Node, _native.Plan] = {}

    def _note_keys(self, node: Node, keys: frozenset[str]) -> None:
        """Of the scans below; `keys` are those of the node above. A condition may leave few rows,
        for which codes of many strings do not pay."""
        if (node, keys) in self._noted:
            return
        self._noted.add((node, keys))
        below: frozenset[str] = frozenset()
        if isinstance(node, Scan) and node.predicate is None:
            self.keys[node] = self.keys.get(node, below) | keys
        elif isinstance(node, GroupBy):
            counted = (one.argument for _, one in node.items if one.function == "count_distinct")
            grouped = itertools.chain((key for _, key in node.keys), counted)
            below = frozenset(one.name for one in grouped if isinstance(one, Column))
        elif isinstance(node, Project):
            kept = (item for name, item in node.items if name in keys)
            below = frozenset(item.name for item in kept if isinstance(item, Column))
        for one in inputs_of(node):
            self._note_keys(one, below)

    def plan(self, node: Node) -> _native.Plan:
        if node not in self._known:
            self._known[node] = self._planned(node)
        return self._known[node]

    def _planned(self, node: Node) -> _native.Plan:
        try:
            return self._operation(node)
        except UnplannedError:
            return _table(node, self.read(node))

    def _operation(self, node: Node) -> _native.Plan:
        if isinstance(node, Scan):
            return self._scan(node)
        if isinstance(node, Filter):
            return _filtered(self.plan(node.input), node.predicate, node.input.schema)
        if isinstance(node, Project):
            below = self.plan(node.input)
            return below.project(_items(node.items, below, node.input.schema))
        if isinstance(node, AssumeSorted):
            return self.plan(node.input)
        if isinstance(node, Join):
            return self._join(node)
        if isinstance(node, GroupBy):
            return _group(node, self.plan)
        if isinstance(node, Sort):
            return self._sort(node)
        if isinstance(node, Window):
            return _window(node, self.plan(node.input))
        if isinstance(node, RankFilter):
            below = self.plan(node.input)
            return below.rank_filter(list(node.keys), node.blocks, node.first_key)
        if isinstance(node, Limit):
            return self.plan(node.input).limit(node.rows, node.offset)
        if isinstance(node, Union):
            first, *others = [self._aligned(below, node.schema) for below in node.inputs]
            return first.union_all(others)
        raise UnplannedError(type(node).__name__)

    def _scan(self, node: Scan) -> _native.Plan:
        columns = read_for(node.columns, node.predicate)
        files: _native.Plan | str = ""
        if self.scans_files:
            keys = self.keys.get(node, frozenset())
            files = scanned_files(node.source, columns, self.has_operators, keys)
        if not isinstance(files, str):
            with contextlib.suppress(UnplannedError):
                return _scanned(node, files, columns)
        if node.predicate is None or not isinstance(node.source, ArrowSource):
            return _table(node, self.read(node))  # readers of files apply their own filters
        if not is_computed(node.predicate, _schema_of(node, columns)):
            raise UnplannedError(repr(node.predicate))
        whole = replace(node, columns=columns, schema=_schema_of(node, columns), predicate=None)
        return _scanned(node, _table(whole, self.read(whole)), columns)

    def _aligned(self, node: Node, schema: pa.Schema) -> _native.Plan:
        """The columns of `schema` in its order."""
        for field in schema:
            if node.schema.field(field.name).type != field.type:
                raise UnplannedError("a union of columns of several types")
        below = _table(node, self.read(node)) if has_late(node) else self.plan(node)
        return below.project([(name, name) for name in schema.names])

    def _join(self, node: Join) -> _native.Plan:
        if node.arrived is not None:
            return node.arrived.plan()
        left, right = self.plan(node.left), self.plan(node.right)
        residual = None
        options = join_options(node)
        if node.residual is not None:
            pairs = residual_schema(node)
            compiler = Compiler(lambda name: left.pair_column(right, name, **options), pairs)
            if node.residual.columns() <= set(pairs.names):  # none of them is late
                residual = compiler.compile(node.residual)
            if residual is None:
                options["residual"] = self.residual(node)
        return left.join(right, residual, **options)

    def _sort(self, node: Sort) -> _native.Plan:
        below = self.plan(node.input)
        if node.index and not isinstance(node.input, Scan):  # positions in rows that are there
            below = _table(node.input, self.read(node.input))
        strategy = "presorted" if node.strategy == "auto" and sort_is_done(node) else node.strategy
        return below.sort(
            keys=[(o.column, o.descending, o.nulls_first) for o in node.orders],
            output=list(node.outputs),
            limit=-1 if node.limit is None else node.limit,
            offset=node.offset,
            stable=node.stable,
            strategy=strategy,
            row_index=node.index,
        )


def join_options(node: Join) -> dict[str, Any]:
    """The options of a join for the engine, but for its residual."""
    options = node.options
    return {
        "on": list(node.on),
        "how": node.how,
        "output": list(node.outputs),
        "residual_columns": list(node.residual_columns),
        "null_equals_null": options.null_equals_null,
        "strategy": options.strategy,
        "build": options.build,
        "materialize": options.materialize,
        "filter": options.filter,
        "partition_bits": options.partition_bits,
        "batch_rows": options.batch_rows,
        **{f"sorted_{side}": "declared" for side in known_sides(node)},
    }


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
        how=node.how,
        output=[names[name] for name in node.schema.names],
    )


def _items(
    items: Iterable[tuple[str, Expr]], below: _native.Plan, schema: pa.Schema
) -> list[tuple[str, str | _native.Expr]]:
    compiler = Compiler(below.column, schema)
    return [
        (name, item.name if isinstance(item, Column) else _compiled(item, compiler))
        for name, item in items
    ]


def _compiled(expression: Expr, compiler: Compiler) -> _native.Expr:
    compiled = compiler.compile(expression)
    if compiled is None:
        raise UnplannedError(repr(expression))
    return compiled


def _filtered(plan: _native.Plan, predicate: Expr, schema: pa.Schema) -> _native.Plan:
    compiler = Compiler(plan.column, schema)
    return plan.filter([_compiled(part, compiler) for part in in_order(predicate)])


def _table(node: Node, rows: Named) -> _native.Plan:
    name = node.source.name if isinstance(node, Scan) else "rows made by pyarrow"
    table, names = rows
    plan = _native.Plan.scan(table, list(dict.fromkeys(names.values())), name)
    if all(column == name for name, column in names.items()):
        return plan
    return plan.project(list(names.items()))


def _scanned(node: Scan, plan: _native.Plan, columns: tuple[str, ...]) -> _native.Plan:
    if node.predicate is None:
        return plan
    kept = _filtered(plan, node.predicate, _schema_of(node, columns))
    return kept.project([(name, name) for name in node.columns])


def _group(node: GroupBy, plan: Callable[[Node], _native.Plan]) -> _native.Plan:
    lowered = lower_group(node)
    keys = list(dict.fromkeys(lowered.keys))
    taken = set(keys)
    aggregates = []
    results = list(lowered.keys)
    for function, column, condition, name, options in lowered.items:
        result = unused_name(name, taken)
        taken.add(result)
        results.append(result)
        aggregates.append((function, column, condition, result, options))
    grouped = plan(lowered.input).group_by(keys=keys, aggregates=aggregates)
    names = zip(node.schema.names, results, strict=True)
    return grouped.project(list(names))


def _window(node: Window, below: _native.Plan) -> _native.Plan:
    """The functions of a window over rows with its input's columns, and these alone, under the
    names of its schema."""
    functions: list[tuple[str, str, str, dict[str, Any]]] = []
    for item in node.items:
        options = dict(item.options)
        if item.frame is not None:
            frame = item.frame
            options["frame"] = (frame.unit, frame.start, frame.end, frame.exclude)
        functions.append((item.function, item.column, item.name, options))
    window = below.window(
        partition_by=list(node.partition),
        order_by=[order.key for order in node.orders],
        functions=functions,
        position=node.position,
        first_rows=node.first_rows,
    )
    return window.project([(name, name) for name in node.schema.names])
