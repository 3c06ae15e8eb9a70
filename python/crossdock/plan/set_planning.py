"""Plans unions, intersections and differences of relations, columns matched by name and brought to
common types."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error
from crossdock.expressions.arithmetic import DIGITS, decimal_digits
from crossdock.expressions.expression import Column
from crossdock.expressions.window_expressions import Over, Scope
from crossdock.option_checks import require_flag
from crossdock.plan.group_planning import plan_group
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import JoinOptions, Node, Union
from crossdock.plan.planning import plan_join, plan_project, require_columns
from crossdock.plan.windows import project

if TYPE_CHECKING:
    from crossdock.expressions.expression import Expr


def plan_union(nodes: Sequence[Node]) -> Union:
    """The rows of all nodes, columns matched by name. ColumnError, TypeError (types that have
    nothing in common)."""
    fields = _common_fields(nodes, "union()")
    parts = [node.inputs if isinstance(node, Union) else (node,) for node in nodes]
    inputs = [_widened(part, fields) for part in itertools.chain.from_iterable(parts)]
    return Union(tuple(inputs), pa.schema(fields))


def plan_kept(left: Node, right: Node, how: str, keep_all: bool, method: str) -> Node:
    """The rows of `left` that `right` has (how="semi") or has not ("anti"), NULL being a value.
    Each once, or, with keep_all, as often as SQL's ALL says. ColumnError, TypeError."""
    require_flag(keep_all, "all", method)
    fields = _common_fields([left, right], f"{method}()")
    left, right = _widened(left, fields), _widened(right, fields)
    names = [field.name for field in fields]
    keys = tuple((name, name) for name in names)
    if keep_all:
        number = unused_name("number", names)
        left, right = _numbered(left, names, number), _numbered(right, names, number)
        keys = (*keys, (number, number))
    else:
        left = plan_group(left, tuple((name, Column(name)) for name in names), {})
    kept = plan_join(left, right, keys, how, ("_right", None, JoinOptions(null_equals_null=True)))
    return plan_project(kept, [(name, Column(name)) for name in names], f"{method}()")


def _numbered(node: Node, names: list[str], number: str) -> Node:
    """`node` with the numbers of equal rows: the third of its kind is 3."""
    columns = [(name, Column(name)) for name in names]
    scope = Scope(tuple(column for _, column in columns))
    return project(node, [*columns, (number, Over("row_number", None, (), scope))], "row_number()")


def common_type(first: pa.DataType, other: pa.DataType) -> pa.DataType:
    """The type that holds the values of both as they are, or as floats where one is a float: times
    of the finer unit, instants in the zone of `first`, a date beside times as its midnight; None
    where there is none."""
    if first == other or pa.types.is_null(other):
        return first
    if pa.types.is_null(first):
        return other
    if pa.types.is_dictionary(first) or pa.types.is_dictionary(other):
        plain = [t.value_type if pa.types.is_dictionary(t) else t for t in (first, other)]
        return common_type(*plain)
    if pa.types.is_temporal(first) and pa.types.is_temporal(other):
        return _common_time(first, other)
    kinds = (_is_text, _is_bytes, _is_number)
    if not any(kind(first) and kind(other) for kind in kinds):
        return None
    if _is_text(first):
        return pa.large_string() if pa.large_string() in (first, other) else pa.string()
    if _is_bytes(first):
        return pa.large_binary() if pa.large_binary() in (first, other) else pa.binary()
    return _common_number(first, other)


def _common_time(first: Any, other: Any) -> pa.DataType:
    types = (first, other)
    dates = [each for each in types if pa.types.is_date(each)]
    stamps = [each for each in types if pa.types.is_timestamp(each)]
    if len(stamps) == 1 and len(dates) == 1:
        return stamps[0] if stamps[0].tz is None else None
    if len(stamps) == 2 and (first.tz is None) == (other.tz is None):
        return pa.timestamp(_finer_unit(first, other), first.tz)
    if len(dates) == 2:
        return pa.date64()
    if all(map(pa.types.is_time, types)):
        unit = _finer_unit(first, other)
        return pa.time64(unit) if unit in ("us", "ns") else pa.time32(unit)
    if all(map(pa.types.is_duration, types)):
        return pa.duration(_finer_unit(first, other))
    return None


def _finer_unit(first: Any, other: Any) -> str:
    return str(max(first.unit, other.unit, key=("s", "ms", "us", "ns").index))


def _common_number(first: Any, other: Any) -> pa.DataType:
    if pa.types.is_floating(first) or pa.types.is_floating(other):
        both = pa.types.is_floating(first) and pa.types.is_floating(other)
        return max(first, other, key=_bits) if both else pa.float64()
    if pa.types.is_decimal(first) or pa.types.is_decimal(other):
        (p1, s1), (p2, s2) = decimal_digits(first), decimal_digits(other)
        scale = max(s1, s2)
        return pa.decimal128(min(DIGITS, max(p1 - s1, p2 - s2) + scale), scale)
    signed = [pair for pair in (first, other) if pa.types.is_signed_integer(pair)]
    if len(signed) != 1:
        return max(first, other, key=_bits)
    unsigned = other if first is signed[0] else first
    bits = max(_bits(signed[0]), 2 * _bits(unsigned))
    return {16: pa.int16(), 32: pa.int32(), 64: pa.int64()}.get(bits, pa.decimal128(20, 0))


def _bits(data_type: pa.DataType) -> int:
    return int(data_type.bit_width)


def _is_text(data_type: pa.DataType) -> bool:
    return data_type in (pa.string(), pa.large_string(), pa.string_view())


def _is_bytes(data_type: pa.DataType) -> bool:
    return data_type in (pa.binary(), pa.large_binary(), pa.binary_view())


def _is_number(data_type: pa.DataType) -> bool:
    kinds = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal)
    return True in (is_kind(data_type) for is_kind in kinds) and data_type.bit_width <= 128


def _common_fields(nodes: Sequence[Node], method: str) -> list[pa.Field]:
    """The columns of the first node, each of a type that fits all."""
    first = nodes[0].schema
    fields = list(first)
    for number, node in enumerate(nodes[1:], 2):
        where = f"relation {number} of {method}"
        require_columns(first.names, node.schema, where)
        require_columns(node.schema.names, first, f"the first relation of {method}")
        for i, field in enumerate(fields):
            other = node.schema.field(field.name)
            common = common_type(field.type, other.type)
            if common is None:
                raise _differing(field, other, where)
            fields[i] = field.with_type(common).with_nullable(field.nullable or other.nullable)
    return fields


def _widened(node: Node, fields: Sequence[pa.Field]) -> Node:
    """`node` with columns of the types of `fields`."""
    if all(node.schema.field(field.name).type == field.type for field in fields):
        return node
    items = [(field.name, _as_type(node, field)) for field in fields]
    return plan_project(node, items, "union()")


def _as_type(node: Node, field: pa.Field) -> Expr:
    column = Column(field.name)
    same = node.schema.field(field.name).type == field.type
    return column if same else column.cast(field.type)


def _differing(field: pa.Field, other: pa.Field, where: str) -> CrossdockError:
    return make_error(
        "CD-507",
        f"column {field.name!r} of {where} has another type than in the first",
        types=f"first {field.type}, here {other.type}",
        limits="numbers and times become the type that holds both, strings the larger kind",
        try_=f"with_columns({field.name}=xd.col({field.name!r}).cast({str(field.type)!r}))",
    )
