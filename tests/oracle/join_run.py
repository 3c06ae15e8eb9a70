"""Runs the join of a case in the engine and holds the result against the oracle."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from crossdock import _native
from join_cases import Case, Sides, make_sides, run_options
from join_oracle import LEFT_ONLY, Rows, expected_rows
from same_rows import assert_same_rows, taken

Output = list[tuple[str, str, str]]


def less(pairs: Any) -> pa.Array:
    """The residual of the oracle: the left row's p below the right row's q."""
    columns = pa.array(pairs)
    return pc.less(columns.field("p"), columns.field("q"))


def outputs(case: Case, sides: Sides) -> Output:
    """Keys of both sides and all payload columns; for like key types the coalesced key as well."""
    items = [("left", f"k{i}", f"lk{i}") for i in range(len(case.keys))]
    items += [("left", f"a{i}", f"a{i}") for i in range(len(sides.payloads[0]))]
    if case.how in LEFT_ONLY:
        return items
    items += [("right", f"b{i}", f"b{i}") for i in range(len(sides.payloads[1]))]
    items += [("right", f"k{i}", f"rk{i}") for i in range(len(case.keys))]
    items += [("key", f"k{i}", f"key{i}") for i, (a, b) in enumerate(case.keys) if a == b]
    return items


def make_join(
    engine: _native.Engine, case: Case, sides: Sides, output: Output, **changes: Any
) -> _native.Join:
    """The join of a case, planned."""
    options = run_options(case) | changes
    if case.residual:
        options |= {
            "residual": less,
            "residual_columns": [("left", "p", "p"), ("right", "q", "q")],
        }
    return _native.Join(
        engine,
        _native.Table.from_stream(engine, sides.left),
        _native.Table.from_stream(engine, sides.right),
        on=[(f"k{i}", f"k{i}") for i in range(len(case.keys))],
        how=case.how,
        output=output,
        null_equals_null=case.nulls_equal,
        **options,
    )


def planned(engine: _native.Engine, case: Case, sides: Sides, output: Output) -> _native.Join:
    """As make_join; with strategy "auto" where these keys have no dense range."""
    try:
        return make_join(engine, case, sides, output)
    except _native.NativeError as error:
        if "strategy 'dense' needs" not in error.args[2]:
            raise
        return make_join(engine, case, sides, output, strategy="auto")


def result_of(join: _native.Join, how: str) -> pa.Table:
    """The rows of a join, by the named method."""
    source = join.collect() if how == "collect" else join.stream(2)
    return pa.RecordBatchReader.from_stream(source).read_all()


def expected_columns(sides: Sides, output: Output, rows: Rows) -> list[pa.Array]:
    """What the result must hold, column by column."""
    left, right = rows
    columns = []
    for side, name, _ in output:
        if side == "key":
            from_left = taken(sides.left.column(name), left)
            from_right = taken(sides.right.column(name), right)
            columns.append(pc.if_else(pa.array(left >= 0), from_left, from_right))
        else:
            table, numbers = (sides.left, left) if side == "left" else (sides.right, right)
            columns.append(taken(table.column(name), numbers))
    return columns


def check(engine: _native.Engine, case: Case) -> dict[str, Any]:
    """Runs a case and compares; answers the profile of the run."""
    sides = make_sides(case)
    rows = expected_rows(case, sides)
    output = outputs(case, sides)
    join = planned(engine, case, sides, output)
    result = result_of(join, case.run)
    profile: dict[str, Any] = json.loads(join.profile())
    result.validate(full=True)
    for (side, name, _), field in zip(output, result.schema, strict=True):
        source = sides.right if side == "right" else sides.left
        assert field.type == source.schema.field(name).type, field
    if output:
        assert_same_rows(expected_columns(sides, output, rows), result)
    assert join.count() == len(rows[0]) == result.num_rows
    assert profile["result_rows"] == len(rows[0])
    return profile


def checksum(numbers: np.ndarray) -> int:
    """A sum that does not depend on the order."""
    return int(numbers.astype(object).sum()) if len(numbers) else 0
