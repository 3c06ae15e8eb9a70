"""What only the merge join promises: the order of its result, and what it makes of sorted sides."""

from __future__ import annotations

import json
from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pytest
from conftest import EngineOf
from crossdock import _native
from join_cases import Case, KeyColumns, Sides, make_sides
from join_oracle import LEFT_ONLY, expected_rows
from join_run import Output, expected_columns, make_join, outputs, result_of
from same_rows import assert_same_rows

KINDS = ("inner", "left", "right", "full", "semi", "anti")
KEYS: dict[str, KeyColumns] = {
    "int64": (("int64", "int64"),),
    "uint64": (("uint64", "uint64"),),
    "int8": (("int8", "int8"),),
    "float64": (("float64", "float64"),),
    "decimal": (("decimal", "decimal"),),
    "text": (("utf8", "utf8"),),
    "two": (("int32", "int32"), ("utf8", "utf8")),
    "three": (("int16", "int16"), ("date32", "date32"), ("uint8", "uint8")),
}


def key_names(case: Case) -> list[str]:
    """The columns of the result that hold its keys, wherever a row comes from."""
    prefix = "lk" if case.how in LEFT_ONLY else "key"
    return [f"{prefix}{i}" for i in range(len(case.keys))]


def in_key_order(table: pa.Table, names: list[str], nulls_match: bool) -> pa.Table:
    """The key columns, sorted: nulls last; unless they match, any null puts its row last."""
    keys = table.select(names).combine_chunks()
    keys = keys.set_column(0, names[0], keys.column(0))
    order = [(name, "ascending") for name in names]
    if not nulls_match:
        any_null = np.zeros(len(keys), bool)
        for name in names:
            any_null |= pc.is_null(keys[name]).to_numpy()
        keys = keys.append_column("any_null", pa.array(any_null))
        order.insert(0, ("any_null", "ascending"))
    indices = pc.sort_indices(keys, sort_keys=order)  # nulls at the end
    return keys.take(indices).select(names)


def assert_equal_keys(actual: pa.Table, expected: pa.Table) -> None:
    """Equal values in order; NaN equals NaN, and 0.0 equals -0.0."""
    for name in expected.column_names:
        pair = [table[name].combine_chunks() for table in (actual, expected)]
        if pa.types.is_floating(pair[0].type):
            assert pc.is_null(pair[0]).equals(pc.is_null(pair[1]))
            np.testing.assert_array_equal(*(array.to_numpy(False) for array in pair))
        else:
            assert pair[0].equals(pair[1])


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("nulls", ["none", "some"])
@pytest.mark.parametrize("keys", list(KEYS))
def test_rows_come_in_key_order(engine_of: EngineOf, keys: str, nulls: str, how: str) -> None:
    case = Case(
        seed=list(KEYS).index(keys), keys=KEYS[keys], how=how, nulls=nulls, sizes=(9000, 4000),
        chunks="chunked", strategy="merge", bits=4,
    )  # fmt: skip
    nulls_match = (False,) if nulls == "none" else (False, True)
    for case in (replace(case, nulls_equal=equal) for equal in nulls_match):
        sides = make_sides(case)
        output = outputs(case, sides)
        for run in ("collect", "stream"):
            result = result_of(make_join(engine_of(2), case, sides, output), run)
            names = key_names(case)
            live = result.select(names)
            if not case.nulls_equal:
                # Rows that cannot match come last, the left ones first, in no other order.
                dead = np.zeros(len(result), bool)
                for name in names:
                    dead |= pc.is_null(live[name]).to_numpy()
                first_dead = int(np.argmax(dead)) if dead.any() else len(result)
                assert dead[first_dead:].all()
                live = live.slice(0, first_dead)
            expected = in_key_order(live, names, case.nulls_equal)
            assert_equal_keys(live.combine_chunks(), expected)


def sorted_sides(case: Case) -> Sides:
    sides = make_sides(case)

    def in_order(table: pa.Table) -> pa.Table:
        order = [(f"k{i}", "ascending") for i in range(len(case.keys))]
        indices = pc.sort_indices(table, sort_keys=order)
        return pa.Table.from_batches(table.take(indices).combine_chunks().to_batches(700))

    return replace(sides, left=in_order(sides.left), right=in_order(sides.right))


def profile_of(join: _native.Join) -> dict[str, Any]:
    profile: dict[str, Any] = json.loads(join.profile())
    return profile


