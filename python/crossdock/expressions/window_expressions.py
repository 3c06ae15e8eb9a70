"""Window functions as expressions: a value per row, computed from other rows of its partition.

`xd.sum("x").over("k", order_by="t")` is an expression like any other; windows.py turns it into a
node below the projection or filter that it stands in.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from crossdock.errors import make_error
from crossdock.expressions.expression import Call, Column, Expr, Literal, lit
from crossdock.expressions.orders import Order, orders_of
from crossdock.familiar_options import answering_class
from crossdock.option_checks import integer_of, require_choice, require_flag

if TYPE_CHECKING:
    from collections.abc import Callable

MOST_OFFSET = (1 << 62) - 1


@dataclass(frozen=True)
class Frame:
    """The rows that a function sees from each row: from `start` to `end`, both included, counted in
    rows, in values of the one order key ("range"), or in groups of rows with equal order keys. 0 is
    the row itself, negative numbers come before it; None goes to the end of the partition.
    `exclude`, of them: "current row", its "group", or "ties", which are the group without the
    row."""

    unit: str
    start: Any
    end: Any
    exclude: str = ""

    def __repr__(self) -> str:
        excluded = f", exclude={self.exclude!r}" if self.exclude else ""
        return f"{self.unit}=({self.start!r}, {self.end!r}){excluded}"


@dataclass(frozen=True, order=True)
class Months:
    """A distance of dates and timestamps, in a range."""

    count: int


EXCLUSIONS = ("current row", "group", "ties")
WHOLE = Frame("rows", None, None)


@dataclass(frozen=True, eq=False)
class Scope:
    """What a function is computed over: partitions, the order in them, and the frame."""

    partition: tuple[Expr, ...] = ()
    orders: tuple[Order, ...] = ()
    frame: Frame | None = None


class Over(Expr):
    """A function over a window. `argument` is None where it takes none; `options` are those that
    differ from its defaults."""

    __slots__ = ("argument", "depth", "function", "options", "window")

    def __init__(
        self,
        function: str,
        argument: Expr | None,
        options: tuple[tuple[str, Any], ...],
        window: Scope,
    ) -> None:
        self.function = function
        self.argument = argument
        self.options = options
        self.window = window
        self.depth = 1 + max((part.depth for part in self.parts()), default=0)

    def parts(self) -> tuple[Expr, ...]:
        """The expressions that it reads."""
        result = () if self.argument is None else (self.argument,)
        return (*result, *self.window.partition, *(order.by for order in self.window.orders))

    def rewritten(self, change: Callable[[Expr], Expr]) -> Over:
        """The same with `change` applied to each of these expressions."""
        orders = tuple(replace(order, by=change(order.by)) for order in self.window.orders)
        partition = tuple(map(change, self.window.partition))
        argument = None if self.argument is None else change(self.argument)
        window = Scope(partition, orders, self.window.frame)
        return Over(self.function, argument, self.options, window)

    def columns(self) -> frozenset[str]:
        return frozenset[str]().union(*(part.columns() for part in self.parts()))

    def __repr__(self) -> str:
        shown = [] if self.argument is None else [repr(self.argument)]
        shown += [f"{name}={value!r}" for name, value in self.options]
        window = [repr(key) for key in self.window.partition]
        if self.window.orders:
            window.append(f"order_by=[{', '.join(map(repr, self.window.orders))}]")
        if self.window.frame is not None:
            window.append(repr(self.window.frame))
        return f"{self.function}({', '.join(shown)}).over({', '.join(window)})"


@answering_class
class Windowed(ABC):
    """What becomes an expression by `over`."""

    def over(
        self,
        *partition_by: str | Expr | Sequence[str | Expr],
        order_by: str | Expr | Order | Sequence[str | Expr | Order] | None = None,
        rows: tuple[int | None, int | None] | None = None,
        range: tuple[Any, Any] | None = None,
        groups: tuple[int | None, int | None] | None = None,
        exclude: str | None = None,
    ) -> Expr:
        """The function for each row, over the rows of its partition: those with the same values of
        `partition_by` (NULL is one), or all rows where nothing is given.

        order_by: columns, expressions, xd.asc() and xd.desc(), in the order of which a partition's
            rows stand. Aggregates and first_value, last_value and nth_value then see the rows up to
            the current one and those that are equal to it in the order; without an order, all.
        rows: other frames, `rows=(-2, 0)` from two rows before to the current one; None is the
            beginning or the end of the partition.
        range: the same by values of the one order key: `range=(-7, 0)`, for a date in days, for a
            timestamp as timedeltas.
        groups: the same in groups of rows that are equal in the order.
        exclude: what the frame leaves out: the "current row", the "group" of rows that are equal to
            it in the order, or "ties", which are that group without the row itself.
        Errors: OptionError; those of the relation's method where it is used.
        """
        function, argument, options = self._call()
        given = {"rows": rows, "range": range, "groups": groups}
        frames = [_frame(unit, bounds) for unit, bounds in given.items() if bounds is not None]
        if len(frames) > 1:
            raise make_error(
                "CD-105", "over() takes one frame", values=", ".join(map(repr, frames)),
                try_="rows=, range= or groups=",
            )  # fmt: skip
        frame = next(iter(frames), None)
        default = dict(options).get("default")
        options = tuple(option for option in options if option[0] != "default")
        orders = () if order_by is None else orders_of(_listed(order_by), "over")
        keys = partition_keys(partition_by)
        if exclude is not None:
            require_choice(exclude, EXCLUSIONS, "exclude")
            frame = replace(
                frame or (Frame("range", None, 0) if orders else WHOLE), exclude=exclude
            )
        scope = Scope(tuple(keys), *self._rows_of(orders, frame))
        value = Over(function, argument, options, scope)
        if default is None:
            return value
        window = Over(f"has_{function}", argument, options, scope)
        return Call("case", (window, value, default))

    def _rows_of(
        self, orders: tuple[Order, ...], frame: Frame | None
    ) -> tuple[tuple[Order, ...], Frame | None]:
        """The order and the frame that the function sees, where these are asked for."""
        return orders, frame

    @abstractmethod
    def _call(self) -> tuple[str, Expr | None, tuple[tuple[str, Any], ...]]: ...


@dataclass(frozen=True, eq=False)
class WindowFunction(Windowed):
    """A function of rows in order; `.over(...)` says which rows."""

    function: str
    argument: Expr | None = None
    options: tuple[tuple[str, Any], ...] = ()

    def _call(self) -> tuple[str, Expr | None, tuple[tuple[str, Any], ...]]:
        return self.function, self.argument, self.options

    def __repr__(self) -> str:
        shown = [] if self.argument is None else [repr(self.argument)]
        shown += [f"{name}={value!r}" for name, value in self.options]
        return f"{self.function}({', '.join(shown)})"


def row_number() -> WindowFunction:
    """The number of the row in its partition, from 1: int64. Rows that are equal in the order are
    numbered as they come in the input."""
    return WindowFunction("row_number")


def rank() -> WindowFunction:
    """1 and the number of rows that come before the row in the order: int64. Rows that are equal
    have one rank, and the next one is left out."""
    return WindowFunction("rank")


def dense_rank() -> WindowFunction:
    """The same without gaps: 1 and the number of different values before: int64."""
    return WindowFunction("dense_rank")


def percent_rank() -> WindowFunction:
    """(rank - 1) / (rows - 1), and 0 for a partition of one row: float64."""
    return WindowFunction("percent_rank")


def cume_dist() -> WindowFunction:
    """The share of the partition's rows that come before the row or are equal to it: float64."""
    return WindowFunction("cume_dist")


