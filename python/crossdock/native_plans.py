"""Turns nodes into a plan that the engine runs as a whole, in pipelines."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crossdock import _native
from crossdock.errors import public_errors
from crossdock.expressions import Column, Expr
from crossdock.fusion import compile_expression, in_order
from crossdock.known_orders import known_sides
from crossdock.late_columns import residual_schema
from crossdock.lowering import lower_group, unused_name
from crossdock.nodes import (
    Filter,
    GroupBy,
    Join,
    JoinOptions,
    Limit,
    Node,
    Operated,
    Project,
    Scan,
    Sort,
    Union,
    Window,
    inputs_of,
)
from crossdock.operations import Named
from crossdock.parquet_plans import scanned_files
from crossdock.sources import ArrowSource, read_for

# Reads a scan: a table of the engine, and node column -> column of that table.
ReadScan = Callable[[Scan], Named]


class UnplannedError(Exception):
    """A node that plans do not have yet; args = (what it is,)."""


def reads_files(node: Node) -> bool:
    """Whether the engine reads the files of some scan itself: then one operator is enough to run as
    a plan."""
    if isinstance(node, Scan):
        return not isinstance(scanned_files(node.source, node.columns), str)
    return any(map(reads_files, inputs_of(node)))


def runs_as_plan(node: Node) -> bool:
    """Whether the engine should run the node as a whole."""
    return has_several_steps(node) or reads_files(node)


def has_several_steps(node: Node) -> bool:
    """Whether rows go from one operator to another, or through a filter to a group-by, which may
    leave few of them. Any other single operator runs alone."""
    return _operators(node) > 1 or _groups_filtered_rows(node)


def _groups_filtered_rows(node: Node) -> bool:
    while isinstance(node, Filter | Project | Sort | Limit):
        node = node.input
    return isinstance(node, GroupBy) and _filters(node.input)


def _operators(node: Node) -> int:
    here = 1 if isinstance(node, Operated) else 0
    return here + sum(map(_operators, inputs_of(node)))


def _streams_a_join(node: Node) -> bool:
    """Whether rows come from a join as it makes them: a limit ends it, and the engine would first
    make them all."""
    while isinstance(node, Filter | Project):
        node = node.input
    if isinstance(node, Union):
        return any(map(_streams_a_join, node.inputs))
    return isinstance(node, Join)


def _filters(node: Node) -> bool:
    if isinstance(node, Filter) or (isinstance(node, Scan) and node.predicate is not None):
        return True
    return isinstance(node, Project) and _filters(node.input)


def native_plan(node: Node, read: ReadScan) -> _native.Plan:
    """The plan of `node`, whose scans are read by `read`. A node that is used twice becomes one,
    which runs once. Errors: UnplannedError where something in it needs Python; NativeError."""
    try:
        return _Planning(node, read, scans_files=True).plan(node)
    except _native.NativeError:
        # Texts of files come as views or dictionaries; a union wants one type of all inputs.
        return _Planning(node, read, scans_files=False).plan(node)


class _Planning:
    def __init__(self, root: Node, read: ReadScan, scans_files: bool) -> None:
        self.read = read
        self.scans_files = scans_files
        # Strings of files that are few are better keys as codes. Without an operator rows pass
        # through in bounded memory, so that nothing may become a table first.
        self.has_operators = _operators(root) > 0
        self._known: dict[Node, _native.Plan] = {}

    def plan(self, node: Node) -> _native.Plan:
        if node not in self._known:
            self._known[node] = self._planned(node)
        return self._known[node]

    def _planned(self, node: Node) -> _native.Plan:
        if isinstance(node, Scan):
            return self._scan(node)
        if isinstance(node, Filter):
            return self.plan(node.input).filter(_conditions(node.predicate, node.input.schema))
        if isinstance(node, Project):
            items = _items(node.items, node.input.schema)
            return self.plan(node.input).project(items)
        if isinstance(node, Join):
            return _join(node, self.plan(node.left), self.plan(node.right))
        if isinstance(node, GroupBy):
            return _group(node, self.plan)
        if isinstance(node, Sort):
            return _sort(node, self.plan(node.input))
        if isinstance(node, Window):
            return _window(node, self.plan(node.input))
        if isinstance(node, Limit):
            if _streams_a_join(node.input):
                raise UnplannedError("a limit that ends a join")
            return self.plan(node.input).limit(node.rows, node.offset)
        if isinstance(node, Union) and self.has_operators:
            first, *others = [self._aligned(below, node.schema) for below in node.inputs]
            return first.union_all(others)
        raise UnplannedError(type(node).__name__)

    def _scan(self, node: Scan) -> _native.Plan:
        columns = read_for(node.columns, node.predicate)
        files: _native.Plan | str = ""
        if self.scans_files:
            files = scanned_files(node.source, columns, self.has_operators)
        if not isinstance(files, str):
            with contextlib.suppress(UnplannedError):
                return _filtered_files(node, files, columns)
        if not self.has_operators and not isinstance(node.source, ArrowSource):
            raise UnplannedError("rows that pyarrow reads")
        return _table(node, self.read)

    def _aligned(self, node: Node, schema: Any) -> _native.Plan:
        """The columns of `schema` in its order."""
        for field in schema:
            if node.schema.field(field.name).type != field.type:
                raise UnplannedError("a union of columns of several types")
        return self.plan(node).project([(name, name, "") for name in schema.names])


def _items(items: Iterable[tuple[str, Expr]], schema: Any) -> list[tuple[str, str, str]]:
    return [
        (name, item.name, "") if isinstance(item, Column) else (name, "", _compiled(item, schema))
        for name, item in items
    ]


def _compiled(expression: Expr, schema: Any) -> str:
    compiled = compile_expression(expression, schema)
    if compiled is None:
        raise UnplannedError(repr(expression))
    return compiled


def _conditions(predicate: Expr, schema: Any) -> str:
    parts = [_compiled(part, schema) for part in in_order(predicate)]
    return f"[{', '.join(parts)}]"


def _table(node: Scan, read: ReadScan) -> _native.Plan:
    """Filters of tables in memory are the engine's; readers of files apply their own."""
    filtered = node.predicate is not None and isinstance(node.source, ArrowSource)
    whole = node
    if filtered:
        assert node.predicate is not None
        columns = tuple(dict.fromkeys((*node.columns, *sorted(node.predicate.columns()))))
        schema = pa.schema([node.source.schema.field(name) for name in columns])
        whole = replace(node, columns=columns, schema=schema, predicate=None)
    table, names = read(whole)
    plan = _native.Plan.scan(table, [names[name] for name in whole.columns], node.source.name)
    if not filtered:
        return plan
    assert node.predicate is not None
    plan = plan.filter(_conditions(node.predicate, whole.schema))
    return plan.project([(name, name, "") for name in node.columns])


