"""Callers that connect and say nothing, more than a server has file descriptors for."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossdock import ControlError, control
from slow_requests import SlowRequest, send_all

FILES = 128
CALLERS = 200
SENDERS = 600
REQUEST_BYTES = 4 << 20  # below what a message may have
QUOTA_BYTES = 256 << 20  # of buffers (ServerSettings::memory_bytes)
LEFT_BYTES_MAX = 48 << 20  # 6 MiB were seen; the server keeps 32 MiB of free memory
PATH = "/crossdock.control.v1.Control/CreateChannel"


def address_of(ready: str) -> tuple[str, int]:
    host, _, port = ready.rpartition(" ")[2].rpartition(":")
    return host, int(port)


@pytest.mark.parametrize("server", ["controller", "agent"])
def test_idle_connections_do_not_end_a_server(
    cluster: Any, comes_true: Callable[[Callable[[], bool]], bool], server: str
) -> None:
    if server == "controller":
        process = cluster.start("controller", "--listen", "127.0.0.1:0", files=FILES)
        ready = process.wait_for("^ready ")
    else:
        cluster.controller()
        process = cluster.start(
            "agent", "--at", cluster.address, "--name", "node0", "--machine", "dgx-a100",
            "--listen", "127.0.0.1:0", files=FILES,
        )  # fmt: skip
        process.wait_for("has joined")
        ready = process.wait_for("serves applications")
    host, port = address_of(ready)

    def answers() -> bool:
        try:
            control.connect(f"{host}:{port}", timeout_s=1).status()
        except ControlError:
            return False
        return True

    assert answers()
    with contextlib.ExitStack() as idle:
        for _ in range(CALLERS):
            idle.enter_context(socket.create_connection((host, port), 5))
        process.wait_for(f"connections refused: this process may open {FILES} files")
        # Those that it has taken are closed as they do not greet, although their callers stay.
        assert comes_true(answers)
    assert answers()


def resident_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1024
    return 0


def test_requests_without_an_end_do_not_fill_the_memory(
    cluster: Any, comes_true: Callable[[Callable[[], bool]], bool]
) -> None:
    """2.4 GB are offered, of which about 1 GB is sent. Other callers get answers meanwhile. When
    the callers have gone, so has the memory: the allocator kept up to 600 MB."""
    process = cluster.start("controller", "--listen", "127.0.0.1:0")
    place = address_of(process.wait_for("^ready "))
    plane = control.connect(f"{place[0]}:{place[1]}", timeout_s=10)
    plane.status()
    before = resident_bytes(process.number)
    with contextlib.ExitStack() as open_until:
        requests = [
            open_until.enter_context(SlowRequest(place, PATH, REQUEST_BYTES))
            for _ in range(SENDERS)
        ]
        sent = send_all(requests, quiet_s=2, at_most_s=60)
        growth = resident_bytes(process.number) - before
        plane.status()  # over a connection that was there before, and over one that was not
        control.connect(f"{place[0]}:{place[1]}", timeout_s=10).status()
        # As much again stands around the buffers at most: 300 MiB were seen, of 1.1 GiB and more.
        assert sent > 3 * QUOTA_BYTES, "more than it may keep has to reach the server"
        assert growth < 2 * QUOTA_BYTES
        # Those that go beyond are ended, and their callers know it.
        assert any(request.is_over for request in requests)
    assert comes_true(lambda: resident_bytes(process.number) - before < LEFT_BYTES_MAX)
    plane.status()
