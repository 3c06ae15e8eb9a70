"""Ranks that end without a word between two exchanges, on hosts of their own: the others say so
within seconds, wherever they wait. A rank that is stopped is none of them."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

TOOL = Path(__file__).parents[2] / "tools" / "hosts.py"
SITE = Path(__file__).with_name("lost_ranks.py")
WAITS = ("dock", "gather", "exchange", "channel")
WAYS = ("folder", "rendezvous", "controller")

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("tc") is None, reason="needs root and Debian's iproute2"
)


def run(folder: Path, way: str, what: str, links: str = "2") -> dict[str, list[str]]:
    """The lines of each host."""
    if way == "controller":
        pytest.importorskip("crossdock._control")
    hosts = [sys.executable, str(TOOL), "--hosts", "3", "--links", links, "--"]
    result = subprocess.run(
        [*hosts, sys.executable, str(SITE), str(folder), way, what],
        capture_output=True, text=True, check=False, timeout=300,
    )  # fmt: skip
    assert result.returncode == 0, result.stdout + result.stderr
    lines = [line.split(": ", 1) for line in result.stdout.splitlines()]
    return {f"host{host}": [said for at, said in lines if at == f"host{host}"] for host in range(3)}


@pytest.mark.parametrize("way", WAYS)
def test_a_rank_that_is_killed_ends_what_the_others_wait_for(tmp_path: Path, way: str) -> None:
    said = run(tmp_path, way, "killed")
    expected = [f"{wait} CD-617 True True" for wait in WAITS]
    assert [line.strip() for line in said["host0"]] == expected
    assert [line.strip() for line in said["host2"]] == expected
    assert said["host1"] == []


def test_ranks_without_a_link_to_the_killed_one_hear_of_it(tmp_path: Path) -> None:
    """Hosts 0 and 1 are joined by host 2 alone."""
    said = run(tmp_path, "folder", "killed", links="0-2,2-1")
    expected = [f"{wait} CD-617 True True" for wait in WAITS]
    assert [line.strip() for line in said["host0"]] == expected
    assert [line.strip() for line in said["host2"]] == expected


def test_a_host_that_is_cut_off_is_lost_though_nothing_is_sent(tmp_path: Path) -> None:
    said = run(tmp_path, "folder", "cut")
    for host in (0, 2):
        assert [line.strip() for line in said[f"host{host}"]] == ["dock CD-617 True True"]


def test_a_rank_that_is_stopped_is_waited_for(tmp_path: Path) -> None:
    said = run(tmp_path, "folder", "stopped")
    for host in range(3):
        assert said[f"host{host}"] == ["dock went on"]


def test_any_rank_ends_the_work_of_all_from_any_thread(tmp_path: Path) -> None:
    said = run(tmp_path, "folder", "aborts")
    for host in range(3):
        assert [line.strip() for line in said[f"host{host}"]] == [
            f"{wait} CD-617 True aborted" for wait in WAITS
        ]
