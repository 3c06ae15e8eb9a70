"""Runs the checks and tests of the project, in order, and stops at the first that fails.

    .venv/bin/python tools/check.py          # everything; what `make test` runs
    .venv/bin/python tools/check.py long     # what is too long for every run; `make test-long`
    .venv/bin/python tools/check.py coverage # how much of the code the tests run; `make coverage`
    .venv/bin/python tools/check.py lint     # the checks of text and types
    .venv/bin/python tools/check.py format   # rewrite sources in the house format

The last line is always `N passed, N failed, N skipped`, summed over all runners: a check counts as
one test, and the test runners report their own cases (as JUnit files in build/reports/). Above it
stand where the time went and each reason for a skip (tools/allowed_skips.toml has those allowed).
"""

from __future__ import annotations

import functools
import hashlib
import itertools
import json
import os
import resource
import shlex
import shutil
import subprocess
import sys
import sysconfig
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from junit_reports import (
    Outcome,
    Spent,
    allowed_skips,
    final_line,
    forbidden_skips,
    read_reports,
    skip_table,
    time_table,
)
from measure_coverage import PYTHON_REPORT, cpp_rooms, python_rooms
from measure_coverage import table as coverage_table

ROOT = Path(__file__).resolve().parent.parent
BIN = Path(sys.executable).parent
REPORTS = ROOT / "build" / "reports"
CPP_FOLDERS = ["src", "include", "python/bindings", "tests", "bench", "examples"]
CPP_SUFFIXES = {".cpp", ".hpp", ".cu", ".cuh", ".h"}
# Tests that make hosts of network namespaces, shift clocks, send signals to themselves, or watch a
# bar move: one after the other.
ALONE = [
    "tests/cli/test_progress.py",
    "tests/control",
    "tests/python/files/test_interrupts.py",
    "tests/tools/test_hosts.py",
]
# Searches by seeds that `make test-long` runs whole, two minutes together: program -> cases.
LONG_CASES = {
    "crossdock_control_world_test": "ControlWorld.*",
    "crossdock_data_channels_test": "*ManyChannelsOf64EndpointsLeaveNothing",
    "crossdock_data_movers_test": "MoverRandom.*",
    "crossdock_operators_test": "TableSort.LimitsAndOffsetsCutTheOrder",
    "crossdock_sim_stepped_test": "SteppedExchange.SchedulesOfFaultsLoseAndDoubleNothing",
}
LINE_LIMIT = 200  # of a command that names every source
PYTHON_FOLDERS = ["python", "cli", "tests", "bench", "examples", "tools", "docs"]


@dataclass(frozen=True)
class Step:
    title: str
    act: Callable[[], Outcome]


def children_cpu_s() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


class Stopwatch:
    """The time of one piece of work, added to `SPENT`."""

    def __init__(self, title: str) -> None:
        self.title = title

    def __enter__(self) -> None:
        self.start_s, self.start_cpu_s = time.monotonic(), children_cpu_s()

    def __exit__(self, *_: object) -> None:
        wall_s, cpu_s = time.monotonic() - self.start_s, children_cpu_s() - self.start_cpu_s
        SPENT.append(Spent(self.title, wall_s, cpu_s))


SPENT: list[Spent] = []


def call(command: list[str], **environment: str) -> bool:
    """Runs one command with its output shown as it comes; true when it succeeded."""
    print("$ " + shlex.join(command), flush=True)
    return (
        subprocess.run(command, cwd=ROOT, env=os.environ | environment, check=False).returncode == 0
    )


def build(preset: str, *targets: str, **environment: str) -> bool:
    """Configures a preset and builds targets of it, or all."""
    with Stopwatch(f"configure {preset}"):
        configured = call(["cmake", "--preset", preset], **environment)
    with Stopwatch(f"compile {preset}"):
        chosen = ["--target", *targets] if targets else []
        return configured and call(["cmake", "--build", "--preset", preset, *chosen])


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


def digest_of_run(binaries: Path) -> str:
    """Of all that a run of the C++ tests depends on: programs, libraries and what they read."""
    built = [file for file in binaries.glob("*") if file.is_file() and os.access(file, os.X_OK)]
    read = [file for file in (ROOT / "tests").rglob("*") if file.is_file() and file.suffix != ".py"]
    read += [ROOT / "CMakePresets.json", ROOT / "tools" / "hosts.py"]
    state = hashlib.sha256()
    for file in sorted(built + [file for file in read if "__pycache__" not in file.parts]):
        with file.open("rb") as content:
            state.update(f"{file}\n{hashlib.file_digest(content, 'sha256').hexdigest()}\n".encode())
    return state.hexdigest()


