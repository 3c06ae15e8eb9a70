"""Compiles the library and an example for 64-bit ARM, and runs it: a step of `make test-long`.

    python tools/wheels/cross.py

The compiler is Debian's cross compiler, and what runs the program is qemu, so neither says anything
about speed. The kernels of NEON, and whatever depends on a weaker order of memory than x86's, are
compiled; a machine of that kind has yet to run them among threads.
"""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import bundled

ROOT = Path(__file__).resolve().parents[2]
PREFIX = "aarch64-linux-gnu-"
PACKAGES = ("g++-aarch64-linux-gnu", "qemu-user")
EXAMPLE = "join"
EXPECTED = "5 rows"


def install() -> None:
    sys.path.insert(0, str(ROOT / "tools"))
    import setup

    missing = setup.missing_packages(PACKAGES)
    if missing:
        setup.install_system_packages(missing, dict.fromkeys(missing, "compiling for ARM"))


def call(*command: str) -> None:
    print("$ " + " ".join(command), flush=True)
    if subprocess.run(command, cwd=ROOT, check=False).returncode != 0:
        raise SystemExit(f"{command[0]} {command[1]} failed: its output stands above")


def main() -> int:
    install()
    libraries = bundled.prepare(ROOT / "build" / "wheel-libraries-aarch64", bundled.Tools(PREFIX))
    folder = ROOT / "build" / "aarch64"
    settings = {
        "CMAKE_TOOLCHAIN_FILE": str(ROOT / "cmake" / "aarch64.cmake"),
        "CMAKE_BUILD_TYPE": "Release",
        "CROSSDOCK_PORTABLE": str(libraries),
        "CROSSDOCK_PLUGINS": "OFF",
        "CROSSDOCK_UNITY": "ON",
        "CROSSDOCK_EXAMPLES": "ON",
    }
    options = [f"-D{name}={value}" for name, value in settings.items()]
    call("cmake", "-G", "Ninja", "-S", str(ROOT), "-B", str(folder), *options)
    cores = len(os.sched_getaffinity(0))
    call("cmake", "--build", str(folder), "--target", EXAMPLE, "--parallel", str(cores))
    (program,) = folder.rglob(f"01-join/{EXAMPLE}")
    run = ["qemu-aarch64", "-L", "/usr/aarch64-linux-gnu", str(program)]
    ended = subprocess.run(run, capture_output=True, text=True, check=False, timeout=600)
    print(ended.stdout + ended.stderr, end="")
    if ended.returncode != 0 or EXPECTED not in ended.stdout:
        raise SystemExit(f"{program} ended with {ended.returncode}, without `{EXPECTED}`")
    return 0


if __name__ == "__main__":
    sys.exit(main())
