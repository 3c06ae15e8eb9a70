"""Plans in Python: what is shown is what the optimizer says, and adds up."""

from __future__ import annotations

import json
import re
import xml.etree.ElementTree as ElementTree
from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import crossdock as xd
import pytest
from crossdock.machines.topology_advice import rate_text
from crossdock.machines.transfer_plans import Way
from crossdock.machines.transfers import ExchangePlan, ForwardingTable, TransferPlan
from crossdock.machines.transfers_picture import busy_colour

ROOT = Path(__file__).resolve().parents[3]
DRAWN = {
    "plan-dgx-a100.svg": "dgx-a100 gpu0 gpu5",
    "plan-dgx-a100-2.svg": "dgx-a100:2 node0/gpu0 node1/gpu5",
    "plan-figure-2i.svg": "figure-2i node0/gpu0 node1/gpu0",
    "plan-dgx-1v.svg": "dgx-1v gpu0 gpu5",
    "plan-exchange.svg": "dgx-a100:13",
}
PAIRS = {
    machine.name: (("node0/gpu0", "node1/gpu0") if two else ("gpu0", "gpu1"))
    for machine in xd.Topology.machines()
    if (two := len(xd.Topology.machine(machine.name).servers) > 1) or "gh200" not in machine.name
}


def capacities(topology: xd.Topology) -> dict[tuple[str, str], float]:
    """Of all edges by their full names."""
    several = len(topology.servers) > 1
    result = {}
    for name, shape in topology.servers:
        for link in shape.links:
            start, end = (
                f"{name}/{end}" if several and end != "network" else end
                for end in (link.start, link.end)
            )
            result[start, end] = link.bytes_per_s
            if link.both_ways:
                result[end, start] = link.bytes_per_s
    return result


@pytest.mark.parametrize("name", PAIRS)
def test_ways_follow_links_and_their_shares_fit(name: str) -> None:
    topology = xd.Topology.machine(name)
    carries = capacities(topology)
    plan = topology.plan(*PAIRS[name], "10GB")
    load: Counter[tuple[str, str]] = Counter()
    for way in plan.ways:
        edges = list(pairwise(way.vertices))
        assert way.bytes_per_s == min(carries[edge] for edge in edges)
        for edge in edges:
            load[edge] += way.flow_bytes_per_s
        assert way.relays <= 4
    assert all(load[edge] <= carries[edge] * (1 + 1e-9) for edge in load)
    assert plan.bytes_per_s == sum(way.flow_bytes_per_s for way in plan.ways)
    assert plan.predicted_s == pytest.approx(plan.latency_s + 10e9 / plan.bytes_per_s)
    for full in plan.bottlenecks:
        assert load[full.start, full.end] >= carries[full.start, full.end] - 1


@pytest.mark.parametrize("name", PAIRS)
def test_every_number_that_is_printed_is_the_optimizers(name: str) -> None:
    plan = xd.Topology.machine(name).plan(*PAIRS[name], "10GB")
    text = plan.text()
    assert text.startswith(f"{plan.source} to {plan.destination}: {rate_text(plan.bytes_per_s)}")
    rows = [line.split() for line in text.splitlines()[3:] if line[:1].isdigit()]
    assert len(rows) == len(plan.ways)
    for row, way in zip(rows, plan.ways, strict=True):
        share = rate_text(way.flow_bytes_per_s).split() if way.flow_bytes_per_s else ["spare"]
        assert row[1:3] == rate_text(way.bytes_per_s).split()
        assert row[3 : 3 + len(share)] == share
        assert int(row[3 + len(share)]) == way.relays


def follow(tables: dict[str, ForwardingTable], plan: TransferPlan) -> set[tuple[str, ...]]:
    """All ways that rows can take from the source by the tables alone."""
    result = set()

    def go(at: str, hops: int, so_far: tuple[str, ...]) -> None:
        if at == plan.destination:
            result.add(so_far)
            return
        (entry,) = tables[at].entries
        for hop in entry.next_hops:
            for path in hop.paths:
                if path.hops_left <= hops:
                    go(hop.next, hops - 1, (*so_far, *path.between, hop.next))

    go(plan.source, max(way.relays for way in plan.ways) + 1, (plan.source,))
    return result


