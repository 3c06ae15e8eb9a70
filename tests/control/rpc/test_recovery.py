"""Controllers and agents that are killed, frozen and started again: no channel is lost or made
twice."""

from __future__ import annotations

import signal
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pyarrow as pa
import pytest
from crossdock import control
from crossdock.errors import ColumnError, ControlError

GPUS = [f"gpu{i}" for i in range(2)]


def endpoints_of(plane: control.Connection, agents: int) -> list[str]:
    return [plane.create_endpoint(f"node{i}", gpu) for i in range(agents) for gpu in GPUS]


def test_channels_among_agents(cluster: Any, comes_true: Any) -> None:
    cluster.controller()
    cluster.agents(3)
    plane = control.connect(cluster.address)
    ends = endpoints_of(plane, 3)
    channel = plane.create_channel(ends[:4], ends[2:])
    schema = pa.schema([("id", pa.int64()), ("name", pa.string())])
    keyed = plane.create_channel(ends[:1], ends, schema=schema, partition_key=["id"])
    with pytest.raises(ColumnError, match="'no' is not one column"):
        plane.create_channel(ends[:1], ends, schema=schema, partition_key=["no"])
    plane.delete_channel(keyed)
    status = plane.status()
    assert [agent.name for agent in status.agents] == ["node0", "node1", "node2"]
    assert {(agent.gpus, agent.endpoints, agent.channels) for agent in status.agents} == {(8, 2, 1)}
    (open_channel,) = status.channels
    assert (open_channel.id, open_channel.state) == (channel, "open")
    assert (open_channel.sources, open_channel.destinations, open_channel.agents) == (4, 4, 3)
    plane.delete_channel(channel)
    plane.delete_channel(channel)
    assert plane.status().open_channels == 0
    plane.delete_endpoint(ends[0])
    assert comes_true(lambda: plane.status().endpoints == 5)


def test_a_repeated_request_makes_one_channel(cluster: Any) -> None:
    cluster.controller()
    cluster.agents(2)
    plane = control.connect(cluster.address)
    request = "0123456789abcdef0123456789abcdef"
    first = plane.create_endpoint("node0", "gpu0", request=request)
    assert plane.create_endpoint("node0", "gpu0", request=request) == first
    ends = [first, plane.create_endpoint("node1", "gpu0")]
    request = "fedcba9876543210fedcba9876543210"
    with ThreadPoolExecutor(8) as pool:
        result = set(
            pool.map(lambda _: plane.create_channel(ends, ends, request=request), range(8))
        )
    assert len(result) == 1
    assert plane.status().open_channels == 1


def test_the_controller_is_killed_under_load(cluster: Any, comes_true: Any) -> None:
    controller = cluster.controller()
    agents = cluster.agents(3)
    plane = control.connect(cluster.address, timeout_s=20)
    ends = endpoints_of(plane, 3)
    before = [plane.create_channel(ends, ends) for _ in range(20)]
    first_epoch = plane.status().epoch

    def create(number: int) -> str:
        return plane.create_channel([ends[number % 6]], [ends[(number + 2) % 6]])

    with ThreadPoolExecutor(4) as pool:
        creations = [pool.submit(create, number) for number in range(400)]
        assert comes_true(lambda: sum(creation.done() for creation in creations) >= 50)
        controller.kill()
        assert not all(creation.done() for creation in creations)
        cluster.controller(listen=cluster.address)
        result = [creation.result() for creation in creations]
    assert len(set(result)) == 400
    for agent in agents:
        agent.wait_for("has joined", times=2)
    status = plane.status()
    assert status.epoch != first_epoch
    assert comes_true(lambda: plane.status().open_channels == 420)
    assert {channel.id for channel in plane.status().channels} == {*before, *result}
    held = Counter({agent.name: agent.channels for agent in plane.status().agents})
    assert sum(held.values()) == 20 * 3 + 400 * 2
    assert comes_true(lambda: all(c.state == "open" for c in plane.status().channels))
    for channel in (before[0], result[0], result[-1]):
        plane.delete_channel(channel)
    assert plane.status().open_channels == 417


