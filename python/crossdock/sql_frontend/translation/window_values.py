"""Window functions of a Substrait plan as ours. What its messages leave out, a FILTER and IGNORE
NULLS, stands in the arguments."""

from __future__ import annotations

import datetime
from collections.abc import Callable
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeGuard

from crossdock.expressions import aggregates, window_expressions
from crossdock.expressions.expression import Call, Expr, Literal, identity
from crossdock.expressions.orders import Order
from crossdock.expressions.window_expressions import Windowed, WindowFunction
from crossdock.sql_frontend.errors import sql_error, unsupported
from crossdock.sql_frontend.text.rewritten import INTERVAL_MARK, RANGE_MARK
from crossdock.sql_frontend.translation.folding import constant
from crossdock.sql_frontend.translation.functions import is_null
from crossdock.sql_frontend.translation.intervals import Interval

if TYPE_CHECKING:
    from google.protobuf.message import Message

_DISTINCT = 2
_ROWS, _RANGE = 1, 2
DIRECTIONS = {  # descending, NULLs first
    1: (False, True), 2: (False, False), 3: (True, True), 4: (True, False),
}  # fmt: skip
_PLAIN: dict[str, Callable[[], WindowFunction]] = {
    "row_number": window_expressions.row_number,
    "rank": window_expressions.rank,
    "dense_rank": window_expressions.dense_rank,
    "percent_rank": window_expressions.percent_rank,
    "cume_dist": window_expressions.cume_dist,
}
_OF_ONE: dict[str, Callable[[Expr], Windowed]] = {
    "first_value": window_expressions.first_value,
    "last_value": window_expressions.last_value,
    "min": aggregates.min,
    "max": aggregates.max,
    "sum": aggregates.sum,
    "avg": aggregates.mean,
    "bool_and": aggregates.bool_and,
    "bool_or": aggregates.bool_or,
    "any_value": lambda x: window_expressions.first_value(x, ignore_nulls=True),
}
_OF_PLACES = frozenset(("first_value", "last_value", "nth_value", "lag", "lead"))
WINDOW_FUNCTIONS = frozenset((*_PLAIN, *_OF_ONE, "count", "ntile", "lag", "lead", "nth_value"))
_WITHOUT_FRAME = frozenset((*_PLAIN, "ntile", "lag", "lead"))


def window_value(message: Message, name: str, translated: Callable[[Message], Any]) -> Expr:
    """The function `name` of a WindowFunction message; `translated` gives its expressions, and
    Interval for those of a range. SqlError for functions and frames that windows have not."""
    if message.invocation == _DISTINCT:
        raise unsupported(f"{name}(DISTINCT ...) over a window", word="distinct")
    arguments = [translated(argument.value) for argument in message.arguments]
    partition = [translated(each) for each in message.partitions]
    orders = []
    for each in message.sorts:
        by = translated(each.expr)
        if not isinstance(by, Literal):
            orders.append(Order(by, *DIRECTIONS[each.direction]))
    keys = [each for each in partition if not isinstance(each, Literal)]
    frame = {} if name in _WITHOUT_FRAME else _frame(message, bool(orders), translated)
    if arguments and name in _OF_PLACES and _is_chosen_of_one(arguments[0]):
        function = _function(name, [arguments[0].arguments[0], *arguments[1:]])
        assert isinstance(function, WindowFunction)
        function = replace(function, options=(*function.options, ("ignore_nulls", True)))
        return function.over(*keys, order_by=orders or None, **frame)
    return _function(name, arguments).over(*keys, order_by=orders or None, **frame)


def _is_chosen_of_one(value: Expr) -> TypeGuard[Call]:
    """Whether a value is written three times, which says IGNORE NULLS."""
    if not isinstance(value, Call) or value.function != "coalesce" or len(value.arguments) != 3:
        return False
    return len({identity(each) for each in value.arguments}) == 1


def _function(name: str, arguments: list[Expr]) -> Windowed:
    if name not in WINDOW_FUNCTIONS:
        raise unsupported(f"the window function {name}", word=name)
    if name in _PLAIN:
        return _PLAIN[name]()
    if not arguments and name != "count":
        raise sql_error(f"{name}() of nothing", try_=f"{name}(x)")
    if name == "count":
        first = arguments[0] if arguments else Literal(1)
        is_row = isinstance(first, Literal) and not is_null(first)
        return aggregates.count() if is_row else aggregates.count(first)
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
    if message.bounds_type == _ROWS and (_is_range(start) or _is_range(end)):
        return {"range": (_distance_of(start), _distance_of(end))}
    if message.bounds_type == _ROWS:
        return {} if start is None and end is None and not is_ordered else {"rows": (start, end)}
    if message.bounds_type != _RANGE:
        raise unsupported("a frame in GROUPS", word="groups")
    if not is_ordered:  # all rows are equal in no order
        return {}
    return {"range": (start, end)}


def _is_range(bound: Any) -> bool:
    return isinstance(bound, int) and abs(bound) >= RANGE_MARK


def _distance_of(bound: Any) -> Any:
    """A bound without the mark of RANGE."""
    if not _is_range(bound):
        return bound
    distance = abs(bound)
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
