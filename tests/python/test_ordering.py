"""sort, top_k, arg_sort and assume_sorted: orders of every type, what is refused."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pyarrow.parquet
import pytest

asc, col, desc = xd.asc, xd.col, xd.desc
NAN, INF = float("nan"), float("inf")


@pytest.fixture
def table() -> pa.Table:
    return pa.table(
        {
            "a": pa.array([2, 1, None, 2, 1], pa.int64()),
            "b": ["x", "y", "x", None, "z"],
            "c": pa.array([1, 2, 3, 4, 5], pa.int32()),
        }
    )


@pytest.fixture
def rows(dock: xd.Dock, table: pa.Table) -> xd.Relation:
    return dock.from_arrow(table)


@pytest.mark.parametrize(
    ("by", "order"),
    [
        (("a", "c"), [2, 5, 1, 4, 3]),
        ((desc("a"), "c"), [1, 4, 2, 5, 3]),
        ((asc("a", nulls="first"), desc("c")), [3, 5, 2, 4, 1]),
        ((desc("a", nulls="first"), "c"), [3, 1, 4, 2, 5]),
        (("b", "c"), [1, 3, 2, 5, 4]),
        ((desc("b"), desc("c")), [5, 2, 3, 1, 4]),
        ((asc("b", nulls="first"), "c"), [4, 1, 3, 2, 5]),
        ((desc("c"),), [5, 4, 3, 2, 1]),
        ((-col("c"),), [5, 4, 3, 2, 1]),
        ((col("c") % 2, desc(col("c") // 1)), [4, 2, 5, 3, 1]),
        (("a", "a", desc("a"), "c"), [2, 5, 1, 4, 3]),
    ],
    ids=repr,
)
def test_orders(rows: xd.Relation, by: tuple[Any, ...], order: list[int]) -> None:
    ordered = rows.sort(*by)
    assert ordered.schema == rows.schema
    assert ordered.collect().schema == rows.schema
    assert ordered.collect()["c"].to_pylist() == order
    assert [n for batch in ordered.to_batches() for n in batch["c"].to_pylist()] == order
    assert ordered.select("c").collect()["c"].to_pylist() == order
    assert rows.arg_sort(*by).collect().to_pydict() == {"index": [c - 1 for c in order]}
    assert rows.sort(*by, limit=3).collect()["c"].to_pylist() == order[:3]
    assert ordered.limit(2, 1).collect()["c"].to_pylist() == order[1:3]
    assert ordered.filter(col("c") > 2).collect()["c"].to_pylist() == [c for c in order if c > 2]
    assert ordered.count() == 5
    assert rows.sort(*by, limit=3).count() == 3


SORTED: dict[str, pa.Array] = {
    "i8": pa.array([-128, -1, 0, 127], pa.int8()),
    "i64": pa.array([-(2**63), -1, 0, 2**63 - 1], pa.int64()),
    "u64": pa.array([0, 1, 2**63, 2**64 - 1], pa.uint64()),
    "f32": pa.array([-INF, -1.5, 0.0, INF, NAN], pa.float32()),
    "f64": pa.array([-INF, -1e300, -5e-324, 0.0, 5e-324, INF, NAN], pa.float64()),
    "decimal": pa.array([Decimal(n) for n in ("-9e35", "-0.01", "0", "0.01", "9e35")],
                        pa.decimal128(38, 2)),
    "flag": pa.array([False, True]),
    "text": ["", "a", "a\0", "ab", "b" * 20, "b" * 20 + "c", "z" * 70_000, "é", "日本"],
    "view": pa.array(["", "a", "ab", "b" * 20, "b" * 20 + "c"], pa.string_view()),
    "large": pa.array(["", "a", "b"], pa.large_string()),
    "bytes": pa.array([b"", b"\0", b"\x7f", b"\x80", b"\xff"]),
    "day": pa.array([datetime.date(1960, 1, 1), datetime.date(2020, 1, 1)]),
    "time": pa.array([-5, 0, 7], pa.timestamp("ns")),
    "label": pa.array(["z", "a", "m"]).dictionary_encode(),
}  # fmt: skip


@pytest.mark.parametrize("name", list(SORTED))
@pytest.mark.parametrize("descending", [False, True])
@pytest.mark.parametrize("nulls", ["first", "last"])
def test_every_type(dock: xd.Dock, name: str, descending: bool, nulls: str) -> None:
    values = pa.array(SORTED[name]) if isinstance(SORTED[name], list) else SORTED[name]
    ranked = list(range(len(values)))
    if name == "label":
        ranked = [1, 2, 0]  # by value, not by number in the dictionary
    places = pa.array([*ranked, None, *reversed(ranked), None], pa.int64())
    listed = values.to_pylist()
    mixed = pa.array([None if i is None else listed[i] for i in places.to_pylist()], values.type)
    table = pa.table({"v": mixed, "place": places})
    order = (desc if descending else asc)("v", nulls=nulls)
    expected = [ranked[i // 2] for i in range(2 * len(values))]
    expected = expected[::-1] if descending else expected
    result = dock.from_arrow(table).sort(order).collect()
    blanks = [None, None]
    assert result["place"].to_pylist() == (
        blanks + expected if nulls == "first" else expected + blanks
    )
    assert result["v"].type == mixed.type


def test_stable_sorts_keep_the_input_order(dock: xd.Dock) -> None:
    count = 100_000
    table = pa.table({"k": [i % 7 for i in range(count)], "n": range(count)})
    result = dock.from_arrow(table).sort("k", stable=True).collect()
    assert result["n"].to_pylist() == sorted(range(count), key=lambda n: n % 7)
    index = dock.from_arrow(table).arg_sort(desc("k"), stable=True).collect()["index"]
    assert index.to_pylist() == sorted(range(count), key=lambda n: -(n % 7))


def test_zeros_are_equal(dock: xd.Dock) -> None:
    table = pa.table({"k": [0.0, -0.0, 0.0, -0.0, -1.0], "n": range(5)})
    result = dock.from_arrow(table).sort("k", stable=True).collect()
    assert result["n"].to_pylist() == [4, 0, 1, 2, 3]


@pytest.mark.parametrize("k", [0, 1, 3, 5, 9])
def test_top_k(rows: xd.Relation, k: int) -> None:
    assert rows.top_k(k, "c").collect()["c"].to_pylist() == [5, 4, 3, 2, 1][:k]
    assert rows.top_k(k, asc("c")).collect()["c"].to_pylist() == [1, 2, 3, 4, 5][:k]
    assert rows.top_k(k, "a", asc("c")).collect()["c"].to_pylist() == [1, 4, 2, 5, 3][:k]
    assert rows.top_k(k, "c").count() == min(k, 5)


def test_top_k_of_many(dock: xd.Dock) -> None:
    count = 200_000
    table = pa.table({"n": pa.array(((i * 7919) % count for i in range(count)), pa.int64())})
    top = dock.from_arrow(table).top_k(1000, "n")
    assert top.collect()["n"].to_pylist() == list(range(count - 1, count - 1001, -1))
    page = dock.from_arrow(table).sort("n").limit(10, 150_000)
    assert page.collect()["n"].to_pylist() == list(range(150_000, 150_010))


def test_sorts_of_joins_and_groups(dock: xd.Dock, rows: xd.Relation) -> None:
    joined = rows.join(rows, on="a", suffix="_2").sort("c", desc("c_2"))
    assert joined.select("c", "c_2").collect().to_pydict() == {
        "c": [1, 1, 2, 2, 4, 4, 5, 5], "c_2": [4, 1, 5, 2, 4, 1, 5, 2],
    }  # fmt: skip
    counts = rows.group_by("a").agg(n=xd.count()).sort(desc("n"), "a")
    assert counts.collect().to_pydict() == {"a": [1, 2, None], "n": [2, 2, 1]}
    assert rows.sort("c").group_by("a").agg(n=xd.count()).count() == 3
    assert rows.sort("c").join(rows, on="c").count() == 5


def test_empty_and_one_row(dock: xd.Dock, table: pa.Table) -> None:
    for count in (0, 1):
        few = dock.from_arrow(table.slice(0, count))
        assert few.sort("a", "b").collect() == table.slice(0, count)
        assert few.top_k(3, "a").collect().num_rows == count
        assert few.arg_sort("a").collect()["index"].to_pylist() == list(range(count))


def test_a_sorted_result_is_written_in_order(dock: xd.Dock, tmp_path: Any) -> None:
    count = 300_000
    table = pa.table({"n": pa.array(((i * 7919) % count for i in range(count)), pa.int64())})
    for name in ("x.parquet", "x.arrow", "x.csv"):
        assert dock.from_arrow(table).sort(desc("n")).write(tmp_path / name) == count
        back = dock.read(tmp_path / name).collect()["n"].to_pylist()
        assert back == list(range(count - 1, -1, -1))


def test_batches_of_a_sort_in_order_and_left_early(dock: xd.Dock) -> None:
    count = 500_000
    table = pa.table({"n": pa.array(((i * 7919) % count for i in range(count)), pa.int64())})
    ordered = dock.from_arrow(table).sort("n")
    seen = 0
    for batch in ordered.to_batches():
        assert batch["n"][0].as_py() == seen
        seen += batch.num_rows
    assert seen == count
    assert next(iter(ordered.to_batches())).num_rows > 0
    assert dock.progress() is None


def test_declared_orders(dock: xd.Dock, rows: xd.Relation) -> None:
    table = pa.table({"k": [1, 2, 2, 5], "v": [9, 8, 7, 6]})
    declared = dock.from_arrow(table).assume_sorted("k", desc("v"))
    assert "assume_sorted by k, v desc" in repr(declared)
    assert declared.collect() == table
    assert declared.sort("k").collect() == table
    assert declared.filter(col("v") > 6).sort("k", desc("v")).collect() == table.slice(0, 3)
    assert declared.rename({"k": "key"}).sort("key").collect()["key"].to_pylist() == [1, 2, 2, 5]
    assert declared.sort("v").collect()["v"].to_pylist() == [6, 7, 8, 9]
    assert declared.sort(desc("k")).collect()["k"].to_pylist() == [5, 2, 2, 1]


def test_a_merge_join_says_what_it_takes_as_sorted(dock: xd.Dock) -> None:
    left = dock.from_arrow(pa.table({"k": [1, 2, 2, 5]})).assume_sorted("k")
    joined = left.join(pa.table({"k": [5, 2, 1]}), on="k", strategy="merge")
    plan = joined.explain()
    assert plan.splitlines()[0].startswith("merge_join   inner join on k = k")
    assert "merge strategy · ordered key · left sorted (declared) · right unsorted" in plan
    assert joined.collect()["k"].to_pylist() == [1, 2, 2, 5]


@pytest.mark.parametrize("rows_in_all", [3, 100_000])
def test_a_wrong_declaration_is_an_error(dock: xd.Dock, rows_in_all: int) -> None:
    numbers = list(range(rows_in_all))
    numbers[-1], numbers[-2] = numbers[-2], numbers[-1]
    wrong = dock.from_arrow(pa.table({"k": numbers})).assume_sorted("k")
    with pytest.raises(xd.OptionError, match=r"not in the declared order"):
        wrong.sort("k").collect()
    with pytest.raises(xd.OptionError, match=r"order|sorted"):
        wrong.join(pa.table({"k": numbers}), on="k", strategy="merge").collect()


@pytest.mark.parametrize(
    ("write", "error", "match"),
    [
        (lambda r: r.sort(), xd.OptionError, r"needs a column(.|\n)*sort\("),
        (lambda r: r.sort("d"), xd.ColumnError, r"no column 'd' in sort\(\)"),
        (lambda r: r.sort(desc("aa")), xd.ColumnError, r"try\s+'a'"),
        (lambda r: r.sort(3), xd.OptionError, r"not int"),
        (lambda r: desc("a", nulls="fist"), xd.OptionError, r"nulls='first'"),
        (lambda r: r.sort("a", limit=-1), xd.OptionError, r"sort\(limit=...\)"),
        (lambda r: r.sort(col("b") + 1), xd.ExpressionError, r"CD-504"),
        (lambda r: r.top_k(-1, "a"), xd.OptionError, r"top_k\(k\)"),
        (lambda r: r.top_k(3), xd.OptionError, r"needs a column"),
        (lambda r: r.top_k("a", 3), xd.OptionError, r"top_k\(k\)"),
        (lambda r: r.arg_sort("d"), xd.ColumnError, r"arg_sort"),
        (lambda r: r.assume_sorted("d"), xd.ColumnError, r"assume_sorted"),
        (lambda r: r.assume_sorted(asc(col("c") + 1)), xd.OptionError, r"takes columns"),
    ],
)
def test_refused_at_once(
    rows: xd.Relation, write: Callable[[xd.Relation], object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        write(rows)


def test_how_sorts_look(rows: xd.Relation) -> None:
    computed = rows.sort("a", desc("b", nulls="first"), col("c") + 1, limit=5, stable=True)
    assert "sort by a, b desc nulls first, c + 1, stable, limit 5" in repr(computed)
    ordered = rows.sort("a", desc("b", nulls="first"), "c", limit=5, stable=True)
    assert "arg_sort by a" in repr(rows.arg_sort("a"))
    plan = ordered.explain()
    assert plan.splitlines()[0].startswith("sort by a, b desc nulls first, c, stable, limit 5")
    assert "predicted" in plan.splitlines()[0]
    data = json.loads(plan.json)["plan"]
    assert (data["operator"], data["plan"]["operator"]) == ("sort", "sort")
    profile = rows.sort("a").profile()
    assert [step["operator"] for step in profile.data["steps"]] == ["read", "sort"]
    assert profile.data["steps"][-1]["rows"] == 5
    assert "sort by a" in profile.text


def test_the_strategies_that_may_be_asked_for(dock: xd.Dock) -> None:
    numbers = pa.array([(i * 7919) % 5003 for i in range(5000)], pa.int64())
    rows = dock.from_arrow(pa.table({"k": numbers, "v": range(5000)}))
    expected = rows.sort("k").collect()
    for strategy in ("msd", "lsd"):
        asked = rows.sort("k", strategy=strategy)
        assert asked.collect().equals(expected)
        assert f"{strategy} strategy" in str(asked.profile())
    with pytest.raises(xd.OptionError, match=r"strategy(.|\n)*'lsd'"):
        rows.sort("k", strategy="lds")


def test_a_declared_order_with_nulls_inside_is_sorted_again(dock: xd.Dock) -> None:
    """The engine's own order of two keys puts rows with a null in the second one between others."""
    left = pa.table({"a": [1, 1, 2, 2], "b": [1, None, 1, 2], "v": [1, 2, 3, 4]})
    rows = dock.from_arrow(left).sort("a", "b").assume_sorted("a", "b")
    joined = rows.join(dock.from_arrow(left), on=["a", "b"], strategy="merge", suffix="_r")
    assert joined.select("v", "v_r").collect().to_pylist() == [
        {"v": v, "v_r": v} for v in (1, 3, 4)
    ]


