"""The matrix of nvidia-smi: every layout that drivers have printed, copied with and without damage,
as a server."""

from __future__ import annotations

import contextlib
import random
from pathlib import Path
from typing import Any

import crossdock as xd
import pytest
from crossdock.machines.nvidia_smi import server_of_matrix
from crossdock.machines.topology_graph import TopologyGraph

DATA = Path(__file__).resolve().parents[2] / "topology" / "data"
V100, A100, B200 = "Tesla V100-SXM2-16GB", "NVIDIA A100-SXM4-80GB", "NVIDIA B200"


class Machine:
    """The one server of a matrix."""

    def __init__(self, matrix: str) -> None:
        text, notes = server_of_matrix(matrix, "node0")
        self.notes = "\n".join(what for _, what in notes)
        (self.shape,) = TopologyGraph(text, "a matrix").to_dict()["shapes"]
        self.kinds = {vertex["name"]: vertex["kind"] for vertex in self.shape["vertices"]}

    def count(self, kind: str) -> int:
        return list(self.kinds.values()).count(kind)

    def edge(self, a: str, b: str) -> dict[str, Any]:
        """Of two vertices; empty where there is none."""
        edges = self.shape["edges"]
        return next((edge for edge in edges if {edge["from"], edge["to"]} == {a, b}), {})

    def above(self, name: str) -> str:
        """What a device hangs on by PCIe; "" for several."""
        ends = [{edge["from"], edge["to"]} for edge in self.shape["edges"]
                if edge["kind"] == "pcie"]  # fmt: skip
        hubs = [other for end in ends if name in end for other in end - {name}
                if self.kinds[other] == "cpu"
                or (self.kinds[other] == "pcie_switch" and self.kinds[name] != "pcie_switch")
                or (self.kinds[other] == "pcie_switch" and other < name)]  # fmt: skip
        return hubs[0] if len(hubs) == 1 else ""


def machine_of(name: str, before: str = "") -> Machine:
    return Machine(before + (DATA / f"{name}.topo.txt").read_text(encoding="utf-8"))


def uniform(gpus: int, cell: str) -> str:
    """A matrix of GPUs that are all joined alike."""
    names = [f"GPU{i}" for i in range(gpus)]
    rows = ["".join("\t" + (" X " if a == b else cell) for b in names) for a in names]
    return "\t" + "\t".join(names) + "".join(map("\n{}{}".format, names, rows)) + "\n"


def models(gpus: int, model: str) -> str:
    return "".join(f"GPU {i}: {model} (UUID: GPU-{i})\n" for i in range(gpus))


def refusal(matrix: str) -> str:
    with pytest.raises(xd.TopologyError) as refused:
        server_of_matrix(matrix, "node0")
    assert refused.value.code == "CD-601"
    return str(refused.value)


def test_the_hybrid_cube_mesh_of_dgx_1() -> None:
    machine = machine_of("dgx-1v", models(8, V100))
    known = {
        frozenset((edge["from"], edge["to"])): edge["bytes_per_s"]
        for edge in xd.Topology.machine("dgx-1v").to_dict()["shapes"][0]["edges"]
        if edge["kind"] == "nvlink"
    }
    nvlinks = [edge for edge in machine.shape["edges"] if edge["kind"] == "nvlink"]
    rates = {frozenset((edge["from"], edge["to"])): edge["bytes_per_s"] for edge in nvlinks}
    assert rates == known
    assert not any(edge.get("assumed") for edge in nvlinks)
    counts = {kind: machine.count(kind) for kind in ("nvswitch", "cpu", "pcie_switch")}
    assert counts == {"nvswitch": 0, "cpu": 2, "pcie_switch": 4}  # CPUs by SYS and affinity alone
    for gpu in range(8):
        hub = machine.above(f"gpu{gpu}")
        assert hub == machine.above(f"gpu{gpu ^ 1}")
        assert machine.above(hub) == ("cpu0" if gpu < 4 else "cpu1")
    assert machine.above("mlx5_1") == machine.above("gpu2")
    assert "numbers of 2 NUMA nodes are not known" in machine.notes
    assert "share a switch" not in machine.notes  # their NICs tell it


def test_a_dgx_a100() -> None:
    machine = machine_of("dgx-a100")
    counts = {kind: machine.count(kind) for kind in ("gpu", "nic", "cpu")}
    assert counts == {"gpu": 8, "nic": 10, "cpu": 5}  # CPUs: four of the GPUs, that of two NICs
    link = machine.edge("gpu0", "nvswitch")
    assert (link["bytes_per_s"], link["width"]) == (300e9, 12)
    assert not link.get("assumed")
    assert machine.edge("gpu0", "gpu1") == {}
    assert machine.above("gpu4") == machine.above("mlx5_5")
    assert machine.above(machine.above("gpu4")) == "cpu7"
    assert machine.above(machine.above("mlx5_8")) == "cpu0"
    (gpu7,) = (vertex for vertex in machine.shape["vertices"] if vertex["name"] == "gpu7")
    assert gpu7["model"] == A100
    for a, b in (("mlx5_0", "network"), ("cpu1", "cpu3"), (machine.above("gpu4"), "gpu4")):
        assert machine.edge(a, b)["assumed"], (a, b)
    assert "numbers of 1 NUMA nodes are not known; they are counted: 0" in machine.notes
    assert "taken to meet on NVSwitches" in machine.notes


