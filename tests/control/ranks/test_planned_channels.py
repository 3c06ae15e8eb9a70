"""Groups across hosts whose channels the control plane plans: which links carry their rows, and
what goes on when agents and the controller die."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("crossdock._control")

TOOL = Path(__file__).parents[3] / "tools" / "hosts.py"
SITE = Path(__file__).with_name("planned_hosts.py")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("tc") is None, reason="needs root and Debian's iproute2"
)
def test_channels_use_the_planned_links_and_outlive_agents_and_controller(tmp_path: Path) -> None:
    hosts = [sys.executable, str(TOOL), "--hosts", "2", "--links", "2", "--"]
    result = subprocess.run(
        [*hosts, sys.executable, str(SITE), str(tmp_path)],
        capture_output=True, text=True, check=False, timeout=180,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    lines = result.stdout.splitlines()
    alike = [
        "both True link0 link1",
        "one True link1",
        "agent killed True",
        "agent back True link1",
        "controller killed True",
        "refused CD-611",
    ]
    assert [line[7:] for line in lines if line.startswith("host0: ")] == alike, result.stderr
    alike.insert(3, "refused CD-611")
    assert [line[7:] for line in lines if line.startswith("host1: ")] == alike, result.stderr
