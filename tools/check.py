"""Runs the checks and tests of the project, in order, and stops at the first that fails.

    .venv/bin/python tools/check.py          # everything; what `make test` runs
    .venv/bin/python tools/check.py lint     # the checks of text and types
    .venv/bin/python tools/check.py format   # rewrite sources in the house format

The last line is always `N passed, N failed`, summed over all runners: a check counts as one test,
and the test runners report their own cases (as JUnit files in build/reports/). A skipped case
counts as neither.
"""

from __future__ import annotations

import os
import shlex
import subprocess
import sys
import sysconfig
import time
import xml.etree.ElementTree as ElementTree
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REPORTS = ROOT / "build" / "reports"
CPP_FOLDERS = ["src", "include", "python/bindings", "tests", "bench", "examples"]
CPP_SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
PYTHON_FOLDERS = ["python", "cli", "tests", "bench", "examples", "tools", "docs"]


@dataclass
class Outcome:
    passed: int = 0
    failed: int = 0


@dataclass(frozen=True)
class Step:
    title: str
    act: Callable[[], Outcome]


def call(command: list[str], **environment: str) -> bool:
    """Runs one command with its output shown as it comes; true when it succeeded."""
    print("$ " + shlex.join(command), flush=True)
    return (
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode == 0
    )


def one(*commands: list[str]) -> Outcome:
    """Commands that together make one test."""
    return Outcome(passed=1) if all(call(command) for command in commands) else Outcome(failed=1)


def present(names: list[str]) -> list[str]:
    return [name for name in names if (ROOT / name).exists()]


def cpp_files() -> list[str]:
    folders = [ROOT / name for name in present(CPP_FOLDERS)]
    files = {
        file for folder in folders for file in folder.rglob("*") if file.suffix in CPP_SUFFIXES
    }
    return sorted(str(file.relative_to(ROOT)) for file in files)


def tool(name: str, *arguments: str) -> list[str]:
    return [str(BIN / name), *arguments]


def counted(reports: list[Path], succeeded: bool) -> Outcome:
    """The cases in JUnit files. A runner that died before it could report is one failure."""
    outcome = Outcome()
    cases = [
        case for file in reports for case in ElementTree.parse(file).getroot().iter("testcase")
    ]
    for case in cases:
        if ".shard_" in case.get("name", ""):  # many cases, which have a report of their own
            continue
        if case.find("failure") is not None or case.find("error") is not None:
            outcome.failed += 1
        elif case.find("skipped") is None and case.get("status") not in ("notrun", "disabled"):
            outcome.passed += 1
    if not succeeded and outcome.failed == 0:
        outcome.failed = 1
    return outcome


def cpp_tests(preset: str, *also: str) -> Outcome:
    """Builds and runs the C++ tests of a preset, and builds other targets `also`."""
    built = call(["cmake", "--preset", preset]) and call(
        ["cmake", "--build", "--preset", preset, "--target", "crossdock_tests", *also]
    )
    if not built:
        return Outcome(failed=1)
    report = REPORTS / f"cpp-{preset}.xml"
    cases = ROOT / "build" / preset / "cases"  # of processes that run many
    for old in (report, *cases.glob("*.xml")):
        old.unlink(missing_ok=True)
    # Processes with one thread, most of them.
    parallel = ["--parallel", str(len(os.sched_getaffinity(0)))]
    succeeded = call(["ctest", "--preset", preset, *parallel, "--output-junit", str(report)])
    return counted([file for file in (report, *cases.glob("*.xml")) if file.exists()], succeeded)


def sanitized_cpp_tests() -> Outcome:
    """All C++ tests with the address and behaviour sanitizers; each header is compiled alone, too.

    They do not run without sanitizers as well (preset dev): the Python tests run the optimised
    build, and compiling everything once more took a fifth of the whole.
    """
    return cpp_tests("asan", "all_verify_interface_header_sets")


def kernels() -> Outcome:
    """Compiles what is written once for threads and kernels with nvcc, as its room builds it."""
    wheels = Path(sysconfig.get_path("purelib"), "nvidia")  # shared by the packages of CUDA
    found = list(wheels.glob("*/bin/nvcc"))
    if len(found) != 1:
        print(f"{wheels} has {len(found)} compilers, expected one", flush=True)
        return Outcome(failed=1)
    configured = call(["cmake", "--preset", "cuda"], CUDACXX=str(found[0]))
    build = ["cmake", "--build", "--preset", "cuda", "--target", "crossdock_kernels"]
    return Outcome(passed=1) if configured and call(build) else Outcome(failed=1)


