"""C++ programs of a bench: built when they are needed, run once per call, one JSON object each."""

from __future__ import annotations

import json
import resource
import subprocess
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from harness import measure
from harness.turns import turn_at

ROOT = Path(__file__).resolve().parents[2]
ROW_LIMIT_S = 300

Answer = TypeVar("Answer")


class ProgramError(Exception):
    """A program could not be built, or ended with an error."""


def build(program: str) -> Path:
    """The program, from the release build; a later call compiles only what has changed."""
    return build_all(program) / program


def build_all(*programs: str) -> Path:
    """The folder that they are in then."""
    commands = (
        ["cmake", "--preset", "release"],
        ["cmake", "--build", "--preset", "release", "--target", *programs],
    )
    folder = ROOT / "build" / "release"
    with turn_at(folder):
        for command in commands:
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                raise ProgramError(f"`{' '.join(command)}` failed:\n{done.stdout}{done.stderr}")
    return folder


def children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def watched(run: Callable[[], Answer]) -> tuple[Answer, float]:
    """What `run` answers, and the share of all cores that others than its processes used."""
    busy, own_before_s, start = measure.busy_seconds(), children_seconds(), time.monotonic()
    answer = run()
    wall_s = time.monotonic() - start
    foreign_s = (measure.busy_seconds() - busy) - (children_seconds() - own_before_s)
    # Ticks are 10 ms: below two ticks the difference says nothing.
    share = foreign_s / (wall_s * measure.CPUS) if foreign_s > 2 * measure.TICK_S else 0.0
    return answer, share


def output_of(command: list[str], limit_s: float = ROW_LIMIT_S) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=limit_s)
    if done.returncode != 0:
        raise ProgramError(done.stderr.strip() or f"exit status {done.returncode}")
    return done.stdout


def call(program: Path, *arguments: object) -> tuple[dict[str, Any], float]:
    """What the program says, and the share of all cores that others used meanwhile."""
    output, share = watched(lambda: output_of([str(program), *map(str, arguments)]))
    said: dict[str, Any] = json.loads(output)
    return said, share
