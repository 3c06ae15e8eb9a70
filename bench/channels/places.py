"""Where a row runs: one process, processes of this machine, or hosts made of network namespaces.

A program says one JSON object on the standard output of its rank 0. Hosts need root.
"""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from harness.programs import ROOT, ROW_LIMIT_S, ProgramError, output_of
from rank_processes import run_ranks

HOSTS = ROOT / "tools" / "hosts.py"
ON_HOST = ROOT / "bench" / "channels" / "on_host.sh"
MPIRUN = ("mpirun", "--allow-run-as-root", "--oversubscribe")
LISTEN_LIMIT_S = 10
LINES_SHOWN = 4  # of a failure

Said = dict[str, Any]


@dataclass(frozen=True, slots=True)
class Place:
    """`rates`: of each link of every host, as tools/hosts.py takes them; none: one machine."""

    ranks: int = 1
    rates: tuple[str, ...] = ()

    def text(self) -> str:
        if self.rates:
            return f"{self.ranks} hosts, {'+'.join(self.rates)}"
        return "1 process" if self.ranks == 1 else f"{self.ranks} processes"


def said_in(text: str) -> Said:
    said: Said = json.loads(text)
    return said


def failure(outputs: list[str]) -> ProgramError:
    return ProgramError(" | ".join(text.strip() for text in outputs if text.strip()) or "no output")


def on_processes(ranks: int, command: list[str]) -> Said:
    """Ranks that meet in a folder; one alone gets no rank."""
    if ranks == 1:
        return said_in(output_of(command))
    with tempfile.TemporaryDirectory() as folder:
        ended = run_ranks(command, ranks, Path(folder), within_s=ROW_LIMIT_S)
    if any(one.code != 0 for one in ended):
        raise failure([one.err for one in ended])
    return said_in(ended[0].out)


def on_hosts(place: Place, script: str) -> dict[str, str]:
    """Runs a shell script on every host; $OUT is a folder that all see. Answers its files."""
    with tempfile.TemporaryDirectory() as folder:
        command = [sys.executable, str(HOSTS), "--hosts", str(place.ranks)]
        command += ["--links", str(len(place.rates)), "--rate", ",".join(place.rates), "--"]
        script = f"OUT={shlex.quote(folder)}\n{script}"
        done = subprocess.run(
            [*command, "sh", "-ec", script],
            capture_output=True,
            text=True,
            check=False,
            timeout=ROW_LIMIT_S,
        )
        if done.returncode != 0:
            # What the programs have said is on its standard output, each line behind its host.
            raise failure((done.stdout.strip() or done.stderr).splitlines()[-LINES_SHOWN:])
        return {file.name: file.read_text() for file in Path(folder).iterdir() if file.is_file()}


@dataclass(frozen=True, slots=True)
class Disturbance:
    """A shell command that every host runs so long after the first timed run has begun.
    `problem`: from what was said, why it seems not to have happened; "" if it has."""

    command: str
    after_s: float
    problem: Callable[[Said], str]

    def check(self, said: Said) -> None:
        if problem := self.problem(said):
            raise ProgramError(f"{problem}: the disturbance came too late, or did nothing")

    def script(self) -> str:
        return (
            f"(until [ -e $OUT/mark ]; do sleep 0.005; done; sleep {self.after_s}; "
            f"{self.command}) &\n"
        )


def ours(place: Place, command: list[str], disturbance: Disturbance | None = None) -> Said:
    """What rank 0 says; "links" are those of all ranks, "ranks" what each of them says."""
    if not place.rates:
        return on_processes(place.ranks, command)
    mark = " mark=$OUT/mark" if disturbance else ""
    files = on_hosts(
        place,
        f"mkdir -p $OUT/meet\n"
        f"export CROSSDOCK_RANK=$TEST_HOST CROSSDOCK_RANKS={place.ranks}\n"
        f"{disturbance.script() if disturbance else ''}"
        f"CROSSDOCK_MEET=$OUT/meet {shlex.join(command)}{mark} > $OUT/rank$TEST_HOST",
    )
    said = said_in(files["rank0"])
    if "links" in said:
        said["ranks"] = [said_in(files[f"rank{rank}"]) for rank in range(place.ranks)]
        said["links"] = [link for one in said["ranks"] for link in one["links"]]
    if disturbance:
        disturbance.check(said)
    return said


def by_mpi(place: Place, command: list[str], options: tuple[str, ...] = ()) -> Said:
    """Under Open MPI's mpirun, with its own choice of everything that `options` leaves open."""
    return said_in(text_by_mpi(place, command, options))


def text_by_mpi(place: Place, command: list[str], options: tuple[str, ...] = ()) -> str:
    """The same, of a program that says more than one object."""
    mpirun = [*MPIRUN, *options, "-n", str(place.ranks)]
    if not place.rates:
        return output_of([*mpirun, *command])
    hosts = ",".join(f"host{host}" for host in range(place.ranks))
    mpirun += ["--mca", "plm_rsh_agent", str(ON_HOST), "-H", hosts]
    files = on_hosts(
        place,
        f"if [ $TEST_HOST = 0 ]; then\n"
        f"  trap 'touch $OUT/over' EXIT\n"
        f"  {shlex.join([*mpirun, *command])} > $OUT/rank0\n"
        f"else\n"
        f"  while [ ! -e $OUT/over ]; do sleep 0.1; done\n"
        f"fi",
    )
    return files["rank0"]


def all_come(place: Place, name: str) -> str:
    """Shell lines of on_hosts(): goes on when all hosts are at them."""
    return (
        f"touch $OUT/{name}.$TEST_HOST; export OUT\n"
        f"timeout {LISTEN_LIMIT_S} sh -c "
        f"'until [ $(ls $OUT/{name}.* | wc -l) = {place.ranks} ]; do sleep 0.05; done'"
    )


def ports_listen(count: int) -> str:
    """Shell lines of on_hosts(): goes on when so many TCP ports of the host listen."""
    return (
        f"timeout {LISTEN_LIMIT_S} sh -c "
        f"'until [ $(ss -tlnH | wc -l) -ge {count} ]; do sleep 0.05; done'"
    )


def server_and_client(place: Place, server: str, client: str) -> str:
    """A shell command on host 0, and one on host 1 once it listens on port 5201; what that says."""
    waits = f"timeout {LISTEN_LIMIT_S} sh -c 'until [ -e $OUT/listens ]; do sleep 0.05; done'"
    files = on_hosts(
        place,
        f"if [ $TEST_HOST = 0 ]; then\n"
        f"  ({server}) > /dev/null &\n"
        f'  timeout {LISTEN_LIMIT_S} sh -c "until ss -tln | grep -q :5201; do sleep 0.05; done"\n'
        f"  touch $OUT/listens\n"
        f"  wait\n"
        f"else\n"
        f"  export OUT\n"
        f"  {waits}\n"
        f"  ({client}) > $OUT/client\n"
        f"fi",
    )
    return files["client"]
