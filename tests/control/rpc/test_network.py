"""The control plane across hosts: network namespaces that share nothing but links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[3] / "tools" / "hosts.py"
SITE = Path(__file__).with_name("cut_link.py")


@pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("tc") is None, reason="needs root and Debian's iproute2"
)
def test_a_host_whose_link_is_cut_loses_its_channels_and_begins_again(tmp_path: Path) -> None:
    hosts = [sys.executable, str(TOOL), "--hosts", "3", "--"]
    site = [sys.executable, str(SITE), str(tmp_path)]
    result = subprocess.run(
        [*hosts, *site], capture_output=True, text=True, check=False, timeout=120
    )
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [line for line in result.stdout.splitlines() if line.startswith("host0: ")]
    assert [line for line in lines if " controller at " not in line and "warn" not in line] == [
        "host0: made True open 2",
        "host0: cut 1",
        "host0: refused CD-614",
        "host0: repaired True open 2",
        "host0: stopped  by SIGTERM",
    ]
    # The agent that was cut off found out by itself, closed what it held, and joined once more.
    assert sum("host1 has joined" in line for line in result.stdout.splitlines()) == 2
