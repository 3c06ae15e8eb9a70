"""Orders that a sort or a merge join makes are known above it: explain says so, and they are not
made again."""

from __future__ import annotations

import datetime
import decimal
import random
from collections.abc import Callable
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest

ROWS = 200
KINDS = ("inner", "left", "right", "full", "semi", "anti", "anti_null_aware")
REALS = (-0.0, 0.0, float("nan"), float("inf"), float("-inf"), 1.5, -1.5)

MAKERS: dict[str, tuple[Any, Callable[[int], Any]]] = {
    "int8": (pa.int8(), lambda i: i % 250 - 125),
    "int32": (pa.int32(), lambda i: i * 7919 % 400 - 200),
    "int64": (pa.int64(), lambda i: (i * 7919 % 400 - 200) << 40),
    "small int64": (pa.int64(), lambda i: i * 7919 % 400 - 200),
    "uint64": (pa.uint64(), lambda i: i * 7919 % 300 + ((1 << 63) if i % 3 else 0)),
    "small uint64": (pa.uint64(), lambda i: i * 7919 % 300),
    "bool": (pa.bool_(), lambda i: i % 2 == 1),
    "float32": (pa.float32(), lambda i: REALS[i % 7] if i % 2 else i % 90 - 45.0),
    "float64": (pa.float64(), lambda i: REALS[i % 7] if i % 2 else i % 90 - 45.0),
    "decimal": (pa.decimal128(30, 2), lambda i: decimal.Decimal(i % 400 - 200).scaleb(-2)),
    "fine decimal": (pa.decimal128(38, 4), lambda i: decimal.Decimal(i % 400 - 200).scaleb(-3)),
    "date": (pa.date32(), lambda i: datetime.date(1969, 7, 1) + datetime.timedelta(i % 365)),
    "instant": (pa.timestamp("us"), lambda i: i % 400 * 1_000_000 - 200_000_000),
    "coarse instant": (pa.timestamp("s"), lambda i: i % 400 - 200),
    "text": (pa.string(), lambda i: "a shared beginning, then " + str(i * 7919 % 300)),
    "large text": (pa.large_string(), lambda i: "a shared beginning, then " + str(i % 300)),
    "text view": (pa.string_view(), lambda i: "x" * (i % 3) + str(i % 300)),
    "dictionary": (pa.dictionary(pa.int8(), pa.string()), lambda i: f"name {i * 31 % 50}"),
    "binary": (pa.binary(), lambda i: bytes([i % 256, 0, i % 7])),
}
PAIRS = [(name, name) for name in MAKERS] + [
    ("int8", "small int64"),
    ("small int64", "small uint64"),
    ("int64", "uint64"),
    ("float32", "float64"),
    ("decimal", "fine decimal"),
    ("instant", "coarse instant"),
    ("text", "large text"),
    ("dictionary", "text view"),
]


def keyed_table(kind: str, name: str, *, nulls: bool, seed: int) -> pa.Table:
    data_type, make = MAKERS[kind]
    numbers = random.Random(seed).choices(range(ROWS), k=ROWS)
    values = [None if nulls and i % 17 == 0 else make(i) for i in numbers]
    plain = data_type.value_type if pa.types.is_dictionary(data_type) else data_type
    keys = pa.array(values, plain)
    if pa.types.is_dictionary(data_type):
        keys = keys.dictionary_encode().cast(data_type)
    return pa.table({"k": keys, name: range(ROWS)})


def same_rows(one: xd.Relation, other: xd.Relation) -> bool:
    def rows(relation: xd.Relation) -> list[str]:
        return sorted(repr(row) for row in relation.collect().to_pylist())

    return rows(one) == rows(other)


def last_profile(relation: xd.Relation, operator: str) -> dict[str, Any]:
    """Of the last operator of that name that ran."""
    profile = relation.profile().data["steps"][-1]["profile"]
    plans = [one["plan"] for one in profile.get("operators", ()) if "plan" in one] or [profile]
    result: dict[str, Any] = next(plan for plan in plans if plan["operator"] == operator)
    return result


def moved(profile: dict[str, Any]) -> list[str]:
    """The phases of a merge join that move rows in order to sort them."""
    names = [p["name"] for p in profile["phases"] if "measured_s" in p]
    return [name for name in names if name.startswith("scatter")]


@pytest.mark.parametrize("nulls", [False, True], ids=["", "nulls"])
@pytest.mark.parametrize(("left", "right"), PAIRS, ids=[" = ".join(pair) for pair in PAIRS])
def test_sorted_sides_are_merged_as_they_are(
    dock: xd.Dock, left: str, right: str, nulls: bool
) -> None:
    one = dock.from_arrow(keyed_table(left, "a", nulls=nulls, seed=1)).rename({"k": "l"})
    two = dock.from_arrow(keyed_table(right, "b", nulls=nulls, seed=2)).rename({"k": "r"})
    for how in KINDS:
        merged = one.sort("l").join(two.sort("r"), on={"l": "r"}, how=how, strategy="merge")
        assert ", left in order, right in order" in merged.explain()
        if how != "anti_null_aware" or not nulls:  # where nothing can be absent, nothing is read
            profile = last_profile(merged, "merge_join")
            assert profile["left_order"] == profile["right_order"] == "sorted (declared)"
            assert moved(profile) == []
        hashed = one.join(two, on={"l": "r"}, how=how, strategy="radix")
        assert same_rows(merged, hashed)


