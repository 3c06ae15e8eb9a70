"""First and last values by one order, with ties and NULLs on both sides, against rows in a list."""

from __future__ import annotations

import itertools
import random
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest

ROWS = 20_000
KINDS = {
    "int64": lambda draw: draw.choice([-(1 << 63), (1 << 63) - 1, 0, 5]),
    "float64": lambda draw: draw.choice([float("inf"), float("-inf"), float("nan"), 1.5]),
    "string": lambda draw: draw.choice(["", "a", "a" * 20, "b"]),
    "timestamp": lambda draw: draw.choice([0, 1_000_000, 7]),
    "decimal": lambda draw: draw.choice([-(10**30), 10**30, 3]),
    "bool": lambda draw: draw.random() < 0.5,
}
TYPES = {
    "timestamp": pa.timestamp("us"),
    "decimal": pa.decimal128(38, 0),
    "bool": pa.bool_(),
    "string": pa.string(),
}


def table_of(kind: str, null_share: float) -> pa.Table:
    """Groups of every kind: many rows, one row, NULLs alone on either side."""
    draw = random.Random(f"{kind} {null_share}")
    some = KINDS[kind]
    rows = range(ROWS)
    keys = [draw.choice([row % 7, 1000 + row]) for row in rows]
    by = [None if draw.random() < null_share or k == 3 else some(draw) for k in keys]
    values = [None if draw.random() < null_share or k == 4 else row for row, k in enumerate(keys)]
    kept = [draw.choice([True, True, False, None]) for _ in rows]
    columns = {"k": keys, "t": pa.array(by, TYPES.get(kind)), "x": values, "c": kept}
    whole = pa.table(columns)
    return pa.concat_tables(whole.slice(at, 611) for at in range(0, ROWS, 611))


def end_of(
    rows: list[dict[str, Any]], is_last: bool, order: xd.Order, ignore_nulls: bool
) -> int | None:
    def place(row: dict[str, Any]) -> tuple[Any, ...]:
        value = row["t"]
        if value is None:
            return (0,)
        is_nan = value != value
        return (1, is_nan, 0 if is_nan else value)

    some = [row for row in rows if row["x"] is not None or not ignore_nulls]
    nulls = [row for row in some if row["t"] is None]
    known = [row for row in some if row["t"] is not None]
    if order.descending:
        known.reverse()  # stable: equal rows are to stay in their order
        known.sort(key=place)
        known.reverse()
    else:
        known.sort(key=place)
    ordered = nulls + known if order.nulls_first else known + nulls
    return ordered[-1 if is_last else 0]["x"] if ordered else None


@pytest.mark.parametrize("null_share", [0.0, 0.3])
@pytest.mark.parametrize("kind", KINDS)
def test_ends_are_those_of_the_sorted_rows(kind: str, null_share: float) -> None:
    table = table_of(kind, null_share)
    orders = [
        xd.Order(xd.col("t"), descending, nulls_first)
        for descending, nulls_first in itertools.product([False, True], repeat=2)
    ]
    cases = {
        f"{function} {number} {ignores} {filtered}": (function, order, ignores, filtered)
        for function in ("first", "last")
        for number, order in enumerate(orders)
        for ignores in (False, True)
        for filtered in (False, True)
    }
    items = {}
    for name, (function, order, ignores, filtered) in cases.items():
        item = getattr(xd, function)("x", order_by=order, ignore_nulls=ignores)
        items[name] = item.where("c") if filtered else item
    with xd.connect(threads=3) as dock:
        grouped = dock.from_arrow(table).group_by("k").agg(**items)
        assert "window" not in str(grouped.explain())
        results = grouped.collect().to_pylist()
    groups: dict[int, list[dict[str, Any]]] = {}
    for row in table.to_pylist():
        groups.setdefault(row["k"], []).append(row)
    for result in results:
        rows = groups.pop(result.pop("k"))
        for name, value in result.items():
            function, order, ignores, filtered = cases[name]
            kept = [row for row in rows if row["c"]] if filtered else rows
            assert value == end_of(kept, function == "last", order, ignores), name
    assert not groups


def test_ends_over_all_rows_and_beside_others() -> None:
    table = table_of("int64", 0.3).filter(pa.compute.field("t").is_valid())
    text = """SELECT {} first(x ORDER BY t, x), last(x ORDER BY t DESC, x), first(x ORDER BY x),
        last(x ORDER BY x DESC NULLS FIRST), string_agg(x::text, ',' ORDER BY x), sum(x)
        FROM t {}"""
    with xd.connect(threads=3) as dock:
        dock.register("t", table)
        peer = duckdb.connect()
        peer.register("t", table)
        for keys, grouping in (("", ""), ("k % 5 AS g,", "GROUP BY g ORDER BY g")):
            query = text.format(keys, grouping)
            assert dock.sql(query).collect().to_pylist() == (
                peer.sql(query).to_arrow_table().rename_columns(dock.sql(query).columns).to_pylist()
            )
