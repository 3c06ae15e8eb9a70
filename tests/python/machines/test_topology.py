"""Topologies in Python: what they hold, say, warn of and draw, and that files keep all of it."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from functools import partial
from pathlib import Path
from typing import Any

import crossdock as xd
import pytest
from crossdock.machines.topology_advice import warnings_of
from crossdock.machines.topology_picture import COLOURS, Layout, link_path
from crossdock.machines.topology_shapes import Link, Shape, Vertex
from crossdock.machines.topology_text import compress, parents_of

ROOT = Path(__file__).resolve().parents[3]
SCHEMA = json.loads((ROOT / "docs" / "topology.schema.json").read_text(encoding="utf-8"))
DATA = ROOT / "tests" / "topology" / "data"
TWO_SOCKETS = DATA / "two-sockets.hwloc.xml"
NAMES = [machine.name for machine in xd.Topology.machines()]
DRAWN = {
    "topology-dgx-a100.svg": "dgx-a100",
    "topology-dgx-1v.svg": "dgx-1v",
    "topology-figure-2i.svg": "figure-2i",
}


def fits(value: Any, schema: dict[str, Any]) -> None:
    """As much of JSON Schema as ours uses."""
    if "$ref" in schema:
        schema = SCHEMA["$defs"][schema["$ref"].rsplit("/", 1)[1]]
    if "const" in schema:
        assert value == schema["const"]
    if "enum" in schema:
        assert value in schema["enum"]
    if schema.get("type") == "object":
        assert set(schema["required"]) <= set(value) <= set(schema["properties"])
        for name, part in value.items():
            fits(part, schema["properties"][name])
    if schema.get("type") == "array":
        for part in value:
            fits(part, schema["items"])


@pytest.mark.parametrize("name", NAMES)
def test_every_machine_is_described_drawn_and_kept_in_files(name: str, tmp_path: Path) -> None:
    topology = xd.Topology.machine(name)
    fits(topology.to_dict(), SCHEMA)
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(topology.to_dict()), encoding="utf-8")
    again = xd.Topology.file(path)
    assert again.to_dict() == topology.to_dict()
    shape = topology.shapes[0]
    text = topology.text()
    assert all(vertex.name in text for vertex in shape.of_kind("cpu", "pcie_switch"))
    picture = ElementTree.fromstring(topology.svg())
    titles = "\n".join(element.text or "" for element in picture.iter() if "title" in element.tag)
    assert all(vertex.name in titles for vertex in shape.vertices)
    assert all(f"{link.start} and {link.end}:" in titles for link in shape.links)


@pytest.mark.parametrize("name", NAMES)
def test_boxes_stand_apart_and_on_the_picture(name: str) -> None:
    picture = ElementTree.fromstring(xd.Topology.machine(name).svg())
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    boxes = []
    for group in picture.iter("{http://www.w3.org/2000/svg}g"):
        box = group.find("{http://www.w3.org/2000/svg}rect")
        if box is not None:
            boxes.append([float(box.attrib[part]) for part in ("x", "y", "width", "height")])
    assert boxes
    for index, (x, y, w, h) in enumerate(boxes):
        assert min(x, y, width - x - w, height - y - h) >= 0
        for x2, y2, w2, h2 in boxes[:index]:
            assert x + w <= x2 or x2 + w2 <= x or y + h <= y2 or y2 + h2 <= y


@pytest.mark.parametrize("name", NAMES)
def test_lines_past_switches_stay_apart(name: str) -> None:
    """Those of one NIC or GPU may run together and part at its end."""
    shape = xd.Topology.machine(name).shapes[0]
    layout = Layout(shape)
    heights = []
    for link in shape.links:
        level = re.search(r",([0-9.]+) H", link_path(link, layout))
        if link.kind == "nic_direct" and level is not None:
            heights.append((float(level[1]), {link.start, link.end}))
    for index, (height, ends) in enumerate(heights):
        for other, other_ends in heights[:index]:
            assert abs(height - other) >= 5 or ends & other_ends


def test_pictures_have_no_empty_column_and_legends_as_their_lines() -> None:
    bare = Layout(xd.Topology.machine("topo-1").shapes[0])
    assert bare.cpu_x == bare.nic_x  # nothing stands on its left
    picture = ElementTree.fromstring(xd.Topology.machine("figure-2i").svg())
    lines = [
        (line.attrib["stroke"], "stroke-dasharray" in line.attrib)
        for line in picture.iter("{http://www.w3.org/2000/svg}path")
    ]
    assert all(is_dashed for stroke, is_dashed in lines if stroke == COLOURS["socket"])


@pytest.mark.parametrize("picture", DRAWN)
def test_pictures_of_the_documents_are_what_the_tool_draws(picture: str) -> None:
    drawn = (ROOT / "docs" / "pictures" / picture).read_text(encoding="utf-8")
    command = f"crossdock topo --machine {DRAWN[picture]} --svg docs/pictures/{picture}"
    assert drawn == xd.Topology.machine(DRAWN[picture]).svg(), command


def test_hwloc_files_say_what_they_do_not_tell() -> None:
    topology = xd.Topology.hwloc(TWO_SOCKETS)
    shape = topology.shapes[0]
    assert [v.name for v in shape.of_kind("gpu")] == ["gpu0", "gpu1", "gpu2"]
    assert any("NVLinks are not known" in what for _, what in topology.notes)
    assert topology.warnings(shape) == []


def test_matrices_of_nvidia_smi_tell_nvlinks() -> None:
    topology = xd.Topology.nvidia_smi(DATA / "dgx-a100.topo.txt")
    shape = topology.shapes[0]
    links = [link for link in shape.links if link.kind == "nvlink"]
    assert {(link.end, link.bytes_per_s, link.assumed) for link in links} == {
        ("nvswitch", 300e9, False)
    }
    assert all(link.assumed for link in shape.links if link.kind != "nvlink")
    assert "no_nic_direct" not in {warning.code for warning in topology.warnings(shape)}
    fits(topology.to_dict(), SCHEMA)
    ElementTree.fromstring(topology.svg())


def test_this_machine_has_a_cpu() -> None:
    topology = xd.Topology.host()
    assert topology.shapes[0].of_kind("cpu")
    assert "cpu0" in topology.text()


def test_a_library_that_is_not_there_is_a_note(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CROSSDOCK_NVML", "/no/such/libnvidia-ml.so")
    assert any("/no/such/libnvidia-ml.so" in what for _, what in xd.Topology.host().notes)
    monkeypatch.setenv("CROSSDOCK_NVML", "")
    assert "nvml" not in {probe for probe, _ in xd.Topology.host().notes}


def test_what_is_given_out_is_a_copy() -> None:
    topology = xd.Topology.machine("dgx-a100:2")
    graph = topology.to_dict()
    graph["servers"][0]["name"] = "other"
    assert topology.to_dict()["servers"][0]["name"] == "node0"
    plan = topology.plan("node0/gpu0", "node1/gpu0")
    plan.to_dict()["ways"].clear()
    assert plan.to_dict()["ways"]


def test_equal_topologies_and_plans_are_equal() -> None:
    first, second = (xd.Topology.machine("dgx-a100:2") for _ in range(2))
    other = xd.Topology.machine("dgx-a100:3")
    assert (first == second, first == other, len({first, second, other})) == (True, False, 2)
    ends = ("node0/gpu0", "node1/gpu0")
    plans = [machine.plan(*ends) for machine in (first, second, other)]
    assert (plans[0] == plans[1], plans[0] == plans[2], len(set(plans))) == (True, False, 2)
    exchanges = {machine.plan_exchange() for machine in (first, second, other)}
    assert len(exchanges) == 2


def test_errors_name_the_place() -> None:
    with pytest.raises(xd.TopologyError, match="did you mean 'dgx-a100'"):
        xd.Topology.machine("dgx-a10")
    with pytest.raises(xd.PathError, match="cannot be read"):
        xd.Topology.file("no/such.json")


def server(*extra: Link, gpu_node: int = 1) -> Shape:
    """Two CPUs, a NIC at the first, a GPU at one of them."""
    vertices = (
        Vertex("cpu0", "cpu", numa_node=0),
        Vertex("cpu1", "cpu", numa_node=1),
        Vertex("gpu0", "gpu", numa_node=gpu_node),
        Vertex("nic0", "nic", numa_node=0),
        Vertex("network", "network"),
    )
    links = (
        Link("cpu0", "cpu1", "socket", 20e9, assumed=True),
        Link(f"cpu{gpu_node}", "gpu0", "pcie", 31.5e9, width=16, full_width=16),
        Link("nic0", "network", "network", 12.5e9),
    )
    return Shape(vertices, (*links, *extra))


def codes(shape: Shape) -> list[str]:
    return [warning.code for warning in warnings_of(shape)]


def test_warnings_name_what_is_slow_and_the_fix() -> None:
    nic = Link("cpu0", "nic0", "pcie", 31.5e9, width=16, full_width=16)
    far = warnings_of(server(nic))
    assert [(w.code, w.where) for w in far] == [
        ("gpu_far_from_nic", "gpu0"),
        ("no_nic_direct", "gpu0"),
    ]
    assert "20 GB/s, assumed" in far[0].what
    assert "node 1" in far[0].fix
    near = server(nic, Link("nic0", "gpu0", "nic_direct", 31.5e9), gpu_node=0)
    assert codes(near) == ["node_without_nic"]
    half = Link("cpu0", "nic0", "pcie", 15.75e9, width=8, full_width=16)
    narrow = warnings_of(server(half))[0]
    assert (narrow.code, narrow.where) == ("narrow_link", "nic0")
    assert "8 of 16 PCIe lanes: 15.8 GB/s where 31.5 GB/s" in narrow.what
    starved = Link("cpu0", "nic0", "pcie", 8e9, width=8, full_width=8)
    assert codes(server(starved))[0] == "starved_nic"


def test_catalogue_machines_are_free_of_warnings_that_they_cannot_fix() -> None:
    for name in ("dgx-1v", "dgx-2", "dgx-a100", "hgx-h100", "gh200"):
        assert warnings_of(xd.Topology.machine(name).shapes[0]) == [], name


def test_names_are_compressed() -> None:
    assert compress(["gpu0", "gpu1", "gpu2", "gpu5", "eth"]) == "gpu0-2, gpu5, eth"
    assert compress([]) == ""
    assert compress([f"gpu{i}" for i in range(12)]) == "gpu0-11"


@pytest.mark.parametrize(
    ("names", "shown"),
    [
        (["node09", "node10"], "node09-10"),
        (["n007", "n008"], "n007-008"),
        (["n0", "n00"], "n0, n00"),
        (["n9", "n10", "n011"], "n9-10, n011"),
        (["n98", "n099"], "n98, n099"),
        (["n09", "n10", "n11"], "n09-11"),
        (["n٣", "n٤"], "n٣, n٤"),
    ],
)
def test_no_name_is_changed(names: list[str], shown: str) -> None:
    assert compress(names) == shown


def test_the_tree_hangs_devices_on_their_cpu() -> None:
    parents = parents_of(xd.Topology.machine("dgx-2").shapes[0])
    path = ["gpu15"]
    while path[-1] in parents:
        path.append(parents[path[-1]].other(path[-1]))
    assert path == ["gpu15", "pcie11", "pcie3", "cpu1"]


def test_errors_are_cut_between_characters(tmp_path: Path) -> None:
    long = "a" + "é" * 100
    text = json.dumps(xd.Topology.machine("figure-2a").to_dict(), ensure_ascii=False)
    files = {
        "name.json": text.replace('"node0"', f'"{long}"').encode(),
        "format.json": f'{{"format": "{long}"}}'.encode(),
        "cut.json": ('{"' + "é" * 300).encode(),
    }
    calls = [lambda: xd.Topology.machine(long), lambda: xd.Topology.machine(f"dgx-a100:{long}")]
    for name, content in files.items():
        (tmp_path / name).write_bytes(content)
        calls.append(partial(xd.Topology.file, tmp_path / name))
    for call in calls:
        with pytest.raises(xd.TopologyError):
            call()