def sorted_cases() -> list[tuple[str, str, str]]:
    """Keys, nulls and kind. Rows with a null in a later key column lie between the others, so only
    single keys have nulls; NOT IN takes the first column."""
    every = product(
        ["int64", "float64", "text", "two", "three"], ["none", "some"], [*KINDS, "anti_null_aware"]
    )
    return [
        (keys, nulls, how)
        for keys, nulls, how in every
        if nulls == "none" or how == "anti_null_aware" or len(KEYS[keys]) == 1
    ]


@pytest.mark.parametrize(("keys", "nulls", "how"), sorted_cases())
def test_sorted_sides_are_joined_as_they_are(
    engine_of: EngineOf, keys: str, nulls: str, how: str
) -> None:
    columns = KEYS[keys][:1] if how == "anti_null_aware" else KEYS[keys]
    case = Case(seed=3, keys=columns, how=how, nulls=nulls, sizes=(5000, 3000), strategy="merge")
    sides = sorted_sides(case)
    output: Output = outputs(case, sides)
    want = expected_columns(sides, output, expected_rows(case, sides))
    for order in ("detect", "declared", "no"):
        join = make_join(
            engine_of(2),
            case,
            sides,
            output,
            sorted_left=order,
            sorted_right=order,
            partition_bits=4,
        )
        assert_same_rows(want, result_of(join, "collect"))
        expected = {
            "detect": "sorted (detected)",
            "declared": "sorted (declared)",
            "no": "unsorted",
        }
        profile = profile_of(join)
        if how == "anti_null_aware" and nulls == "some":
            continue  # a null on the right ends it before any order is looked at
        assert profile["left_order"] == profile["right_order"] == expected[order]


def long_table(keys: np.ndarray, name: str) -> pa.Table:
    table = pa.table({"k": keys, name: np.arange(len(keys))})
    return pa.Table.from_batches(table.to_batches(10_000))


def long_join(engine: _native.Engine, left: pa.Table, right: pa.Table, **options: Any) -> Any:
    return _native.Join(
        engine,
        _native.Table.from_stream(engine, left),
        _native.Table.from_stream(engine, right),
        on=[("k", "k")],
        how="inner",
        output=[("left", "a", "a"), ("right", "b", "b")],
        **options,
    )


def test_auto_merges_what_is_sorted_and_says_so(engine_of: EngineOf) -> None:
    keys = np.sort(np.random.default_rng(1).integers(-(2**62), 2**62, 2_000_000))
    left, right = long_table(keys, "a"), long_table(keys, "b")
    join = long_join(engine_of(2), left, right)
    plan = json.loads(join.plan())
    assert (plan["operator"], plan["strategy"]) == ("merge_join", "merge")
    assert plan["left_order"] == plan["right_order"] == "sorted (detected in a sample)"
    assert join.count() == len(keys)
    assert profile_of(join)["left_order"] == "sorted (detected)"
    assert {entry["strategy"] for entry in plan["considered"]} >= {"merge", "radix"}
    shuffled = long_table(np.random.default_rng(2).permutation(keys), "b")
    assert json.loads(long_join(engine_of(2), left, shuffled).plan())["strategy"] != "merge"


def test_a_side_that_only_seems_sorted_is_sorted_after_all(engine_of: EngineOf) -> None:
    keys = np.sort(np.random.default_rng(1).integers(-(2**62), 2**62, 2_000_000))
    left, right = long_table(keys, "a"), long_table(keys, "b")
    position = 1_234_567
    swapped = keys.copy()
    swapped[position], swapped[position + 1] = keys[position + 1], keys[position]
    join = long_join(engine_of(2), long_table(swapped, "a"), right, strategy="merge")
    assert join.count() == len(keys)
    profile = profile_of(join)
    assert (profile["left_order"], profile["right_order"]) == ("unsorted", "sorted (detected)")
    declared = long_join(
        engine_of(2), long_table(swapped, "a"), right, strategy="merge", sorted_left="declared"
    )
    with pytest.raises(_native.NativeError) as raised:
        declared.count()
    assert raised.value.args[:2] == ("CD-105", "OptionError")
    assert "sorted_left='detect'" in raised.value.args[2]
    assert f"row {position + 1}" in raised.value.args[2]
    assert long_join(engine_of(2), left, right, sorted_left="declared").count() == len(keys)


def test_the_names_of_orders_are_checked(engine_of: EngineOf) -> None:
    table = long_table(np.arange(10), "a")
    with pytest.raises(_native.NativeError, match="did you mean 'declared'"):
        long_join(engine_of(1), table, table.rename_columns(["k", "b"]), sorted_right="declare")
