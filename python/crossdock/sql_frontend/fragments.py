"""Expressions as SQL writes them, over the columns of a relation: bound as the one item of a query
over its schema, whose plan is projections, and groups of everything, alone."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pyarrow as pa

from crossdock.errors import SqlError
from crossdock.expressions.aggregates import Aggregate
from crossdock.expressions.expression import Column, Expr
from crossdock.expressions.window_expressions import replace_columns
from crossdock.files.sources import ArrowSource
from crossdock.plan.group_planning import plan_group
from crossdock.plan.nodes import Node
from crossdock.plan.planning import plan_scan
from crossdock.plan.window_planning import project
from crossdock.sql_frontend.bindable_schemas import bindable_schema
from crossdock.sql_frontend.binding import bind
from crossdock.sql_frontend.errors import (
    Fragment,
    ListPlaceError,
    OtherTypeError,
    UnknownNameError,
    UnknownTableError,
    ZonedValueError,
    sql_error,
    unsupported,
    with_place,
)
from crossdock.sql_frontend.text.refusals import require_closed
from crossdock.sql_frontend.text.respelling import respelled
from crossdock.sql_frontend.text.rewriting import rewrite
from crossdock.sql_frontend.text.rewritten import ROWS, Meant
from crossdock.sql_frontend.text.templates import written_out
from crossdock.sql_frontend.text.tokens import place_of_word, quoted, tokens_of
from crossdock.sql_frontend.translation.aggregation import Aggregation
from crossdock.sql_frontend.translation.messages import Functions
from crossdock.sql_frontend.translation.values import Values
from crossdock.values.engine_types import empty_table

if TYPE_CHECKING:
    from google.protobuf.message import Message

_PART = "\x01part {}"  # of a text that is computed on the way


def expression_of(text: str, schema: pa.Schema) -> Expr:
    """The value per row that a text says. SqlError, also for aggregates."""
    fragment = _fragment(text)
    parts, whole = _Reading(fragment, schema).run()
    if parts:
        raise sql_error(
            "an aggregate stands where a value of each row is needed", fragment,
            fragment.begin, try_="agg(name=...), or OVER () behind it",
        )  # fmt: skip
    return whole


def aggregates_of(
    text: str, schema: pa.Schema, name: str
) -> tuple[dict[str, Aggregate], Expr | None]:
    """The aggregates that a text says, by names of which none is a column's, and what is computed
    from them; where it is one aggregate, that by `name`, and None. SqlError."""
    fragment = _fragment(text)
    parts, whole = _Reading(fragment, schema).run()
    if not parts:
        raise sql_error(
            "agg() takes aggregates", fragment, fragment.begin, try_=f"any_value({text})"
        )
    if isinstance(whole, Column) and whole.name in parts:
        return {name: parts[whole.name]}, None
    names = {part: f"{part} of {name}" for part in parts}
    columns: dict[str, Expr] = {part: Column(names[part]) for part in parts}
    return {names[part]: item for part, item in parts.items()}, replace_columns(whole, columns)


def _fragment(text: str) -> Fragment:
    """A query of the text. SqlError where it is not one expression: it would be a part of the query
    around it."""
    tokens = tokens_of(text)
    if not tokens:
        raise sql_error("the text has no expression", try_='sql_expr("a + b")')
    require_closed(text)
    depth = 0
    for token in tokens:
        depth += token.is_operator("(", "[", "{") - token.is_operator(")", "]", "}")
        if depth == 0 and token.is_operator(",", ";"):
            raise sql_error("a text is one expression", text, token.start, try_="a text for each")
    return Fragment("SELECT (\n", text, f"\n) FROM {quoted(ROWS)}")


class _Reading:
    """One text on its way."""

    def __init__(self, text: Fragment, schema: pa.Schema) -> None:
        self._text = text
        self._meant = Meant()
        self._node = plan_scan(ArrowSource(empty_table(schema)))
        self._bindable = bindable_schema(schema)[0]
        self._schema = schema
        self._parts: dict[str, Expr] = {}  # what names of parts stand for
        self._aggregates: dict[str, Aggregate] = {}

    def run(self) -> tuple[dict[str, Aggregate], Expr]:
        """The aggregates in the text, and the whole over them or over columns."""
        while True:
            try:
                return self._read()
            except ZonedValueError as zoned:
                self._meant.of_instants.add(zoned.args[0])
            except ListPlaceError as listed:
                self._meant.of_lists.add(listed.args[0])
            except OtherTypeError as other:
                name, error = other.args
                if name in self._meant.of_others:
                    raise error from None
                self._meant.of_others.add(name)

    def _read(self) -> tuple[dict[str, Aggregate], Expr]:
        text = rewrite(respelled(written_out(self._text)), meant=self._meant)
        if text.parameters:
            raise sql_error(
                "parameters have no place in expressions", self._text, self._text.begin,
                try_="xd.sql_expr(...) == value, or xd.lit(value) beside it",
            )  # fmt: skip
        try:
            bound = bind(text, {ROWS: self._bindable}, {})
        except UnknownTableError as unknown:
            raise self._refused(unknown.args[0]) from None
        except UnknownNameError as unknown:
            raise unknown.args[1] from None
        self._functions = Functions(bound.message, decimals=bound.decimals)
        root = bound.message.relations[0].root
        try:
            columns = self._columns(root.input)
        except SqlError as error:
            raise with_place(error, self._text, self._place) from None
        if len(columns) != 1:
            raise sql_error("a text is one expression", self._text, self._text.begin)
        return self._aggregates, self._parts.get(columns[0], Column(columns[0]))

    def _refused(self, word: str) -> Exception:
        place = self._place(word)
        return unsupported("a query in an expression", self._text, place, "a join, or dock.sql()")

    def _place(self, word: str) -> int:
        """Where a name stands in the text; its beginning where it does not."""
        begin, end = self._text.begin, self._text.end
        return begin + (place_of_word(str(self._text)[begin:end], word) or 0)

    def _columns(self, relation: Message) -> list[str]:
        """The columns of a relation by position, and notes what they stand for."""
        kind = relation.WhichOneof("rel_type")
        message = getattr(relation, kind)
        if kind == "read" and message.WhichOneof("read_type") == "named_table":
            if message.HasField("projection"):
                items = message.projection.select.struct_items
                return [self._schema.names[item.field] for item in items]
            return list(self._schema.names)
        if kind == "project":
            return self._projected(message)
        if kind == "aggregate" and not len(message.grouping_expressions):
            return self._aggregated(message)
        raise self._refused("select")

    def _projected(self, message: Message) -> list[str]:
        columns = self._columns(message.input)
        values = self._values(columns)
        for each in message.expressions:
            expression = values(each)
            columns = [
                *columns,
                expression.name if isinstance(expression, Column) else self._part(expression),
            ]
        if message.common.HasField("emit"):
            columns = [columns[i] for i in message.common.emit.output_mapping]
        return columns

    def _aggregated(self, message: Message) -> list[str]:
        values = self._values(self._columns(message.input))
        names: dict[str, Expr] = {}
        items, results = Aggregation(message, values, self._functions).items(())
        for own_items, item in items:
            name = _PART.format(len(self._parts) + len(self._aggregates))
            self._aggregates[name] = item.rewritten(lambda part: replace_columns(part, self._parts))
            names[own_items] = Column(name)
        replaced = [replace_columns(each, names) for each in results]
        return [each.name if isinstance(each, Column) else self._part(each) for each in replaced]

    def _part(self, expression: Expr) -> str:
        name = _PART.format(len(self._parts) + len(self._aggregates))
        self._parts[name] = replace_columns(expression, self._parts)
        return name

    def _values(self, columns: list[str]) -> Values:
        return Values(self._functions, columns, lambda: self._typed(columns))

    def _typed(self, columns: list[str]) -> pa.Schema:
        """The schema of columns and parts."""
        node: Node = self._node
        if self._aggregates:
            node = plan_group(node, (), self._aggregates)
        fields = []
        for name in dict.fromkeys(columns):
            if name in self._parts:
                over = node if self._parts[name].columns() & {*self._aggregates} else self._node
                fields.append(project(over, [(name, self._parts[name])], "sql_expr()").schema[0])
            else:
                schema = node.schema if name in self._aggregates else self._schema
                fields.append(schema.field(name))
        return pa.schema(fields)
