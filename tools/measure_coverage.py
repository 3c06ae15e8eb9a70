"""How much of the code the tests run: lines and branches, by room and by Python package.

    .venv/bin/python tools/check.py coverage    # `make coverage`; half an hour after the build

The Python tests run the installed packages under coverage.py, in all their processes. The C++ tests
run as the preset `coverage` builds them; what Python tests run of C++ is not counted. Branches that
only an exception takes are left out: the compiler makes one for each call. What is below
`LEAST_SHARE` stands in the table with a mark; it fails nothing.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
LEAST_SHARE = 0.85
PYTHON_REPORT = ROOT / "build" / "coverage-python" / "report.json"


@dataclass
class Covered:
    """Lines and branches of one room, and how many of them ran."""

    lines: int = 0
    lines_run: int = 0
    branches: int = 0
    branches_run: int = 0

    def add(self, other: Covered) -> None:
        self.lines += other.lines
        self.lines_run += other.lines_run
        self.branches += other.branches
        self.branches_run += other.branches_run


@dataclass
class SourceFile:
    """What ran of one C++ file, over all programs that hold a part of it."""

    lines: dict[int, bool] = field(default_factory=dict)
    branches: dict[tuple[int, int], bool] = field(default_factory=dict)

    def add(self, line: dict[str, object]) -> None:
        number = int(str(line["line_number"]))
        self.lines[number] = self.lines.get(number, False) or bool(line["count"])
        branches = line.get("branches", [])
        assert isinstance(branches, list)
        for at, branch in enumerate(branches):
            # A call is a pair: it returns, or it throws.
            is_call = branch["throw"] or any(after["throw"] for after in branches[at + 1 : at + 2])
            if not is_call:
                key = (number, at)
                self.branches[key] = self.branches.get(key, False) or bool(branch["count"])

    def covered(self) -> Covered:
        return Covered(
            len(self.lines),
            sum(self.lines.values()),
            len(self.branches),
            sum(self.branches.values()),
        )


def share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0


def table(title: str, rooms: dict[str, Covered]) -> str:
    """The rooms, the least covered first."""
    every = Covered()
    for covered in rooms.values():
        every.add(covered)
    ordered = sorted(rooms.items(), key=lambda room: share(room[1].lines_run, room[1].lines))
    lines = [f"{title:<44} {'lines':>7} {'run':>7} {'branches':>9} {'run':>7}"]
    for name, covered in [*ordered, ("in all", every)]:
        of_lines = share(covered.lines_run, covered.lines)
        of_branches = share(covered.branches_run, covered.branches)
        mark = f"  below {LEAST_SHARE:.0%}" if of_lines < LEAST_SHARE else ""
        lines.append(
            f"  {name:<42} {covered.lines:7} {of_lines:7.1%} {covered.branches:9} "
            f"{of_branches:7.1%}{mark}"
        )
    return "\n".join(lines)


def python_rooms(report: Path) -> dict[str, Covered]:
    """From what `coverage json` writes: a room for each package and sub-package."""
    rooms: dict[str, Covered] = defaultdict(Covered)
    for name, file in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        parts = Path(name).parts
        first = max(parts.index(top) for top in ("crossdock", "crossdock_cli") if top in parts)
        summary = file["summary"]
        rooms["/".join(parts[first:-1])].add(
            Covered(
                summary["num_statements"],
                summary["covered_lines"],
                summary["num_branches"],
                summary["covered_branches"],
            )
        )
    return dict(rooms)


def gcov(data: Path) -> list[dict[str, object]]:
    """The files in one object's counts."""
    command = ["gcov", "--json-format", "--stdout", "--branch-probabilities", str(data)]
    answer = subprocess.run(command, cwd=data.parent, capture_output=True, text=True, check=True)
    return [file for line in answer.stdout.splitlines() for file in json.loads(line)["files"]]


def cpp_rooms(binaries: Path, sources: Path = ROOT / "src") -> dict[str, Covered]:
    """The folders of `sources`, from the counts that the programs left in `binaries`."""
    files: dict[str, SourceFile] = defaultdict(SourceFile)
    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for report in pool.map(gcov, sorted(binaries.rglob("*.gcda"))):
            for file in report:
                path = Path(str(file["file"]))
                path = path if path.is_absolute() else binaries / path
                lines = file["lines"]
                assert isinstance(lines, list)
                if path.is_relative_to(sources):
                    for line in lines:
                        files[str(path.relative_to(sources))].add(line)
    rooms: dict[str, Covered] = defaultdict(Covered)
    for name, file in files.items():
        rooms[str(Path(name).parent)].add(file.covered())
    return dict(rooms)
