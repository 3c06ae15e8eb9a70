"""crossdock controller, agent and status, as far as they need no other process; the rest is in
tests/control/rpc."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from crossdock import control
from crossdock_cli import control_options

STATUS = control.ControlStatus(
    epoch="e7f3a1c2",
    up_s=12.4,
    endpoints=3,
    open_channels=1,
    channels_created=5,
    channels_closed=4,
    agents=(
        control.AgentStatus("node0", "joined", 8, 8, 2, 1, 0.13),
        control.AgentStatus("node10", "away", 4, 1, 1, 1, 3.0),
    ),
    channels=tuple(
        control.ChannelStatus(f"e7f3a1c2-{i}", "open" if i == 25 else "closing", 2, 130, 2)
        for i in range(1, 26)
    ),
)


@pytest.fixture
def answered(monkeypatch: pytest.MonkeyPatch) -> None:
    """Any server that is asked answers with STATUS."""
    pytest.importorskip("crossdock._control")
    monkeypatch.setattr(control.Connection, "status", lambda _: STATUS)


@pytest.mark.usefixtures("answered")
def test_status(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    ended = crossdock("status")
    assert (ended.code, ended.err) == (0, "")
    golden("status", ended.out)


@pytest.mark.usefixtures("answered")
def test_status_as_json(crossdock: Any) -> None:
    said = json.loads(crossdock("status", "--json", "--at", "head:7613").out)
    assert (said["schema_version"], said["address"]) == (1, "head:7613")
    assert said["agents"][1]["state"] == "away"
    assert len(said["channels"]) == 25


@pytest.mark.parametrize("verb", ["controller", "agent", "status"])
def test_without_grpc_it_says_what_to_install(
    crossdock: Any, monkeypatch: pytest.MonkeyPatch, verb: str
) -> None:
    monkeypatch.setitem(sys.modules, "crossdock._control", None)
    ended = crossdock(verb)
    assert ended.code == 1
    assert "crossdock.ControlError [CD-508]" in ended.err
    assert "libgrpc++-dev" in ended.err


def test_wrong_usage(crossdock: Any, tmp_path: Path) -> None:
    pytest.importorskip("crossdock._control")
    ended = crossdock("agent", "--machine", "dgx-2", "--file", "x")
    assert (ended.code, "exclude each other" in ended.err) == (2, True)
    ended = crossdock("controller", "--listen", "nowhere")
    assert (ended.code, '"nowhere" is no address' in ended.err) == (1, True)
    ended = crossdock("controller", "--token-file", str(tmp_path / "none"))
    assert (ended.code, "CD-502" in ended.err) == (1, True)
    two = tmp_path / "two.json"
    two.write_text(crossdock("topo", "--machine", "gh200:2", "--json").out, encoding="utf-8")
    ended = crossdock("agent", "--file", str(two), "--name", "other")
    assert (ended.code, "none is called 'other'" in ended.err) == (1, True)


@pytest.mark.parametrize("verb", ["controller", "agent", "status"])
@pytest.mark.parametrize("held", ["", " \n"])
def test_a_token_file_without_a_token_does_not_switch_the_check_off(
    crossdock: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, verb: str, held: str
) -> None:
    pytest.importorskip("crossdock._control")
    path = tmp_path / "token"
    path.write_text(held, encoding="utf-8")
    for variable in (None, "0123456789abcdef"):
        if variable is not None:
            monkeypatch.setenv("CROSSDOCK_CONTROL_TOKEN", variable)
        ended = crossdock(verb, "--token-file", str(path))
        assert ended.code == 1
        assert "[CD-105]: --token-file" in ended.err
        assert "holds no token" in ended.err
        assert "limits   16 to 4096 bytes" in ended.err


def test_times_and_sizes_that_cannot_be(crossdock: Any) -> None:
    pytest.importorskip("crossdock._control")
    ended = crossdock("status", "--timeout", "nan")
    assert (ended.code, "timeout_s=nan is no time to wait" in ended.err) == (1, True)
    ended = crossdock("controller", "--heartbeat", "60")
    assert (ended.code, "--lost-after is at least twice --heartbeat" in ended.err) == (1, True)
    assert "try      --lost-after 120" in ended.err
    for verb in ("controller", "agent"):
        ended = crossdock(verb, "--message-limit", "lots")
        assert (ended.code, 'try      --message-limit="64MiB"' in ended.err) == (1, True)
        for size in ("8GiB", "1"):
            ended = crossdock(verb, "--message-limit", size)
            assert (ended.code, f"--message-limit is {size}" in ended.err) == (1, True)
            assert "limits   1KiB to 1GiB" in ended.err


@pytest.mark.parametrize("address", ["http://head:7613", "node 1:80"])
def test_what_cannot_be_a_host_is_not_looked_up(crossdock: Any, address: str) -> None:
    pytest.importorskip("crossdock._control")
    ended = crossdock("status", "--at", address)
    assert (ended.code, f'"{address}" is no address' in ended.err) == (1, True)


def test_a_status_that_fails_does_not_advise_itself(crossdock: Any) -> None:
    pytest.importorskip("crossdock._control")
    ended = crossdock("status", "--at", "127.0.0.1:1", "--timeout", "0.3")
    assert (ended.code, "CD-611" in ended.err) == (1, True)
    assert "crossdock status" not in ended.err


def test_the_default_address_is_that_of_the_engine() -> None:
    native = pytest.importorskip("crossdock._control")
    assert native.ClientSettings().address == control_options.ADDRESS
    assert native.ServerSettings().listen == control_options.ADDRESS


def test_the_token_is_not_shown(crossdock: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSDOCK_CONTROL_TOKEN", "0123456789abcdef")
    for options in ((), ("--json",)):
        out = crossdock("config", "list", *options).out
        assert "(hidden)" in out
        assert "0123456789abcdef" not in out
