"""Aggregates: what `agg` takes, and the type each one gives. The engine computes them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, NoReturn, TypeAlias

import pyarrow as pa

from crossdock.errors import CrossdockError, make_error, unknown_choice
from crossdock.expressions.expression import (
    Alias,
    Call,
    Column,
    Expr,
    Literal,
    condition_of,
    identity,
)
from crossdock.expressions.orders import Order, orders_of
from crossdock.expressions.window_expressions import WHOLE, Frame, Windowed
from crossdock.option_checks import integer_of, require_flag, require_text
from crossdock.values.arrow_kinds import is_moment, is_number

Orders: TypeAlias = str | Expr | Order | Sequence[str | Expr | Order]

# Functions that give a number of rows: never NULL.
COUNTS = frozenset(("count", "count_distinct", "approx_distinct"))
# Functions that give the value of one row, for which the order of rows matters.
OF_ROWS = frozenset(("first", "last", "arg_min", "arg_max"))
# Those and the one that takes the first of several values.
BY_POSITION = OF_ROWS | {"mode"}
# Functions that of whole partitions are computed as groups, and those of them that see frames, too.
OF_PARTITIONS = frozenset(
    ("count_distinct", "mode", "entropy", "mad", "approx_distinct", "quantile", "quantile_exact",
     "quantile_disc", "arg_min", "arg_max", "string_agg", "list_agg")
)  # fmt: skip
_OF_FRAMES = OF_PARTITIONS - {"arg_min", "arg_max", "mode", "entropy", "mad"}
IGNORE_NULLS = ("ignore_nulls", True)  # of list_agg over windows
_OF_BITS = frozenset(("bit_and", "bit_or", "bit_xor"))
_SAME_TYPE = BY_POSITION | {"any", "min", "max"}
_OF_NUMBERS = _OF_BITS | {
    "sum", "product", "mean", "var", "stddev", "quantile", "quantile_exact", "quantile_disc",
    "skewness", "kurtosis", "kurtosis_pop", "mad",
}  # fmt: skip
_FLOAT_SUMS = ("fast", "exact")


@dataclass(frozen=True, eq=False)
class Aggregate(Windowed):
    """`function` of the values of `argument` on the rows for which `condition` is true; count of
    no argument counts rows. `options` are those of the function that differ from its defaults."""

    function: str
    argument: Expr | None
    options: tuple[tuple[str, Any], ...] = ()
    condition: Expr | None = None
    orders: tuple[Order, ...] = ()  # of the rows, for functions of which it matters

    def where(self, condition: Expr | str) -> Aggregate:
        """The same over the rows for which `condition` is true (NULL is not), and all earlier
        conditions: `xd.sum("price").where(xd.col("mode") == "AIR")`, or `.where("mode = 'AIR'")`,
        which is SQL."""
        added = condition_of(condition)
        whole = added if self.condition is None else self.condition & added
        return replace(self, condition=whole)

    def alias(self, name: str) -> Alias:
        """The aggregate as a column of that name: `agg(xd.sum("price").alias("total"))`."""
        return Alias(self, require_text(name, "alias()", '.alias("total")'))

    def _refused(self, other: object) -> NoReturn:
        del other
        raise make_error(
            "CD-504", f"{self!r} is computed with only behind agg(), as a column, or in SQL",
            try_='agg(share="sum(price) / count(*)")',
        )  # fmt: skip

    __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = _refused
    __truediv__ = __rtruediv__ = __lt__ = __le__ = __gt__ = __ge__ = _refused

    def _call(self) -> tuple[str, Expr | None, tuple[tuple[str, Any], ...]]:
        argument = self.argument
        if self.function == "list_agg" and argument is not None and self.condition is not None:
            if identity(self.condition) == identity(argument.is_not_null()):
                return self.function, argument, (*self.options, IGNORE_NULLS)
            raise make_error(
                "CD-105", f"{self!r} over a window would have NULL for what is left out",
                try_='list_agg("x").over("k") of filtered rows, joined',
            )  # fmt: skip
        if self.condition is not None:  # what is left out is NULL, which no aggregate counts
            kept = Literal(1) if argument is None else argument
            argument = Call("case", (self.condition, kept, Literal(None)))
        return self.function, argument, self.options

    def _rows_of(
        self, orders: tuple[Order, ...], frame: Frame | None
    ) -> tuple[tuple[Order, ...], Frame | None]:
        if not self.orders and self.function not in OF_PARTITIONS:
            return orders, frame
        if frame is None:
            frame = Frame("range", None, 0) if orders else WHOLE
        is_whole = (frame.start, frame.end, frame.exclude) == (None, None, "")
        if is_whole and not (orders and self.orders):
            return self.orders or orders, WHOLE
        if self.function in _OF_FRAMES and not self.orders:
            return orders, frame
        raise make_error(
            "CD-105", f"{self!r} is computed over whole partitions, in one order",
            try_='over("k"), or over("k", order_by="t", rows=(None, None))',
        )  # fmt: skip

    def columns(self) -> frozenset[str]:
        """Names of the columns it reads."""
        return frozenset().union(*(part.columns() for part in self.expressions()))

    def expressions(self) -> tuple[Expr, ...]:
        """The argument, the condition and the orders, where there are any. For modules of this
        package."""
        parts = (self.argument, self.condition, *(order.by for order in self.orders))
        return tuple(part for part in parts if part is not None)

    def rewritten(self, change: Callable[[Expr], Expr]) -> Aggregate:
        """The same aggregate with `change` applied to its argument and its condition. For modules
        of this package."""
        argument = None if self.argument is None else change(self.argument)
        condition = None if self.condition is None else change(self.condition)
        orders = tuple(replace(order, by=change(order.by)) for order in self.orders)
        return replace(self, argument=argument, condition=condition, orders=orders)

    def __repr__(self) -> str:
        shown = [] if self.argument is None else [repr(self.argument)]
        shown += [f"{name}={value!r}" for name, value in self.options]
        if self.orders:
            shown.append(f"order_by=[{', '.join(map(repr, self.orders))}]")
        condition = "" if self.condition is None else f".where({self.condition!r})"
        return f"{self.function}({', '.join(shown)}){condition}"


def count(column: str | Expr | None = None) -> Aggregate:
    """Number of rows, or of values of `column` that are not NULL: int64, 0 where there is none."""
    return Aggregate("count", None if column is None else _argument(column))


def sum(column: str | Expr, *, wide: bool = False, floats: str = "fast") -> Aggregate:
    """Sum of the values that are not NULL; NULL when there is none.

    Integers and booleans give int64, unsigned integers uint64, exact or a DataError, never a wrap;
    wide=True gives decimal128(38, 0) instead. Decimals are exact, at precision 38. Floats give
    float64: floats="fast" adds in an order that varies with threads and batches, so the last digits
    may too; "exact" adds without rounding and rounds once.
    """
    options = _given(wide=True) if require_flag(wide, "wide", "sum") else ()
    return Aggregate("sum", _argument(column), options + _float_options(floats))


def min(column: str | Expr) -> Aggregate:
    """Smallest value that is not NULL, of the column's type; NULL when there is none. NaN counts
    only where there is nothing else."""
    return Aggregate("min", _argument(column))


def max(column: str | Expr) -> Aggregate:
    """Largest value that is not NULL, of the column's type; NULL when there is none. NaN counts
    only where there is nothing else."""
    return Aggregate("max", _argument(column))


def mean(column: str | Expr, *, floats: str = "fast") -> Aggregate:
    """Mean of the values that are not NULL: float64; NULL when there is none. `floats` as in
    sum."""
    return Aggregate("mean", _argument(column), _float_options(floats))


def var(column: str | Expr, ddof: int = 1) -> Aggregate:
    """Variance over n - ddof of the n values that are not NULL: float64; NULL when n <= ddof.

    Computed in float64: of integers and decimals beyond 2^53, the digits that a float64 has not
    are rounded away before."""
    return Aggregate("var", _argument(column), _ddof_options("var", ddof))


def stddev(column: str | Expr, ddof: int = 1) -> Aggregate:
    """Square root of `var`: float64; NULL when there are no more than `ddof` values."""
    return Aggregate("stddev", _argument(column), _ddof_options("stddev", ddof))


def count_if(condition: Expr | str) -> Aggregate:
    """Number of rows for which the condition, or SQL text, is true (NULL is not): int64."""
    return count().where(condition)


def first(
    column: str | Expr, *, order_by: Orders | None = None, ignore_nulls: bool = True
) -> Aggregate:
    """The first value that is not NULL, in the order of the input or of the columns and orders
    `order_by`; NULL when there is none. ignore_nulls=False: the value of the first row, NULL or
    not."""
    return _of_a_row("first", column, order_by, ignore_nulls)


def last(
    column: str | Expr, *, order_by: Orders | None = None, ignore_nulls: bool = True
) -> Aggregate:
    """The last value that is not NULL, as `first`."""
    return _of_a_row("last", column, order_by, ignore_nulls)


def _of_a_row(
    function: str, column: str | Expr, order_by: Orders | None, ignore_nulls: bool
) -> Aggregate:
    plain = require_flag(ignore_nulls, "ignore_nulls", function)
    options = () if plain else _given(ignore_nulls=False)
    return Aggregate(function, _argument(column), options, orders=_orders(order_by, function))


def arg_min(column: str | Expr, by: str | Expr) -> Aggregate:
    """The value of `column` on the row with the smallest value of `by`, the first of these rows;
    rows where one of the two is NULL do not count. NaN is above all numbers."""
    return Aggregate("arg_min", _argument(column), orders=(Order(_argument(by)),))


def arg_max(column: str | Expr, by: str | Expr) -> Aggregate:
    """The same for the largest value of `by`."""
    return Aggregate("arg_max", _argument(column), orders=(Order(_argument(by)),))


def string_agg(
    column: str | Expr, separator: str = ",", *, order_by: Orders | None = None
) -> Aggregate:
    """The strings that are not NULL, joined, in the order of the input or of `order_by`; NULL when
    there is none."""
    options = _given(text=require_text(separator, "string_agg(separator=...)", "separator=', '"))
    return Aggregate(
        "string_agg", _argument(column), options, orders=_orders(order_by, "string_agg")
    )


def list_agg(column: str | Expr, *, order_by: Orders | None = None) -> Aggregate:
    """The values as a list, NULL among them, in the order of the input or of `order_by`; NULL when
    there is no row."""
    return Aggregate("list_agg", _argument(column), orders=_orders(order_by, "list_agg"))


def quantile_exact(column: str | Expr, q: float) -> Aggregate:
    """The value below which the share `q` of the values that are not NULL lies, from all values in
    order: of numbers between the two nearest ones, in proportion, as float64; of dates, times and
    timestamps the first value up to which at least the share lies. NaN is above all numbers."""
    return replace(quantile(column, q), function="quantile_exact", options=_given(q=float(q)))


def quantile_disc(column: str | Expr, q: float) -> Aggregate:
    """The first value, in order, up to which at least the share `q` of the values that are not NULL
    lies, of anything that can be sorted. NaN is above all numbers."""
    return replace(quantile(column, q), function="quantile_disc")


def median_exact(column: str | Expr) -> Aggregate:
    """`quantile_exact` at 0.5."""
    return quantile_exact(column, 0.5)


def any(column: str | Expr) -> Aggregate:
    """Some value that is not NULL, whichever is found first; NULL when there is none."""
    return Aggregate("any", _argument(column))


def bool_and(column: str | Expr) -> Aggregate:
    """True where all values that are not NULL are; NULL when there is none."""
    return Aggregate("bool_and", _argument(column))


def bool_or(column: str | Expr) -> Aggregate:
    """True where one value is; NULL when all values are NULL."""
    return Aggregate("bool_or", _argument(column))


def bit_and(column: str | Expr) -> Aggregate:
    """The bits that all integers have that are not NULL; NULL when there is none."""
    return Aggregate("bit_and", _argument(column))


def bit_or(column: str | Expr) -> Aggregate:
    """The bits that one of the integers has."""
    return Aggregate("bit_or", _argument(column))


def bit_xor(column: str | Expr) -> Aggregate:
    """The bits that an odd number of the integers has."""
    return Aggregate("bit_xor", _argument(column))


def product(column: str | Expr) -> Aggregate:
    """Product of the values that are not NULL, as float64; NULL when there is none. As of a sum,
    the last digits may vary with threads and batches."""
    return Aggregate("product", _argument(column))


def count_distinct(column: str | Expr) -> Aggregate:
    """Number of different values that are not NULL: int64. -0.0 is 0.0, and all NaN are one."""
    return Aggregate("count_distinct", _argument(column))


def mode(column: str | Expr) -> Aggregate:
    """The value that most rows have, but for NULL, the first of several; NULL when there is
    none. -0.0 is 0.0, and all NaN are one."""
    return Aggregate("mode", _argument(column))


def entropy(column: str | Expr) -> Aggregate:
    """How evenly rows spread over the different values, but for NULL, in bits (Shannon's): float64;
    0 of one value alone, and of none."""
    return Aggregate("entropy", _argument(column))


def skewness(column: str | Expr) -> Aggregate:
    """How far the values that are not NULL lean to one side, as of a sample: float64; NULL of fewer
    than three values, and of equal ones. Computed in float64, from moments about the mean."""
    return Aggregate("skewness", _argument(column))


def kurtosis(column: str | Expr) -> Aggregate:
    """How heavy the tails of the values are that are not NULL, beyond those of a normal
    distribution, as of a sample: float64; NULL of fewer than four values, and of equal ones."""
    return Aggregate("kurtosis", _argument(column))


def kurtosis_pop(column: str | Expr) -> Aggregate:
    """`kurtosis` of a population; NULL of fewer than two values, and of equal ones."""
    return Aggregate("kurtosis_pop", _argument(column))


def mad(column: str | Expr) -> Aggregate:
    """The median distance of the numbers that are not NULL from their median: float64."""
    return Aggregate("mad", _argument(column))


def approx_distinct(column: str | Expr) -> Aggregate:
    """About `count_distinct`, in little memory: int64, by HyperLogLog, with a standard error of
    1.6 %; exact up to 192 different values."""
    return Aggregate("approx_distinct", _argument(column))


def quantile(column: str | Expr, q: float) -> Aggregate:
    """About the value below which the share `q` of the values that are not NULL lies, by a sketch
    of bounded size: within 0.1 % of it, of dates and times within 0.1 % of its distance from the
    earliest; exact up to 512 values. Numbers give float64, dates, times and timestamps their own
    type."""
    if isinstance(q, bool) or not isinstance(q, int | float) or not 0 <= q <= 1:
        raise make_error(
            "CD-105", f"quantile(q={q!r}) is not a share", limits="0 to 1", try_="q=0.5, the median"
        )
    return Aggregate("quantile", _argument(column), _given(q=float(q)))


def median(column: str | Expr) -> Aggregate:
    """`quantile` at 0.5."""
    return quantile(column, 0.5)


def argument_of(
    function: str, argument: Expr | None, type_of: Callable[[Expr], pa.DataType]
) -> Expr | None:
    """What a function of a group or window aggregates. A column of type null has no value that it
    could refuse: it is one of a type that it takes."""
    if argument is None or function in COUNTS or function in _SAME_TYPE:
        return argument
    if not pa.types.is_null(type_of(argument)):
        return argument
    if function in ("bool_and", "bool_or"):
        return argument.cast(pa.bool_())
    if function == "string_agg":
        return argument.cast(pa.string())
    return argument.cast(pa.int64()) if function in _OF_NUMBERS else argument


def aggregate_type(aggregate: Aggregate, argument_type: pa.DataType | None) -> pa.DataType | None:
    """The Arrow type of the result over an argument of this type (None: no argument); TypeError
    when the function does not take it."""
    function = aggregate.function
    if function in COUNTS:
        return pa.int64()
    if function in _SAME_TYPE or function == "quantile_disc":
        return argument_type
    if function in _OF_BITS:
        if pa.types.is_integer(argument_type):
            return argument_type
        raise _not_taken(aggregate, argument_type, "an integer", "a cast('int64') of the column")
    if function in ("bool_and", "bool_or"):
        if pa.types.is_boolean(argument_type):
            return argument_type
        raise _not_taken(aggregate, argument_type, "a boolean", "a comparison, such as x > 0")
    if function == "quantile" and is_moment(argument_type):
        return argument_type
    if function == "entropy":
        return pa.float64()
    if not (is_number(argument_type) or pa.types.is_boolean(argument_type)):
        raise _not_taken(aggregate, argument_type, "a number", "xd.count, xd.min or xd.max of it")
    if function == "sum":
        return _sum_type(aggregate, argument_type)
    return pa.float64()


def _sum_type(aggregate: Aggregate, argument_type: pa.DataType) -> pa.DataType:
    wide = ("wide", True) in aggregate.options
    if pa.types.is_floating(argument_type):
        if wide:
            raise _not_taken(aggregate, argument_type, "integers", "floats='exact' for no rounding")
        return pa.float64()
    if pa.types.is_decimal(argument_type):
        return pa.decimal128(38, argument_type.scale)
    if wide:
        return pa.decimal128(38, 0)
    return pa.uint64() if pa.types.is_unsigned_integer(argument_type) else pa.int64()


def _not_taken(
    aggregate: Aggregate, given: pa.DataType, expected: str, advice: str
) -> CrossdockError:
    shown = aggregate.argument
    what = f"column {shown.name!r}" if isinstance(shown, Column) else f"{shown!r}"
    return make_error(
        "CD-102",
        f"{replace(aggregate, condition=None)!r} needs {expected}, {what} is {given}",
        try_=advice,
    )


def _argument(column: str | Expr) -> Expr:
    if isinstance(column, str):
        return Column(column)
    if isinstance(column, Expr):
        return column
    raise make_error(
        "CD-105",
        f"an aggregate takes a column's name or an expression, not {type(column).__name__}",
        values=repr(column),
        try_='xd.sum("price") or xd.sum(xd.col("price") * 2)',
    )


def _orders(by: Orders | None, method: str) -> tuple[Order, ...]:
    if by is None:
        return ()
    return orders_of(by if isinstance(by, list | tuple) else [by], method)


def _given(**options: Any) -> tuple[tuple[str, Any], ...]:
    return tuple(options.items())


def _float_options(floats: str) -> tuple[tuple[str, Any], ...]:
    if floats not in _FLOAT_SUMS:
        raise unknown_choice("floats", floats, _FLOAT_SUMS)
    return () if floats == "fast" else _given(floats=floats)


def _ddof_options(function: str, ddof: int) -> tuple[tuple[str, Any], ...]:
    number = integer_of(ddof)
    if number is None or not 0 <= number < 1 << 63:
        raise make_error(
            "CD-105", f"{function}(ddof={ddof!r}) is not a number of degrees of freedom",
            limits="0 to 2^63 - 1", try_="ddof=1 for a sample, ddof=0 for all values",
        )  # fmt: skip
    return () if number == 1 else _given(ddof=number)
