"""What channels are held against: seconds that others need to move the same bytes.

Each peer is called with the row and answers samples. Those named in a row's bars count.
"""

from __future__ import annotations

import json
import subprocess
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from harness.programs import ProgramError, output_of

from channels import iperf, places
from channels.places import Disturbance, Place

MIB = 1 << 20
WINDOW_BYTES = 8 * MIB
CALL_REPEATS = 3
PORT = iperf.PORT
# Open MPI looks for fabrics first and says so; over shared memory and TCP both are its own choice.
UCX_OPTIONS = (
    "--mca",
    "pml",
    "ucx",
    "--mca",
    "pml_ucx_tls",
    "any",
    "--mca",
    "pml_ucx_devices",
    "any",
)


@dataclass(frozen=True, slots=True, kw_only=True)
class ChannelWork:
    """`bars`: peer -> least ratio of its time to ours. `peers`: further ones, only shown."""

    name: str
    title: str
    pattern: str
    place: Place
    bytes: int  # of each source
    bars: Mapping[str, float]
    peers: tuple[str, ...] = ()
    options: Mapping[str, object] = field(default_factory=dict)  # of perf_bench
    threads: int = 1  # endpoints of a process
    disturbance: Disturbance | None = None  # of ours

    def command(self, programs: Path, **others: object) -> list[str]:
        repeats = 1 if self.disturbance else CALL_REPEATS
        options = {"bytes": self.bytes, "endpoints": self.threads, "repeats": repeats}
        options |= dict(self.options) | others
        words = [f"{name}={value}" for name, value in options.items()]
        return [str(programs / "perf_bench"), self.pattern, *words]

    def endpoints(self) -> int:
        return self.place.ranks * self.threads

    def busiest_bytes(self) -> float:
        """Bytes that the host with most of them must send, or receive, over its links. Those of a
        broadcast leave their host once for each other one: none passes them on."""
        sent = self.bytes * self.threads
        others = self.place.ranks - 1
        if self.pattern == "exchange":
            return sent * others / self.place.ranks
        return sent * (others if self.pattern in ("gather", "broadcast") else 1)

    def moved_bytes(self) -> float:
        """Bytes that go from host to host, all together."""
        busiest = self.busiest_bytes()
        return busiest * self.place.ranks if self.pattern == "exchange" else busiest


