"""Runs the sort of a case in the engine and holds the result against DuckDB's order."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

import duckdb_rows
import numpy as np
import pyarrow as pa
from crossdock import _native
from group_by_run import result_of
from same_rows import assert_same_rows, codes_of, plain, plain_keys
from sort_cases import SortCase, make_table, order_of, output_of, run_options

Order = Sequence[tuple[str, bool, bool]]


def duckdb_order(table: pa.Table, order: Order) -> tuple[np.ndarray, np.ndarray]:
    """The stable order of the rows, and for each row the rank of its key (equal keys alike)."""
    terms = [
        f"{name} {'DESC' if descending else 'ASC'} NULLS {'FIRST' if nulls_first else 'LAST'}"
        for name, descending, nulls_first in order
    ]
    duckdb_rows.register("sorted", table, [name for name, _, _ in order])
    by = ", ".join(terms)
    result = duckdb_rows.query(
        f"SELECT i, dense_rank() OVER (ORDER BY {by}) AS rank FROM sorted ORDER BY rank, i"
    )
    rows = duckdb_rows.numbers_of(result.column("i"))
    ranks = np.empty(len(rows), np.int64)
    ranks[rows] = duckdb_rows.numbers_of(result.column("rank"))
    return rows, ranks


def make_sort(engine: _native.Engine, case: SortCase, table: pa.Table) -> _native.Sort:
    """The sort of a case, planned."""
    return _native.Sort(
        engine,
        _native.Table.from_stream(engine, table),
        keys=order_of(case),
        output=output_of(case, table),
        **run_options(case),
    )


def assert_sorted(table: pa.Table, order: Order, found_rows: np.ndarray, **options: Any) -> None:
    """The row numbers are those of the sorted table: in the one stable order where that is asked
    for, otherwise any rows of equal keys for each other; each at most once."""
    rows, ranks = duckdb_order(table, order)
    begin = options.get("offset", 0)
    limit = options.get("limit", -1)
    end = len(rows) if limit < 0 else begin + limit
    expected = rows[begin:end]
    assert len(found_rows) == len(expected), f"{len(found_rows)} rows, expected {len(expected)}"
    assert len(np.unique(found_rows)) == len(found_rows), "a row comes twice"
    same = found_rows == expected if options.get("stable") else ranks[found_rows] == ranks[expected]
    wrong = np.flatnonzero(~same)
    if len(wrong):
        at = int(wrong[0])
        keys = [
            [table.column(name)[int(row)].as_py() for name, _, _ in order]
            for row in (expected[at], found_rows[at])
        ]
        raise AssertionError(
            f"{len(wrong)} of {len(expected)} rows are out of order; at {at}: expected row "
            f"{expected[at]} with {keys[0]}, found row {found_rows[at]} with {keys[1]}"
        )


def check(engine: _native.Engine, case: SortCase) -> dict[str, Any]:
    """Runs a case and compares; answers the profile of the run."""
    table = make_table(case)
    sort = make_sort(engine, case, table)
    result = result_of(sort, case.run)
    profile: dict[str, Any] = json.loads(sort.profile())
    assert case.strategy in ("auto", profile["strategy"])
    result.validate(full=True)
    output = output_of(case, table)
    names = [name for _, name in output] + ["position"] * case.row_index
    assert result.column_names == names
    for column, name in output:
        assert result.schema.field(name).type == table.schema.field(column).type
    rows = row_numbers(case, result)
    if rows is None:
        assert_keys(case, table, result)
    else:
        assert_sorted(table, order_of(case), rows, **run_options(case))
        for column, name in output:
            want = plain(table.column(column)).take(pa.array(rows))
            codes = codes_of(want, plain(result.column(name)))
            np.testing.assert_array_equal(codes[0], codes[1], err_msg=name)
    assert sort.count() == result.num_rows == profile["result_rows"]
    return profile


def row_numbers(case: SortCase, actual: pa.Table) -> np.ndarray | None:
    """The rows of the table that the result has, if it says them; twice if it can."""
    numbers = [name for name in ("position", "row_out") if name in actual.column_names]
    if not numbers:
        return None
    for name in numbers:
        assert actual.schema.field(name).type == pa.int64()
    answers = [duckdb_rows.numbers_of(actual.column(name)) for name in numbers]
    np.testing.assert_array_equal(answers[0], answers[-1])
    return answers[0]


def assert_keys(case: SortCase, table: pa.Table, actual: pa.Table) -> None:
    """Key columns alone: each has the values of the sorted table in their order, and of zeros and
    NaNs as many of either sign as went in."""
    rows, _ = duckdb_order(table, order_of(case))
    options = run_options(case)
    end = len(rows) if options["limit"] < 0 else options["offset"] + options["limit"]
    expected = pa.array(rows[options["offset"] : end])
    for name, _, _ in order_of(case):
        want = plain_keys(table.column(name)).take(expected)
        codes = codes_of(want, plain_keys(actual.column(f"{name}_out")))
        np.testing.assert_array_equal(codes[0], codes[1], err_msg=name)
    if options["limit"] < 0 and options["offset"] == 0:
        keys = [plain(table.column(name)) for name, _, _ in order_of(case)]
        assert_same_rows(keys, actual)
