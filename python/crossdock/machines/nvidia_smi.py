"""A server by the matrix of `nvidia-smi topo -m`: GPUs, NICs, PCIe switches and NVLinks, hardly any
rates.

Nearness nests: what is near to a third device is as near to another as the third is. So devices
that are joined by PIX, by PIX or PXB, and by anything but SYS form groups within groups, which are
the PCIe switches, the switches above them, and the NUMA nodes. Between GPUs with NVLinks the matrix
says nothing of PCIe; what it says of them and their NICs mostly tells it.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Collection, Sequence
from itertools import combinations, count
from typing import Any, TypeAlias

from crossdock import _native
from crossdock.machines.nvidia_smi_matrix import Matrix, read_matrix

# What is written on links that the matrix does not tell, and of superchips, as the engine's
# discovery.hpp and link_rates.hpp have it.
_LINK_BYTES_PER_S = 10e9
_NETWORK_BYTES_PER_S = 1.25e9
_C2C_BYTES_PER_S = 450e9
_NVLINK_BYTES_PER_S = 25e9  # of generations 2 to 4
_GPU_NVLINKS_MAX = 18  # no GPU has more than H100 and B200

_ON_SWITCH = frozenset(("PIX",))
_ON_SWITCHES = frozenset(("PIX", "PXB"))
_ON_NODE = frozenset(("PIX", "PXB", "PHB", "NODE"))

Notes: TypeAlias = list[tuple[str, str]]


def server_of_matrix(text: str, server: str) -> tuple[str, Notes]:
    """The graph of one server as JSON, and notes on what the matrix does not tell. TopologyError as
    that of read_matrix."""
    builder = _Server(read_matrix(text))
    shape = {"vertices": builder.vertices, "edges": builder.edges}
    graph = {
        "format": "crossdock-topology", "schema_version": 1,
        "shapes": [shape], "servers": [{"name": server, "shape": 0}],
    }  # fmt: skip
    notes = [("nvidia-smi", note) for note in builder.notes]
    return _native.topology_from_json(json.dumps(graph)), notes


class _Server:
    def __init__(self, matrix: Matrix) -> None:
        self._matrix = matrix
        self._devices = matrix.devices
        self._node_of: dict[int, int] = {}
        self._on_node: defaultdict[int, list[int]] = defaultdict(list)
        self._counted_nodes: list[int] = []  # that have a number for want of a known one
        self._unplaced = 0
        self._unknown_gpus: set[int] = set()  # whose generation of NVLink is not known
        self._fabrics = self._broken_fabrics = 0
        self.vertices: list[dict[str, Any]] = []
        self.edges: list[dict[str, Any]] = []
        self.notes: list[str] = []
        self._place_on_nodes()
        self._add_cpus_and_devices()
        self._switches = count()
        for group in self._groups(_ON_SWITCHES):
            self._hang(group)
        for group in self._groups(("NV",)):
            if len(group) > 1:
                self._join_by_nvlink(group)
        self._connect_nics()
        self._note_what_is_missing()
        self._note_nvlinks()

    def _groups(self, relations: Collection[str]) -> list[list[int]]:
        """Devices that are joined, directly or through others, by one of the relations; groups by
        their first member."""
        groups = []
        left = dict.fromkeys(range(len(self._devices)))
        while left:
            group = [next(iter(left))]
            del left[group[0]]
            for member in group:
                row = self._matrix.pairs[member]
                near = [other for other in left if row[other][0] in relations]
                group += near
                for other in near:
                    del left[other]
            groups.append(sorted(group))
        return groups

    def _place_on_nodes(self) -> None:
        """Each device on the node that is reported, else on that of what is near. A group without
        any is taken to the first node that is not said to be another one."""
        unknown = []
        for group in self._groups(_ON_NODE):
            nodes = [self._devices[device].numa_node for device in group]
            known = next((node for node in nodes if node is not None), None)
            if known is None:
                unknown.append(group)
                continue
            for device, node in zip(group, nodes, strict=True):
                self._put(device, known if node is None else node)
        for group in unknown:
            node = self._node_for(group)
            for device in group:
                self._put(device, node)

    def _put(self, device: int, node: int) -> None:
        self._node_of[device] = node
        self._on_node[node].append(device)

    def _node_for(self, group: Sequence[int]) -> int:
        for node, members in sorted(self._on_node.items()):
            pairs = [(a, b) for a in group for b in members]
            cpus = [(self._devices[a].cpus, self._devices[b].cpus) for a, b in pairs]
            is_far = any(self._matrix.pairs[a][b][0] == "SYS" for a, b in pairs)
            if is_far or any(here and there and here != there for here, there in cpus):
                continue
            if not any(here and here == there for here, there in cpus):
                self._unplaced += len(group)
            return node
        node = next(node for node in count() if node not in self._on_node)
        self._counted_nodes.append(node)
        return node

    def _add(self, name: str, kind: str, **facts: Any) -> str:
        self.vertices.append({"name": name, "kind": kind, **facts})
        return name

    def _connect(self, a: str, b: str, kind: str, bytes_per_s: float, **facts: Any) -> None:
        self.edges.append(
            {"from": a, "to": b, "kind": kind, "bytes_per_s": bytes_per_s, "both_ways": True}
            | (facts or {"assumed": True})
        )

    def _add_cpus_and_devices(self) -> None:
        cpus = [self._add(f"cpu{node}", "cpu", numa_node=node) for node in sorted(self._on_node)]
        for a, b in combinations(cpus, 2):
            self._connect(a, b, "socket", _LINK_BYTES_PER_S)
        for number, device in enumerate(self._devices):
            self._add(device.name, "gpu" if device.is_gpu else "nic", model=device.model,
                      numa_node=self._node_of[number])  # fmt: skip

    def _hang(self, group: Sequence[int]) -> None:
        """Devices below one or several switches, or one device by itself."""
        node = self._node_of[group[0]]
        superchips = [d for d in group if self._devices[d].memory_node is not None]
        for device in superchips:
            cpu = f"cpu{self._node_of[device]}"
            self._connect(cpu, self._devices[device].name, "c2c", _C2C_BYTES_PER_S)
        if len(group) == 1:
            if not superchips:
                self._connect_pcie(f"cpu{node}", self._devices[group[0]].name)
            return
        below = [inner for inner in self._groups(_ON_SWITCH) if inner[0] in group]
        hub = self._add_switch(f"cpu{node}", node)
        for inner in below:
            is_hub = len(inner) == 1 or len(below) == 1
            above = hub if is_hub else self._add_switch(hub, node)
            for device in inner:
                self._connect_pcie(above, self._devices[device].name)

    def _add_switch(self, above: str, node: int) -> str:
        name = self._add(f"pcie{next(self._switches)}", "pcie_switch", numa_node=node)
        self._connect_pcie(above, name)
        return name

    def _connect_pcie(self, above: str, below: str) -> None:
        self._connect(above, below, "pcie", _LINK_BYTES_PER_S)

    def _join_by_nvlink(self, group: Sequence[int]) -> None:
        """One GPU has no more links than its kind: where the matrix counts more, the pairs share
        them, through NVSwitches."""
        links = {gpu: [self._matrix.pairs[gpu][other][1] for other in group] for gpu in group}
        if any(sum(links[gpu]) > self._most_nvlinks(gpu) for gpu in group):
            name = f"nvswitch-{self._fabrics}" if self._fabrics else "nvswitch"
            centre = self._add(name, "nvswitch")
            for gpu in group:
                self._connect_nvlink(gpu, gpu, max(links[gpu]), centre)
            self._fabrics += 1
            self._broken_fabrics += any(row.count(0) > 1 for row in links.values())
            return
        for a, b in combinations(group, 2):
            nvlinks = self._matrix.pairs[a][b][1]
            if nvlinks:
                self._connect_nvlink(a, b, nvlinks, self._devices[b].name)

    def _most_nvlinks(self, gpu: int) -> int:
        product = _native.topology_nvlink(self._devices[gpu].model)
        return _GPU_NVLINKS_MAX if product is None else product[1]

    def _connect_nvlink(self, a: int, b: int, links: int, end: str) -> None:
        """Links of the generation of both GPUs from the first of them to `end`."""
        products = [_native.topology_nvlink(self._devices[gpu].model) for gpu in (a, b)]
        one, other = products
        is_known = one is not None and other is not None and one[0] == other[0]
        if not is_known:
            self._unknown_gpus.update(
                gpu for gpu, product in zip((a, b), products, strict=True) if product is None
            )
        rate = one[2] if one is not None and is_known else _NVLINK_BYTES_PER_S
        self._connect(
            self._devices[a].name, end, "nvlink", rate * links,
            width=links, full_width=links, assumed=not is_known,
        )  # fmt: skip

    def _connect_nics(self) -> None:
        nics = [device.name for device in self._devices if not device.is_gpu]
        if nics:
            self._add("network", "network")
        for nic in nics:
            self._connect(nic, "network", "network", _NETWORK_BYTES_PER_S)

    def _note_what_is_missing(self) -> None:
        rate = f"{_LINK_BYTES_PER_S / 1e9:g} GB/s"
        note = self.notes.append
        note(f"generations and lanes of PCIe are not in the matrix; {rate} are assumed")
        note("sizes of memory and drives are not in the matrix")
        if len(self._on_node) > 1:
            note("what NUMA nodes carry between each other is not in the matrix; "
                 f"{rate} are assumed")  # fmt: skip
        if not all(device.is_gpu for device in self._devices):
            note("speeds of NICs are not in the matrix; "
                 f"{_NETWORK_BYTES_PER_S * 8 / 1e9:g} Gb/s are assumed. Nor is whether they access "
                 "GPU memory; no NIC-direct edges are made")  # fmt: skip
        if self._counted_nodes:
            note(f"the numbers of {len(self._counted_nodes)} NUMA nodes are not known; they are "
                 f"counted: {', '.join(map(str, self._counted_nodes))}")  # fmt: skip
        if self._unplaced:
            note(f"of {self._unplaced} devices no NUMA node is known; they are placed at the first "
                 "that may be theirs")  # fmt: skip
        if self._matrix.unclear_affinities:
            note(f"{self._matrix.unclear_affinities} rows have fewer values than columns beside "
                 "the devices; they are left out")  # fmt: skip
        several = sum(device.has_more_nodes for device in self._devices)
        if several:
            note(f"{several} devices have several NUMA nodes; the first is taken")
        superchips = [d.name for d in self._devices if d.memory_node is not None]
        if superchips:
            note(f"the memory of {', '.join(superchips)} is a NUMA node, as on superchips: "
                 f"NVLink-C2C at the {_C2C_BYTES_PER_S / 1e9:g} GB/s of GH200 is assumed"
                 )  # fmt: skip

    def _note_nvlinks(self) -> None:
        note = self.notes.append
        rows = [[relation for relation, _ in row] for row in self._matrix.pairs]
        pairs = combinations(range(len(rows)), 2)
        hidden = sum(
            rows[a][b] == "NV" and self._node_of[a] == self._node_of[b] and _is_hidden(rows, a, b)
            for a, b in pairs
        )
        if hidden:
            note(f"NVLinks stand in place of the PCIe path of {hidden} pairs of GPUs; whether "
                 "these share a switch is not known, and they are taken not to")  # fmt: skip
        if self._unknown_gpus:
            note(f"the generation of NVLink of {len(self._unknown_gpus)} GPUs is not known; "
                 f"{_NVLINK_BYTES_PER_S / 1e9:g} GB/s per link are assumed, as of V100, A100 and "
                 "H100. Lines of `nvidia-smi -L` before the matrix tell it")  # fmt: skip
        if self._fabrics:
            note("a GPU's pairs have more NVLinks together than a GPU has, so they are taken to "
                 "meet on NVSwitches")  # fmt: skip
        if self._fabrics > 1 or self._broken_fabrics:
            note("some GPUs on NVSwitches have no NVLinks to each other, which one vertex for all "
                 "NVSwitches does not show")  # fmt: skip


def _is_hidden(rows: Sequence[Sequence[str]], a: int, b: int) -> bool:
    """Whether NVLinks hide how far two GPUs are by PCIe. A third device that is nearer to one than
    to the other, or on the switches of both, tells it."""
    return not any(
        to_a != to_b or to_a in _ON_SWITCHES
        for to_a, to_b in set(zip(rows[a], rows[b], strict=True))
        if not {to_a, to_b} & {"X", "NV"}
    )
