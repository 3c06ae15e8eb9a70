"""Plain TCP over the links of a place, by iperf3: one link alone, and all that a pattern uses."""

from __future__ import annotations

import json

from channels import places
from channels.places import Place

PORT = 5201
TEST_S = 3
Pair = tuple[int, int]


def link_rates(place: Place) -> list[float]:
    """Bytes per second of each link by itself, from host 1 to host 0."""
    rates = []
    for link in range(len(place.rates)):
        said = places.server_and_client(
            place,
            f"iperf3 -s -1 -p {PORT}",
            f"iperf3 -c 10.77.{link}.1 -p {PORT} -t {TEST_S} -J",
        )
        rates.append(json.loads(said)["end"]["sum_received"]["bits_per_second"] / 8)
    return rates


def pairs_of(pattern: str, hosts: int) -> list[Pair]:
    """Hosts between which the pattern moves bytes: from, to."""
    if pattern == "gather":
        return [(host, 0) for host in range(1, hosts)]
    if pattern in ("scatter", "broadcast"):
        return [(0, host) for host in range(1, hosts)]
    return [(a, b) for a in range(hosts) for b in range(hosts) if a != b]


def rate_together(place: Place, pattern: str) -> float:
    """Bytes per second of all pairs of a pattern on all links at the same time: their sum. Not the
    time of so many bytes: streams begin one after the other, and tell only their own time."""
    pairs = pairs_of(pattern, place.ranks)
    links = len(place.rates)
    listens: dict[int, list[str]] = {host: [] for host in range(place.ranks)}
    sends: dict[int, list[str]] = {host: [] for host in range(place.ranks)}
    for number, (a, b) in enumerate(pairs):
        for link in range(links):
            port = PORT + number * links + link
            listens[b].append(f"iperf3 -s -1 -p {port} > /dev/null &")
            sends[a].append(
                f"iperf3 -c 10.77.{link}.{b + 1} -p {port} -t {TEST_S} -J > $OUT/rate{port} &"
            )
    cases = "\n".join(
        f"{host})\n{lines(listens[host])}\n{places.ports_listen(len(listens[host]))}\n"
        f"{places.all_come(place, 'ready')}\n{lines(sends[host])}\nwait\n;;"
        for host in range(place.ranks)
    )
    files = places.on_hosts(place, f"case $TEST_HOST in\n{cases}\nesac")
    ends = [json.loads(text)["end"] for name, text in files.items() if name.startswith("rate")]
    total: float = sum(end["sum_received"]["bits_per_second"] / 8 for end in ends)
    return total


def lines(commands: list[str]) -> str:
    return "\n".join(commands)
