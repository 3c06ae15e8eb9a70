"""Makes this checkout usable: system packages, the virtual environment .venv/, crossdock inside it.

Run by make, with the system's Python and nothing but the standard library. What is already there is
not done again: each step leaves a stamp that holds a digest of what it was made from. Crossdock
runs on Linux only.

    python3 tools/setup.py run     # crossdock itself, SQL, and the generator of the demo's tables
    python3 tools/setup.py ranks   # that, the plugins for MPI, UCX and PMIx, and the control plane
    python3 tools/setup.py dev     # that, and everything the tests and benchmarks need
    python3 tools/setup.py tools   # what lint and format need; crossdock is not built
"""

from __future__ import annotations

import hashlib
import json
import os
import resource
import shutil
import subprocess
import sys
import sysconfig
import time
import tomllib
from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
VENV = ROOT / ".venv"
VENV_PYTHON = VENV / "bin" / "python"
WHEELS = ROOT / "build" / "wheels"
OLDEST_PYTHON = (3, 11)

# Debian package -> why it is needed. The words are what the user reads when it is installed.
BUILD_PACKAGES = {
    "g++": "the C++ compiler",
    "cmake": "the build",
    "ninja-build": "the build",
    "libfmt-dev": "text formatting",
    "libhwy-dev": "SIMD kernels chosen at run time",
    "libhwloc-dev": "finding CPUs, GPUs, NICs and the PCIe tree",
    "libxxhash-dev": "hashing of strings",
    "libre2-dev": "regular expressions",
    "nlohmann-json3-dev": "plans and profiles as JSON",
}
RANK_PACKAGES = {
    "libpmix-dev": "ranks that mpirun or srun has started",
    "pkg-config": "finding PMIx",
    "libopenmpi-dev": "windows among ranks that mpirun has started",
    "libmpich-dev": "the same under MPICH",
    "libgrpc++-dev": "the controller and its agents",
    "libprotobuf-dev": "their messages",
    "protobuf-compiler": "their messages",
    "protobuf-compiler-grpc": "their services",
    "libucx-dev": "the plugin that moves rows between hosts",
}
TEST_PACKAGES = {
    "libgtest-dev": "the C++ tests",
    "libgmock-dev": "the C++ tests",
    "ccache": "the library that examples link is compiled with the Python module already",
    "iproute2": "hosts made of network namespaces (tools/hosts.py)",
    "openmpi-bin": "ranks that mpirun has started",
    "mpich": "ranks that MPICH's mpirun has started",
    "ucx-utils": "what channels are measured against",
    "iperf3": "the rate of a link, for the channels bench",
    "libfaketime": "servers whose clocks disagree",
    "libboost-graph-dev": "maximum flows that the optimizer's are compared with",
}

DEMO_TABLES = "build/data/tpch-sf1"  # of `crossdock demo --scale 1 --data build/data`

BARE = " without plugins"  # ends the stamp of such a build

# What the installed package is made of; a change in any of these files means a rebuild.
PACKAGE_SOURCES = ["src", "include", "python", "cli", "cmake", "CMakeLists.txt", "pyproject.toml"]
SOURCE_SUFFIXES = {
    ".cpp",
    ".hpp",
    ".cu",
    ".cuh",
    ".h",
    ".py",
    ".pyi",
    ".typed",
    ".cmake",
    ".in",
    ".txt",
    ".toml",
    ".json",
    ".proto",
}


def say(text: str) -> None:
    print(f"setup: {text}", file=sys.stderr, flush=True)


def fail(text: str) -> None:
    print(f"setup: error: {text}", file=sys.stderr, flush=True)
    raise SystemExit(1)


def run(command: list[str], **options: object) -> None:
    result = subprocess.run(command, cwd=ROOT, check=False, **options)  # type: ignore[call-overload]
    if result.returncode != 0:
        fail(
            f"`{' '.join(command)}` ended with status {result.returncode}; its output stands above"
        )


def packages_of(stage: str) -> dict[str, str]:
    """The Debian packages for a stage, and for the Python that runs this."""
    packages: dict[str, str] = {}
    if stage != "tools":
        packages |= BUILD_PACKAGES
    if stage in ("ranks", "dev"):
        packages |= RANK_PACKAGES
    if stage == "dev":
        packages |= TEST_PACKAGES
    try:
        import ensurepip  # noqa: F401  (Debian keeps it in a package of its own)
    except ImportError:
        packages["python3-venv"] = "the virtual environment"
    if stage != "tools" and not Path(sysconfig.get_path("include"), "Python.h").exists():
        packages["python3-dev"] = "building the Python module"
    return packages


def missing_packages(packages: Iterable[str]) -> list[str]:
    installed = set()
    for package in packages:
        query = ["dpkg-query", "--show", "--showformat=${db:Status-Status}", package]
        answer = subprocess.run(query, capture_output=True, text=True, check=False)
        if answer.returncode == 0 and answer.stdout.strip() == "installed":
            installed.add(package)
    return [package for package in packages if package not in installed]


