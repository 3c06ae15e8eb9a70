"""A text that comes again has the plan it had, unless something it depends on has changed."""

from __future__ import annotations

import datetime
import threading
from collections.abc import Iterator
from typing import Any

import crossdock as xd
import pyarrow as pa
import pytest
from crossdock.sql_frontend.deep_stack import with_deep_stack


@pytest.fixture
def dock() -> Iterator[xd.Dock]:
    with xd.connect(threads=1, ranks="off") as opened:
        opened.register("t", pa.table({"a": [1, 2, None]}))
        yield opened


def values(relation: xd.Relation) -> list[Any]:
    return relation.collect().column(0).to_pylist()


def test_a_text_is_planned_once(dock: xd.Dock) -> None:
    text = "select a + 1 as b from t where a > 1"
    assert dock.sql(text)._node is dock.sql(text)._node
    assert dock.sql(text, None)._node is dock.sql(text)._node


@pytest.mark.parametrize("moment", ["now()", "current_timestamp", "epoch(now())"])
def test_moments_are_those_of_each_run(dock: xd.Dock, moment: str) -> None:
    text = f"select {moment} as x, {moment} as y"
    first, second = dock.sql(text).collect(), dock.sql(text).collect()
    assert first["x"] == first["y"]
    assert first["x"][0].as_py() < second["x"][0].as_py()


def test_tables_that_change_are_planned_for(dock: xd.Dock) -> None:
    text = "select sum(a) as s from t"
    assert values(dock.sql(text)) == [3]
    dock.register("t", pa.table({"a": [7.5]}))
    assert values(dock.sql(text)) == [7.5]
    dock.sql("create or replace view t as select 9 as a")
    assert values(dock.sql(text)) == [9]
    dock.unregister("t")
    with pytest.raises(xd.SqlError, match="no table 't'"):
        dock.sql(text)


def test_variables_are_looked_up_each_time(dock: xd.Dock) -> None:
    text = "select x from here"
    for number in (1, 2):
        here = pa.table({"x": [number]})
        assert values(dock.sql(text)) == [number]
    del here


def test_names_of_tables_come_before_variables(dock: xd.Dock) -> None:
    here = pa.table({"x": [1]})
    assert values(dock.sql("select x from here")) == [1]
    dock.register("here", pa.table({"x": [2]}))
    assert values(dock.sql("select x from here")) == [2]
    del here


@pytest.mark.parametrize("given", [1, 1.0, True, "1", b"1", None, datetime.date(2020, 1, 1)])
def test_values_of_parameters_count_with_their_types(given: object, dock: xd.Dock) -> None:
    text = "select ? as x from t limit 1"
    for other in (1, 1.5, "1", given):
        result = values(dock.sql(text, [other]))[0]
        assert (result, type(result)) == (other, type(other))


def test_settings_count(dock: xd.Dock) -> None:
    text = "select a from t order by a"
    assert values(dock.sql(text)) == [1, 2, None]
    dock.sql("set default_null_order = nulls_first")
    assert values(dock.sql(text)) == [None, 1, 2]


def test_spellings_of_one_meaning_keep_their_names(dock: xd.Dock) -> None:
    assert dock.sql("select a as Total from t").columns == ["Total"]
    assert dock.sql("select a as TOTAL from t").columns == ["TOTAL"]


def test_the_day_is_of_each_call(dock: xd.Dock) -> None:
    text = "select now() as n from t limit 1"
    assert values(dock.sql(text)) < values(dock.sql(text))


def test_old_plans_go(dock: xd.Dock) -> None:
    first = dock.sql("select a + 0 as b from t")._node
    for number in range(1, 65):
        dock.sql(f"select a + {number} as b from t")
    assert dock.sql("select a + 0 as b from t")._node is not first


def test_threads_plan_at_once(dock: xd.Dock) -> None:
    result: list[list[Any]] = []

    def ask(number: int) -> None:
        result.append(values(dock.sql(f"select max(a) + {number % 3} as m from t")))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(12)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(result) == sorted([[2 + number % 3] for number in range(12)])


@pytest.mark.parametrize("characters", [10, 100_000])
def test_errors_of_deep_stacks_come_to_the_caller(characters: int) -> None:
    def fail() -> None:
        raise KeyError("x")

    with pytest.raises(KeyError):
        with_deep_stack(fail, characters)
    assert with_deep_stack(lambda: 3, characters) == 3


def test_names_that_were_made_unique_are_not_kept_for_other_tables(dock: xd.Dock) -> None:
    text = "select -a as a from t order by a + 0"
    for number in range(3):
        rows = dock.sql(text).collect()
        assert rows.column_names == ["a"]
        assert rows["a"].to_pylist() == [-1, -2, None]
        dock.register(f"other_{number}", pa.table({"a": [1]}))
