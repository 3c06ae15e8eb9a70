"""What is refused, and with which words: tokens, certificates, messages, limits."""

from __future__ import annotations

import os
import socket
from pathlib import Path
from typing import Any

import pytest
from crossdock import control
from crossdock.control_diagnosis import diagnose
from crossdock.errors import ControlError, CrossdockError

TOKEN = "0123456789abcdef0123456789abcdef"


def refusal(address: str, **options: Any) -> str:
    """The error of a first call."""
    with pytest.raises(CrossdockError) as raised:
        control.connect(address, timeout_s=5, **options).status()
    return str(raised.value)


@pytest.fixture
def token_file(tmp_path: Path) -> str:
    path = tmp_path / "token"
    path.write_text(TOKEN + "\n")
    return str(path)


def test_no_controller_answers() -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{unused.getsockname()[1]}"
        for timeout_s, waited in ((0.5, "waited 0."), (2.0, "waited 2.0 s")):
            with pytest.raises(ControlError) as raised:
                control.connect(address, timeout_s=timeout_s).status()
            assert raised.value.code == "CD-611"
            assert address in raised.value.text
            assert waited in raised.value.text


@pytest.mark.parametrize("timeout_s", [float("nan"), float("inf"), 0, -1])
def test_times_that_are_none(timeout_s: float) -> None:
    with pytest.raises(CrossdockError, match=r"CD-105.*timeout_s="):
        control.connect("127.0.0.1:1", timeout_s=timeout_s)


def unheard(cluster: Any, address: str, *options: str) -> str:
    """What a controller says that cannot listen."""
    process = cluster.start("controller", "--listen", address, *options)
    assert process.ended() == 1
    return str(process.wait_for(r"CD-611.*cannot listen on"))


def test_why_it_cannot_listen(cluster: Any, authority: Any, tmp_path: Path) -> None:
    cluster.controller()
    assert "another process has the port" in unheard(cluster, cluster.address)
    elsewhere = unheard(cluster, "192.0.2.1:7613", "--insecure")  # of no machine: RFC 5737
    assert "the address is not one of this machine" in elsewhere
    pair = ("--tls-cert", authority.path("server.pem"), "--tls-key", authority.path("caller.key"))
    assert "the key is of another certificate" in unheard(cluster, "127.0.0.1:0", *pair)
    bad = tmp_path / "bad.pem"
    bad.write_text("no certificate", encoding="ascii")
    pair = ("--tls-cert", str(bad), "--tls-key", authority.path("server.key"))
    assert "certificate and key cannot be read" in unheard(cluster, "127.0.0.1:0", *pair)
    good = ("--tls-cert", authority.path("server.pem"), "--tls-key", authority.path("server.key"))
    said = unheard(cluster, "127.0.0.1:0", *good, "--client-ca", str(bad))
    assert "the authority of the callers cannot be read" in said


def test_a_call_leaves_time_for_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    spans: list[float] = []

    def noted(address: str, security: Any, within_s: float) -> CrossdockError | None:
        spans.append(within_s)
        return diagnose(address, security, within_s)

    monkeypatch.setattr(control, "diagnose", noted)
    # It takes connections and says nothing: a diagnosis would wait for it without an end.
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        for tls in (False, True):
            with pytest.raises(ControlError, match="CD-611"):
                control.connect(address, timeout_s=3, tls=tls).status()
    assert 1 <= len(spans) <= 2  # on a busy machine the first try may take all the time
    assert all(0 < span < 1 for span in spans)


def test_tokens(cluster: Any, token_file: str) -> None:
    cluster.controller("--token-file", token_file)
    assert control.connect(cluster.address, token=TOKEN).status().agents == ()
    assert "[CD-612] a token is wanted" in refusal(cluster.address)
    assert "[CD-612] the token is not the one" in refusal(cluster.address, token=TOKEN[::-1])
    assert "[CD-612] the token is not the one" in refusal(cluster.address, token=TOKEN + "0")
    stranger = cluster.agent("stranger")
    assert stranger.ended() == 1
    stranger.wait_for(r"\[CD-612\]: a token is wanted")
    cluster.agent("node0", "--token-file", token_file, "--listen", "127.0.0.1:0")