def test_numbers_of_rows_may_be_of_any_integer_type(rows: xd.Relation) -> None:
    numpy = pytest.importorskip("numpy")
    assert rows.limit(numpy.int64(3)).count() == 3
    assert rows.top_k(numpy.uint8(2), "c").collect()["c"].to_pylist() == [5, 4]
    with pytest.raises(xd.OptionError, match=r"limits\s+0 to 2\^63"):
        rows.limit(1 << 70)


@pytest.mark.parametrize("limit", [None, 0, 1, 3, 10])
@pytest.mark.parametrize("offset", [0, 1, 4, 5, 9])
def test_an_offset_leaves_out_the_first_rows(
    rows: xd.Relation, limit: int | None, offset: int
) -> None:
    expected = [5, 4, 3, 2, 1][offset:][:limit]
    cut = rows.sort(desc("c"), limit=limit, offset=offset)
    assert cut.collect()["c"].to_pylist() == expected
    assert cut.count() == len(expected)
    assert [c for b in cut.to_batches() for c in b["c"].to_pylist()] == expected
    assert cut.limit(2, 1).collect()["c"].to_pylist() == expected[1:3]
    assert rows.sort(desc("c"), offset=offset).filter(col("c") < 3).count() == len(
        [c for c in [5, 4, 3, 2, 1][offset:] if c < 3]
    )
    assert (f"after {offset}" in str(cut.explain())) == (offset > 0)
