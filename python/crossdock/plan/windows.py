"""Plans window functions: those inside expressions become columns of nodes below, one node for all
that have the same partitions and order, so that rows are sorted once for them.
"""

from __future__ import annotations

import datetime
import decimal
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from typing import Any

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error
from crossdock.expressions.aggregates import (
    COUNTS,
    IGNORE_NULLS,
    Aggregate,
    aggregate_type,
    argument_of,
)
from crossdock.expressions.expression import Call, Column, Expr, Literal, identity
from crossdock.expressions.orders import Order
from crossdock.expressions.result_types import TypesOver
from crossdock.expressions.window_expressions import (
    Frame,
    Months,
    Over,
    Scope,
    Windowed,
    partition_keys,
)
from crossdock.plan.lowering import unused_name
from crossdock.plan.nodes import FrameList, FrameLists, Node, Project, Window, WindowItem
from crossdock.plan.planning import plan_filter, plan_project, require_columns
from crossdock.values.arrow_kinds import is_moment
from crossdock.values.engine_types import is_late
from crossdock.values.type_checks import require_aggregable, require_groupable, require_sortable

_RANKS = {
    "row_number": pa.int64(),
    "rank": pa.int64(),
    "dense_rank": pa.int64(),
    "percent_rank": pa.float64(),
    "cume_dist": pa.float64(),
    "ntile": pa.int64(),
    "has_lag": pa.bool_(),
    "has_lead": pa.bool_(),
}
_NEED_ORDER = frozenset(("rank", "dense_rank", "percent_rank", "cume_dist"))
_VALUES = frozenset(("lag", "lead", "first_value", "last_value", "nth_value"))
_AGGREGATES = frozenset(
    ("count", "sum", "mean", "var", "stddev", "min", "max", "bool_and", "bool_or", "bit_and",
     "bit_or", "bit_xor", "product", "skewness", "kurtosis", "kurtosis_pop")
)  # fmt: skip
_FIRST = frozenset(("first", "last", "any"))
# Functions of groups that see frames, as the engine has them.
_OF_VALUES = {
    "count_distinct": "count_distinct", "approx_distinct": "count_distinct",
    "quantile": "quantile_exact", "quantile_exact": "quantile_exact",
    "quantile_disc": "quantile_disc",
}  # fmt: skip
_VALUES_OF_FRAMES = frozenset(("first_value", "last_value", "nth_value"))
_FRAMED = _AGGREGATES | _VALUES_OF_FRAMES | _OF_VALUES.keys() | {"list_agg"}
_MOST_INTEGER = (1 << 63) - 1


def project(node: Node, items: Sequence[tuple[str, Expr]], where: str) -> Project:
    """`plan_project` of expressions in which window functions may stand. Errors: those of
    plan_project; TypeError and OptionError for functions that do not go with their arguments."""
    below, plain = _without_windows(node, [item for _, item in items], where)
    names = [name for name, _ in items]
    return plan_project(below, list(zip(names, plain, strict=True)), where)


def filtered(node: Node, predicates: Sequence[Expr]) -> Node:
    """`plan_filter` of the same: the filter sees each function over all rows."""
    below, plain = _without_windows(node, predicates, "filter()")
    kept = plan_filter(below, plain)
    if below is node:
        return kept
    return plan_project(kept, [(name, Column(name)) for name in node.schema.names], "filter()")


def keys_of(keys: object) -> list[Expr]:
    """The columns of partitions from names and expressions. OptionError."""
    return partition_keys([keys])


def first_rows(node: Node, keys: Sequence[Expr], orders: tuple[Order, ...], rows: int) -> Node:
    """The first `rows` rows of each partition in order."""
    number = Over("row_number", None, (), Scope(tuple(keys), orders))
    return filtered(node, [number <= rows])


def _without_windows(
    node: Node, expressions: Sequence[Expr], where: str
) -> tuple[Node, list[Expr]]:
    """`node` with a column for each window function, and the expressions over these columns."""
    asked: dict[object, Over] = {}
    for expression in expressions:
        if isinstance(expression, Literal) and isinstance(expression.value, Windowed):
            raise make_error(
                "CD-105", f"{expression.value!r} in {where} has no over(): it needs rows",
                try_='over("k") behind it, or agg(name=...) for one row of all',
            )  # fmt: skip
        for over in functions_in(expression):
            asked.setdefault(identity_of(over), over)
    if not asked:
        return node, list(expressions)
    columns: dict[object, Column] = {}
    scopes = _scopes(asked.values())
    position = ""
    if len(scopes) > 1:
        node, position = _with_positions(node)
    for number, scope in enumerate(scopes):
        # The first one finds the rows as they come; those behind it, in the order of another.
        window, lists = _planned(node, scope, columns, where)
        node = replace(window, position=position if number else "")
        node = _with_lists(node, lists) if lists else node
    return node, [replaced(expression, columns) for expression in expressions]


