"""Columns that operators carry along without computing with them, of the types that the engine does
not have: lists, structs, maps, intervals, unions and the like.

They stay where they are, as Arrow arrays. What reads them is split: a column of positions goes in
the place of each through all operators above, and their rows are taken from it at the end. So the
input that has them is held as a table, as joins and sorts hold theirs anyway. A node that computes
with such a column is run, and the split comes above it; what several nodes use is run before, once.
Queries without such columns are not touched.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakMethod

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from crossdock.expressions.aggregates import OF_ROWS
from crossdock.expressions.expression import Column, Expr
from crossdock.files.sources import ArrowSource
from crossdock.plan.lowering import lower_group, unused_name
from crossdock.plan.nodes import (
    Draws,
    FirstShare,
    FrameLists,
    GroupBy,
    GroupLists,
    Join,
    Node,
    Operated,
    Output,
    Partition,
    Project,
    Scan,
    Sort,
    Union,
    Unnest,
    Window,
    inputs_of,
    kept_with,
)
from crossdock.plan.shared_parts import shared_parts, substituted
from crossdock.values.arrow_kinds import ArrayLike, Rows
from crossdock.values.engine_types import is_late, with_schema
from crossdock.values.row_taking import Blocks

_POSITION = pa.uint64()
_CARRIED = OF_ROWS | {"any", "count"}  # aggregates that do not look at what they are of


@dataclass(frozen=True)
class Reference:
    """A late column: its values, and the column that has the position of each; NULL is NULL."""

    positions: str
    values: Blocks


@dataclass(frozen=True, eq=False)
class Split:
    """A node without late columns, and what they are, by their names in the node it stands for."""

    node: Node
    schema: pa.Schema
    late: Mapping[str, Reference] = field(default_factory=dict)

    def whole(self, rows: Rows) -> Rows:
        """A Table or RecordBatch of the node that was split, from one of the node in its place;
        either may lie as the engine has it."""
        return whole_rows(with_schema(rows, self.node.schema), self.schema, self.late)


def whole_rows(rows: Rows, schema: pa.Schema, late: Mapping[str, Reference]) -> Rows:
    """A Table or RecordBatch of `schema`, the `late` ones of its columns from their positions."""
    if not late:
        return rows
    columns = []
    for name in schema.names:
        if name in late:
            positions = rows.column(late[name].positions)
            columns.append(late[name].values.take(positions))
        else:
            columns.append(rows.column(name))
    return type(rows).from_arrays(columns, schema=schema)


def has_late(node: Node) -> bool:
    """Whether a late column goes into `node`, or into anything below it."""
    kept = kept_with(node)
    if "has_late" not in kept:
        below = inputs_of(node)
        kept["has_late"] = any(late_names(one.schema) or has_late(one) for one in below)
    return bool(kept["has_late"])


def late_names(schema: pa.Schema) -> list[str]:
    """The late columns of a schema."""
    return [field.name for field in schema if is_late(field.type)]


def residual_schema(node: Join) -> pa.Schema:
    """What the residual predicate of a join sees."""
    sides = {"left": node.left.schema, "right": node.right.schema}
    fields = [
        sides[side].field(column).with_name(name) for side, column, name in node.residual_columns
    ]
    return pa.schema(fields)


_STREAMED = Union | Unnest | GroupLists | FrameLists | FirstShare | Draws


class Splitter:
    """Splits the operators of one run; `table` runs a node, of a run that lasts longer. One
    thread."""

    def __init__(self, table: WeakMethod[Callable[[Node], pa.Table]]) -> None:
        # What a residual predicate sees, by the join that has it: a schema, and its late columns.
        self.residuals: dict[Node, tuple[pa.Schema, Mapping[str, Reference]]] = {}
        self._table = table
        self._split: dict[Node, Split] = {}
        self._parts: dict[Node, Scan] = {}  # rows of what several nodes use, and was run for all
        self._origins: dict[Node, Node] = {}
        self._taken: set[str] = set()

    def split(self, node: Operated) -> Split:
        """`node` and all below it without late columns; what computes with them is run now."""
        known = self._split.get(node)
        if known is None:
            known = Split(node, node.schema)
            if not (isinstance(node, Join) and node.arrived is not None) and has_late(node):
                self._taken |= _names_below(node)
                self._run_parts(node)
                known = self._node(node)
            self._split[node] = known
        return known

    def origin(self, node: Node) -> Node:
        """The node of the query that `node` stands for."""
        return self._origins.get(node, node)

    def _run_parts(self, node: Node) -> None:
        """Runs what several nodes use, once: of a split query, each run would run it again, and may
        have its rows in another order."""
        for part in reversed(shared_parts(node)):
            if part not in self._parts:
                rows = ArrowSource(self._rows(part), "shared rows")
                self._parts[part] = Scan(rows, tuple(part.schema.names), part.schema)
                self._origins[self._parts[part]] = part

    def _rows(self, node: Node) -> pa.Table:
        table = self._table()
        assert table is not None
        return table(self._with_parts(node))

    def _with_parts(self, node: Node) -> Node:
        """`node` over the rows of the parts that were run."""
        whole = substituted(node, self._parts)
        if whole is not node:
            self._origins[whole] = node
        return whole

    def _node(self, node: Node) -> Split:
        node = self._parts.get(node, node)
        if isinstance(node, Scan):
            return self._scan(node)
        if isinstance(node, _STREAMED) or not has_late(node):
            if late_names(node.schema):
                return self._run(node)
            return Split(self._with_parts(node), node.schema)
        if isinstance(node, Join):
            return self._join(node)
        below = self._node(node.input)
        if isinstance(node, GroupBy):
            return self._group(node, below)
        if isinstance(node, Project):
            return self._project(node, below)
        if isinstance(node, Sort):
            return self._sort(node, below)
        if isinstance(node, Partition):
            late = {name: below.late[name] for name in node.schema.names if name in below.late}
            return self._made(node, {"input": below.node}, late)
        if isinstance(node, Window):
            late = {name: below.late[name] for name in node.schema.names if name in below.late}
            return self._made(node, {"input": below.node}, late)
        predicate = getattr(node, "predicate", None)
        if predicate is not None and _touches(predicate, below):
            return self._run(node)
        split = Split(replace(node, input=below.node), node.schema, below.late)
        self._origins[split.node] = node
        return split

    def _run(self, node: Node) -> Split:
        """The rows of `node` as a table that is split."""
        return self._leaf(node, ArrowSource(self._rows(node)), tuple(node.schema.names), None)

    def _scan(self, node: Scan) -> Split:
        source, predicate = node.source, node.predicate
        if not late_names(node.schema):
            return Split(node, node.schema)
        if isinstance(source, ArrowSource):
            asked = () if predicate is None else predicate.columns()
            if not any(is_late(source.schema.field(name).type) for name in asked):
                return self._leaf(node, source, node.columns, predicate)
        return self._run(node)

    def _leaf(
        self, node: Node, source: ArrowSource, columns: tuple[str, ...], predicate: Expr | None
    ) -> Split:
        """`columns` of a table in memory, its late ones replaced by their positions."""
        late: dict[str, Reference] = {}
        held, of_all = source, ""
        for name in late_names(node.schema):
            values = source.data.column(name)
            has_nulls = _has_nulls(values)
            positions = self._unused() if has_nulls or not of_all else of_all
            late[name] = Reference(positions, Blocks(values))
            if positions != of_all:
                held = held.with_column(pa.field(positions, _POSITION), _positions(values))
                of_all = of_all if has_nulls else positions
        kept = (*(name for name in columns if name not in late), *_positions_of(late))
        schema = pa.schema([held.schema.field(name) for name in kept])
        scan = Scan(held, kept, schema, predicate)
        self._origins[scan] = node
        return Split(scan, node.schema, late)

    def _project(self, node: Project, below: Split) -> Split:
        computed = [item for _, item in node.items if not isinstance(item, Column)]
        if any(_touches(item, below) for item in computed):
            return self._run(node)
        items, late = [], {}
        for name, item in node.items:
            if isinstance(item, Column) and item.name in below.late:
                late[name] = below.late[item.name]
            else:
                items.append((name, item))
        items += [(name, Column(name)) for name in _positions_of(late)]
        return self._made(node, {"input": below.node, "items": tuple(items)}, late)

    def _sort(self, node: Sort, below: Split) -> Split:
        late = {name: below.late[c] for c, name in node.outputs if c in below.late}
        outputs = [(column, name) for column, name in node.outputs if column not in below.late]
        outputs += [(name, name) for name in _positions_of(late)]
        return self._made(node, {"input": below.node, "outputs": tuple(outputs)}, late)

    def _group(self, node: GroupBy, below: Split) -> Split:
        computed = [item for _, item in node.keys]
        computed += [item.condition for _, item in node.items if item.condition is not None]
        computed += [order.by for _, item in node.items for order in item.orders]
        computed += [
            item.argument
            for _, item in node.items
            if item.argument is not None
            and not (isinstance(item.argument, Column) and item.function in _CARRIED)
        ]
        if any(_touches(item, below) for item in computed):
            return self._node(_lowered(node))
        items, late = [], {}
        for name, item in node.items:
            if item.argument is not None and _touches(item.argument, below):
                assert isinstance(item.argument, Column)
                reference = below.late[item.argument.name]
                if item.function != "count":
                    late[name] = replace(reference, positions=name)
                item = replace(item, argument=Column(reference.positions))
            items.append((name, item))
        schema = node.schema
        for name in late:
            place = schema.get_field_index(name)
            schema = schema.set(place, pa.field(name, _POSITION))
        group = replace(node, input=below.node, items=tuple(items), schema=schema)
        self._origins[group] = node
        return Split(group, node.schema, late)

    def _join(self, node: Join) -> Split:
        left, right = self._node(node.left), self._node(node.right)
        outputs, late = _outputs(node.outputs, left, right)
        changes: dict[str, Any] = {"left": left.node, "right": right.node, "outputs": outputs}
        pairs, asked = _outputs(node.residual_columns, left, right)
        split = self._made(node, {**changes, "residual_columns": pairs}, late)
        if asked:
            self.residuals[split.node] = (residual_schema(node), asked)
        return split

    def _made(self, node: Node, changes: dict[str, Any], late: Mapping[str, Reference]) -> Split:
        """The split of `node` with `changes`, which has the positions of `late` in the place of
        these columns, behind the others; a sort's own row numbers stay last."""
        index = getattr(node, "index", "")
        fields = [f for f in node.schema if f.name not in late and f.name != index]
        fields += [pa.field(name, _POSITION) for name in _positions_of(late)]
        fields += [node.schema.field(index)] if index else []
        node_without = replace(node, **changes, schema=pa.schema(fields))
        self._origins[node_without] = node
        return Split(node_without, node.schema, late)

    def _unused(self) -> str:
        name = unused_name(f"@{len(self._taken)}", self._taken)
        self._taken.add(name)
        return name


