"""A Substrait plan as DataFusion writes it, built from our nodes. What has no node is refused by
name."""

from __future__ import annotations

import datetime
import secrets
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import CrossdockError
from crossdock.expressions import aggregates
from crossdock.expressions.evaluation import evaluate
from crossdock.expressions.expression import Column, Expr, Literal
from crossdock.expressions.orders import Order
from crossdock.plan.nodes import Node
from crossdock.plan.row_planning import draw
from crossdock.plan.set_planning import common_type
from crossdock.sql_frontend.binding import Bound
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.text.rewritten import KEEPS_ALL, MILLION, SHARE_MARK
from crossdock.sql_frontend.translation import joins
from crossdock.sql_frontend.translation.aggregation import (
    Aggregation,
    with_distinct,
    with_results,
)
from crossdock.sql_frontend.translation.building import Builder, name_for, unused
from crossdock.sql_frontend.translation.folding import conditions_of, is_never
from crossdock.sql_frontend.translation.grouping_sets import grouping_sets
from crossdock.sql_frontend.translation.joins import JoinTree, Table, beside, table_of
from crossdock.sql_frontend.translation.marks import marked, not_in
from crossdock.sql_frontend.translation.messages import (
    DIRECTIONS,
    RANDOM_KINDS,
    Functions,
    all_joins,
    draw_column,
    draws_within,
    fields_within,
    has_subquery,
    null_aware_joins,
    unnest_column,
    unnests_within,
)
from crossdock.sql_frontend.translation.subqueries import Beside, Translator
from crossdock.sql_frontend.translation.substrait_types import arrow_type, column_names, constant_of
from crossdock.sql_frontend.translation.values import RETURN_NULL, Subquery, Values

if TYPE_CHECKING:
    from google.protobuf.message import Message

OrderJoins = Callable[[Builder, JoinTree], Node]
_LEFT_ANTI = 6
_SEEDS = 1 << 63
_KINDS = {
    1: "inner",
    2: "full",
    3: "left",
    4: "right",
    5: "semi",
    6: "anti",
    8: "right_semi",
    9: "right_anti",
}