def _with_lists(node: Window, lists: list[FrameList]) -> FrameLists:
    fields = [pa.field(each.name, pa.list_(node.schema.field(each.column).type)) for each in lists]
    return FrameLists(node, tuple(lists), pa.schema([*node.schema, *fields]))


def _with_positions(node: Node) -> tuple[Window, str]:
    """`node` with the number of each row, by which rows that are equal in an order keep theirs."""
    name = unused_name("\x01position", node.schema.names)
    item = WindowItem("row_number", "", (), None, name)
    schema = pa.schema([*node.schema, pa.field(name, pa.int64(), nullable=False)])
    return Window(node, (), (), (item,), schema), name


def functions_in(expression: Expr) -> list[Over]:
    """The functions in an expression, those that stand in no other one."""
    if isinstance(expression, Over):
        return [expression]
    if not isinstance(expression, Call):
        return []
    return [over for argument in expression.arguments for over in functions_in(argument)]


def _scopes(functions: Iterable[Over]) -> list[list[Over]]:
    """The functions by partitions and order."""
    scopes: dict[tuple[Any, Any], list[Over]] = {}
    for over in functions:
        scopes.setdefault(_scope_identity(over), []).append(over)
    # Aggregates of whole partitions go along with functions that order the same partitions.
    ordered = {identity[0]: members for identity, members in scopes.items() if identity[1]}
    for (partition, orders), members in list(scopes.items()):
        host = ordered.get(partition)
        if orders or host is None or not all(map(_sees_whole_partition, members)):
            continue
        host += scopes.pop((partition, orders))
    return list(scopes.values())


def _sees_whole_partition(over: Over) -> bool:
    """Whether the order of rows says nothing to it."""
    return over.function in _AGGREGATES and over.window.frame is None


def _planned(
    node: Node, functions: list[Over], columns: dict[object, Column], where: str
) -> tuple[Window, list[FrameList]]:
    """A window over `node` for functions of one scope, and lists of rows of it; notes the column of
    each."""
    for over in functions:
        require_plain(over, node.schema, where)
    names = _Names(node)
    asked = _Functions(names, TypesOver(node.schema))
    for over in functions:
        columns[identity_of(over)] = Column(asked.add(over))
    scope = functions[0].window  # what has no order comes last
    partition = tuple(dict.fromkeys(names.column(key) for key in scope.partition))
    orders: dict[str, Order] = {}
    for order in scope.orders:
        column = names.column(order.by)
        orders.setdefault(column, replace(order, by=Column(column)))
    below = names.input_node()
    require_groupable(below.schema.field(name) for name in partition)
    require_sortable(below.schema.field(name) for name in orders)
    schema = pa.schema([*below.schema, *asked.fields])
    window = Window(below, partition, tuple(orders.values()), tuple(asked.items), schema)
    return window, asked.lists


def require_plain(over: Over, schema: pa.Schema, where: str) -> None:
    """ExpressionError where a function is computed from another window function, ColumnError where
    it reads what is no column."""
    if any(map(functions_in, over.parts())):
        raise make_error(
            "CD-504", f"{over!r} is computed from another window function",
            try_="with_columns() for the inner one, and the outer one over its column",
        )  # fmt: skip
    for part in over.parts():
        require_columns(sorted(part.columns()), schema, where)


