"""Window functions of all values of their frames: what they are refused for, and what planning them
costs where they are computed as groups of whole partitions."""

from __future__ import annotations

import cProfile
from collections.abc import Callable, Iterator
from types import CodeType

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.engine import late_columns, native_plans
from crossdock.engine.execution import Execution
from crossdock.engine.native_plans import Operation
from crossdock.plan.nodes import GroupBy, Node, inputs_of

ROWS = pa.table({"k": ["a", "a", "b"], "x": [1, 3, 2]})
WALKS = frozenset(module.__file__ for module in (late_columns, native_plans))


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2) as dock:
        dock.register("t", ROWS)
        yield dock


@pytest.mark.parametrize(
    ("call", "values"),
    [
        ("median(x) over (partition by k rows between 1 preceding and current row)", [1, 2, 2]),
        ("list(x) over (partition by k rows unbounded preceding)", [[1], [1, 3], [2]]),
        ("quantile_cont(x, 0.5) over (rows 1 preceding)", [1, 2, 2.5]),
        ("string_agg(k, ',') over (rows 1 preceding)", ["a", "a,a", "a,b"]),
        ("bit_or(x) over (rows current row)", [1, 3, 2]),
        ("count(distinct k) over (rows between current row and 1 following)", [1, 2, 1]),
    ],
)
def test_frames_without_an_order_are_of_rows_as_they_come(
    dock: xd.Dock, call: str, values: list[object]
) -> None:
    rows = dock.sql(f"select x, {call} as v from t").collect().to_pylist()
    by_x = {row["x"]: row["v"] for row in rows}
    assert [by_x[x] for x in (1, 3, 2)] == values


def test_lists_of_frames_with_holes_and_orders_in_the_call_are_refused(dock: xd.Dock) -> None:
    rows = dock.from_arrow(ROWS)
    with pytest.raises(xd.OptionError, match="would leave rows out of the frames of lists"):
        rows.select(v=xd.list_agg("x").over("k", order_by="x", exclude="group"))
    with pytest.raises(xd.OptionError, match="over whole partitions, in one order"):
        rows.select(v=xd.arg_max("x", "k").over(order_by="x"))
    with pytest.raises(xd.OptionError, match="exclude takes one of current row, group, ties"):
        rows.select(v=xd.sum("x").over(order_by="x", exclude="row"))


def test_lists_of_frames_are_one_table_of_many_batches() -> None:
    count = 70_000
    table = pa.table({"k": [i % 3 for i in range(count)], "i": range(count)})
    with xd.connect(threads=3) as dock:
        last = xd.list_agg("i").over("k", order_by="i", rows=(-2, -1))
        number = xd.row_number().over(order_by=xd.desc("i"))
        rows = dock.from_arrow(table).select("i", last=last, number=number).collect()
    for row in rows.to_pylist():
        i = row["i"]
        assert row["last"] == ([j for j in (i - 6, i - 3) if j >= 0] or None)
        assert row["number"] == count - i


@pytest.mark.parametrize("call", ["array_agg(x)", "list(x)", "list(x order by k)"])
def test_a_filter_of_lists_is_refused(dock: xd.Dock, call: str) -> None:
    with pytest.raises(xd.SqlError, match=r"FILTER of \w+ over a window"):
        dock.sql(f"select {call} filter (where x > 2) over (partition by k) from t")


@pytest.mark.parametrize(
    "value",
    [
        xd.median_exact("x").over("nope"),
        xd.median_exact("nope").over("k"),
        xd.list_agg("x").over("k", order_by="nope", rows=(None, None)),
    ],
)
def test_an_unknown_column_is_one_of_the_method_that_was_called(
    dock: xd.Dock, value: xd.Expr
) -> None:
    rows = dock.from_arrow(ROWS)
    with pytest.raises(xd.ColumnError, match=r"no column 'nope' in select\(\)"):
        rows.select(m=value)
    with pytest.raises(xd.ColumnError, match=r"no column 'nope' in with_columns\(\)"):
        rows.with_columns(m=value)
    with pytest.raises(xd.ColumnError, match=r"no column 'nope' in filter\(\)"):
        rows.filter(value > 1)