def test_what_was_copied_from_a_page() -> None:
    machine = machine_of("hgx-h100")
    counts = {kind: machine.count(kind) for kind in ("gpu", "nic", "cpu")}
    assert counts == {"gpu": 8, "nic": 9, "cpu": 2}
    link = machine.edge("gpu5", "nvswitch")
    assert (link["bytes_per_s"], link["assumed"]) == (450e9, True)
    assert machine.above("mlx5_5") == machine.above("gpu5")
    assert machine.above("mlx5_bond_0") == "cpu0"
    assert "generation of NVLink of 8 GPUs" in machine.notes


def test_switches_nest_and_soc_is_sys() -> None:
    machine = Machine(
        "        GPU0  GPU1  GPU2  GPU3  mlx4_0  CPU Affinity\n"
        "GPU0     X    PIX   PXB   PXB   SOC     0-13\n"
        "GPU1    PIX    X    PXB   PXB   SOC     0-13\n"
        "GPU2    PXB   PXB    X    PIX   SOC     0-13\n"
        "GPU3    PXB   PXB   PIX    X    SOC     0-13\n"
        "mlx4_0  SOC   SOC   SOC   SOC    X\n"
    )
    assert machine.count("pcie_switch") == 3
    assert machine.above("gpu0") == machine.above("gpu1") != machine.above("gpu2")
    assert machine.above(machine.above("gpu0")) == machine.above(machine.above("gpu2"))
    assert machine.above("mlx4_0") == "cpu1"
    assert machine.count("nvswitch") == 0


def test_nodes_that_are_reported_overrule_sys() -> None:
    machine = Machine(
        "\tGPU0\tGPU1\tGPU2\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\n"
        "GPU0\t X \tSYS\tSYS\t0-31\t0\t\tN/A\n"
        "GPU1\tSYS\t X \tSYS\t0-31\t0\t\tN/A\n"
        "GPU2\tSYS\tSYS\t X \t32-63\t1-2\t\tN/A\n"
    )
    assert machine.count("cpu") == 2
    assert (machine.above("gpu1"), machine.above("gpu2")) == ("cpu0", "cpu1")
    assert "1 devices have several NUMA nodes" in machine.notes


def test_memory_of_superchips_is_a_node() -> None:
    machine = Machine(
        "GPU0    CPU Affinity    NUMA Affinity   GPU NUMA ID\n"
        "GPU0     X      0-71    0               1\n"
    )
    link = machine.edge("cpu0", "gpu0")
    assert (link["kind"], link["assumed"]) == ("c2c", True)
    assert "the memory of gpu0 is a NUMA node" in machine.notes


@pytest.mark.parametrize(
    ("gpus", "cell", "end", "width"),
    [
        (16, "NV6", "nvswitch", 6),  # DGX-2
        (4, "NV4", "gpu3", 4),  # HGX A100 with 4 GPUs
        (4, "NV6", "gpu3", 6),  # HGX H100 with 4 GPUs
        (8, "NV8", "nvswitch", 8),  # HGX A800
    ],
)
def test_nvswitches_are_known_by_their_sum(gpus: int, cell: str, end: str, width: int) -> None:
    assert Machine(uniform(gpus, cell)).edge("gpu0", end)["width"] == width


def test_a_third_of_dgx_2_and_bridged_cards() -> None:
    third = Machine(models(4, "Tesla V100-SXM3-32GB") + uniform(4, "NV6"))
    assert third.edge("gpu0", "nvswitch")["width"] == 6
    assert Machine(uniform(2, "NV12")).count("nvswitch") == 0


@pytest.mark.parametrize(
    ("model", "rate", "assumed"),
    [
        ("Tesla P100-SXM2-16GB", 80e9, False), (V100, 100e9, False), (B200, 200e9, False),
        ("NVIDIA GeForce RTX 3090", 100e9, True),
    ],
)  # fmt: skip
def test_models_tell_the_generation(model: str, rate: float, assumed: bool) -> None:
    link = Machine(models(2, model) + uniform(2, "NV4")).edge("gpu0", "gpu1")
    assert (link["bytes_per_s"], link.get("assumed", False)) == (rate, assumed)


def test_what_nvlinks_hide() -> None:
    machine = Machine(uniform(8, "NV12"))
    assert machine.count("cpu") == 1
    assert "PCIe path of 28 pairs" in machine.notes
    assert "of 7 devices no NUMA node is known" in machine.notes


ROW = "GPU2\tSYS\tSYS\t X "


