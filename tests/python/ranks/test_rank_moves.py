"""How rows move between ranks: in bulk or by channel, as was asked or as it can be; who joins what
lies unevenly; and threads of a rank that take turns."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import crossdock as xd
import pytest

RunRanks = Callable[..., list[str]]
ROOT = Path(__file__).parents[3]
HOSTS = ROOT / "tools" / "hosts.py"
ON_HOST = ROOT / "bench" / "channels" / "on_host.sh"

needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun.openmpi") is None, reason="Open MPI is not installed"
)
needs_hosts = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("tc") is None, reason="needs root and Debian's iproute2"
)

# What a rank says goes into a file: lines of ranks run into each other on their way through mpirun.
MOVES = """
import json, os, sys
import crossdock as xd, pyarrow as pa
try:
    with xd.connect(threads=1, memory="256MiB", moves=sys.argv[1]) as dock:
        rows = dock.from_arrow(pa.table({"k": [n % 100 for n in range(1000)], "v": range(1000)}))
        groups = rows.group_by("k").agg(n=xd.count())
        profile = groups.profile()
        ranks = dock.over_ranks()
        found = {"how": ranks.how, "because": ranks.why_not_in_bulk, "groups": groups.count(),
                 "profile": "rows move by channel, since MPI cannot" in profile.text,
                 "plan": "rows move by channel, since MPI cannot" in str(groups.explain())}
except xd.CrossdockError as error:
    found = {"error": error.code, "text": error.text}
with open(sys.argv[2] + "/said" + os.environ["OMPI_COMM_WORLD_RANK"], "w") as file:
    json.dump(found, file)
"""


# On host 0, what starts the ranks; the others stay until that is over: on_hosts OVER COMMAND...
STAY = """
if [ "$TEST_HOST" != 0 ]; then until [ -e "$0" ]; do sleep 0.1; done; exit; fi
unset TEST_HOST TEST_HOSTS
"$@"
touch "$0"
"""


def moved(folder: Path, moves: str, hosts: int = 1, *options: str) -> tuple[list[Any], str]:
    """What each of the ranks said, of which mpirun started two on each host; and all output."""
    ranks = 2 * hosts
    command = ["mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-n", str(ranks)]
    if hosts > 1:
        stay = [sys.executable, str(HOSTS), "--hosts", str(hosts), "--", "sh", "-c", STAY]
        names = ",".join(f"host{host}:2" for host in range(hosts))
        command = [*stay, str(folder / "over"), *command, "-H", names]
        command += ["--mca", "plm_rsh_agent", str(ON_HOST)]
    ended = subprocess.run(
        [*command, *options, sys.executable, "-c", MOVES, moves, str(folder)],
        capture_output=True, text=True, check=False, timeout=170,
    )  # fmt: skip
    whole = ended.stdout + ended.stderr
    files = [folder / f"said{rank}" for rank in range(ranks)]
    assert all(file.exists() for file in files), whole
    report = [json.loads(file.read_text(encoding="utf-8")) for file in files]
    return report, whole


@needs_mpi
@needs_hosts
def test_ranks_whose_mpi_cannot_put_to_other_hosts_go_by_channel_and_say_so(tmp_path: Path) -> None:
    result, whole = moved(tmp_path, "auto", 2)
    for one in result:
        assert (one["how"], one["groups"]) == ("by channel", 100)
        assert "MPI cannot make a window" in one["because"]
        assert "OMPI_MCA_osc=pt2pt" in one["because"]
        assert one["profile"]
        assert one["plan"]
    assert whole.count("rows move by channel, not in bulk: ") == 1


@needs_mpi
@needs_hosts
def test_bulk_that_cannot_be_is_an_error(tmp_path: Path) -> None:
    result, _ = moved(tmp_path, "bulk", 2)
    assert [one["error"] for one in result] == ["CD-603"] * 4
    assert all('moves="channels"' in one["text"] for one in result)


@needs_mpi
@needs_hosts
def test_bulk_over_hosts_where_mpi_has_windows(tmp_path: Path) -> None:
    result, whole = moved(tmp_path, "auto", 2, "-x", "OMPI_MCA_osc=pt2pt")
    assert [(one["how"], one["groups"]) for one in result] == [("in bulk", 100)] * 4
    assert "not in bulk" not in whole


@needs_mpi
@pytest.mark.parametrize("moves", ["auto", "bulk", "channels"])
def test_moves_are_as_they_were_asked_for(tmp_path: Path, moves: str) -> None:
    result, whole = moved(tmp_path, moves)
    how = "by channel" if moves == "channels" else "in bulk"
    assert [(one["how"], one["groups"], one["because"]) for one in result] == [(how, 100, "")] * 2
    assert "not in bulk" not in whole


def test_moves_have_few_names(monkeypatch: pytest.MonkeyPatch) -> None:
    with pytest.raises(xd.OptionError, match="channels"):
        xd.connect(moves="channel")
    monkeypatch.setenv("CROSSDOCK_MOVES", "bulks")
    with pytest.raises(xd.OptionError, match="bulk"):
        xd.connect()


UNLIKE_MOVES = """
import os, crossdock as xd
moves = "auto" if os.environ["CROSSDOCK_RANK"] == "0" else "channels"
try:
    xd.connect(moves=moves)