def missing_system_packages(stage: str) -> list[str]:
    packages = packages_of(stage)
    if shutil.which("dpkg-query") is not None:
        return missing_packages(packages)
    if shutil.which("cmake") is None and stage != "tools":
        fail(
            "only Debian's packages are installed from here. Install by hand a C++20 compiler, "
            "CMake 3.25 and Ninja (Fedora: dnf install gcc-c++ cmake ninja-build; Arch: pacman "
            "-S gcc cmake ninja), then run again: CMake names each library that is missing"
        )
    return []


def apt_get(*arguments: str) -> None:
    command = ["apt-get", *arguments]
    if os.geteuid() != 0:
        command.insert(0, "sudo")
    environment = os.environ | {"DEBIAN_FRONTEND": "noninteractive"}
    run(command, stdout=subprocess.DEVNULL, env=environment)


def install_system_packages(missing: list[str], packages: dict[str, str]) -> None:
    for package in missing:
        say(f"installing the Debian package {package}: {packages[package]}")
    if missing:
        apt_get("install", "-y", "--no-install-recommends", *missing)


def install_all(stage: str) -> None:
    """Python's packages beside those of the system, and beside the build of crossdock, which starts
    as soon as it has what it needs: each waits for the network or works on one processor. Only the
    package that makes virtual environments comes before."""
    packages, missing = packages_of(stage), missing_system_packages(stage)
    if missing and os.geteuid() != 0 and shutil.which("sudo") is None:
        fail(
            f"these Debian packages are missing: {' '.join(missing)}. Ask an administrator to run: "
            f"apt-get install -y --no-install-recommends {' '.join(missing)}"
        )
    if missing:
        apt_get("update", "-qq")
    first = [package for package in missing if package == "python3-venv"]
    install_system_packages(first, packages)

    def build() -> None:
        installed.result()
        build_crossdock(stage)

    with ThreadPoolExecutor(max_workers=1) as beside:
        rest = [package for package in missing if package not in first]
        installed = beside.submit(install_system_packages, rest, packages)
        make_environment()
        if stage != "tools":
            install_build_requirements()
            built = beside.submit(build)
        install_requirements(stage)
        if stage == "run":
            make_demo_tables()
        installed.result()
        if stage != "tools":
            built.result()
            install_crossdock(stage)


def digest(parts: Iterable[bytes]) -> str:
    state = hashlib.sha256()
    for part in parts:
        state.update(len(part).to_bytes(8, "little"))
        state.update(part)
    return state.hexdigest()


def stamp_says(name: str, value: str) -> bool:
    stamp = VENV / name
    return stamp.exists() and stamp.read_text() == value


def pip(verb: str, *arguments: str, **options: object) -> None:
    quiet = ["--quiet", "--disable-pip-version-check"]
    run([str(VENV_PYTHON), "-m", "pip", verb, *quiet, *arguments], **options)


def make_environment() -> None:
    """Makes .venv/, again when its Python has changed or when the checkout was moved."""
    origin = digest(map(str.encode, [sys.implementation.cache_tag, sys.base_prefix, str(VENV)]))
    if VENV_PYTHON.exists() and stamp_says("python.stamp", origin):
        return
    say(f"making the virtual environment .venv/ with Python {sys.version.split()[0]}")
    run([sys.executable, "-m", "venv", "--clear", str(VENV)])
    (VENV / "python.stamp").write_text(origin)


def package_settings() -> dict[str, Any]:
    with (ROOT / "pyproject.toml").open("rb") as file:
        return tomllib.load(file)


def install_build_requirements() -> None:
    requirements = package_settings()["build-system"]["requires"]
    value = digest(map(str.encode, requirements))
    if not stamp_says("build-requirements.stamp", value):
        pip("install", *requirements)
        (VENV / "build-requirements.stamp").write_text(value)


def install_requirements(stage: str) -> None:
    settings = package_settings()
    project = settings["project"]
    always = [*settings["build-system"]["requires"], *project["dependencies"]]
    everything = always + project["optional-dependencies"]["dev"]
    extras = project["optional-dependencies"]
    demo = always + extras["demo"] + extras["sql"]
    # What the tests need includes what these need, so a full environment serves both.
    if stamp_says("requirements.stamp", digest(map(str.encode, everything))):
        return
    requirements = demo if stage in ("run", "ranks") else everything
    value = digest(map(str.encode, requirements))
    if stamp_says("requirements.stamp", value):
        return
    say(f"installing {len(requirements)} Python packages named in pyproject.toml into .venv/")
    pip("install", *requirements)
    (VENV / "requirements.stamp").write_text(value)


