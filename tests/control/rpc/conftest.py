"""A cluster of real processes on this machine: `crossdock controller` and `crossdock agent`."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

pytest.importorskip("crossdock._control")

sys.path.insert(0, str(Path(__file__).resolve().parent))  # for slow_requests.py

PATIENCE_S = 20.0
QUICK = ("--heartbeat", "0.2", "--lost-after", "1", "--recover-within", "4")


class Process:
    """A crossdock command, and the lines it has said on standard error."""

    def __init__(
        self, *arguments: str, environment: dict[str, str] | None = None, files: int | None = None
    ) -> None:
        limit = [] if files is None else ["prlimit", f"--nofile={files}:{files}"]
        self.said: list[str] = []
        self._news = threading.Condition()
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("CROSSDOCK_")}
        self._process = subprocess.Popen(
            [*limit, sys.executable, "-m", "crossdock_cli.main", *arguments],
            stderr=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            text=True,
            env=inherited | (environment or {}),
        )
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            with self._news:
                self.said.append(line.rstrip("\n"))
                self._news.notify_all()

    def wait_for(self, pattern: str, times: int = 1) -> str:
        """The line that matches, the n-th of them."""
        deadline = time.monotonic() + PATIENCE_S
        with self._news:
            while True:
                match = [line for line in self.said if re.search(pattern, line)]
                if len(match) >= times:
                    return match[times - 1]
                left_s = deadline - time.monotonic()
                assert left_s > 0, f"no line {pattern!r} but {self.said}"
                self._news.wait(left_s)

    @property
    def number(self) -> int:
        """Of the process, which prlimit becomes."""
        return self._process.pid

    def send(self, number: signal.Signals) -> None:
        self._process.send_signal(number)

    def ended(self) -> int:
        """The exit code, once it has ended."""
        return self._process.wait(PATIENCE_S)

    def kill(self) -> None:
        self._process.kill()
        self._process.wait(PATIENCE_S)


class Cluster:
    """A controller and agents; all end with the test."""

    def __init__(self) -> None:
        self._processes: list[Process] = []
        self.address = ""

    def start(
        self, *arguments: str, environment: dict[str, str] | None = None, files: int | None = None
    ) -> Process:
        """`files`: how many the process may open; else as many as this one."""
        process = Process(*arguments, environment=environment, files=files)
        self._processes.append(process)
        return process

    def controller(
        self, *options: str, listen: str = "127.0.0.1:0", environment: dict[str, str] | None = None
    ) -> Process:
        process = self.start(
            "controller", "--listen", listen, *QUICK, *options, environment=environment
        )
        self.address = process.wait_for("^ready ").rpartition(" ")[2]
        return process

    def agent(self, name: str, *options: str) -> Process:
        return self.start(
            "agent", "--at", self.address, "--name", name, "--machine", "dgx-a100", *options
        )

    def agents(self, count: int, *options: str) -> list[Process]:
        """node0, node1 ..., joined."""
        result = [self.agent(f"node{i}", *options) for i in range(count)]
        for agent in result:
            agent.wait_for("has joined")
        return result

    def end(self) -> None:
        for process in self._processes:
            process.kill()


@pytest.fixture
def cluster() -> Iterator[Cluster]:
    result = Cluster()
    yield result
    result.end()


@pytest.fixture(scope="session")
def comes_true() -> Callable[[Callable[[], bool]], bool]:
    """Waits for a condition; false if it does not come."""

    def wait(condition: Callable[[], bool]) -> bool:
        deadline = time.monotonic() + PATIENCE_S
        while time.monotonic() < deadline:
            if condition():
                return True
            time.sleep(0.02)
        return False

    return wait


class Authority:
    """Keys and certificates, made by openssl."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._run("req", "-x509", *self._key("ca"), "-out", "ca.pem", "-subj", "/CN=test authority",
                  "-days", "2")  # fmt: skip
        (folder / "names").write_text("subjectAltName=IP:127.0.0.1,DNS:localhost\n")

    def _key(self, name: str) -> list[str]:
        curve = "ec_paramgen_curve:P-256"
        return ["-newkey", "ec", "-pkeyopt", curve, "-nodes", "-keyout", f"{name}.key"]

    def _run(self, *arguments: str) -> None:
        subprocess.run(["openssl", *arguments], cwd=self._folder, check=True, capture_output=True)

    def path(self, name: str) -> str:
        return str(self._folder / name)

    def sign(self, name: str, days: int = 2) -> None:
        """NAME.pem and NAME.key; negative days make one that is over."""
        self._run("req", *self._key(name), "-out", f"{name}.csr", "-subj", f"/CN={name}")
        self._run("x509", "-req", "-in", f"{name}.csr", "-CA", "ca.pem", "-CAkey", "ca.key",
                  "-CAcreateserial", "-out", f"{name}.pem", "-days", str(days),
                  "-extfile", "names")  # fmt: skip


@pytest.fixture(scope="session")
def authority(tmp_path_factory: pytest.TempPathFactory) -> Authority:
    """ca.pem, and the certificates server, expired and caller."""
    result = Authority(tmp_path_factory.mktemp("tls"))
    result.sign("server")
    result.sign("caller")
    result.sign("expired", days=-1)
    return result