@dataclass(slots=True)
class Peers:
    """`programs`: folder of the built ones. Rates of links are measured once per place."""

    programs: Path
    iperf_rates: dict[Place, list[float]] = field(default_factory=dict)
    rates_together: dict[tuple[Place, str], float] = field(default_factory=dict)

    def run(self, name: str, work: ChannelWork) -> list[float]:
        return self.forms()[name](work)

    def forms(self) -> dict[str, Callable[[ChannelWork], list[float]]]:
        return {
            "memcpy": self.memcpy,
            "memcpy-8MiB": self.memcpy_in_cache,
            "scatter": self.scatter,
            "openmpi": self.openmpi,
            "openmpi-ucx": self.openmpi_ucx,
            "ucx": self.ucx,
            "ucx-plain": self.ucx_plain,
            "ucx-plain-sleeps": self.ucx_plain_sleeps,
            "iperf3": self.iperf3,
            "iperf3-together": self.iperf3_together,
            "1-link": self.one_link,
            "max-flow": self.max_flow,
            "zipf-0": self.without_skew,
            "static": self.static,
            "undisturbed": self.undisturbed,
            "longer-alone": self.longer_alone,
            "sum-alone": self.sum_alone,
        }

    def program(self, name: str, *arguments: object) -> list[float]:
        said = json.loads(output_of([str(self.programs / name), *map(str, arguments)]))
        samples: list[float] = said["samples_s"]
        return samples

    def memcpy(self, work: ChannelWork) -> list[float]:
        return self.program("mapping_copy_bench", work.bytes, MIB, work.bytes, CALL_REPEATS)

    def memcpy_in_cache(self, work: ChannelWork) -> list[float]:
        return self.program("mapping_copy_bench", work.bytes, MIB, WINDOW_BYTES, CALL_REPEATS)

    def scatter(self, work: ChannelWork) -> list[float]:
        """To as many lists as there are endpoints, a power of two."""
        bits = (work.endpoints() - 1).bit_length()
        return self.program("scatter_bench", work.threads, bits, work.bytes, CALL_REPEATS)

    def openmpi(self, work: ChannelWork, options: tuple[str, ...] = ()) -> list[float]:
        if not (self.programs / "mpi_peer").exists():
            raise ProgramError("mpi_peer was not built: install libopenmpi-dev")
        command = [
            str(self.programs / "mpi_peer"),
            work.pattern,
            str(work.bytes),
            str(CALL_REPEATS),
        ]
        samples: list[float] = places.by_mpi(work.place, command, options)["samples_s"]
        return samples

    def openmpi_ucx(self, work: ChannelWork) -> list[float]:
        return self.openmpi(work, UCX_OPTIONS)

    def ucx(self, work: ChannelWork) -> list[float]:
        """ucx_perftest, messages of 1 MiB with a tag, 16 under way, as it chooses to send them."""
        count = max(work.bytes // MIB, 1)
        test = (
            f"ucx_perftest -t tag_bw -s {MIB} -n {count} -w {max(count // 4, 1)} -O 16 -f -p {PORT}"
        )
        if work.place.rates:
            said = places.server_and_client(
                work.place, f"ucx_perftest -p {PORT}", test.replace(" ", " 10.77.0.1 ", 1)
            )
        else:
            said = local_ucx(test)
        # The last line: iterations, three times, then MiB per second on average and over all.
        numbers = [line.split() for line in said.splitlines() if line.strip()[:1].isdigit()]
        if not numbers:
            raise ProgramError(f"ucx_perftest says no rate: {said}")
        return [work.bytes / (float(numbers[-1][5]) * MIB)]

    def ucx_plain(self, work: ChannelWork, wait: str = "yield") -> list[float]:
        """One UCX context for all links, as ucx_peer.cpp says."""
        if not (self.programs / "ucx_peer").exists():
            raise ProgramError("ucx_peer was not built: install libucx-dev")
        # What UCX logs goes to the standard output.
        command = ["env", "UCX_LOG_LEVEL=fatal", f"UCX_PEER_WAIT={wait}"]
        command += [str(self.programs / "ucx_peer"), work.pattern, str(work.bytes)]
        said = places.ours(work.place, [*command, str(CALL_REPEATS)])
        samples: list[float] = said["samples_s"]
        return samples

    def ucx_plain_sleeps(self, work: ChannelWork) -> list[float]:
        return self.ucx_plain(work, "sleep")

    def link_rates(self, place: Place) -> list[float]:
        """Bytes per second of each link by itself, by iperf3."""
        if place not in self.iperf_rates:
            self.iperf_rates[place] = iperf.link_rates(place)
        return self.iperf_rates[place]

    def iperf3(self, work: ChannelWork) -> list[float]:
        """All links together, each as fast as iperf3 alone."""
        return [work.bytes * work.threads / sum(self.link_rates(work.place))]

    def iperf3_together(self, work: ChannelWork) -> list[float]:
        """At the rate of a TCP stream on each link of each pair of the pattern, all at once: what
        the machine can do with plain TCP."""
        key = (work.place, work.pattern)
        if key not in self.rates_together:
            self.rates_together[key] = iperf.rate_together(*key)
        return [work.moved_bytes() / self.rates_together[key]]

    def max_flow(self, work: ChannelWork) -> list[float]:
        """The bound by the links of the busiest host, at the rates that iperf3 finds."""
        host_bytes = work.busiest_bytes()
        return [host_bytes / sum(self.link_rates(work.place))]

    def one_link(self, work: ChannelWork) -> list[float]:
        place = Place(work.place.ranks, work.place.rates[:1])
        return self.ours(work, place)

    def without_skew(self, work: ChannelWork) -> list[float]:
        return self.ours(work, work.place, zipf=0)

    def static(self, work: ChannelWork) -> list[float]:
        """Each flow keeps to the link that its name chooses."""
        return self.ours(work, work.place, static=1)

    def undisturbed(self, work: ChannelWork) -> list[float]:
        return self.ours(work, work.place)

    def ours(self, work: ChannelWork, place: Place, **others: object) -> list[float]:
        samples: list[float] = places.ours(place, work.command(self.programs, **others))[
            "samples_s"
        ]
        return samples

    def alone(self, work: ChannelWork) -> list[tuple[float, float]]:
        """Partitioning by the source in one process; the bytes that leave it by iperf3's rate."""
        moved_s = work.busiest_bytes() / sum(self.link_rates(work.place))
        return [(partitioned_s, moved_s) for partitioned_s in self.scatter(work)]

    def longer_alone(self, work: ChannelWork) -> list[float]:
        return [max(parts) for parts in self.alone(work)]

    def sum_alone(self, work: ChannelWork) -> list[float]:
        return [sum(parts) for parts in self.alone(work)]


def local_ucx(test: str) -> str:
    """Two processes of this machine, over UCX's shared memory."""
    over_memory = ["env", "UCX_TLS=shm,self"]
    server = subprocess.Popen(
        [*over_memory, "ucx_perftest", "-p", str(PORT)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        end = time.monotonic() + places.LISTEN_LIMIT_S
        while f":{PORT}" not in output_of(["ss", "-tln"]) and time.monotonic() < end:
            time.sleep(0.05)
        words = test.split()
        return output_of([*over_memory, words[0], "127.0.0.1", *words[1:]])
    finally:
        server.kill()
        server.wait()
