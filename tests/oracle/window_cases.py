"""Random windows, as expressions and as SQL, over a table of ties, NULLs and NaN."""

from __future__ import annotations

import datetime
import decimal
import random
from dataclasses import dataclass
from typing import Any

import crossdock as xd
import pyarrow as pa

# Columns of the table that partitions and orders are drawn from.
PARTITIONS = ("p", "few", "text", "day")
ORDERS = ("i", "r", "n", "text", "day", "moment", "flag", "u")
RANGES: dict[str, list[Any]] = {
    "i": [0, 1, 2, 5],
    "r": [0.0, 0.5, 1.5],
    "n": [decimal.Decimal("0.00"), decimal.Decimal("0.25"), decimal.Decimal("1.50")],
    "day": [0, 1, 3],
    "moment": [datetime.timedelta(0), datetime.timedelta(seconds=90)],
    "u": [0],  # DuckDB takes no distance from smaller values
}
NUMBERS = ("i", "s", "u", "r", "n", "flag")
EXCLUSIONS = ("current row", "group", "ties")
OF_VALUES = ("distinct", "quantile", "disc")  # which need the values of a frame in order
FOLDS = ("bit_and", "bit_or", "bit_xor", "product")
ANY = ("i", "r", "n", "text", "day", "moment", "code", "flag")


def made_table(rows: int, seed: int, partitions: int = 7) -> pa.Table:
    """Every column has ties and NULLs, but `id`; `r` has NaN and -0.0."""
    draw = random.Random(seed)

    def column(kind: pa.DataType, values: list[Any], nulls: float = 0.15) -> pa.Array:
        result = [None if draw.random() < nulls else draw.choice(values) for _ in range(rows)]
        return pa.array(result, kind)

    day = datetime.date(2024, 2, 27)
    days = [day + datetime.timedelta(days=i) for i in range(6)]
    start = datetime.datetime(2024, 1, 1)
    times = [start + datetime.timedelta(seconds=45 * i) for i in range(8)]
    strings = ["", "a", "ab", "a\0", "much longer than a word", "much longer than a worm"]
    return pa.table(
        {
            "id": pa.array(draw.sample(range(rows * 2), rows), pa.int64()),
            "p": column(pa.int32(), list(range(partitions))),
            "few": column(pa.int64(), [1, -1], 0.0),
            "i": column(pa.int64(), [-(2**40), -3, -1, 0, 1, 2, 4, 9, 2**40]),
            "s": column(pa.int16(), [-300, -2, 0, 1, 7, 32767]),
            "u": column(pa.uint32(), [0, 1, 3, 10, 2**31]),
            "r": column(pa.float64(), [-1e300, -2.5, -0.0, 0.0, 0.25, 1.0, 3.0, float("nan"), 7.5]),
            "x": column(pa.float64(), [-2.5, 0.1, 0.25, 1e6, 3.0, 7.5]),
            "n": column(
                pa.decimal128(10, 2), [decimal.Decimal(v) / 100 for v in (-150, 0, 25, 275)]
            ),
            "text": column(pa.string(), strings),
            "code": column(pa.string(), strings[:3]).dictionary_encode(),
            "day": column(pa.date32(), days),
            "moment": column(pa.timestamp("us"), times),
            "flag": column(pa.bool_(), [True, False]),
        }
    )


@dataclass(frozen=True)
class Case:
    """One function over one window."""

    expression: Any
    sql: str


def random_case(draw: random.Random) -> Case:
    """Any function over any window, of which both engines must say the same."""
    partition = draw.sample(PARTITIONS, draw.choice([0, 1, 1, 1, 2]))
    orders = draw.sample(ORDERS, draw.choice([0, 1, 1, 2]))
    function, sql, needs_unique = _function(draw, bool(orders))
    directions = [(name, draw.random() < 0.4, draw.random() < 0.3) for name in orders]
    frame, frame_sql = None, ""
    framed = function[0] in ("aggregate", "first", "nth")
    if framed:
        frame, frame_sql = _frame(draw, directions)
    is_rows = frame is not None and "rows" in frame
    is_whole = frame is None and not orders
    is_last = function[0] == "move"
    unique = needs_unique and not (frame is not None and not is_rows and function[0] == "aggregate")
    if function[0] == "aggregate":
        unique = is_rows
    if (unique or is_last) and not (is_whole and function[0] == "aggregate"):
        if (
            frame is not None
            and "range" in frame
            and frame["range"] not in ((None, 0), (None, None))
        ):
            frame, frame_sql = {"rows": (-2, 1)}, "rows between 2 preceding and 1 following"
        directions.append(("id", False, False))
    order_by = [
        (xd.desc if down else xd.asc)(name, nulls="first" if first else "last")
        for name, down, first in directions
    ]
    exclude = draw.choice([None, *EXCLUSIONS]) if frame is not None else None
    if exclude is not None:
        frame, frame_sql = {**(frame or {}), "exclude": exclude}, f"{frame_sql} exclude {exclude}"
    over = function[1].over(*partition, order_by=order_by or None, **(frame or {}))
    parts = []
    if partition:
        parts.append("partition by " + ", ".join(partition))
    if directions:
        parts.append(
            "order by "
            + ", ".join(
                f"{name} {'desc' if down else 'asc'} nulls {'first' if first else 'last'}"
                for name, down, first in directions
            )
        )
    return Case(over, f"{sql} over ({' '.join([*parts, frame_sql])})")