except xd.CrossdockError as error:
    print(error.code, "moves='channels'" in error.text)
"""


def test_ranks_ask_for_the_same_moves(run_ranks: RunRanks) -> None:
    assert run_ranks(UNLIKE_MOVES, 2) == ["CD-105 True\n"] * 2


UNEVEN = """
import json, sys
import crossdock as xd, numpy as np, pyarrow as pa
def table(rows, first):
    return pa.table({"k": np.arange(first, first + rows), "v": np.arange(rows)})
with xd.connect(threads=1, memory="512MiB") as dock:
    small = dock.from_arrow(table(500, 500 * dock.rank))
    found = []
    for rows in (
        [0, 0, 800_000, 0], [200_000] * 4, [260_000, 180_000, 180_000, 180_000]
    ):
        large = dock.from_arrow(pa.table({"k": np.arange(rows[dock.rank]) % 2000}))
        for joined in (large.join(small, on="k"), small.join(large, on="k", how="right")):
            mine = joined.collect().num_rows
            assert joined.count() == 800_000
            found.append(mine)
    print(json.dumps(found))
"""


def test_rows_that_lie_unevenly_do_not_stay_where_they_are(run_ranks: RunRanks) -> None:
    """A side that goes to all ranks leaves the rows of the other where they are."""
    report = [json.loads(out) for out in run_ranks(UNEVEN, 4, within_s=120)]
    for join in range(2):
        uneven, even, a_little = ([one[join + 2 * case] for one in report] for case in range(3))
        assert max(uneven) < 300_000, uneven  # by key
        assert even == [200_000] * 4  # the small side to all
        assert a_little == [260_000, 180_000, 180_000, 180_000]


THREADS = """
import json, os, sys, threading, time
import crossdock as xd, pyarrow as pa
found = {}
with xd.connect(threads=1, memory="256MiB") as dock:
    queue = dock.over_ranks()._turns._waiting
    def work(number):
        rows = dock.from_arrow(pa.table({"k": range(1000 * number, 1000 * number + 100)}))
        joined = rows.join(rows, on="k", exchange="repartition").select("k")
        try:
            found[number] = joined.collect()["k"].to_pylist()
        except xd.CrossdockError as error:
            found[number] = error.code
    if dock.rank == 1:
        time.sleep(1)  # meanwhile the threads of rank 0 stand in a queue
    numbers = [0, 1, 2, 3] if dock.rank == 0 or ORDERED else [0, 1, 3, 2]
    threads = []
    for number in numbers:
        thread = threading.Thread(target=work, args=[number], name=f"work {number}")
        thread.start()
        threads.append(thread)
        while thread.ident not in queue and thread.is_alive():
            time.sleep(0.0005)
    for thread in threads:
        thread.join()
    found["after"] = dock.from_arrow(pa.table({"k": [1]})).count()