class _Names:
    """The columns that a window reads: those of its input, and computed ones."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._taken = set(node.schema.names)
        self._computed: dict[object, tuple[str, Expr]] = {}

    def unused(self, name: str) -> str:
        unused_column = unused_name(name, self._taken)
        self._taken.add(unused_column)
        return unused_column

    def column(self, expression: Expr) -> str:
        if isinstance(expression, Column):
            return expression.name
        known = identity(expression)
        if known not in self._computed:
            self._computed[known] = self.unused(repr(expression)), expression
        return self._computed[known][0]

    def input_node(self) -> Node:
        if not self._computed:
            return self._node
        items: list[tuple[str, Expr]] = [(name, Column(name)) for name in self._node.schema.names]
        return plan_project(self._node, [*items, *self._computed.values()], "over()")


class _Functions:
    """The functions of one window as the engine takes them, and the lists of its rows."""

    def __init__(self, names: _Names, type_of: Callable[[Expr], pa.DataType]) -> None:
        self.items: list[WindowItem] = []
        self.fields: list[pa.Field] = []
        self.lists: list[FrameList] = []
        self._names = names
        self._type_of = type_of

    def add(self, over: Over) -> str:
        """The column that has the values of a function."""
        argument = argument_of(over.function, over.argument, self._type_of)
        typed = Over(over.function, argument, over.options, over.window)
        field, frame = _checked(typed, self._type_of)
        frame = None if frame is None else self._with_targets(frame, over.window.orders)
        name = self._names.unused(repr(over))
        column = "" if argument is None else self._names.column(argument)
        if over.function == "list_agg":
            ends = [self._frame_end(end, name, frame) for end in ("frame_begin", "frame_end")]
            ignores = IGNORE_NULLS in over.options
            self.lists.append(FrameList(name, column, ends[0], ends[1], ignores))
        else:
            function, options = _as_engine(over, field.type)
            self.items.append(WindowItem(function, column, options, frame, name))
            self.fields.append(field.with_name(name))
        return name

    def _frame_end(self, function: str, name: str, frame: Frame | None) -> str:
        end = self._names.unused(f"{function} of {name}")
        self.items.append(WindowItem(function, "", (), frame, end))
        self.fields.append(pa.field(end, pa.int64(), nullable=False))
        return end

    def _with_targets(self, frame: Frame, orders: tuple[Order, ...]) -> Frame:
        """Months differ in length: what a range of them reaches to is a column."""
        start, end = (self._target(bound, orders) for bound in (frame.start, frame.end))
        return replace(frame, start=start, end=end)

    def _target(self, bound: Any, orders: tuple[Order, ...]) -> Any:
        if not isinstance(bound, Months):
            return bound
        count = -bound.count if orders[0].descending else bound.count
        return self._names.column(orders[0].by.add_months(count))


def _as_engine(over: Over, data_type: pa.DataType) -> tuple[str, tuple[tuple[str, Any], ...]]:
    """The engine's name of a function whose values are of a type, and its options."""
    function, options = over.function, over.options
    if function in _FIRST:
        takes_nulls = ("ignore_nulls", False) in options
        name = "last_value" if function == "last" else "first_value"
        return name, () if takes_nulls else (("ignore_nulls", True),)
    if function in ("quantile", "quantile_exact") and is_moment(data_type):
        return "quantile_disc", options
    return _OF_VALUES.get(function, function), options


def _checked(over: Over, type_of: Callable[[Expr], pa.DataType]) -> tuple[pa.Field, Frame | None]:
    """The field of a function's values, and its frame as the engine takes it."""
    function, scope = over.function, over.window
    if function in _NEED_ORDER and not scope.orders:
        raise make_error(
            "CD-105", f"{over!r} needs an order", try_=f'{function}().over("k", order_by="t")'
        )
    # In an order that others ask for, what has none still sees all rows.
    frame = None if scope.orders or function not in _FRAMED else Frame("rows", None, None)
    if scope.frame is not None:
        if function not in _FRAMED and function not in _FIRST and function != "string_agg":
            raise make_error(
                "CD-105", f"{over!r} has no frame: {function} sees its whole partition",
                try_="over() without rows=, range= and groups=",
            )  # fmt: skip
        frame = _engine_frame(over, scope.frame, type_of)
    if function in _RANKS:
        return pa.field(function, _RANKS[function], nullable=False), frame
    data_type = None if over.argument is None else type_of(over.argument)
    if function == "string_agg":  # without a frame of a whole partition, in one of its rows
        return pa.field(function, _joined_type(over, data_type)), frame
    if function == "list_agg":
        if frame is not None and frame.exclude:
            raise make_error(
                "CD-105", f"{over!r} would leave rows out of the frames of lists",
                try_="over() without exclude=, or string_agg",
            )  # fmt: skip
        return pa.field(function, pa.list_(data_type)), frame
    if function in _OF_VALUES:
        is_count = function in COUNTS
        return pa.field(function, _type_of_values(over, data_type), nullable=not is_count), frame
    if function in _VALUES or function in _FIRST:
        if is_late(data_type):
            raise _not_taken(over, data_type)
        return pa.field(function, data_type), frame
    assert function in _AGGREGATES, function
    if ("floats", "exact") in over.options:
        raise make_error(
            "CD-105", f"{over!r} would add without rounding, which windows do not",
            try_="floats='fast'",
        )  # fmt: skip
    aggregate = Aggregate(function, over.argument, over.options)
    result = aggregate_type(aggregate, data_type)
    if data_type is not None:
        named = pa.field(repr(over.argument), data_type)
        require_aggregable([(function, dict(over.options), named)])
    return pa.field(function, result, nullable=function != "count"), frame


def _type_of_values(over: Over, data_type: pa.DataType) -> pa.DataType:
    if over.function in COUNTS or over.function == "quantile_disc" or is_moment(data_type):
        if is_late(data_type):
            raise _not_taken(over, data_type)
        require_sortable([pa.field(repr(over.argument), data_type)])
        return pa.int64() if over.function in COUNTS else data_type
    return aggregate_type(Aggregate(over.function, over.argument, over.options), data_type)


