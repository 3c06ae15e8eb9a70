"""Reads what test runners report (JUnit files), and says what was skipped and where the time went.

pytest, CTest and Google Test each write their own JUnit: where a skip's reason stands differs by
runner. A skip passes only if its reason is in tools/allowed_skips.toml; otherwise it is a failure,
since a test that silently stops running protects nothing.
"""

from __future__ import annotations

import re
import tomllib
import xml.etree.ElementTree as ElementTree
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

ALLOWED_SKIPS = Path(__file__).resolve().parent / "allowed_skips.toml"
# Google Test: "file:line: Skipped", the reason on the lines after it, then an empty line or "[".
GOOGLE_SKIP = re.compile(
    r"^\S+:\d+: Skipped\n(.+?)(?:\n\s*\n|\n\[|\n?\Z)", re.MULTILINE | re.DOTALL
)
GOOGLE_PLACE = re.compile(r"\A\S+:\d+\n")


@dataclass
class Outcome:
    """How a step ended: skips by their reason, and the seconds of each suite in its reports."""

    passed: int = 0
    failed: int = 0
    skips: Counter[str] = field(default_factory=Counter)
    suite_s: Counter[str] = field(default_factory=Counter)

    def add(self, other: Outcome) -> None:
        self.passed += other.passed
        self.failed += other.failed
        self.skips += other.skips
        self.suite_s += other.suite_s


@dataclass(frozen=True)
class Spent:
    """What one piece of work took; processor seconds count all its processes."""

    title: str
    wall_s: float
    cpu_s: float


def skip_reason(case: ElementTree.Element) -> str | None:
    """Why a case did not run, or None if it ran."""
    skipped = case.find("skipped")
    if case.get("status") == "disabled":
        return "disabled"
    if skipped is None:
        return "disabled" if case.get("status") == "notrun" else None
    message = skipped.get("message") or ""
    output = case.findtext("system-out") or ""
    match = GOOGLE_SKIP.search(output)
    if message == "SKIP_REGULAR_EXPRESSION_MATCHED" and match is not None:
        message = match.group(1)
    message = GOOGLE_PLACE.sub("", message)
    return " ".join(message.split()) or "no reason given"


def suite_of(case: ElementTree.Element) -> str:
    """The folder of a Python test, the room of a C++ test, or the program of a fuzz run."""
    name, place = case.get("name", ""), case.get("classname", "")
    if place.startswith("tests."):
        return place.split(".test_")[0].replace(".", "/")
    return name.split(".")[0] if "." in name else place


def read_case(case: ElementTree.Element, outcome: Outcome) -> None:
    outcome.suite_s[suite_of(case)] += float(case.get("time", 0))
    if ".shard_" in case.get("name", ""):  # many cases, which have a report of their own
        return
    reason = skip_reason(case)
    if case.find("failure") is not None or case.find("error") is not None:
        outcome.failed += 1
    elif reason is None:
        outcome.passed += 1
    else:
        outcome.skips[reason] += 1


def read_reports(reports: list[Path], succeeded: bool) -> Outcome:
    """The cases in JUnit files. A runner that died before it could report is one failure."""
    outcome = Outcome()
    for report in reports:
        sharded = report.parent.name == "cases"  # their seconds are in CTest's report
        for case in ElementTree.parse(report).getroot().iter("testcase"):
            if sharded:
                case.set("time", "0")
            read_case(case, outcome)
    if not succeeded and outcome.failed == 0:
        outcome.failed = 1
    return outcome


def allowed_skips(path: Path = ALLOWED_SKIPS) -> dict[str, str]:
    """Reason of a skip -> why it may be skipped."""
    with path.open("rb") as file:
        return {entry["reason"]: entry["why"] for entry in tomllib.load(file)["skip"]}


def forbidden_skips(skips: Counter[str], allowed: dict[str, str]) -> list[str]:
    return sorted(reason for reason in skips if reason not in allowed)


def skip_table(skips: Counter[str], allowed: dict[str, str]) -> str:
    lines = ["Skipped, by reason:"]
    for reason, count in sorted(skips.items(), key=lambda entry: (-entry[1], entry[0])):
        note = allowed.get(reason, "NOT in tools/allowed_skips.toml, so this is a failure")
        lines.append(f"  {count:5}  {reason} ({note})")
    return "\n".join(lines) if skips else "Skipped: nothing."


def time_table(spent: list[Spent], suite_s: Counter[str], suites: int = 25) -> str:
    lines = [f"{'Where the time went':<60} {'wall s':>8} {'CPU s':>8}"]
    lines += [f"  {work.title:<58} {work.wall_s:8.1f} {work.cpu_s:8.1f}" for work in spent]
    wall_s, cpu_s = sum(work.wall_s for work in spent), sum(work.cpu_s for work in spent)
    lines.append(f"  {'in all':<58} {wall_s:8.1f} {cpu_s:8.1f}")
    if suite_s:
        lines.append(f"{'Of it, in the cases of':<60} {'s':>8}")
    for suite, seconds in suite_s.most_common(suites):
        lines.append(f"  {suite:<58} {seconds:8.1f}")
    rest = suite_s.most_common()[suites:]
    if rest:
        lines.append(
            f"  {f'{len(rest)} other suites':<58} {sum(seconds for _, seconds in rest):8.1f}"
        )
    return "\n".join(lines)


def final_line(total: Outcome) -> str:
    return f"{total.passed} passed, {total.failed} failed, {total.skips.total()} skipped"