class Translation:
    """One plan on its way. `tables` are nodes by the names that the text has for them; `moment`, or
    the present one, is what now() is."""

    def __init__(
        self,
        bound: Bound,
        tables: Mapping[str, Node],
        order_joins: OrderJoins,
        constant_rows: Callable[[pa.Table], Node],
        moment: datetime.datetime | None = None,
    ) -> None:
        self._bound = bound
        self._tables = tables
        self._order_joins = order_joins
        self._constant_rows = constant_rows
        self._builder = Builder()
        self._functions = Functions(bound.message, moment, bound.decimals)
        self._null_aware = null_aware_joins(bound)
        self._unnests: set[int] = set()  # that are done
        self._has_draws = bool(RANDOM_KINDS.keys() & set(self._functions.values()))
        self._seed = secrets.randbits(32) if bound.seed is None else bound.seed
        marks = [number for number, name in self._functions.items() if name == KEEPS_ALL]
        root = bound.message.relations[0].root.input
        self._all_joins = all_joins(root, next(iter(marks), None))

    def run(self) -> tuple[Node, list[str], list[str]]:
        """The node, the columns of the result by position, and their names in the text."""
        root = self._bound.message.relations[0].root
        table = self._table(root.input)
        node = self._node(table)
        if len(self._unnests) < self._bound.unnests:
            raise unsupported("UNNEST in a query of this shape", word="unnest")
        types = [node.schema.field(name).type for name in table.columns]
        return node, list(table.columns), column_names(root.names, types)

    def _node(self, table: Table) -> Node:
        """The rows of a table, its joins in the order that is best."""
        tree = table.tree
        if len(tree.leaves) == 1 and not tree.partners:
            return self._builder.filter(tree.leaves[0], tree.conditions)
        return self._order_joins(self._builder, tree)

    def _table(self, relation: Message) -> Table:
        kind = relation.WhichOneof("rel_type")
        if kind is None or not hasattr(self, f"_{kind}"):
            raise unsupported(str(kind).replace("_", " "))
        node: Table = getattr(self, f"_{kind}")(getattr(relation, kind))
        return node

    def _values(self, table: Table, subquery: Subquery | None = None) -> Values:
        return Values(self._functions, table.columns, table.schema, subquery)

    def _read(self, read: Message) -> Table:
        if read.WhichOneof("read_type") == "virtual_table":
            return self._constants(read)
        name = read.named_table.names[-1]
        node = self._builder.scan(name, self._tables[name])
        columns = node.schema.names
        if read.HasField("projection"):
            items = read.projection.select.struct_items
            columns = [columns[item.field] for item in items]
        return table_of(node, columns)

    def _constants(self, read: Message) -> Table:
        """VALUES, and the rows of a query without FROM."""
        names = [f"column{i + 1}" for i in range(len(read.base_schema.struct.types))]
        rows = [row.fields for row in read.virtual_table.expressions]
        arrays = []
        for i, message in enumerate(read.base_schema.struct.types):
            fields, data_type = [row[i] for row in rows], arrow_type(message)
            column = self._cast_at_once(fields, data_type)
            if column is None:
                column = _column_of([self._constant(field) for field in fields], data_type)
            arrays.append(column)
        if not names:  # one row of no columns, or none
            names, arrays = ["one row"], [pa.array([1] * len(rows), pa.int64())]
            return Table(JoinTree((self._constant_rows(pa.table(arrays, names)),)), ())
        return table_of(self._constant_rows(pa.table(arrays, names)))

    def _cast_at_once(self, fields: Sequence[Message], target: pa.DataType) -> pa.Array | None:
        """A column of casts of plain constants, computed as one; None where it is another, or one
        of the values is an error, which is then found by itself."""
        casts = [field.cast for field in fields if field.WhichOneof("rex_type") == "cast"]
        if len(casts) < max(2, len(fields)):
            return None
        inputs = [cast.input for cast in casts]
        kinds = {cast.type.WhichOneof("kind") for cast in casts}
        is_plain = all(each.WhichOneof("rex_type") == "literal" for each in inputs)
        if not is_plain or len(kinds) > 1 or any(c.failure_behavior == RETURN_NULL for c in casts):
            return None
        values = [constant_of(each.literal) for each in inputs]
        constants = [each.value for each in values if isinstance(each, Literal)]
        types = {type(value) for value in constants}
        if len(constants) < len(fields) or len(types) != 1 or types - {str, int, float}:
            return None
        given = pa.table({"v": constants})
        typed = Values(self._functions, ("v",), lambda: given.schema)
        try:
            column = evaluate(typed.converted(Column("v"), arrow_type(casts[0].type)), given)
        except CrossdockError:
            return None
        whole = column.combine_chunks() if isinstance(column, pa.ChunkedArray) else column
        return whole if whole.type == target else None

    def _constant(self, message: Message) -> Any:
        """The value of what VALUES has in a place: a scalar, or what pyarrow makes one of."""
        expression = Values(self._functions, (), lambda: pa.schema([]))(message)
        if not isinstance(expression, Literal):
            if not expression.columns():  # whose error is the reason
                evaluate(expression, pa.table({"row": [0]}))
            raise unsupported("VALUES of what is no constant", try_="a SELECT of each, UNION ALL")
        return expression.value

    def _filter(self, message: Message) -> Table:
        table, values = self._with_subqueries(self._table(message.input), [message.condition])
        values.joined = [frozenset(leaf.schema.names) for leaf in table.tree.leaves]
        conditions = conditions_of(values(message.condition))
        if conditions and is_never(conditions[0]):
            return table_of(self._builder.limit(self._node(table), 0, 0), table.columns)
        tree = table.tree
        return Table(replace(tree, conditions=(*tree.conditions, *conditions)), table.columns)

    def _project(self, message: Message) -> Table:
        expressions = list(message.expressions)
        computed = [each for each in expressions if each.WhichOneof("rex_type") != "selection"]
        before = self._table(message.input)
        table, columns = before, list(before.columns)
        if computed:
            table, values = self._with_subqueries(before, computed)
            node = self._node(table)
            columns += self._computed(node, values, expressions)
            table = self._extended(node, values, expressions, columns[len(before.columns) :])
        else:
            columns += [_name_of(each) for each in map(self._values(before), expressions)]
        if message.common.HasField("emit"):
            columns = [columns[i] for i in message.common.emit.output_mapping]
        return Table(table.tree, tuple(columns))

    def _computed(self, node: Node, values: Values, expressions: Sequence[Message]) -> list[str]:
        """The names of a projection's columns."""
        taken = dict.fromkeys(node.schema.names)
        names = []
        for each in expressions:
            expression = values(each)
            name = (
                expression.name if isinstance(expression, Column) else name_for(expression, taken)
            )
            taken.setdefault(name)
            names.append(name)
        return names

    def _extended(
        self, node: Node, values: Values, expressions: Sequence[Message], names: Sequence[str]
    ) -> Table:
        items = [
            (name, expression)
            for name, expression in zip(names, map(values, expressions), strict=True)
            if not isinstance(expression, Column)
        ]
        return table_of(self._builder.with_columns(node, items), names)

    def _unnested(self, table: Table, messages: Sequence[Message]) -> Table:
        """The table with a row per element of the lists that are unnested in expressions over it,
        side by side."""
        if not self._bound.unnests:
            return table
        unnests = dict(each for m in messages for each in unnests_within(m, self._functions))
        if not unnests:
            return table
        node = self._node(table)
        values = self._values(table_of(node, table.columns))
        lists = [(unnest_column(number), values(each)) for number, each in unnests.items()]
        node = self._builder.with_columns(node, lists)
        keeps_empty = any(number < 0 for number in unnests)
        node = self._builder.unnest(node, [name for name, _ in lists], keeps_empty=keeps_empty)
        self._unnests.update(unnests)
        return Table(JoinTree((node,)), table.columns)

    def _drawn(self, table: Table, messages: Sequence[Message]) -> Table:
        """The table with a column for each random() and uuid() in expressions over it."""
        if not self._has_draws:
            return table
        node = self._node(table)
        asked = dict.fromkeys(each for m in messages for each in draws_within(m, self._functions))
        items = [
            draw(draw_column(*each), RANDOM_KINDS[each[0]], (self._seed + each[1]) % _SEEDS)
            for each in asked
            if draw_column(*each) not in node.schema.names
        ]
        if not items:
            return table
        return Table(JoinTree((self._builder.draws(node, items),)), table.columns)

    def _with_subqueries(self, table: Table, messages: Sequence[Message]) -> tuple[Table, Values]:
        """The table with a column for each subquery in expressions over it, and what translates
        them."""
        table = self._drawn(self._unnested(table, messages), messages)
        if not any(map(has_subquery, messages)):
            return table, self._values(table)
        translator = Translator(self._builder, self._table, self._node, self._values)
        state = Beside(translator, table)
        values = Values(self._functions, table.columns, lambda: state.node.schema, state.column)
        for message in messages:
            values(message)
        after = Table(JoinTree((state.node,)), table.columns)
        return after, values

    def _aggregate(self, message: Message) -> Table:
        table = self._table(message.input)
        parts = [m.measure.arguments for m in message.measures]
        parts_of = [argument.value for arguments in parts for argument in arguments]
        filters = [each.filter for each in message.measures if each.HasField("filter")]
        asked = [*message.grouping_expressions, *parts_of, *filters]
        table, values = self._with_subqueries(table, asked)
        node = self._node(table)
        aggregation = Aggregation(message, values, self._functions)
        if len(message.groupings) > 1:
            return table_of(*grouping_sets(self._builder, node, aggregation))
        keys = aggregation.keys(node)
        items, results = aggregation.items([name for name, _ in keys])
        once = aggregation.of_once
        if not keys and not items:  # one row
            items = [(unused("rows", ()), aggregates.count())]
        grouped = self._builder.group(node, keys, dict(items))
        for each in once:
            grouped = with_distinct(self._builder, (grouped, keys), node, each)
        grouped, of_measures = with_results(self._builder, grouped, results)
        return table_of(grouped, [*aggregation.key_columns(keys), *of_measures])

    def _sort(self, message: Message) -> Table:
        table = self._table(message.input)
        table = self._drawn(table, [each.expr for each in message.sorts])
        node = self._node(table)
        values = self._values(table)
        orders = []
        for each in message.sorts:
            by = values(each.expr)
            if isinstance(by, Literal):
                continue
            descending, nulls_first = DIRECTIONS[each.direction]
            orders.append(Order(by, descending, nulls_first))
        sorted_node = self._builder.sort(node, orders) if orders else node
        return table_of(sorted_node, table.columns)

    def _fetch(self, message: Message) -> Table:
        table = self._table(message.input)
        node = self._node(table)
        offset = _number(message, "offset")
        count = _number(message, "count")
        if count is not None and count >= SHARE_MARK:
            fraction = (count - SHARE_MARK) / MILLION / 100
            return table_of(self._builder.first_share(node, fraction, offset or 0), table.columns)
        rows = count if count is not None and count >= 0 else (1 << 62)
        return table_of(self._builder.limit(node, rows, offset or 0), table.columns)

    def _set(self, message: Message) -> Table:
        if message.op != 6:  # SET_OP_UNION_ALL
            raise unsupported(
                "INTERSECT and EXCEPT", try_="a semi or an anti join: WHERE (NOT) EXISTS"
            )
        tables = [self._table(each) for each in message.inputs]
        names: list[str] = []
        for name in tables[0].columns:
            names.append(unused(name, names))
        types = [self._node(t).schema for t in tables]
        targets = [
            _common_type([s.field(t.columns[i]).type for t, s in zip(tables, types, strict=True)])
            for i in range(len(names))
        ]
        nodes = []
        for table in tables:
            node = self._node(table)
            values = self._values(table_of(node, table.columns))
            items = [
                (name, values.converted(Column(column), target))
                for name, column, target in zip(names, table.columns, targets, strict=True)
            ]
            nodes.append(self._builder.project(node, items))
        return table_of(self._builder.union(nodes), names)

    def _cross(self, message: Message) -> Table:
        return self._inner(self._table(message.left), self._table(message.right), ())

    def _join(self, message: Message) -> Table:
        kind = message.type
        null_aware, _ = self._null_aware.get(id(message), (False, None))
        left, right = self._table(message.left), self._table(message.right)
        right = beside(self._builder, left, right)
        both = Table(
            JoinTree((*left.tree.leaves, *right.tree.leaves)), (*left.columns, *right.columns)
        )
        condition: tuple[Expr, ...] = ()
        if message.HasField("expression"):
            expression, is_of_in = self._without_unknown(message)
            null_aware = null_aware or is_of_in
            values = self._values(both)
            values.joined = [frozenset(side.schema().names) for side in (left, right)]
            condition = conditions_of(values(expression))
        if kind == _LEFT_ANTI and self._bound.marks != "exists" and message.HasField("expression"):
            # Of a constant, NOT IN is not said to be that; no other condition reads one side alone.
            fields = fields_within(message.expression)
            null_aware = null_aware or not any(place < len(left.columns) for place in fields)
        if kind == 1:
            return self._inner(left, right, condition)
        if id(message) in self._all_joins:
            sides = self._node(left), self._node(right)
            kept = joins.kept(self._builder, sides, _KINDS[kind], condition)
            return table_of(kept, left.columns)
        if _is_mark(message):
            return self._mark(left, right, condition)
        if kind not in _KINDS:
            raise unsupported(f"a join of kind {kind}")
        return self._outer(_KINDS[kind], left, right, condition, null_aware)

    def _without_unknown(self, message: Message) -> tuple[Message, bool]:
        """The condition of a join; of an anti join that asks for what IS NOT FALSE, which is NOT
        IN, what it says that of, and true."""
        expression = message.expression
        if message.type == _LEFT_ANTI and expression.WhichOneof("rex_type") == "scalar_function":
            call = expression.scalar_function
            if self._functions[call.function_reference] == "is_not_false":
                return call.arguments[0].value, True
        return expression, False

    def _inner(self, left: Table, right: Table, conditions: Sequence[Expr]) -> Table:
        right = beside(self._builder, left, right)
        tree = JoinTree(
            (*left.tree.leaves, *right.tree.leaves),
            (*left.tree.conditions, *right.tree.conditions, *conditions),
            (*left.tree.partners, *right.tree.partners),
        )
        return Table(tree, (*left.columns, *right.columns))

    def _outer(
        self, how: str, left: Table, right: Table, conditions: Sequence[Expr], null_aware: bool
    ) -> Table:
        if how.startswith("right_"):
            left, right, how = right, left, how.removeprefix("right_")
        if how in ("semi", "anti"):
            return self._partners(how, left, right, conditions, null_aware)
        sides = self._node(left), self._node(right)
        joined = joins.joined(self._builder, *sides, how, conditions)
        return table_of(joined, (*left.columns, *right.columns))

    def _partners(
        self, how: str, left: Table, right: Table, conditions: Sequence[Expr], null_aware: bool
    ) -> Table:
        """A semi or anti join. Where it stands among the other joins stays open."""
        node = self._node(right)
        if null_aware:
            how, conditions = not_in(conditions, left, node)
        of_left = set(left.schema().names)
        if how == "anti_null_aware" or not any(each.columns() & of_left for each in conditions):
            return table_of(
                joins.joined(self._builder, self._node(left), node, how, conditions), left.columns
            )
        partners = joins.Partners(node, how, tuple(conditions))
        tree = replace(left.tree, partners=(*left.tree.partners, partners))
        return Table(tree, left.columns)

    def _mark(self, left: Table, right: Table, conditions: Sequence[Expr]) -> Table:
        """All rows of the left side, and whether they have a partner: a left join with the keys of
        the right side, each once."""
        sides = self._node(left), self._node(right)
        joined, mark = marked(self._builder, sides, conditions, self._bound.marks)
        return Table(JoinTree((joined,)), (*left.columns, mark))


