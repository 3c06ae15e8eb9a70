"""Relations as Substrait plans: the same rows when they are read back, and in DataFusion."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import crossdock as xd
import datafusion
import pyarrow as pa
import pytest
from datafusion import substrait

from .conftest import are_same, made_tables, rows_of
from .random_analyses import random_analysis

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from queries import catalogue, sources

SCALES = {"tpch": 0.01, "ssb": 0.1}
CASES = [(suite, name) for suite, queries in catalogue.SUITES.items() for name in queries]
Engines = dict[str, tuple[xd.Dock, datafusion.SessionContext]]


@pytest.fixture(scope="module")
def engines() -> Iterator[Engines]:
    result, docks = {}, []
    for suite, scale in SCALES.items():
        context = datafusion.SessionContext()
        dock = xd.connect(threads=2, ranks="off")
        docks.append(dock)
        for name, file in sources.files_of(suite, scale).by_name.items():
            dock.register(name, dock.read_parquet(str(file)))
            context.register_parquet(name, str(file))
        result[suite] = dock, context
    yield result
    for dock in docks:
        dock.close()


def in_datafusion(context: datafusion.SessionContext, plan: bytes) -> list[Any]:
    logical = substrait.Consumer.from_substrait_plan(
        context, substrait.Serde.deserialize_bytes(plan)
    )
    frame = context.create_dataframe_from_logical_plan(logical)
    return rows_of(pa.Table.from_batches(frame.collect(), schema=frame.schema()))


@pytest.mark.parametrize(("suite", "name"), CASES)
def test_queries_there_and_back(suite: str, name: str, engines: Engines) -> None:
    dock, context = engines[suite]
    relation = dock.sql(catalogue.SUITES[suite][name].limited_sql(SCALES[suite]))
    plan = relation.to_substrait()
    expected = rows_of(relation.collect())
    back = dock.from_substrait(plan)
    assert back.columns == relation.columns
    assert are_same(rows_of(back.collect()), expected, is_ordered=False)
    assert are_same(in_datafusion(context, plan), expected, is_ordered=False)


def test_random_queries_there_and_back(dock: xd.Dock) -> None:
    """What is written says the same; the rest is refused by name."""
    written = 0
    for seed in range(400):
        try:
            relation = dock.sql(random_analysis(seed))
            expected = rows_of(relation.collect())
        except xd.CrossdockError:
            continue
        plan = None
        with contextlib.suppress(xd.SqlError):
            plan = relation.to_substrait()
        if plan is None:
            continue
        written += 1
        back = dock.from_substrait(plan)
        assert are_same(rows_of(back.collect()), expected, is_ordered=False), f"seed {seed}"
    assert written > 150


RELATIONS = (
    lambda t: t.filter(xd.col("a") > 1).select("a", x=xd.col("b") / 4),
    lambda t: t.group_by("s").agg(n=xd.count(), m=xd.mean("m"), v=xd.var("a")),
    lambda t: t.sort(xd.desc("a"), limit=2).select("a", "s"),
    lambda t: t.join(t.select("a", c="b"), on="a", how="full"),
    lambda t: t.join(t.select("a", c="b"), on="a", how="right").select("a", "c"),
    lambda t: t.join(t.filter("a > 2"), on="a", how="anti"),
    lambda t: t.select("a").union(t.select("a")).distinct("a"),
    lambda t: t.select(d=xd.col("d").add_months(1), y=xd.col("d").year(), s=xd.col("s").upper()),
    lambda t: t.select(x=xd.when(xd.col("a") > 1).then("big").otherwise(None), b=xd.col("bo")),
    lambda t: t.limit(2).select("a"),
)


@pytest.mark.parametrize("number", range(len(RELATIONS)))
def test_relations_there_and_back(number: int, dock: xd.Dock) -> None:
    base = dock.from_arrow(made_tables()["t"])
    relation = RELATIONS[number](base)
    expected = rows_of(relation.collect())
    for names in ({"mine": base}, None):
        plan = relation.to_substrait(names)
        back = dock.from_substrait(plan, names or {"table": base})
        assert back.columns == relation.columns
        assert are_same(rows_of(back.collect()), expected, is_ordered=False)


def test_plans_of_datafusion(dock: xd.Dock, tables: dict[str, Any]) -> None:
    context = datafusion.SessionContext()
    context.register_record_batches("u", [tables["u"].to_batches()])
    text = "select s, sum(v) as n from u where a > 1 group by s order by n desc limit 2"
    plan = substrait.Serde.serialize_bytes(text, context)
    back = dock.from_substrait(plan, {"u": dock.from_arrow(tables["u"])})
    assert rows_of(back.collect()) == [("z", 4.0), ("y", 3.0)]
    assert rows_of(dock.from_substrait(plan).collect()) == [("z", 4.0), ("y", 3.0)]


@pytest.mark.parametrize(
    ("text", "what"),
    [
        ("select sum(a) over () from t", "the operator Window"),
        ("select list(a) from t", "the operator GroupLists"),
        ("select unnest(l) from lists", "a Substrait plan"),
        ("select regexp_matches(s, 'x') from t", "the function matches"),
        ("select approx_percentile_cont(a, 0.3) from t", "the aggregate quantile"),
    ],
)
def test_what_plans_have_not(text: str, what: str, dock: xd.Dock) -> None:
    with pytest.raises(xd.SqlError, match="CD-513") as caught:
        dock.sql(text).to_substrait()
    assert what in str(caught.value)


def test_what_is_no_plan(dock: xd.Dock) -> None:
    with pytest.raises(xd.SqlError, match="no Substrait plan"):
        dock.from_substrait(b"\xff\xfe nothing")
    with pytest.raises(xd.SqlError, match="one root"):
        dock.from_substrait(b"")
    plan = dock.sql("select a from t").to_substrait()
    with xd.connect(threads=1, ranks="off") as other:
        with pytest.raises(xd.SqlError, match="no table 't'"):
            other.from_substrait(plan)
        with pytest.raises(xd.SqlError, match="has no column 'a'"):
            other.from_substrait(plan, {"t": other.from_arrow(pa.table({"x": [1]}))})


def test_bytes_that_are_cut_or_changed_end_in_errors(dock: xd.Dock) -> None:
    plan = bytearray(dock.sql("select s, sum(b + 1) from t where a > 1 group by s").to_substrait())
    for place in range(0, len(plan), 7):
        other = plan.copy()
        other[place] ^= 0x15
        for changed in (plan[:place], other):
            try:
                dock.from_substrait(bytes(changed)).collect()
            except xd.CrossdockError:
                continue