def test_an_agent_is_killed(cluster: Any, comes_true: Any) -> None:
    cluster.controller()
    agents = cluster.agents(3)
    plane = control.connect(cluster.address)
    ends = endpoints_of(plane, 3)
    plane.create_channel(ends, ends)
    kept = plane.create_channel(ends[:4], ends[:4])
    agents[2].kill()
    assert comes_true(lambda: [c.id for c in plane.status().channels] == [kept])
    assert comes_true(lambda: len(plane.status().agents) == 2)
    with pytest.raises(ControlError, match="node2") as raised:
        plane.create_endpoint("node2", "gpu0")
    assert raised.value.code in ("CD-614", "CD-617")
    cluster.agent("node2").wait_for("has joined")
    again = [plane.create_endpoint("node2", "gpu0"), ends[0]]
    plane.create_channel(again, again)
    assert {channel.state for channel in plane.status().channels} == {"open"}


def test_an_agent_is_frozen(cluster: Any, comes_true: Any) -> None:
    cluster.controller()
    agents = cluster.agents(2)
    plane = control.connect(cluster.address)
    ends = endpoints_of(plane, 2)
    plane.create_channel(ends, ends)
    agents[1].send(signal.SIGSTOP)
    try:
        assert comes_true(lambda: plane.status().open_channels == 0)
        assert comes_true(lambda: plane.status().agents[0].channels == 0)
    finally:
        agents[1].send(signal.SIGCONT)
    agents[1].wait_for("has joined", times=2)
    assert comes_true(lambda: [a.channels for a in plane.status().agents] == [0, 0])
    fresh = [plane.create_endpoint("node1", "gpu0"), ends[0]]
    plane.create_channel(fresh, fresh)


def test_a_name_that_no_agent_has_is_refused_while_agents_may_come_back(cluster: Any) -> None:
    cluster.controller("--recover-within", "60")
    cluster.agents(1)
    plane = control.connect(cluster.address, timeout_s=1)
    with pytest.raises(ControlError, match="did you mean 'node0'") as raised:
        plane.create_endpoint("nod0", "gpu0")
    assert raised.value.code == "CD-611"
    assert "agents have 60 s to come back" in str(raised.value)
    plane.create_endpoint("node0", "gpu0")


def test_two_agents_with_one_name(cluster: Any) -> None:
    cluster.controller()
    cluster.agents(1)
    second = cluster.agent("node0")
    assert second.ended() == 1
    assert "crossdock.ControlError [CD-615]" in second.wait_for("node0")
    assert [a.state for a in control.connect(cluster.address).status().agents] == ["joined"]


def test_an_agent_passes_requests_on(cluster: Any, comes_true: Any) -> None:
    controller = cluster.controller("--recover-within", "0")
    cluster.agents(1)
    agent = cluster.agent("local", "--listen", "127.0.0.1:0")
    address = agent.wait_for("serves applications at").rpartition(" ")[2]
    agent.wait_for("has joined")
    plane = control.connect(address, timeout_s=3)
    ends = [plane.create_endpoint("local", "gpu0"), plane.create_endpoint("node0", "gpu0")]
    plane.create_channel(ends, ends)
    assert control.connect(cluster.address).status().open_channels == 1
    with pytest.raises(ControlError, match="CD-614"):
        plane.create_endpoint("unknown", "gpu0")
    controller.kill()
    with pytest.raises(ControlError, match="CD-611") as raised:
        plane.status()
    assert cluster.address in str(raised.value)
    agent.wait_for("CD-611")
    cluster.controller(listen=cluster.address)
    agent.wait_for("has joined", times=2)
    assert comes_true(lambda: plane.status().open_channels == 1)


@pytest.mark.parametrize(
    ("number", "code", "words"),
    [(signal.SIGTERM, 0, "stopped"), (signal.SIGINT, 130, "interrupted")],
)
def test_processes_end_when_asked(
    cluster: Any, number: signal.Signals, code: int, words: str
) -> None:
    controller = cluster.controller()
    (agent,) = cluster.agents(1)
    for process in (agent, controller):
        process.send(number)
        assert process.ended() == code
        process.wait_for(words)
        assert not any("Traceback" in line for line in process.said)
