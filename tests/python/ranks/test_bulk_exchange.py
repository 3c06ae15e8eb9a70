"""Tables between ranks that MPI started: in bulk what a channel gives, too."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import crossdock
import pyarrow as pa
import pytest

PROGRAM = """
import json
import pyarrow as pa
from crossdock.group import join_group

with join_group() as group:
    rows = range(5000 if group.rank != 1 else 1000)
    table = pa.table({
        "k": pa.array([(i * 7 + group.rank) % 1000 - 500 for i in rows], pa.int64()),
        "s": pa.array([f"text {i % 77} of some length" if i % 5 else None for i in rows]),
        "b": pa.array([i % 3 == 0 for i in rows], pa.bool_()),
    })
    bulk = group.exchange(table, by="k", how="bulk")
    channel = group.exchange(table, by="k", how="channel")
    order = [("k", "ascending"), ("s", "ascending"), ("b", "ascending")]
    assert bulk.schema.equals(channel.schema), (bulk.schema, channel.schema)
    assert bulk.sort_by(order).equals(channel.sort_by(order))
    facts = group.exchange_facts
    assert facts["rows_in"] == len(rows) and facts["rows_received"] == bulk.num_rows
    names = [phase["name"] for phase in facts["phases"]]
    assert names == ["histogram", "window", "network partition", "arrival"], names
    if group.rank == 0:
        print("all alike", flush=True)