def make_demo_tables() -> None:
    """What the demo would make first, made while packages are still installed."""
    folder = ROOT / DEMO_TABLES
    if folder.is_dir():
        return
    say(f"making TPC-H tables for the demo in {DEMO_TABLES}")
    code = "import pathlib, sys; from crossdock_cli import tpch; "
    code += "tpch.make_tables(1, pathlib.Path(sys.argv[1]))"
    path = {"PYTHONPATH": str(ROOT / "cli")}
    run([str(VENV_PYTHON), "-c", code, str(folder)], env=os.environ | path)


def source_digest() -> str:
    files: list[Path] = []
    for name in PACKAGE_SOURCES:
        path = ROOT / name
        inside = path.rglob("*") if path.is_dir() else [path]
        files += [file for file in inside if file.suffix in SOURCE_SUFFIXES and file.is_file()]
    parts: list[bytes] = []
    for file in sorted(files):
        parts += [str(file.relative_to(ROOT)).encode(), file.read_bytes()]
    return digest(parts)


def wanted_build(stage: str) -> tuple[str, str]:
    """Whether with plugins, and the stamp of such a build; no stamp where it is there. Stage run
    leaves out what only ranks use, unless it was built before."""
    stamp = VENV / "crossdock.stamp"
    had_plugins = stamp.exists() and not stamp.read_text().endswith(BARE)
    plugins = "OFF" if stage == "run" and not had_plugins else "ON"
    value = source_digest() + (BARE if plugins == "OFF" else "")
    if stamp_says("crossdock.stamp", value) and (VENV / "bin" / "crossdock").exists():
        return plugins, ""
    return plugins, value


def build_crossdock(stage: str) -> None:
    """As a wheel, which waits to be installed until no other pip writes into the environment."""
    plugins, value = wanted_build(stage)
    if not value:
        return
    say("building crossdock (minutes the first time; later only what changed is compiled)")
    shutil.rmtree(WHEELS, ignore_errors=True)
    # By the name that CMake's presets find: ccache keeps objects of g++ and of c++ apart.
    compiler = {"CXX": os.environ.get("CXX", "c++")}
    package = ["--no-build-isolation", "--no-deps", f"--wheel-dir={WHEELS}", "."]
    plugins_setting = f"--config-settings=cmake.define.CROSSDOCK_PLUGINS={plugins}"
    pip("wheel", plugins_setting, *package, env=os.environ | compiler)


def install_crossdock(stage: str) -> None:
    _, value = wanted_build(stage)
    if not value:
        return
    say("installing crossdock into .venv/")
    wheels = [str(wheel) for wheel in WHEELS.glob("crossdock-*.whl")]
    pip("install", "--no-deps", "--force-reinstall", *wheels)
    (VENV / "crossdock.stamp").write_text(value)


def require_all_parts() -> None:
    """Tests skip a part that was not built, as on a machine without gRPC; here it must be there."""
    for part in ("_native", "_control"):
        command = [str(VENV_PYTHON), "-c", f"import crossdock.{part}"]
        answer = subprocess.run(command, cwd=VENV, capture_output=True, text=True, check=False)
        if answer.returncode != 0:
            fail(f"crossdock.{part} was not built or does not load: {answer.stderr.strip()}")
    for plugin in ("ucx", "pmix", "control", "mpi_openmpi", "mpi_mpich"):
        if not list(VENV.glob(f"lib/python*/site-packages/crossdock/libcrossdock_{plugin}.so")):
            fail(f"the plugin {plugin} was not built; CMake says above what it did not find")


def timed(title: str, act: Callable[[], None]) -> tuple[str, tuple[float, float]]:
    """Seconds by the clock and of the processors, for the table of tools/check.py."""
    before, start_s = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    act()
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return title, (time.monotonic() - start_s, cpu_s)


def main() -> None:
    stage = sys.argv[1] if len(sys.argv) == 2 else ""
    if stage not in ("run", "ranks", "dev", "tools"):
        fail("usage: setup.py run|ranks|dev|tools")
    if sys.platform != "linux":
        fail(f"Crossdock runs on Linux only, and this is {sys.platform}; try a container or WSL 2")
    if sys.version_info < OLDEST_PYTHON:
        fail(
            f"Python 3.11 or later is needed, this is {sys.version.split()[0]}; "
            "name another with `make PYTHON=...`"
        )
    title = "packages" if stage == "tools" else "packages, and the build of crossdock"
    steps: list[tuple[str, Callable[[], None]]] = [(title, lambda: install_all(stage))]
    if stage in ("ranks", "dev"):
        steps.append(("parts are there", require_all_parts))
    spent = [timed(title, act) for title, act in steps]
    reports = ROOT / "build" / "reports"
    reports.mkdir(parents=True, exist_ok=True)
    (reports / "setup.json").write_text(json.dumps(spent))


if __name__ == "__main__":
    main()
