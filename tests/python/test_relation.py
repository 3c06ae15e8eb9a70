"""Running relations: collect, count, batches, aggregates, Arrow export, joins of joins, closing."""

from __future__ import annotations

import datetime
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.relation import MOST_STEPS

Rows = Callable[[pa.Table], Any]


@pytest.fixture
def joined(dock: xd.Dock, people: pa.Table, visits: pa.Table) -> xd.Relation:
    return dock.from_arrow(people).join(dock.from_arrow(visits), on="id")


EXPECTED = {
    "inner": [(2, "bob", 42, 1, 1.5), (3, "cy", 53, 2, 2.5), (3, "cy", 53, 3, 3.5)],
    "left": [(None, "eve", 75, None, None), (1, "ann", 31, None, None), (2, "bob", 42, 1, 1.5),
             (3, "cy", 53, 2, 2.5), (3, "cy", 53, 3, 3.5), (4, None, 64, None, None)],
    "right": [(None, None, None, 5, 5.5), (2, "bob", 42, 1, 1.5), (3, "cy", 53, 2, 2.5),
              (3, "cy", 53, 3, 3.5), (9, None, None, 4, 4.5)],
    "full": [(None, None, None, 5, 5.5), (None, "eve", 75, None, None), (1, "ann", 31, None, None),
             (2, "bob", 42, 1, 1.5), (3, "cy", 53, 2, 2.5), (3, "cy", 53, 3, 3.5),
             (4, None, 64, None, None), (9, None, None, 4, 4.5)],
    "semi": [(2, "bob", 42), (3, "cy", 53)],
    "anti": [(None, "eve", 75), (1, "ann", 31), (4, None, 64)],
}  # fmt: skip


@pytest.mark.parametrize("how", list(EXPECTED))
def test_kinds(dock: xd.Dock, people: pa.Table, visits: pa.Table, how: str, rows_of: Rows) -> None:
    relation = dock.from_arrow(people).join(dock.from_arrow(visits), on="id", how=how)
    assert rows_of(relation.collect()) == EXPECTED[how]
    assert relation.count() == len(EXPECTED[how])
    assert rows_of(pa.Table.from_batches(relation.to_batches(), relation.schema)) == EXPECTED[how]
    assert relation.agg(n=xd.count()).collect().to_pydict() == {"n": [len(EXPECTED[how])]}


def test_keys_of_other_names(
    dock: xd.Dock, people: pa.Table, visits: pa.Table, rows_of: Rows
) -> None:
    visited = dock.from_arrow(visits).select(who=xd.col("id"), cost=xd.col("cost"))
    result = dock.from_arrow(people).join(visited, on={"id": "who"}, how="full").select("id", "who")
    expected = [(None, None), (None, None), (None, 9), (1, None), (2, 2), (3, 3), (3, 3), (4, None)]
    assert rows_of(result.collect()) == expected


def test_a_residual_decides_on_matches(dock: xd.Dock, people: pa.Table, visits: pa.Table) -> None:
    left, right = dock.from_arrow(people), dock.from_arrow(visits)
    residual = (xd.col("cost") > 2) & (xd.col("age") > xd.col("age_right") * 20)
    inner = left.join(right, on="id", residual=residual)
    assert inner.collect().select(["id", "cost"]).to_pydict() == {"id": [3], "cost": [2.5]}
    outer = left.join(right, on="id", how="left", residual=residual).select("id", "cost")
    assert sorted(map(str, outer.collect()["cost"].to_pylist())) == ["2.5"] + ["None"] * 4
    assert left.join(right, on="id", how="semi", residual=residual).count() == 1
    assert left.join(right, on="id", how="anti", residual=residual).count() == 4


def test_null_keys_can_be_equal(dock: xd.Dock, people: pa.Table, visits: pa.Table) -> None:
    joined = dock.from_arrow(people).join(dock.from_arrow(visits), on="id", null_equals_null=True)
    assert joined.filter(xd.col("id").is_null()).collect()["cost"].to_pylist() == [5.5]


def test_joins_of_joins(dock: xd.Dock, rows_of: Rows) -> None:
    a = dock.from_arrow(pa.table({"k": [1, 2, 3], "a": [10, 20, 30]}))
    b = dock.from_arrow(pa.table({"k": [2, 3, 4], "b": ["x", "y", "z"]}))
    c = dock.from_arrow(pa.table({"k": [3, 4, 5], "c": [0.3, 0.4, 0.5]}))
    left_deep = a.join(b, on="k").join(c, on="k")
    assert left_deep.collect().to_pydict() == {"k": [3], "a": [30], "b": ["y"], "c": [0.3]}
    bushy = a.join(b, on="k", how="full").join(b.join(c, on="k", how="full"), on="k", how="full")
    expected = [(1, 10, None, None, None), (2, 20, "x", "x", None), (3, 30, "y", "y", 0.3),
                (4, None, "z", "z", 0.4), (5, None, None, None, 0.5)]  # fmt: skip
    assert rows_of(bushy.collect()) == expected
    assert bushy.filter(xd.col("c") > 0.35).count() == 2
    assert left_deep.select("c").collect().to_pydict() == {"c": [0.3]}