print(json.dumps(found))
"""


def all_rows(ranks: list[Any], number: int) -> list[int]:
    return sorted(ranks[0][str(number)] + ranks[1][str(number)])


def joined_keys(number: int) -> list[int]:
    """Each rank has brought every key once, and each of a pair meets both of the other side."""
    return [k for k in range(1000 * number, 1000 * number + 100) for _ in range(4)]


STAYING = """
import json
import crossdock as xd, pyarrow as pa
with xd.connect(threads=1, memory="256MiB") as dock:
    orders = dock.from_arrow(pa.table({"o": [n % 900 for n in range(9000)], "v": range(9000)}))
    customers = dock.from_arrow(pa.table({"c": range(300 * dock.rank, 300 * dock.rank + 300)}))
    options = {"exchange": "repartition", "filter": "off"}
    joined = orders.join(customers, on=[("o", "c")], **options).select("c", "v")
    groups = joined.group_by("c").agg(s=xd.sum("v")).sort("c")
    moves = groups.profile().data["ranks"][dock.rank]["exchanges"]
    whole = groups.gather()
    sums = None if whole is None else whole["s"].to_pylist()
    print(json.dumps([[[move["rule"], move["how"]] for move in moves], sums]))
"""


@pytest.mark.parametrize("eager_bytes", [0, 1 << 20])
def test_rows_that_lie_by_the_partner_of_a_key_stay(
    run_ranks: RunRanks, monkeypatch: pytest.MonkeyPatch, eager_bytes: int
) -> None:
    """The join drops one of its two keys, and groups are by the other."""
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", str(eager_bytes))
    (moves, sums), *others = [json.loads(out) for out in run_ranks(STAYING, 3)]
    assert [other[0] for other in others] == [moves] * 2
    assert [rule for rule, _ in moves].count("by key") == 2
    assert sums == [3 * sum(range(key, 9000, 900)) for key in range(900)]


EAGER = """
import json
import crossdock as xd, pyarrow as pa
with xd.connect(threads=1, memory="256MiB") as dock:
    rows = dock.from_arrow(pa.table({"k": [n % 5 for n in range(90_000)], "v": range(90_000)}))
    sorted_groups = rows.group_by("k").agg(s=xd.sum("v")).sort(xd.desc("s"), limit=3)
    moves = sorted_groups.profile().data["ranks"][dock.rank]["exchanges"]
    whole = sorted_groups.gather()
    first = None if whole is None else whole["k"].to_pylist()
    large = rows.sort("v").profile().data["ranks"][dock.rank]["exchanges"]
    print(json.dumps([[move["how"] for move in moves], first, large[-1]["how"]]))
"""


def test_few_groups_move_once_and_what_follows_moves_nothing(
    run_ranks: RunRanks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", str(1 << 18))
    report = [json.loads(out) for out in run_ranks(EAGER, 3)]
    assert [one[0] for one in report] == [["eagerly"]] * 3
    assert [one[1] for one in report] == [[4, 3, 2], None, None]
    assert [one[2] for one in report] == ["by channel"] * 3


JOINED = """
import json
import crossdock as xd, pyarrow as pa
from crossdock.ranks.members import Ranks
steps = []
agree = Ranks._agreed_on
def noted(ranks, step, *rest):
    steps.append(step)
    return agree(ranks, step, *rest)
Ranks._agreed_on = noted
with xd.connect(threads=1, memory="256MiB") as dock:
    def table(rows, name):
        return dock.from_arrow(pa.table({"k": range(dock.rank, 3 * rows, 3), name: range(rows)}))
    for rows in (2_000, 20_000):
        joined = table(rows, "v").join(table(rows, "w").filter("w >= 0"), on="k")
        steps.clear()
        assert joined.count() == 3 * rows
        rules = [step for step in steps if "done" not in step]
        print(json.dumps([rules, [move.how for move in dock.over_ranks().moves]]))
