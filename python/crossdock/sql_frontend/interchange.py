"""Substrait plans as relations; plan_writing.py is the way back."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

from crossdock.errors import make_error
from crossdock.expressions.expression import Column
from crossdock.plan.nodes import Node
from crossdock.plan.planning import plan_project
from crossdock.query_dock import QueryDock
from crossdock.relation import Relation
from crossdock.sql_frontend.binding import Bound
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.plan_writing import substrait_messages
from crossdock.sql_frontend.queries import constant_rows, named
from crossdock.sql_frontend.translation.join_planning import JoinOrders
from crossdock.sql_frontend.translation.plans import Translation

if TYPE_CHECKING:
    from google.protobuf.message import Message


def from_substrait(
    dock: QueryDock, plan: bytes, find: Callable[[str], Relation | None]
) -> Relation:
    """The relation of a plan over tables that `find` has by their names. SqlError for what is no
    plan, or has what relations have not."""
    if dock.over_ranks() is not None:
        raise unsupported("a Substrait plan over ranks", try_="connect(ranks='off')")
    message = substrait_messages().plan.Plan()
    try:
        message.ParseFromString(bytes(plan))
    except Exception as error:  # noqa: BLE001 - of the library, which says no more of its kind
        raise sql_error(f"the bytes are no Substrait plan: {error}") from None
    if len(message.relations) != 1 or message.relations[0].WhichOneof("rel_type") != "root":
        raise sql_error("a Substrait plan of one root is read")
    root = message.relations[0].root
    nodes: dict[str, Node] = {}
    for read in _reads(root.input):
        name = read.named_table.names[-1]
        names = list(read.base_schema.names)
        relation = find(name)
        if relation is None:
            raise make_error("CD-512", f"no table {name!r}", try_=f"tables={{{name!r}: relation}}")
        if name in nodes and nodes[name].schema.names != names:
            raise unsupported(f"two forms of the table {name!r} in a Substrait plan")
        if name not in nodes:
            nodes[name] = _of_columns(relation._node, names, name)
    try:
        node, columns, shown = Translation(
            Bound(message, ()), nodes, JoinOrders(False, None), constant_rows
        ).run()
    except (KeyError, IndexError, AttributeError) as error:
        raise sql_error(f"the Substrait plan cannot be read: {error!r}") from None
    return Relation(dock, named(node, columns, shown))


def _of_columns(node: Node, names: list[str], table: str) -> Node:
    known = {name.lower(): name for name in node.schema.names}
    missing = [name for name in names if name.lower() not in known]
    if missing:
        raise make_error("CD-512", f"the table {table!r} has no column {missing[0]!r}")
    if node.schema.names == names:
        return node
    column_names = [
        known[name.lower()] if name not in node.schema.names else name for name in names
    ]
    items = [(name, Column(old)) for name, old in zip(names, column_names, strict=True)]
    return plan_project(node, items, "from_substrait()")


def _reads(message: Message) -> Iterator[Message]:
    """The tables that a plan reads, wherever they stand in it."""
    for field, value in message.ListFields():
        if field.message_type is None:
            continue
        for each in value if field.is_repeated else (value,):
            if field.message_type.name == "ReadRel":
                if each.WhichOneof("read_type") == "named_table":
                    yield each
            else:
                yield from _reads(each)
