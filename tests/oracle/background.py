"""Calls in threads and interpreters of their own, for tests that act on a run meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any


class Ended:
    """How a call in another thread ended, and how long ago it was asked to."""

    def __init__(self, call: Callable[[], Any]) -> None:
        self.error: BaseException | None = None
        self.result: Any = None
        self._call = call
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def _run(self) -> None:
        try:
            self.result = self._call()
        except BaseException as error:  # noqa: BLE001 - it is what the test looks at
            self.error = error

    def wait(self, seconds: float) -> bool:
        self._thread.join(seconds)
        return not self._thread.is_alive()


def run_python(script: str, seconds: float) -> subprocess.CompletedProcess[str]:
    """A script in an interpreter of its own."""
    return subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, timeout=seconds, check=False
    )


def interrupt_python(script: str) -> tuple[str, str]:
    """What a script prints, and its errors, that gets Ctrl-C half a second after it has printed
    "started", and has to end within two seconds of work: how long those take on a busy machine says
    nothing."""
    process = subprocess.Popen(
        [sys.executable, "-c", script],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | {"PYTHONUNBUFFERED": "1"},
    )
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "started\n"
        time.sleep(0.5)
        before_s = processor_seconds(process.pid)
        others_s = os.times().children_user + os.times().children_system
        process.send_signal(signal.SIGINT)
        output, errors = process.communicate(timeout=120)
    finally:
        process.kill()
        process.wait()
    all_s = os.times().children_user + os.times().children_system - others_s
    assert all_s - before_s < 2
    return output, errors


def processor_seconds(process: int) -> float:
    """Of a process that runs."""
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
