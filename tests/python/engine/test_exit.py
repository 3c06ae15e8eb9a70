"""The end of a program while threads of it are still in calls of the engine."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import sys, threading, time
import crossdock as xd, numpy as np, pyarrow as pa
rows = 2_000_000
dock = xd.connect(threads=2)
table = dock.from_arrow(pa.table({"k": np.arange(rows), "v": np.arange(rows) % 1000}))
calls = {
    "count": lambda: table.join(table.select("k", w="v"), on="k").count(),
    "collect": lambda: table.join(table.select("k", w="v"), on="k").collect(),
    "sort": lambda: table.sort("v").collect(),
    "group": lambda: table.group_by("v").agg(n=xd.count()).collect(),
    "stream": lambda: sum(b.num_rows for b in table.sort("v").to_batches()),
}
begun = threading.Event()
def work():
    while True:
        begun.set()
        calls[sys.argv[1]]()
threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep(float(sys.argv[2]))
print("done", flush=True)
"""


@pytest.mark.parametrize("call", ["count", "collect", "sort", "group", "stream"])
def test_a_daemon_thread_in_a_call_does_not_end_the_program_badly(call: str) -> None:
    for wait_s in ("0.02", "0.1", "0.3"):
        ended = subprocess.run(
            [sys.executable, "-c", PROGRAM, call, wait_s],
            capture_output=True, text=True, check=False, timeout=120,
        )  # fmt: skip
        assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
        assert "terminate" not in ended.stderr


# What the engine calls is in Python when the interpreter ends.
CALLED = """
import threading, time
from crossdock import _native
from crossdock.values.type_checks import checking_engine
begun = threading.Event()
class Rows:
    def __arrow_c_stream__(self, requested_schema=None):
        begun.set()
        time.sleep(1)
engine = checking_engine()
threading.Thread(target=lambda: _native.Table.from_stream(engine, Rows()), daemon=True).start()
begun.wait()
class Late:
    def __del__(self):
        time.sleep(2)
import builtins
builtins.late = Late()
print("done", flush=True)
"""


def test_a_daemon_thread_in_python_that_the_engine_calls_does_not_end_the_program_badly() -> None:
    ended = subprocess.run(
        [sys.executable, "-c", CALLED], capture_output=True, text=True, check=False, timeout=120
    )
    assert (ended.returncode, ended.stdout) == (0, "done\n"), ended.stderr
