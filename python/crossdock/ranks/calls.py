"""What a rank calls, as a line for its users to read that is the same in all ranks."""

from __future__ import annotations

import textwrap
import zlib
from collections.abc import Iterator

import pyarrow as pa

from crossdock.plan.nodes import Node, Scan, inputs_of
from crossdock.reports.display import headline

_READ_MOST = 160  # characters of the columns that a call reads


def call_text(name: str, node: Node | None) -> str:
    """A call for its users to read, and a number that differs for queries that look alike."""
    if node is None:
        return f"{name}()"
    whole = zlib.crc32("\n".join(_shape_lines(node)).encode())
    read = textwrap.shorten("; ".join(_columns_read(node)), _READ_MOST, placeholder=" ...")
    return f"{name}() of {headline(node)} over {read} [{whole:08x}]"


def _shape_lines(node: Node) -> Iterator[str]:
    if isinstance(node, Scan):
        columns = ", ".join(_columns_read(node))
        yield f"{node.source.kind} {columns} {node.predicate!r}"
    else:
        yield headline(node)
    for below in inputs_of(node):
        yield from _shape_lines(below)


def _columns_read(node: Node) -> Iterator[str]:
    """The columns of each table that is read, with the types that must be alike in all ranks."""
    if isinstance(node, Scan):
        schema = node.source.schema
        yield ", ".join(f"{name} {_kind(schema.field(name).type)}" for name in node.columns)
    for below in inputs_of(node):
        yield from _columns_read(below)


def _kind(data_type: pa.DataType) -> str:
    """A type, whatever integers a dictionary has: of pandas, they follow from its values."""
    if pa.types.is_dictionary(data_type):
        return f"dictionary of {data_type.value_type}"
    return str(data_type)
