"""Values of one row of each group (the first, the last, one at an extreme) say what DuckDB's say,
beside other aggregates; and values that most rows have what counting in Python says."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from crossdock.expressions import aggregates
from window_cases import made_table

KEPT = xd.col("few") == 1
BY = ["i", "s", "u", "r", "x", "n", "w", "text", "code", "day", "moment", "flag"]


def cases(kept: str) -> list[tuple[xd.Aggregate, str]]:
    """Aggregates, and what they are in SQL of the rows for which `kept` holds."""
    items = [
        (xd.first("i"), f"first(i order by row) filter (where i is not null and {kept})"),
        (xd.last("text"), f"last(text order by row) filter (where text is not null and {kept})"),
        (xd.first("x", ignore_nulls=False), f"first(x order by row) filter (where {kept})"),
        (xd.last("code", ignore_nulls=False), f"last(code order by row) filter (where {kept})"),
        (xd.sum("s"), f"sum(s) filter (where {kept})"),
        (xd.count(), f"count(*) filter (where {kept})"),
    ]
    for by in BY:
        valid = f"filter (where text is not null and {by} is not null and {kept})"
        items.append((xd.arg_min("text", by), f"first(text order by {by}, row) {valid}"))
        items.append((xd.arg_max("text", by), f"first(text order by {by} desc, row) {valid}"))
    computed = xd.col("i") * 2 - xd.col("s")
    valid = f"filter (where id is not null and i is not null and s is not null and {kept})"
    items.append((xd.arg_max("id", computed), f"first(id order by i * 2 - s desc, row) {valid}"))
    return items


def rows_of(count: int) -> pa.Table:
    table = made_table(count, count + 3)
    wide = [
        None if value is None else value * 10**20 + place % 3
        for place, value in enumerate(table["i"].to_pylist())
    ]
    return table.append_column("w", pa.array(wide, pa.decimal128(38, 0)))


def sorted_rows(table: pa.Table, keys: list[str]) -> list[dict[str, Any]]:
    return (table.sort_by([(key, "ascending") for key in keys]) if keys else table).to_pylist()


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("condition", [False, True])
@pytest.mark.parametrize("keys", [[], ["p"], ["text", "few"], ["id"]])
def test_values_of_rows(keys: list[str], condition: bool, threads: int) -> None:
    asked = cases("few = 1" if condition else "true")
    items = [item.where(KEPT) if condition else item for item, _ in asked]
    columns = ", ".join([*keys, *(f"{sql} as c{i}" for i, (_, sql) in enumerate(asked))])
    group = f"group by {', '.join(keys)}" if keys else ""
    for count in (0, 1, 500, 7 if threads == 1 else 70_000):
        table = rows_of(count)
        numbered = table.append_column("row", pa.array(range(count), pa.int64()))
        with duckdb.connect() as base, xd.connect(threads=threads) as dock:
            base.register("t", numbered)
            theirs = base.sql(f"select {columns} from t {group}").to_arrow_table()
            named = {f"c{i}": item for i, item in enumerate(items)}
            rows = dock.from_arrow(table)
            ours = (rows.group_by(*keys).agg(**named) if keys else rows.agg(**named)).collect()
        for mine, other in zip(sorted_rows(ours, keys), sorted_rows(theirs, keys), strict=True):
            assert mine == other, (count, keys)


def value_of(value: Any) -> Any:
    return "nan" if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("keys", [[], ["p"], ["text", "few"]])
@pytest.mark.parametrize("condition", [False, True])
def test_most_frequent_values(keys: list[str], condition: bool, threads: int) -> None:
    names = ["i", "r", "n", "text", "code", "day", "flag", "id"]
    for count in (0, 1, 500, 7 if threads == 1 else 70_000):
        table = rows_of(count)
        counts: dict[Any, list[Counter[Any]]] = {}
        if not keys:
            counts[()] = [Counter() for _ in names]
        for row in table.to_pylist():
            of_group = counts.setdefault(
                tuple(row[key] for key in keys), [Counter() for _ in names]
            )
            for name, counter in zip(names, of_group, strict=True):
                if row[name] is not None and (row["few"] == 1 or not condition):
                    counter[value_of(row[name])] += 1
        expected = {
            key: [most[0][0] if (most := counter.most_common(1)) else None for counter in of_group]
            for key, of_group in counts.items()
        }
        items = {f"c {name}": aggregates.mode(name) for name in names}
        if condition:
            items = {name: item.where(KEPT) for name, item in items.items()}
        items |= {"n": xd.count(), "different": xd.count_distinct("i")}
        with xd.connect(threads=threads) as dock:
            rows = dock.from_arrow(table)
            ours = (rows.group_by(*keys).agg(**items) if keys else rows.agg(**items)).collect()
        given = {
            tuple(row[key] for key in keys): [value_of(row[f"c {name}"]) for name in names]
            for row in ours.to_pylist()
        }
        assert given == expected, (count, keys)


@pytest.mark.parametrize("keys", [[], ["p"]])
def test_modes_beside_ordered_values(keys: list[str]) -> None:
    """Windows, which ordered aggregates become, change no order that a mode sees."""
    modes = {name: aggregates.mode(name) for name in ("id", "i", "text")}
    others = {
        "joined": xd.string_agg("text", order_by=[xd.desc("x"), "id"]),
        "first": xd.first("id", order_by="r"),
        "all": xd.list_agg("i"),
    }
    with xd.connect(threads=3) as dock:
        for rows in (dock.from_arrow(rows_of(500)), dock.from_arrow(rows_of(500)).sort("r", "id")):
            groups = rows.group_by(*keys) if keys else rows
            alone = {**modes, "all": others["all"]}
            expected = groups.agg(**alone).collect().select([*keys, *alone])
            ours = groups.agg(**modes, **others).collect().select([*keys, *alone])
            assert sorted_rows(ours, keys) == sorted_rows(expected, keys)


def test_lists_are_carried() -> None:
    """Columns that are computed with nowhere may be of a row, not what chooses it."""
    table = pa.table({"k": [1, 1, 2], "x": [3.0, 5.0, None], "l": [[1], [2, 3], None]})
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(table)
        asked = {"a": xd.arg_max("l", "x"), "b": xd.last("l"), "c": xd.first("l")}
        expected = [
            {"k": 1, "a": [2, 3], "b": [2, 3], "c": [1]},
            {"k": 2, "a": None, "b": None, "c": None},
        ]
        assert rows.group_by("k").agg(**asked).sort("k").collect().to_pylist() == expected
        ours = rows.group_by("k").agg(**asked, all=xd.list_agg("x")).sort("k").collect()
        assert ours.drop_columns("all").to_pylist() == expected
        with pytest.raises(xd.TypeError):
            rows.group_by("k").agg(a=xd.arg_max("k", "l"))


def test_sorts_below_choose() -> None:
    """A sort below decides which row is the first."""
    table = rows_of(500)
    with xd.connect(threads=3) as dock:
        rows = dock.from_arrow(table).sort("id")
        modes = rows.sort(xd.desc("id")).group_by("p").agg(a=aggregates.mode("id"), b=xd.max("id"))
        ours = rows.group_by("p").agg(a=xd.last("id"), b=xd.max("id"))
        for each in (ours.collect(), modes.collect()):
            assert each["a"].to_pylist() == each["b"].to_pylist()