def _is_mark(message: Message) -> bool:
    return bool(message.type == 11)


def _name_of(expression: Expr) -> str:
    assert isinstance(expression, Column)
    return expression.name


def _number(message: Message, what: str) -> int | None:
    """The offset or the count of a FetchRel; None where it has none."""
    if not message.HasField(f"{what}_expr"):
        return None
    value = getattr(message, f"{what}_expr")
    if value.WhichOneof("rex_type") == "cast":
        value = value.cast.input
    constant = constant_of(value.literal) if value.WhichOneof("rex_type") == "literal" else None
    number = getattr(constant, "value", None)
    if not isinstance(number, int):
        raise unsupported(f"a {'LIMIT' if what == 'count' else 'OFFSET'} that is no constant")
    return number


def _common_type(types: Sequence[pa.DataType]) -> pa.DataType:
    """The type that holds the values of all columns of a UNION; the first one of nested types,
    which DataFusion takes for equal."""
    common = types[0]
    for other in types[1:]:
        wider = common_type(common, other)
        common = common if wider is None else wider
    return common


def _column_of(values: Sequence[Any], data_type: pa.DataType) -> pa.Array:
    if not any(isinstance(value, pa.Scalar) for value in values):
        return pa.array(values, data_type)
    scalars = [v if isinstance(v, pa.Scalar) else pa.scalar(v) for v in values]
    if pa.types.is_timestamp(data_type):  # which DataFusion's constants count in nanoseconds
        known = [s.type for s in scalars if pa.types.is_timestamp(s.type) and s.is_valid]
        data_type = _common_type(known) if known else pa.timestamp("us", data_type.tz)
    if pa.types.is_decimal(data_type) and any(pa.types.is_floating(s.type) for s in scalars):
        reals = [s.as_py() for s in scalars]  # where DataFusion has decimals, which no NaN fits
        return pa.array([None if v is None else float(v) for v in reals], pa.float64())
    parts = [pa.array([scalar], scalar.type).cast(data_type) for scalar in scalars]
    return pa.concat_arrays(parts)