def test_a_join_with_itself(joined: xd.Relation) -> None:
    twice = joined.join(joined, on=["id", "cost"], suffix="_again")
    assert twice.columns == ["id", "name", "age", "age_right", "cost", "name_again", "age_again",
                             "age_right_again"]  # fmt: skip
    assert twice.count() == 3


def test_computed_columns_below_and_above(dock: xd.Dock, people: pa.Table) -> None:
    decades = dock.from_arrow(people).select("name", decade=xd.col("age") / 10)
    names = dock.from_arrow(pa.table({"decade": pa.array([3.1, 4.2]), "n": [1, 2]}))
    joined = decades.join(names, on="decade").with_columns(n=xd.col("n") * 10)
    assert sorted(joined.collect()["n"].to_pylist()) == [10, 20]
    assert joined.count() == 2


AGGREGATED = pa.table(
    {
        "i": pa.array([1, None, 3], pa.int32()),
        "u": pa.array([1, 2, None], pa.uint64()),
        "f": [0.5, 1.5, None],
        "d": pa.array([Decimal("1.10"), Decimal("2.20"), None]),
        "t": [datetime.datetime(2020, 1, 1), None, datetime.datetime(2021, 1, 1)],
        "s": ["b", "a", None],
        "v": pa.array(["b", "a", None], pa.string_view()),
        "n": pa.array([None, None, None], pa.int64()),
    }
)


def aggregates() -> dict[str, Any]:
    result: dict[str, Any] = {"rows": xd.count()}
    for name in AGGREGATED.column_names:
        result[f"count_{name}"] = xd.count(name)
        result[f"min_{name}"] = xd.min(name)
        result[f"max_{name}"] = xd.max(name)
        if name not in "tsv":
            result[f"sum_{name}"] = xd.sum(name)
    return result


def test_aggregates_of_a_source_and_of_a_join_agree(dock: xd.Dock) -> None:
    source = dock.from_arrow(AGGREGATED)
    plain = source.agg(**aggregates())
    table = plain.collect()
    assert table.schema == plain.schema
    row = table.to_pylist()[0]
    assert (row["rows"], row["count_i"], row["sum_i"], row["sum_n"]) == (3, 2, 4, None)
    assert (row["sum_f"], row["sum_d"], row["sum_u"]) == (2.0, Decimal("3.30"), 3)
    assert (row["min_v"], row["max_s"], row["max_t"]) == ("a", "b", datetime.datetime(2021, 1, 1))
    keys = dock.from_arrow(AGGREGATED.append_column("k", pa.array([1, 2, 3])))
    joined = keys.join(pa.table({"k": [3, 1, 2]}), on="k").agg(**aggregates())
    assert joined.collect().schema == joined.schema
    assert joined.collect().to_pylist() == [row]


def test_aggregates_with_filters_and_expressions(joined: xd.Relation) -> None:
    aggregated = joined.filter(xd.col("cost") * 2 > 4).agg(n=xd.count(), s=xd.sum("cost"))
    assert aggregated.collect().to_pydict() == {"n": [2], "s": [6.0]}
    doubled = joined.select(x=xd.col("cost") * 2).agg(s=xd.sum("x"), m=xd.max("x"))
    assert doubled.collect().to_pydict() == {"s": [15.0], "m": [7.0]}
    assert doubled.count() == 1
    assert doubled.filter(xd.col("s") > 100).count() == 0


def test_sums_do_not_wrap(dock: xd.Dock) -> None:
    big = dock.from_arrow(pa.table({"x": pa.array([2**62, 2**62], pa.int64())}))
    with pytest.raises(xd.DataError, match="does not fit an int64"):
        big.agg(s=xd.sum("x")).collect()
    near = dock.from_arrow(pa.table({"x": pa.array([2**62, 2**62 - 1, -5], pa.int64())}))
    assert near.agg(s=xd.sum("x")).collect()["s"].to_pylist() == [2**63 - 6]
    unsigned = dock.from_arrow(pa.table({"x": pa.array([2**63, 2**63 - 1], pa.uint64())}))
    assert unsigned.agg(s=xd.sum("x")).collect()["s"].to_pylist() == [2**64 - 1]


def test_empty_inputs(dock: xd.Dock, people: pa.Table) -> None:
    nothing = dock.from_arrow(people.slice(0, 0))
    joined = nothing.join(dock.from_arrow(people), on="id", how="right")
    assert joined.count() == 5
    assert nothing.join(nothing, on="id").collect().num_rows == 0
    row = nothing.agg(n=xd.count(), s=xd.sum("age"), m=xd.min("name")).collect().to_pylist()
    assert row == [{"n": 0, "s": None, "m": None}]


def test_arrow_export_streams(joined: xd.Relation) -> None:
    assert pa.RecordBatchReader.from_stream(joined).read_all().num_rows == 3
    assert pa.schema(joined) == joined.schema
    assert pa.table(joined).schema == joined.schema