def _lowered(node: GroupBy) -> GroupBy:
    """The same grouping by columns alone, what is computed being columns of its input."""
    lowered = lower_group(node)
    keys = tuple(
        (name, Column(key)) for (name, _), key in zip(node.keys, lowered.keys, strict=True)
    )
    items = []
    for (name, item), (_, argument, condition, _, options) in zip(
        node.items, lowered.items, strict=True
    ):
        columns: dict[str, Any] = {
            "argument": Column(argument) if argument else None,
            "condition": Column(condition) if condition else None,
            "orders": tuple(replace(order, by=Column(options["by"])) for order in item.orders),
        }
        items.append((name, replace(item, **columns)))
    return replace(node, input=lowered.input, keys=keys, items=tuple(items))


def _outputs(
    outputs: tuple[Output, ...], left: Split, right: Split
) -> tuple[tuple[Output, ...], dict[str, Reference]]:
    """The outputs of a join whose sides are split, and the late ones by name."""
    kept: list[Output] = []
    late: dict[str, Reference] = {}
    sides: dict[str, str] = {}
    for side, column, name in outputs:
        late_column = (right if side == "right" else left).late.get(column)
        if late_column is None:
            kept.append((side, column, name))
        else:
            late[name] = late_column
            sides[late_column.positions] = side
    kept += [(sides[name], name, name) for name in _positions_of(late)]
    return tuple(kept), late


def _touches(expression: Expr, below: Split) -> bool:
    return not below.late.keys().isdisjoint(expression.columns())


def _positions_of(late: Mapping[str, Reference]) -> list[str]:
    """Each column of positions once, in the order of the columns."""
    return list(dict.fromkeys(reference.positions for reference in late.values()))


def _has_nulls(values: pa.ChunkedArray) -> bool:
    """Also of unions and run-end encoded values, whose own count of NULLs is always 0."""
    return not pc.all(pc.is_valid(values), min_count=0).as_py()


def _positions(values: pa.ChunkedArray) -> ArrayLike:
    """The position of each value in its column; NULL for a NULL."""
    every = pa.array(np.arange(len(values), dtype=np.uint64))
    if not _has_nulls(values):
        return every
    return pc.if_else(pc.is_valid(values), every, pa.scalar(None, _POSITION))


def _names_below(node: Node) -> set[str]:
    """Of the columns of all nodes; a node that is used twice is looked at once."""
    waiting, seen, names = [node], set[Node](), set[str]()
    while waiting:
        one = waiting.pop()
        if one not in seen:
            seen.add(one)
            names.update(one.schema.names)
            waiting.extend(inputs_of(one))
    return names
