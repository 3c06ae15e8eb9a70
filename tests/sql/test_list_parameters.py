"""Lists as parameters have the rows that lists of constants have, in DuckDB."""

from __future__ import annotations

from typing import Any

import crossdock as xd
import duckdb
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

LISTS: list[Any] = [[1, 2], (1,), [], [1, None], [None], [7]]
OTHER_KINDS: list[Any] = [
    np.array([1, 2]), pa.array([1, 2]), pl.Series([1, 2]), pd.Series([1, 2]), {1, 2}, (1, 2),
]  # fmt: skip


@pytest.mark.parametrize("values", LISTS, ids=repr)
@pytest.mark.parametrize("condition", ["a in ?", "a not in ?", "not (a + 1 in ?)"])
def test_in(dock: xd.Dock, oracle: duckdb.DuckDBPyConnection, condition: str, values: Any) -> None:
    listed = ", ".join("NULL" if v is None else str(v) for v in values)
    of_constants = condition.replace("?", f"({listed})" if values else "(select 1 where false)")
    expected = oracle.sql(f"select a, ({of_constants}) from t order by a").fetchall()
    rows = dock.sql(f"select a, ({condition}) as x from t order by a", [values]).collect()
    assert [tuple(row.values()) for row in rows.to_pylist()] == expected


@pytest.mark.parametrize("values", OTHER_KINDS, ids=lambda values: type(values).__module__)
def test_kinds_of_lists(dock: xd.Dock, values: Any) -> None:
    text = "select a from t where a in $l and s <> $x and a = any($l) order by a"
    assert dock.sql(text, {"l": values, "x": "q"}).collect()["a"].to_pylist() == [1, 2]


def test_a_list_is_a_value(dock: xd.Dock) -> None:
    rows = dock.sql("select ? as l, len(?) as n, unnest(?) as x", [[1, 2], ["a"], [3, 4]])
    assert rows.collect().to_pylist() == [{"l": [1, 2], "n": 1, "x": i} for i in (3, 4)]


def test_missing_values_of_pandas_are_null(dock: xd.Dock) -> None:
    rows = dock.sql("select ? is null as a, ? is null as b", [pd.NaT, pd.NA])
    assert rows.collect().to_pylist() == [{"a": True, "b": True}]
