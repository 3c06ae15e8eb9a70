"""Groups over filters and computed columns: what the engine computes on the way is what pyarrow
computes before."""

from __future__ import annotations

import random
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest
from crossdock.engine import native_plans

col = xd.col


@pytest.fixture
def rows(dock: xd.Dock) -> xd.Relation:
    draw = random.Random(7)
    count = 5000
    table = pa.table(
        {
            "k": pa.array([draw.choice([None, 1, 2, 3, 99]) for _ in range(count)], pa.int64()),
            "t": [draw.choice([None, "a", "b", "cc"]) for _ in range(count)],
            "x": pa.array([draw.choice([None, *range(-9, 9)]) for _ in range(count)], pa.int32()),
            "f": [draw.uniform(-1, 1) for _ in range(count)],
            "price": pa.array([Decimal(draw.randrange(10**6)).scaleb(-2) for _ in range(count)],
                              pa.decimal128(15, 2)),
            "huge": pa.array([draw.choice([None, Decimal(draw.randrange(-(10**20), 10**20))])
                              for _ in range(count)], pa.decimal128(20, 0)),
            "flag": [draw.choice([None, True, False]) for _ in range(count)],
        }
    )  # fmt: skip
    return dock.from_arrow(table)


QUERIES: dict[str, Callable[[xd.Relation], xd.Relation]] = {
    "filter": lambda r: r.filter(col("x") > 0).group_by("k").agg(n=xd.count(), s=xd.sum("x")),
    "filter without keys": lambda r: r.filter(col("x") > 3).agg(n=xd.count("k"), s=xd.sum("x")),
    "no row is kept": lambda r: r.filter(col("x") > 99).group_by("k").agg(n=xd.count()),
    "no row is kept without keys": lambda r: r.filter(col("x") > 99).agg(c=xd.count("x"),
                                                                       s=xd.sum("x")),
    "computed": lambda r: r.group_by("t").agg(
        s=xd.sum(col("price") * (1 - col("x")) * 2), m=xd.max(col("x") * col("x"))),
    "beyond 64 bits": lambda r: r.filter(col("x") > 3).group_by("t").agg(
        s=xd.sum(col("huge") * col("price")), h=xd.sum("huge"), m=xd.max(-col("huge"))),
    "computed keys": lambda r: r.group_by(odd=col("x") % 2, big=col("price") > 5000).agg(
        n=xd.count()),
    "conditions": lambda r: r.filter(col("flag")).group_by("t").agg(
        n=xd.count().where(col("x") > 0), s=xd.sum("x").where(col("k") == 2)),
    "count distinct": lambda r: r.filter(col("x") > 0).group_by("t").agg(
        d=xd.count_distinct("k"), n=xd.count()),
    "count distinct on a condition": lambda r: r.filter(col("x") > 0).group_by("t").agg(
        d=xd.count_distinct("k").where(col("x") > 3), n=xd.count()),
    "approximate": lambda r: r.filter(col("x") > 0).group_by("t").agg(
        d=xd.approx_distinct("x"), q=xd.median("x")),
    "distinct": lambda r: r.filter(col("x") > 6).distinct("k", "t"),
    "strings": lambda r: r.filter(col("t").like("c%") | (col("t") == "a")).group_by("t").agg(
        n=xd.count(), f=xd.min("price")),
    "named": lambda r: r.with_columns(y=col("x") + 1).rename({"k": "key"}).filter(
        col("y") > 2).group_by("key").agg(k=xd.sum("y"), kept=xd.count()),
    "not fused": lambda r: r.filter(col("t").upper() == "A").group_by("k").agg(
        s=xd.sum(col("f").round(1) * 0)),
    "filters of filters": lambda r: r.filter(col("x") != 0).filter(
        (col("k") / col("x")) > 0).group_by("k").agg(n=xd.count()),
    "sort": lambda r: r.sort(col("x") * 1000 + col("k"), "t", "price").limit(50),
    "join": lambda r: r.with_columns(j=col("x") * 2).join(
        r.select(j=col("k") * 2).distinct(), on="j").group_by("j").agg(n=xd.count()),
}  # fmt: skip


def rows_of(relation: xd.Relation) -> list[str]:
    table = relation.collect()
    table.validate(full=True)
    assert table.schema == relation.schema
    return sorted(map(str, table.to_pylist()))


@pytest.mark.parametrize("name", list(QUERIES))
def test_fused_is_what_is_computed_before(
    rows: xd.Relation, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    query = QUERIES[name](rows)
    fused = rows_of(query)

    monkeypatch.setattr(native_plans.Compiler, "compile", lambda *_: None)
    assert rows_of(query) == fused
    assert query.count() == len(fused)


def test_filters_of_files_are_fused_too(
    dock: xd.Dock, rows: xd.Relation, tmp_path: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    pyarrow.parquet.write_table(rows.collect(), tmp_path / "x.parquet")
    query = QUERIES["conditions"](dock.read(tmp_path / "x.parquet").filter(col("x") * 2 > 4))
    assert rows_of(query) == rows_of(QUERIES["conditions"](rows.filter(col("x") * 2 > 4)))


def test_a_fused_filter_makes_no_copy_of_the_table(rows: xd.Relation) -> None:
    """The whole table is what is grouped; the rows that are left out are left out there."""
    query = rows.filter(col("x") > 0).group_by("k").agg(s=xd.sum(col("x") * 2))
    read, grouped = query.profile().data["steps"]
    assert read["rows"] == grouped["input_rows"] == 5000
    assert grouped["profile"]["fused"]


def test_rows_that_are_left_out_raise_nothing(dock: xd.Dock) -> None:
    table = dock.from_arrow(pa.table({"x": [0, 2**62, 5], "k": [1, 1, 1]}))
    small = table.filter(col("x") < 100).group_by("k").agg(s=xd.sum(col("x") * 4))
    assert small.collect().to_pydict() == {"k": [1], "s": [20]}
    with pytest.raises(xd.ExpressionError):
        table.group_by("k").agg(s=xd.sum(col("x") * 4)).collect()
