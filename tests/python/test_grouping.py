"""group_by, agg and distinct: results, types known before running, what is refused."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from decimal import Decimal
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest

col = xd.col
Rows = Callable[[pa.Table], Any]


@pytest.fixture
def sales() -> pa.Table:
    return pa.table(
        {
            "city": ["rome", "oslo", "rome", None, "oslo", "rome"],
            "day": [datetime.date(2020, m, 1) for m in (1, 1, 2, 2, 1, 1)],
            "price": pa.array([10, 20, 30, None, 50, 60], pa.int32()),
            "paid": [True, False, True, True, None, True],
        }
    )


@pytest.fixture
def rows(dock: xd.Dock, sales: pa.Table) -> xd.Relation:
    return dock.from_arrow(sales)


def test_aggregates_by_a_key(rows: xd.Relation, rows_of: Rows) -> None:
    grouped = rows.group_by("city").agg(
        n=xd.count(), prices=xd.count("price"), s=xd.sum("price"), least=xd.min("price"),
        most=xd.max("price"), m=xd.mean("price"), paid=xd.bool_and("paid"), some=xd.bool_or("paid"),
        days=xd.count_distinct("day"),
    )  # fmt: skip
    assert grouped.columns[:3] == ["city", "n", "prices"]
    assert rows_of(grouped.collect()) == [
        (None, 1, 0, None, None, None, None, True, True, 1),
        ("oslo", 2, 2, 70, 20, 50, 35.0, False, False, 1),
        ("rome", 3, 3, 100, 10, 60, pytest.approx(100 / 3), True, True, 2),
    ]
    assert grouped.count() == 3


def test_several_keys_and_computed_ones(rows: xd.Relation, rows_of: Rows) -> None:
    grouped = rows.group_by("city", month=col("day").month()).agg(n=xd.count())
    assert rows_of(grouped.collect()) == [(None, 2, 1), ("oslo", 1, 2), ("rome", 1, 2),
                                          ("rome", 2, 1)]  # fmt: skip
    assert grouped.collect().schema == grouped.schema
    # A computed key may have the name of a column; aggregates still see the column.
    halves = rows.group_by(price=col("price") // 40).agg(s=xd.sum("price"))
    assert rows_of(halves.collect()) == [(None, None), (0, 60), (1, 110)]


def test_arguments_and_conditions_may_be_computed(rows: xd.Relation, rows_of: Rows) -> None:
    expensive = xd.sum(col("price") * 2).where(col("price") > 15)
    grouped = rows.group_by("city").agg(
        s=expensive, t=expensive.where(col("paid")), n=xd.count().where(col("price") * 2 > 100)
    )
    assert rows_of(grouped.collect()) == [
        (None, None, None, 0), ("oslo", 140, None, 0), ("rome", 180, 180, 1),
    ]  # fmt: skip
    total = rows.agg(s=expensive, n=xd.count("price").where(~col("paid")))
    assert total.collect().to_pylist() == [{"s": 320, "n": 1}]


def test_the_same_expression_is_computed_once(rows: xd.Relation) -> None:
    from crossdock.plan.lowering import lower_group
    from crossdock.plan.nodes import GroupBy, Project

    twice = rows.group_by(k=col("price") + 1).agg(
        a=xd.sum(col("price") + 1), b=xd.min(col("price") + 1).where(col("price") > 1),
        c=xd.max("price").where(col("price") > 1), d=xd.sum(col("price") + 1.0),
    )  # fmt: skip
    node = twice.narrowed()
    assert isinstance(node, GroupBy)
    lowered = lower_group(node)
    assert isinstance(lowered.input, Project)
    assert lowered.input.schema.names == ["price + 1", "price > 1", "price", "price + 1.0"]


def test_a_column_named_like_an_expression(dock: xd.Dock, rows_of: Rows) -> None:
    table = dock.from_arrow(pa.table({"a": [1, 1], "a + 1": [10, 20], "k": [0, 0]}))
    grouped = table.group_by("k").agg(x=xd.sum(col("a") + 1), y=xd.sum("a + 1"))
    assert rows_of(grouped.collect()) == [(0, 4, 30)]
    # The engine's column names collide; the result's names do not.
    renamed = table.rename({"a": "key"}).group_by("key").agg(a=xd.sum("a + 1"))
    assert renamed.collect().to_pydict() == {"key": [1], "a": [30]}


def test_keys_that_are_equal_without_looking_equal(dock: xd.Dock) -> None:
    nan = float("nan")
    table = pa.table({"k": [0.0, -0.0, nan, -nan, None, None], "v": [1, 2, 3, 4, 5, 6]})
    grouped = dock.from_arrow(table).group_by("k").agg(s=xd.sum("v")).collect()
    assert sorted(grouped["s"].to_pylist()) == [3, 7, 11]


def test_no_keys_give_one_row(dock: xd.Dock, rows: xd.Relation, sales: pa.Table) -> None:
    for input_rows in (rows, dock.from_arrow(sales.slice(0, 0))):
        one = input_rows.agg(n=xd.count(), c=xd.count("city"), s=xd.sum("price"))
        assert one.collect().num_rows == one.count() == 1
    assert one.collect().to_pylist() == [{"n": 0, "c": 0, "s": None}]
    none = dock.from_arrow(sales.slice(0, 0)).group_by("city").agg(n=xd.count())
    assert none.collect().num_rows == none.count() == 0
    assert none.collect().schema == none.schema


def test_distinct(rows: xd.Relation, rows_of: Rows) -> None:
    assert rows_of(rows.distinct("city").collect()) == [(None,), ("oslo",), ("rome",)]
    assert rows.distinct("city", "paid").count() == 4
    assert rows.union(rows).distinct().count() == 6
    assert rows.distinct().schema == rows.schema
    assert rows.select(x=col("price") % 20).distinct().count() == 3


def test_groups_of_groups_and_joins(dock: xd.Dock, rows: xd.Relation, rows_of: Rows) -> None:
    counts = rows.group_by("city").agg(n=xd.count())
    assert rows_of(counts.group_by("n").agg(cities=xd.count()).collect()) == [
        (1, 1), (2, 1), (3, 1),
    ]  # fmt: skip
    joined = rows.join(counts, on="city")
    assert joined.count() == 5
    by_n = joined.group_by("n").agg(s=xd.sum("price"), m=xd.max(col("price") + col("n")))
    assert rows_of(by_n.collect()) == [(2, 70, 52), (3, 100, 63)]
    assert joined.agg(s=xd.sum(col("price") * 2), k=xd.count_distinct("city")).collect(
    ).to_pylist() == [{"s": 340, "k": 2}]  # fmt: skip
    assert counts.filter(col("n") > 1).join(counts, on="n", suffix="_2").count() == 2


def test_batches_of_groups(dock: xd.Dock) -> None:
    table = pa.table({"k": pa.array(range(300_000), pa.int64()), "v": pa.repeat(1, 300_000)})
    grouped = dock.from_arrow(table).group_by("k").agg(s=xd.sum("v"))
    batches = list(grouped.to_batches())
    assert all(batch.schema == grouped.schema for batch in batches)
    assert sum(batch.num_rows for batch in batches) == 300_000
    first = next(iter(grouped.to_batches()))
    assert first.num_rows > 0
    assert dock.progress() is None


EVERY_TYPE = pa.table(
    {
        "i8": pa.array([1, None, 3], pa.int8()),
        "i64": pa.array([1, None, 3], pa.int64()),
        "u16": pa.array([1, None, 3], pa.uint16()),
        "u64": pa.array([1, None, 3], pa.uint64()),
        "f32": pa.array([1, None, 3], pa.float32()),
        "f64": pa.array([1, None, 3], pa.float64()),
        "dec": pa.array([Decimal("1.5"), None, Decimal("3.25")], pa.decimal128(15, 2)),
        "flag": [True, None, False],
        "text": ["a", None, "c"],
        "view": pa.array(["a", None, "c"], pa.string_view()),
        "bytes": pa.array([b"a", None, b"c"]),
        "label": pa.array(["a", None, "c"]).dictionary_encode(),
        "day": pa.array([datetime.date(2020, 1, 1), None, datetime.date(2021, 1, 1)]),
        "time": pa.array([0, None, 7], pa.timestamp("us", "UTC")),
        "hour": pa.array([0, None, 7], pa.time32("s")),
        "span": pa.array([0, None, 7], pa.duration("ms")),
        "half": pa.array([1.5, None, 2.5], pa.float16()),
    }
)
FUNCTIONS: dict[str, Callable[[str], xd.Aggregate]] = {
    "count": xd.count,
    "sum": xd.sum,
    "wide": lambda name: xd.sum(name, wide=True),
    "exact": lambda name: xd.sum(name, floats="exact"),
    "min": xd.min,
    "max": xd.max,
    "mean": xd.mean,
    "var": xd.var,
    "stddev": lambda name: xd.stddev(name, ddof=0),
    "first": xd.first,
    "any": xd.any,
    "bool_and": xd.bool_and,
    "bool_or": xd.bool_or,
    "count_distinct": xd.count_distinct,
    "approx_distinct": xd.approx_distinct,
    "quantile": lambda name: xd.quantile(name, 0.5),
}
NUMBERS = frozenset(("i8", "i64", "u16", "u64", "half", "f32", "f64", "dec"))
TAKEN = {
    **dict.fromkeys(("sum", "exact", "mean", "var", "stddev"), NUMBERS | {"flag"}),
    "wide": NUMBERS - {"half", "f32", "f64"} | {"flag"},
    "quantile": NUMBERS | {"flag", "day", "time", "hour"},
    "bool_and": frozenset(("flag",)),
    "bool_or": frozenset(("flag",)),
}


@pytest.mark.parametrize("function", list(FUNCTIONS))
def test_types_are_known_before_running(dock: xd.Dock, function: str) -> None:
    """Every function over every type either gives what its schema says, or is refused at once."""
    rows = dock.from_arrow(EVERY_TYPE)
    taken = TAKEN.get(function, frozenset(EVERY_TYPE.column_names))
    for name in EVERY_TYPE.column_names:
        make = FUNCTIONS[function]
        if name not in taken:
            with pytest.raises(xd.TypeError, match="CD-102"):
                rows.agg(x=make(name))
            continue
        one = rows.agg(x=make(name), filtered=make(name).where(col("i64") == 3))
        assert one.collect().schema == one.schema, name
        grouped = rows.group_by("i8").agg(x=make(name))
        result = grouped.collect()
        result.validate(full=True)
        assert result.schema == grouped.schema, name
        batches = list(grouped.to_batches())
        assert pa.Table.from_batches(batches, grouped.schema).num_rows == 3


@pytest.mark.parametrize("name", EVERY_TYPE.column_names)
def test_every_type_is_a_key(dock: xd.Dock, name: str) -> None:
    grouped = dock.from_arrow(pa.concat_tables([EVERY_TYPE, EVERY_TYPE])).group_by(name)
    result = grouped.agg(n=xd.count()).collect()
    assert result.schema.field(name).type == EVERY_TYPE.schema.field(name).type
    assert result["n"].to_pylist() == [2, 2, 2]
    assert set(result[name].to_pylist()) == set(EVERY_TYPE[name].to_pylist())


@pytest.mark.parametrize(
    ("aggregate", "expected"),
    [
        (xd.sum("i8"), pa.int64()),
        (xd.sum("u16"), pa.uint64()),
        (xd.sum("flag"), pa.int64()),
        (xd.sum("i64", wide=True), pa.decimal128(38, 0)),
        (xd.sum("u64", wide=True), pa.decimal128(38, 0)),
        (xd.sum("f32"), pa.float64()),
        (xd.sum("dec"), pa.decimal128(38, 2)),
        (xd.sum(col("i8") * 2.0), pa.float64()),
        (xd.mean("dec"), pa.float64()),
        (xd.median("i8"), pa.float64()),
        (xd.median("time"), pa.timestamp("us", "UTC")),
        (xd.count_distinct("text"), pa.int64()),
    ],
    ids=repr,
)
def test_result_types(dock: xd.Dock, aggregate: xd.Aggregate, expected: pa.DataType) -> None:
    assert dock.from_arrow(EVERY_TYPE).agg(x=aggregate).schema.field("x").type == expected


def test_sums_are_exact_or_refused(dock: xd.Dock) -> None:
    big = dock.from_arrow(pa.table({"k": [1, 1, 2], "x": pa.array([2**62, 2**62, -5], pa.int64())}))
    with pytest.raises(xd.DataError, match=r"(.|\n)*wide") as caught:
        big.group_by("k").agg(total=xd.sum("x")).collect()
    assert caught.value.code == "CD-303"
    assert "total" in str(caught.value)
    wide = big.group_by("k").agg(total=xd.sum("x", wide=True)).collect()
    assert sorted(wide["total"].to_pylist()) == [Decimal(-5), Decimal(2**63)]
    joined = big.join(pa.table({"k": [1]}), on="k").agg(total=xd.sum("x"))
    with pytest.raises(xd.DataError, match=r"'total'(.|\n)*wide=True"):
        joined.collect()


def test_first_takes_the_order_of_the_input(dock: xd.Dock) -> None:
    table = pa.table({"k": [1, 2, 1, 2, 1], "v": pa.array([None, 7, 3, 1, 2], pa.int64())})
    rows = dock.from_arrow(table)

    def firsts(relation: xd.Relation) -> dict[int, int]:
        result = relation.group_by("k").agg(v=xd.first("v")).collect()
        return dict(zip(result["k"].to_pylist(), result["v"].to_pylist(), strict=True))

    assert firsts(rows) == {1: 3, 2: 7}
    assert firsts(rows.sort("v")) == {1: 2, 2: 1}


@pytest.mark.parametrize(
    ("write", "error", "match"),
    [
        (lambda r: r.group_by("cty"), xd.ColumnError, r"'cty' in group_by(.|\n)*try\s+'city'"),
        (lambda r: r.group_by(), xd.OptionError, r"at least one key"),
        (lambda r: r.group_by(3), xd.OptionError, r"no int as a column"),
        (lambda r: r.group_by(col("price") + 1), xd.OptionError, r"group_by\(name=price \+ 1\)"),
        (lambda r: r.group_by("city", "city"), xd.ColumnError, r"each column once in group_by\(\)"),
        (
            lambda r: r.select(city=1, city_2=2).group_by("city", "city_2", city=1),
            xd.ColumnError,
            r"'city' in group.*\n  values   city is city and 1\n  try .*group_by\(..., city_3=1\)",
        ),
        (lambda r: r.group_by("city").agg(), xd.OptionError, r"at least one aggregate"),
        (lambda r: r.group_by("city").agg(n=1), xd.OptionError, r"takes an aggregate, not int"),
        (
            lambda r: r.group_by("city").agg(city=xd.count()),
            xd.ColumnError,
            r"city is city and count\(\)",
        ),
        (lambda r: r.group_by("city").agg(s=xd.sum("city")), xd.TypeError, r"city' is string"),
        (lambda r: r.agg(s=xd.mean("day")), xd.TypeError, r"needs a number"),
        (lambda r: r.agg(s=xd.bool_and("price")), xd.TypeError, r"needs a boolean"),
        (lambda r: r.agg(s=xd.sum("prise")), xd.ColumnError, r"try\s+'price'"),
        (lambda r: r.agg(s=xd.sum("price").where(col("pay"))), xd.ColumnError, r"'pay'"),
        (lambda r: r.agg(s=xd.sum("price").where(col("day"))), xd.ExpressionError, r"not bool"),
        (lambda r: r.agg(s=xd.sum(col("city") * 2)), xd.ExpressionError, r"CD-504"),
        (lambda r: r.agg(s=xd.sum(3)), xd.OptionError, r"not int"),
        (lambda r: r.agg(s=xd.sum("price", floats="slow")), xd.OptionError, r"floats='slow'"),
        (lambda r: r.agg(s=xd.var("price", ddof=-1)), xd.OptionError, r"ddof=-1"),
        (lambda r: r.agg(s=xd.quantile("price", 1.5)), xd.OptionError, r"q=1.5"),
        (lambda r: r.distinct("cty"), xd.ColumnError, r"try\s+'city'"),
    ],
)
def test_refused_at_once(
    rows: xd.Relation, write: Callable[[xd.Relation], object], error: type[Exception], match: str
) -> None:
    with pytest.raises(error, match=match):
        write(rows)


def test_nested_columns_are_no_keys(dock: xd.Dock) -> None:
    nested = dock.from_arrow(pa.table({"k": [1], "list": [[1]]}))
    for write in (
        lambda: nested.group_by("list").agg(n=xd.count()),
        lambda: nested.distinct(),
        lambda: nested.agg(n=xd.min("list")),
        lambda: nested.sort("list"),
    ):
        with pytest.raises(xd.TypeError, match="list"):
            write()
    assert nested.group_by("k").agg(n=xd.count()).collect().to_pydict() == {"k": [1], "n": [1]}


def test_nothing_runs_before_it_is_asked_for(dock: xd.Dock, tmp_path: Any) -> None:
    import pyarrow.parquet

    path = tmp_path / "x.parquet"
    pyarrow.parquet.write_table(pa.table({"k": [1, 2], "v": [3, 4]}), path)
    lazy = dock.read(path).group_by("k").agg(s=xd.sum("v")).sort("s").limit(1)
    path.unlink()
    assert lazy.columns == ["k", "s"]
    with pytest.raises(xd.PathError):
        lazy.collect()


def test_how_groups_look(rows: xd.Relation) -> None:
    grouping = rows.group_by("city", y=col("day").year())
    assert repr(grouping).startswith("crossdock.Grouping by city, y=day.year()")
    grouped = grouping.agg(n=xd.count(), s=xd.sum("price").where(col("paid")))
    assert "group_by city, y=day.year(): n=count(), s=sum(price).where(paid)" in repr(grouped)
    assert "group_by city" in grouped._repr_html_()
    assert "distinct city, paid" in repr(rows.distinct("city", "paid"))


def test_plans_and_profiles(rows: xd.Relation) -> None:
    grouped = rows.group_by("city").agg(s=xd.sum(col("price") * 2)).filter(col("s") > 1)
    plan = grouped.explain()
    lines = plan.splitlines()
    assert lines[0] == "filter s > 1"
    assert lines[1].startswith("└─ group_by city: s=sum(price * 2)   predicted ")
    assert any("choice   " in line and "strategy" in line for line in lines)
    data = json.loads(plan.json)["plan"]["inputs"][0]
    assert (data["operator"], data["plan"]["operator"]) == ("group_by", "group_by")
    assert "not predicted" in grouped.explain(read=False)
    profile = grouped.profile()
    steps = [step["operator"] for step in profile.data["steps"]]
    assert steps == ["read", "group_by"]
    assert profile.data["steps"][-1]["rows"] == 3
    assert "group_by city" in profile.text
    assert profile.table.num_rows == 2


def test_literals_as_keys(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"a": [1, 2], "t": ["x", "y"]}))
    for value in ("all", 7, 2.5, True, datetime.date(2026, 1, 1)):
        result = rows.group_by(k=xd.lit(value)).agg(n=xd.count()).collect()
        assert result.to_pylist() == [{"k": value, "n": 2}]
    both = rows.with_columns(k=xd.lit("all")).group_by("k", odd=col("a") % 2).agg(s=xd.sum("a"))
    assert both.sort("odd").collect().to_pylist() == [
        {"k": "all", "odd": 0, "s": 2}, {"k": "all", "odd": 1, "s": 1},
    ]  # fmt: skip
    assert rows.with_columns(k=xd.lit("all")).sort("k", xd.desc("a")).collect()["a"][0].as_py() == 2
    assert rows.group_by(k=xd.lit(None)).agg(n=xd.count()).collect().to_pylist() == [
        {"k": None, "n": 2}
    ]


def test_a_text_as_a_computed_key_names_a_column(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"a": [1, 2], "self": ["x", "x"]}))
    result = rows.group_by(k="self").agg(n=xd.count())
    assert result.collect().to_pylist() == [{"k": "x", "n": 2}]
    assert rows.group_by(self="a").agg(self_=xd.count()).columns == ["self", "self_"]
    with pytest.raises(xd.ColumnError, match=r"no column 'selv'(.|\n)*'self'"):
        rows.group_by(k="selv")


def test_errors_name_the_users_column(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"tags": [[1], [2]]}))
    for make in (xd.min, xd.count_distinct, xd.approx_distinct):
        with pytest.raises(xd.TypeError, match="column 'tags' of type list"):
            rows.agg(x=make("tags"))
    with pytest.raises(xd.TypeError, match=r"column 'coalesce\(tags, tags\)' of type list"):
        rows.agg(x=xd.min(xd.coalesce(col("tags"), col("tags"))))


def test_medians_of_few_instants_are_exact_however_far_apart() -> None:
    """As a distance from the least, the other would be rounded to a multiple of 8 microseconds."""
    at = pa.array([-62135596800000000, -1], pa.timestamp("us"))
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(pa.table({"g": [0, 1], "at": at}))
        medians = rows.group_by("g").agg(m=xd.median("at")).sort("g").collect()["m"]
    assert medians.cast(pa.int64()).to_pylist() == [-62135596800000000, -1]


@pytest.mark.parametrize("value", [1, "a", 0.5, None, True])
def test_groups_of_constants(dock: xd.Dock, value: object) -> None:
    rows = dock.from_arrow(pa.table({"key": [5, 6, 7]})).with_columns(a=xd.lit(value))
    result = rows.select("a").group_by("a", key=1).agg(n=xd.count()).collect()
    assert result.to_pylist() == [{"a": value, "key": 1, "n": 3}]
    # A column of the name that is no key is in no one's way.
    result = rows.group_by("a", key=xd.lit(value)).agg(n=xd.sum("key")).collect()
    assert result.to_pylist() == [{"a": value, "key": value, "n": 18}]


@pytest.mark.parametrize("other", [xd.min, xd.max, xd.first, xd.any, xd.last])
@pytest.mark.parametrize("keys", [(), ("k",)])
def test_distinct_counts_of_no_rows_beside_dictionaries(
    keys: tuple[str, ...], other: Callable[[str], xd.Aggregate]
) -> None:
    table = pa.table({"k": [1, 2], "s": pa.array(["a", "b"]).dictionary_encode()})
    with xd.connect(threads=1) as dock:
        rows = dock.from_arrow(table).filter(col("k") > 9)
        items = {"n": xd.count_distinct("k"), "m": xd.count_distinct("s"), "s": other("s")}
        groups = rows.group_by(*keys) if keys else rows
        result = groups.agg(**items).collect().to_pylist()
    assert result == ([] if keys else [{"n": 0, "m": 0, "s": None}])


def test_keyless_sums_and_extremes_of_wide_integers(dock: xd.Dock, rows_of: Rows) -> None:
    """Sums that leave 64 bits on their way, over blocks with and without NULL."""
    signs = [2**63 - 1, -(2**63), 2**62, -1, 0]
    for values in (signs * 1000, [*signs * 500, None, *signs * 500], [2**63 - 1] * 3000):
        both = pa.table({"v": pa.array(values, pa.int64())})
        known = [value for value in values if value is not None]
        result = dock.from_arrow(both).agg(
            s=xd.sum("v", wide=True), m=xd.mean("v"), least=xd.min("v"), most=xd.max("v")
        )
        mean = sum(known) / len(known)
        assert rows_of(result.collect()) == [
            (Decimal(sum(known)), pytest.approx(mean), min(known), max(known))
        ]
    unsigned = pa.table({"v": pa.array([2**64 - 1, 0, 1] * 2000, pa.uint64())})
    result = dock.from_arrow(unsigned).agg(s=xd.sum("v", wide=True), most=xd.max("v"))
    assert rows_of(result.collect()) == [(Decimal(2**64 * 2000), 2**64 - 1)]
    reals = pa.table({"v": [float("nan"), 3.0, None, -1.0, 2.0, float("nan"), 8.0] * 400})
    result = dock.from_arrow(reals).agg(least=xd.min("v"), most=xd.max("v"))
    assert rows_of(result.collect()) == [(-1.0, 8.0)]


def test_exact_medians_of_many_groups(dock: xd.Dock) -> None:
    """Groups that grow in turns, of one value and of thousands, take memory that others left."""
    count = 60_000
    keys = [n % 1000 if n % 3 else 5 for n in range(count)]
    values = [(n * 7919) % 10_007 for n in range(count)]
    result = (
        dock.from_arrow(pa.table({"k": keys, "v": values}))
        .group_by("k")
        .agg(m=xd.median_exact("v"), q=xd.quantile_exact("v", 0.25), n=xd.count())
    )
    by_key: dict[int, list[int]] = {}
    for key, value in zip(keys, values, strict=True):
        by_key.setdefault(key, []).append(value)
    for row in result.collect().to_pylist():
        ordered = sorted(by_key[row["k"]])
        assert row["n"] == len(ordered)
        for name, share in (("m", 0.5), ("q", 0.25)):
            place = share * (len(ordered) - 1)
            low, high = ordered[int(place)], ordered[min(int(place) + 1, len(ordered) - 1)]
            assert row[name] == pytest.approx(low + (high - low) * (place - int(place)))


def test_casts_to_the_same_type_are_computed_here(dock: xd.Dock) -> None:
    rows = dock.from_arrow(pa.table({"x": [1.0, 2.0], "y": [3, None]}))
    same = rows.select(x=col("x").cast("float64") + 1, y=col("y").cast("int64").cast("float64"))
    assert "runs in pipelines" in same.explain()
    assert same.collect().to_pydict() == {"x": [2.0, 3.0], "y": [3.0, None]}
