"""The two oracles agree where DuckDB knows the types: so either can be believed."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from join_cases import KEYS, Case, make_sides
from join_oracle import Rows, duckdb_knows, duckdb_rows, reference_rows
from same_rows import assert_same_rows

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")


def in_order(rows: Rows) -> np.ndarray:
    stacked = np.stack(rows)
    return stacked[:, np.lexsort(stacked)]


@pytest.mark.parametrize("how", KINDS)
def test_duckdb_and_the_plain_reference_agree(how: str) -> None:
    compared = 0
    for seed, keys in enumerate(KEYS):
        columns = keys[:1] if how == "anti_null_aware" else keys
        plain = how == "anti_null_aware"
        case = Case(
            seed=seed,
            keys=columns,
            how=how,
            sizes=(200, 150),
            nulls="none" if seed % 3 == 0 else "some",
            nulls_equal=not plain and seed % 2 == 0,
            residual=not plain and seed % 5 == 0,
        )
        if not duckdb_knows(case):
            continue
        sides = make_sides(case)
        result = in_order(duckdb_rows(case, sides)), in_order(reference_rows(case, sides))
        np.testing.assert_array_equal(result[0], result[1], err_msg=repr(case))
        compared += 1
    assert compared > len(KEYS) // 2


@pytest.mark.parametrize("columns", [1, 2, 12])
def test_rows_that_differ_are_shown(columns: int) -> None:
    """As multisets: of rows with many values, in columns whose values alone are the same."""
    random = np.random.default_rng(columns)
    data = [random.integers(0, 500, 1000) for _ in range(columns)]
    expected = [pa.array(column) for column in data]
    order = random.permutation(1000)
    names = [f"c{number}" for number in range(columns)]
    same = pa.table(dict(zip(names, [column[order] for column in data], strict=True)))
    assert_same_rows(expected, same)
    if columns == 1:
        wrong = same.set_column(0, "c0", pa.array(np.where(order == 7, 500, same["c0"])))
    else:
        swapped = np.array(data[0])
        swapped[[3, 4]] = swapped[[4, 3]]
        assert swapped[3] != swapped[4]
        wrong = same.set_column(0, "c0", pa.array(swapped[order]))
    with pytest.raises(AssertionError, match="rows differ after sorting"):
        assert_same_rows(expected, wrong)
