"""What test_lost_ranks.py runs on each host: ranks, of which rank 1 ends without a word, and how
long the others take to say so.

    lost_ranks.py FOLDER WAY WHAT

WAY: how ranks meet (folder, rendezvous, controller). WHAT: what becomes of rank 1 (killed, stopped
for a while, cut off from the network), or "aborts": a thread of it ends the group while all wait.
The others wait for it in a dock, in gather, in exchange and in channel.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from typing import Any

HERE = Path(__file__)
HOST, HOSTS = int(os.environ["TEST_HOST"]), int(os.environ["TEST_HOSTS"])
STOPPED_S = 14.0  # longer than a rank may be silent on a channel
NOTICED_S = 30.0  # a host that is cut off is asked for an answer for 10 s; steps wait for 60 s
AT_CONTROLLER = "10.77.0.1:7613"
WAITS = ("dock", "gather", "exchange", "channel")


def wait_for(path: Path) -> None:
    deadline = time.monotonic() + 60
    while not path.exists():
        if time.monotonic() > deadline:
            raise TimeoutError(path)
        time.sleep(0.02)


def put(path: Path, text: str = "") -> None:
    path.with_suffix(".new").write_text(text)
    path.with_suffix(".new").rename(path)


def set_links(state: str) -> None:
    for link in ("link0", "link1"):
        if Path("/sys/class/net", link).exists() or state == "up":
            subprocess.run(["ip", "link", "set", link, state], check=False)


def lose(group: Any, what: str, folder: Path, wait: str) -> None:
    """What becomes of this rank."""
    time.sleep(0.5)  # the others wait by then
    put(folder / f"gone-{wait}")
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "stopped":
        os.kill(os.getpid(), signal.SIGSTOP)
    if what == "cut":
        set_links("down")
        time.sleep(NOTICED_S)
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "aborts":
        thread = threading.Thread(target=group.abort, args=("no more",))
        thread.start()
        thread.join()


def run_rank(folder: Path, way: str, what: str, wait: str) -> None:
    import crossdock as xd
    import pyarrow as pa

    where: dict[str, Any] = {"meet": folder}
    if way == "rendezvous":
        where = {"meet": (folder / "address").read_text()}
    if way == "controller":
        where = {"control": AT_CONTROLLER, "insecure": True}
    job = f"{way}-{what}-{wait}"
    with xd.join_group(rank=HOST, ranks=HOSTS, open_within_s=60, job=job, **where) as group:
        table = pa.table({"k": range(100)})
        dock = xd.connect(group=group, threads=1)
        assert dock.from_arrow(table).count() == 100 * HOSTS
        if HOST == 1:
            lose(group, what, folder, wait)
        start = time.monotonic()
        try:
            if wait == "dock":
                dock.from_arrow(table).group_by("k").agg(n=xd.count()).count()
            elif wait == "gather":
                group.gather(b"", at_most_s=90)
            elif wait == "exchange":
                group.exchange(table, by="k")
            else:
                group.channel(table.schema, by="k").close()
            print(wait, "went on", flush=True)
        except xd.ControlError as error:
            in_time = time.monotonic() - start < NOTICED_S
            if "no more" in str(error):
                print(wait, error.code, in_time, "aborted", flush=True)
                return
            text = str(error)
            names = "rank 1 (process" in text and ("host1" in text or "10.77.0.2" in text)
            print(wait, error.code, in_time, names, "" if in_time and names else error, flush=True)


def main() -> None:
    folder, way, what = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    if len(sys.argv) > 4:
        run_rank(folder, way, what, sys.argv[4])
        return
    server: Any = None
    if way == "controller" and HOST == 0:
        command = [sys.executable, "-m", "crossdock_cli.main", "controller", "--insecure"]
        server = subprocess.Popen([*command, "--listen", AT_CONTROLLER], stderr=subprocess.DEVNULL)
    if way == "rendezvous" and HOST == 0:
        import crossdock as xd

        server = xd.Rendezvous()
        put(folder / "address", server.address)
    if way == "rendezvous":
        wait_for(folder / "address")
    for wait in WAITS if what in ("killed", "aborts") else WAITS[:1]:
        process = subprocess.Popen([sys.executable, str(HERE), str(folder), way, what, wait])
        if HOST == 1 and what == "stopped":
            wait_for(folder / f"gone-{wait}")
            time.sleep(STOPPED_S)
            process.send_signal(signal.SIGCONT)
        status = process.wait()
        assert status in (0, -signal.SIGKILL), status
        if what == "cut" and HOST == 1:
            set_links("up")
    put(folder / f"done-{HOST}")
    for other in range(HOSTS):
        wait_for(folder / f"done-{other}")
    if isinstance(server, subprocess.Popen):
        server.terminate()
        server.wait()
    elif server is not None:
        server.close()


if __name__ == "__main__":
    main()
