"""Arkouda's exchange of bucket counts beside a simulated one: a page of docs/reproduce.py."""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cache
from itertools import pairwise

from crossdock import _native
from reproduced_points import Point, points_table, table

BUCKETS, BUFFER = 1 << 16, 8192  # "64K buckets", "8K aggregation buffers"
# Seconds of a trivial sort before and after; the last is a Cray XC, others oversubscribed.
SORTS = (
    (40, "40 node IB", 0.6, 0.15),
    (240, "240 node IB (6x oversub)", 90.0, 1.7),
    (512, "512 node IB (~12x oversub)", 560.0, 7.1),
    (512, "512 node XC", 3.0, 0.5),
)
TASKS = (16, 32, 64, 128)  # not stated
FEW_NODES = 40  # on which the larger ones of InfiniBand were run, several processes to a node
HDR_BYTES_PER_S = 200e9 / 8  # "HDR InfiniBand"
ELEMENT_BYTES = 16  # of an aggregation buffer: an address and a count
# Seconds before, on 512 nodes of another InfiniBand system: "20-25s".
OTHER_SYSTEM_S = 22.5


def bucket_counts(nodes: int, tasks: int) -> dict[str, int]:
    return _native.bucket_messages(nodes, tasks, BUCKETS, BUFFER)


def oversubscribed(what: str, nodes: int) -> float:
    """Processes that share a node's cores and NIC."""
    return nodes / FEW_NODES if "oversub" in what else 1.0


@dataclass(frozen=True)
class TrivialSort:
    """A sort whose time is what its exchanges of counts take, a node for each process.

    `peer_s`: what each other node costs a node; `message_s`: what a task's buffer costs the node
    that gets it. How many tasks a node has cancels.
    """

    base_s: float
    peer_s: float
    message_s: float

    @staticmethod
    @cache
    def calibrated() -> TrivialSort:
        """On 40 nodes before and after, and on 512 after."""
        nodes, _, before_s, after_s = SORTS[0]
        far, far_what, _, far_s = SORTS[2]
        peer_s = (far_s / oversubscribed(far_what, far) - after_s) / (far - nodes)
        messages = bucket_counts(nodes, TASKS[0])["task buffers"]
        return TrivialSort(after_s - peer_s * nodes, peer_s, (before_s - after_s) / messages)

    def after(self, nodes: int) -> float:
        return self.base_s + self.peer_s * nodes

    def before(self, nodes: int, in_lockstep: bool = True) -> float:
        """In lockstep one node at a time gets what all tasks send; else all get all the time."""
        messages = bucket_counts(nodes, TASKS[0])["task buffers"]
        return self.after(nodes) + self.message_s * messages / (1 if in_lockstep else nodes)

    def scanned(self, nodes: int) -> float:
        """Ours, which sends as many messages as a scan has rounds."""
        return self.base_s + self.peer_s * bucket_counts(nodes, TASKS[0])["scanned"] / nodes


def time_points() -> list[Point]:
    sort = TrivialSort.calibrated()
    points = []
    for nodes, what, before_s, after_s in SORTS:
        share = oversubscribed(what, nodes)
        before, after = share * sort.before(nodes), share * sort.after(nodes)
        points.append(Point(f"before, {what}", before_s, before, nodes == FEW_NODES))
        is_calibrated = nodes == FEW_NODES or (nodes, what) == SORTS[2][:2]
        points.append(Point(f"after, {what}", after_s, after, is_calibrated))
    points.append(Point("before, 512 nodes of another IB", OTHER_SYSTEM_S, sort.before(512)))
    return points


def powers_of_nodes() -> list[float]:
    """By which power of the nodes the exchange before grew on InfiniBand, from size to size."""
    exchanges = [(nodes, before_s - after_s) for nodes, _, before_s, after_s in SORTS[:3]]
    return [
        math.log(later_s / first_s) / math.log(more / few)
        for (few, first_s), (more, later_s) in pairwise(exchanges)
    ]


def link_s(nodes: int, tasks: int) -> float:
    """What all counts take over the links of one node after the other."""
    return nodes * tasks * BUCKETS * ELEMENT_BYTES / HDR_BYTES_PER_S


def forms_table() -> str:
    sort = TrivialSort.calibrated()
    rows = [
        (f"{nodes}", *(f"{seconds:.3g}" for seconds in (
            sort.before(nodes), sort.before(nodes, in_lockstep=False), sort.after(nodes),
            sort.scanned(nodes))))
        for nodes in (40, 240, 512)
    ]  # fmt: skip
    return table(("nodes", "before, in lockstep", "before, without", "after", "scanned"), rows)


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
    sort = TrivialSort.calibrated()
    first, second = powers_of_nodes()
    return f"""# Counts of buckets, counted

Arkouda's pull request 1635, *Reduce sort bucket exchange overhead* (2022), has tasks of a node put their counts together before they send them: 64 K buckets, aggregation buffers of 8 K elements. It gives times of a trivial sort before and after. Ours counts the messages of both forms with the
formulas that our own sorts choose by (`bucket_traffic`); how many tasks a node has is not stated, so it is a parameter. `python docs/reproduce.py` writes this page.

{table(head, rows)}

Times and messages are not the same thing, so these ratios have no error. Both grow from 40 nodes to 240, and a message saved is worth more where 12 processes share a node.

## Times, simulated

Three numbers are calibrated, on the sort of 40 nodes before and after and that of 512 after: a sort takes {sort.base_s:.2g} s of its own, every other node costs a node {sort.peer_s * 1e6:.0f} µs, and before, when tasks flush to one node after the other in lockstep, that node gets what all tasks send, {sort.message_s * TASKS[0] * 1e6:.0f} µs for those of one node. Where n processes share a
node all of it takes n times as long. Seconds:

{points_table(time_points(), "sort", "s")}

After is near, also on the XC, which nothing was calibrated on. Before is near where processes share cores, up to 240, and too slow on 512 that do; on nodes of their own, and on the XC, it is far too slow. The text names three costs: messages, elements in them, and buffers that tasks create. In lockstep, and where processes share 40 nodes, messages grow
with the third power of the nodes, the other two with the second. Theirs grew by the power {first:.2f} from 40 to 240 and {second:.2f} from 240 to 512. No mixture of these does that: messages gain on the rest, so that its power rises. Nor do links bound it: through those of one node after the other (HDR, 200 Gb/s) all counts of 512 nodes with {TASKS[-1]} tasks each take
{link_s(512, TASKS[-1]):.1f} s of the 560. So either tasks drift out of lockstep there, or a message costs less than it does on 240; the text does not say which, and nothing was fitted to it. Without lockstep all would take what the third column says; 20 to 25 s on 512 nodes are between both.

The same without sharing, seconds; "scanned" is the form that ours chooses, by its messages:

{forms_table()}

## Messages

All forms, messages of one digit with 32 tasks a node; the third is what that pull request proposes, and the last two are ours:

{table(("nodes", *forms), counts)}
"""  # noqa: E501
