"""The two oracles agree where DuckDB knows the types: so either can be believed."""

from __future__ import annotations

import numpy as np
import pytest
from join_cases import KEYS, Case, make_sides
from join_oracle import Rows, duckdb_knows, duckdb_rows, reference_rows

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
