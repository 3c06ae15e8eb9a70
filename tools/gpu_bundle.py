"""Builds what a machine with a GPU needs, as one folder: build/gpu-bundle (`make gpu-bundle`).

The programs need a driver and libc, nothing else of that machine. The folder stays below 40 MB, so
that it can be carried anywhere; tools/gpu_run.sh lies in it and runs it.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
import sysconfig
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
BUNDLE = ROOT / "build" / "gpu-bundle"
BINARIES = ROOT / "build" / "gpu"
BYTES_MAX = 40_000_000
# What every machine with a driver has.
LIBRARIES = ("linux-vdso", "libc.", "libm.", "ld-linux", "libdl.", "librt.", "libpthread.")
# Programs that take other libraries along, in the folder lib.
WITH_LIBRARIES = ("crossdock_gpu_suites",)
PLUGINS = ("libcrossdock_cuda.so",)
PROGRAMS = (
    "crossdock_gpu_probe",
    "crossdock_gpu_tests",
    "crossdock_gpu_operator_bench",
    "crossdock_gpu_codec_bench",
    "crossdock_gpu_bench",
    "crossdock_groupby_kernel",
    # Without a fix each (cmake/CrossdockGpu.cmake).
    "crossdock_gpu_operator_bench_atomics",
    "crossdock_gpu_operator_bench_bounds",
    "crossdock_gpu_operator_bench_pairs",
    "crossdock_gpu_bench_atomics",
    "crossdock_gpu_bench_bounds",
)


def run(*command: str, **environment: str) -> str:
    answer = subprocess.run(
        command,
        cwd=ROOT,
        env=os.environ | environment,
        stdout=subprocess.PIPE if command[0] in ("git", "ldd") else None,
        text=True,
        check=False,
    )
    if answer.returncode != 0:
        raise SystemExit(f"`{' '.join(command)}` ended with {answer.returncode}")
    return answer.stdout or ""


def compiler() -> str:
    """nvcc from the PATH or CUDACXX, else that of the virtual environment."""
    named = os.environ.get("CUDACXX") or shutil.which("nvcc")
    if named:
        return named
    compilers = list(Path(sysconfig.get_path("purelib"), "nvidia").glob("*/bin/nvcc"))
    if len(compilers) != 1:
        raise SystemExit("no nvcc: put it on the PATH, name it in CUDACXX, or run tools/setup.py")
    return str(compilers[0])


def foreign_libraries(program: Path) -> dict[str, Path]:
    """Shared libraries that not every machine has, and where they lie here."""
    lines = [line.split() for line in run("ldd", str(program)).splitlines()]
    paths = {words[0].split("/")[-1]: Path(words[2]) for words in lines if "=>" in words}
    return {name: path for name, path in paths.items() if not name.startswith(LIBRARIES)}


def inside(path: Path) -> bool:
    return path.resolve().is_relative_to(BUNDLE)


def collect() -> int:
    """Answers how many bytes the bundle has."""
    shutil.rmtree(BUNDLE, ignore_errors=True)
    BUNDLE.mkdir(parents=True)
    (BUNDLE / "lib").mkdir()
    for name in (*PROGRAMS, *WITH_LIBRARIES, *PLUGINS):
        run("strip", "--strip-unneeded", "-o", str(BUNDLE / name), str(BINARIES / name))
        foreign = foreign_libraries(BUNDLE / name)
        if foreign and name in PROGRAMS:
            raise SystemExit(f"{name} needs {', '.join(foreign)}, which another machine may lack")
        for library in foreign.values():
            shutil.copy2(library.resolve(), BUNDLE / "lib" / library.name)
        outside = [path for path in foreign_libraries(BUNDLE / name).values() if not inside(path)]
        if outside and name not in PLUGINS:
            raise SystemExit(f"{name} takes {', '.join(map(str, outside))} from this machine")
    shutil.copy2(ROOT / "tools" / "gpu_run.sh", BUNDLE)
    facts = {
        "bench": "bundle",
        "commit": run("git", "rev-parse", "--short", "HEAD").strip(),
        "changed": bool(run("git", "status", "--porcelain", "--untracked-files=no").strip()),
    }
    (BUNDLE / "bundle.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")
    return sum(file.stat().st_size for file in BUNDLE.rglob("*"))


def main() -> int:
    run("cmake", "--preset", "gpu", CUDACXX=compiler())
    run("cmake", "--build", "--preset", "gpu", "--target", *PROGRAMS, *WITH_LIBRARIES)
    total = collect()
    print(f"{BUNDLE.relative_to(ROOT)}: {len(PROGRAMS)} programs, {total / 1e6:.1f} MB")
    if total > BYTES_MAX:
        print(f"above the limit of {BYTES_MAX / 1e6:.0f} MB", file=sys.stderr)
        return 1
    print(f"on a machine with a GPU: {BUNDLE.relative_to(ROOT)}/gpu_run.sh <this folder> <out>")
    return 0


if __name__ == "__main__":
    sys.exit(main())
