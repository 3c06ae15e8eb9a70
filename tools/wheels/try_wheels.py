"""Installs the wheels of dist/ into an empty environment and joins two tables, with the time taken.

    python tools/wheels/try_wheels.py

Then the plugins that this machine has the libraries of are installed and used: a join of two ranks
that mpirun starts, and the module of the control plane. The wheel of later Pythons, where there is
one, is tried under each of them that is here.
"""

from __future__ import annotations

import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import make_wheels

ROOT = Path(__file__).resolve().parents[2]
DIST = ROOT / "dist"
FIRST_JOIN_S = 20.0
PATIENCE_S = 300

# The first join of a new user, from files to a file.
FIRST_JOIN = """
import crossdock as xd, pyarrow as pa
left = pa.table({"id": [1, 2, 3, 4], "name": ["ann", "bob", "cy", "dee"]})
with xd.connect() as session:
    orders = session.from_arrow(pa.table({"id": [2, 4, 4, 9], "price": [1.5, 2.5, 3.5, 4.5]}))
    joined = session.from_arrow(left).join(orders, on="id").sort("price")
    joined.write_parquet("joined.parquet")
    rows = session.read_parquet("joined.parquet").collect().to_pylist()
assert [row["name"] for row in rows] == ["bob", "dee", "dee"], rows
print("joined", len(rows), "rows with", xd.__file__)
"""

# Whatever the core has beside joins: each loads other parts of the bundled libraries.
OTHER_PARTS = """
import crossdock as xd, pyarrow as pa
from crossdock import _native
table = pa.table({"k": ["a", "b", "a", None], "v": [1, 2, 3, 4]})
with xd.connect(threads=2) as session:
    rows = session.from_arrow(table)
    groups = rows.group_by("k").agg(n=xd.count(), s=xd.sum("v")).sort("k").collect().to_pylist()
    assert {"k": "a", "n": 2, "s": 4} in groups, groups
    matched = rows.filter(xd.col("k").matches("^a")).count()
    assert matched == 2, matched
    print(rows.explain())
assert "cpu0" in xd.Topology.host().text()
"""

RANKS = """
import crossdock as xd, pyarrow as pa
with xd.connect(threads=1) as session:
    left = session.from_arrow(pa.table({"id": list(range(1000))}))
    right = session.from_arrow(pa.table({"id": list(range(0, 2000, 2))}))
    print("pairs", left.join(right, on="id").count())
"""


def call(command: list[str], folder: Path) -> str:
    ended = subprocess.run(
        command, cwd=folder, capture_output=True, text=True, check=False, timeout=PATIENCE_S
    )
    if ended.returncode != 0:
        shown = " ".join(command)[:200]
        raise SystemExit(f"`{shown}` ended with {ended.returncode}:\n{ended.stdout}{ended.stderr}")
    return ended.stdout


def cpu_seconds() -> float:
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def pip(python: str, *arguments: str, folder: Path) -> None:
    command = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    call([*command, "--find-links", str(DIST), *arguments], folder)


def core_wheel(python: str) -> Path:
    """The wheel of dist/ that pip chooses for that Python."""
    (answer,) = call([python, "-c", "import sys; print(sys.version_info[1])"], ROOT).split()
    pattern = "crossdock-*-cp311-cp311-*.whl" if answer == "11" else "crossdock-*-abi3-*.whl"
    return next(iter(sorted(DIST.glob(pattern))))


def try_core(base: str, folder: Path) -> str:
    """Makes the environment and joins; the interpreter in it."""
    wheel = core_wheel(base)
    start_s, start_cpu_s = time.monotonic(), cpu_seconds()
    call([base, "-m", "venv", str(folder / "environment")], folder)
    python = str(folder / "environment" / "bin" / "python")
    pip(python, str(wheel), folder=folder)
    print(call([python, "-c", FIRST_JOIN], folder), end="")
    took_s, cpu_s = time.monotonic() - start_s, cpu_seconds() - start_cpu_s
    print(f"{wheel.name}, {base}: from an empty environment to the first join in {took_s:.1f} s,")
    print(f"of which {cpu_s:.1f} s of processor time")
    if took_s > FIRST_JOIN_S:
        print(f"that is more than {FIRST_JOIN_S:.0f} s: a busy machine, or a slow registry?")
    call([python, "-c", OTHER_PARTS], folder)
    crossdock = str(folder / "environment" / "bin" / "crossdock")
    listing = call([crossdock, "join", "joined.parquet", "joined.parquet", "--on", "id"], folder)
    assert "rows" in listing, listing
    return python


def try_plugins(python: str, folder: Path) -> None:
    names = {file.name.split("-")[0] for file in DIST.glob("crossdock_*.whl")}
    extras = sorted(name.removeprefix("crossdock_") for name in names - {"crossdock_cuda"})
    wheels = [
        str(file)
        for extra in extras
        for file in DIST.glob(f"crossdock_{extra}-*.whl")
        if "py3-none" in file.name or f"cp3{sys.version_info[1]}-" in file.name
    ]
    pip(python, "--no-deps", *wheels, folder=folder)
    if "control" in extras:
        call([python, "-c", "import crossdock._control"], folder)
    if "mpi" in extras and (mpirun := shutil.which("mpirun.openmpi")):
        program = folder / "ranks.py"
        program.write_text(RANKS)
        root = ["--allow-run-as-root"] if os.geteuid() == 0 else []
        start = [mpirun, *root, "--oversubscribe", "-n", "2", python, str(program)]
        answer = call(start, folder)
        assert answer.count("pairs") >= 1, answer
        print(f"two ranks of mpirun: {answer.split()[1]} pairs; plugins: {', '.join(extras)}")


def main() -> int:
    pythons = [getattr(sys, "_base_executable", sys.executable)]
    if list(DIST.glob("crossdock-*-abi3-*.whl")):
        pythons += make_wheels.later_pythons()
    for number, base in enumerate(pythons):
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            python = try_core(base, folder)
            if number == 0:
                try_plugins(python, folder)
    return 0


if __name__ == "__main__":
    sys.exit(main())