def calls_of(
    dock: xd.Dock,
    partitions: int,
    work: Callable[[xd.Relation, dict[str, xd.Expr]], None],
    counts: Callable[[object], bool] = lambda _: True,
) -> int:
    """Of Python's functions, while medians of as many partitions are computed."""
    rows = dock.from_arrow(pa.table({f"k{i}": [0, 1] for i in range(partitions)} | {"x": [1, 2]}))
    medians = {f"m{i}": xd.median_exact("x").over(f"k{i}") for i in range(partitions)}
    profile = cProfile.Profile()
    profile.enable()
    work(rows, medians)
    profile.disable()
    return sum(entry.callcount for entry in profile.getstats() if counts(entry.code))


def together(rows: xd.Relation, medians: dict[str, xd.Expr]) -> None:
    rows.with_columns(**medians).collect()


def one_by_one(rows: xd.Relation, medians: dict[str, xd.Expr]) -> None:
    for name, median in medians.items():
        rows = rows.with_columns(**{name: median})
    rows.collect()


def is_of_a_walk(code: object) -> bool:
    return isinstance(code, CodeType) and code.co_filename in WALKS


def test_planning_grows_with_the_partitions(dock: xd.Dock) -> None:
    calls_of(dock, 3, together)
    assert calls_of(dock, 12, together) < 3 * calls_of(dock, 6, together)


def test_a_node_with_several_users_is_looked_at_once(dock: xd.Dock) -> None:
    calls_of(dock, 3, one_by_one, is_of_a_walk)
    many = calls_of(dock, 12, one_by_one, is_of_a_walk)
    assert many < 3 * calls_of(dock, 6, one_by_one, is_of_a_walk)


def test_what_several_nodes_use_is_run_once_beside_lists(monkeypatch: pytest.MonkeyPatch) -> None:
    """Groups come in an order that another run may not have: so would the numbers of their rows."""
    ran: list[Node] = []
    operation_of = Execution.operation

    def noted(execution: Execution, node: Node) -> Operation:
        ran.extend(nodes_of(execution._split(node).node))
        return operation_of(execution, node)

    monkeypatch.setattr(Execution, "operation", noted)
    with xd.connect(threads=2) as dock:
        dock.register("t", ROWS)
        joined = dock.sql(
            "with n as (select x, row_number() over () as r from t group by x) "
            "select n.x, l from n join (select r, list(x) as l from n group by r) m using (r)"
        )
        assert sorted(joined.collect().to_pylist(), key=str) == [
            {"x": x, "l": [x]} for x in (1, 2, 3)
        ]
    assert sum(isinstance(node, GroupBy) and node.keys[0][0] == "x" for node in ran) == 1


def test_unions_of_columns_that_may_be_null_and_not_are_one_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Grouping sets are unions; each group-by below another one would run once for each set."""
    ran: list[Node] = []
    operation_of = Execution.operation

    def noted(execution: Execution, node: Node) -> Operation:
        ran.append(node)
        return operation_of(execution, node)

    monkeypatch.setattr(Execution, "operation", noted)
    with xd.connect(threads=2) as dock:
        dock.register("t", ROWS)
        result = dock.sql("select k, x, avg(x * 0.5) as m from t group by cube (k, x)").collect()
        assert result.num_rows == 9
        assert result.schema.field("m").nullable
        both = dock.sql("select count(*) as n from t union all select sum(x) from t where x > 5")
        assert both.schema == both.collect().schema
        assert both.collect().column("n").to_pylist() == [3, None]
    assert len(ran) == 3


def nodes_of(node: Node) -> Iterator[Node]:
    yield node
    for below in inputs_of(node):
        yield from nodes_of(below)
