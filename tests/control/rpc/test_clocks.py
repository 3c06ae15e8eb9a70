"""Servers whose clocks of the day disagree, or are set while they run, agree nevertheless."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any

import pytest
from crossdock import control

LIBRARIES = list(Path("/usr/lib").glob("*/faketime/libfaketimeMT.so.1"))
SILENCE_S = 1.0  # --lost-after of the cluster


def off_by(clock: Path) -> dict[str, str]:
    """The environment of a process whose time of day is off by what stands in the file, now."""
    return {
        "LD_PRELOAD": str(LIBRARIES[0]),
        "FAKETIME_TIMESTAMP_FILE": str(clock),
        "FAKETIME_NO_CACHE": "1",
        "FAKETIME_DONT_FAKE_MONOTONIC": "1",
    }


@pytest.mark.skipif(not LIBRARIES, reason="needs Debian's libfaketime")
def test_wrong_clocks_of_the_day_change_nothing(cluster: Any, tmp_path: Path) -> None:
    clocks = {}
    for name, offset in (("controller", "+40d"), ("node0", "-1d"), ("node1", "+1h")):
        clocks[name] = tmp_path / name
        clocks[name].write_text(offset)
    cluster.controller(environment=off_by(clocks["controller"]))
    for name in ("node0", "node1"):
        agent = ["agent", "--at", cluster.address, "--name", name, "--machine", "dgx-a100"]
        cluster.start(*agent, environment=off_by(clocks[name])).wait_for("has joined")
    plane = control.connect(cluster.address)
    ends = [plane.create_endpoint(name, "gpu0") for name in ("node0", "node1")]
    channel = plane.create_channel(ends, ends)

    # Forward by years, and back again: no agent has been silent, whatever the hands say.
    for offset in ("+2000d", "-2000d"):
        for clock in clocks.values():
            clock.write_text(offset)
        time.sleep(1.5 * SILENCE_S)
        status = plane.status()
        assert [agent.state for agent in status.agents] == ["joined", "joined"]
        assert [(one.id, one.state) for one in status.channels] == [(channel, "open")]
        assert max(agent.silent_s for agent in status.agents) < SILENCE_S
        assert status.up_s < 60
        plane.delete_channel(plane.create_channel(ends[:1], ends))