def test_what_stands_between_keeps_an_order(dock: xd.Dock) -> None:
    rows = dock.from_arrow(keyed_table("int32", "a", nulls=False, seed=1))
    other = dock.from_arrow(keyed_table("int32", "b", nulls=False, seed=2))
    ordered = rows.sort("k", "a")
    for known in (
        ordered.with_columns(b=xd.col("a") + 1).filter(xd.col("b") + xd.col("k") > 3),
        ordered.limit(100, offset=7).rename({"a": "c"}),
        ordered.sample(fraction=0.5, seed=1),
        ordered.sample(50, seed=1),
        rows.top_k(40, xd.asc("k")),
    ):
        joined = known.join(other, on="k", strategy="merge", suffix="_r")
        plan = joined.explain()
        assert "left in order" in plan or "left sorted (by the sort below)" in plan
        assert "right in order" not in plan
        profile = last_profile(joined, "merge_join")
        assert profile["left_order"].startswith("sorted (")
        assert moved(profile) == ["scatter right side"]
    for unknown in (
        rows.sort("a", "k"),
        rows.sort(xd.desc("k")),
        ordered.with_columns(k=xd.col("k") * -1),
        ordered.union(ordered),
    ):
        joined = unknown.join(other, on="k", strategy="merge", suffix="_r")
        assert "in order" not in joined.explain()
        assert same_rows(joined, unknown.join(other, on="k", strategy="radix", suffix="_r"))


@pytest.mark.parametrize("nulls_match", [False, True])
def test_nulls_stand_where_the_join_needs_them(dock: xd.Dock, nulls_match: bool) -> None:
    """First or last is all the same to a join that puts rows with NULLs aside."""
    rows = dock.from_arrow(keyed_table("int32", "a", nulls=True, seed=1))
    other = dock.from_arrow(keyed_table("int32", "b", nulls=True, seed=2))
    first = rows.sort(xd.asc("k", nulls="first"))
    options: dict[str, Any] = {"on": "k", "how": "full", "null_equals_null": nulls_match}
    joined = first.join(other, strategy="merge", **options)
    assert ("left in order" in joined.explain()) == (not nulls_match)
    assert same_rows(joined, rows.join(other, strategy="radix", **options))


def test_rows_with_a_null_in_a_later_key_move_after_all(dock: xd.Dock) -> None:
    keys = {"a": [1, 1, 2, 2], "b": [1, None, 1, 2]}
    rows = dock.from_arrow(pa.table({**keys, "v": [1, 2, 3, 4]})).sort("a", "b")
    joined = rows.join(pa.table(keys), on=["a", "b"], strategy="merge")
    profile = last_profile(joined, "merge_join")
    assert profile["left_order"] == "unsorted (rows with a null key between the others)"
    assert joined.collect()["v"].to_pylist() == [1, 3, 4]


@pytest.mark.parametrize("how", KINDS)
def test_a_merge_join_is_in_order_for_what_is_above(dock: xd.Dock, how: str) -> None:
    one = dock.from_arrow(keyed_table("int32", "a", nulls=True, seed=1))
    two = dock.from_arrow(keyed_table("int32", "b", nulls=how != "anti_null_aware", seed=2))
    three = dock.from_arrow(keyed_table("small int64", "c", nulls=True, seed=3))
    merged = one.join(two, on="k", how=how, strategy="merge")
    again = merged.join(three, on="k", strategy="merge")
    assert "left in order" in again.explain()
    profile = last_profile(again, "merge_join")
    assert profile["left_order"] == "sorted (declared)"
    assert "scatter left side" not in moved(profile)
    hashed = one.join(two, on="k", how=how, strategy="radix")
    assert same_rows(again, hashed.join(three, on="k", strategy="radix"))
    ordered = merged.sort("k")
    assert "sort by k, in order already" in ordered.explain()
    profile = last_profile(ordered, "sort")
    ran = [phase["name"] for phase in profile["phases"] if "measured_s" in phase]
    assert [name for name in ran if name != "scan keys"] == ["check order", "hand out rows"]
    assert ordered.collect()["k"].equals(hashed.sort("k").collect()["k"])


@pytest.mark.parametrize("nulls_match", [False, True])
@pytest.mark.parametrize("how", KINDS[:-1])
def test_only_orders_that_hold_are_known_of_a_merge_join(
    dock: xd.Dock, how: str, nulls_match: bool
) -> None:
    """Keys of two columns with NULLs, and names that only one side has."""
    left = pa.table({"a": [1, None, 2, 3, 1], "b": [2, 1, None, 1, None], "v": range(5)})
    right = pa.table({"a": [2, None, 3, 0, None], "c": [None, 1, 1, 0, 5], "w": range(5)})
    options: dict[str, Any] = {"on": [("a", "a"), ("b", "c")], "how": how}
    options["null_equals_null"] = nulls_match
    one, two = dock.from_arrow(left), dock.from_arrow(right)
    merged = one.join(two, strategy="merge", **options)
    hashed = one.join(two, strategy="radix", **options)
    assert same_rows(merged, hashed)
    for keys in (
        ("a",),
        ("b",),
        ("a", "b"),
        *((("c",), ("a", "c")) if "c" in hashed.columns else ()),
    ):
        result, expected = (
            relation.sort(*keys).collect().select(keys) for relation in (merged, hashed)
        )
        assert result.equals(expected)


def test_a_join_left_to_the_model_says_so_too(dock: xd.Dock) -> None:
    """A sample tells nothing of the order of strings; a sort below does."""
    strings = [f"{i * 7919 % 300_000:08d}" for i in range(300_000)]
    rows = dock.from_arrow(pa.table({"k": strings}))
    joined = rows.sort("k").join(rows.sort("k"), on="k")
    assert "left in order, right in order" in joined.explain()
    steps = joined.profile().data["steps"][-1]["profile"]["operators"]
    profile = next(step["plan"] for step in steps if step["operator"] == "join")
    assert "merge" in {option["strategy"] for option in profile["considered"]}
    assert joined.count() == len(strings)
    assert "in order" not in rows.join(rows, on="k").explain()
