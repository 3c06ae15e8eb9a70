"""Sums of a column and a number each are made of one sum and one count, where none can overflow."""

from __future__ import annotations

import re

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from crossdock.plan.nodes import GroupBy, Project

col = xd.col
ROWS = pa.table(
    {
        "k": pa.array([1, 2, 1, None, 2, 3], pa.int32()),
        "i8": pa.array([127, -128, None, 5, 6, None], pa.int8()),
        "i32": pa.array([2**31 - 1, None, -(2**31), 7, 8, None], pa.int32()),
        "i64": pa.array([2**62, 2**62, -(2**62), 1, None, 3], pa.int64()),
        "u16": pa.array([65535, 0, 1, None, 9, 10], pa.uint16()),
        "real": pa.array([0.5, None, 2.5, 3.5, 4.5, 5.5]),
    }
)


def sums_below(relation: xd.Relation) -> int:
    """The sums and counts of the group-by of a relation."""
    node = relation._node
    while not isinstance(node, GroupBy):
        assert isinstance(node, Project)
        node = node.input
    return len(node.items)


@pytest.mark.parametrize("keys", ["", "k"])
@pytest.mark.parametrize(
    ("shared", "arguments"),
    [
        (2, ["i8 + 1", "i8 + 2", "3 + i8", "i8 - 4"]),
        (3, ["i8", "i8 + 1", "i8 - 1"]),
        (4, ["i8 + 1", "i8 + 2", "i32 + 2147483647", "i32 - 2147483647"]),
        (2, ["i32 + 1", "i64 + 1"]),  # one of each
        (2, ["i64 + 1", "i64 + 2"]),  # as wide as the sums
        (2, ["u16 + 1", "u16 + 2"]),
        (2, ["real + 1", "real + 2"]),
        (2, ["4 - i8", "5 - i8"]),
        (2, ["i32 + 2147483648", "i32 - 2147483648"]),
    ],
)
def test_sums_of_a_column_and_numbers(
    dock: xd.Dock, keys: str, shared: int, arguments: list[str]
) -> None:
    sums = ", ".join(f"sum({argument}) as s{i}" for i, argument in enumerate(arguments))
    by = f"group by {keys}" if keys else ""
    text = f"select {keys + ', ' if keys else ''}{sums} from t {by} order by all"
    dock.register("t", ROWS)
    ours = dock.sql(text.replace(" order by all", ""))
    assert sums_below(ours) == shared
    with duckdb.connect() as base:
        base.register("t", ROWS)
        theirs = base.sql(re.sub(r"\b(i8|i32|i64|u16)\b", r"\1::hugeint", text)).fetchall()
    rows = [tuple(row.values()) for row in ours.collect().to_pylist()]
    ordered = sorted(rows, key=lambda row: (row[0] is None, row)) if keys else rows
    assert ordered == theirs


def test_sums_that_stay_as_they_are(dock: xd.Dock) -> None:
    rows = dock.from_arrow(ROWS)
    for first in (
        xd.sum(col("i8").cast("int64") + 1, wide=True),
        xd.sum(col("i8").cast("int64") + 1).where(col("k") == 1),
        xd.sum(col("i8").cast("int64") * 2),
        xd.mean(col("i8").cast("int64") + 1),
    ):
        kept = rows.agg(a=first, b=xd.sum(col("i8").cast("int64") + 2))
        assert sums_below(kept) == 2
        assert kept.columns == ["a", "b"]
    both = rows.agg(a=xd.sum(col("i8").cast("int64") + 1), b=xd.sum(col("i8").cast("int64") + 2))
    assert isinstance(both._node, Project)
    assert both.collect().to_pydict() == {"a": [14], "b": [18]}
    assert both.schema == both.collect().schema