"""


def test_small_sides_of_joins_go_to_all_in_few_steps(
    run_ranks: RunRanks, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Fewer bytes would go by key, in more steps than these bytes are worth. Ranks that have agreed
    on what goes where agree on nothing else before it does."""
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", str(1 << 18))
    for out in run_ranks(JOINED, 3):
        few, more = (json.loads(line) for line in out.splitlines())
        move = "move to all ['k']"
        assert few == [["sizes of a join", move, "rows"], ["eagerly"]]
        assert more == [["sizes of a join", move, move, "rows"], ["by channel"]]


REFUSED = """
import crossdock as xd
try:
    xd.connect()
except xd.OptionError as error:
    print("eager_bytes='many' is no number of bytes" in str(error))
"""


def test_a_bound_that_is_no_number_is_refused(
    run_ranks: RunRanks, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", "many")
    assert run_ranks(REFUSED, 2) == ["True\n"] * 2


def test_threads_of_a_rank_take_turns(run_ranks: RunRanks) -> None:
    ranks = [json.loads(out) for out in run_ranks(f"ORDERED = True{THREADS}", 2, within_s=120)]
    assert [one["after"] for one in ranks] == [2, 2]
    for number in range(4):
        assert all_rows(ranks, number) == joined_keys(number)


def test_threads_that_come_in_another_order_are_not_mixed(run_ranks: RunRanks) -> None:
    ranks = [json.loads(out) for out in run_ranks(f"ORDERED = False{THREADS}", 2, within_s=120)]
    for one in ranks:
        assert (one["2"], one["3"], one["after"]) == ("CD-105", "CD-105", 2)
    for number in range(2):
        assert all_rows(ranks, number) == joined_keys(number)


UNLIKE = """
import os, crossdock as xd, pyarrow as pa
with xd.connect(threads=1, memory="256MiB") as dock:
    rows = dock.from_arrow(pa.table({"k": range(100)}))
    try:
        rows.filter(xd.col("k") < 10 + dock.rank).count()
    except xd.CrossdockError as error:
        print(error.code, "make different calls" in error.text, rows.count())
"""


def test_ranks_that_run_unlike_queries_hear_of_it(run_ranks: RunRanks) -> None:
    assert run_ranks(UNLIKE, 2) == ["CD-105 True 200\n"] * 2


UNLIKE_TYPES = """
import crossdock as xd, pyarrow as pa
with xd.connect(threads=1, memory="256MiB") as dock:
    def rows(*types):
        values = [1, 2] if pa.types.is_integer(types[dock.rank]) else ["1", "2"]
        return dock.from_arrow(pa.table({"k": pa.array(values, types[dock.rank]), "v": [1, 2]}))
    for table in (rows(pa.int64(), pa.string()), rows(pa.int64(), pa.int32())):
        try:
            table.join(table.select("k"), on="k").count()
        except xd.CrossdockError as error:
            print(error.code, error.text.split("rank ")[1 + dock.rank].split("\\n")[0])
    mixed = rows(*(pa.dictionary(index, pa.string()) for index in (pa.int8(), pa.int16())))
    print(mixed.join(mixed.select("k"), on="k").count())
"""


@pytest.mark.parametrize("eager_bytes", [0, 1 << 20])
def test_types_that_differ_between_ranks_are_named(
    run_ranks: RunRanks, monkeypatch: pytest.MonkeyPatch, eager_bytes: int
) -> None:
    """Integers of dictionaries may differ."""
    monkeypatch.setenv("CROSSDOCK_EAGER_BYTES", str(eager_bytes))
    for rank, out in enumerate(run_ranks(UNLIKE_TYPES, 2)):
        first, second, rows = out.splitlines()
        for line, kind in ((first, "string"), (second, "int32")):
            assert line.startswith(f"CD-105 {rank}: count() of"), line
            assert f"over k {kind if rank else 'int64'}; k {kind if rank else 'int64'}" in line
        assert rows == "8"
