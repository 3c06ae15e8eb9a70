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

from channels import places
from channels.places import Place

MIB = 1 << 20
WINDOW_BYTES = 8 * MIB
CALL_REPEATS = 3
IPERF_S = 3
PORT = 5201
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

    def command(self, programs: Path, **others: object) -> list[str]:
        options = {"bytes": self.bytes, "endpoints": self.threads, "repeats": CALL_REPEATS}
        options |= dict(self.options) | others
        words = [f"{name}={value}" for name, value in options.items()]
        return [str(programs / "perf_bench"), self.pattern, *words]

    def endpoints(self) -> int:
        return self.place.ranks * self.threads

    def busiest_bytes(self) -> float:
        """Bytes that the endpoint with most of them must send, or receive, over its links."""
        others = self.endpoints() - 1
        if self.pattern == "exchange":
            return self.bytes * others / self.endpoints()
        return self.bytes * (others if self.pattern in ("gather", "broadcast") else 1)


@dataclass(slots=True)
class Peers:
    """`programs`: folder of the built ones. Rates of links are measured once per place."""

    programs: Path
    iperf_rates: dict[Place, list[float]] = field(default_factory=dict)

    def run(self, name: str, work: ChannelWork) -> list[float]:
        forms: dict[str, Callable[[ChannelWork], list[float]]] = {
            "memcpy": self.memcpy,
            "memcpy-8MiB": self.memcpy_in_cache,
            "scatter": self.scatter,
            "openmpi": self.openmpi,
            "openmpi-ucx": self.openmpi_ucx,
            "ucx": self.ucx,
            "iperf3": self.iperf3,
            "1-link": self.one_link,
            "max-flow": self.max_flow,
            "zipf-0": self.without_skew,
            "longer-alone": self.longer_alone,
        }
        return forms[name](work)

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

    def link_rates(self, place: Place) -> list[float]:
        """Bytes per second of each link by itself, by iperf3."""
        if place not in self.iperf_rates:
            rates = []
            for link in range(len(place.rates)):
                said = places.server_and_client(
                    place,
                    f"iperf3 -s -1 -p {PORT}",
                    f"iperf3 -c 10.77.{link}.1 -p {PORT} -t {IPERF_S} -J",
                )
                rates.append(json.loads(said)["end"]["sum_received"]["bits_per_second"] / 8)
            self.iperf_rates[place] = rates
        return self.iperf_rates[place]

    def iperf3(self, work: ChannelWork) -> list[float]:
        """All links together, each as fast as iperf3 alone."""
        return [work.bytes / sum(self.link_rates(work.place))]

    def max_flow(self, work: ChannelWork) -> list[float]:
        """The bound by the links of the busiest host, at the rates that iperf3 finds."""
        host_bytes = work.busiest_bytes()
        return [host_bytes / sum(self.link_rates(work.place))]

    def one_link(self, work: ChannelWork) -> list[float]:
        place = Place(work.place.ranks, work.place.rates[:1])
        return self.ours(work, place)

    def without_skew(self, work: ChannelWork) -> list[float]:
        return self.ours(work, work.place, zipf=0)

    def ours(self, work: ChannelWork, place: Place, **others: object) -> list[float]:
        samples: list[float] = places.ours(place, work.command(self.programs, **others))[
            "samples_s"
        ]
        return samples

    def longer_alone(self, work: ChannelWork) -> list[float]:
        """Partitioning in one process, or the bytes that leave a host by iperf3's rate."""
        scattered = self.scatter(work)
        moved_s = work.busiest_bytes() / sum(self.link_rates(work.place))
        return [max(one, moved_s) for one in scattered]


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