@pytest.mark.parametrize("name", ["figure-2i", "dgx-a100:2", "topo-1", "dgx-1v", "topo-4"])
def test_tables_lead_along_all_ways(name: str) -> None:
    topology = xd.Topology.machine(name)
    ends = ("node0/gpu0", "node1/gpu1") if len(topology.servers) > 1 else ("gpu0", "gpu1")
    plan = topology.plan(*ends)
    tables = {table.vertex: table for table in plan.tables()}
    assert {way.vertices for way in plan.ways} <= follow(tables, plan)  # none gets stuck either
    assert plan.destination not in tables
    assert plan.table(plan.source) == tables[plan.source]


def test_exchanges_say_which_servers_are_planned_once() -> None:
    plan = xd.Topology.machine("dgx-a100:13").plan_exchange("1GiB")
    assert isinstance(plan, ExchangePlan)
    assert [(alike.first, alike.servers) for alike in plan.server_plans] == [("node0", 13)]
    busiest = max(plan.loads, key=lambda load: load.busy_s)
    assert (busiest.edge, busiest.busy_s) == (plan.bottleneck, plan.links_s)
    entry = plan.table("node5/gpu0").entries[0]
    assert (entry.destination, entry.servers) == ("*/gpu0", 12)
    assert plan.considered.index(plan.chosen) < 2


def test_values_say_what_they_are() -> None:
    topology = xd.Topology.machine("dgx-a100")
    plan = topology.plan("gpu0", "gpu5", "1GiB")
    assert repr(plan) == "TransferPlan(gpu0 to gpu5: 332 GB/s over 2 ways; 1.00 GiB in 3.24 ms)"
    assert plan.ways[0] == Way(("gpu0", "nvswitch", "gpu5"), 0, 300e9, 300e9, 0.0)
    exchange = topology.plan_exchange("1GiB")
    assert repr(exchange).startswith("ExchangePlan(8 x gpu on 1 x server: 1.00 GiB each, ")
    data: dict[str, Any] = plan.to_dict()
    assert data["ways"][0]["vertices"] == ["gpu0", "nvswitch", "gpu5"]


SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", PAIRS)
def test_pictures_of_transfers_show_every_way(name: str) -> None:
    plan = xd.Topology.machine(name).plan(*PAIRS[name])
    picture = ElementTree.fromstring(plan.svg())
    width, height = float(picture.attrib["width"]), float(picture.attrib["height"])
    titles = [title.text or "" for title in picture.iter(f"{SVG}title")]
    words = [text.text or "" for text in picture.iter(f"{SVG}text")]
    lines = {
        title.text: len(group.findall(f"{SVG}path"))
        for group in picture.iter(f"{SVG}g")
        if (title := group.find(f"{SVG}title")) is not None
    }
    for number, way in enumerate(plan.ways, start=1):
        title = next(title for title in titles if title.startswith(f"way {number}: "))
        assert lines[title] >= len(way.vertices) - 1, title
        assert str(number) in words
    assert {vertex for way in plan.ways for vertex in way.vertices} <= set(titles)
    assert words.count("full") == len(plan.bottlenecks)
    assert [word for word in words if word.startswith(("from ", "to "))] == [
        f"{mark} {end.rpartition('/')[2]}"
        for end, mark in sorted([(plan.source, "from"), (plan.destination, "to")])
    ]
    for rect in picture.iter(f"{SVG}rect"):
        x, y, w, h = (float(rect.attrib.get(part, 0)) for part in ("x", "y", "width", "height"))
        assert min(x, y, width - x - w, height - y - h) >= 0


def described(tmp_path: Path, graph: dict[str, Any]) -> xd.Topology:
    path = tmp_path / "machine.json"
    path.write_text(json.dumps(graph), encoding="utf-8")
    return xd.Topology.file(path)


