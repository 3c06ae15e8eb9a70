"""The rows of the channels bench. Adding one is adding an entry to `WORKS`."""

from __future__ import annotations

from collections.abc import Callable

from channels.growth_work import GrowthWork
from channels.memory_work import MemoryWork
from channels.peers import MIB, ChannelWork
from channels.places import Disturbance, Place, Said

GBIT = "1gbit"
LARGE_SEGMENTS = {"segment": MIB, "slots": 2, "batch": 1 << 14}  # four slots stay in the cache
# Batches of 1 MiB, the same one over and over, in segments that stay in a second-level cache.
LIKE_PERFTEST = {"segment": 1 << 16, "slots": 3, "batch": 1 << 16, "table": MIB}
OVER_LINKS = 48 * MIB  # 0.4 s over one link of 1 Gbit
# MiB of a source in a collective: one to two seconds at the links of the busiest host, so that
# start and end of all pairs do not decide.
COLLECTIVES = {
    GBIT: {"exchange": 384, "gather": 96, "scatter": 288, "broadcast": 96},
    "200mbit": {"exchange": 96, "gather": 24, "scatter": 72, "broadcast": 24},
}
DEEP = {"slots": 5}  # 32 segments of 256 KiB: four links have 16 under way, and as many wait
FASTER = {
    "max-flow": 0.9,
    "openmpi": 1.0,
    "openmpi-ucx": 1.0,
    "ucx-plain": 1.0,
    "ucx-plain-sleeps": 1.0,
}
# Both ways, and so that TCP does not notice: what is on the way is lost in silence. The slow link
# keeps its bucket: a smaller one would never let a whole packet of 64 KiB through again.
CUT = "tc qdisc replace dev link1 root blackhole"
SLOWED = "tc qdisc replace dev link1 root tbf rate 100mbit burst 250kb latency 20ms"
DISTURBED_AFTER_S = 0.15
# Two links move as much as each other in a run without disturbance, and two such runs are counted.
SLOWED_SHARE = 0.8


def sent_over(said: Said, device: str) -> int:
    sent: int = sum(
        link["bytes_sent"] for link in said["links"] if link["name"].startswith(f"{device} ")
    )
    return sent


def is_not_cut(said: Said) -> str:
    """A cut link is one that a mover has given up."""
    lost = [link["name"] for link in said["links"] if link["is_lost"]]
    if lost and all(name.startswith("link1 ") for name in lost):
        return ""
    return f"links lost: {', '.join(lost) or 'none'}"


def is_not_slowed(said: Said) -> str:
    first, second = sent_over(said, "link0"), sent_over(said, "link1")
    return "" if second < SLOWED_SHARE * first else f"link0 moved {first} bytes, link1 {second}"


def collective(pattern: str, rate: str) -> ChannelWork:
    each = COLLECTIVES[rate][pattern]
    return ChannelWork(
        name=f"{pattern}-4-hosts-{rate}",
        title=f"{pattern}, 4 hosts, 2 x {rate}, {each} MiB each",
        pattern=pattern,
        place=Place(4, (rate, rate)),
        bytes=each * MIB,
        bars=FASTER,
        peers=("iperf3-together",),
    )


def skewed(theta: int) -> ChannelWork:
    return ChannelWork(
        name=f"zipf-{theta}",
        title=f"4 endpoints to 4, 4 links: Zipf {theta}" + (", beside none" if theta else ""),
        pattern="bisection",
        place=Place(2, ("250mbit",) * 4),
        threads=4,
        bytes=12 * MIB,
        options={"zipf": theta, "segment": 1 << 17},
        bars={"zipf-0": 0.9} if theta else {},
        peers=("static", "iperf3"),
    )


def disturbed(name: str, title: str, command: str, problem: Callable[[Said], str]) -> ChannelWork:
    return ChannelWork(
        name=name,
        title=title,
        pattern="p2p",
        place=Place(2, (GBIT, GBIT)),
        bytes=2 * OVER_LINKS,
        options=DEEP,
        bars={},
        peers=("undisturbed", "1-link"),
        disturbance=Disturbance(command, DISTURBED_AFTER_S, problem),
    )


