"""Relations as Substrait plans. What the standard has no operator for is refused by name."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr, rename_columns
from crossdock.expressions.orders import Order
from crossdock.files.sources import Source
from crossdock.plan.nodes import (
    Filter,
    GroupBy,
    Join,
    Limit,
    Node,
    Project,
    Scan,
    Sort,
    Union,
)  # fmt: skip
from crossdock.query_dock import QueryDock
from crossdock.sql_frontend.binding import require_library
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.translation.building import unused
from crossdock.sql_frontend.value_writing import ValueWriter, substrait_type

if TYPE_CHECKING:
    from google.protobuf.message import Message

_JOINS = {
    "inner": 1, "full": 2, "left": 3, "right": 4, "semi": 5, "anti": 6, "anti_null_aware": 6,
}  # fmt: skip
_AGGREGATES = {
    "count": "count", "sum": "sum", "min": "min", "max": "max", "mean": "avg",
    "count_distinct": "count", "bool_and": "bool_and", "bool_or": "bool_or", "any": "any_value",
    "median": "median", "approx_distinct": "approx_distinct",
}  # fmt: skip
_SPREADS = {("var", 1): "var_samp", ("var", 0): "var_pop", ("stddev", 1): "stddev_samp",
            ("stddev", 0): "stddev_pop"}  # fmt: skip
_UNION_ALL, _DISTINCT = 6, 2
_DIRECTIONS = {(False, True): 1, (False, False): 2, (True, True): 3, (True, False): 4}

NameOf = Callable[[Source], str]


def to_substrait(dock: QueryDock, node: Node, tables: Mapping[str, Node]) -> bytes:
    """The plan of a query. Its tables have the names of `tables`, those that the dock has for them,
    or of their own. SqlError for what plans have not."""
    if dock.over_ranks() is not None:
        raise unsupported("a relation over ranks in a Substrait plan", try_="connect(ranks='off')")
    known: dict[int, str] = {}
    for name, each in (*tables.items(), *dock.named_nodes().items()):
        if isinstance(each, Scan):
            known.setdefault(id(each.source), name)
    taken = set(known.values())

    def name_of(source: Source) -> str:
        if id(source) not in known:
            known[id(source)] = unused(source.name if source.files else "table", taken)
            taken.add(known[id(source)])
        return known[id(source)]

    plan_bytes: bytes = PlanWriter(substrait_messages(), name_of).plan(node).SerializeToString()
    return plan_bytes


class PlanWriter:
    """One plan. `name_of` gives the name of a table by its source."""

    def __init__(self, messages: Any, name_of: NameOf) -> None:
        self._messages = messages
        self._name_of = name_of
        self._functions: dict[str, int] = {}

    def plan(self, node: Node) -> Message:
        """The message. SqlError for what plans have not."""
        message = self._messages.plan.Plan()
        root = message.relations.add().root
        root.input.CopyFrom(self._relation(node))
        root.names.extend(node.schema.names)
        for name, number in self._functions.items():
            function = message.extensions.add().extension_function
            function.function_anchor, function.name = number, name
        message.version.minor_number = 85
        message.version.producer = "crossdock"
        return message

    def _function(self, name: str) -> int:
        return self._functions.setdefault(name, len(self._functions))

    def _values(self, schema: pa.Schema) -> ValueWriter:
        return ValueWriter(self._messages, schema, self._function)

    def _relation(self, node: Node) -> Message:
        name = type(node).__name__
        write = getattr(self, f"_{name.lower()}", None)
        if write is None:
            raise unsupported(f"the operator {name} in a Substrait plan")
        message: Message = write(node)
        return message

    def _new(self) -> Message:
        return self._messages.algebra.Rel()

    def _scan(self, node: Scan) -> Message:
        message, schema = self._new(), node.source.schema
        read = message.read
        read.named_table.names.append(self._name_of(node.source))
        read.base_schema.names.extend(schema.names)
        read.base_schema.struct.nullability = 2
        for field in schema:
            if pa.types.is_struct(field.type) or pa.types.is_map(field.type):
                raise unsupported(f"the type {field.type} in a Substrait plan")
            of_field = substrait_type(self._messages, field.type, nullable=field.nullable)
            read.base_schema.struct.types.add().CopyFrom(of_field)
        if list(node.columns) != schema.names:
            for name in node.columns:
                read.projection.select.struct_items.add().field = schema.names.index(name)
            read.projection.maintain_singular_struct = True
        if node.predicate is None:
            return message
        return self._filtered(message, node.predicate, node.schema)

    def _filtered(self, relation: Message, predicate: Expr, schema: pa.Schema) -> Message:
        message = self._new()
        message.filter.input.CopyFrom(relation)
        message.filter.condition.CopyFrom(self._values(schema)(predicate))
        return message

    def _filter(self, node: Filter) -> Message:
        return self._filtered(self._relation(node.input), node.predicate, node.input.schema)

    def _project(self, node: Project) -> Message:
        values = self._values(node.input.schema)
        computed = [values(item) for _, item in node.items]
        return self._projected(self._relation(node.input), computed, len(node.input.schema))

    def _projected(self, relation: Message, computed: Sequence[Message], width: int) -> Message:
        """Computed columns in place of those of a relation."""
        message = self._new()
        message.project.input.CopyFrom(relation)
        for each in computed:
            message.project.expressions.add().CopyFrom(each)
        places = range(width, width + len(computed))
        message.project.common.emit.output_mapping.extend(places)
        return message

    def _join(self, node: Join) -> Message:
        if node.arrived is not None or node.route is not None:
            raise unsupported("a join over ranks in a Substrait plan")
        message = self._new()
        join = message.join
        join.left.CopyFrom(self._relation(node.left))
        join.right.CopyFrom(self._relation(node.right))
        join.type = _JOINS[node.how]
        both = self._pairs(node)
        values = self._values(both)
        width = len(node.left.schema)
        conditions = [self._key(node, values, pair) for pair in node.on]
        if node.residual is not None:
            named = {
                name: both.names[self._place(node, side, column)]
                for side, column, name in node.residual_columns
            }
            conditions.append(values(rename_columns(node.residual, named)))
        whole = conditions[0]
        for each in conditions[1:]:
            whole = values.call("and", [whole, each])
        join.expression.CopyFrom(whole)
        is_of_left = node.how in ("semi", "anti", "anti_null_aware")
        result = self._values(node.left.schema) if is_of_left else values
        columns = []
        for side, column, _ in node.outputs:
            if side != "key":
                columns.append(result.field(self._place(node, side, column)))
                continue
            sides = [result.field(self._place(node, each, column)) for each in ("left", "right")]
            columns.append(result.call("coalesce", sides) if node.how == "full" else sides[1])
        return self._projected(message, columns, width if is_of_left else len(both))

    def _pairs(self, node: Join) -> pa.Schema:
        """The columns of both sides, under names by their places."""
        fields = [*node.left.schema, *node.right.schema]
        return pa.schema([field.with_name(str(i)) for i, field in enumerate(fields)])

    def _place(self, node: Join, side: str, column: str) -> int:
        if side == "left":
            return int(node.left.schema.get_field_index(column))
        return len(node.left.schema) + int(node.right.schema.get_field_index(column))

    def _key(self, node: Join, values: ValueWriter, pair: tuple[str, str]) -> Message:
        sides = [
            values.field(self._place(node, "left", pair[0])),
            values.field(self._place(node, "right", pair[1])),
        ]
        if node.options.null_equals_null:
            return values.call("is_not_distinct_from", sides)
        equal = values.call("equal", sides)
        return values.call("is_not_false", [equal]) if node.how == "anti_null_aware" else equal

    def _groupby(self, node: GroupBy) -> Message:
        message, values = self._new(), self._values(node.input.schema)
        group = message.aggregate
        group.input.CopyFrom(self._relation(node.input))
        grouping = group.groupings.add()
        for place, (_, key) in enumerate(node.keys):
            group.grouping_expressions.add().CopyFrom(values(key))
            grouping.expression_references.append(place)
        places = {}
        for number, (name, item) in enumerate(node.items):
            places[name] = len(node.keys) + number
            self._write_measure(group.measures.add(), item, values)
        for place, (name, _) in enumerate(node.keys):
            places[name] = place
        width = len(node.keys) + len(node.items)
        order = [places[name] for name in node.schema.names]
        if order == list(range(width)):
            return message
        return self._projected(message, list(map(values.field, order)), width)

    def _write_measure(self, message: Message, item: Aggregate, values: ValueWriter) -> None:
        options = dict(item.options)
        name = _AGGREGATES.get(item.function)
        if item.function in ("var", "stddev"):
            name = _SPREADS.get((item.function, options.pop("ddof", 1)))
        if name is None or item.orders or options.keys() - {"floats", "wide"}:
            raise unsupported(f"the aggregate {item!r} in a Substrait plan")
        measure = message.measure
        measure.function_reference = self._function(name)
        measure.phase = 3
        measure.invocation = _DISTINCT if item.function == "count_distinct" else 1
        if item.argument is not None:
            argument = values(item.argument)
            if item.function == "mean":  # a double, whatever it is of
                argument = values.cast(argument, pa.float64())
            measure.arguments.add().value.CopyFrom(argument)
        if item.condition is not None:
            message.filter.CopyFrom(values(item.condition))

    def _sort(self, node: Sort) -> Message:
        if node.index:
            raise unsupported("positions of sorted rows in a Substrait plan")
        message, values = self._new(), self._values(node.input.schema)
        message.sort.input.CopyFrom(self._relation(node.input))
        for each in node.orders:
            self._write_order(message.sort.sorts.add(), each, values)
        if not node.keeps_all_rows:
            message = self._fetched(message, node.limit, node.offset)
        names = [column for column, _ in node.outputs]
        if names == node.input.schema.names:
            return message
        columns = [values(Column(name)) for name in names]
        return self._projected(message, columns, len(node.input.schema))

    def _write_order(self, message: Message, order: Order, values: ValueWriter) -> None:
        message.expr.CopyFrom(values(order.by))
        message.direction = _DIRECTIONS[order.descending, order.nulls_first]

    def _fetched(self, relation: Message, rows: int | None, offset: int) -> Message:
        message = self._new()
        message.fetch.input.CopyFrom(relation)
        if offset:
            message.fetch.offset_expr.literal.i64 = offset
        if rows is not None:
            message.fetch.count_expr.literal.i64 = rows
        return message

    def _limit(self, node: Limit) -> Message:
        return self._fetched(self._relation(node.input), node.rows, node.offset)

    def _union(self, node: Union) -> Message:
        message = self._new()
        message.set.op = _UNION_ALL
        for each in node.inputs:
            message.set.inputs.add().CopyFrom(self._relation(each))
        return message


def substrait_messages() -> Any:
    """The modules of Substrait's messages. OptionError without the extra `crossdock[sql]`."""
    require_library()
    from substrait import algebra_pb2, plan_pb2, type_pb2

    return SimpleNamespace(algebra=algebra_pb2, plan=plan_pb2, type=type_pb2)