def test_two_servers_that_differ_are_joined_at_one_network(tmp_path: Path) -> None:
    graph = xd.Topology.machine("figure-2i").to_dict()
    text = json.dumps(xd.Topology.machine("dgx-a100:2").to_dict()).replace('"network"', '"fabric"')
    graph["shapes"] += json.loads(text.replace('"kind": "fabric"', '"kind": "network"'))["shapes"]
    graph["servers"][1]["shape"] = 1
    plan = described(tmp_path, graph).plan("node0/gpu0", "node1/gpu7")
    assert repr(plan).endswith("25 GB/s over 2 ways, 7 spare; 1.00 GiB in 42.9 ms)")
    words = [text.text for text in ElementTree.fromstring(plan.svg()).iter(f"{SVG}text")]
    assert (words.count("network"), words.count("fabric")) == (1, 0)  # as ways call it
    assert "dashed: spare, for bytes that find the other ways busy" in words
    assert plan.svg().count("stroke-dasharray") == 2 * 7  # on the picture and in the legend
    exchange = described(tmp_path, graph).plan_exchange()
    assert [(alike.first, alike.servers) for alike in exchange.server_plans] == [
        ("node0", 1),
        ("node1", 1),
    ]
    assert "shown: node0, one of 2" in exchange.svg()


def test_servers_without_a_cpu_are_planned_and_listed(tmp_path: Path) -> None:
    graph = xd.Topology.machine("topo-1").to_dict()
    (shape,) = graph["shapes"]
    shape["vertices"] = [vertex for vertex in shape["vertices"] if vertex["kind"] == "gpu"]
    shape["edges"] = [edge for edge in shape["edges"] if edge["kind"] == "nvlink"]
    topology = described(tmp_path, graph)
    for plan in (topology.plan("gpu0", "gpu1"), topology.plan_exchange()):
        words = [text.text or "" for text in ElementTree.fromstring(plan.svg()).iter(f"{SVG}text")]
        assert words[0] == plan.text().splitlines()[0]


def test_a_server_of_several_is_drawn_alone() -> None:
    plan = xd.Topology.machine("dgx-a100:3").plan("node1/gpu0", "node1/gpu5")
    words = [text.text for text in ElementTree.fromstring(plan.svg()).iter(f"{SVG}text")]
    assert ("node1" in words, "node0" in words, words.count("cpu0")) == (True, False, 1)
    assert {table.vertex.partition("/")[0] for table in plan.tables()} == {"node1"}


def test_pictures_of_exchanges_mark_what_is_full() -> None:
    plan = xd.Topology.machine("dgx-a100:13").plan_exchange("1GiB")
    picture = ElementTree.fromstring(plan.svg())
    words = [text.text or "" for text in picture.iter(f"{SVG}text")]
    assert words.count("full") == 8  # the NICs
    titles = [title.text or "" for title in picture.iter(f"{SVG}title")]
    assert any(re.fullmatch(r"nic0 and network: 25 GB/s, busy 100%", title) for title in titles)
    assert (busy_colour(0), busy_colour(1)) == ("#b9c6d3", "#c22f2f")


@pytest.mark.parametrize("picture", DRAWN)
def test_pictures_of_the_documents_are_what_the_tool_draws(picture: str) -> None:
    machine, *ends = DRAWN[picture].split()
    topology = xd.Topology.machine(machine)
    plan = topology.plan(*ends) if ends else topology.plan_exchange()
    drawn = (ROOT / "docs" / "pictures" / picture).read_text(encoding="utf-8")
    expected = f"--from {ends[0]} --to {ends[1]}" if ends else "--all-to-all"
    assert drawn == plan.svg(), (
        f"crossdock plan --machine {machine} {expected} --svg docs/pictures/{picture}"
    )


def test_errors_are_public_ones() -> None:
    topology = xd.Topology.machine("dgx-a100")
    with pytest.raises(xd.TopologyError, match="did you mean 'gpu0'"):
        topology.plan("gpu0", "gpu9")
    with pytest.raises(xd.OptionError, match="the same vertex"):
        topology.plan("gpu0", "gpu0")
    with pytest.raises(xd.OptionError, match="bytes=-1 is not a size"):
        topology.plan("gpu0", "gpu1", -1)
    with pytest.raises(xd.OptionError, match="limit    below 8 EiB"):
        topology.plan_exchange(10**400)
    with pytest.raises(xd.TopologyError, match="has no forwarding table"):
        topology.plan("gpu0", "gpu1").table("gpu1")
