"""What ranks do to each other: forks, deaths, rules that differ, rows beyond memory."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import crossdock as xd
import pyarrow as pa
import pytest

RunRanks = Callable[..., list[str]]


@pytest.fixture
def group(run_ranks: RunRanks) -> Iterator[xd.Group]:  # which keeps the environment clean
    with xd.join_group(memory="256MiB") as joined:
        yield joined


def numbers(count: int) -> pa.Table:
    return pa.table({"k": pa.array(range(count), pa.int64()), "v": pa.array(range(count))})


FORKS = """
import os, sys
import crossdock as xd, pyarrow as pa
table = pa.table({"k": range(100_000)})
with xd.join_group() as group:
    with group.channel(table.schema, by="k", segment_bytes="64KiB", slots=2) as channel:
        channel.send(table)
        child = os.fork()
        if child == 0:
            for call in (lambda: channel.send(table), channel.flush, channel.counters,
                         lambda: channel.recv(wait_s=0), group.gather,
                         lambda: group.channel(table.schema, by="k")):
                try:
                    call()
                except xd.ControlError as error:
                    assert "CD-618" in str(error) and "fork() made" in str(error), error
                else:
                    raise AssertionError(call)
            sys.exit(0)  # leaves the channel and the group, and destroys both
        assert os.waitpid(child, 0)[1] == 0
        rows = sum(batch.num_rows for batch in channel)
    print(rows + sum(map(len, group.gather(b"x"))))
"""


def test_a_forked_child_disturbs_no_rank(run_ranks: RunRanks) -> None:
    answers = run_ranks(FORKS, 2)
    assert sum(map(int, answers)) == 200_000 + 2 * 2


DIES = """
import os
import crossdock as xd, pyarrow as pa
group = xd.join_group()
group.gather()
if group.rank == 1:
    os._exit(0)
try:
    group.exchange(pa.table({"k": [1]}), by="k")
except xd.ControlError as error:
    print(error)
"""


def test_a_rank_that_has_died_is_named_at_once(run_ranks: RunRanks) -> None:
    heard, _ = run_ranks(DIES, 2)
    assert "CD-617" in heard
    assert "rank 1 (process" in heard


DIFFER = """
import os
import crossdock as xd
try:
    xd.join_group(transports="shm" if os.environ["CROSSDOCK_RANK"] == "1" else "auto")
except xd.OptionError as error:
    print(error)
"""


def test_transports_that_differ_are_refused(run_ranks: RunRanks) -> None:
    for heard in run_ranks(DIFFER, 2):
        assert 'rank 1 has transports="shm"' in heard


STREAMS = """
import crossdock as xd, pyarrow as pa
schema = pa.schema([("k", pa.int64()), ("v", pa.int64())])
held = 0

def batches():
    for number in range(150):
        yield pa.record_batch({"k": pa.array(range(20_000)),
                               "v": pa.array([number] * 20_000, pa.int64())}, schema)

with xd.join_group(memory="16MiB") as group:
    with group.channel(schema, by="k", sources=[0], destinations=[1], slots=2) as channel:
        if channel.is_source:
            channel.send(pa.RecordBatchReader.from_batches(schema, batches()))
            held = group.native().memory_used_bytes
        else:
            rows = 0
            for batch in channel:
                rows += batch.num_rows
                held = max(held, group.native().memory_used_bytes)
            assert rows == 3_000_000, rows
    assert held < 4 << 20, held