def test_a_token_of_the_environment(cluster: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    cluster.controller(environment={"CROSSDOCK_CONTROL_TOKEN": TOKEN})
    assert "[CD-612]" in refusal(cluster.address)
    monkeypatch.setenv("CROSSDOCK_CONTROL_TOKEN", TOKEN)
    assert control.connect(cluster.address).status().agents == ()
    assert "[CD-105] the token has 3 bytes" in refusal(cluster.address, token="abc")


def test_an_open_port_wants_tls_and_a_token(cluster: Any, authority: Any, token_file: str) -> None:
    tls = ("--tls-cert", authority.path("server.pem"), "--tls-key", authority.path("server.key"))
    bare = cluster.start("controller", "--listen", "0.0.0.0:0")
    assert bare.ended() == 1
    bare.wait_for(r"\[CD-612\]: 0.0.0.0:0 can be reached from other machines, and there is no TLS")
    no_token = cluster.start("controller", "--listen", "0.0.0.0:0", *tls)
    assert no_token.ended() == 1
    no_token.wait_for("there is no token")
    warned = cluster.start("controller", "--listen", "0.0.0.0:0", "--insecure")
    port = warned.wait_for("^ready ").rpartition(":")[2]
    # The address that is open, and how to close it.
    warned.wait_for(rf"^warn .*--insecure: .* 0\.0\.0\.0:{port} .*--tls-cert.*--token-file")
    cluster.start("controller", "--listen", "0.0.0.0:0", *tls, "--token-file", token_file).wait_for(
        "^ready "
    )
    for address in ("head:7613", "127.example.com:7613"):
        assert "[CD-612] the token would travel in the clear" in refusal(address, token=TOKEN)


def test_tls(cluster: Any, authority: Any, token_file: str) -> None:
    cluster.controller("--tls-cert", authority.path("server.pem"),
                       "--tls-key", authority.path("server.key"),
                       "--token-file", token_file)  # fmt: skip
    good = control.Tls(ca=authority.path("ca.pem"))
    assert control.connect(cluster.address, tls=good, token=TOKEN).status().agents == ()
    assert "[CD-612] a token is wanted" in refusal(cluster.address, tls=good)
    assert f"[CD-612] {cluster.address} speaks TLS" in refusal(cluster.address)
    assert "[CD-612] the certificate of" in refusal(cluster.address, tls=True, token=TOKEN)
    agent = cluster.agent("node0", "--ca", authority.path("ca.pem"), "--token-file", token_file)
    agent.wait_for("has joined")
    astray = cluster.agent("node1")
    assert astray.ended() == 1
    astray.wait_for("speaks TLS")


def test_an_agent_serves_its_own_machine(cluster: Any, authority: Any) -> None:
    cluster.controller("--recover-within", "0")
    open_port = cluster.agent("node0", "--listen", "0.0.0.0:0")
    assert open_port.ended() == 1
    open_port.wait_for(r"\[CD-612\]: 0.0.0.0:0 can be reached from other machines, and an agent")
    open_port.wait_for("try .*127.0.0.1:7614")
    assert not [line for line in open_port.said if "--insecure" in line]
    certificate = ("--cert", authority.path("caller.pem"), "--key", authority.path("caller.key"))
    lender = cluster.agent("node1", "--listen", "127.0.0.1:0", *certificate)
    assert lender.ended() == 1
    lender.wait_for(r"\[CD-612\]: a process that reaches 127.0.0.1:0 would speak .* certificate")


def test_remarks_beside_a_certificate(tmp_path: Path) -> None:
    remarked = tmp_path / "ca.pem"
    remarked.write_bytes(b"# Z\xfcrich\n-----BEGIN CERTIFICATE-----\n")
    assert control.read_pem(remarked) == "# Zrich\n-----BEGIN CERTIFICATE-----\n"


def test_an_expired_certificate(cluster: Any, authority: Any) -> None:
    cluster.controller("--tls-cert", authority.path("expired.pem"),
                       "--tls-key", authority.path("expired.key"))  # fmt: skip
    said = refusal(cluster.address, tls=control.Tls(ca=authority.path("ca.pem")))
    assert "[CD-612]" in said
    assert "certificate has expired" in said
    agent = cluster.agent("node0", "--ca", authority.path("ca.pem"))
    assert agent.ended() == 1
    agent.wait_for("certificate has expired")


def test_certificates_of_callers(cluster: Any, authority: Any) -> None:
    cluster.controller("--tls-cert", authority.path("server.pem"),
                       "--tls-key", authority.path("server.key"),
                       "--client-ca", authority.path("ca.pem"))  # fmt: skip
    ca = authority.path("ca.pem")
    known = control.Tls(ca, authority.path("caller.pem"), authority.path("caller.key"))
    assert control.connect(cluster.address, tls=known).status().agents == ()
    assert "wants a certificate of the caller" in refusal(cluster.address, tls=control.Tls(ca))
    over = control.Tls(ca, authority.path("expired.pem"), authority.path("expired.key"))
    assert "refuses the certificate of the caller" in refusal(cluster.address, tls=over)


def test_tls_to_a_port_without(cluster: Any, authority: Any) -> None:
    cluster.controller()
    said = refusal(cluster.address, tls=control.Tls(ca=authority.path("ca.pem")))
    assert f"[CD-612] {cluster.address} does not speak TLS" in said


def test_messages_above_the_limit(cluster: Any) -> None:
    cluster.controller("--message-limit", "100KiB")
    plane = control.connect(cluster.address)
    many = [f"00000001-{i}" for i in range(1, 20_000)]
    with pytest.raises(ControlError, match=r"(?s)CD-613.*above the limit.*102400.*--message-limit"):
        plane.create_channel(many, many)
    # An agent whose report is too large gets an answer, and is not left in silence.
    cluster.controller("--message-limit", "2KiB")
    cluster.agent("node0").wait_for("CD-613.*above the limit")


def test_bytes_that_are_no_message(cluster: Any) -> None:
    cluster.controller()
    host, port = cluster.address.split(":")
    for junk in (
        os.urandom(4096),
        b"GET / HTTP/1.1\r\n\r\n",
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n" + b"\xff" * 64,
    ):
        with socket.create_connection((host, int(port)), timeout=10) as stream:
            stream.sendall(junk)
            while stream.recv(4096):  # the server answers what it likes, and hangs up
                pass
    assert control.connect(cluster.address).status().agents == ()


def test_limits(cluster: Any) -> None:
    cluster.controller("--channels-max", "2", "--endpoints-max", "3", "--agents-max", "1")
    cluster.agents(1)
    plane = control.connect(cluster.address)
    ends = [plane.create_endpoint("node0", f"gpu{i}") for i in range(3)]
    with pytest.raises(ControlError, match=r"CD-616.*3"):
        plane.create_endpoint("node0", "gpu4")
    channels = [plane.create_channel(ends, ends) for _ in range(2)]
    with pytest.raises(ControlError, match=r"CD-616.*2"):
        plane.create_channel(ends, ends)
    plane.delete_channel(channels[0])
    plane.create_channel(ends, ends)
    cluster.agent("node1").wait_for("CD-616")


def test_unknown_names_and_ids(cluster: Any) -> None:
    cluster.controller("--recover-within", "0")
    cluster.agents(1)
    plane = control.connect(cluster.address)
    with pytest.raises(ControlError, match="CD-614"):
        plane.create_endpoint("node7", "gpu0")
    with pytest.raises(ControlError, match="CD-614"):
        plane.create_endpoint("node0", "gpu99")
    end = plane.create_endpoint("node0", "gpu0")
    with pytest.raises(CrossdockError, match="CD-105"):
        plane.create_channel([end], ["nonsense"])
    with pytest.raises(CrossdockError, match="CD-105"):
        plane.create_endpoint("node0", "gpu0", request="short")
