"""Processes of one host that measure together: each runs the same command as a rank of a group."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path
from typing import IO, Any

import click

from crossdock_cli import output

# What a rank has to end by itself when another has failed, and thereby has ended it.
_END_WITHIN_S = 15.0


def is_rank() -> bool:
    """Whether this process is one of several that were started together."""
    from crossdock import _native

    return _native.launch_variable() not in ("", "CROSSDOCK_MEET", "CROSSDOCK_CONTROL")


def as_arguments(options: dict[str, Any]) -> list[str]:
    """The options of `crossdock perf` as words of a command line."""
    words = {"sizes": "size"}
    arguments: list[str] = []
    for name, value in options.items():
        flag = "--" + words.get(name, name).replace("_", "-")
        if isinstance(value, bool):
            arguments += [flag] if value else []
        elif value is not None:
            arguments += [flag, str(value)]
    return arguments


def run_ranks(ranks: int, arguments: list[str]) -> None:
    """Starts `ranks` processes, shows what the first prints, and ends when all have.

    The first error of a rank is shown, and this process ends with its exit code.
    """
    with tempfile.TemporaryDirectory(prefix="crossdock-perf-") as folder:
        started = [_start(rank, ranks, arguments, Path(folder)) for rank in range(ranks)]
        try:
            code = _wait(started, Path(folder))
        finally:
            for process in started:
                if process.poll() is None:
                    process.kill()
                process.wait()
    if code:
        click.get_current_context().exit(code)


def _start(rank: int, ranks: int, arguments: list[str], folder: Path) -> subprocess.Popen[bytes]:
    meet = folder / "meet"
    meet.mkdir(exist_ok=True)
    environment = {
        "CROSSDOCK_RANK": str(rank),
        "CROSSDOCK_RANKS": str(ranks),
        "CROSSDOCK_MEET": str(meet),
        "CROSSDOCK_JOB": "perf",
    }
    inherited = {name: text for name, text in os.environ.items() if name != "CROSSDOCK_CONTROL"}
    with (folder / f"errors-{rank}").open("wb") as errors:
        return subprocess.Popen(
            [sys.executable, "-m", "crossdock_cli.main", "perf", *arguments],
            env=inherited | environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE if rank == 0 else subprocess.DEVNULL,
            stderr=errors,
        )


def _wait(started: list[subprocess.Popen[bytes]], folder: Path) -> int:
    """The exit code of the first rank that failed, or 0. Ranks that do not end after it are left
    to the caller."""
    pipe = started[0].stdout
    assert pipe is not None
    printer = threading.Thread(target=_print_all, args=(pipe,), daemon=True)
    printer.start()
    failed: int | None = None
    deadline_s = 0.0
    while any(process.poll() is None for process in started):
        codes = [process.poll() for process in started]
        first_failed = next((rank for rank, code in enumerate(codes) if code), None)
        if first_failed is not None and failed is None:
            failed, deadline_s = first_failed, time.monotonic() + _END_WITHIN_S
        if failed is not None and time.monotonic() > deadline_s:
            break
        time.sleep(0.02)
    codes = [process.poll() for process in started]
    if failed is None:
        failed = next((rank for rank, code in enumerate(codes) if code), None)
    if all(code is not None for code in codes):
        printer.join()
    if failed is None:
        return 0
    code = codes[failed] or 1
    errors = (folder / f"errors-{failed}").read_text(encoding="utf-8", errors="replace").rstrip()
    output.say(errors or f"rank {failed} was ended by signal {-code}")
    return code if code > 0 else 1


def _print_all(pipe: IO[bytes]) -> None:
    for line in pipe:
        output.show(line.decode().rstrip("\n"))
