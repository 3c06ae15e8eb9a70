"""What is known, and refused, when a query is written, before any row is read."""

from __future__ import annotations

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.plan.planning import key_pairs

SIDES = ("left", "right", "full", "inner")


@pytest.mark.parametrize(
    "on", ["a", ["a"], {"a": "a"}, [("a", "a")], (("a", "a"),)], ids=lambda on: repr(on)
)
def test_forms_of_one_key(on: object) -> None:
    assert key_pairs(on) == (("a", "a"),)


def test_forms_of_two_keys() -> None:
    assert key_pairs(["a", ("b", "c")]) == (("a", "a"), ("b", "c"))
    assert key_pairs({"a": "x", "b": "c"}) == (("a", "x"), ("b", "c"))


@pytest.mark.parametrize("on", [[], {}, [("a",)], [("a", "b", "c")]])
def test_no_key(on: object) -> None:
    with pytest.raises(xd.OptionError, match="names no key columns"):
        key_pairs(on)


@pytest.mark.parametrize("how", SIDES)
def test_schema_of_a_join(left: xd.Relation, right: xd.Relation, how: str) -> None:
    joined = left.join(right, on="id", how=how)
    assert joined.columns == ["id", "name", "age", "age_right", "cost"]
    assert joined.schema.field("age_right").type == pa.int32()
    assert joined.collect().schema == joined.schema


@pytest.mark.parametrize("how", ["semi", "anti", "anti_null_aware"])
def test_schema_of_a_left_only_join(left: xd.Relation, right: xd.Relation, how: str) -> None:
    joined = left.join(right, on="id", how=how)
    assert joined.schema == left.schema
    assert joined.collect().schema == left.schema


def test_keys_of_different_names_are_both_kept(left: xd.Relation, right: xd.Relation) -> None:
    joined = left.join(right, on={"age": "age", "id": "id"}).columns
    assert joined == ["id", "name", "age", "cost"]
    renamed = left.join(right.rename({"id": "visitor"}), on={"id": "visitor"})
    assert renamed.columns == ["id", "name", "age", "visitor", "age_right", "cost"]


@pytest.mark.parametrize(("how", "nullable"), [("inner", ()), ("left", ("b",)), ("right", ("a",)),
                                               ("full", ("a", "b"))])  # fmt: skip
def test_nullability(dock: xd.Dock, how: str, nullable: tuple[str, ...]) -> None:
    def strict(name: str) -> pa.Table:
        fields = [pa.field("k", pa.int64(), False), pa.field(name, pa.int64(), False)]
        return pa.table([[1], [2]], schema=pa.schema(fields))

    joined = dock.from_arrow(strict("a")).join(dock.from_arrow(strict("b")), on="k", how=how)
    assert {f.name for f in joined.schema if f.nullable} == set(nullable)
    assert joined.collect().schema == joined.schema


@pytest.mark.parametrize(
    ("write", "error", "match"),
    [
        (lambda a, b: a.join(b, on="idd"), xd.ColumnError, r"'idd' in the left(.|\n)*try\s+'id'"),
        (lambda a, b: a.join(b, on={"id": "i"}), xd.ColumnError, r"'i' in the right side"),
        (lambda a, b: a.join(b, on={"id": "cost"}), xd.TypeError, r"CD-103"),
        (lambda a, b: a.join(b, on={"name": "id"}), xd.TypeError, r"CD-103"),
        (lambda a, b: a.join(b, on="id", how="iner"), xd.OptionError, r"try\s+how='inner'"),
        (lambda a, b: a.join(b, on="id", how="outer"), xd.OptionError, r"try\s+how='full'"),
        (lambda a, b: a.join(b, on="id", strategy="rdx"), xd.OptionError, r"strategy='radix'"),
        (lambda a, b: a.join(b, on="id", sufix="x"), xd.OptionError, r"try\s+suffix="),
        (lambda a, b: a.join(b, on="id", suffix=""), xd.ColumnError, r"two columns named 'age'"),
        (lambda a, b: a.select("nam"), xd.ColumnError, r"try\s+'name'"),
        (lambda a, b: a.select("id", id=xd.col("age")), xd.ColumnError, r"two columns named 'id'"),
        (lambda a, b: a.select(), xd.OptionError, r"at least one column"),
        (lambda a, b: a.select(xd.col("id") + 1), xd.OptionError, r"has no name"),
        (lambda a, b: a.rename({"x": "y"}), xd.ColumnError, r"no column 'x' in rename"),
        (lambda a, b: a.filter(xd.col("x") > 1), xd.ColumnError, r"no column 'x' in filter"),
        (lambda a, b: a.filter(xd.col("id")), xd.ExpressionError, r"of type int64, not bool"),
        (lambda a, b: a.filter(xd.col("id") == "a"), xd.ExpressionError, r"id: int64"),
        (lambda a, b: a.agg(), xd.OptionError, r"at least one aggregate"),
        (lambda a, b: a.agg(n=3), xd.OptionError, r"takes an aggregate, not int"),
        (lambda a, b: a.agg(n=xd.sum("name")), xd.TypeError, r"is string"),
        (lambda a, b: a.agg(n=xd.sum("nme")), xd.ColumnError, r"try\s+'name'"),
        (lambda a, b: a.join(b, on="id", residual=xd.col("cos") > 1), xd.ColumnError, r"'cost'"),
        (lambda a, b: a.join(b, on="id", residual=xd.col("cost")), xd.ExpressionError, r"not bool"),
        (lambda a, b: a.join(3, on="id"), xd.TypeError, r"exports no Arrow data"),
    ],
)  # fmt: skip
def test_refused_at_once(
    left: xd.Relation, right: xd.Relation, write: object, error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        write(left, right)  # type: ignore[operator]


def test_docks_do_not_mix(left: xd.Relation, people: pa.Table) -> None:
    with xd.connect() as other, pytest.raises(xd.OptionError, match="different docks"):
        left.join(other.from_arrow(people), on="id")


def test_coalesced_keys_need_one_type(dock: xd.Dock) -> None:
    narrow = dock.from_arrow(pa.table({"k": pa.array([1], pa.int32())}))
    wide = dock.from_arrow(pa.table({"k": pa.array([1], pa.int64())}))
    with pytest.raises(xd.TypeError, match="CD-103"):
        narrow.join(wide, on="k", how="full")


def test_a_nested_column_goes_along_but_is_no_key(dock: xd.Dock) -> None:
    nested = dock.from_arrow(pa.table({"k": [1, 2], "list": [[1], [2]]}))
    keys = dock.from_arrow(pa.table({"k": [2, 3]}))
    joined = keys.join(nested, on="k")
    assert joined.select("k").collect().to_pydict() == {"k": [2]}
    assert joined.collect().to_pydict() == {"k": [2], "list": [[2]]}
    with pytest.raises(xd.TypeError, match=r"list"):
        nested.join(nested, on="list")


def test_relations_do_not_change(left: xd.Relation) -> None:
    before = left.columns
    left.select("id")
    left.filter(xd.col("id") > 1)
    left.rename({"id": "x"})
    assert left.columns == before
    assert left.count() == 5
