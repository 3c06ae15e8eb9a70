"""random(), uuid() and samples: how many rows there are, of what, and that a seed repeats them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import crossdock as xd
import pytest


@pytest.fixture
def seeded() -> Iterator[xd.Dock]:
    with xd.connect(threads=2, ranks="off") as dock:
        dock.sql("create table numbers as select range as x, range % 3 as k from range(100000)")
        yield dock


def only_row(dock: xd.Dock, text: str) -> tuple[Any, ...]:
    (row,) = dock.sql(text).collect().to_pylist()
    return tuple(row.values())


def test_numbers_lie_between_0_and_1_and_differ(seeded: xd.Dock) -> None:
    text = "select min(r), max(r), avg(r), count(distinct r) from (select random() r from numbers)"
    least, most, mean, distinct = only_row(seeded, text)
    assert 0 <= least < 0.001
    assert 0.999 < most < 1
    assert abs(mean - 0.5) < 0.01
    assert distinct > 99_990


def test_calls_are_others_than_each_other_and_when_they_come_again(seeded: xd.Dock) -> None:
    text = "select count(*) from (select random() p, random() q from numbers) where p = q"
    assert only_row(seeded, text) == (0,)
    text = "select sum(random()) from numbers"
    assert only_row(seeded, text) != only_row(seeded, text)


@pytest.mark.parametrize(
    ("text", "least", "most"),
    [
        ("select count(*) from numbers where random() < 0.1", 9_000, 11_000),
        ("select count(*) from numbers where k = 1 and random() < 0.1", 3_000, 3_700),
        ("select count(*) filter (where random() < 0.5) from numbers", 49_000, 51_000),
        ("select sum(case when random() < 0.5 then 1 else 0 end) from numbers", 49_000, 51_000),
        ("select count(distinct uuid()) from numbers", 100_000, 100_000),
        ("select count(distinct gen_random_uuid()) from numbers", 100_000, 100_000),
        ("select count(*) from numbers tablesample 10%", 9_000, 11_000),
        ("select count(*) from numbers where k = 1 using sample 10 percent", 3_000, 3_700),
        ("select count(*) from numbers using sample 10% (bernoulli)", 9_000, 11_000),
        ("select count(*) from (select x from numbers) using sample 100 rows", 100, 100),
        ("select count(*) from numbers n using sample reservoir(50 rows)", 50, 50),
        ("select count(distinct x) from (select x from numbers order by random() limit 9)", 9, 9),
    ],
)
def test_as_many_rows_as_a_share_says(seeded: xd.Dock, text: str, least: int, most: int) -> None:
    assert least <= only_row(seeded, text)[0] <= most


def test_uuids_are_of_version_4(seeded: xd.Dock) -> None:
    form = "[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}"
    text = f"select count(*) from numbers where regexp_full_match(uuid(), '{form}')"
    assert only_row(seeded, text) == (100_000,)


@pytest.mark.parametrize(
    "text",
    [
        "select x, random() r, uuid() u from numbers limit 70000",
        "select x from numbers order by random(), x limit 20",
        "select x from numbers where random() < 0.001",
        "with r as (select x, random() r from numbers) select x, p.r from r p join r q using (x)",
    ],
)
def test_a_seed_repeats_them(seeded: xd.Dock, text: str) -> None:
    seeded.sql("set seed = 7")
    first = seeded.sql(text).sort("x").collect()
    assert seeded.sql(text).sort("x").collect() == first
    seeded.sql("set seed = 8")
    assert seeded.sql(text).sort("x").collect() != first
    seeded.sql("reset seed")
    assert seeded.sql(text).sort("x").collect() != first


def test_a_table_of_a_query_has_the_same_numbers_wherever_it_is_read(seeded: xd.Dock) -> None:
    text = (
        "with r as (select x, random() r from numbers) select count(*) from r p join r q using (x)"
    )
    assert only_row(seeded, f"{text} where p.r = q.r") == (100_000,)


@pytest.mark.parametrize(
    "text",
    [
        "select sum(x) from numbers using sample 10% (bernoulli, 7)",
        "select sum(x) from numbers using sample reservoir(100 rows) repeatable (7)",
        "select sum(x) from numbers tablesample 10% (system, 7)",
    ],
)
def test_a_sample_has_a_seed_of_its_own(seeded: xd.Dock, text: str) -> None:
    assert only_row(seeded, text) == only_row(seeded, text)
    assert only_row(seeded, text) != only_row(seeded, text.replace("7)", "8)"))


def test_relations_have_them_too(seeded: xd.Dock) -> None:
    numbers = seeded.sql("select x from numbers")
    drawn = numbers.with_random("r", seed=1).with_random("id", kind="uuid", seed=1)
    assert drawn.columns == ["x", "r", "id"]
    assert drawn.collect() == drawn.collect()
    assert drawn.filter("r < 0.5 and x < 1000").select("x").count() in range(400, 600)
    assert drawn.count() == 100_000
    assert "draw r=number(seed=1)" in str(drawn.explain())
    with pytest.raises(xd.ColumnError):
        numbers.with_random("x")
    with pytest.raises(xd.OptionError, match="kind='float' is not a choice"):
        numbers.with_random("r", kind="float")
    with pytest.raises(xd.OptionError, match="no seed"):
        numbers.with_random("r", seed=-1)


def test_the_first_rows_as_a_share(seeded: xd.Dock) -> None:
    numbers = seeded.sql("select x from numbers").sort("x")
    assert numbers.limit(fraction=0.00005).collect()["x"].to_pylist() == [0, 1, 2, 3, 4]
    assert numbers.limit(offset=2, fraction=0.00003).collect()["x"].to_pylist() == [2, 3, 4]
    assert numbers.limit(fraction=0.5).count() == 50_000
    assert "limit 0.5 of the rows" in str(numbers.limit(fraction=0.5).explain())
    with pytest.raises(xd.OptionError, match="not a share"):
        numbers.limit(fraction=1.5)
    with pytest.raises(xd.OptionError, match="either a number of rows or a fraction"):
        numbers.limit(3, fraction=0.5)
