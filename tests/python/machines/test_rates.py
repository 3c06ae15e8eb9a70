"""Measured rates: how they are fitted, kept in a file, and used by plans."""

from __future__ import annotations

import json
import random
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import crossdock as xd
import pytest
from crossdock import _native
from crossdock.machines import calibration, rates_file
from crossdock.machines.calibration import Calibration, calibrate, l3_share, misfit
from crossdock.machines.rate_fit import Equation, fit_rates
from crossdock.workload import Workload


@pytest.fixture
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The file of rates of this test, which is not there yet."""
    path = tmp_path / "folder" / "rates.json"
    monkeypatch.setenv("CROSSDOCK_RATES", str(path))
    yield path
    monkeypatch.setenv("CROSSDOCK_RATES", "none")
    rates_file.use_rates_of_file()


def test_exact_times_give_exact_rates() -> None:
    true = {"a": 3.0, "b": 0.5, "c": 20.0}
    known = {"a": 1.0, "b": 1.0, "c": 10.0, "d": 4.0}
    rows = [{"a": 1e6, "b": 2e6}, {"a": 3e6, "c": 1e5}, {"b": 1e7}, {"a": 1e5, "b": 1e5, "c": 1e6}]
    equations = [
        Equation(0.001 + sum(c * true[n] for n, c in row.items()) * 1e-9, 0.001,
                 {n: c * 1e-9 for n, c in row.items()}, weight=1000)
        for row in rows
    ]  # fmt: skip
    result = fit_rates(equations, known)
    for name, rate in true.items():
        assert result[name] == pytest.approx(rate, rel=0.01)
    assert all(e.predicted_s(result) == pytest.approx(e.seconds, rel=0.01) for e in equations)


def test_a_rate_that_nothing_tells_of_follows_the_others() -> None:
    equations = [Equation(2e-3 * times, 0.0, {"a": 1e-3 * times}) for times in (1, 2, 3)]
    result = fit_rates(equations, {"a": 1.0, "b": 7.0})
    assert result["a"] == pytest.approx(2.0)
    assert result["b"] == pytest.approx(14.0)
    assert fit_rates([], {"a": 1.0}) == {"a": 1.0}


def test_a_small_part_of_each_work_is_found_where_one_work_shows_it() -> None:
    true, known = {"row": 10.0, "group": 100.0}, {"row": 3.0, "group": 6.0}
    shares = (0.0001, 0.015, 0.06, 0.3, 1.0)
    equations = [
        Equation(true["row"] + share * true["group"], 0.0, {"row": 1.0, "group": share})
        for share in shares
    ]
    assert fit_rates(equations, known)["group"] == pytest.approx(true["group"], rel=0.1)


def test_rates_stay_positive() -> None:
    equations = [Equation(1.0, 0.0, {"a": 1.0, "b": 1.0}), Equation(2.0, 0.0, {"a": 1.0})]
    result = fit_rates(equations, {"a": 1.0, "b": 1.0})
    assert result["b"] > 0


def test_stored_rates_are_used(file: Path) -> None:
    assert not rates_file.use_rates_of_file().is_measured
    before = _native.rates_in_use()
    assert before == _native.built_in_rates()
    rates_file.store_rates({"join.scatter": 123.0}, "2026-01-01T00:00:00Z", {"rows": 1}, file)
    result = rates_file.use_rates_of_file()
    assert result.is_measured
    assert result.text() == f"measured 2026-01-01T00:00:00Z, {file}"
    assert _native.rates_in_use() == before | {"join.scatter": 123.0}
    assert rates_file.entry_of_machine()["rows"] == 1  # type: ignore[index]
    data = json.loads(file.read_text())
    assert data["schema_version"] == 1
    assert list(data["machines"]) == [rates_file.machine_name()]


def test_plans_follow_the_rates(file: Path) -> None:
    workload = Workload(20_000, sparse=True)

    def predicted() -> float:
        with xd.connect(threads=1) as dock:
            outer, inner = (dock.from_arrow(workload.table(side)) for side in ("outer", "inner"))
            plan = outer.join(inner, on="key", strategy="radix").explain(read=True).data["plan"]
            return float(sum(phase["predicted_s"] for phase in plan["plan"]["phases"]))

    before = predicted()
    slow = {name: value * 10 for name, value in _native.built_in_rates().items()}
    rates_file.store_rates(slow, "now", {}, file)
    assert predicted() == pytest.approx(10 * before)


def test_entries_of_other_machines_stay(file: Path) -> None:
    file.parent.mkdir()
    other = {"schema_version": 1, "machines": {"another": {"measured": "then", "rates_ns": {}}}}
    file.write_text(json.dumps(other))
    assert rates_file.use_rates_of_file().text() == "built-in: none measured for this machine yet"
    rates_file.store_rates({"join.scatter": 9.0}, "now", {}, file)
    assert set(json.loads(file.read_text())["machines"]) == {"another", rates_file.machine_name()}


@pytest.mark.parametrize(
    "text",
    ["nonsense", "[]", '{"schema_version": 2, "machines": {}}', '{"schema_version": 1}'],
)
def test_a_broken_file_is_reported_and_not_used(file: Path, text: str) -> None:
    file.parent.mkdir()
    file.write_text(text)
    with pytest.warns(UserWarning, match="measured rates are not used"):
        result = rates_file.use_rates_of_file()
    assert not result.is_measured
    assert _native.rates_in_use() == _native.built_in_rates()
    with pytest.raises(xd.DataError, match="is no file of rates"):
        rates_file.store_rates({}, "now", {}, file)


def test_a_broken_rate_is_reported_and_not_used(file: Path) -> None:
    rates_file.store_rates({"join.scatter": -1.0}, "now", {}, file)
    with pytest.warns(UserWarning, match=r"join\.scatter is -1"):
        rates_file.use_rates_of_file()
    assert _native.rates_in_use() == _native.built_in_rates()


def test_a_file_that_cannot_be_written(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(xd.PathError, match="cannot be written"):
        rates_file.store_rates({}, "now", {}, tmp_path / "file" / "rates.json")


def test_unknown_rates_are_refused() -> None:
    with pytest.raises(_native.NativeError, match=r"no rate named 'join\.nothing'"):
        _native.use_rates({"join.nothing": 1.0})


# Small, so that it is quick: what is measured says nothing of the machine, but every work runs, is
# predicted, and leaves the rates in use as they were.
def test_calibrating(dock: xd.Dock, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each phase is an equation, whichever of them this machine is quick with today.
    monkeypatch.setattr(calibration, "LEAST_PHASE_S", 0.0)
    before = _native.rates_in_use()
    shown: list[str] = []
    result = calibrate(dock, rows=20_000, repeat=1, show=shown.append)
    assert _native.rates_in_use() == before
    assert shown == [one.name for one in result.measured]
    assert set(result.rates) == set(_native.built_in_rates())
    assert all(rate > 0 for rate in result.rates.values())
    works = result.works()
    assert {work["operator"] for work in works} == {"hash_join", "merge_join", "sort", "group_by"}
    assert all(work["predicted_s"] > 0 and work["measured_s"] > 0 for work in works)
    for one in result.measured:
        assert one.total.coefficients, one.name
    _assert_made_rates_are_found(result)


def _assert_made_rates_are_found(actual: Calibration) -> None:
    """Times that some other machine would have: the works tell its rates apart."""
    known = _native.built_in_rates()
    chance = random.Random(7)
    true = {name: ns * chance.uniform(1, 6) for name, ns in known.items()}
    equations = [
        replace(one, seconds=one.predicted_s(true) * chance.uniform(0.95, 1.05))
        for work in actual.measured
        for one in work.equations
    ]
    fitted = fit_rates(equations, known)
    for work in actual.measured:
        assert work.total.predicted_s(fitted) == pytest.approx(
            work.total.predicted_s(true), rel=0.1
        ), work.name
    separable = (
        "join.scatter",
        "join.build_leaf",
        "join.probe_leaf",
        "sort.sort_pair",
        "sort.select",
    )
    for name in separable:
        assert fitted[name] == pytest.approx(true[name], rel=0.25), name
    # A group costs what it costs, though only one work is mostly made of new ones.
    group, true_group = (
        rates["group.insert"] + 2 * rates["group.emit_word"] for rates in (fitted, true)
    )
    assert group == pytest.approx(true_group, rel=0.15)


def test_the_cache_is_a_share() -> None:
    assert 0 < l3_share(2) <= 1


def test_what_speaks_against_rates() -> None:
    def works(spread: float, near: int) -> list[dict[str, float]]:
        off = [1.0] * near + [2.0] * (10 - near)
        return [{"measured_s": 1.0, "predicted_s": off[i], "spread": spread} for i in range(10)]

    assert misfit(works(0.2, 6)) == ""
    assert misfit(works(0.2, 5)) == "the rates give the time of 5 of 10 works within 20%"
    assert misfit(works(0.8, 10)).startswith("the same work took 80% more or less")
