"""All choices of the engine against each other and the oracle, over tables small enough to try
every combination: kind, strategy, build side, materialization, filter and partitions."""

from __future__ import annotations

from dataclasses import replace
from itertools import product
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
from conftest import EngineOf
from crossdock import _native
from join_cases import Case, KeyColumns, Sides, make_sides
from join_oracle import LEFT_ONLY, expected_rows
from join_run import expected_columns, make_join, outputs, result_of
from same_rows import assert_same_rows

KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")
SPARSE: KeyColumns = (("int64", "int64"),)
KEYS: dict[str, KeyColumns] = {
    "int64": SPARSE,
    "int32": (("int32", "int32"),),
    "unlike": (("int32", "int64"),),
    "packed": (("int16", "int16"), ("uint32", "uint32")),
    "text": (("utf8", "string_view"),),
}
CHOICES = [
    {"strategy": strategy, "build": build, "materialize": materialize, "filter": keep, "bits": bits}
    for strategy, build, materialize, keep, bits in product(
        ("radix", "direct"), ("left", "right"), ("early", "late"), ("bloom", "off"), (0, 4)
    )
    if strategy == "radix" or (keep == "off" and bits == 4)
] + [
    {"strategy": "merge", "materialize": materialize, "bits": bits}
    for materialize, bits in product(("early", "late"), (-1, 0, 4))
]


SHAPES: dict[str, dict[str, Any]] = {
    "mixed": {"sizes": (3000, 700), "chunks": "chunked"},
    "apart": {"sizes": (900, 500), "match": "none"},
    "one key": {"sizes": (1500, 300), "match": "none", "skew": "equal"},
}


@pytest.mark.parametrize("how", KINDS)
@pytest.mark.parametrize("nulls", ["none", "some"])
@pytest.mark.parametrize("shape", list(SHAPES))
@pytest.mark.parametrize("keys", list(KEYS))
def test_every_choice(engine_of: EngineOf, keys: str, shape: str, nulls: str, how: str) -> None:
    seed = list(KEYS).index(keys) * 10 + KINDS.index(how)
    columns = KEYS[keys][:1] if how == "anti_null_aware" else KEYS[keys]
    case = Case(seed=seed, keys=columns, how=how, nulls=nulls, **SHAPES[shape])
    for residual in (False, True) if how != "anti_null_aware" else (False,):
        case = replace(case, residual=residual)
        sides = make_sides(case)
        rows = expected_rows(case, sides)
        output = outputs(case, sides)
        want = expected_columns(sides, output, rows)
        for choice in CHOICES:
            tried = replace(case, **choice)  # type: ignore[arg-type]
            result = result_of(make_join(engine_of(1), tried, sides, output), "collect")
            assert_same_rows(want, result), tried


def dense_sides(unique: bool, nulls: bool) -> Sides:
    """Left keys of a narrow range around zero, right keys that partly lie outside of it."""
    random = np.random.default_rng(5)
    keys = (
        random.permutation(np.arange(-500, 1500)) if unique else random.integers(-500, 1500, 2000)
    )
    absent = random.random(2000) < 0.1 * nulls
    left = pa.table(
        {
            "k0": pa.array(keys.astype(np.int32), mask=absent),
            "p": pa.array(random.integers(0, 100, 2000), pa.int32()),
            "a0": pa.array([f"row {i}" for i in range(2000)]),
        }
    )
    far = np.concatenate([random.integers(-600, 1600, 2990), np.full(10, 2**31 - 1)])
    right = pa.table(
        {
            "k0": pa.array(far.astype(np.int32), mask=random.random(3000) < 0.1 * nulls),
            "q": pa.array(random.integers(0, 100, 3000), pa.int32()),
            "b0": pa.array(random.integers(0, 9, 3000).astype(np.int8)),
        }
    )
    return Sides(left, right, (("utf8",), ("int8",)))


@pytest.mark.parametrize("how", KINDS[:-1])
@pytest.mark.parametrize("nulls", [False, True])
@pytest.mark.parametrize("unique", [False, True])
def test_dense_array(engine_of: EngineOf, unique: bool, nulls: bool, how: str) -> None:
    """Unique keys fill the array; a duplicate makes the join start again as a radix join."""
    sides = dense_sides(unique, nulls)
    for residual in (False, True):
        case = Case(
            keys=(("int32", "int32"),), how=how, residual=residual, strategy="dense", build="left"
        )
        output = outputs(case, sides)
        join = make_join(engine_of(1), case, sides, output)
        result = result_of(join, "collect")
        assert_same_rows(expected_columns(sides, output, expected_rows(case, sides)), result)
        assert f'"strategy_ran": "{"dense" if unique else "radix"}"' in spaced(join.profile())


def spaced(text: str) -> str:
    """JSON with a blank behind each colon, however it was written."""
    return text.replace('": ', '":').replace('":', '": ')


def test_dense_needs_one_integer_key(engine_of: EngineOf) -> None:
    case = Case(keys=(("utf8", "utf8"),), strategy="dense")
    sides = make_sides(case)
    with pytest.raises(_native.NativeError) as raised:
        make_join(engine_of(1), case, sides, outputs(case, sides))
    assert raised.value.args[:2] == ("CD-105", "OptionError")


def test_semi_gives_left_columns_only() -> None:
    assert set(LEFT_ONLY) == set(KINDS[4:])


@pytest.mark.parametrize("name", ["int64", "utf8"])
@pytest.mark.parametrize("how", KINDS[:-1])
def test_nulls_of_columns_declared_without_any(engine_of: EngineOf, how: str, name: str) -> None:
    """What a column holds counts, not what its schema says."""
    case = Case(seed=1, keys=((name, name),), how=how, nulls="some", nulls_equal=True)
    sides = make_sides(case)

    def declared(table: pa.Table) -> pa.Table:
        fields = [f.with_nullable(f.name != "k0") for f in table.schema]
        return pa.Table.from_arrays(table.columns, schema=pa.schema(fields))

    declared_sides = replace(sides, left=declared(sides.left), right=declared(sides.right))
    output = outputs(case, sides)
    result = result_of(make_join(engine_of(1), case, declared_sides, output), "collect")
    assert_same_rows(expected_columns(sides, output, expected_rows(case, sides)), result)
