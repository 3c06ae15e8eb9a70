"""crossdock plan: the paths of the MGI paper's examples, exchanges, tables, and what is refused."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

FIGURE_5C = ("--machine", "figure-2i", "--from", "node0/gpu0", "--to", "node1/gpu0")


def test_a_transfer_prints_its_ways(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    ended = crossdock("plan", *FIGURE_5C, "--bytes", "25GB", "--tables")
    assert (ended.code, ended.err) == (0, "")
    golden("plan-transfer", ended.out)


def test_many_ways_and_links_that_are_alike(
    crossdock: Any, golden: Callable[[str, str], None]
) -> None:
    ends = ("--from", "node0/gpu0", "--to", "node1/gpu5")
    ended = crossdock("plan", "--machine", "dgx-a100:2", *ends, "--bytes", "64GiB")
    assert (ended.code, ended.err) == (0, "")
    golden("plan-transfer-8-ways", ended.out)


def test_a_transfer_as_json(crossdock: Any) -> None:
    planned = json.loads(crossdock("plan", *FIGURE_5C, "--bytes", "25GB", "--json").out)
    assert planned["schema_version"] == 1
    assert (planned["bytes"], planned["bytes_per_s"], planned["predicted_s"]) == (25e9, 25e9, 1)
    assert [len(way["vertices"]) for way in planned["ways"]] == [5, 13]
    assert [way["relays"] for way in planned["ways"]] == [0, 4]
    assert planned["ways"][0]["vertices"][1:4] == ["node0/nic0", "network", "node1/nic0"]
    assert {edge["to"] for edge in planned["bottlenecks"]} == {"network"}
    assert "tables" not in planned


def test_the_table_of_the_papers_example(crossdock: Any) -> None:
    """Section 4.4: v6 sends to v14 by v0 over v2, and directly over v4, v16 and v12."""
    shown = crossdock("plan", *FIGURE_5C, "--table", "node0/gpu0", "--json").out
    (table,) = json.loads(shown)["tables"]
    (entry,) = table["entries"]
    assert (table["vertex"], entry["destination"]) == ("node0/gpu0", "node1/gpu0")
    hops = {hop["next"]: [path["between"] for path in hop["paths"]] for hop in entry["next_hops"]}
    assert hops == {
        "node0/cpu0": [["node0/pcie0"]],
        "node1/gpu0": [["node0/nic0", "network", "node1/nic0"]],
    }


def test_an_exchange_prints_its_forms(crossdock: Any, golden: Callable[[str, str], None]) -> None:
    ended = crossdock("plan", "--machine", "superpod-h100:128", "--all-to-all", "--bytes", "16GiB")
    assert (ended.code, ended.err) == (0, "")
    golden("plan-exchange", ended.out)


def test_an_exchange_prints_tables_once_for_servers_that_are_alike(
    crossdock: Any, golden: Callable[[str, str], None]
) -> None:
    tables = ("--table", "node7/gpu1", "--table", "node7/cpu0")
    ended = crossdock("plan", "--machine", "figure-2i:9", "--all-to-all", *tables)
    assert (ended.code, ended.err) == (0, "")
    golden("plan-exchange-tables", ended.out)
    alike = json.loads(
        crossdock("plan", "--machine", "figure-2i:9", "--all-to-all", "--tables", "--json").out
    )
    assert {table["vertex"].split("/")[0] for table in alike["tables"]} == {"node0"}


def test_an_exchange_as_json(crossdock: Any) -> None:
    ended = crossdock("plan", "--machine", "figure-2a", "--all-to-all", "--bytes", "4GB", "--json")
    planned = json.loads(ended.out)
    assert (planned["schema_version"], planned["endpoint_kind"]) == (1, "gpu")
    assert (planned["sources"], planned["servers"]) == (4, 1)
    assert planned["server_plans"] == [{"first": "node0", "servers": 1}]
    # Two GPUs send a billion bytes to each of two others over one link.
    assert planned["links_s"] == pytest.approx(4e9 / planned["bottleneck"]["bytes_per_s"])
    assert max(load["busy_s"] for load in planned["loads"]) == planned["links_s"]
    assert len(planned["considered"]) == 4
    assert planned["chosen"] in planned["considered"]


def test_files_of_any_kind_are_planned_as_well(crossdock: Any, tmp_path: Path) -> None:
    described = crossdock("topo", "--machine", "figure-2a", "--json").out
    (tmp_path / "machine.json").write_text(described)
    ends = ("--from", "gpu0", "--to", "gpu1", "--json")
    of_file = crossdock("plan", "--file", str(tmp_path / "machine.json"), *ends)
    assert of_file.out == crossdock("plan", "--machine", "figure-2a", *ends).out
    xml = Path(__file__).parents[1] / "topology" / "data" / "two-sockets.hwloc.xml"
    of_hwloc = crossdock("plan", "--hwloc", str(xml), "--from", "gpu0", "--to", "gpu2")
    assert (of_hwloc.code, of_hwloc.out.startswith("gpu0 to gpu2: ")) == (0, True)
    matrix = xml.with_name("dgx-1v.topo.txt")
    of_matrix = crossdock("plan", "--nvidia-smi", str(matrix), "--from", "gpu0", "--to", "gpu2")
    assert (of_matrix.code, of_matrix.out.startswith("gpu0 to gpu2: ")) == (0, True)


def test_this_machine_without_an_option(crossdock: Any) -> None:
    ended = crossdock("plan", "--from", "cpu0", "--to", "cpu0")
    assert (ended.code, "the same vertex" in ended.err) == (1, True)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--machine", "figure-2a"), "Say what to plan"),
        (("--machine", "figure-2a", "--from", "gpu0"), "--from and --to belong together"),
        (
            ("--machine", "figure-2a", "--all-to-all", "--to", "gpu0"),
            "--all-to-all and --from or --to exclude each other",
        ),
        (
            ("--machine", "figure-2a", "--all-to-all", "--tables", "--table", "gpu0"),
            "--tables shows all tables already",
        ),
        (("--machine", "a", "--file", "b", "--all-to-all"), "exclude each other"),
    ],
)
def test_wrong_usage(crossdock: Any, options: tuple[str, ...], words: str) -> None:
    ended = crossdock("plan", *options)
    assert ended.code == 2
    assert words in ended.err


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--from", "gpu0", "--to", "gpu9"), "[CD-601]: server 'node0' has no vertex 'gpu9': did"),
        (("--from", "node0/gpu0", "--to", "nod0/gpu1"), "did you mean 'node0/gpu1'?"),
        (("--from", "gpu0", "--to", "nic0"), "cannot hold data, being a nic; take a CPU or a GPU"),
        (("--from", "nvswitch", "--to", "gpu0"), "source nvswitch cannot hold data"),
        (("--from", "gpu3", "--to", "node0/gpu3"), "from gpu3 to node0/gpu3: the same vertex"),
        (("--all-to-all", "--bytes", "much"), "bytes='much' is not a size"),
        (("--all-to-all", "--bytes=-1"), "bytes='-1' is not a size"),
        (("--all-to-all", "--bytes", "9" * 400), "limit    below 8 EiB"),
        (("--from", "gpu0", "--to", "gpu1", "--table", "gpu1"), "'gpu1' has no forwarding table"),
        (("--from", "gpu0", "--to", "gpu1", "--table", "nope"), "there is no vertex 'nope'"),
        (("--all-to-all", "--table", "gpu8"), "there is no vertex 'gpu8'"),
        (
            ("--all-to-all", "--table", "nod0/gpu1"),
            "there is no server 'nod0'; the first of 1 is called 'node0'",
        ),
        (("--all-to-all", "--svg", "no/such/folder.svg"), "cannot be written"),
    ],
)
def test_errors(crossdock: Any, options: tuple[str, ...], words: str) -> None:
    ended = crossdock("plan", "--machine", "dgx-a100", *options)
    assert (ended.code, ended.out) == (1, "")
    assert words in ended.err


def test_errors_of_machines(crossdock: Any, tmp_path: Path) -> None:
    apart = json.loads(crossdock("topo", "--machine", "figure-2a", "--json").out)
    apart["shapes"][0]["edges"] = [
        edge for edge in apart["shapes"][0]["edges"] if "gpu3" not in (edge["from"], edge["to"])
    ]
    path = tmp_path / "apart.json"
    path.write_text(json.dumps(apart), encoding="utf-8")
    ended = crossdock("plan", "--file", str(path), "--from", "gpu0", "--to", "gpu3")
    assert (ended.code, "[CD-602]: no path leads from gpu0 to gpu3" in ended.err) == (1, True)
    ended = crossdock("plan", "--machine", "dgx-a100:2", "--from", "gpu0", "--to", "gpu5")
    assert (ended.code, "write server/name, as in node0/gpu0" in ended.err) == (1, True)
    apart["shapes"][0]["vertices"] = [
        vertex for vertex in apart["shapes"][0]["vertices"] if vertex["kind"] == "cpu"
    ]
    apart["shapes"][0]["edges"] = []
    path.write_text(json.dumps(apart), encoding="utf-8")
    ended = crossdock("plan", "--file", str(path), "--all-to-all")
    assert (ended.code, "an exchange among 1 cpu" in ended.err) == (1, True)