def ntile(n: int) -> WindowFunction:
    """The number, 1 to `n`, of the part that the row is in where the partition's rows are cut into
    `n` parts of equal size, the first ones a row longer where they do not come out even: int64."""
    return WindowFunction("ntile", None, (("n", _positive("ntile", n)),))


def lag(
    column: str | Expr, offset: int = 1, default: Any = None, *, ignore_nulls: bool = False
) -> WindowFunction:
    """The value `offset` rows before the row, in the order of its partition; `default` (a value, or
    an expression of the row) where there is no such row. ignore_nulls: only rows that have a value
    count."""
    return _moved("lag", column, offset, default, ignore_nulls)


def lead(
    column: str | Expr, offset: int = 1, default: Any = None, *, ignore_nulls: bool = False
) -> WindowFunction:
    """The same of the row `offset` rows behind."""
    return _moved("lead", column, offset, default, ignore_nulls)


def first_value(column: str | Expr, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the frame's first row, or of the first one that has a value."""
    return WindowFunction("first_value", _argument(column), _ignoring("first_value", ignore_nulls))


def last_value(column: str | Expr, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the frame's last row, or of the last one that has a value."""
    return WindowFunction("last_value", _argument(column), _ignoring("last_value", ignore_nulls))


def nth_value(column: str | Expr, n: int, *, ignore_nulls: bool = False) -> WindowFunction:
    """The value of the frame's row `n`, counted from 1; NULL where the frame has fewer."""
    options = (("n", _positive("nth_value", n)), *_ignoring("nth_value", ignore_nulls))
    return WindowFunction("nth_value", _argument(column), options)


def _moved(
    function: str, column: str | Expr, offset: int, default: Any, ignore_nulls: bool
) -> WindowFunction:
    number = integer_of(offset)
    if number is None or abs(number) > MOST_OFFSET:
        raise make_error(
            "CD-105", f"{function}(offset={offset!r}) is not a number of rows", try_="offset=1"
        )
    options: tuple[tuple[str, Any], ...] = (("n", number), *_ignoring(function, ignore_nulls))
    if default is not None:
        options += (("default", lit(default)),)
    return WindowFunction(function, _argument(column), options)


def _ignoring(function: str, ignore_nulls: bool) -> tuple[tuple[str, Any], ...]:
    return (("ignore_nulls", True),) if require_flag(ignore_nulls, "ignore_nulls", function) else ()


def _positive(function: str, n: int) -> int:
    number = integer_of(n)
    if number is None or not 1 <= number <= MOST_OFFSET:
        raise make_error(
            "CD-105", f"{function}({n!r}) is not a number of at least 1", try_=f"{function}(4)"
        )
    return number


def _argument(column: str | Expr) -> Expr:
    return Column(column) if isinstance(column, str) else lit(column)


def partition_keys(items: Sequence[object]) -> list[Expr]:
    """The columns of partitions: names and expressions, or lists of them. OptionError."""
    return [_key(key) for item in items for key in _listed(item)]


def _listed(items: Any) -> list[Any]:
    return list(items) if isinstance(items, list | tuple) else [items]


def _key(key: object) -> Expr:
    if isinstance(key, str):
        return Column(key)
    if isinstance(key, Expr) and not isinstance(key, Literal):
        return key
    raise make_error(
        "CD-105", f"over() takes names of columns and expressions, not {key!r}",
        try_='over("k", order_by="t")',
    )  # fmt: skip


def _frame(unit: str, bounds: Any) -> Frame:
    if not isinstance(bounds, tuple | list) or len(bounds) != 2:
        raise make_error(
            "CD-105", f"over({unit}={bounds!r}) is not a frame",
            try_=f"{unit}=(-2, 0), or {unit}=(None, 0) from the beginning of the partition",
        )  # fmt: skip
    start, end = bounds
    if unit != "range":
        start, end = (_offset(unit, bound) for bound in bounds)
    try:
        is_empty = start is not None and end is not None and start > end
    except TypeError:
        is_empty = False  # types that do not compare are refused with the type of the order key
    if is_empty:
        raise make_error(
            "CD-105", f"over({unit}={bounds!r}) has no rows", cause="it begins behind its end",
            try_=f"{unit}=({end!r}, {start!r})",
        )  # fmt: skip
    return Frame(unit, start, end)


def _offset(unit: str, bound: Any) -> int | None:
    if bound is None:
        return None
    number = integer_of(bound)
    if number is None or abs(number) > MOST_OFFSET:
        raise make_error(
            "CD-105", f"over({unit}=...) takes whole numbers or None, not {bound!r}",
            try_=f"{unit}=(-2, 0)",
        )  # fmt: skip
    return number


def replace_columns(expression: Expr, by_name: Mapping[str, Expr]) -> Expr:
    """The expression with the columns of these names replaced by what stands for them."""
    if isinstance(expression, Column):
        return by_name.get(expression.name, expression)
    if isinstance(expression, Call | Over):
        return expression.rewritten(lambda part: replace_columns(part, by_name))
    return expression
