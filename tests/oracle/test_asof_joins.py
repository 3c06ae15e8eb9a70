"""As-of joins say what DuckDB's say; nearest ones, what a look at every pair says."""

from __future__ import annotations

import datetime
import random
from typing import Any

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from crossdock.option_checks import require_type

START = datetime.datetime(2024, 1, 1)


def value_of(kind: pa.DataType, number: int) -> Any:
    if kind == pa.timestamp("ms"):
        return START + datetime.timedelta(seconds=number)
    if kind == pa.date32():
        return START.date() + datetime.timedelta(days=number)
    return number / 4 if kind == pa.float64() else number


def sides(seed: int, rows: tuple[int, int], kind: pa.DataType) -> tuple[pa.Table, pa.Table]:
    """No two rows of the right side have the same keys."""
    draw = random.Random(seed)
    most = max(4, rows[1])
    left = [
        (draw.choice([0, 1, 2, None]), draw.choice([*range(-2, most), None]))
        for _ in range(rows[0])
    ]
    pairs = {(draw.choice([0, 1, None]), draw.choice([*range(most), None])) for _ in range(rows[1])}
    right = draw.sample(sorted(pairs, key=str), len(pairs))

    def table(actual: list[tuple[Any, Any]], names: tuple[str, str, str]) -> pa.Table:
        keys = [k for k, _ in actual]
        at = [None if v is None else value_of(kind, v) for _, v in actual]
        numbers = list(range(len(actual)))
        arrays = [pa.array(keys, pa.int32()), pa.array(at, kind), pa.array(numbers, pa.int64())]
        return pa.table(arrays, names=list(names))

    return table(left, ("k", "at", "l")), table(right, ("k", "t", "r"))


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("direction", ["backward", "forward"])
@pytest.mark.parametrize(
    "kind", [pa.int64(), pa.float64(), pa.date32(), pa.timestamp("ms")], ids=str
)
def test_asof_joins(kind: pa.DataType, direction: str, threads: int) -> None:
    sign = ">=" if direction == "backward" else "<="
    for seed, rows in enumerate([(0, 3), (3, 0), (1, 1), (300, 200), (3000, 2000)]):
        left, right = sides(seed, rows, kind)
        with duckdb.connect() as base, xd.connect(threads=threads) as dock:
            base.register("a", left)
            base.register("b", right)
            for how in ("left", "inner"):
                for by in (["k"], None):
                    if by is None:  # then no two rows may have the same time
                        base.sql(
                            "create or replace temp table c as "
                            "select min(k) k, t, min(r) r from b group by t"
                        )
                        theirs_right = base.sql("select * from c").to_arrow_table()
                    else:
                        base.sql("create or replace temp table c as select * from b")
                        theirs_right = right
                    match = f'a."at" {sign} c.t' + (" and a.k = c.k" if by else "")
                    kind_of = "left " if how == "left" else ""
                    text = f"select l, r from a asof {kind_of}join c on {match} order by l"
                    ours = dock.from_arrow(left).join_asof(
                        theirs_right, {"at": "t"}, by=by, direction=direction, how=how
                    )
                    result = ours.select("l", "r").sort("l").collect().to_pylist()
                    assert result == base.sql(text).to_arrow_table().to_pylist(), (how, by, rows)


@pytest.mark.parametrize(
    "kind", [pa.date32(), pa.timestamp("ms"), pa.time32("s"), pa.duration("us")], ids=str
)
def test_the_nearest_time(kind: pa.DataType) -> None:
    def at(*numbers: int) -> pa.Array:
        ticks = pa.array(numbers, pa.int32())
        return ticks.cast(pa.int64() if kind.bit_width == 64 else pa.int32()).cast(kind)

    left = xd.from_arrow(pa.table({"t": at(0, 5, 6, 30), "i": [0, 1, 2, 3]}))
    right = pa.table({"u": at(2, 9, 20), "p": [7, 8, 9]})
    joined = left.join_asof(right, {"t": "u"}, direction="nearest").sort("i")
    assert joined.collect()["p"].to_pylist() == [7, 7, 8, 9]


