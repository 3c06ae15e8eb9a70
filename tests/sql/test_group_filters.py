"""Groups that a join needs few of are made of few rows: those whose keys other tables have, which
are read once where the query itself reads them, too."""

from __future__ import annotations

from collections.abc import Iterator

import crossdock as xd
import duckdb
import pyarrow as pa
import pytest
from crossdock.plan.nodes import GroupBy, Join, Node, Scan, inputs_of

from .conftest import are_same, rows_of

KEYS = 2_000
MEAN = """
select sum(price) as total from lines, parts
where p = part and brand = 7 and quantity < (select 0.5 * avg(quantity) from lines where p = part)
"""
LEAST = """
select part, s, cost from parts, offers, suppliers
where part = p and supplier = s and brand = 7 and region = 2 and cost = (
  select min(cost) from offers, suppliers where p = part and s = supplier and region = 2)
"""
SUM_OF_TWO = """
select o.p, o.s, o.cost from offers o
where o.p in (select part from parts where brand = 7) and o.cost > (
  select 0.01 * sum(l.price) from lines l where l.p = o.p and l.s = o.s and l.quantity > 10)
"""
FILTERED = """
select count(*) as n from lines, parts
where p = part and brand = 7 and price > 50 and quantity > (
  select avg(quantity) from lines where p = part)
"""
ALONE = "select p, n from (select p, count(*) as n from lines group by p) where n > 3"
MANY = """
select count(*) as n from lines, parts
where p = part and brand >= 7 and quantity < (select avg(quantity) from lines where p = part)
"""


def made_tables() -> dict[str, pa.Table]:
    return {
        "lines": pa.table(
            {
                "p": [i * 7919 % KEYS for i in range(10 * KEYS)],
                "s": [-i % 40 for i in range(10 * KEYS)],
                "quantity": [float((i * 31 + i // KEYS * 7) % 50) for i in range(10 * KEYS)],
                "price": pa.array([i * 17 % 997 for i in range(10 * KEYS)], pa.int64()),
            }
        ),
        "parts": pa.table({"part": range(KEYS), "brand": [i % 100 for i in range(KEYS)]}),
        "offers": pa.table(
            {
                "p": [i % KEYS for i in range(4 * KEYS)],
                "s": [i % 40 for i in range(4 * KEYS)],
                "cost": [i * 29 % 101 for i in range(4 * KEYS)],
            }
        ),
        "suppliers": pa.table({"supplier": range(40), "region": [i % 5 for i in range(40)]}),
    }


@pytest.fixture(scope="module")
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=2, ranks="off") as opened:
        for name, table in made_tables().items():
            opened.register(name, table)
        yield opened


@pytest.fixture(scope="module")
def oracle() -> Iterator[duckdb.DuckDBPyConnection]:
    with duckdb.connect() as connection:
        for name, table in made_tables().items():
            connection.register(name, table)
        yield connection


def nodes_of(relation: xd.Relation) -> list[Node]:
    """All nodes of the query as it runs, each once."""
    result: dict[Node, None] = {}

    def visit(node: Node) -> None:
        if node not in result:
            result[node] = None
            for below in inputs_of(node):
                visit(below)

    visit(relation.narrowed())
    return list(result)


def scans(nodes: list[Node], column: str) -> int:
    return sum(isinstance(n, Scan) and column in n.columns for n in nodes)


def filters_of(nodes: list[Node]) -> list[Join]:
    """The semi joins that were put into the query."""
    return [
        n
        for n in nodes
        if isinstance(n, Join) and n.how == "semi" and n.keys(1)[0].startswith("a value of")
    ]


@pytest.mark.parametrize("text", [MEAN, LEAST, SUM_OF_TWO, FILTERED, ALONE, MANY])
def test_rows_are_those_of_duckdb(
    text: str, dock: xd.Dock, oracle: duckdb.DuckDBPyConnection
) -> None:
    theirs = rows_of(oracle.sql(text).to_arrow_table())
    assert theirs, "a case without rows proves nothing"
    assert are_same(rows_of(dock.sql(text).collect()), theirs, is_ordered=False)


@pytest.mark.parametrize("text", [MEAN, FILTERED])
def test_a_table_is_read_once_for_its_rows_and_their_groups(text: str, dock: xd.Dock) -> None:
    nodes = nodes_of(dock.sql(text))
    assert scans(nodes, "quantity") == 1
    (semi,) = filters_of(nodes)
    users = [n for n in nodes if semi in inputs_of(n)]
    assert len(users) == 2
    assert any(isinstance(n, GroupBy) for n in users)


def test_a_filter_goes_below_the_joins_of_a_subquery(dock: xd.Dock) -> None:
    nodes = nodes_of(dock.sql(LEAST))
    assert scans(nodes, "cost") == 1
    (semi,) = filters_of(nodes)
    assert isinstance(semi.left, Scan)
    assert semi.keys(0) == ("p",)


def test_groups_of_other_rows_are_filtered_alone(dock: xd.Dock) -> None:
    nodes = nodes_of(dock.sql(SUM_OF_TWO))
    assert scans(nodes, "price") == 1
    assert len(filters_of(nodes)) == 1


@pytest.mark.parametrize("text", [MANY, ALONE])
def test_nothing_is_filtered_by_most_keys(text: str, dock: xd.Dock) -> None:
    assert not filters_of(nodes_of(dock.sql(text)))


def test_the_order_of_the_text_has_no_filters(dock: xd.Dock) -> None:
    dock.sql("set join_order = as_written")
    try:
        assert not filters_of(nodes_of(dock.sql(MEAN)))
    finally:
        dock.sql("reset join_order")