def _function(draw: random.Random, has_order: bool) -> tuple[tuple[str, Any], str, bool]:
    kind = draw.choice(["rank", "number", "move", "first", "nth", "aggregate", "aggregate"])
    if kind == "rank" and has_order:
        name = draw.choice(["rank", "dense_rank", "percent_rank", "cume_dist"])
        return ("rank", getattr(xd, name)()), f"{name}()", False
    if kind in ("number", "rank"):
        if draw.random() < 0.5:
            return ("move", xd.row_number()), "row_number()", True
        parts = draw.choice([1, 3, 10])
        return ("move", xd.ntile(parts)), f"ntile({parts})", True
    ignore = draw.random() < 0.4
    column = draw.choice(ANY)
    nulls = " ignore nulls" if ignore else ""
    if kind == "move":
        name, offset = draw.choice(["lag", "lead"]), draw.choice([0, 1, 2, 5, -1])
        if ignore:
            offset = max(offset, 1)
        function = getattr(xd, name)(column, offset, ignore_nulls=ignore)
        return ("move", function), f"{name}({column}, {offset}{nulls})", True
    if kind == "first":
        name = draw.choice(["first_value", "last_value"])
        function = getattr(xd, name)(column, ignore_nulls=ignore)
        return ("first", function), f"{name}({column}{nulls})", True
    if kind == "nth":
        number = draw.choice([1, 2, 4])
        function = xd.nth_value(column, number, ignore_nulls=ignore)
        return ("nth", function), f"nth_value({column}, {number}{nulls})", True
    name = draw.choice(
        [
            "sum",
            "mean",
            "var",
            "stddev",
            "count",
            "min",
            "max",
            "rows",
            "all",
            *FOLDS,
            *OF_VALUES,
            *OF_VALUES,
        ]
    )
    if name in OF_VALUES:
        function, call = _of_values(draw, name)
        return ("aggregate", function), call, False
    if name == "product":
        factor = 1 + xd.col("x") / 1e10  # products of many stay far from infinity
        return ("aggregate", xd.product(factor)), "product(1 + x / 1e10)", False
    if name in FOLDS:
        column = draw.choice(["i", "s", "u"])
        return ("aggregate", getattr(xd, name)(column)), f"{name}({column})", False
    if name == "rows":
        return ("aggregate", xd.count()), "count(*)", False
    if name == "all":
        either = draw.choice(["bool_and", "bool_or"])
        return ("aggregate", getattr(xd, either)("flag")), f"{either}(flag)", False
    if name in ("sum", "mean", "var", "stddev"):
        column = draw.choice([c for c in NUMBERS if c != "r"] + ["x"])
    elif name == "max" and column == "r":
        column = "x"
    sql_name = {"mean": "avg", "var": "var_samp"}.get(name, name)
    is_number = name not in ("count", "min", "max")
    sql_column = f"{column}::int" if column == "flag" and is_number else column
    return ("aggregate", getattr(xd, name)(column)), f"{sql_name}({sql_column})", False


def _of_values(draw: random.Random, name: str) -> tuple[Any, str]:
    share = draw.choice([0.0, 0.3, 0.5, 0.99, 1.0])
    if name == "distinct":
        column = draw.choice(ANY)
        return xd.count_distinct(column), f"count(distinct {column})"
    if name == "disc":
        column = draw.choice(ANY)
        return xd.quantile_disc(column, share), f"quantile_disc({column}, {share})"
    column = draw.choice(["i", "s", "u", "x"])
    return xd.quantile_exact(column, share), f"quantile_cont({column}, {share})"


def _frame(
    draw: random.Random, directions: list[tuple[str, bool, bool]]
) -> tuple[dict[str, Any] | None, str]:
    units = ["none", "rows", "rows"]
    if directions:
        units += ["groups", "range"]
    unit = draw.choice(units)
    if unit == "none":
        return None, ""
    offsets: list[Any] = [0, 1, 2, 5, 30]
    if unit == "range":
        if len(directions) != 1 or directions[0][0] not in RANGES:
            offsets = [0]
        else:
            offsets = RANGES[directions[0][0]]
    bounds = [draw.choice([None, *offsets, *offsets]), draw.choice([None, *offsets, *offsets])]
    ends = [_signed(draw, bounds[0], True), _signed(draw, bounds[1], False)]
    if None not in ends and ends[0] > ends[1]:
        ends.reverse()
    shown = [
        _bound(unit, ends[0], "preceding", directions),
        _bound(unit, ends[1], "following", directions),
    ]
    return {unit: tuple(ends)}, f"{unit} between {shown[0]} and {shown[1]}"


def _signed(draw: random.Random, bound: Any, is_start: bool) -> Any:
    if bound is None:
        return None
    before = draw.random() < (0.8 if is_start else 0.2)
    return -bound if before else bound


def _bound(unit: str, value: Any, where: str, directions: list[tuple[str, bool, bool]]) -> str:
    if value is None:
        return f"unbounded {where}"
    zero = type(value)(0)
    if value == zero:
        return "current row"
    where = "preceding" if value < zero else "following"
    size = abs(value)
    if isinstance(size, datetime.timedelta):
        return f"interval {int(size.total_seconds())} seconds {where}"
    if unit == "range" and directions[0][0] == "day":
        return f"interval {size} days {where}"
    return f"{size} {where}"