def test_times_of_a_day_of_other_units() -> None:
    left = xd.from_arrow(pa.table({"t": pa.array([1, 5], pa.time32("s"))}))
    right = pa.table({"t": pa.array([1, 5_000_001], pa.time64("us")), "p": [7, 8]})
    joined = left.join_asof(right, on="t").sort("t").collect()
    assert joined["p"].to_pylist() == [7, 7]


@pytest.mark.parametrize("direction", ["backward", "forward", "nearest"])
@pytest.mark.parametrize("tolerance", [None, 0, 2])
def test_tolerances(direction: str, tolerance: int | None) -> None:
    left, right = sides(5, (200, 60), pa.int64())
    with xd.connect(threads=2) as dock:
        joined = dock.from_arrow(left).join_asof(
            right, {"at": "t"}, by="k", direction=direction, tolerance=tolerance
        )
        by_name = {row["l"]: row["r"] for row in joined.collect().to_pylist()}
    others = right.to_pylist()
    for row in left.to_pylist():
        near = [
            (abs(o["t"] - row["at"]), o["t"], o["r"])
            for o in others
            if None not in (o["t"], row["at"], o["k"]) and o["k"] == row["k"]
            and (direction != "backward" or o["t"] <= row["at"])
            and (direction != "forward" or o["t"] >= row["at"])
        ]  # fmt: skip
        best = min(near, default=None)
        expected = (
            None if best is None or best[0] > (tolerance or 1 << 60) * (tolerance != 0) else best[2]
        )
        assert by_name[row["l"]] == expected, row


def test_names_and_errors() -> None:
    with xd.connect(threads=1) as dock:
        left = dock.from_arrow(pa.table({"k": [1], "t": [5], "x": ["a"]}))
        right = pa.table({"k": [1, 1], "t": [4, 6], "x": ["b", "c"]})
        joined = left.join_asof(right, "t", by="k")
        assert joined.collect().to_pylist() == [
            {"k": 1, "t": 5, "x": "a", "t_right": 4, "x_right": "b"}
        ]
        with pytest.raises(xd.OptionError, match="direction"):
            left.join_asof(right, "t", direction="up")
        with pytest.raises(xd.ColumnError):
            left.join_asof(right, "nowhere")
        with pytest.raises(xd.TypeError):
            left.join_asof(right.select(["k", "x"]), {"t": "x"})
        with pytest.raises(xd.OptionError, match=r"one column of each side(.*\n)*.*by="):
            left.join_asof(right, ["t", "k"])
        with pytest.raises(xd.TypeError):
            left.join_asof(right, "x", direction="nearest")


@pytest.mark.parametrize(
    ("left", "right"),
    [("timestamp[us]", "timestamp[ns]"), ("timestamp[ns]", "timestamp[s]"),
     ("date32[day]", "timestamp[us]"), ("timestamp[us, tz=UTC]", "timestamp[ns, tz=UTC]"),
     ("timestamp[us, tz=Asia/Tokyo]", "timestamp[ns, tz=UTC]")],
)  # fmt: skip
def test_times_of_other_units(left: str, right: str) -> None:
    days = pa.array([0, 5, 10], pa.int32()).cast("date32").cast(pa.timestamp("us"))
    typed = {each: days.cast(require_type(each, "left")) for each in (left, right)}
    trades = pa.table({"t": typed[left], "i": [0, 1, 2]})
    quotes = pa.table({"t": typed[right], "p": [7, 8, 9]}).slice(1)
    joined = xd.from_arrow(trades).join_asof(quotes, on="t").sort("i").collect()
    assert joined["p"].to_pylist() == [None, 8, 9]
    assert joined["t"].type == typed[left].type
    assert joined["t_right"].type == typed[right].type
    text = "select i, p from trades asof left join quotes on trades.t >= quotes.t order by i"
    assert xd.sql(text).collect()["p"].to_pylist() == [None, 8, 9]


def test_times_and_others_have_no_order() -> None:
    stamps = pa.array([0], pa.timestamp("us"))
    rows = xd.from_arrow(pa.table({"t": stamps}))
    for other in (pa.array(["a"]), pa.array([1]), stamps.cast(pa.timestamp("us", "UTC"))):
        with pytest.raises(xd.TypeError, match=r"(?s)no order of 't'.*try .*cast"):
            rows.join_asof(pa.table({"t": other}), on="t")
