"""xd.simulate: what a join's text means, what comes out, and what is refused."""

from __future__ import annotations

import json
import math
import xml.etree.ElementTree as ET
from itertools import pairwise
from typing import Any

import crossdock as xd
import pytest
from crossdock.machines.simulated_joins import Faults, JoinSize, Strategy
from crossdock.machines.simulated_ranks import RankRates, rate_sets


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("1e9 x 4e9", JoinSize(1e9, 4e9)),
        ("1e9x4e9,16B,Zipf 0.5", JoinSize(1e9, 4e9, 16, 16, 0.5)),
        ("1.5e8 x 6e8 each, 12 B x 8 B, merge", JoinSize(1.5e8, 6e8, 12, 8, 0, True, True)),
        ("100 X 7 EACH, zipf=1, hash", JoinSize(100, 7, 16, 16, 1, False, True)),
    ],
)
def test_a_join_is_read(text: str, expected: JoinSize) -> None:
    assert JoinSize.parse(text) == expected


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "rows of both sides"),
        ("1e9", "two numbers with an x between them"),
        ("1e9 x 4e9, 16", "no part of a join"),
        ("1e9 x 4e9, Zipf 3", "0 to 2"),
        ("1e9 x 4e9, 0 B", "1 to 1.04858e+06"),
        ("0 x 0", "1 to 1e+15"),
        ("9e15 x 1", "1 to 1e+15"),
        ("-1 x 5", "rows of both sides"),
    ],
)
def test_a_join_that_cannot_be_is_refused(text: str, says: str) -> None:
    with pytest.raises(xd.OptionError) as error:
        xd.simulate(text, "dgx-a100")
    assert error.value.code == "CD-105"
    assert says in str(error.value)
    assert "1e9 x 4e9, 16 B, Zipf 0.5" in str(error.value)  # the next step


@pytest.mark.parametrize(
    ("options", "says"),
    [
        ({"sweep": "gpus=8..4"}, "no values of gpus"),
        ({"sweep": "gpus=8.5"}, "no values of gpus"),
        ({"sweep": "nodes=8"}, "nothing to vary is called 'nodes'"),
        ({"sweep": "rows=1..1e15,3"}, "no values of rows"),
        ({"gpus": 1}, "needs two"),
        ({"gpus": 9}, "the machine has 8"),
        ({"coded_share": 0.0}, "above 0, up to 1"),
        ({"rates": "a10"}, "'a100'"),
        ({"rate": {"biuld": 1.0}}, "build=1"),
        ({"rate": {"passes": 1.5}}, "an integer, 1 to 64"),
        ({"rate": {"scan": -1.0}}, "a number, 1 to 1e+18"),
        ({"rate": {"build": 0.0}}, "a number, 1 to 1e+18"),
        ({"rate": {"latency_s": 1e300}}, "a number, 0 to 1e+06"),
        ({"rate": {"scan": math.nan}}, "scan=nan"),
        ({"rates": "here", "rate": {"build": 1e9}}, "those of the models in force"),
        ({"rates": RankRates("mine", "", scan=1e9, partition=1e9, build=1e9)}, "never ends"),
        ({"faults": Faults(slow_servers=2)}, "0 to 1"),
        ({"faults": Faults(slow_links=2)}, "0 to 1"),
        ({"sweep": "rows=1e14,1e15"}, "'5e+15': rows"),
        ({"faults": Faults(slowness=0.5)}, "1 to 1e+06"),
        ({"seed": -1}, "0 to 2^64 - 1"),
        ({"compare": [Strategy("two", two_levels=True)]}, "simulate one level"),
    ],
)
def test_options_that_cannot_be_are_refused(options: dict[str, Any], says: str) -> None:
    with pytest.raises(xd.OptionError) as error:
        xd.simulate("1e6 x 4e6", "dgx-a100", **options)
    assert says in str(error.value)


@pytest.mark.parametrize(
    ("size", "says"),
    [
        (JoinSize(-1, 5), "'-1': rows of a side"),
        (JoinSize(math.nan, 5), "'nan': rows"),
        (JoinSize(1e15, 0, zipf=1, each=True), "'8e+15': rows"),
        (JoinSize(1, 5, 0), "bytes of a row"),
    ],
)
def test_sizes_have_the_limits_of_their_text(size: JoinSize, says: str) -> None:
    with pytest.raises(xd.OptionError) as error:
        xd.simulate(size, "dgx-a100")
    assert says in str(error.value)


def test_a_gpu_without_known_rates_asks_for_some() -> None:
    with pytest.raises(xd.OptionError, match="V100"):
        xd.simulate("1e6 x 4e6", "dgx-1v")
    assert xd.simulate("1e6 x 4e6", "dgx-1v", rates="a100", compare=False).planned.seconds > 0
    assert set(rate_sets()) == {"a100", "h100", "xc30", "here"}


