"""Groups of programs that meet through the agent of their machine."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Callable
from typing import Any

import crossdock as xd
import pytest
from crossdock import control

PROGRAM = """
import crossdock as xd, pyarrow as pa
with xd.join_group(memory="256MiB", transports="ucx", devices=["lo"]) as group:
    rows = pa.table({"k": pa.array(range(1000), pa.int64())})
    mine = group.exchange(rows, by="k")
    print(group.rank, group.size, sorted(set(mine["k"].to_pylist()))[:2], mine.num_rows)
"""


def start(address: str, rank: int, **more: str) -> subprocess.Popen[str]:
    inherited = {k: v for k, v in os.environ.items() if not k.startswith("CROSSDOCK_")}
    given = {"CONTROL": address, "JOB": "test", "RANK": str(rank), "RANKS": "2", **more}
    return subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdout=subprocess.PIPE,
        text=True,
        env=inherited | {f"CROSSDOCK_{name}": value for name, value in given.items()},
    )


def test_ranks_meet_and_leave_nothing_behind(
    cluster: Any, comes_true: Callable[[Callable[[], bool]], bool]
) -> None:
    cluster.controller()
    agent = cluster.agent("node0", "--listen", "127.0.0.1:0")
    agent.wait_for("has joined")
    address = agent.wait_for("serves applications at").rpartition(" ")[2]
    ranks = [start(address, rank) for rank in range(2)]
    said = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert said == ["0 2 [0, 2] 1000\n", "1 2 [1, 3] 1000\n"]
    with control.connect(cluster.address) as plane:
        assert plane.status().channels_created == 1, "that of the exchange was planned"
        assert comes_true(lambda: plane.status().endpoints == 0)
        assert not plane.status().channels


def test_ranks_meet_at_a_controller_with_tls(cluster: Any, authority: Any) -> None:
    """By variables alone, as the verbs of the command line do."""
    pair = ("--tls-cert", authority.path("server.pem"), "--tls-key", authority.path("server.key"))
    cluster.controller(*pair)
    with pytest.raises(xd.ControlError, match=r"speaks TLS(?s:.*)CROSSDOCK_CONTROL_CA"):
        xd.join_group(rank=0, ranks=2, control=cluster.address, job="test")
    ranks = [start(cluster.address, rank, CONTROL_CA=authority.path("ca.pem")) for rank in range(2)]
    said = [rank.communicate(timeout=60)[0] for rank in ranks]
    assert said == ["0 2 [0, 2] 1000\n", "1 2 [1, 3] 1000\n"]


def test_an_authority_that_cannot_be_read_is_named(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    given = {"CONTROL": "127.0.0.1:1", "JOB": "test", "RANK": "0", "RANKS": "2"}
    for name, value in {**given, "CONTROL_CA": str(tmp_path / "none.pem")}.items():
        monkeypatch.setenv(f"CROSSDOCK_{name}", value)
    with pytest.raises(xd.OptionError, match=r"none\.pem cannot be read"):
        xd.join_group()


def test_what_cannot_be_joined_is_refused() -> None:
    with pytest.raises(xd.OptionError, match="either meet or control"):
        xd.join_group(rank=0, ranks=2, meet="/tmp", control="127.0.0.1:7614")
    with pytest.raises(xd.OptionError, match="needs a name of its own"):
        xd.join_group(rank=0, ranks=2, control="127.0.0.1:7614")
    with pytest.raises(xd.ControlError, match="CD-611"):
        xd.join_group(rank=0, ranks=2, control="127.0.0.1:1", job="test")
