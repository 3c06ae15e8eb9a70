"""The build without what only ranks use: it configures, includes none of it, and loads."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import crossdock
import pytest
import setup
from crossdock import _native

ROOT = Path(__file__).resolve().parents[2]
RANK_ROOMS = (
    "src/control/rpc",
    "src/control/ranks",
    "src/data/ranks/pmix",
    "src/data/transports/mpi",
    "src/data/transports/ucx",
)
HEAVY = re.compile(r'#include [<"](mpi\.h|pmix|ucp/|ucs/|uct/|grpc|google/protobuf|.*\.pb\.h)')
HIDDEN = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("gRPC", "Protobuf", "Ucx", "Pmix")]


def configure(folder: Path, *options: str) -> subprocess.CompletedProcess[str]:
    command = ["cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(folder), *options]
    return subprocess.run(command, capture_output=True, text=True, timeout=300, check=False)


def test_no_room_that_is_always_built_includes_what_only_ranks_use() -> None:
    sources = [file for file in (ROOT / "src").rglob("*.?pp") if file.suffix in (".cpp", ".hpp")]
    sources += (ROOT / "python" / "bindings").glob("*.?pp")
    heavy = {
        str(file.relative_to(ROOT))
        for file in sources
        if any(HEAVY.match(line) for line in file.read_text(encoding="utf-8").splitlines())
    }
    assert {room for room in RANK_ROOMS if any(file.startswith(room) for file in heavy)} >= {
        "src/control/rpc",
        "src/data/transports/mpi",
        "src/data/transports/ucx",
    }
    assert [file for file in heavy if not file.startswith(RANK_ROOMS)] == []


@pytest.mark.parametrize("options", [["-DCROSSDOCK_PLUGINS=OFF"], HIDDEN], ids=["off", "hidden"])
def test_without_libraries_of_ranks_it_configures(tmp_path: Path, options: list[str]) -> None:
    python = [f"-DPython_EXECUTABLE={sys.executable}", "-DCROSSDOCK_PYTHON=ON"]
    configured = configure(tmp_path, *python, *options)
    assert configured.returncode == 0, configured.stderr
    rules = (tmp_path / "build.ninja").read_text(encoding="utf-8")
    assert re.search(r"^build _native\.", rules, re.MULTILINE)
    for name in ("_control", "libcrossdock_ucx", "libcrossdock_pmix", "libcrossdock_control.so"):
        assert not re.search(rf"^build {re.escape(name)}", rules, re.MULTILINE), name
    assert ("build libcrossdock_session_device" in rules) == (options == HIDDEN)
    mpi_is_there = "build libcrossdock_mpi" in rules
    assert not (mpi_is_there and "OFF" in options[0])


def test_a_missing_library_is_named_as_each_distribution_calls_it(tmp_path: Path) -> None:
    hide = [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("fmt", "Hwloc", "Re2")]
    configured = configure(tmp_path, *hide)
    assert configured.returncode != 0
    for name in (
        "libfmt-dev",
        "fmt-devel",
        "libhwloc-dev",
        "hwloc-devel",
        "libre2-dev",
        "Arch: hwloc",
    ):
        assert name in configured.stderr
    assert "libhwy-dev" not in configured.stderr


JOIN = """
import crossdock as xd, pyarrow as pa
from crossdock.control import module
assert xd.__file__.startswith({folder!r}), xd.__file__
with xd.connect() as dock:
    a, b = pa.table({{"k": [1, 2, 3]}}), pa.table({{"k": [2, 3, 4]}})
    print(dock.from_arrow(a).join(dock.from_arrow(b), on="k").count())
try:
    module()
except xd.ControlError as error:
    print("make ranks" in str(error) or error)
"""


def test_the_module_works_without_the_plugins(tmp_path: Path) -> None:
    package = Path(crossdock.__file__).parent
    module = Path(_native.__file__)
    needed = subprocess.run(["ldd", str(module)], capture_output=True, text=True, check=True)
    assert not re.search(r"lib(mpi|pmix|ucp|grpc|protobuf)", needed.stdout)
    shutil.copytree(
        package,
        tmp_path / "crossdock",
        ignore=shutil.ignore_patterns("libcrossdock_*", "_control.*", "__pycache__"),
    )
    ran = subprocess.run(
        [sys.executable, "-c", JOIN.format(folder=str(tmp_path))],
        env={"PYTHONPATH": str(tmp_path), "PATH": "/usr/bin:/bin"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert ran.stdout.split() == ["2", "True"], ran.stdout + ran.stderr


def test_stages_install_what_they_need() -> None:
    bare, ranks, every = (set(setup.packages_of(stage)) for stage in ("run", "ranks", "dev"))
    assert bare < ranks < every
    heavy = re.compile("mpi|ucx|pmix|grpc|proto|cuda")
    assert not [name for name in bare if heavy.search(name)]
    assert {"libopenmpi-dev", "libucx-dev", "libgrpc++-dev"} <= ranks


def test_a_module_without_devices_says_how_to_build_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delattr(_native, "Device", raising=False)
    with crossdock.connect() as dock, pytest.raises(crossdock.DeviceError, match="make ranks"):
        dock.device("threads")


def test_python_packages_are_installed_beside_those_of_the_system(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    done: list[str] = []
    broken: list[str] = []

    def apt_get(*arguments: str) -> None:
        done.append(" ".join(arguments[-2:]))
        if arguments[-1] in broken:
            setup.fail("no such package")

    monkeypatch.setattr(
        setup, "missing_system_packages", lambda _: ["cmake", "g++", "python3-venv"]
    )
    monkeypatch.setattr(
        setup, "packages_of", lambda _: dict.fromkeys(["cmake", "g++", "python3-venv"], "")
    )
    monkeypatch.setattr(setup, "apt_get", apt_get)
    steps = ["make_environment", "install_build_requirements", "install_requirements"]
    steps += ["make_demo_tables", "build_crossdock", "install_crossdock"]
    for name in steps:
        monkeypatch.setattr(setup, name, lambda *_, name=name: done.append(name))
    setup.install_all("run")
    assert done[:2] == ["update -qq", "--no-install-recommends python3-venv"]
    assert set(done[2:]) == {"cmake g++", *steps}
    for before in ("cmake g++", "install_build_requirements"):
        assert done.index(before) < done.index("build_crossdock")
    assert done[-1] == "install_crossdock"
    done.clear()
    setup.install_all("tools")
    ran = [step for step in done if step in steps]  # apt-get is beside them
    assert ran == ["make_environment", "install_requirements"]
    broken.append("g++")
    done.clear()
    with pytest.raises(SystemExit):
        setup.install_all("dev")
    assert "build_crossdock" not in done


def test_stage_run_keeps_what_ranks_were_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_to = tmp_path / "bin"
    write_to.mkdir()
    (write_to / "crossdock").touch()
    plugins: list[str] = []
    monkeypatch.setattr(setup, "VENV", tmp_path)
    monkeypatch.setattr(setup, "source_digest", lambda: digest)
    monkeypatch.setattr(setup, "WHEELS", tmp_path / "wheels")

    def pip(verb: str, *given: str, **_: object) -> None:
        plugins.append(given[0][-3:] if verb == "wheel" else verb)

    monkeypatch.setattr(setup, "pip", pip)
    digest = "first"
    for stage in ("run", "run", "ranks", "dev", "run"):
        setup.build_crossdock(stage)
        setup.install_crossdock(stage)
    assert plugins == ["OFF", "install", "=ON", "install"]
    digest = "second"
    setup.build_crossdock("run")
    assert plugins[-1] == "=ON"