"""

DOCKS = """
import time
import crossdock as xd, numpy as np, pyarrow as pa
with xd.connect(threads=1, memory="256MiB") as dock:
    ranks = dock.over_ranks()
    assert ranks.how == "in bulk"
    i = np.arange(1000) * dock.size + dock.rank
    table = pa.table({"i": i, "k": i % 50, "v": i * 7919 % 300})
    rows = dock.from_arrow(table)
    whole = np.arange(3000)

    got = rows.sort(xd.desc("v"), stable=True).gather()
    if dock.rank == 0:
        # Of equal ones, those of rank 0 first, in their order there.
        order = sorted(whole, key=lambda n: (-(n * 7919 % 300), n % 3, n))
        assert got["i"].to_pylist() == [int(n) for n in order]
    mine = rows.sort("v", "i").collect()
    assert abs(mine.num_rows - 1000) <= 60, mine.num_rows
    few = rows.sort("v", stable=True, limit=1500, offset=500).collect()
    assert sum(ranks.agree("test", few.num_rows)) == 1500

    strings = dock.from_arrow(pa.table({"t": [f"{dock.rank}" * 600_000, "short"]}))
    assert sum(ranks.agree("test", strings.distinct("t").collect().num_rows)) == 4

    kept = [rows.group_by("k").agg(n=xd.count()).collect() for _ in range(30)]
    assert all(one.equals(kept[0]) for one in kept)

    query = rows.group_by("k").agg(n=xd.count()).sort("n", "k")
    assert "by key, or the rows first if that is less work: k, in bulk" in str(query.explain())
    moves = query.profile().data["ranks"][0]["exchanges"]
    assert [move["how"] for move in moves] == ["in bulk", "in bulk"], moves
    assert moves[1]["phases"][0]["name"] == "cut" and moves[0]["wire_bytes"] > 0

    # Rows go as they are where most are groups of their own and no key has many.
    n = np.arange(60_000) * dock.size + dock.rank
    cases = (n, 180_000, 180_000), (n % 50, 150, 50), (np.where(n % 2, n, -1), 90_003, 90_001)
    for keys, gone, groups in cases:
        found = dock.from_arrow(pa.table({"k": keys, "n": n})).group_by("k").agg(s=xd.sum("n"))
        moves = [rank["exchanges"][0] for rank in found.profile().data["ranks"]]
        assert sum(move["sent_rows"] for move in moves) == gone, (gone, moves)
        whole = found.agg(s=xd.sum("s"), n=xd.count()).collect().to_pylist()
        assert whole == [{"s": 180_000 * 179_999 // 2, "n": groups}], whole

    begin = time.monotonic()
    whole_move = ranks.group.move
    if dock.rank == 1:
        ranks.group.move = lambda *a, **k: whole_move(*a, **{**k, "by": "nope"})
    try:
        rows.distinct("k").collect()
        raise AssertionError("no error")
    except xd.ColumnError as error:
        assert "rank     1 of 3" in str(error), error
    ranks.group.move = whole_move
    assert time.monotonic() - begin < 60
    assert rows.distinct("k").count() == 50
    if dock.rank == 0:
        print("all alike", flush=True)
"""

FILTERS = """
import crossdock as xd, numpy as np, pyarrow as pa
with xd.connect(threads=1, memory="512MiB") as dock:
    n = 200_000
    probe = dock.from_arrow(
        pa.table({"k": np.arange(n) * 3 + dock.rank, "w": np.arange(n), "x": np.arange(n)}))
    few = np.arange(dock.rank, 4000, dock.size)
    build = dock.from_arrow(pa.table({"k": few * 150, "b": few}))

    def run(how, choice):
        joined = probe.join(build, on="k", how=how, filter=choice, exchange="repartition")
        profile = joined.profile()
        ranks = profile.data["ranks"]
        sent = sum(move["wire_bytes"] for rank in ranks for move in rank["exchanges"])
        rows = joined.agg(n=xd.count(), s=xd.sum("w"), b=xd.sum("b" if how != "semi" else "k"))
        return rows.collect().to_pylist(), sent, ranks[0]["filters"], profile.text

    for how in ("inner", "semi", "right"):
        plain, plain_bytes, none, _ = run(how, "off")
        less, less_bytes, filters, text = run(how, "auto")
        assert plain == less, (plain, less)
        assert less_bytes * 8 < plain_bytes, (less_bytes, plain_bytes)
        assert not none and filters[0]["side"] == "left" and "filter of k" in text, text
        assert filters[0]["expected_share"] < 0.2 and filters[0]["kept_rows"] < 40_000, filters
    # Few keys, far apart: a large bitmap, and a small Bloom filter that is sampled before it.
    far = pa.table({"k": np.array([3, 9_000_000]), "b": [1, 2]})
    wide = pa.table({"k": np.arange(n) * 60 + 3, "w": np.arange(n)})
    counts = [
        dock.from_arrow(wide)
        .join(dock.from_arrow(far), on="k", filter=choice, exchange="repartition")
        .agg(n=xd.count(), w=xd.sum("w"))
        .collect()
        .to_pylist()
        for choice in ("off", "auto", "bloom")
    ]
    assert counts == [counts[0]] * 3 and counts[0][0]["n"] == dock.size**2, counts
    for how in ("left", "full"):
        kept, _, filters, _ = run(how, "bloom")
        assert kept == run(how, "off")[0]
        assert [one["side"] for one in filters] == (["right"] if how == "left" else []), filters
    same = probe.join(probe.select("k", y="w"), on="k", exchange="repartition")
    assert not same.profile().data["ranks"][0]["filters"]  # all of them pass
    if dock.rank == 0:
        print("all alike", flush=True)
"""

STREAMS = """
import crossdock as xd, numpy as np, pyarrow as pa
with xd.connect(threads=1, memory="512MiB") as dock:
    n = 600_000
    rows = pa.table({"k": np.arange(n) * dock.size + dock.rank, "w": np.arange(n)})
    few = np.arange(dock.rank, 360_000, dock.size)
    build = pa.table({"k": few * 12, "b": few})

    def run(how, choice, type_):
        stream, other = (
            dock.from_arrow(one.set_column(0, "k", one["k"].cast(type_))) for one in (rows, build))
        stream = stream.filter(xd.col("w") % 5 != 4)
        joined = stream.join(other, on="k", how=how, filter=choice)
        profile = joined.profile()
        rank = profile.data["ranks"][0]
        counted = joined.agg(n=xd.count(), w=xd.sum("w"), b=xd.sum("b" if how != "semi" else "w"))
        rules = [move["rule"] for move in rank["exchanges"]]
        kept = sum(f["kept_rows"] for one in profile.data["ranks"] for f in one["filters"])
        return counted.collect().to_pylist(), rules, rank["filters"], profile.text, kept

    # A bitmap passes nothing else; a Bloom filter, where keys are no integers, passes few.
    cases = [("inner", pa.int64(), 0), ("inner", pa.decimal128(21, 2), 60_000)]
    for how, type_, others in [*cases, ("semi", pa.int32(), 0)]:
        plain, rules, none, _, _ = run(how, "off", type_)
        assert "to all" in rules and not none, (how, rules, none)
        less, rules, filters, text, kept = run(how, "auto", type_)
        assert plain == less, (how, plain, less)
        assert "to all" not in rules[2:], (how, rules)
        assert filters[0]["rows"] is None and filters[0]["side"] == "left", filters
        assert 120_000 <= kept <= 120_000 + others, (type_, kept)
        assert "filter of k (left side, as a stream): kept" in text, text
    if dock.rank == 0:
        print("all alike", flush=True)
"""


JOINS = """
import crossdock as xd, numpy as np, pyarrow as pa
draw = np.random.default_rng(1)
def side(rows, name):
    nulls = draw.random(rows) < 0.05
    keys = pa.array(draw.integers(-5, 900, rows).astype("i4"), mask=nulls)
    return pa.table({"k": keys, name: pa.array(np.arange(rows).astype("i4"))})
left, right = side(2500, "a"), side(2000, "b")
with xd.connect(threads=1) as dock, xd.connect(threads=1, ranks="off") as alone:
    def part(table):
        begin, end = (table.num_rows * n // dock.size for n in (dock.rank, dock.rank + 1))
        return dock.from_arrow(table.slice(begin, end - begin))
    def ways(joined):
        profile = joined.profile()
        rank = profile.data["ranks"][0]
        return [move["rule"] for move in rank["exchanges"]], rank["joins"], profile.text
    for how in ("inner", "semi", "left", "anti"):
        if how == "semi":  # NULLs in keys that are in the result take a word of their own
            left, right = (t.set_column(0, "k", t["k"].fill_null(7)) for t in (left, right))
        options = {"on": "k", "how": how, "exchange": "repartition", "filter": "off"}
        joined = part(left).join(part(right), **options)
        rules, routes, text = ways(joined)
        assert rules == ["into partitions"], (how, rules, routes)
        assert [(one["how"], one["reason"]) for one in routes] == [("into partitions", "")], routes
        assert "join on k: rows go into partitions" in text, text
        assert "rows     go into partitions, unless few keys" in joined.explain()
        whole = alone.from_arrow(left).join(alone.from_arrow(right), on="k", how=how).collect()
        found = joined.gather()
        if dock.rank == 0:
            rows = [sorted(map(str, table.to_pylist())) for table in (found, whole)]
            assert rows[0] == rows[1], how
    # In order over all ranks: those of a rank lie before those of the next.
    plain = [t.set_column(0, "k", t["k"].cast("i8")) for t in (left, right)]
    for how in ("inner", "full"):
        merged = part(plain[0]).join(part(plain[1]), on="k", how=how, strategy="merge")
        rules, routes, _ = ways(merged)
        assert rules == ["into partitions"] and routes[0]["reason"] == "", (rules, routes)
        found = merged.gather()
        whole = alone.from_arrow(plain[0]).join(alone.from_arrow(plain[1]), on="k", how=how)
        if dock.rank == 0:
            assert found["k"].to_pylist() == sorted(found["k"].to_pylist())
            rows = [sorted(map(str, table.to_pylist())) for table in (found, whole.collect())]
            assert rows[0] == rows[1], how
    wide = part(right.append_column("t", right["b"].cast("string")))
    for joined, reason in (
        (part(left).join(wide, on="k", exchange="repartition"), "do not fit 64 bits"),
        (part(left).join(part(right), on="k", exchange="repartition", filter="bloom"), "bloom"),
        (part(left).join(part(right), on="k", exchange="repartition").distinct("k"), "later step"),
    ):
        rules, routes, text = ways(joined)
        assert rules[-2:] == ["by key", "by key"], rules
        assert routes[0]["how"] == "as tables" and reason in routes[0]["reason"], routes
        assert f"rows go as tables, since {routes[0]['reason']}" in text, text
        assert f"rows     go as tables, since {routes[0]['reason']}" in joined.explain()
    grouped = part(left).distinct("k").join(part(right), on="k", exchange="repartition")
    assert ways(grouped)[1][0]["reason"] == "one side lies by these keys already"
    assert "since one side lies by these keys already" in grouped.explain()
    if dock.rank == 0:
        print("all alike", flush=True)
"""


MANY = """
import os
import crossdock as xd, numpy as np, pyarrow as pa
with xd.connect(threads=1, memory="512MiB") as dock:
    i = np.arange(200_000) * dock.size + dock.rank
    rows = dock.from_arrow(pa.table({"i": i, "k": i % 50_000}))
    try:
        rows.distinct("k").collect()
        if dock.rank == 1:
            print(os.getpid(), flush=True)
        while True:
            rows.distinct("k").collect()
    except BaseException as error:
        print(f"rank {dock.rank}: {type(error).__name__}: {error}", flush=True)
"""


LATE = """
import sys, time
from pathlib import Path
import crossdock as xd, pyarrow as pa
missed = Path(sys.argv[1])
with xd.join_group(step_within_s=5) as group:
    rows = pa.table({"k": [1, 2, 3]})
    group.exchange(rows, by="k", how="bulk")
    while group.rank == 1 and not missed.exists():
        time.sleep(0.05)
    try:
        group.exchange(rows, by="k", how="bulk")
    except xd.ControlError as error:
        if group.rank == 0:
            text = str(error)
            assert error.code == "CD-617", text
            assert "rank 1 of 3 did not come within 5 s" in text, text
            assert "step_within_s" in text, text
            print("rank 1 was missed", flush=True)
            missed.touch()
"""

FAILS = """
import gc
import crossdock as xd, pyarrow as pa
dock = xd.connect(threads=1)
gc.callbacks.append(lambda *_, kept=dock: None)  # it outlives the interpreter: nothing closes it
rows = dock.from_arrow(pa.table({"k": [1, 2, 3]}))
rows.gather()
if dock.rank == 0:
    raise ValueError("a fault of the program")
rows.distinct("k").gather()
"""


def _has_plugin() -> bool:
    folder = Path(crossdock.__file__).parent
    return (folder / "libcrossdock_mpi_openmpi.so").exists() and (
        folder / "libcrossdock_pmix.so"
    ).exists()


THREE_RANKS = ["mpirun", "--oversubscribe", "-n", "3", sys.executable, "-c"]
# Small tables take the way of large ones.
ENVIRONMENT = {
    "OMPI_ALLOW_RUN_AS_ROOT": "1",
    "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1",
    "CROSSDOCK_EAGER_BYTES": "0",
}
needs_mpi = pytest.mark.skipif(
    shutil.which("mpirun") is None or not _has_plugin(), reason="needs Open MPI and the plugins"
)


def three_ranks(program: str, *arguments: str, within_s: float) -> subprocess.CompletedProcess[str]:
    """What a program said in three ranks that MPI started."""
    return subprocess.run(
        [*THREE_RANKS, program, *arguments],
        env=os.environ | ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=within_s,
        check=False,
    )


@needs_mpi
@pytest.mark.parametrize(
    "program",
    [PROGRAM, DOCKS, FILTERS, STREAMS, JOINS],
    ids=["groups", "docks", "filters", "streams", "joins"],
)
def test_bulk_gives_what_a_channel_gives(program: str) -> None:
    ran = three_ranks(program, within_s=170)
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("all alike") == 1


@needs_mpi
def test_steps_wait_as_long_as_the_group_says(tmp_path: Path) -> None:
    """mpirun ends with an error: after a rank was missed no rank waits for it in MPI_Finalize."""
    ran = three_ranks(LATE, str(tmp_path / "missed"), within_s=100)
    assert ran.stdout.count("rank 1 was missed") == 1, ran.stderr


@needs_mpi
def test_a_rank_that_fails_with_an_open_dock_ends_the_others() -> None:
    ran = three_ranks(FAILS, within_s=60)
    assert ran.returncode != 0
    assert "a fault of the program" in ran.stderr


@needs_mpi
@pytest.mark.parametrize("who", ["mpirun", "rank"])
def test_ctrl_c_ends_exchanges_in_bulk(who: str) -> None:
    job = subprocess.Popen(
        [*THREE_RANKS, MANY],
        env=os.environ | ENVIRONMENT,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert job.stdout is not None
    rank = int(job.stdout.readline())
    os.kill(rank if who == "rank" else job.pid, signal.SIGINT)
    out, err = job.communicate(timeout=100)
    assert "Traceback" not in err, err
    if who == "mpirun":
        assert job.returncode != 0
    else:
        assert "rank 1: KeyboardInterrupt" in out, out
        # The others get a message, or find it gone: between two calls there is no rank to tell.
        heard = out.count("it was interrupted (Ctrl-C)"), out.count("rank 1 (process")
        assert sum(heard) == 2, out


def test_a_process_alone_uses_a_channel_and_refuses_other_words() -> None:

    with crossdock.join_group() as group:
        table = pa.table({"k": [1, 2, 3]})
        assert group.exchange(table, by="k", how="auto").num_rows == 3
        assert group.exchange_facts is None
        with pytest.raises(crossdock.OptionError, match="auto"):
            group.exchange(table, by="k", how="pigeon")


STUCK = """
#include <unistd.h>
int MPI_Finalize(void) { while (1) pause(); }
"""
LAST = """
import crossdock as xd, pyarrow as pa
with xd.connect(threads=1, memory="64MiB", moves="bulk") as dock:
    print("counted", dock.from_arrow(pa.table({"k": [1]})).count(), flush=True)
"""


@pytest.mark.skipif(shutil.which("cc") is None, reason="no C compiler")
@pytest.mark.parametrize("mpi", ["openmpi", "mpich"])
def test_a_process_ends_though_mpi_does_not(tmp_path: Path, mpi: str) -> None:
    launcher = shutil.which(f"mpirun.{mpi}")
    if launcher is None:
        pytest.skip(f"{mpi} is not installed")
    (tmp_path / "stuck.c").write_text(STUCK)
    stuck = tmp_path / "stuck.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", stuck, tmp_path / "stuck.c"], check=True)
    program = ["env", f"LD_PRELOAD={stuck}", sys.executable, "-c", LAST]
    as_root = ["--allow-run-as-root", "--oversubscribe"] if mpi == "openmpi" else []
    ended = subprocess.run(
        [launcher, *as_root, "-n", "2", *program],
        capture_output=True, text=True, check=False, timeout=90,
    )  # fmt: skip
    assert ended.stdout.count("counted") == 2
    assert "MPI_Finalize did not end within 10 s" in ended.stderr
