"""Makes several hosts out of this machine, joined by links of known rates; runs a command on each.

    python tools/hosts.py --hosts 4 --links 2 --rate 1gbit -- ./program --its-options

A host is a set of namespaces of its own: network, host name, /dev/shm and System V memory, so that
what runs on two hosts can meet over their links only. Host i is called host<i>, and its address on
link k is 10.77.<k>.<i + 1>; "host<i>" resolves to the one on its first link. Each link has a
switch, and what goes from a host to a switch, or back, passes a token bucket (tbf) of the link's
rate. Links may differ: --rate 1gbit,250mbit. TCP on them is CUBIC, as Linux has it.

--links 2 puts every host on both links. --links 0-1,1-2 says who is on which: hosts 0 and 1 on
link 0, hosts 1 and 2 on link 1. That is a chain: no host routes for others, so from host 0 to
host 2 only a program on host 1 can pass something on.

The command finds TEST_HOST (its number) and TEST_HOSTS (how many) in its environment. Its
lines are printed with the host's name before them. When one command fails, the others are ended,
and its exit status is the whole's. All of it lives in one process-id namespace, whose end is the
end of everything in it: nothing is left on the machine, even if this is killed. Needs root, and
Debian's iproute2.
"""

from __future__ import annotations

import argparse
import ctypes
import os
import re
import selectors
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import IO

HOSTS_MAX = 250
LINKS_MAX = 16
GRACE_S = 5.0  # from being asked to end until being killed
QUEUE_MS = 20  # what a token bucket lets wait before it drops
# What TCP hands over at once (64 KiB) fits with its headers. Where it does not, the bucket cuts it
# into frames, for which NICs have hardware: with 64 KiB that took half of 2 cores at 8 x 200 Mbit.
BURST_BYTES = 128 * 1024
# Of TCP: Linux's own choice, whatever the machine's administrator has chosen. How streams share a
# link decides how long a collective takes.
CONGESTION_CONTROL = "cubic"

CLONE_NEWNS = 0x00020000
CLONE_NEWPID = 0x20000000
CLONE_NEWNET = 0x40000000
PR_SET_PDEATHSIG = 1

# Runs on a host before the command: memory and a name that no other host sees.
PRIVATE = 'mount -t tmpfs tmpfs /dev/shm && hostname "$0" && exec "$@"'


@dataclass(frozen=True)
class Layout:
    hosts: int
    links: tuple[tuple[int, ...], ...]  # the hosts on each
    rates: tuple[str, ...]  # per link, as tc spells it
    command: tuple[str, ...]


class HostsError(Exception):
    """The hosts cannot be made; its text is for the user."""


def address(host: int, link: int) -> str:
    return f"10.77.{link}.{host + 1}"


def links_of(host: int, layout: Layout) -> list[int]:
    return [link for link, joined in enumerate(layout.links) if host in joined]


# ---- what the user asked for ---------------------------------------------------------------------


def parse_links(text: str, hosts: int) -> tuple[tuple[int, ...], ...]:
    """The hosts on each link, from "2" or "0-1,1-2". ValueError says what is wrong with it."""
    if re.fullmatch(r"\d+", text):
        if not 1 <= int(text) <= LINKS_MAX:
            raise ValueError(f"it must be from 1 to {LINKS_MAX}")
        return (tuple(range(hosts)),) * int(text)
    links = []
    for part in text.split(","):
        if not re.fullmatch(r"\d+(-\d+)+", part):
            raise ValueError("write how many, or the hosts on each, such as 0-1,1-2")
        joined = tuple(int(number) for number in part.split("-"))
        if max(joined) >= hosts:
            raise ValueError(f"there is no host {max(joined)}, they count from 0 to {hosts - 1}")
        if len(set(joined)) < len(joined):
            raise ValueError(f"{part} has a host twice")
        links.append(joined)
    if len(links) > LINKS_MAX:
        raise ValueError(f"these are {len(links)}, the limit is {LINKS_MAX}")
    alone = set(range(hosts)).difference(*links)
    if alone:
        raise ValueError(f"host {min(alone)} is on none of them")
    return tuple(links)