def test_after_close_everything_is_a_clear_error(people: pa.Table) -> None:
    with xd.connect() as dock:
        relation = dock.from_arrow(people)
        result = relation.collect()
    dock.close()
    for use in (
        relation.collect,
        relation.count,
        lambda: dock.read("x.parquet"),
        lambda: dock.threads,
    ):
        with pytest.raises(xd.ClosedError, match="the dock is closed"):
            use()
    with pytest.raises(xd.ClosedError), dock:
        pass
    assert result.num_rows == 5
    assert relation.columns == ["id", "name", "age"]
    assert repr(dock) == "crossdock.Dock (closed)"


def test_many_threads_share_a_dock(joined: xd.Relation) -> None:
    result: list[int] = []
    threads = [
        threading.Thread(target=lambda: result.extend(joined.count() for _ in range(20)))
        for _ in range(4)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert result == [3] * 80


def test_import_alone_loads_nothing_heavy() -> None:
    program = (
        "import sys, crossdock as xd; assert 'pyarrow' not in sys.modules;"
        "import pyarrow as pa\nwith xd.connect() as dock:\n"
        "  k = pa.Table.from_arrays([pa.nulls(3, pa.int64())], names=['k'])\n"
        "  dock.from_arrow(k).join(k, on='k').collect()\n"
        "heavy = [m for m in ('pyarrow.dataset', 'rich', 'pandas', 'click') if m in sys.modules]\n"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", program], check=True)


def test_unknown_names_of_the_module() -> None:
    with pytest.raises(AttributeError, match="did you mean 'connect'"):
        xd.conect  # noqa: B018
    assert set(xd.__all__) <= set(dir(xd))
    for name in xd.__all__:
        assert getattr(xd, name) is not None


def endless(dock: xd.Dock, residual: xd.Expr | None = None) -> xd.Relation:
    """Every row matches every row: 40 thousand million of them, each verified."""
    one = pa.scalar(Decimal(1), pa.decimal128(9))
    ones = pa.table({"k": pa.repeat(one, 200_000), "v": pa.array(range(200_000))})
    return dock.from_arrow(ones).join(ones, on="k", residual=residual)


RUNS: dict[str, Callable[[xd.Relation], object]] = {
    "count": xd.Relation.count,
    "agg": lambda relation: relation.agg(s=xd.sum("v")).collect(),
    "batches": lambda relation: [batch.num_rows for batch in relation.to_batches()],
}


@pytest.mark.parametrize("name", list(RUNS))
def test_ctrl_c_stops_a_run_and_the_dock_works_on(dock: xd.Dock, name: str) -> None:
    relation = endless(dock)
    timer = threading.Timer(0.5, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    start = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        RUNS[name](relation)
    assert time.perf_counter() - start < 10
    assert dock.progress() is None
    assert relation.select("v").filter(xd.col("v") == 7).count() == 200_000


def test_an_iterator_that_is_dropped_ends_its_run(dock: xd.Dock) -> None:
    batches = endless(dock).to_batches()
    assert next(batches).num_rows > 0
    del batches
    assert dock.progress() is None
    reader = pa.RecordBatchReader.from_stream(endless(dock))
    assert reader.read_next_batch().num_rows > 0
    del reader
    for _ in range(200):  # the last batch is given back by the thread that waited for it
        dock.trim()
        if dock.memory_used_bytes == 0:
            break
        time.sleep(0.01)
    assert dock.memory_used_bytes == 0


def test_over_the_budget_is_an_error_that_names_limit_and_next_step(people: pa.Table) -> None:
    with xd.connect(memory="64MiB") as dock:
        with pytest.raises(xd.CapacityError, match=r"64.0[0 ]*MiB(.|\n)*try") as caught:
            endless(dock).collect()
        assert caught.value.code == "CD-201"
        assert dock.from_arrow(people).join(people, on="id").count() == 4


def test_an_error_in_a_residual_comes_out_as_it_was(dock: xd.Dock) -> None:
    residual = xd.col("v").cast("string").cast("int8") > xd.col("v_right")
    for run in (xd.Relation.count, xd.Relation.collect):
        with pytest.raises(xd.ExpressionError, match="Failed to parse") as caught:
            run(endless(dock, residual))
        assert caught.value.code == "CD-504"


def test_relations_are_as_deep_as_their_limit(dock: xd.Dock, people: pa.Table) -> None:
    rows = dock.from_arrow(people)
    deep = rows
    for _ in range(MOST_STEPS - 1):
        deep = deep.filter(xd.col("id") > 1)
    assert deep.count() == 3
    with pytest.raises(xd.OptionError, match="more than 100 operations") as caught:
        deep.filter(xd.col("id") > 1)
    assert "collect()" in str(caught.value)
    flat = rows
    for _ in range(300):
        flat = flat.union(rows)
    assert flat.count() == 301 * people.num_rows
    assert rows.filter(*[xd.col("id") != number for number in range(5, 900)]).count() == 4
