"""Callers that connect and say nothing, more than a server has file descriptors for."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Callable
from typing import Any

import pytest
from crossdock import ControlError, control

FILES = 128
CALLERS = 200


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
