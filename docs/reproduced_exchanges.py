"""Exchanges of MGI and counts of Arkouda beside simulated ones: two pages of docs/reproduce.py."""

from __future__ import annotations

import json

from crossdock import _native
from crossdock.machines.simulated_ranks import rates_named
from crossdock.machines.simulation import JoinSize, Strategy, simulate
from crossdock.machines.topology import Topology
from reproduced_points import STREAMING, Point, points_table, table

# ---- Wu et al.: exchanges among GPUs ------------------------------------------------------------

# Section 6.2: each GPU has some 50 GB; arranged at 48 GB/s, which is what Figure 1a leaves.
SHARD = JoinSize(50e9 / 16, 0, each=True)
ARRANGING = 48e9 / 16
SINGLE = Strategy("bulk, one path", bulk=True, single_path=True)


def with_one_nic(name: str) -> Topology:
    """A machine of the catalogue whose servers use their first NIC alone."""
    graph = Topology.machine(name).to_dict()
    for shape in graph["shapes"]:
        nics = [vertex["name"] for vertex in shape["vertices"] if vertex["kind"] == "nic"]
        unused = set(nics[1:])
        shape["vertices"] = [one for one in shape["vertices"] if one["name"] not in unused]
        shape["edges"] = [one for one in shape["edges"]
                          if not {one["from"], one["to"]} & unused]  # fmt: skip
    return Topology(_native.topology_from_json(json.dumps(graph)), f"{name}, one NIC")


def exchange_gain(name: str, one_nic: bool) -> float:
    """Streaming over all paths, as a multiple of arranging first and sending over one."""
    rates = rates_named("a100", 16).replaced({"partition": ARRANGING})
    ours = simulate(SHARD, name, compare=[STREAMING], rates=rates).planned
    machine = with_one_nic(name) if one_nic else Topology.machine(name)
    other = simulate(SHARD, machine, compare=[SINGLE], rates=rates).planned
    return other.phase("arrange") / ours.phase("exchange") + other.phase("exchange") / ours.phase(
        "exchange"
    )


def path_gain(name: str, source: str, destination: str) -> float:
    plan = Topology.machine(name).plan(source, destination, "64GiB")
    return plan.bytes_per_s / max(way.bytes_per_s for way in plan.ways)


# What, machine, whether the other uses one NIC, and how much higher UCX's and NCCL's share is.
EXCHANGES = (
    ("8 A100 (Figure 10a)", "testbed-1", False, 2.77, 1.61),
    ("3 x 4 H100 (Figure 11a)", "testbed-3", True, 3.42, 4.55),
    ("Topo1 to 3 (Figure 13), the best", "topo-1", False, 1.50, 1.94),
    ("Topo4 (Figure 13)", "topo-4", True, 3.74, 5.16),
)


def exchange_points() -> list[tuple[str, Point, Point]]:
    points = []
    for what, name, one_nic, ucx, nccl in EXCHANGES:
        gain = exchange_gain(name, one_nic)
        points.append((what, Point(what, ucx, gain), Point(what, nccl, gain)))
    return points


def path_points() -> list[Point]:
    """Theirs are "200 %+" and "260 %+" higher: at least three and 3.6 times."""
    return [
        Point("inside a server (Figure 12c)", 3.0, path_gain("testbed-2", "gpu0", "gpu1")),
        Point("between servers (Figure 12f)", 3.6,
              path_gain("testbed-3", "node0/gpu0", "node1/gpu0")),
    ]  # fmt: skip


def exchanges() -> str:
    rows = [
        (what, f"{ucx.theirs:.2f}", f"{nccl.theirs:.2f}", f"{ucx.ours:.2f}",
         f"{ucx.error:+.0%}", f"{nccl.error:+.0%}")
        for what, ucx, nccl in exchange_points()
    ]  # fmt: skip
    head = ("exchange", "over UCX", "over NCCL", "simulated", "error, UCX", "error, NCCL")
    return f"""# Exchanges among GPUs, simulated

Wu et al., *MGI* (PVLDB 19(9), 2026), exchange rows among the GPUs of a server and of three, beside UCX and NCCL. Their text has ratios of throughput and no throughputs. Simulated is the ratio of streaming over all paths to what their peers do in form: arrange all rows first, then
send them over one path of each pair; between servers over one NIC, as "UCX 1-NIC" does. 50 GB a GPU, arranged at 48 GB/s: Figure 1a brings 44 GB/s down to 23 by arranging first. `python docs/reproduce.py` writes this page; a test asserts its numbers.

{table(head, rows)}

What NICs decide is near: four of them carry what one would in a quarter of the time. What NVLinks decide is not: simulated, arranging takes most of the time and a link inside a server carries its specification with whatever library, so that hiding one behind the other gains little.
UCX and NCCL reach less of those links there, by how much the text does not say.

## From one GPU to another (section 6.3)

As many times as the widest path alone carries; theirs are lower bounds.

{points_table(path_points(), "to another GPU", "times")}
"""  # noqa: E501


# ---- Arkouda: counts of buckets -----------------------------------------------------------------

BUCKETS, BUFFER = 1 << 16, 8192  # "64K buckets", "8K aggregation buffers"
# Seconds of a trivial sort before and after; the last is a Cray XC, others oversubscribed.
SORTS = (
    (40, "40 node IB", 0.6, 0.15),
    (240, "240 node IB (6x oversub)", 90.0, 1.7),
    (512, "512 node IB (~12x oversub)", 560.0, 7.1),
    (512, "512 node XC", 3.0, 0.5),
)
TASKS = (16, 32, 64, 128)  # not stated


def bucket_counts(nodes: int, tasks: int) -> dict[str, int]:
    return _native.bucket_messages(nodes, tasks, BUCKETS, BUFFER)


def sort_buckets() -> str:
    rows = []
    for nodes, what, before_s, after_s in SORTS:
        gains = []
        for tasks in TASKS:
            counts = bucket_counts(nodes, tasks)
            gains.append(f"{counts['task buffers'] / counts['chunk buffers']:.1f}")
        rows.append((what, f"{before_s / after_s:.1f}", *gains))
    head = ("configuration", "time, before / after", *(f"messages, T={tasks}" for tasks in TASKS))
    counts = [
        (f"{nodes}", *(f"{count:,}" for count in bucket_counts(nodes, 32).values()))
        for nodes in (40, 240, 512)
    ]
    forms = tuple(bucket_counts(40, 32))
    return f"""# Counts of buckets, counted

Arkouda's pull request 1635, *Reduce sort bucket exchange overhead* (2022), has tasks of a node put their counts together before they send them: 64 K buckets, aggregation buffers of 8 K elements. It gives times of a trivial sort before and after. Ours counts the messages of both forms with the
formulas that our own sorts choose by (`bucket_traffic`); how many tasks a node has is not stated, so it is a parameter. `python docs/reproduce.py` writes this page.

{table(head, rows)}

Times and messages are not the same thing, so no error is given: before, tasks also flushed in lockstep to one node after the other, and made aggregators that they used once; and 240 and 512 nodes were run on 40, which makes overheads larger than they are. Both ratios grow from 40 nodes
to 240, and a message saved is worth more where 12 processes share a node: on 512 nodes of the XC time fell six times.

All forms, messages of one digit with 32 tasks a node; the third is what that pull request proposes, and the last two are ours:

{table(("nodes", *forms), counts)}
"""  # noqa: E501
