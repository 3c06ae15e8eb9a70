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
