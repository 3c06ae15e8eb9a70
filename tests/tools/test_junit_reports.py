"""The readers of reports against what runners write, and the verdict of check.py."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import check
import junit_reports
import pytest
from junit_reports import Outcome, Spent

CTEST = """<?xml version="1.0" encoding="UTF-8"?>
<testsuite name="Linux-c++" tests="6" failures="1" disabled="1" skipped="2">
 <testcase name="table.A.skips" classname="table.A.skips" time="0.5" status="notrun">
  <skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
  <system-out>Note: Google Test filter = A.skips
[ RUN      ] A.skips
/src/a_test.cpp:3: Skipped
hosts are &amp; stay
made by root

[  SKIPPED ] A.skips (0 ms)
</system-out>
 </testcase>
 <testcase name="table.A.runs" classname="table.A.runs" time="0.25" status="run"/>
 <testcase name="model.shard_0" classname="model.shard_0" time="2" status="run"/>
 <testcase name="fuzz.a_fuzz" classname="fuzz.a_fuzz" time="1" status="fail">
  <failure message=""/></testcase>
 <testcase name="table.A.off" classname="table.A.off" time="0" status="disabled"/>
 <testcase name="table.A.lost" classname="table.A.lost" time="0" status="notrun">
  <skipped message="Unable to find executable"/></testcase>
</testsuite>
"""
GOOGLE = """<?xml version="1.0" encoding="UTF-8"?>
<testsuites tests="3"><testsuite name="B" tests="3">
 <testcase name="runs" status="run" result="completed" time="9" classname="B"/>
 <testcase name="DISABLED_off" status="notrun" result="suppressed" time="0" classname="B"/>
 <testcase name="skips" status="run" result="skipped" time="0" classname="B">
  <skipped message="/src/b_test.cpp:7&#x0A;lo is down&#x0A;"><![CDATA[/src/b_test.cpp:7
lo is down
]]></skipped></testcase>
</testsuite></testsuites>
"""
PYTEST = """<?xml version="1.0" encoding="utf-8"?>
<testsuites><testsuite name="pytest" tests="4">
 <testcase classname="tests.control.rpc.test_clocks" name="test_a" time="1.5"/>
 <testcase classname="tests.python.test_x.TestY" name="test_b" time="0.5">
  <skipped type="pytest.skip" message="no  NVIDIA GPU">/x.py:3: no NVIDIA GPU</skipped></testcase>
 <testcase classname="tests.python.test_x" name="test_c" time="0.5">
  <skipped type="pytest.skip">/x.py:3</skipped></testcase>
 <testcase classname="tests.python.test_x" name="test_d" time="0"><error message="E"/></testcase>