def _filtered_files(node: Scan, files: _native.Plan, columns: tuple[str, ...]) -> _native.Plan:
    if node.predicate is None:
        return files
    schema = pa.schema([node.source.schema.field(name) for name in columns])
    plan = files.filter(_conditions(node.predicate, schema))
    return plan.project([(name, name, "") for name in node.columns])


def _join(node: Join, left: _native.Plan, right: _native.Plan) -> _native.Plan:
    if node.arrived is not None or node.route is not None:
        raise UnplannedError("rows of ranks")
    forced = replace(node.options, null_equals_null=False, exchange="auto") != JoinOptions()
    if forced:
        raise UnplannedError("a join with a forced strategy")
    if known_sides(node):
        raise UnplannedError("a join of rows that are known to be in order")
    residual = ""
    if node.residual is not None:
        residual = _compiled(node.residual, residual_schema(node))
    return left.join(
        right,
        residual,
        on=list(node.on),
        how=node.how,
        output=list(node.outputs),
        null_equals_null=node.options.null_equals_null,
        residual_columns=list(node.residual_columns),
    )


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
    return grouped.project([(name, of, "") for name, of in names])


def window_query(engine: _native.Engine, node: Window, table: Named) -> _native.Query:
    """A window over a table. Errors: those of the engine."""
    rows, names = table
    with public_errors():
        scan = _native.Plan.scan(rows, list(dict.fromkeys(names.values())), "rows")
        named = scan.project([(name, names[name], "") for name in node.input.schema.names])
        return _native.Query(engine, _window(node, named))


def _window(node: Window, below: _native.Plan) -> _native.Plan:
    """The functions of a window over rows with its input's columns, and these alone, under the
    names of its schema."""
    functions: list[tuple[str, str, str, dict[str, Any]]] = []
    for item in node.items:
        options = dict(item.options)
        if item.frame is not None:
            options["frame"] = (item.frame.unit, item.frame.start, item.frame.end)
        functions.append((item.function, item.column, item.name, options))
    window = below.window(
        partition_by=list(node.partition),
        order_by=[order.key for order in node.orders],
        functions=functions,
        position=node.position,
    )
    return window.project([(name, name, "") for name in node.schema.names])


def _sort(node: Sort, below: _native.Plan) -> _native.Plan:
    if node.index:
        raise UnplannedError("positions in the input")
    return below.sort(
        keys=[(o.column, o.descending, o.nulls_first) for o in node.orders],
        output=list(node.outputs),
        limit=-1 if node.limit is None else node.limit,
        offset=node.offset,
        stable=node.stable,
        strategy=node.strategy,
    )
