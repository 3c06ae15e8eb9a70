"""Constants of a text mean what columns with the same values mean, and what they mean in DuckDB."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import crossdock as xd
import duckdb
import pytest

from .conftest import is_same_value, plain
from .random_constants import Constants, random_constants

SEEDS = range(600)
BATCHES = 6


def outcome(run: Any) -> Any:
    """The value, or the class of the error."""
    try:
        return plain(run())
    except (xd.CrossdockError, duckdb.Error) as error:
        return type(error)


def ours(dock: xd.Dock, text: str) -> Any:
    return outcome(lambda: dock.sql(text).collect().column(0)[0].as_py())


def of_columns(dock: xd.Dock, actual: Constants) -> Any:
    row = actual.table()
    assert row.num_rows == 1
    return outcome(
        lambda: dock.sql(f"select {actual.of_columns} from row").collect().column(0)[0].as_py()
    )


@pytest.mark.parametrize("batch", range(BATCHES))
def test_random_constants(batch: int, dock: xd.Dock, oracle: duckdb.DuckDBPyConnection) -> None:
    for seed in list(SEEDS)[batch::BATCHES]:
        result = random_constants(seed)
        text = f"select {result.constant}"
        constant, column = ours(dock, text), of_columns(dock, result)
        both_fail = isinstance(constant, type) and isinstance(column, type)
        assert both_fail or is_same_value(constant, column), (
            f"seed {seed}: {text}\nof constants {constant}\nof columns   {column}"
        )
        theirs = of_duckdb(oracle, result, is_failure=both_fail)
        if not isinstance(theirs, type):
            assert is_same_value(constant, theirs), (
                f"seed {seed}: {text}\nours   {constant}\ntheirs {theirs}"
            )


def of_duckdb(oracle: duckdb.DuckDBPyConnection, actual: Constants, *, is_failure: bool) -> Any:
    """What DuckDB gives; of columns where ours is an error, for it leaves out constants that its
    result does not depend on."""
    if not is_failure:
        return outcome(lambda: oracle.sql(f"select {actual.constant}").fetchall()[0][0])
    oracle.register("one_row", actual.table())
    text = f"select {actual.of_columns} from one_row"
    return outcome(lambda: oracle.sql(text).fetchall()[0][0])


def test_values_of_casts_cost_little_and_are_what_each_is(dock: xd.Dock) -> None:
    listed = ", ".join(f"(cast('{i}.255' as decimal(9, 2)), '{i}'::bigint)" for i in range(300))
    rows = dock.sql(f"select * from (values {listed}) v(d, n)").collect()
    assert rows["d"].to_pylist()[:2] == [Decimal("0.26"), Decimal("1.26")]
    assert rows["n"].to_pylist() == list(range(300))
    with pytest.raises(xd.CrossdockError, match="'x'"):
        dock.sql("select * from (values ('1'::bigint), ('x'::bigint)) v(n)").collect()
