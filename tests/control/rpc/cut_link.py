"""What each host does in test_network.py: host0 has the controller and an application, the others
an agent each, and host1's only link is cut and repaired. Hosts share the folder given as the
argument; a file there is a signal. host0 prints what the test compares."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from crossdock import ControlError, control

ADDRESS = "10.77.0.1:7613"
PATIENCE_S = 30.0


def command(*arguments: str, **options: Any) -> subprocess.Popen[str]:
    words = [sys.executable, "-m", "crossdock_cli.main", *arguments, "--insecure"]
    return subprocess.Popen(words, text=True, **options)


class Said:
    """What a process says, passed on line by line."""

    def __init__(self, process: subprocess.Popen[str]) -> None:
        self.lines: list[str] = []
        self._reader = threading.Thread(target=self._pass_on, args=(process.stdout,))
        self._reader.start()

    def _pass_on(self, lines: Iterable[str]) -> None:
        for line in lines:
            print(line, end="", flush=True)
            self.lines.append(line)

    def count(self, text: str) -> int:
        return sum(text in line for line in self.lines)

    def join(self) -> None:
        self._reader.join()


def wait(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.05)


def set_link(state: str) -> None:
    subprocess.run(["ip", "link", "set", "link0", state], check=True)


def host_with_agent(signals: Path) -> None:
    output = {"stdout": subprocess.PIPE, "stderr": subprocess.STDOUT}
    agent = command("agent", "--at", ADDRESS, "--machine", "dgx-a100", **output)
    said = Said(agent)
    if os.environ["TEST_HOST"] == "1":
        wait((signals / "cut").exists, "the signal to cut")
        set_link("down")
        wait((signals / "repair").exists, "the signal to repair")
        set_link("up")
        wait(lambda: said.count("has joined") == 2, "the agent to say that it is back")
        (signals / "back").touch()
    wait((signals / "end").exists, "the end")
    agent.terminate()
    said.join()
    raise SystemExit(agent.wait())


def host_with_controller(signals: Path) -> None:
    times = ["--heartbeat", "0.2", "--lost-after", "1", "--recover-within", "0"]
    controller = command("controller", "--listen", ADDRESS, *times)
    with control.connect(ADDRESS, insecure=True) as plane:

        def joined() -> list[str]:
            return sorted(one.name for one in plane.status().agents if one.state == "joined")

        wait(lambda: joined() == ["host1", "host2"], "both agents")
        ends = [plane.create_endpoint(name, "gpu0") for name in joined()]
        channel = plane.create_channel(ends, ends)
        (result,) = plane.status().channels
        print("made", result.id == channel, result.state, result.agents)

        (signals / "cut").touch()
        wait(lambda: joined() == ["host2"], "the loss of host1")
        wait(lambda: not plane.status().channels, "the end of the channel")
        print("cut", plane.status().endpoints)
        try:
            plane.create_channel(ends, ends)
        except ControlError as error:
            print("refused", error.code)

        (signals / "repair").touch()
        wait(lambda: joined() == ["host1", "host2"], "the return of host1")
        ends[0] = plane.create_endpoint("host1", "gpu0")
        plane.create_channel(ends, ends)
        (result,) = plane.status().channels
        print("repaired", result.id != channel, result.state, result.agents, flush=True)
    wait((signals / "back").exists, "host1 to say that it is back")
    (signals / "end").touch()
    controller.terminate()
    raise SystemExit(controller.wait())


if __name__ == "__main__":
    if os.environ["TEST_HOST"] == "0":
        host_with_controller(Path(sys.argv[1]))
    host_with_agent(Path(sys.argv[1]))
