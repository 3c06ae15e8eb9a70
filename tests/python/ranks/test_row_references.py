"""Queries over ranks that leave few of many rows: columns that nothing computes with stay behind,
and the rows are those of one process, in order."""

from __future__ import annotations

import json
from collections.abc import Callable

RunRanks = Callable[..., list[str]]

QUERIES = """
import json
import crossdock as xd, numpy as np, pyarrow as pa
draw = np.random.default_rng(5)
N, PEOPLE, LANDS = 60_000, 9_000, 7

def people(step):
    ids = np.arange(PEOPLE) // step  # a key that is unique, or not
    names = [None if i % 97 == 5 else f"the name of person {i}" for i in range(PEOPLE)]
    return pa.table({"p": ids, "name": names, "land": np.arange(PEOPLE) % LANDS,
                     "note": [f"note {i % 50} " * (i % 4) for i in range(PEOPLE)],
                     "age": pa.array(np.arange(PEOPLE) % 90).cast(pa.decimal128(21, 2))})

lands = pa.table({"l": np.arange(LANDS), "called": [f"land {i // 2}" for i in range(LANDS)]})
sales = pa.table({"buyer": draw.integers(0, PEOPLE + 500, N), "v": draw.integers(0, 10**9, N)})
unique, twice = people(1), people(2)
cases = {}
result = {"cases": cases}
with xd.connect(threads=1) as dock, xd.connect(threads=1, ranks="off") as alone:
    def of_rank(table):
        draw = np.random.default_rng(11)
        return table.filter(pa.array(draw.integers(0, dock.size, table.num_rows) == dock.rank))

    def relations(table):
        return dock.from_arrow(of_rank(table)), alone.from_arrow(table)

    def top(persons, sold, land, how="inner"):
        joined = sold.join(persons, on=[("buyer", "p")], how=how)
        joined = joined.join(land, on=[("land", "l")], how=how)
        return joined

    def grouped(joined):
        keys = ("buyer", "name", "note", "age", "called")
        return joined.group_by(*keys).agg(total=xd.sum("v"), n=xd.count())

    queries = {
        "rows": lambda j: j.sort(xd.desc("v"), "buyer", "age", limit=40, offset=3),
        "groups": lambda j: grouped(j).sort(xd.desc("total"), "buyer", "age", limit=25),
        "pairs": lambda j: grouped(j).sort(xd.desc("total"), limit=20),
        "computed": lambda j: grouped(j).filter("n > 2").select(
            "name", "called", "age", again="name", t=xd.col("total") * 2
        ).sort(xd.desc("t"), "age", limit=10),
        "sorted by a string": lambda j: grouped(j).sort("name", xd.desc("total"), limit=10),
        "filtered by a string": lambda j: grouped(j.filter("note like '%3%'")).sort(
            xd.desc("total"), "age", limit=10),
        "no group": lambda j: grouped(j.filter("v < 0")).sort(xd.desc("total"), limit=10),
        "all rows": lambda j: grouped(j).sort(xd.desc("total"), "buyer", "age"),
    }
    for persons, kind in ((unique, "unique"), (twice, "twice")):
        for how in ("inner", "left"):
            sides = zip(relations(persons), relations(sales), relations(lands), strict=True)
            mine, whole = (top(*side, how) for side in sides)
            inner = mine if how == "inner" else inner
            for name, query in queries.items():
                expected = query(whole).collect()
                rows = query(mine).gather()
                profile = query(mine).profile().data
                rules = [move["rule"] for move in profile["ranks"][0]["exchanges"]]
                same = dock.rank != 0 or rows.equals(expected)
                if name == "pairs" and kind == "twice" and dock.rank == 0:  # of equal totals
                    same = rows["total"].equals(expected["total"])
                    same &= sorted(map(str, rows.to_pylist())) == sorted(
                        map(str, expected.to_pylist()))
                cases[f"{name}, {kind}, {how}"] = [same, "columns of few rows" in rules]
    query = queries["groups"](inner)
    result["explained"] = str(query.explain())
    result["counted"] = query.count()
    result["rows of each"] = query.collect().num_rows
print(json.dumps(result))
"""


def test_few_rows_get_their_columns_at_the_end(run_ranks: RunRanks) -> None:
    results = [json.loads(out.strip().splitlines()[-1]) for out in run_ranks(QUERIES, 3)]
    for each in results:
        cases = each["cases"]
        assert {name for name, (same, _) in cases.items() if not same} == set()
        fetched = {name for name, (_, late) in cases.items() if late}
        assert "rows, unique, inner" in fetched
        assert "rows, twice, inner" in fetched
        assert "groups, unique, inner" in fetched
        assert "computed, unique, inner" in fetched
        # Two rows for one key: the query runs as it is written.
        assert "pairs, unique, inner" in fetched
        assert "pairs, twice, inner" not in fetched
        assert not any(name.startswith("all rows") for name in fetched)
    assert [each["rows of each"] for each in results] == [25, 0, 0]
    assert {each["counted"] for each in results} == {25}
    assert "columns of few rows" in results[0]["explained"]
