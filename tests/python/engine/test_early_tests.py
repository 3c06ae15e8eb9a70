"""The first rows of an order, of tables in memory: the bound is tested before conditions."""

from __future__ import annotations

import random

import crossdock as xd
import pyarrow as pa
import pyarrow.compute as pc
import pytest

col = xd.col


@pytest.mark.parametrize("threads", [1, 3])
@pytest.mark.parametrize("order", ["ascending", "descending", "random", "equal"])
def test_first_rows_behind_conditions(order: str, threads: int) -> None:
    draw = random.Random(7)
    count = 200_000
    places = {
        "ascending": list(range(count)),
        "descending": list(range(count, 0, -1)),
        "random": [draw.randrange(10**9) for _ in range(count)],
        "equal": [5] * count,
    }[order]
    at = [None if draw.random() < 0.01 else place for place in places]
    strings = [draw.choice(["", "", "", "some text", "another one"]) for _ in range(count)]
    rows = pa.table({"at": pa.array(at, pa.int64()), "text": strings, "id": pa.array(range(count))})
    kept = rows.filter(pc.match_substring(rows["text"], "text"))
    with xd.connect(threads=threads) as dock:
        for descending in (False, True):
            by = xd.desc("at") if descending else xd.asc("at")
            relation = dock.from_arrow(rows).filter(col("text").contains("text"))
            result = relation.sort(by, limit=15, offset=3).collect()
            way = "descending" if descending else "ascending"
            expected = kept.sort_by([("at", way)])["at"].slice(3, 15)
            assert result["at"].to_pylist() == expected.to_pylist()
            assert set(result["text"].to_pylist()) == {"some text"}
            first = dock.from_arrow(rows).limit(1000).filter(col("text") != "")
            cut = rows.slice(0, 1000).filter(pc.not_equal(rows["text"].slice(0, 1000), ""))
            least = cut.sort_by([("at", way)])["at"].slice(0, 5).to_pylist()
            assert first.sort(by, limit=5).collect()["at"].to_pylist() == least


def test_first_rows_of_an_outer_join() -> None:
    """Rows of the build side that only dropped rows match have partners all the same."""
    left = pa.table({"k": list(range(50_000)), "at": list(range(50_000))})
    right = pa.table({"k": list(range(100_000)), "name": [f"n{i % 7}" for i in range(100_000)]})
    with xd.connect(threads=2) as dock:
        joined = dock.from_arrow(left).join(dock.from_arrow(right), on="k", how="full")
        result = joined.sort("at", limit=3).collect().select(["k", "at", "name"]).to_pylist()
        assert [row["at"] for row in result] == [0, 1, 2]
        last = joined.sort(xd.desc("at"), limit=3).collect()["at"].to_pylist()
        assert len(last) == 3
        matched = dock.from_arrow(left).join(dock.from_arrow(right), on="k")
        named = matched.filter(col("name") == "n3").sort("at", limit=4).collect()
        assert named["at"].to_pylist() == [3, 10, 17, 24]