def test_strategies_stand_side_by_side() -> None:
    simulation = xd.simulate("1e9 x 4e9, 16 B", "superpod-a100:16", coded_share=0.5)
    by_label = {one.strategy.label: one for one in simulation.outcomes}
    planned = simulation.planned
    assert planned.endpoints == 128
    assert planned.servers == 16
    assert planned.rows_per_s == 5e9 / planned.seconds
    assert sum(seconds for _, seconds in planned.phases) == pytest.approx(planned.seconds)
    assert planned.phase("exchange") > 0
    bulk, coded = by_label["bulk, one level"], by_label["bulk, coded"]
    assert coded.bytes_between_servers == pytest.approx(bulk.bytes_between_servers / 2)
    assert coded.seconds < bulk.seconds
    assert by_label["bulk, one path"].seconds >= bulk.seconds
    assert by_label["bulk, two levels"].messages_between_servers < bulk.messages_between_servers
    assert by_label["broadcast"].bytes_between_servers == pytest.approx(16e9 * (128 - 8))
    labels = {f"{'bulk' if b else 'streaming'}, {n} level{s}" for b in (0, 1)
              for n, s in (("one", ""), ("two", "s"))}  # fmt: skip
    assert planned.form in labels
    assert planned.seconds == by_label[planned.form].seconds


def test_the_same_seed_gives_the_same_bytes() -> None:
    def run(seed: int) -> str:
        faults = Faults(slow_servers=2, slowness=1.5, slow_links=1, link_share=0.5)
        simulation = xd.simulate("1e8 x 4e9, 16 B, Zipf 0.9", "superpod-h100:64", faults=faults,
                                 seed=seed)  # fmt: skip
        return json.dumps(simulation.to_dict()) + simulation.svg() + simulation.text()

    assert run(3) == run(3)
    assert run(3) != run(4)


def test_a_sweep_goes_from_point_to_point() -> None:
    simulation = xd.simulate("1e7 x 4e7 each", "dgx-a100:8", sweep="gpus=4..48")
    assert [at for at, _ in simulation.points] == [4, 8, 16, 32, 48]
    assert [outcomes[0].join.build_rows for _, outcomes in simulation.points] == [
        1e7 * gpus for gpus in (4, 8, 16, 32, 48)
    ]
    rows = xd.simulate("1e7 x 4e7", "dgx-a100:2", sweep="rows=1e6,3e6", compare=False)
    assert [outcomes[0].join.probe_rows for _, outcomes in rows.points] == [4e6, 12e6]
    assert len(rows.outcomes) == 1


def test_pictures_are_svg_and_reports_are_lines() -> None:
    bars = xd.simulate("1e9 x 4e9", "dgx-a100:4")
    lines = xd.simulate("1e6 x 4e6 each", "dgx-a100:4", sweep="gpus=8..32")
    for simulation in (bars, lines):
        root = ET.fromstring(simulation.svg())
        assert root.tag.endswith("svg")
        assert "nan" not in simulation.svg()
    marks = ET.fromstring(lines.svg()).findall(".//{http://www.w3.org/2000/svg}circle")
    assert len(marks) == sum(len(outcomes) for _, outcomes in lines.points)
    assert "1.00 G x 4.00 G rows among 32 endpoints on 4 servers" in bars.text()
    assert "among 8 endpoints on 1 server, sim" in xd.simulate("1e6 x 1e6", "dgx-a100").text()
    assert all(not line.endswith(" ") for line in bars.text().splitlines())


SVG = "{http://www.w3.org/2000/svg}"


def test_the_planned_line_is_drawn_above_all_others() -> None:
    lines = xd.simulate("1e9 x 4e9", "dgx-a100:4", sweep="gpus=8..32")
    root = ET.fromstring(lines.svg())
    colours = [path.get("stroke") for path in root.findall(f".//{SVG}path[@stroke-width]")]
    strings = [one.text for one in root.findall(f".//{SVG}text")]
    assert colours[-1] == "#0072b2"  # the first colour
    assert len(set(colours)) == len(lines.outcomes)
    labels = {one.strategy.label for one in lines.outcomes}
    assert [one for one in strings if one in labels][-1] == "planned"


def test_values_of_a_long_sweep_do_not_overlap() -> None:
    root = ET.fromstring(xd.simulate("1 x 4", "dgx-a100", sweep="rows=1..1e14").svg())
    places = [(float(one.get("x", "0")), len(one.text or ""))
              for one in root.findall(f".//{SVG}text[@text-anchor='middle']")]  # fmt: skip
    assert 4 < len(places) <= 8
    for (x, width), (next_x, next_width) in pairwise(places):
        assert x + 7 * (width + next_width) / 2 < next_x


def test_cpus_compute_by_the_models_in_force() -> None:
    cpu = {"name": "cpu0", "kind": "cpu"}
    nic, network = {"name": "nic0", "kind": "nic"}, {"name": "network", "kind": "network"}
    edges = [
        {"from": "cpu0", "to": "nic0", "kind": "pcie", "bytes_per_s": 1e10, "both_ways": True},
        {
            "from": "nic0",
            "to": "network",
            "kind": "network",
            "bytes_per_s": 1e10,
            "both_ways": True,
        },
    ]
    shape = {"vertices": [cpu, nic, network], "edges": edges}
    servers = [{"name": f"node{i}", "shape": 0} for i in range(8)]
    graph = {"format": "crossdock-topology", "schema_version": 1, "shapes": [shape],
             "servers": servers}  # fmt: skip
    from crossdock import _native
    from crossdock.machines.topology import Topology

    topology = Topology(_native.topology_from_json(json.dumps(graph)), "8 nodes")
    simulation = xd.simulate("1e8 x 4e8", topology, rate={"ranks": 4})
    assert simulation.rates.name == "here"
    assert simulation.planned.endpoints == 8
    histogram = simulation.planned.phase("histogram")
    per_row = _native.rates_in_use()["exchange.part_count"]
    assert histogram == pytest.approx(5e8 / 32 * per_row * 1e-9)
    assert math.isfinite(simulation.planned.seconds)
