"""Ranks that meet at the address of a driver: groups, who is refused, and who does not come."""

from __future__ import annotations

import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator

import crossdock as xd
import pytest

JOIN = """
import sys, time, crossdock as xd
address, rank, ranks, within_s = sys.argv[1], int(sys.argv[2]), int(sys.argv[3]), sys.argv[4]
where = dict(rank=rank, ranks=ranks, meet=address) if address else {}
try:
    with xd.join_group(**where, open_within_s=float(within_s), memory="256MiB") as group:
        print([text.decode() for text in group.gather(f"rank {group.rank}".encode())], flush=True)
        sys.stdin.read()
        print(len(group.gather(b"x" * 100_000)), flush=True)
except xd.CrossdockError as error:
    print(str(error).replace("\\n", " "), flush=True)
"""


pytestmark = pytest.mark.usefixtures("no_launcher_started_this")


@pytest.fixture
def rendezvous() -> Iterator[xd.Rendezvous]:
    with xd.Rendezvous("127.0.0.1:0") as opened:
        yield opened


def start(address: str, rank: int, ranks: int, within_s: float = 60) -> subprocess.Popen[str]:
    words = [sys.executable, "-c", JOIN, address, str(rank), str(ranks), str(within_s)]
    return subprocess.Popen(words, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def finish(process: subprocess.Popen[str]) -> list[str]:
    return process.communicate(timeout=60)[0].splitlines()


def finish_all(ranks: list[subprocess.Popen[str]]) -> list[list[str]]:
    for process in ranks:  # none waits for another one here
        assert process.stdin is not None
        process.stdin.close()
        process.stdin = None
    return [finish(process) for process in ranks]


def test_ranks_meet_and_the_next_group_of_the_name_does_too(rendezvous: xd.Rendezvous) -> None:
    for _ in range(2):
        ranks = [start(rendezvous.address, rank, 3) for rank in range(3)]
        assert finish_all(ranks) == [["['rank 0', 'rank 1', 'rank 2']", "3"]] * 3


def test_the_environment_may_name_the_address(
    rendezvous: xd.Rendezvous, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSDOCK_MEET", rendezvous.address)
    monkeypatch.setenv("CROSSDOCK_RANKS", "2")
    ranks = []
    for rank in range(2):
        monkeypatch.setenv("CROSSDOCK_RANK", str(rank))
        ranks.append(start("", rank, 2))
    assert finish_all(ranks) == [["['rank 0', 'rank 1']", "2"]] * 2


def test_groups_of_other_jobs_meet_at_one_address(rendezvous: xd.Rendezvous) -> None:
    joined: dict[str, list[bytes]] = {}

    def join(job: str, rank: int) -> None:
        with xd.join_group(rank=rank, ranks=2, meet=rendezvous.address, job=job) as group:
            joined[f"{job}{rank}"] = group.gather(job.encode())

    threads = [threading.Thread(target=join, args=(job, rank)) for job in "ab" for rank in (0, 1)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert joined == {f"{job}{rank}": [job.encode()] * 2 for job in "ab" for rank in (0, 1)}


def test_who_does_not_come_is_named_within_the_time(rendezvous: xd.Rendezvous) -> None:
    before = time.monotonic()
    (line,) = finish(start(rendezvous.address, 1, 4, within_s=1))
    assert line.startswith("[CD-617] ranks 0, 2, 3 of 4 did not come within 1 s to crossdock://")
    assert time.monotonic() - before < 20
    secret = rendezvous.address.rsplit("/", 1)[1]
    assert secret not in line


def test_a_rank_may_come_again_while_the_others_wait(rendezvous: xd.Rendezvous) -> None:
    other = start(rendezvous.address, 1, 2)
    wait_until_met(rendezvous, 1)
    first = start(rendezvous.address, 0, 3, within_s=30)
    (line,) = finish(first)
    assert "counts 3 ranks, others 2" in line
    killed = start(rendezvous.address, 0, 3)
    killed.kill()
    killed.communicate()
    again = start(rendezvous.address, 0, 2)
    assert finish_all([again, other]) == [["['rank 0', 'rank 1']", "2"]] * 2


def test_a_rank_that_is_there_twice_is_refused(rendezvous: xd.Rendezvous) -> None:
    first = start(rendezvous.address, 0, 2)
    wait_until_met(rendezvous, 1)
    (line,) = finish(start(rendezvous.address, 0, 2))
    assert line.startswith("[CD-105] another process is rank 0 of job ")
    second = start(rendezvous.address, 1, 2)
    assert finish_all([first, second]) == [["['rank 0', 'rank 1']", "2"]] * 2


def wait_until_met(rendezvous: xd.Rendezvous, members: int) -> None:
    deadline = time.monotonic() + 60
    while sum(len(one.members) for one in rendezvous._server._meetings.values()) < members:
        assert time.monotonic() < deadline
        time.sleep(0.02)


@pytest.mark.parametrize("kills", [True, False])
def test_a_rank_that_ends_is_missed_by_those_who_wait(
    rendezvous: xd.Rendezvous, kills: bool
) -> None:
    ranks = [start(rendezvous.address, rank, 2) for rank in range(2)]
    for process in ranks:
        assert process.stdout is not None
        assert process.stdout.readline() == "['rank 0', 'rank 1']\n"
    if kills:
        ranks[1].kill()
    else:
        rendezvous.close()
    before = time.monotonic()
    (line,) = finish(ranks[0])
    assert time.monotonic() - before < 10
    assert line.startswith("[CD-617] rank 1 (process " if kills else "[CD-611] the rendezvous at ")
    finish(ranks[1])


def test_nothing_that_answers_is_an_error_after_the_time() -> None:
    with xd.Rendezvous("127.0.0.1:0") as closed:
        address = closed.address
    (line,) = finish(start(address, 0, 2, within_s=1))
    assert line.startswith("[CD-611] nothing answers at the rendezvous crossdock://127.0.0.1:")


def test_another_secret_is_refused(rendezvous: xd.Rendezvous) -> None:
    (line,) = finish(start(rendezvous.address[:-1] + "x", 0, 1 + 1))
    assert line.startswith("[CD-105] the address has not the secret of this rendezvous")


@pytest.mark.parametrize(
    "bytes_sent",
    [b"", b"\xff" * 64, b"\x00\x00\x00\x05hello", b"\x7f\xff\xff\xff" + b"x" * 1000],
)
def test_strangers_are_no_trouble(rendezvous: xd.Rendezvous, bytes_sent: bytes) -> None:
    strangers = []
    for _ in range(300):
        stranger = socket.create_connection(("127.0.0.1", rendezvous.port))
        stranger.sendall(bytes_sent)
        strangers.append(stranger)
    ranks = [start(rendezvous.address, rank, 2) for rank in range(2)]
    assert finish_all(ranks) == [["['rank 0', 'rank 1']", "2"]] * 2
    for stranger in strangers:  # closed by the rendezvous, also those who say nothing
        stranger.settimeout(30)
        try:
            while stranger.recv(1 << 16):
                pass
        except ConnectionError:
            pass
        stranger.close()
    assert not rendezvous._server._connections


@pytest.mark.parametrize(
    "bind", ["nowhere", ":80", "127.0.0.1:x", "203.0.113.1:0", "127.0.0.1:99999"]
)
def test_an_address_that_is_none_is_refused(bind: str) -> None:
    with pytest.raises(xd.OptionError):
        xd.Rendezvous(bind)


def test_the_address_has_what_ranks_need() -> None:
    with xd.Rendezvous(job="epoch-1", hosts=["driver", "fd00::1"]) as rendezvous:
        start_of_it = f"crossdock://driver,[fd00::1]:{rendezvous.port}/epoch-1/"
        assert rendezvous.address.startswith(start_of_it)
        assert len(rendezvous.address) == len(start_of_it) + 32
    with xd.Rendezvous() as rendezvous:
        assert "0.0.0.0" not in rendezvous.address
    rendezvous.close()