def parse(arguments: list[str]) -> Layout:
    summary, _, rest = (__doc__ or "").partition("\n")
    parser = argparse.ArgumentParser(
        prog="hosts.py",
        description=summary,
        epilog=rest,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--hosts", type=int, required=True, help=f"how many, 1 to {HOSTS_MAX}")
    parser.add_argument(
        "--links",
        default="1",
        help=f"how many join all hosts, 1 to {LINKS_MAX}; or the hosts on each: 0-1,1-2",
    )
    parser.add_argument(
        "--rate", default="1gbit", help="of every link, or one for each: 1gbit,250mbit"
    )
    parser.add_argument("command", nargs="+", help="what every host runs, after --")
    options = parser.parse_args(arguments)
    if not 1 <= options.hosts <= HOSTS_MAX:
        parser.error(f"--hosts {options.hosts}: it must be from 1 to {HOSTS_MAX}")
    try:
        links = parse_links(options.links, options.hosts)
    except ValueError as wrong:
        parser.error(f"--links {options.links}: {wrong}")
    rates = options.rate.split(",")
    if len(rates) == 1:
        rates *= len(links)
    if len(rates) != len(links):
        parser.error(f"--rate {options.rate}: {len(rates)} rates for {len(links)} links")
    for rate in rates:
        if not re.fullmatch(r"[1-9]\d*[kmg]bit", rate):
            parser.error(f"--rate {rate}: write a whole number and kbit, mbit or gbit")
    return Layout(options.hosts, links, tuple(rates), tuple(options.command))


# ---- the network ---------------------------------------------------------------------------------


def run(*command: str) -> None:
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise HostsError(f"`{' '.join(command)}` failed: {result.stderr.strip()}")


def bits_per_s(rate: str) -> int:
    factor = {"k": 10**3, "m": 10**6, "g": 10**9}[rate[-4]]
    return int(rate[:-4]) * factor


def shape(device: str, rate: str, *within: str) -> None:
    """Lets `device` send no faster than `rate`. The bucket holds 2 ms of it, or BURST_BYTES."""
    burst = max(bits_per_s(rate) // 8 // 500, BURST_BYTES)
    bucket = ["tbf", "rate", rate, "burst", str(burst), "latency", f"{QUEUE_MS}ms"]
    run(*within, "tc", "qdisc", "add", "dev", device, "root", *bucket)


def connect(host: int, link: int, layout: Layout) -> None:
    """One end of the wire is link<k> on the host, the other a port of the link's switch."""
    name, port, wire = f"host{host}", f"port{link}-{host}", f"link{link}"
    inside = ["ip", "netns", "exec", name]
    run("ip", "link", "add", port, "type", "veth", "peer", "name", wire, "netns", name)
    run("ip", "link", "set", port, "master", f"switch{link}", "up")
    run(*inside, "ip", "addr", "add", f"{address(host, link)}/24", "dev", wire)
    run(*inside, "ip", "link", "set", wire, "up")
    route = [f"10.77.{link}.0/24", "dev", wire, "src", address(host, link)]
    route += ["proto", "kernel", "scope", "link", "congctl", CONGESTION_CONTROL]
    run(*inside, "ip", "route", "replace", *route)
    shape(port, layout.rates[link])
    shape(wire, layout.rates[link], *inside)


def let_switches_only_pass_on() -> None:
    """From port to port, as hardware does. Where Docker has loaded br_netfilter each frame would
    go through the machine's firewall: 3 % of all time of 2 cores at 8 x 1 Gbit."""
    for table in ("iptables", "ip6tables", "arptables"):
        setting = Path(f"/proc/sys/net/bridge/bridge-nf-call-{table}")
        if setting.exists():
            setting.write_text("0")


def make_network(layout: Layout) -> None:
    let_switches_only_pass_on()
    for link in range(len(layout.links)):
        run("ip", "link", "add", f"switch{link}", "type", "bridge")
        run("ip", "link", "set", f"switch{link}", "up")
    for host in range(layout.hosts):
        run("ip", "netns", "add", f"host{host}")
        run("ip", "netns", "exec", f"host{host}", "ip", "link", "set", "lo", "up")
        for link in links_of(host, layout):
            connect(host, link, layout)


def hide_from_machine(layout: Layout) -> None:
    """Namespaces' names, /proc and /etc/hosts of our own, in mounts that end with us."""
    run("mount", "--make-rprivate", "/")
    run("mount", "-t", "proc", "proc", "/proc")
    Path("/run/netns").mkdir(exist_ok=True)
    run("mount", "-t", "tmpfs", "tmpfs", "/run/netns")
    first = {host: address(host, links_of(host, layout)[0]) for host in range(layout.hosts)}
    names = ["127.0.0.1 localhost", *(f"{at} host{host}" for host, at in first.items())]
    with tempfile.NamedTemporaryFile("w") as file:  # the mount keeps it when its name is gone
        file.write("\n".join(names) + "\n")
        file.flush()
        Path(file.name).chmod(0o644)
        run("mount", "--bind", file.name, "/etc/hosts")


# ---- the commands --------------------------------------------------------------------------------


class Crew:
    """The commands on all hosts, and their output."""

    def __init__(self, layout: Layout) -> None:
        self.layout = layout
        self.processes: list[subprocess.Popen[bytes]] = []
        self.partial: dict[int, bytes] = {}
        self.status = 0

    def start(self, host: int) -> subprocess.Popen[bytes]:
        name = f"host{host}"
        enter = ["ip", "netns", "exec", name, "unshare", "--uts", "--ipc", "--mount"]
        given = {
            "TEST_HOST": str(host),
            "TEST_HOSTS": str(self.layout.hosts),
        }
        return subprocess.Popen(
            [*enter, "sh", "-c", PRIVATE, name, *self.layout.command],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            env=os.environ | given,
            start_new_session=True,
        )

    def print_from(self, host: int, pipe: IO[bytes]) -> bool:
        """Prints whole lines; false at the end of the output."""
        data = os.read(pipe.fileno(), 1 << 16)
        lines = (self.partial.pop(host, b"") + data).split(b"\n")
        if data:
            self.partial[host] = lines.pop()
        elif lines[-1] == b"":
            lines.pop()
        for line in lines:
            sys.stdout.buffer.write(b"host%d: %s\n" % (host, line))
        sys.stdout.buffer.flush()
        return bool(data)

    def end_all(self) -> None:
        for process in self.processes:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGTERM)
        deadline = time.monotonic() + GRACE_S
        for process in self.processes:
            try:
                process.wait(max(0.0, deadline - time.monotonic()))
            except subprocess.TimeoutExpired:
                os.killpg(process.pid, signal.SIGKILL)

    def note_end(self, host: int) -> None:
        status = self.processes[host].wait()
        if status != 0 and self.status == 0:
            self.status = 128 - status if status < 0 else status
            print(
                f"hosts: host{host} ended with status {self.status}; ending the others",
                file=sys.stderr,
            )
            self.end_all()

    def run(self) -> int:
        selector = selectors.DefaultSelector()
        try:
            for host in range(self.layout.hosts):
                process = self.start(host)
                self.processes.append(process)
                selector.register(process.stdout, selectors.EVENT_READ, host)  # type: ignore[arg-type]
            while selector.get_map():
                for key, _ in selector.select():
                    pipe: IO[bytes] = key.fileobj  # type: ignore[assignment]
                    if not self.print_from(key.data, pipe):
                        selector.unregister(pipe)
                        self.note_end(key.data)
            return self.status
        finally:
            self.end_all()


# ---- the namespace that all of it lives in -------------------------------------------------------


def inside(layout: Layout) -> int:
    """The first process of the namespace. When it ends, the kernel kills every other one in it."""
    ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    signal.signal(signal.SIGINT, lambda number, _: sys.exit(128 + number))
    try:
        hide_from_machine(layout)
        make_network(layout)
        return Crew(layout).run()
    except HostsError as failure:
        print(f"hosts: error: {failure}", file=sys.stderr)
        return 1


def enter_namespaces() -> None:
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.unshare(CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET) != 0:
        reason = os.strerror(ctypes.get_errno())
        raise HostsError(f"namespaces cannot be made: {reason}; run this as root")
    missing = [tool for tool in ("ip", "tc", "unshare", "mount") if shutil.which(tool) is None]
    if missing:
        raise HostsError(
            f"{', '.join(missing)} not found: install Debian's iproute2 and util-linux"
        )


def main() -> int:
    layout = parse(sys.argv[1:])
    try:
        enter_namespaces()
    except HostsError as failure:
        print(f"hosts: error: {failure}", file=sys.stderr)
        return 1
    child = os.fork()
    if child == 0:
        status = 1
        try:
            status = inside(layout)
        except SystemExit as ending:
            status = ending.code if isinstance(ending.code, int) else 1
        finally:
            sys.stdout.flush()
            os._exit(status)
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda number, _: os.kill(child, number))
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


if __name__ == "__main__":
    sys.exit(main())
