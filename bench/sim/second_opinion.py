"""What SimGrid's SMPI says of the put exchange (Debian's libsimgrid-dev), beside ours: the same
hosts, each with a link both ways to one switch that carries everything.

SMPI runs an MPI program with its own model of links, here without factors for protocols that real
networks have and neither of us is asked about.
"""

from __future__ import annotations

import json
import shutil
import subprocess
import tempfile
from pathlib import Path

from crossdock import _native
from crossdock.machines.simulated_joins import Faults, JoinSize, Strategy
from crossdock.machines.simulated_ranks import rates_named
from crossdock.machines.simulation import simulate
from crossdock.machines.topology import Topology
from harness.programs import ProgramError

HERE = Path(__file__).parent
RANKS = (4, 16, 64)
PAIR_BYTES = 1 << 18
RATE = 1.25e9  # bytes per second
SLOW = 0.4  # of that, the first host's link where one is slow
LIMIT_S = 300
BULK = Strategy("put exchange", bulk=True)
CONFIG = (
    "--cfg=network/model:CM02",
    "--cfg=network/crosstraffic:no",
    "--cfg=smpi/simulate-computation:no",
)
NO_TIME = 1e15  # rows per second: ranks compute at once


def is_there() -> bool:
    return shutil.which("smpirun") is not None and shutil.which("smpicxx") is not None


def ours(ranks: int, slow: bool) -> float:
    """Seconds of the exchange alone."""
    vertices = [{"name": "cpu0", "kind": "cpu"}, {"name": "nic0", "kind": "nic"},
                {"name": "network", "kind": "network"}]  # fmt: skip
    edges = [
        {"from": "cpu0", "to": "nic0", "kind": "pcie", "bytes_per_s": RATE * 10, "both_ways": True},
        {"from": "nic0", "to": "network", "kind": "network", "bytes_per_s": RATE,
         "both_ways": True},
    ]  # fmt: skip
    graph = {"format": "crossdock-topology", "schema_version": 1,
             "shapes": [{"vertices": vertices, "edges": edges}],
             "servers": [{"name": f"h{i}", "shape": 0} for i in range(ranks)]}  # fmt: skip
    topology = Topology(_native.topology_from_json(json.dumps(graph)), f"{ranks} hosts")
    names = ("scan", "partition", "build", "probe", "sort_run", "merge")
    rates = rates_named("xc30", 8).replaced(dict.fromkeys(names, NO_TIME))
    size = JoinSize(PAIR_BYTES * ranks * ranks / 8, 0, 8, 8)
    faults = Faults(slow_links=1, link_share=SLOW) if slow else Faults()
    done = simulate(size, topology, compare=[BULK], rates=rates, faults=faults)
    return done.planned.phase("exchange")


def theirs(ranks: int, slow: bool) -> float:
    with tempfile.TemporaryDirectory() as folder:
        at = Path(folder)
        program = at / "put_exchange"
        _said(["smpicxx", "-O1", str(HERE / "put_exchange.cpp"), "-o", str(program)])
        (at / "platform.xml").write_text(_platform(ranks, slow))
        (at / "hosts").write_text("".join(f"h{i}\n" for i in range(ranks)))
        command = ["smpirun", "-np", str(ranks), "-platform", str(at / "platform.xml")]
        command += ["-hostfile", str(at / "hosts"), *CONFIG, str(program), str(PAIR_BYTES)]
        return float(_said(command).strip().splitlines()[-1])


def _platform(ranks: int, slow: bool) -> str:
    lines = ["<?xml version='1.0'?>",
             '<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">',
             '<platform version="4.1"><zone id="all" routing="Full">']  # fmt: skip
    lines += [f'<host id="h{i}" speed="1Gf"/>' for i in range(ranks)]
    for i in range(ranks):
        rate = RATE * (SLOW if slow and i == 0 else 1)
        lines += [f'<link id="{way}{i}" bandwidth="{rate:.0f}Bps" latency="0s"/>'
                  for way in ("up", "down")]  # fmt: skip
    for a in range(ranks):
        lines += [
            f'<route src="h{a}" dst="h{b}" symmetrical="NO"><link_ctn id="up{a}"/>'
            f'<link_ctn id="down{b}"/></route>'
            for b in range(ranks)
            if a != b
        ]
    return "\n".join([*lines, "</zone></platform>"])


def _said(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=LIMIT_S)
    if done.returncode != 0:
        raise ProgramError(f"{command[0]}: {done.stderr.strip()[-400:]}")
    return done.stdout


def opinions() -> list[tuple[str, float, float]]:
    """What, seconds of ours, seconds of SMPI's."""
    rows = []
    for ranks in RANKS:
        for slow in (False, True):
            what = f"{ranks} ranks, {'one slow link' if slow else 'links alike'}"
            rows.append((what, ours(ranks, slow), theirs(ranks, slow)))
    return rows