</testsuite></testsuites>
"""


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def test_ctest_and_google_test_report_reasons_of_skips(tmp_path: Path) -> None:
    reports = [
        write(tmp_path / "cpp.xml", CTEST),
        write(tmp_path / "cases" / "model_0.xml", GOOGLE),
    ]
    outcome = junit_reports.read_reports(reports, succeeded=False)
    assert (outcome.passed, outcome.failed) == (2, 1)
    assert outcome.skips == {
        "hosts are & stay made by root": 1,
        "disabled": 2,
        "Unable to find executable": 1,
        "lo is down": 1,
    }
    # The cases of a shard have no seconds of their own.
    seconds = {name: spent for name, spent in outcome.suite_s.items() if spent}
    assert seconds == {"table": 0.75, "model": 2.0, "fuzz": 1.0}


def test_pytest_reports_are_summed_by_folder(tmp_path: Path) -> None:
    outcome = junit_reports.read_reports([write(tmp_path / "p.xml", PYTEST)], succeeded=False)
    assert (outcome.passed, outcome.failed) == (1, 1)
    assert outcome.skips == {"no NVIDIA GPU": 1, "no reason given": 1}
    assert outcome.suite_s == {"tests/control/rpc": 1.5, "tests/python": 1.0}


def test_a_runner_that_reports_nothing_has_failed() -> None:
    assert junit_reports.read_reports([], succeeded=False).failed == 1
    assert junit_reports.read_reports([], succeeded=True).failed == 0


def test_every_allowed_skip_says_why() -> None:
    allowed = junit_reports.allowed_skips()
    assert allowed
    assert all(reason and why for reason, why in allowed.items())


def test_skip_table_names_reasons_and_what_is_forbidden() -> None:
    skips = Counter({"no GPU": 2, "no mood": 1})
    assert junit_reports.forbidden_skips(skips, {"no GPU": "rare"}) == ["no mood"]
    lines = junit_reports.skip_table(skips, {"no GPU": "rare"}).splitlines()
    assert lines[1] == "      2  no GPU (rare)"
    assert "no mood (NOT in tools/allowed_skips.toml" in lines[2]


def test_time_table_sums_and_cuts_the_long_tail() -> None:
    suites = Counter({"a": 3.0, "b": 2.0, "c": 1.0, "d": 0.5})
    table = junit_reports.time_table([Spent("x", 1, 2), Spent("y", 3, 4)], suites, suites=2)
    lines = [" ".join(line.split()) for line in table.splitlines()]
    assert lines[3] == "in all 4.0 6.0"
    assert lines[5:] == ["a 3.0", "b 2.0", "2 other suites 1.5"]


def test_fuzzing_takes_new_seeds_until_the_time_is_over(monkeypatch: pytest.MonkeyPatch) -> None:
    seeds: list[str] = []

    def call(command: list[str], **environment: str) -> bool:
        assert "ASAN_OPTIONS" in environment
        seeds.append(command[1])
        return command[0] == "good" or len(seeds) < 2

    monkeypatch.setattr(check, "call", call)
    assert check.fuzz_long(Path("bad"), seconds=60) == Outcome(failed=1)
    assert seeds == ["2", "3"]
    seeds.clear()
    assert check.fuzz_long(Path("good"), seconds=0) == Outcome(passed=1)
    assert seeds == ["2"]


@pytest.mark.parametrize(
    ("outcome", "status", "last"),
    [
        (Outcome(passed=3), 0, "3 passed, 0 failed, 0 skipped"),
        (Outcome(passed=3, skips=Counter(["known"])), 0, "3 passed, 0 failed, 1 skipped"),
        (Outcome(passed=3, skips=Counter(["new"])), 1, "3 passed, 1 failed, 1 skipped"),
        (Outcome(passed=3, failed=1), 1, "3 passed, 1 failed, 0 skipped"),
    ],
)
def test_the_last_line_counts_and_an_unknown_skip_fails(
    outcome: Outcome,
    status: int,
    last: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(check, "allowed_skips", lambda: {"known": "rare"})
    monkeypatch.setattr(check, "SPENT", [])
    after = check.Step("after", lambda: Outcome())
    assert check.run_steps([check.Step("first", lambda: outcome), after]) == status
    out = capsys.readouterr().out
    assert out.splitlines()[-1] == last
    assert ("Stopped: first failed. Not run: after." in out) == (status == 1)
    assert "Where the time went" in out


def cpp_tree(root: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """A tree whose C++ tests pass; returns the commands that are called, by their first word."""
    for name in ("CMakePresets.json", "tools/hosts.py", "tests/a_test.cpp", "tests/test_a.py"):
        write(root / name, "1")
    program = write(root / "build" / "asan" / "a_test", "1")
    program.chmod(0o755)
    called: list[str] = []

    def call(command: list[str], **_: str) -> bool:
        called.append(command[0])
        write(
            root / "build" / "reports" / "cpp-asan.xml", CTEST.replace('<failure message=""/>', "")
        )
        return True

    monkeypatch.setattr(check, "ROOT", root)
    monkeypatch.setattr(check, "REPORTS", root / "build" / "reports")
    monkeypatch.setattr(check, "build", lambda *_: True)
    monkeypatch.setattr(check, "call", call)
    return called


@pytest.mark.parametrize(
    ("changed", "runs"),
    [("tests/test_a.py", 1), ("build/asan/a_test", 2), ("tests/a.json", 2), ("tools/hosts.py", 2)],
)
def test_cpp_tests_run_again_when_something_they_depend_on_changes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, changed: str, runs: int
) -> None:
    called = cpp_tree(tmp_path, monkeypatch)
    first = check.cpp_tests("asan")
    assert (first.passed, first.failed, len(called)) == (2, 0, 1)
    write(tmp_path / changed, "2").chmod(0o755)
    assert check.cpp_tests("asan") == first
    assert len(called) == runs


def test_cpp_tests_that_failed_run_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    cpp_tree(tmp_path, monkeypatch)
    monkeypatch.setattr(check, "call", lambda *_, **__: False)
    assert [check.cpp_tests("asan").failed for _ in range(2)] == [1, 1]


def test_a_reason_ends_at_the_line_that_says_skipped(tmp_path: Path) -> None:
    with_line = junit_reports.read_reports([write(tmp_path / "a.xml", CTEST)], True)
    close = CTEST.replace("by root\n\n[", "by root\n[")
    assert close != CTEST
    without = junit_reports.read_reports([write(tmp_path / "b.xml", close)], True)
    assert without.skips == with_line.skips
