"""Window functions of a Substrait plan as ours. What its messages leave out, a FILTER and IGNORE
NULLS, stands in the arguments."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import TYPE_CHECKING, Any, TypeGuard

import pyarrow as pa

from crossdock.expressions import window_expressions
from crossdock.expressions.aggregates import OF_PARTITIONS, Aggregate, list_agg
from crossdock.expressions.expression import Call, Expr, Literal, identity, when
from crossdock.expressions.free_functions import coalesce
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import (
    EXCLUSIONS,
    Months,
    Windowed,
    WindowFunction,
    replace_columns,
)
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.rewritten import (
    DISTINCT_MARK,
    EXCLUDE_MARK,
    GROUPS_MARK,
    HIDDEN,
    INTERVAL_MARK,
    MILLION,
    MONTHS_MARK,
    RANGE_MARK,
    REAL_MARK,
)
from crossdock.sql_frontend.translation.called_aggregates import (
    EXTREMES,
    HISTOGRAM,
    MARKED,
    SAME_WHEN_DISTINCT,
    Reading,
    called,
    of_marked,
)
from crossdock.sql_frontend.translation.folding import constant, folded
from crossdock.sql_frontend.translation.functions import is_null
from crossdock.sql_frontend.translation.intervals import Interval
from crossdock.sql_frontend.translation.messages import DIRECTIONS
from crossdock.sql_frontend.translation.pair_aggregates import COMPOSED, composed

if TYPE_CHECKING:
    from google.protobuf.message import Message

    Window = tuple[list[Expr], list[Order], dict[str, Any]]  # partition, order and frame

_ROWS = 1
_PLAIN: dict[str, Callable[[], WindowFunction]] = {
    "row_number": window_expressions.row_number,
    "rank": window_expressions.rank,
    "dense_rank": window_expressions.dense_rank,
    "percent_rank": window_expressions.percent_rank,
    "cume_dist": window_expressions.cume_dist,
}
# The ranks of rows that no order tells apart.
_OF_EQUALS = {"rank": 1, "dense_rank": 1, "percent_rank": 0.0, "cume_dist": 1.0}
_OF_ONE: dict[str, Callable[[Expr], Windowed]] = {
    "first_value": window_expressions.first_value,
    "last_value": window_expressions.last_value,
    "any_value": lambda x: window_expressions.first_value(x, ignore_nulls=True),
}
_OF_PLACES = frozenset(("first_value", "last_value", "nth_value", "lag", "lead"))
WINDOW_FUNCTIONS = frozenset((*_PLAIN, *_OF_ONE, "ntile", "lag", "lead", "nth_value"))
# Functions of whole partitions that of frames are those of lists.
_OF_LISTS = frozenset(("mode", "mad", "entropy"))
_OF_DISTINCT = {"sum": "list_sum", "avg": "list_mean"}  # of lists of the values of frames
_WITHOUT_FRAME = frozenset((*_PLAIN, "ntile", "lag", "lead"))


def window_value(message: Message, name: str, values: Reading) -> Expr:
    """The function `name` of a WindowFunction message, of expressions that `values` translates.
    SqlError for functions and frames that windows have not."""
    arguments: list[Any] = [values.any_of(argument.value) for argument in message.arguments]
    partition = [values.any_of(each) for each in message.partitions]
    marks, orders = [], []
    for each in message.sorts:
        by = folded(values.any_of(each.expr))
        if isinstance(by, Literal):
            marks.append(by.value)
        else:
            orders.append(Order(by, *DIRECTIONS[each.direction]))
    is_distinct = DISTINCT_MARK in marks and name not in SAME_WHEN_DISTINCT
    keys = [each for each in partition if not isinstance(each, Literal)]
    frame = {} if name in _WITHOUT_FRAME else _frame(message, bool(orders), values.any_of)
    exclude = next((each for each in EXCLUSIONS if EXCLUDE_MARK + each in marks), None)
    marks = [each for each in marks if not str(each).startswith(EXCLUDE_MARK)]
    if exclude is not None and name not in _WITHOUT_FRAME:
        frame = {**(frame or {"rows": (None, None)}), "exclude": exclude}
    window = (keys, orders, frame)
    if name in _OF_EQUALS and not orders:
        return Literal(_OF_EQUALS[name])
    if name == "first_value" and marks and marks[-1] in EXTREMES:
        by = orders[0].by if orders else Literal(marks[0])
        return _over(name, EXTREMES[marks[-1]](arguments[0], by), (keys, [], {}))
    if name == "first_value" and marks and (marks[-1] in MARKED or marks[-1] == HISTOGRAM):
        return _marked(marks, arguments[0], window)
    if is_distinct and name in _OF_DISTINCT:
        of = values.narrow(arguments[0]) if name == "sum" else arguments[0]
        lists = _over(name, list_agg(of).where(of.is_not_null()), window)
        return Call(_OF_DISTINCT[name], (Call("list_distinct", (lists,)),))
    if is_distinct and name != "count":
        called_as = [mark for mark in marks if mark in MARKED or mark == HISTOGRAM]
        shown = str(called_as[0]).removeprefix(HIDDEN) if called_as else name
        raise unsupported(
            f"{shown}(DISTINCT ...) over a window", word="distinct",
            try_=f"{shown}(DISTINCT ...) with GROUP BY in a query of its own, joined",
        )  # fmt: skip
    if name in COMPOSED:
        return _composed(name, arguments, window)
    if name == "count" and arguments and pa.types.is_nested(values.type_of(arguments[0])):
        arguments = [when(arguments[0].is_not_null()).then(1).otherwise(None)]
    if name not in WINDOW_FUNCTIONS:
        return _over(name, called(name, arguments, values, distinct=is_distinct), window)
    if arguments and name in _OF_PLACES and _is_chosen_of_one(arguments[0]):
        function = _function(name, [arguments[0].arguments[0], *arguments[1:]])
        assert isinstance(function, WindowFunction)
        function = replace(function, options=(*function.options, ("ignore_nulls", True)))
        return _over(name, function, window)
    return _over(name, _function(name, arguments), window)


def _over(name: str, function: Windowed, window: Window) -> Expr:
    keys, orders, frame = window
    if isinstance(function, Aggregate) and function.function in OF_PARTITIONS:
        if _is_whole(frame):
            frame = {"rows": (None, None)}
            orders = [] if function.orders else orders
        elif function.orders:
            raise unsupported(
                f"{name} over other than whole partitions", word="over",
                try_="OVER (PARTITION BY ...), without ORDER BY and frame",
            )  # fmt: skip
        if "exclude" in frame and function.function == "list_agg":
            raise unsupported(
                "EXCLUDE in a frame of lists, and of what is computed of lists", word="exclude",
                try_="string_agg, or a frame without EXCLUDE",
            )  # fmt: skip
    return function.over(*keys, order_by=orders or None, **frame)


def _is_whole(frame: dict[str, Any]) -> bool:
    """Whether a frame is all of its partition."""
    return all(bounds == (None, None) for bounds in frame.values())


def _marked(marks: list[Any], value: Expr, window: Window) -> Expr:
    """The function that the last mark names, with the share of a quantile before it."""
    mark, value = marks[-1], of_marked(marks[-1], value)
    function = mark.removeprefix(HIDDEN)
    is_ordered = function == "mode" and bool(window[1])  # the first of several in that order
    is_of_lists = function in _OF_LISTS and (is_ordered or not _is_whole(window[2]))
    if mark == HISTOGRAM or is_of_lists:
        values = list_agg(value).where(value.is_not_null())
        lists = _over(mark, values, window)
        if mark != HISTOGRAM:
            of_frames = Call(f"list_{function}", (lists,))
            return of_frames if function != "entropy" else coalesce(of_frames, 0.0)
        keys = Call("list_sort", (Call("list_distinct", (lists,)),), (False, False))
        return Call("map_of", (keys, Call("list_counts", (lists,))))
    shares = [float(mark) for mark in marks[:-1]]
    return _over(function, MARKED[mark](value, *shares), window)


def _composed(name: str, arguments: list[Any], window: Window) -> Expr:
    """What is computed from several aggregates, each over the window."""
    parts, whole = composed(name, arguments)
    columns = {part: _over(name, item, window) for part, item in parts.items()}
    return replace_columns(whole, columns)


def _is_chosen_of_one(value: Expr) -> TypeGuard[Call]:
    """Whether a value is written three times, which says IGNORE NULLS."""
    if not isinstance(value, Call) or value.function != "coalesce" or len(value.arguments) != 3:
        return False
    return len({identity(each) for each in value.arguments}) == 1


def _function(name: str, arguments: list[Expr]) -> Windowed:
    if name in _PLAIN:
        return _PLAIN[name]()
    if not arguments:
        raise sql_error(f"{name}() of nothing", try_=f"{name}(x)")
    if name == "ntile":
        return window_expressions.ntile(constant(arguments[0], "a number of parts of ntile"))
    if name in ("lag", "lead"):
        offset = constant(arguments[1], f"a distance of {name}") if len(arguments) > 1 else 1
        default = arguments[2] if len(arguments) > 2 else None
        if default is not None and is_null(default):
            default = None
        build = window_expressions.lag if name == "lag" else window_expressions.lead
        return build(arguments[0], offset, default)
    if name == "nth_value":
        if len(arguments) < 2:
            raise sql_error("nth_value takes a value and a place", try_="nth_value(x, 2)")
        place = constant(arguments[1], "a place of nth_value")
        return window_expressions.nth_value(arguments[0], place)
    return _OF_ONE[name](arguments[0])


def _frame(
    message: Message, is_ordered: bool, translated: Callable[[Message], Any]
) -> dict[str, Any]:
    """The frame of a function, as `over` takes it."""
    start = _bound(message.lower_bound, translated)
    end = _bound(message.upper_bound, translated)
    if message.bounds_type == _ROWS and (_is_marked(start) or _is_marked(end)):
        counts_groups = any(_is_of_groups(bound) for bound in (start, end))
        unit = "groups" if counts_groups else "range"
        return {unit: (_distance_of(start), _distance_of(end))}
    if message.bounds_type == _ROWS:
        return {} if start is None and end is None and not is_ordered else {"rows": (start, end)}
    if not is_ordered:  # all rows are equal in no order
        return {}
    return {"range": (start, end)}


def _is_marked(bound: Any) -> bool:
    return isinstance(bound, int) and abs(bound) >= RANGE_MARK


def _is_of_groups(bound: Any) -> bool:
    return _is_marked(bound) and GROUPS_MARK <= abs(bound) < INTERVAL_MARK


def _distance_of(bound: Any) -> Any:
    """A bound without the mark of RANGE or GROUPS."""
    if not _is_marked(bound):
        return bound
    distance = abs(bound)
    if _is_of_groups(bound):
        return (distance - GROUPS_MARK) * (1 if bound > 0 else -1)
    if distance >= REAL_MARK:
        return Decimal(distance - REAL_MARK) / MILLION * (1 if bound > 0 else -1)
    if distance >= MONTHS_MARK:
        return Months((distance - MONTHS_MARK) * (1 if bound > 0 else -1))
    if distance >= INTERVAL_MARK:
        moved = datetime.timedelta(microseconds=distance - INTERVAL_MARK)
        return moved if bound > 0 else -moved
    return (distance - RANGE_MARK) * (1 if bound > 0 else -1)


def _bound(message: Message, translated: Callable[[Message], Any]) -> Any:
    """Rows, or a distance of values, from the current row; None for the end of the partition."""
    kind = message.WhichOneof("kind")
    if kind in (None, "unbounded"):
        return None
    if kind == "current_row":
        return 0
    bound = getattr(message, kind)
    distance: Any = bound.offset
    for field in ("offset_expr", "range_offset"):
        if field in bound.DESCRIPTOR.fields_by_name and bound.HasField(field):
            distance = _distance(translated(getattr(bound, field)))
    return -distance if kind == "preceding" else distance


def _distance(value: Any) -> Any:
    if isinstance(value, Interval):
        if value.months:
            raise unsupported("a frame of months", word="range", try_="INTERVAL '30' DAY")
        return datetime.timedelta(days=value.days, microseconds=value.microseconds)
    return constant(value, "a bound of a frame")
