"""What each host does in test_planned_channels.py. Two hosts with two links have two agents each:
one that knows both links, and one that knows link1 alone. host0 has the controller, too. A program
on each is in a group by either agent; groups exchange rows while agents and the controller die.
Hosts share the folder given as the argument; a file there is a signal. What the test compares is
printed."""

from __future__ import annotations

import atexit
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crossdock as xd
import pyarrow as pa
from crossdock import control

ADDRESS = "10.77.0.1:7613"
PATIENCE_S = 60.0
ROWS = 1 << 19  # of each rank, 8 bytes each
HOST = int(os.environ["TEST_HOST"])
FOLDER = Path(sys.argv[1])


def start(*arguments: str) -> subprocess.Popen[bytes]:
    words = [sys.executable, "-m", "crossdock_cli.main", *arguments, "--insecure"]
    process = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    atexit.register(process.kill)  # or this host would not end
    return process


def wait(condition: Callable[[], bool], what: str) -> None:
    give_up = time.monotonic() + PATIENCE_S
    while not condition():
        if time.monotonic() > give_up:
            raise SystemExit(f"waited {PATIENCE_S} s for {what}")
        time.sleep(0.02)


def topology(*nics: str) -> str:
    """A file: a CPU, these NICs, and the network."""
    wire = {"bytes_per_s": 125e6, "both_ways": True}
    edges: list[dict[str, Any]] = []
    for nic in nics:
        edges.append({"from": "cpu0", "to": nic, "kind": "pcie", **wire})
        edges.append({"from": nic, "to": "network", "kind": "network", **wire})
    kinds = {"cpu0": "cpu", **dict.fromkeys(nics, "nic"), "network": "network"}
    vertices = [{"name": name, "kind": kind} for name, kind in kinds.items()]
    graph = {
        "format": "crossdock-topology",
        "schema_version": 1,
        "shapes": [{"vertices": vertices, "edges": edges}],
        "servers": [{"name": "host", "shape": 0}],
    }
    path = FOLDER / f"{'-'.join(nics)}-{HOST}.json"
    path.write_text(json.dumps(graph))
    return str(path)


def agent(kind: str, *nics: str) -> subprocess.Popen[bytes]:
    listen = f"unix:{FOLDER}/{kind}{HOST}"
    return start("agent", "--at", ADDRESS, "--name", f"{kind}{HOST}", "--listen", listen,
                 "--file", topology(*nics))  # fmt: skip


def join(kind: str) -> xd.Group:
    address = f"unix:{FOLDER}/{kind}{HOST}"
    wait(Path(address.removeprefix("unix:")).exists, "the agent's socket")
    return xd.join_group(
        rank=HOST, ranks=2, control=address, job=kind, insecure=True, transports="ucx",
        memory="512MiB",
    )  # fmt: skip


def sent(link: str) -> int:
    return int(Path(f"/sys/class/net/{link}/statistics/tx_bytes").read_text())


def wait_for_both(where: str) -> None:
    """Until both hosts have come to this place."""
    (FOLDER / f"{where}-{HOST}").touch()
    wait(lambda: all((FOLDER / f"{where}-{host}").exists() for host in (0, 1)), where)


def exchange(group: xd.Group, between: Callable[[], None] = lambda: None) -> bool:
    """Whether all rows came to their rank; `between` is called when half of them are sent."""
    mine = pa.table({"k": pa.array(range(HOST * ROWS, (HOST + 1) * ROWS), pa.int64())})
    with group.channel(mine.schema, by="k") as channel:
        channel.send(mine.slice(0, ROWS // 2))
        between()
        channel.send(mine.slice(ROWS // 2))
        schema = pa.Table.from_batches(list(channel), mine.schema)
    return sorted(schema["k"].to_pylist()) == list(range(HOST, 2 * ROWS, 2))


def refused(group: xd.Group) -> str:
    """The code of a channel that cannot be planned, if that is said in time."""
    begin = time.monotonic()
    try:
        exchange(group)
    except xd.ControlError as error:
        return error.code if time.monotonic() - begin < 10 else f"{error.code}, but late"
    return "opened"


def carried(group: xd.Group) -> list[str]:
    """Which links carried the rows of an exchange; what else goes over them is much less."""
    before = [sent("link0"), sent("link1")]
    rows_are_right = exchange(group)
    took = [
        after - then for after, then in zip([sent("link0"), sent("link1")], before, strict=True)
    ]
    return [str(rows_are_right)] + [f"link{i}" for i in range(2) if took[i] > ROWS]


def main() -> None:
    controller = (
        start("controller", "--listen", ADDRESS, "--lost-after", "2") if HOST == 0 else None
    )
    agents = {"both": agent("both", "link0", "link1"), "one": agent("one", "link1")}
    with join("both") as both, join("one") as one:
        print("both", *carried(both), flush=True)
        print("one", *carried(one), flush=True)

        # What is lost before the other host has its channel open would fail that, as it should.
        def lose_agent() -> None:
            wait_for_both("open beside the agent")
            if HOST == 1:
                agents["one"].kill()
                agents["one"].wait()
                (FOLDER / "agent").touch()
            wait((FOLDER / "agent").exists, "the end of the agent")
            with control.connect(ADDRESS, insecure=True) as plane:
                wait(lambda: len(plane.status().agents) == 3, "the loss of the agent")

        print("agent killed", exchange(one, lose_agent), flush=True)
        if HOST == 1:
            print("refused", refused(one), flush=True)
            Path(f"{FOLDER}/one{HOST}").unlink()
            agents["one"] = agent("one", "link1")
            wait(Path(f"{FOLDER}/one{HOST}").exists, "the agent's return")
            (FOLDER / "again").touch()
        wait((FOLDER / "again").exists, "the agent's return")
        with control.connect(ADDRESS, insecure=True) as plane:
            wait(lambda: len(plane.status().agents) == 4, "the agent's return")
        # One rank has tried in vain meanwhile, the other has not.
        print("agent back", *carried(one), flush=True)

        def lose_controller() -> None:
            wait_for_both("open beside the controller")
            if controller is not None:
                controller.kill()
                controller.wait()
                (FOLDER / "controller").touch()
            wait((FOLDER / "controller").exists, "the end of the controller")

        print("controller killed", exchange(both, lose_controller), flush=True)
        print("refused", refused(both), flush=True)


main()