def python_tests(name: str, *arguments: str) -> Outcome:
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    succeeded = call(
        tool("python", "-m", "pytest", "-x", "-q", f"--junitxml={report}", *arguments), PATH=path
    )
    return counted([report] if report.exists() else [], succeeded)


def oracle_tests() -> Outcome:
    """A process per core: these tests share nothing but the processors. The others start processes,
    look at the memory that these share or count seconds, and run one after the other."""
    cores = str(len(os.sched_getaffinity(0)))
    return python_tests("oracle", f"--numprocesses={cores}", "--dist=loadfile", "tests/oracle")


def cpp_examples() -> Outcome:
    """Installs the library and builds each example against it, as a user's project would."""
    prefix = ROOT / "build" / "install" / "release"
    prepared = one(
        ["cmake", "--preset", "release"],
        ["cmake", "--build", "--preset", "release"],
        ["cmake", "--install", "build/release", "--prefix", str(prefix)],
    )
    if prepared.failed:
        return prepared
    outcome = Outcome()
    for source in sorted(ROOT.glob("examples/*/CMakeLists.txt")):
        folder = source.parent
        build = ROOT / "build" / "examples" / folder.name
        configure = [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            str(folder),
            "-B",
            str(build),
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_PROGRAM_PATH={BIN}",  # `crossdock`
        ]
        done = one(
            configure,
            ["cmake", "--build", str(build)],
            ["ctest", "--test-dir", str(build), "--output-on-failure"],
        )
        outcome.passed += done.passed
        outcome.failed += done.failed
    return outcome


def python_examples() -> Outcome:
    outcome = Outcome()
    for example in sorted(ROOT.glob("examples/*/*.py")):
        done = one(tool("python", str(example)))
        outcome.passed += done.passed
        outcome.failed += done.failed
    return outcome


def lint_steps() -> list[Step]:
    python = present(PYTHON_FOLDERS)
    sources = cpp_files()
    return [
        Step("House rules (tidy)", lambda: one(tool("python", "tools/tidy.py"))),
        Step("Spelling (codespell)", lambda: one(tool("codespell", "."))),
        Step("Python style (ruff)", lambda: one(tool("ruff", "check", *python))),
        Step("Python format (ruff)", lambda: one(tool("ruff", "format", "--check", *python))),
        Step("Python types (mypy)", lambda: one(tool("mypy"))),
        Step(
            "C++ format (clang-format)",
            lambda: one(tool("clang-format", "--dry-run", "--Werror", *sources)),
        ),
    ]


def all_steps() -> list[Step]:
    return [
        *lint_steps(),
        Step("C++ tests and a short fuzz run under sanitizers", sanitized_cpp_tests),
        Step("Concurrent C++ tests under the thread sanitizer", lambda: cpp_tests("tsan")),
        Step("Kernels compiled by nvcc", kernels),
        Step("Results compared with other engines", oracle_tests),
        Step("Python tests", lambda: python_tests("python", "--ignore=tests/oracle", "tests")),
        Step("C++ examples against the installed library", cpp_examples),
        Step("Python examples", python_examples),
    ]


def run_steps(steps: list[Step]) -> int:
    total = Outcome()
    for number, step in enumerate(steps, start=1):
        print(f"\n== {number}/{len(steps)} {step.title}", flush=True)
        start = time.monotonic()
        outcome = step.act()
        total.passed += outcome.passed
        total.failed += outcome.failed
        took_s = time.monotonic() - start
        print(f"-- {outcome.passed} passed, {outcome.failed} failed, {took_s:.1f} s", flush=True)
        if outcome.failed:
            print(f"\nStopped: {step.title} failed.", flush=True)
            break
    print(f"\n{total.passed} passed, {total.failed} failed", flush=True)
    return 1 if total.failed else 0


def rewrite() -> int:
    python = present(PYTHON_FOLDERS)
    sources = cpp_files()
    done = one(
        tool("ruff", "check", "--fix", "--exit-zero", "--quiet", *python),
        tool("ruff", "format", *python),
        *([tool("clang-format", "-i", *sources)] if sources else []),
    )
    return done.failed


def main() -> int:
    REPORTS.mkdir(parents=True, exist_ok=True)
    task = sys.argv[1] if len(sys.argv) > 1 else "all"
    if task == "format":
        return rewrite()
    if task not in ("all", "lint"):
        print(f"unknown task {task!r}; there are: all, lint, format", file=sys.stderr)
        return 2
    return run_steps(lint_steps() if task == "lint" else all_steps())


if __name__ == "__main__":
    sys.exit(main())
