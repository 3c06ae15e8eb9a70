"""What ran of C++ and Python, from what gcov and coverage.py write."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

from measure_coverage import Covered, cpp_rooms, python_rooms, table

HEADER = """
#pragma once
#include <string>
template <class T>
std::string sign(T value) {
  if (value < 0) {
    return "below";
  }
  return "above";
}
"""
SOURCE = """
#include "sign.hpp"
int main(int count, char**) {
  if (count > 5) {
    return 3;
  }
  return sign(%s(count)).empty() ? 1 : 0;
}
"""


def test_branches_of_cpp_are_counted_over_programs_and_those_of_exceptions_are_not(
    tmp_path: Path,
) -> None:
    room = tmp_path / "src" / "room"
    room.mkdir(parents=True)
    (room / "sign.hpp").write_text(HEADER)
    for kind, arguments in (("-", []), ("+", ["1"] * 9)):
        folder = tmp_path / f"objects{kind}"
        folder.mkdir()
        source = room / "main.cpp"
        source.write_text(SOURCE % kind)
        flags = ["-O0", "--coverage", "-fprofile-abs-path"]
        command = ["g++", *flags, str(source), "-o", str(folder / "program")]
        subprocess.run(command, cwd=folder, check=True)
        subprocess.run([str(folder / "program"), *arguments], cwd=folder, check=False)
    result = cpp_rooms(tmp_path, tmp_path / "src")["room"]
    # Not the line for a value that is not below 0, nor the branch to it. An empty text is never.
    assert (result.lines, result.lines_run) == (8, 7)
    assert (result.branches, result.branches_run) == (6, 4)


def test_python_is_counted_by_folder_of_a_package(tmp_path: Path) -> None:
    def entry(lines: int, lines_run: int) -> dict[str, dict[str, int]]:
        numbers = {"num_statements": lines, "covered_lines": lines_run}
        return {"summary": numbers | {"num_branches": 4, "covered_branches": 1}}

    files = {
        "/venv/site-packages/crossdock/dock.py": entry(10, 9),
        "/venv/site-packages/crossdock/group.py": entry(10, 10),
        "/venv/site-packages/crossdock/ranks/joins.py": entry(20, 5),
        "cli/crossdock_cli/main.py": entry(5, 5),
    }
    report = tmp_path / "report.json"
    report.write_text(json.dumps({"files": files}))
    rooms = python_rooms(report)
    assert rooms == {
        "crossdock": Covered(20, 19, 8, 2),
        "crossdock/ranks": Covered(20, 5, 4, 1),
        "crossdock_cli": Covered(5, 5, 4, 1),
    }
    lines = table("Packages", rooms).splitlines()
    assert [line.split()[0] for line in lines[1:]] == [
        "crossdock/ranks",
        "crossdock",
        "crossdock_cli",
        "in",
    ]
    assert lines[1].endswith("25.0%  below 85%")
    assert "below" not in lines[2]
    assert " 45 " in lines[4]
    assert "64.4%" in lines[4]
