"""Subqueries that are values: their columns beside those of the rows that they stand in."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from crossdock.expressions import aggregates
from crossdock.expressions.expression import Call, Column, Expr, when
from crossdock.plan.nodes import GroupBy, Node, Project, Sort
from crossdock.sql_frontend.errors import unsupported
from crossdock.sql_frontend.translation.building import Builder, unused
from crossdock.sql_frontend.translation.joins import JoinTree, Table, beside
from crossdock.sql_frontend.translation.marks import marked
from crossdock.sql_frontend.translation.values import Values

if TYPE_CHECKING:
    from google.protobuf.message import Message


@dataclass(frozen=True)
class Translator:
    """What makes tables, nodes and expressions of the messages of one plan."""

    builder: Builder
    table: Callable[[Message], Table]
    node: Callable[[Table], Node]
    values: Callable[[Table], Values]


class Beside:
    """A table that gets a column for each subquery of its expressions."""

    def __init__(self, translator: Translator, table: Table) -> None:
        self._translator = translator
        self._table_columns = table.columns
        self.node = translator.node(table)
        self._columns: dict[bytes, Expr] = {}

    def column(self, message: Message) -> Expr:
        """The subquery's value on each row."""
        key = message.SerializeToString(deterministic=True)
        if key not in self._columns:
            self._columns[key] = self._added(message)
        return self._columns[key]

    def _added(self, message: Message) -> Expr:
        kind = message.WhichOneof("subquery_type")
        if kind == "scalar":
            return self._joined(*self._scalar(message))
        if kind == "set_predicate":
            return self._has_rows(message.set_predicate) > 0
        if kind == "in_predicate" and len(message.in_predicate.needles) == 1:
            return self._is_in(message.in_predicate)
        raise unsupported(
            "this subquery outside WHERE", try_="a condition in WHERE, or a LEFT JOIN"
        )

    def _joined(self, row: Node, column: str) -> Expr:
        """The column of the one row."""
        builder = self._translator.builder
        name = unused(column, self.node.schema.names)
        one = builder.project(row, [(name, Column(column))])
        self.node = builder.join(self.node, one, (), "inner")
        return Column(name)

    def _scalar(self, message: Message) -> tuple[Node, str]:
        """The one row of a scalar subquery, and its column: NULL where it gives none, and an error
        of the run where it gives several."""
        builder = self._translator.builder
        table = self._translator.table(message.scalar.input)
        node, column = self._translator.node(table), table.columns[0]
        if has_one_row(node):
            return node, column
        count = unused("rows of a subquery", (column,))
        row = builder.group(node, (), {column: aggregates.first(column), count: aggregates.count()})
        is_one = Call("one_row", (Column(count),)) == 1
        checked = when(is_one).then(Column(column)).otherwise(None)
        return builder.project(row, [(column, checked)]), column

    def _has_rows(self, message: Message) -> Expr:
        """The number of rows of EXISTS, of which one is enough."""
        builder = self._translator.builder
        node = self._translator.node(self._translator.table(message.tuples))
        some = builder.limit(node, 1, 0)
        return self._joined(builder.group(some, (), {"rows": aggregates.count()}), "rows")

    def _is_in(self, message: Message) -> Expr:
        translator = self._translator
        left = Table(JoinTree((self.node,)), self._table_columns)
        right = beside(translator.builder, left, translator.table(message.haystack))
        needle = translator.values(left)(message.needles[0])
        sides = self.node, translator.node(right)
        same = needle == Column(right.columns[0])
        self.node, mark = marked(translator.builder, sides, [same], "in")
        return Column(mark)


def has_one_row(node: Node) -> bool:
    """Whether the node gives one row whatever the data."""
    while not isinstance(node, GroupBy):
        if not isinstance(node, Project | Sort):
            return False
        if isinstance(node, Sort) and not node.keeps_all_rows:
            return False
        node = node.input
    return not node.keys
