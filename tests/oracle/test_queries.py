"""Whole queries: TPC-H and SSB, in memory and from Parquet, as relations and as SQL, have the
results of DuckDB.

SSB runs at ten times the scale factor, since most of its conditions leave no row of smaller tables.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import ExitStack
from functools import cache
from pathlib import Path

import crossdock as xd
import pytest
from crossdock import _native
from crossdock.engine.execution import Execution

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

from queries import catalogue, engines, sources
from queries.comparison import Expected

SCALES = {"tpch": 0.01, "ssb": 0.1}
CASES = [(suite, name) for suite, queries in catalogue.SUITES.items() for name in queries]
THREADS = 2

RunOfMode = dict[tuple[str, str], engines.RunOf]


@cache
def expected_of(suite: str) -> dict[str, Expected]:
    files = sources.files_of(suite, SCALES[suite])
    return engines.expected_results(files, list(catalogue.SUITES[suite].values()))


@pytest.fixture(scope="module")
def runs() -> Iterator[RunOfMode]:
    """Ours over each suite in each mode; files and tables are opened once."""
    opened = {}
    with ExitStack() as stack:
        for suite, scale in SCALES.items():
            files = sources.files_of(suite, scale)
            tables = sources.loaded(files, catalogue.SUITES[suite].values(), "string_view")
            opened[suite, "memory"] = engines.crossdock(tables, THREADS, stack)
            opened[suite, "parquet"] = engines.crossdock(files, THREADS, stack)
            opened[suite, "sql in memory"] = engines.crossdock_sql(tables, THREADS, stack)
            opened[suite, "sql on parquet"] = engines.crossdock_sql(files, THREADS, stack)
        yield opened


@pytest.mark.parametrize("mode", ["memory", "parquet", "sql in memory", "sql on parquet"])
@pytest.mark.parametrize(("suite", "name"), CASES)
def test_query(suite: str, name: str, mode: str, runs: RunOfMode) -> None:
    run = runs[suite, mode](catalogue.SUITES[suite][name])
    assert run is not None
    assert expected_of(suite)[name].difference(run(), engines.EXACT) is None


@pytest.mark.parametrize("rule", _native.Query.rules())
@pytest.mark.parametrize(("suite", "mode"), [("tpch", "memory"), ("ssb", "parquet")])
def test_queries_without_a_rule(
    suite: str, mode: str, rule: str, runs: RunOfMode, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Execution, "without", (rule,))
    for name, query in catalogue.SUITES[suite].items():
        run = runs[suite, mode](query)
        assert run is not None
        assert expected_of(suite)[name].difference(run(), engines.EXACT) is None, name


def test_a_rule_that_is_none_is_refused(runs: RunOfMode, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Execution, "without", ("late_sorts",))
    run = runs["tpch", "memory"](catalogue.SUITES["tpch"]["3"])
    assert run is not None
    with pytest.raises(xd.OptionError, match=r"(?s)no rule 'late_sorts'.*late_sort, "):
        run()


def test_all_queries_are_there() -> None:
    assert {suite: len(queries) for suite, queries in catalogue.SUITES.items()} == {
        "tpch": 22,
        "ssb": 13,
    }


@pytest.mark.parametrize("suite", list(SCALES))
def test_results_have_rows(suite: str) -> None:
    """An empty result would equal any other; Q3.4 asks for one month and two cities."""
    empty = [name for name, expected in expected_of(suite).items() if not expected.rows]
    assert empty in ([], ["Q3.4"])
