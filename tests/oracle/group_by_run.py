"""Runs the group-by of a case in the engine and holds the result against the oracle."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
from crossdock import _native
from group_by_cases import GroupCase, aggregates, key_names, make_table, result_type, value_type
from group_by_oracle import (
    Between,
    Exactly,
    Expected,
    Groups,
    Near,
    OneOf,
    TooLarge,
    expected,
    group,
)
from same_rows import codes_of, plain, plain_keys

Item = tuple[str, str, str, str, dict[str, Any]]


def items_of(case: GroupCase) -> list[Item]:
    """The aggregates of a case, as the engine takes them."""
    return [(a.function, a.column, a.filter, a.name, a.options) for a in aggregates(case)]


def make_group_by(
    engine: _native.Engine, case: GroupCase, table: pa.Table, items: list[Item]
) -> _native.GroupBy:
    """The group-by of a case, planned; with strategy "auto" where its keys or the order of its
    rows exclude the one it asks for."""
    arguments: dict[str, Any] = {"keys": key_names(case), "aggregates": items}
    if case.batch_rows:
        arguments["batch_rows"] = case.batch_rows
    imported = _native.Table.from_stream(engine, table)
    try:
        return _native.GroupBy(engine, imported, strategy=case.strategy, **arguments)
    except _native.NativeError as error:
        if f"strategy '{case.strategy}' cannot group this" not in error.args[2]:
            raise
        return _native.GroupBy(engine, imported, strategy="auto", **arguments)


def result_of(run: Any, how: str) -> pa.Table:
    """The rows of an operation, by the named method."""
    source = run.collect() if how == "collect" else run.stream(2)
    return pa.RecordBatchReader.from_stream(source).read_all()


def matched(groups: Groups, keys: list[pa.ChunkedArray], actual: pa.Table) -> np.ndarray:
    """For each row of the result the number of its group; fails unless each group has one row."""
    assert actual.num_rows == len(groups)
    if not keys or not len(groups):
        return np.arange(len(groups))
    firsts = groups.rows[groups.starts[:-1]]
    pairs = [
        codes_of(plain_keys(key).take(pa.array(firsts)), plain_keys(actual.column(i)))
        for i, key in enumerate(keys)
    ]
    orders = [np.lexsort([pair[side] for pair in pairs]) for side in (0, 1)]
    for at, pair in enumerate(pairs):
        wrong = np.flatnonzero(pair[0][orders[0]] != pair[1][orders[1]])
        if len(wrong):
            rows = int(orders[0][wrong[0]]), int(orders[1][wrong[0]])
            want, have = keys[at][int(firsts[rows[0]])], actual.column(at)[rows[1]]
            raise AssertionError(f"key {at}: expected {want}, found {have}")
    numbers = np.empty(len(groups), np.int64)
    numbers[orders[1]] = orders[0]
    return numbers


def assert_answer(want: Expected, column: pa.ChunkedArray, numbers: np.ndarray, name: str) -> None:
    """The column holds what is wanted of group numbers[i] in row i."""
    if isinstance(want, OneOf):
        assert_one_of(want, column, numbers, name)
        return
    if isinstance(want, Exactly):
        values = want.values.take(pa.array(numbers))
        codes = codes_of(values, plain_keys(column))
        wrong = np.flatnonzero(codes[0] != codes[1])
        text = f"{values[int(wrong[0])]}" if len(wrong) else ""
    else:
        assert isinstance(want, Near | Between)
        null = np.asarray(column.is_null().combine_chunks())
        np.testing.assert_array_equal(null, want.null[numbers], err_msg=f"{name}: nulls")
        wrong, text = wrong_numbers(want, column, numbers)
        wrong = wrong[~null[wrong]]
    assert not len(wrong), (
        f"{name}: {len(wrong)} of {len(numbers)} groups differ; the first has "
        f"{column[int(wrong[0])]}, expected {text}"
    )


def wrong_numbers(
    want: Near | Between, column: pa.ChunkedArray, numbers: np.ndarray
) -> tuple[np.ndarray, str]:
    """Rows whose number is not near, or not between, and what was wanted of the first."""
    whole = plain(column) if pa.types.is_temporal(column.type) else column.combine_chunks()
    have = np.asarray(whole.cast(pa.float64(), safe=False).fill_null(np.nan))
    if isinstance(want, Between):
        low, high = want.low[numbers], want.high[numbers]
        widest = np.maximum(np.abs(low), np.abs(high))
        slack = np.where(np.isfinite(widest), 4 * np.finfo(np.float64).eps * widest, 0)
        right = (have >= low - slack) & (have <= high + slack) | (np.isnan(have) & np.isnan(high))
        wrong = np.flatnonzero(~right)
        return wrong, f"[{low[wrong[0]]}, {high[wrong[0]]}]" if len(wrong) else ""
    values, errors = want.values[numbers], want.errors[numbers]
    same = (have == values) | (np.isnan(have) & np.isnan(values))
    with np.errstate(invalid="ignore"):
        wrong = np.flatnonzero(~(same | (np.abs(have - values) <= errors)))
    return wrong, f"{values[wrong[0]]!r} +- {errors[wrong[0]]}" if len(wrong) else ""


def assert_one_of(want: OneOf, column: pa.ChunkedArray, numbers: np.ndarray, name: str) -> None:
    source, result = plain_keys(want.values.column), plain_keys(column)
    source_codes, found_codes = codes_of(source, result)
    groups = want.values.groups
    absent = np.asarray(column.is_null().combine_chunks())
    for row, number in enumerate(numbers):
        members = groups[int(number)]
        assert absent[row] == (len(members) == 0), f"{name}: {column[row]} of {len(members)} values"
        if len(members):
            assert (source_codes[members] == found_codes[row]).any(), f"{name}: {column[row]}"


def check(engine: _native.Engine, case: GroupCase) -> dict[str, Any]:
    """Runs a case and compares; answers the profile of the run."""
    table = make_table(case)
    groups = group(case, table)
    required = {item.name: expected(case, table, groups, item) for item in aggregates(case)}
    items = items_of(case)
    for name in [name for name, want in required.items() if isinstance(want, TooLarge)]:
        assert_too_large(engine, case, table, [item for item in items if item[3] == name])
        items = [item for item in items if item[3] != name]
    run = make_group_by(engine, case, table, items)
    result = result_of(run, case.run)
    profile: dict[str, Any] = json.loads(run.profile())
    result.validate(full=True)
    assert result.column_names == [*key_names(case), *(item[3] for item in items)]
    for name in key_names(case):
        assert result.schema.field(name).type == table.schema.field(name).type
    numbers = matched(groups, [table.column(name) for name in key_names(case)], result)
    for item in aggregates(case):
        if item.name not in result.column_names:
            continue
        column = result.column(item.name)
        assert column.type == result_type(item, value_type(case, item)), item
        assert_answer(required[item.name], column, numbers, str(item))
    assert run.count() == len(groups) == profile["result_rows"]
    return profile


def assert_too_large(
    engine: _native.Engine, case: GroupCase, table: pa.Table, items: list[Item]
) -> None:
    """The sum fails by name rather than wrap around."""
    try:
        result_of(make_group_by(engine, case, table, items), case.run)
    except (_native.NativeError, pa.ArrowException, OSError) as error:
        text = str(error.args)
        assert "CD-303" in text, text
        assert items[0][3] in text, text
        return
    raise AssertionError(f"{items[0]}: a sum that does not fit is no error")
