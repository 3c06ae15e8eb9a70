"""Has fields of structs read as columns: `xd.col("address").field("city")` over Parquet files
becomes a column of the scan. Then readers decode that field alone, and a condition on it leaves
row groups and pages out by its statistics.

A field reaches its scan through nodes that pass the struct on as it is; where one does not, the
struct is read whole, and the field computed.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import TypeAlias

import pyarrow as pa

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Call, Column, Expr
from crossdock.files.parquet_files import ParquetSource, type_at
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import (
    AssumeSorted,
    Draws,
    Filter,
    FirstShare,
    GroupBy,
    Join,
    Limit,
    Node,
    Project,
    Sample,
    Scan,
    Sort,
    Union,
    Unnest,
    Window,
    inputs_of,
    users_of,
    with_inputs,
)

Path: TypeAlias = tuple[str, ...]  # a column, and the fields that lie in each other
_PASSING = Filter | Limit | FirstShare | Sample | AssumeSorted | Draws | Window | Unnest
_WITH_SCHEMA = Draws | Window | Unnest | Union
_SIDES = ("left", "right")


def with_fields_read(root: Node) -> Node:
    """`root` with columns in the place of fields of structs that scans can read. Pure."""
    order = list(users_of(root))
    if not any(isinstance(node, Scan) and _has_structs(node) for node in order):
        return root
    return _Fields(order).rewritten(root)


def _has_structs(node: Scan) -> bool:
    is_read = isinstance(node.source, ParquetSource)
    return is_read and any(pa.types.is_struct(field.type) for field in node.schema)


class _Fields:
    """The rewriting of a query, whose nodes are in `order`, each before what it uses."""

    def __init__(self, order: Sequence[Node]) -> None:
        self._taken = {name for node in order for name in node.schema.names}
        self._names: dict[Path, str] = {}
        self._readable: dict[tuple[Node, Path], bool] = {}
        # Of each node, the fields that it is to have as columns, in order.
        self._asked: dict[Node, dict[Path, None]] = {node: {} for node in order}
        self._done: dict[Node, Node] = {}
        for node in order:
            self._ask_inputs(node)

    def rewritten(self, node: Node) -> Node:
        if node not in self._done:
            below = with_inputs(node, self.rewritten)
            self._done[node] = self._with_columns(node, self._with_expressions(node, below))
        return self._done[node]

    def _ask_inputs(self, node: Node) -> None:
        inputs = inputs_of(node)
        places = [place for path in self._asked[node] for place in _below(node, path)]
        for path in dict.fromkeys(itertools.chain(*map(_paths_in, _expressions(node)))):
            if self._is_read(node, path):
                places += _read_at(node, path)
        for number, path in places:
            self._asked[inputs[number]][path] = None

    def _is_read(self, node: Node, path: Path) -> bool:
        """Whether a field that `node` computes can be read in its place."""
        inputs = inputs_of(node)
        places = _read_at(node, path)
        return bool(places) and all(self._is_readable(inputs[n], below) for n, below in places)

    def _is_readable(self, node: Node, path: Path) -> bool:
        known = self._readable.get((node, path))
        if known is None:
            known = self._readable[node, path] = self._reaches_files(node, path)
        return known

    def _reaches_files(self, node: Node, path: Path) -> bool:
        data_type = type_at(node.schema, path)
        if data_type is None or pa.types.is_struct(data_type):
            return False
        if isinstance(node, Scan):
            return len(path) > 1 and isinstance(node.source, ParquetSource)
        inputs = inputs_of(node)
        places = [(inputs[number], below) for number, below in _below(node, path)]
        return bool(places) and all(
            type_at(each.schema, below) == data_type and self._is_readable(each, below)
            for each, below in places
        )

    def _name(self, path: Path) -> str:
        """The column that a field of a node becomes, the same in all nodes."""
        if path not in self._names:
            self._names[path] = unused_name(".".join(path), self._taken)
            self._taken.add(self._names[path])
        return self._names[path]

    def _with_expressions(self, node: Node, below: Node) -> Node:
        """`node` over rewritten inputs, as `below` is, with columns instead of their fields."""

        def read(expression: Expr) -> Expr:
            path = _path_of(expression)
            if len(path) > 1 and self._is_read(node, path):
                return Column(self._name(path))
            if not isinstance(expression, Call):
                return expression
            arguments = tuple(map(read, expression.arguments))
            if all(new is old for new, old in zip(arguments, expression.arguments, strict=True)):
                return expression
            return Call(expression.function, arguments, expression.option)

        paths = dict.fromkeys(itertools.chain(*map(_paths_in, _expressions(node))))
        read_paths = [path for path in paths if self._is_read(node, path)]
        if not read_paths:
            return below
        if isinstance(below, Filter):
            return replace(below, predicate=read(below.predicate))
        if isinstance(below, Project):
            return replace(below, items=tuple((name, read(item)) for name, item in below.items))
        if isinstance(below, GroupBy):
            keys = tuple((name, read(item)) for name, item in below.keys)
            items = tuple((name, _over(item, read)) for name, item in below.items)
            return replace(below, keys=keys, items=items)
        assert isinstance(below, Join)
        assert below.residual is not None
        columns = tuple(
            (_SIDES[number], self._name(place), self._name(path))
            for path in read_paths
            for number, place in _read_at(node, path)
        )
        return replace(
            below,
            residual=read(below.residual),
            residual_columns=(*below.residual_columns, *columns),
        )

    def _with_columns(self, node: Node, below: Node) -> Node:
        """`below` with the columns that are asked of `node`, in whose place it stands."""
        paths = self._asked[node]
        if not paths:
            return below
        names = [self._name(path) for path in paths]
        fields = [pa.field(self._name(path), type_at(node.schema, path)) for path in paths]
        schema = pa.schema([*node.schema, *fields])
        if isinstance(below, Scan):
            assert isinstance(below.source, ParquetSource)
            source = below.source.with_fields(dict(zip(names, paths, strict=True)))
            return replace(below, source=source, columns=(*below.columns, *names), schema=schema)
        places = [(name, *_below(node, path)[0]) for name, path in zip(names, paths, strict=True)]
        if isinstance(below, Project):
            items = tuple((name, Column(self._name(place))) for name, _, place in places)
            return replace(below, items=(*below.items, *items), schema=schema)
        if isinstance(below, Join):
            outputs = tuple((_SIDES[n], self._name(place), name) for name, n, place in places)
            return replace(below, outputs=(*below.outputs, *outputs), schema=schema)
        if isinstance(below, Sort):
            pairs = tuple((self._name(place), name) for name, _, place in places)
            index = [node.schema.field(below.index)] if below.index else []
            kept = [field for field in node.schema if field.name != below.index]
            schema = pa.schema([*kept, *fields, *index])
            return replace(below, outputs=(*below.outputs, *pairs), schema=schema)
        if isinstance(below, Window | Draws):
            last = [node.schema.field(item.name) for item in below.items]
            kept = [field for field in node.schema if field not in last]
            schema = pa.schema([*kept, *fields, *last])
        return replace(below, schema=schema) if isinstance(below, _WITH_SCHEMA) else below


def _below(node: Node, path: Path) -> list[tuple[int, Path]]:
    """Which field of which inputs of `node`, by their numbers, a field of it is; none where it is
    not passed on as it is."""
    name, *rest = path
    if isinstance(node, Project):
        source = _path_of(dict(node.items)[name])
        return [(0, (*source, *rest))] if source else []
    if isinstance(node, Join):
        outputs = {result: (side, column) for side, column, result in node.outputs}
        return _of_side(*outputs[name], rest)
    if isinstance(node, Sort):
        columns = {result: column for column, result in node.outputs}
        return [(0, (columns[name], *rest))] if name in columns else []
    if isinstance(node, Union):
        return [(number, path) for number in range(len(node.inputs))]
    is_passed = isinstance(node, _PASSING) and name in node.input.schema.names
    return [(0, path)] if is_passed and name not in getattr(node, "columns", ()) else []


def _read_at(node: Node, path: Path) -> list[tuple[int, Path]]:
    """The same of a field in the expressions of a node."""
    if not isinstance(node, Join):
        return [(0, path)]
    columns = {name: (side, column) for side, column, name in node.residual_columns}
    return _of_side(*columns[path[0]], path[1:])


def _of_side(side: str, column: str, rest: Sequence[str]) -> list[tuple[int, Path]]:
    return [(_SIDES.index(side), (column, *rest))] if side in _SIDES else []


def _expressions(node: Node) -> list[Expr]:
    """What a node computes."""
    if isinstance(node, Filter):
        return [node.predicate]
    if isinstance(node, Project):
        return [item for _, item in node.items]
    if isinstance(node, Join):
        return [] if node.residual is None else [node.residual]
    if not isinstance(node, GroupBy):
        return []
    computed = [item for _, item in node.keys]
    for _, item in node.items:
        parts = (item.argument, item.condition, *(order.by for order in item.orders))
        computed += [part for part in parts if part is not None]
    return computed


def _over(item: Aggregate, change: Callable[[Expr], Expr]) -> Aggregate:
    """An aggregate with `change` applied to all its expressions."""
    return replace(
        item,
        argument=None if item.argument is None else change(item.argument),
        condition=None if item.condition is None else change(item.condition),
        orders=tuple(replace(order, by=change(order.by)) for order in item.orders),
    )


def _path_of(expression: Expr) -> Path:
    """The column that an expression is, or the field of one; else none."""
    if isinstance(expression, Column):
        return (expression.name,)
    if isinstance(expression, Call) and expression.function == "field":
        above = _path_of(expression.arguments[0])
        return (*above, expression.option) if above else ()
    return ()


def _paths_in(expression: Expr) -> Iterator[Path]:
    """The fields of columns that an expression reads, each as a whole."""
    path = _path_of(expression)
    if len(path) > 1:
        yield path
    elif isinstance(expression, Call):
        for argument in expression.arguments:
            yield from _paths_in(argument)
