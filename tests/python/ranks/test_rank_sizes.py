"""Sizes of parts of a query that have not run, by which ranks choose what travels."""

from __future__ import annotations

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.plan.estimates import Estimator
from crossdock.ranks.sizes import estimated_size, exact_size, is_table

ROWS = 20_000


@pytest.fixture
def rows() -> xd.Relation:
    numbers = pa.array(range(ROWS), pa.int64())
    strings = pa.array([f"{number:010}" for number in range(ROWS)])
    return xd.from_arrow(pa.table({"k": numbers, "s": strings, "d": numbers.cast(pa.int32())}))


def size(relation: xd.Relation) -> tuple[float, float]:
    result = estimated_size(relation.narrowed(), Estimator())
    assert result is not None
    return result


def test_a_table_has_its_size(rows: xd.Relation) -> None:
    node = rows.select("k", "d").narrowed()
    assert is_table(node)
    assert exact_size(node) == (ROWS, 12 * ROWS)
    assert size(rows.select("k", "d")) == (ROWS, 12 * ROWS)


def test_a_filter_keeps_its_share_of_rows_and_bytes(rows: xd.Relation) -> None:
    kept = rows.filter(xd.col("k") < ROWS // 4)
    assert not is_table(kept.narrowed())
    expected = ROWS / 4
    counted, weight = size(kept)
    assert counted == pytest.approx(expected, rel=0.1)
    assert weight == pytest.approx(expected * (8 + 14 + 4), rel=0.1)  # strings with their offsets


def test_columns_of_a_join_are_as_wide_as_in_their_tables(rows: xd.Relation) -> None:
    joined = rows.select("k", "s").join(rows.select("k", "d"), on="k")
    assert size(joined) == pytest.approx((ROWS, ROWS * (8 + 14 + 4)), rel=0.1)


def test_computed_columns_are_as_wide_as_their_types(rows: xd.Relation) -> None:
    computed = rows.select(x=xd.col("d").cast("int64") * 2, y=xd.col("s"))
    assert size(computed) == pytest.approx((ROWS, ROWS * (8 + 14)), rel=0.01)


def test_rows_of_unknown_number_have_no_size(tmp_path: object) -> None:
    path = f"{tmp_path}/rows.csv"
    xd.from_arrow(pa.table({"k": [1, 2, 3]})).write(path)
    assert estimated_size(xd.read_csv(path).narrowed(), Estimator()) is None
