"""Moments of ranks together are those of all rows."""

from __future__ import annotations

import random

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.ranks.merged_moments import SHAPES, SPREADS, parts_of, value_over_ranks


def _of(dock: xd.Dock, values: list[float], items: dict[str, xd.Aggregate]) -> pa.Table:
    rows = dock.from_arrow(pa.table({"x": pa.array(values, pa.float64())}))
    return rows.agg(**items).collect()


@pytest.mark.parametrize("origin", [0.0, 1e5])
@pytest.mark.parametrize("function", sorted(SPREADS | SHAPES))
def test_parts_of_ranks_give_the_value_of_all_rows(function: str, origin: float) -> None:
    draw = random.Random(5)
    item = getattr(xd, function)("x")
    for sizes in ((0, 0, 0), (1, 0, 1), (1, 1, 1), (2, 1, 1), (3, 0, 900), (40, 1000, 17)):
        ranks = [[origin + draw.expovariate(1) for _ in range(size)] for size in sizes]
        with xd.connect(threads=1) as dock:
            rows = [_of(dock, rank, parts_of(item)) for rank in ranks]
            whole = _of(dock, [x for rank in ranks for x in rank], {"v": item})["v"][0].as_py()
        columns = [[row.column(i)[0].as_py() for row in rows] for i in range(len(parts_of(item)))]
        value = value_over_ranks(item, columns)
        assert value == (None if whole is None else pytest.approx(whole, rel=1e-6, abs=1e-6))


def test_equal_values_of_all_ranks_have_no_shape() -> None:
    columns = [[3, 2], [0.1, 0.1], [0.0, 0.0], [None, None], [None, None]]
    assert value_over_ranks(xd.kurtosis("x"), columns) is None