@pytest.mark.parametrize(
    ("part", "instead", "words"),
    [
        ("\n" + ROW, "", "line 1, column 12: there is no row for GPU2"),
        ("GPU1\tSYS", "GPU1\tSYSSYS", "line 3, column 6: 'SYSSYS' is none of X"),
        ("GPU1\tSYS", "GPU1\tNV0", "'NV0' is out of range"),
        ("GPU1\tSYS", "GPU1\tNV99", "column 6: 'NV99' is out of range: a pair has 1 to 64 NVLinks"),
        ("GPU1\tSYS", "GPU1\t X ", "'X' stands where gpu1 meets gpu0"),
        ("GPU1\tSYS", "GPU1\tPIX", "gpu1 and gpu0 are joined by 'PIX' here, and by 'SYS' in line"),
        (ROW, "GPU2\tSYS", "line 4, column 9: the row of GPU2 ends"),
        (ROW, ROW + "\t0-31", "line 4, column 18: '0-31' belongs to no column"),
        ("\nGPU2", "\nGPU1", "GPU1 has a row in line 3 already"),
        ("\nGPU2", "\nGPU7", "'GPU7' is none of the devices in the header (line 1)"),
        ("\tGPU1\tGPU2", "\tGPU1GPU2", "'GPU1GPU2' is no column"),
        ("\tGPU1\tGPU2", "\tGPU1\tGPU1", "'GPU1' is twice in the header"),
    ],
)
def test_errors_say_where_damage_is(part: str, instead: str, words: str) -> None:
    good = uniform(3, "SYS")
    assert part in good
    assert words in refusal(good.replace(part, instead, 1))


def test_files_without_a_matrix() -> None:
    assert "none of the 0 lines is the header" in refusal("")
    assert "nvidia-smi topo -m" in refusal("no GPUs here\n")
    assert "more than 512 devices" in refusal(uniform(513, "SYS")[:6000])


@pytest.mark.parametrize(
    ("first", "second", "words"),
    [
        ("mlx5_0", "mlx5_0", "7, column 9: two devices are called 'mlx5_0', the other in line 6"),
        ("a/b", "mlx5_0", "line 6, column 9: a NIC cannot be called 'a/b'"),
        ("x" * 129, "mlx5_0", "names have 1 to 128 bytes"),
        *(
            ("mlx5_0", name, f"line 7, column 9: a NIC cannot be called '{name}'")
            for name in ("cpu0", "gpu7", "pcie0", "network", "nvswitch")
        ),
    ],
)
def test_names_that_no_vertex_may_have(first: str, second: str, words: str) -> None:
    matrix = "\tGPU0\tNIC0\tNIC1\nGPU0\t X \tSYS\tSYS\nNIC0\tSYS\t X \tSYS\nNIC1\tSYS\tSYS\t X \n"
    assert words in refusal(f"{matrix}\n  NIC0: {first}\n  NIC1: {second}\n")


def test_two_spellings_of_one_gpu() -> None:
    words = refusal("\tGPU0\tGPU00\nGPU0\t X \tSYS\nGPU00\tSYS\t X \n")
    assert "line 1, column 7: two devices are called 'gpu0', the other in line 1, column 2" in words


def test_affinities_that_make_no_sense() -> None:
    header = "GPU0 CPU Affinity NUMA Affinity\nGPU0 X "
    assert "line 2, column 13: 'zero' is no NUMA node" in refusal(f"{header}0-31 zero\n")
    assert "1 rows have fewer values than columns" in Machine(f"{header}0-31\n").notes
    assert Machine(f"{header}\n").above("gpu0") == "cpu0"
    assert Machine(f"{header}N/A N/A\n").above("gpu0") == "cpu0"


def test_changed_matrices_are_servers_or_refused() -> None:
    chance = random.Random(1)
    matrices = [path.read_text(encoding="utf-8") for path in sorted(DATA.glob("*.topo.txt"))]
    pieces = (
        "\t", "\n", " X ", "NV4", "NV99999999999", "NV", "\x1b[", "\x1b", "[4m", "[;;;", "GPU0",
        "GPU-1", "GPU", "GPU00", "NIC0", "NIC0: gpu0", "SYS", "PIX", "Legend:", "N/A", "65536",
        ",-", "CPU Affinity", "GPU NUMA", "network", "cpu0", "a/b", "\nGPU1\tSYS\t X \t",
        "9" * 5000,
    )  # fmt: skip
    servers = 0
    for _ in range(1000):
        text = chance.choice(matrices)
        for _ in range(chance.randint(1, 3)):
            at = chance.randrange(len(text) + 1)
            behind = text[at + chance.randint(0, 6) * chance.randint(0, 1) :]
            text = text[:at] + chance.choice(("", *pieces)) + behind
        with contextlib.suppress(xd.TopologyError):
            server_of_matrix(text, "node0")
            servers += 1
    assert 100 < servers < 900