"""


def test_what_is_larger_than_the_memory_streams_through(run_ranks: RunRanks) -> None:
    run_ranks(STREAMS, 2)


def test_a_destination_that_is_slow_holds_the_source_up_within_its_memory(group: xd.Group) -> None:
    batch = numbers(60_000).to_batches()[0]
    with group.channel(batch.schema, by="k", segment_bytes="64KiB", slots=2) as channel:
        taken = 0
        while channel.try_send(batch):
            taken += 1
        assert taken == 1
        assert not channel.try_send(batch)
        assert channel.counters()["refused"] > 0
        assert group.native().memory_used_bytes < 1 << 20
        assert sum(rows.num_rows for rows in channel) == 60_000 * taken


def test_a_source_that_never_flushes_holds_up_the_end_only(group: xd.Group) -> None:
    with group.channel(numbers(1).schema, by="k") as channel:
        channel.send(numbers(100_000))
        assert channel.recv(wait_s=10) is not None
        while channel.recv(wait_s=0) is not None:
            pass
        assert channel.recv(wait_s=0.01) is None
        assert not channel.ended
        assert sum(batch.num_rows for batch in channel) > 0


def test_rows_go_by_ranges(group: xd.Group) -> None:
    table = pa.table({"k": [5, 1, None, 9], "t": ["a", "b", "c", "d"]})
    no_bounds = pa.table({"k": pa.array([], pa.int64())})
    assert group.exchange(table, by="k", bounds=no_bounds).num_rows == 4
    with pytest.raises(xd.OptionError, match="1 bounds are given for 1 ranges"):
        group.exchange(table, by="k", bounds=pa.table({"k": [1]}))
    with pytest.raises(xd.TypeError):
        group.exchange(table, by="k", bounds=pa.table({"k": pa.array([], pa.string())}))
    with pytest.raises(xd.ColumnError):
        group.exchange(table, by="k", bounds=pa.table({"x": [1]}))
    with pytest.raises(xd.OptionError):
        group.exchange(table, to="k", bounds=no_bounds)
    with pytest.raises(xd.OptionError, match="no rule"):
        group.exchange(table)


RANGES = """
import crossdock as xd, pyarrow as pa
table = pa.table({"k": pa.array([*range(100), None], pa.int32())})
with xd.join_group() as group:
    bounds = pa.table({"k": pa.array([10, 50])})
    keys = group.exchange(table, by="k", bounds=bounds)["k"].to_pylist()
    begin, end = [(0, 10), (10, 50), (50, 100)][group.rank]
    wanted = [*range(begin, end)] * 3 + [None] * (3 if group.rank == 2 else 0)
    assert sorted(map(str, keys)) == sorted(map(str, wanted)), keys
    place = pa.table({"to": pa.array([2, 0, 2], pa.uint8()), "v": [1, 2, 3]})
    found = group.exchange(place, to="to")
    assert found.num_rows == {0: 3, 1: 0, 2: 6}[group.rank]
    try:
        group.exchange(table, by="k", bounds=pa.table({"k": pa.array([10, 50 + group.rank])}))
    except xd.OptionError as error:
        print(error)
"""


def test_ranks_have_their_ranges_and_the_same_ones(run_ranks: RunRanks) -> None:
    for heard in run_ranks(RANGES, 3):
        assert "another one on rank" in heard


INTERRUPTED = """
import os, signal, threading, time
import crossdock as xd, pyarrow as pa

with xd.connect(threads=1, memory="256MiB") as dock:
    ranks = dock.over_ranks()
    try:
        with ranks.call("a call"):
            ranks.agree("all are here")
            if dock.rank == 0:
                time.sleep(1)
                raise ValueError("of rank 0")
            if dock.rank == 1:
                threading.Timer(0.2, os.kill, (os.getpid(), signal.SIGINT)).start()
            ranks.agree("the next step")
    except BaseException as error:
        print(type(error).__name__)
    print(dock.from_arrow(pa.table({"k": [dock.rank]})).count())
"""


def test_ctrl_c_while_another_rank_fails_is_raised_by_that_call(run_ranks: RunRanks) -> None:
    """By none after it, in which the other ranks would hear of it too late or never."""
    answers = [said.split() for said in run_ranks(INTERRUPTED, 3)]
    assert answers == [["ValueError", "3"], ["KeyboardInterrupt", "3"], ["ControlError", "3"]]