def cpp_tests(preset: str, *also: str) -> Outcome:
    """Builds and runs the C++ tests of a preset, and builds other targets `also`. Tests that passed
    are not run again while neither the programs nor what they read has changed."""
    if not build(preset, "crossdock_tests", *also):
        return Outcome(failed=1)
    binaries = ROOT / "build" / preset
    report, passed = REPORTS / f"cpp-{preset}.xml", REPORTS / f"cpp-{preset}.passed"
    value = digest_of_run(binaries)
    if passed.exists() and passed.read_text() == value:
        print(f"Unchanged since these passed; to run them again, remove {passed.relative_to(ROOT)}")
    else:
        for old in (report, passed, *binaries.glob("cases/*.xml")):
            old.unlink(missing_ok=True)
        # Processes with one thread, most of them.
        parallel = ["--parallel", str(len(os.sched_getaffinity(0)))]
        with Stopwatch(f"run C++ tests of {preset}"):
            ctest = ["ctest", "--preset", preset, *parallel, "--output-junit", str(report)]
            succeeded = call(ctest)
        if succeeded:
            passed.write_text(value)
    reports = [file for file in (report, *binaries.glob("cases/*.xml")) if file.exists()]
    return read_reports(reports, succeeded=passed.exists())


def sanitized_cpp_tests() -> Outcome:
    """All C++ tests with the address and behaviour sanitizers; public headers are compiled alone.

    `make test-long` compiles every header alone: 117 of them, 2.2 s of processor time each.

    They do not run without sanitizers as well (preset dev): the Python tests run the optimised
    build, and compiling everything once more took a fifth of the whole.
    """
    return cpp_tests("asan", "crossdock_public_verify_interface_header_sets")


def kernels() -> Outcome:
    """Compiles what is written once for threads and kernels with nvcc, as its room builds it, and
    compares the machine code with its budgets."""
    wheels = Path(sysconfig.get_path("purelib"), "nvidia")  # shared by the packages of CUDA
    compilers = list(wheels.glob("*/bin/nvcc"))
    if len(compilers) != 1:
        print(f"{wheels} has {len(compilers)} compilers, expected one", flush=True)
        return Outcome(failed=1)
    if not build("cuda", "crossdock_kernels", CUDACXX=str(compilers[0])):
        return Outcome(failed=1)
    with Stopwatch("machine code of kernels"):
        return one(tool("python", "tools/kernel_gates.py", "build/cuda"))


def gpu_tests() -> Outcome:
    """On the preset that kernels() has configured; one skip on a machine without a GPU."""
    if not Path("/dev/nvidiactl").exists():
        return Outcome(skips=Counter(["no NVIDIA GPU"]))
    report = REPORTS / "gpu.xml"
    report.unlink(missing_ok=True)
    program = str(ROOT / "build" / "cuda" / "crossdock_gpu_tests")
    succeeded = build("cuda", "crossdock_gpu_tests") and call(
        [program, f"--gtest_output=xml:{report}"]
    )
    return read_reports([report] if report.exists() else [], succeeded)


def python_tests(name: str, *arguments: str) -> Outcome:
    report = REPORTS / f"{name}.xml"
    report.unlink(missing_ok=True)
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    with Stopwatch(f"run {name} tests"):
        succeeded = call(
            tool("python", "-m", "pytest", "-x", "-q", f"--junitxml={report}", *arguments),
            PATH=path,
        )
    return read_reports([report] if report.exists() else [], succeeded)


def parallel_python_tests(name: str, *arguments: str) -> Outcome:
    """A process per core: these tests share nothing but the processors. Files begin in the order of
    tests/conftest.py, not by how many tests they have."""
    cores = str(len(os.sched_getaffinity(0)))
    spread = [f"--numprocesses={cores}", "--dist=loadfile", "--no-loadscope-reorder"]
    return python_tests(name, *spread, *arguments)


