"""Hosts made of namespaces: apart, joined by the links that were asked for, gone afterwards."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

HOSTS = Path(__file__).parents[2] / "tools" / "hosts.py"
WAIT_S = 20.0  # for what happens at once on an idle machine

needs_root = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("tc") is None, reason="needs root and Debian's iproute2"
)


def command(*options: str, program: str) -> list[str]:
    return [sys.executable, str(HOSTS), *options, "--", sys.executable, "-c", program]


def run(*options: str, program: str = "") -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        command(*options, program=program), capture_output=True, text=True, check=False, timeout=60
    )


def lines_of(host: int, text: str) -> list[str]:
    start = f"host{host}: "
    return [line[len(start) :] for line in text.splitlines() if line.startswith(start)]


def machine_network() -> tuple[str, str]:
    links = subprocess.run(["ip", "-o", "link"], capture_output=True, text=True, check=True).stdout
    names = subprocess.run(["ip", "netns", "list"], capture_output=True, text=True, check=True)
    return links, names.stdout


@pytest.mark.parametrize(
    ("options", "said"),
    [
        (["--hosts", "0"], "--hosts 0: it must be from 1 to 250"),
        (["--hosts", "251"], "from 1 to 250"),
        (["--hosts", "2", "--links", "17"], "--links 17: it must be from 1 to 16"),
        (["--hosts", "3", "--links", "0-1,1-3"], "--links 0-1,1-3: there is no host 3"),
        (["--hosts", "3", "--links", "0-1"], "--links 0-1: host 2 is on none of them"),
        (["--hosts", "2", "--links", "0-0-1"], "--links 0-0-1: 0-0-1 has a host twice"),
        (["--hosts", "2", "--links", "0"], "--links 0: it must be from 1 to 16"),
        (["--hosts", "2", "--links", "chain"], "--links chain: write how many, or the hosts"),
        (["--hosts", "2", "--rate", "fast"], "--rate fast: write a whole number"),
        (["--hosts", "2", "--rate", "0gbit"], "--rate 0gbit"),
        (["--hosts", "2", "--links", "3", "--rate", "1gbit,2gbit"], "2 rates for 3 links"),
    ],
)
def test_impossible_options_are_refused(options: list[str], said: str) -> None:
    result = run(*options)
    assert result.returncode == 2
    assert said in result.stderr


@needs_root
def test_a_host_has_its_own_name_addresses_memory_and_rates() -> None:
    program = (
        "import os, socket, subprocess as s\n"
        "print(socket.gethostname(), os.environ['TEST_HOST'], os.environ['TEST_HOSTS'])\n"
        "print(socket.gethostbyname('host0'), socket.gethostbyname('host1'))\n"
        "open('/dev/shm/mine', 'x').close(); print(os.listdir('/dev/shm'))\n"
        "print(s.run(['ip', '-j', 'addr'], capture_output=True, text=True).stdout.strip())\n"
        "print(s.run(['tc', '-j', 'qdisc'], capture_output=True, text=True).stdout.strip())\n"
        "print(s.run(['ip', 'route'], capture_output=True, text=True).stdout.count('cubic'))\n"
    )
    result = run("--hosts", "2", "--links", "2", "--rate", "1gbit,250mbit", program=program)
    assert result.returncode == 0, result.stderr
    for host in range(2):
        name, addresses, memory, links, shapes, cubic = lines_of(host, result.stdout)
        assert name == f"host{host} {host} 2"
        assert addresses == "10.77.0.1 10.77.0.2"
        assert memory == "['mine']"
        assert {entry["ifname"]: entry["addr_info"][0]["local"] for entry in json.loads(links)} == {
            "lo": "127.0.0.1",
            "link0": f"10.77.0.{host + 1}",
            "link1": f"10.77.1.{host + 1}",
        }
        buckets = {
            entry["dev"]: entry["options"] for entry in json.loads(shapes) if entry["kind"] == "tbf"
        }
        rates = {link: bucket["rate"] for link, bucket in buckets.items()}
        assert rates == {"link0": 125_000_000, "link1": 31_250_000}  # bytes/s
        # Or the bucket would cut what TCP hands over, which is what NICs do for it.
        assert all(bucket["burst"] > 1.5 * 65_536 for bucket in buckets.values())
        assert cubic == "2"


@needs_root
def test_hosts_reach_each_other_over_every_link_and_nothing_else() -> None:
    with socket.create_server(("127.0.0.1", 0)) as outside:
        program = (
            "import os, socket, time\n"
            "me = int(os.environ['TEST_HOST'])\n"
            "for link in range(2):\n"
            "    if me == 0:\n"
            "        with socket.create_server((f'10.77.{link}.1', 7000)) as server:\n"
            "            for _ in range(2):\n"
            "                peer, where = server.accept()\n"
            "                print(link, where[0], peer.recv(100).decode())\n"
            "        continue\n"
            "    while True:\n"
            "        try:\n"
            "            peer = socket.create_connection((f'10.77.{link}.1', 7000)); break\n"
            "        except OSError: time.sleep(0.02)\n"
            "    peer.sendall(f'from {me}'.encode())\n"
            "try:\n"
            f"    socket.create_connection(('127.0.0.1', {outside.getsockname()[1]}))\n"
            "    print('reached the machine')\n"
            "except OSError as error: print(type(error).__name__)\n"
        )
        result = run("--hosts", "3", "--links", "2", program=program)
    assert result.returncode == 0, result.stderr
    *met, last = lines_of(0, result.stdout)
    assert sorted(met) == [
        "0 10.77.0.2 from 1",
        "0 10.77.0.3 from 2",
        "1 10.77.1.2 from 1",
        "1 10.77.1.3 from 2",
    ]
    assert last == "ConnectionRefusedError"


@needs_root
def test_hosts_of_a_chain_reach_their_neighbours_alone() -> None:
    program = (
        "import json, socket, subprocess as s\n"
        "links = json.loads(s.run(['ip', '-j', 'addr'], capture_output=True, text=True).stdout)\n"
        "print({e['ifname']: e['addr_info'][0]['local'] for e in links if e['ifname'] != 'lo'})\n"
        "print([socket.gethostbyname(f'host{host}') for host in range(3)])\n"
        "for address in ('10.77.0.1', '10.77.1.3'):\n"
        "    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:\n"
        "        try:\n"
        "            probe.connect((address, 9)); print('a way')\n"
        "        except OSError as error: print(error.strerror)\n"
    )
    result = run("--hosts", "3", "--links", "0-1,1-2", "--rate", "1gbit,2gbit", program=program)
    assert result.returncode == 0, result.stderr
    names = "['10.77.0.1', '10.77.0.2', '10.77.1.3']"
    none = "Network is unreachable"
    assert [lines_of(host, result.stdout) for host in range(3)] == [
        ["{'link0': '10.77.0.1'}", names, "a way", none],
        ["{'link0': '10.77.0.2', 'link1': '10.77.1.2'}", names, "a way", "a way"],
        ["{'link1': '10.77.1.3'}", names, none, "a way"],
    ]


@needs_root
def test_the_first_failure_ends_all_and_is_the_status_of_the_whole() -> None:
    program = (
        "import os, sys, time\nif os.environ['TEST_HOST'] == '1': sys.exit(7)\ntime.sleep(600)\n"
    )
    before = machine_network()
    result = run("--hosts", "3", program=program)
    assert result.returncode == 7
    assert "host1 ended with status 7; ending the others" in result.stderr
    assert machine_network() == before


@needs_root
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_nothing_is_left_however_it_ends(number: signal.Signals, tmp_path: Path) -> None:
    """A command on each host holds a lock on a file of its own, and does not listen to SIGTERM."""
    program = (
        "import fcntl, os, signal, time\n"
        "signal.signal(signal.SIGTERM, signal.SIG_IGN)\n"
        f"file = open(f'{tmp_path}/' + os.environ['TEST_HOST'], 'w')\n"
        "fcntl.flock(file, fcntl.LOCK_EX)\n"
        "print('ready', flush=True)\n"
        "time.sleep(600)\n"
    )
    before = machine_network()
    with subprocess.Popen(
        command("--hosts", "2", program=program), stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert {process.stdout.readline() for _ in range(2)} == {"host0: ready\n", "host1: ready\n"}
        process.send_signal(number)
        process.wait(WAIT_S)
        assert process.returncode != 0
    for host in range(2):
        with (tmp_path / str(host)).open("w") as file:
            give_up = time.monotonic() + WAIT_S
            while True:
                try:
                    fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
                    break
                except BlockingIOError:
                    assert time.monotonic() < give_up, f"the command of host{host} still runs"
                    time.sleep(0.05)
    assert machine_network() == before
