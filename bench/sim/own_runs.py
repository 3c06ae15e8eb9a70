"""Our own runs predicted before they run: every pattern of `crossdock perf` among hosts that are
network namespaces (tools/hosts.py), beside what real movers take on a virtual clock
(bench/sim/stepped). One transfer between two hosts says once what a link carries of its rate.
"""

from __future__ import annotations

import json
import statistics
import tempfile
from collections.abc import Iterator
from pathlib import Path

from channels import places
from harness.programs import build, output_of

from sim.predicted_run import PredictedRun

HOSTS = (2, 4, 8)
PATTERNS = ("exchange", "gather", "scatter", "p2p", "bisection", "broadcast")
LINK = "100mbit"
LINK_BYTES_PER_S = 100e6 / 8
BYTES = 8 << 20  # of a source
SEGMENT_BYTES = 256 << 10
SLOT_BITS = 5
REPEATS = 3
LIMIT_S = 120.0


def measured(pattern: str, hosts: int) -> float:
    words = [f"bytes={BYTES}", f"repeats={REPEATS}", f"segment={SEGMENT_BYTES}",
             f"slots={SLOT_BITS}", "transports=tcp"]  # fmt: skip
    command = [str(build("perf_bench")), pattern, *words]
    return statistics.median(places.ours(places.Place(hosts, (LINK,)), command)["samples_s"])


def predicted(pattern: str, hosts: int, rate: float) -> float:
    vertices = [{"name": "cpu0", "kind": "cpu"}, {"name": "nic0", "kind": "nic"},
                {"name": "network", "kind": "network"}]  # fmt: skip
    edges = [{"from": "cpu0", "to": "nic0", "kind": "pcie", "bytes_per_s": 1e10, "both_ways": True},
             {"from": "nic0", "to": "network", "kind": "network", "bytes_per_s": rate,
              "both_ways": True}]  # fmt: skip
    graph = {"format": "crossdock-topology", "schema_version": 1,
             "shapes": [{"vertices": vertices, "edges": edges}],
             "servers": [{"name": f"host{i}", "shape": 0} for i in range(hosts)]}  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder) / "hosts.json"
        file.write_text(json.dumps(graph))
        program = str(build("stepped_bench"))
        words = [
            program,
            str(file),
            pattern,
            str(BYTES),
            str(SEGMENT_BYTES),
            str(SLOT_BITS),
            "1e-5",
        ]
        seconds: float = json.loads(output_of(words, LIMIT_S))["virtual_s"]
        return seconds


def calibrated_rate() -> float:
    """Bytes per second of a link, as one transfer between two hosts has them."""
    return LINK_BYTES_PER_S * predicted("p2p", 2, LINK_BYTES_PER_S) / measured("p2p", 2)


def runs() -> Iterator[PredictedRun]:
    rate = calibrated_rate()
    for hosts in HOSTS:
        for pattern in PATTERNS:
            if (pattern, hosts) == ("p2p", 2):
                continue
            before_s = predicted(pattern, hosts, rate)
            yield PredictedRun(f"{pattern}, {hosts} hosts", measured(pattern, hosts), before_s)