def cpp_examples() -> Outcome:
    """Installs the library and builds each example against it, as a user's project would."""
    prefix = ROOT / "build" / "install" / "release"
    install = ["cmake", "--install", "build/release", "--prefix", str(prefix)]
    if not (build("release") and call(install)):
        return Outcome(failed=1)
    outcome = Outcome()
    for source in sorted(ROOT.glob("examples/*/CMakeLists.txt")):
        folder = source.parent
        binaries = ROOT / "build" / "examples" / folder.name
        configure = [
            "cmake",
            "-G",
            "Ninja",
            "-S",
            str(folder),
            "-B",
            str(binaries),
            f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_PROGRAM_PATH={BIN}",  # `crossdock`
        ]
        with Stopwatch(f"example {folder.name}"):
            done = one(
                configure,
                ["cmake", "--build", str(binaries)],
                ["ctest", "--test-dir", str(binaries), "--output-on-failure"],
            )
        outcome.add(done)
    return outcome


def python_examples() -> Outcome:
    outcome = Outcome()
    for example in sorted(ROOT.glob("examples/*/*.py")):
        with Stopwatch(f"example {example.relative_to(ROOT / 'examples')}"):
            outcome.add(one(tool("python", str(example))))
    return outcome


def wheels() -> Outcome:
    """Made with the objects that ccache has of the module, and tried in an empty environment."""
    with Stopwatch("make wheels"):
        built = one(tool("python", "tools/wheels/make_wheels.py"))
    if built.failed:
        return built
    with Stopwatch("try wheels"):
        return one(tool("python", "tools/wheels/try_wheels.py"))


def lint_commands() -> list[list[str]]:
    """The longest first."""
    python = present(PYTHON_FOLDERS)
    return [
        tool("mypy"),
        tool("clang-format", "--dry-run", "--Werror", *cpp_files()),
        tool("python", "tools/tidy.py"),
        tool("codespell", "."),
        tool("ruff", "check", *python),
        tool("ruff", "format", "--check", *python),
    ]


def lint(commands: list[list[str]]) -> Outcome:
    """Each works on one processor, so they run side by side. What they say comes in their order."""
    outcome = Outcome()

    def answer(command: list[str]) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command,
            cwd=ROOT,
            text=True,
            check=False,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        )

    with ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        for command, ended in zip(commands, pool.map(answer, commands), strict=True):
            print("$ " + shlex.join(command)[:LINE_LIMIT], flush=True)
            print(ended.stdout, end="", flush=True)
            failed = ended.returncode != 0
            outcome.add(Outcome(failed=1) if failed else Outcome(passed=1))
    return outcome


def lint_steps() -> list[Step]:
    title = "Types, format, house rules, spelling and style"
    return [Step(title, lambda: lint(lint_commands()))]


def all_steps() -> list[Step]:
    return [
        *lint_steps(),
        Step("C++ tests and a short fuzz run under sanitizers", sanitized_cpp_tests),
        Step("Concurrent C++ tests under the thread sanitizer", lambda: cpp_tests("tsan")),
        Step("Kernels compiled by nvcc", kernels),
        Step("GPU tests", gpu_tests),
        Step("C++ examples against the installed library", cpp_examples),
        Step(
            "Results compared with other engines",
            lambda: parallel_python_tests("oracle", "tests/oracle"),
        ),
        Step(
            "Python tests",
            lambda: parallel_python_tests(
                "python", *(f"--ignore={path}" for path in ["tests/oracle", *ALONE]), "tests"
            ),
        ),
        Step("Python tests that run alone", lambda: python_tests("alone", *ALONE)),
        Step("Python examples", python_examples),
        Step("Wheels in an empty environment", wheels),
    ]


def set_up_spent() -> list[Spent]:
    """What tools/setup.py took before this, which leaves it beside the reports."""
    file = REPORTS / "setup.json"
    if not file.exists():
        return []
    return [Spent(f"set-up: {title}", *seconds) for title, seconds in json.loads(file.read_text())]


def sanitizer_options() -> dict[str, str]:
    """The environment in which CTest runs programs of the preset asan."""
    presets = json.loads((ROOT / "CMakePresets.json").read_text(encoding="utf-8"))["testPresets"]
    options = next(preset["environment"] for preset in presets if preset["name"] == "asan")
    return {str(name): str(value) for name, value in options.items()}


def fuzz_long(program: Path, seconds: float = 120) -> Outcome:
    """New seeds until the time is over; CTest runs the first seed, and fewer inputs of it."""
    end_s = time.monotonic() + seconds
    for seed in itertools.count(2):
        if not call([str(program), str(seed), "20000"], **sanitizer_options()):
            return Outcome(failed=1)
        if time.monotonic() > end_s:
            break
    return Outcome(passed=1)


