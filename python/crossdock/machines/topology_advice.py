"""What of a machine will be slow, and how to fix it."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from crossdock.machines.topology_shapes import Shape, Vertex


@dataclass(frozen=True)
class Warning:
    """`code` does not change between versions; `where` names a device or NUMA node."""

    code: str
    where: str
    what: str
    fix: str


def rate_text(bytes_per_s: float) -> str:
    """ "31.5 GB/s"; decimal units, as links are sold."""
    gigabytes = bytes_per_s / 1e9
    return f"{gigabytes:.3g} GB/s" if gigabytes < 1000 else f"{gigabytes:.0f} GB/s"


def warnings_of(shape: Shape) -> list[Warning]:
    """Warnings about one kind of server, the gravest first."""
    return [
        *_narrow_links(shape),
        *_starved_nics(shape),
        *_nodes_without_nic(shape),
        *_far_gpus(shape),
        *_detours(shape),
    ]


def _narrow_links(shape: Shape) -> Iterator[Warning]:
    for link in shape.links:
        if link.kind == "pcie" and link.width and link.full_width and link.width < link.full_width:
            full = link.bytes_per_s / link.width * link.full_width
            yield Warning(
                "narrow_link",
                link.end,
                f"uses {link.width} of {link.full_width} PCIe lanes: {rate_text(link.bytes_per_s)} "
                f"where {rate_text(full)} are possible",
                "reseat the card or take a slot with all lanes; the firmware may share this one",
            )


def _starved_nics(shape: Shape) -> Iterator[Warning]:
    for nic in shape.of_kind("nic"):
        wire = sum(link.bytes_per_s for link in shape.links_of(nic.name, "network"))
        lanes = [link for link in shape.links_of(nic.name, "pcie") if not link.assumed]
        inside = sum(link.bytes_per_s for link in lanes)
        if lanes and wire > inside * 1.05:
            yield Warning(
                "starved_nic",
                nic.name,
                f"could send {rate_text(wire)}, but its PCIe link carries {rate_text(inside)}",
                "a slot of a newer PCIe generation or with more lanes",
            )


def _nodes_without_nic(shape: Shape) -> Iterator[Warning]:
    nics = {nic.numa_node for nic in shape.of_kind("nic")}
    cpus = shape.of_kind("cpu")
    if not nics or None in nics or len(cpus) < 2:
        return
    for cpu in cpus:
        if cpu.numa_node not in nics and not _gpus_at(shape, cpu):
            yield Warning(
                "node_without_nic",
                f"NUMA node {cpu.numa_node}",
                "has no NIC: what it sends to other servers crosses "
                f"the link between sockets ({_socket_text(shape, cpu.name)})",
                "run the reader of remote data on a node with a NIC, or move a NIC here",
            )


def _gpus_at(shape: Shape, cpu: Vertex) -> list[Vertex]:
    return [gpu for gpu in shape.of_kind("gpu") if gpu.numa_node == cpu.numa_node]


def _socket_text(shape: Shape, cpu: str) -> str:
    links = shape.links_of(cpu, "socket")
    if not links:
        return "no link is known"
    widest = max(links, key=lambda link: link.bytes_per_s)
    return rate_text(widest.bytes_per_s) + (", assumed" if widest.assumed else "")


def _far_gpus(shape: Shape) -> Iterator[Warning]:
    nics = shape.of_kind("nic")
    nodes = {nic.numa_node for nic in nics}
    if not nics or None in nodes:
        return
    for gpu in shape.of_kind("gpu"):
        if gpu.numa_node is None or gpu.numa_node in nodes:
            continue
        cpu = next((c.name for c in shape.of_kind("cpu") if c.numa_node == gpu.numa_node), "")
        yield Warning(
            "gpu_far_from_nic",
            gpu.name,
            f"no NIC on its NUMA node {gpu.numa_node}: data for other servers cross the link "
            f"between sockets ({_socket_text(shape, cpu)})",
            f"move a NIC to a slot of node {gpu.numa_node}, best under the GPU's PCIe switch",
        )


def _detours(shape: Shape) -> Iterator[Warning]:
    """GPUs that no NIC reaches directly, where NICs could."""
    if not shape.of_kind("nic") or _is_superchip(shape):
        return
    gpus = [gpu for gpu in shape.of_kind("gpu") if not shape.links_of(gpu.name, "nic_direct")]
    if gpus:
        names = ", ".join(gpu.name for gpu in gpus[:8]) + (" ..." if len(gpus) > 8 else "")
        yield Warning(
            "no_nic_direct",
            names,
            "no NIC accesses the GPU memory: data for other servers are copied to host memory",
            "load nvidia_peermem and place an RDMA NIC under the GPU's PCIe switch",
        )


def _is_superchip(shape: Shape) -> bool:
    """Whether GPUs share their CPU's memory by C2C, so that a NIC at the CPU is close to both."""
    return any(link.kind == "c2c" for link in shape.links)