WORKS = (
    ChannelWork(
        name="exchange-threads",
        title="exchange of 16-byte rows, 2 threads",
        pattern="exchange",
        place=Place(),
        threads=2,
        bytes=128 * MIB,
        bars={"scatter": 0.5},
    ),
    ChannelWork(
        name="p2p-shm",
        title="p2p of 2 processes, segments of 1 MiB",
        pattern="p2p",
        place=Place(2),
        bytes=256 * MIB,
        options=LARGE_SEGMENTS,
        bars={"memcpy": 0.8, "openmpi": 1.0, "openmpi-ucx": 1.0, "ucx-plain": 1.0},
        peers=("memcpy-8MiB", "ucx"),
    ),
    ChannelWork(
        name="p2p-shm-cached",
        title="same, one MiB over and over, as ucx_perftest",
        pattern="p2p",
        place=Place(2),
        bytes=256 * MIB,
        options=LIKE_PERFTEST,
        bars={"ucx": 1.0},
        peers=("memcpy-8MiB",),
    ),
    ChannelWork(
        name="p2p-1-link",
        title="p2p of 2 hosts, 1 Gbit",
        pattern="p2p",
        place=Place(2, (GBIT,)),
        bytes=OVER_LINKS,
        bars={"iperf3": 0.95},
        peers=("openmpi", "ucx"),
    ),
    ChannelWork(
        name="p2p-2-links",
        title="p2p of 2 hosts, 2 x 1 Gbit, beside one",
        pattern="p2p",
        place=Place(2, (GBIT,) * 2),
        bytes=2 * OVER_LINKS,
        options=DEEP,
        bars={"1-link": 1.95},
        peers=("iperf3", "openmpi", "ucx"),
    ),
    ChannelWork(
        name="p2p-4-links",
        title="p2p of 2 hosts, 4 x 1 Gbit, beside one",
        pattern="p2p",
        place=Place(2, (GBIT,) * 4),
        bytes=4 * OVER_LINKS,
        options=DEEP,
        bars={"1-link": 3.8},
        peers=("iperf3", "openmpi", "ucx"),
    ),
    ChannelWork(
        name="p2p-unequal",
        title="p2p of 2 hosts, 1 Gbit + 250 Mbit",
        pattern="p2p",
        place=Place(2, (GBIT, "250mbit")),
        bytes=2 * OVER_LINKS,
        options=DEEP,
        bars={"iperf3": 0.92},
        peers=("openmpi", "ucx"),
    ),
    *(collective(pattern, rate) for rate in ("200mbit", GBIT) for pattern in COLLECTIVES[rate]),
    *(skewed(theta) for theta in (0, 1, 2)),
    disturbed("cut", "p2p, 2 x 1 Gbit, one cut after 0.15 s", CUT, is_not_cut),
    disturbed("slowed", "same, one slowed to a tenth", SLOWED, is_not_slowed),
    ChannelWork(
        name="pipelining",
        title="scatter to 2 hosts, 8 Gbit, beside its longer part",
        pattern="scatter",
        place=Place(3, ("8gbit",)),
        bytes=256 * MIB,
        bars={"longer-alone": 1 / 1.15},
        peers=("sum-alone",),
    ),
)

GROWTH = GrowthWork(
    name="growth",
    title="1,024 channels of 64 endpoints, one by one",
    channel=ChannelWork(
        name="growth",
        title="",
        pattern="exchange",
        place=Place(),
        threads=64,
        bytes=1 << 14,
        options={"segment": 1 << 12, "slots": 0},
        bars={},
    ),
    channels=128,
    rounds=8,
)

MEMORY = MemoryWork(
    name="memory",
    title="memory of an endpoint, 2 hosts, whatever the data",
    channel=ChannelWork(
        name="memory",
        title="",
        pattern="exchange",
        place=Place(2, (GBIT, GBIT)),
        bytes=16 * MIB,
        options={"repeats": 1},
        bars={},
    ),
    cases={
        "rows of 16 bytes": {},
        "Zipf 2": {"zipf": 2},
        "rows of 512 bytes": {"columns": 64},
        "rows of 512 bytes, Zipf 2": {"columns": 64, "zipf": 2},
        "four times the rows": {"bytes": 64 * MIB},
    },
)