def long_cases() -> Outcome:
    """The searches by seeds whole, of which `make test` runs a third (tests/base/long_run.hpp)."""
    environment = sanitizer_options() | {"CROSSDOCK_LONG_TESTS": "1"}
    outcome = Outcome()
    for program, cases in LONG_CASES.items():
        command = [str(ROOT / "build" / "asan" / program), f"--gtest_filter={cases}"]
        outcome.add(Outcome(passed=1) if call(command, **environment) else Outcome(failed=1))
    return outcome


def long_steps() -> list[Step]:
    """By the clock: two minutes for each fuzz target, and ten for channels, after the build."""
    folder = ROOT / "build" / "asan"
    targets = sorted(file.stem for file in (ROOT / "tests" / "fuzz").glob("*_fuzz.cpp"))
    soak = str(folder / "crossdock_channel_soak")
    built = ["crossdock_channel_soak", *targets, *LONG_CASES]
    return [
        Step("Build of the long tests", lambda: Outcome(failed=int(not build("asan", *built)))),
        Step(
            "Each header compiled alone",
            lambda: Outcome(failed=int(not build("asan", "all_verify_interface_header_sets"))),
        ),
        *(
            Step(f"Fuzz {target}", functools.partial(fuzz_long, folder / target))
            for target in targets
        ),
        Step("All seeds of what `make test` runs a share of", long_cases),
        Step(
            "A join on 64-bit ARM, under qemu",
            lambda: one(tool("python", "tools/wheels/cross.py")),
        ),
        Step("Channels over shared memory", lambda: one([soak, "5"])),
        Step("Channels over TCP", lambda: one([soak, "5", "3", "1", "tcp"])),
    ]


def python_coverage() -> Outcome:
    """All Python tests, one after the other, for coverage.py counts each process alone."""
    shutil.rmtree(PYTHON_REPORT.parent, ignore_errors=True)
    PYTHON_REPORT.parent.mkdir(parents=True)
    measure = tool("python", "-m", "coverage")
    path = os.pathsep.join([str(BIN), os.environ.get("PATH", "")])
    done = call([*measure, "run", "-m", "pytest", "-q", "tests"], PATH=path)
    done = call([*measure, "combine", "--quiet"]) and done
    done = call([*measure, "json", "--quiet", "-o", str(PYTHON_REPORT)]) and done
    print(coverage_table("Python packages", python_rooms(PYTHON_REPORT)), flush=True)
    return Outcome(passed=1) if done else Outcome(failed=1)


def cpp_coverage() -> Outcome:
    binaries = ROOT / "build" / "coverage"
    for old in binaries.rglob("*.gcda"):
        old.unlink()
    cores = str(len(os.sched_getaffinity(0)))
    done = build("coverage", "crossdock_tests") and call(
        ["ctest", "--preset", "coverage", "--parallel", cores]
    )
    print(coverage_table("Rooms of src", cpp_rooms(binaries)), flush=True)
    return Outcome(passed=1) if done else Outcome(failed=1)


def coverage_steps() -> list[Step]:
    return [
        Step("C++ tests, and what of src they run", cpp_coverage),
        Step("Python tests, and what of the packages they run", python_coverage),
    ]


def run_steps(steps: list[Step]) -> int:
    total = Outcome()
    allowed = allowed_skips()
    for number, step in enumerate(steps, start=1):
        print(f"\n== {number}/{len(steps)} {step.title}", flush=True)
        with Stopwatch(step.title):
            before = len(SPENT)
            outcome = step.act()
        if len(SPENT) > before + 1:  # its parts stand in the table
            SPENT.pop()
        outcome.failed += len(forbidden_skips(outcome.skips, allowed))
        total.add(outcome)
        print(f"-- {final_line(outcome)}", flush=True)
        if outcome.failed:
            rest = ", ".join(left.title for left in steps[number:])
            print(f"\nStopped: {step.title} failed. Not run: {rest or 'nothing'}.", flush=True)
            break
    print(f"\n{time_table(set_up_spent() + SPENT, total.suite_s)}")
    print(f"\n{skip_table(total.skips, allowed)}")
    print(f"\n{final_line(total)}", flush=True)
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
    tasks = {"all": all_steps, "long": long_steps, "lint": lint_steps, "coverage": coverage_steps}
    if task not in tasks:
        print(f"unknown task {task!r}; there are: {', '.join(tasks)}, format", file=sys.stderr)
        return 2
    return run_steps(tasks[task]())


if __name__ == "__main__":
    sys.exit(main())