def _joined_type(over: Over, data_types: pa.DataType) -> pa.DataType:
    plain = data_types.value_type if pa.types.is_dictionary(data_types) else data_types
    if plain in (pa.string(), pa.large_string(), pa.string_view()):
        return pa.large_string() if plain == pa.large_string() else pa.string()
    raise make_error(
        "CD-102", f"{over!r} needs strings, not {data_types}", try_="cast('string') of the column"
    )


def _engine_frame(over: Over, frame: Frame, type_of: Callable[[Expr], pa.DataType]) -> Frame:
    if frame.unit == "rows":
        return frame
    orders = over.window.orders
    if not orders:
        raise make_error(
            "CD-105", f"{over!r} needs an order for its frame", try_='order_by="t", or rows='
        )
    if frame.unit == "groups" or all(
        bound is None or bound == 0 for bound in (frame.start, frame.end)
    ):
        return frame
    if len(orders) > 1:
        raise make_error(
            "CD-105", f"{over!r} has a range of the values of several order keys",
            try_="one key in order_by, or rows= or groups=",
        )  # fmt: skip
    data_type = type_of(orders[0].by)
    start, end = (_range_offset(over, bound, data_type) for bound in (frame.start, frame.end))
    return replace(frame, start=start, end=end)


def _range_offset(over: Over, bound: Any, data_type: pa.DataType) -> Any:
    """A bound of a range as the engine takes it: in units of the key, but for months."""
    if bound is None:
        return None
    if isinstance(bound, Months) and (
        pa.types.is_date(data_type) or pa.types.is_timestamp(data_type)
    ):
        return bound
    try:
        offset = _in_units(bound, data_type)
    except (TypeError, ValueError, decimal.InvalidOperation):
        offset = None
    if offset is not None and (isinstance(offset, float) or abs(offset) <= _MOST_INTEGER):
        return offset
    raise make_error(
        "CD-102", f"the range of {over!r} cannot be {bound!r} of a key of type {data_type}",
        limits="whole numbers for integers and for dates, in days; timedeltas for times; numbers "
        "for floats and decimals",
        try_="rows=(-2, 0), which counts rows",
    )  # fmt: skip


def _in_units(bound: Any, data_type: pa.DataType) -> int | float | None:
    if pa.types.is_floating(data_type):
        number = float(bound)
        return None if number != number else number
    if pa.types.is_decimal(data_type):
        scaled = decimal.Decimal(str(bound)).scaleb(data_type.scale)
        return int(scaled) if scaled == scaled.to_integral_value() else None
    if pa.types.is_date(data_type):
        days = bound.days if isinstance(bound, datetime.timedelta) else bound
        if isinstance(bound, datetime.timedelta) and bound != datetime.timedelta(days=days):
            return None
        whole = _whole(days)
        return whole * 86_400_000 if whole is not None and data_type == pa.date64() else whole
    if isinstance(bound, datetime.timedelta):
        if not (pa.types.is_temporal(data_type) and hasattr(data_type, "unit")):
            return None
        return int(pa.scalar(bound, pa.duration("us")).cast(pa.duration(data_type.unit)).value)
    if bound == 0 or pa.types.is_integer(data_type):
        return _whole(bound)
    return None


def _whole(number: Any) -> int | None:
    if isinstance(number, bool) or not isinstance(number, int | float) or number != int(number):
        return None
    return int(number)


def _not_taken(over: Over, given: pa.DataType) -> CrossdockError:
    return make_error(
        "CD-102", f"{over!r} of a column of type {given} is not computed",
        limits="columns of nested types are only carried along",
        try_="row_number() and a join of the rows that it names",
    )  # fmt: skip


def replaced(expression: Expr, columns: dict[object, Column]) -> Expr:
    """The expression with each function that has a column replaced by it."""
    if isinstance(expression, Over):
        return columns.get(identity_of(expression), expression)
    if not isinstance(expression, Call):
        return expression
    return expression.rewritten(lambda part: replaced(part, columns))


def identity_of(over: Over) -> object:
    """What functions have in common that give the same values."""
    argument = None if over.argument is None else _nested_identity(over.argument)
    options = tuple((name, repr(value)) for name, value in over.options)
    return over.function, argument, options, over.window.frame, _scope_identity(over)


def _scope_identity(over: Over) -> tuple[Any, Any]:
    orders = tuple(
        (_nested_identity(order.by), order.descending, order.nulls_first)
        for order in over.window.orders
    )
    return frozenset(map(_nested_identity, over.window.partition)), orders


def _nested_identity(expression: Expr) -> object:
    return repr(expression) if functions_in(expression) else identity(expression)
