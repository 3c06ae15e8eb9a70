"""Groups and channels: alone, and among processes of this host."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Callable

import crossdock as xd
import pyarrow as pa
import pytest

RunRanks = Callable[..., list[str]]


pytestmark = pytest.mark.usefixtures("no_launcher_started_this")


def numbers(count: int) -> pa.Table:
    return pa.table({"k": pa.array(range(count), pa.int64()), "v": pa.array(range(count))})


def test_a_process_that_no_launcher_started_is_a_group_of_one(group: xd.Group) -> None:
    assert (group.rank, group.size) == (0, 1)
    assert group.gather(b"x") == [b"x"]
    assert repr(group) == "crossdock.Group (rank 0 of 1)"
    group.close()
    assert repr(group) == "crossdock.Group (closed)"
    with pytest.raises(xd.ClosedError):
        _ = group.rank


def test_exchange_gives_all_rows_back(group: xd.Group) -> None:
    table = pa.table(
        {
            "k": pa.array([1, 2, None, 4] * 1000, pa.int32()),
            "text": pa.array(["a", None, "long enough to lie in a heap", ""] * 1000),
            "large": pa.array(["é", "b" * 40, None, "c"] * 1000, pa.large_string()),
            "view": pa.array(["a", "b" * 40, None, ""] * 1000, pa.string_view()),
            "bytes": pa.array([b"\x00", None, b"x" * 30, b""] * 1000),
            "flag": pa.array([True, False, None, True] * 1000),
            "real": pa.array([0.5, None, -0.0, 1e300] * 1000),
            "day": pa.array([1, None, 3, 4] * 1000, pa.date32()),
            "word": pa.array(["x", "y", None, "x"] * 1000).dictionary_encode(),
        }
    )
    result = group.exchange(table, by="k")
    expected = table.set_column(8, "word", table["word"].cast(pa.string()))
    assert result.schema == expected.schema
    result.validate(full=True)
    assert sorted(map(repr, result.to_pylist())) == sorted(map(repr, expected.to_pylist()))


def test_a_dictionary_may_hold_nulls_in_a_column_that_may_not(group: xd.Group) -> None:
    words = pa.DictionaryArray.from_arrays(pa.array([0, 1, 0], pa.int8()), pa.array(["a", None]))
    fields = [pa.field("k", pa.int64()), pa.field("word", words.type, nullable=False)]
    table = pa.table([pa.array([1, 2, 3]), words], schema=pa.schema(fields))
    result = group.exchange(table, by="k")
    assert result.schema.field("word").nullable
    assert result["word"].to_pylist() == ["a", None, "a"]
    with group.channel(table.schema, by="k") as channel:
        channel.send(table)
        (batch,) = list(channel)
    assert batch.schema.field("word").nullable
    assert batch.column("word").null_count == 1


def test_send_more_than_the_channel_holds_before_anything_is_received(group: xd.Group) -> None:
    table = numbers(500_000)
    with group.channel(table.schema, by="k", segment_bytes="64KiB", slots=2) as channel:
        assert channel.memory_bytes < table.nbytes / 10
        channel.send(table)
        channel.flush()
        schema = pa.Table.from_batches(channel, table.schema)
        assert channel.ended
        assert channel.recv() is None
        assert channel.counters()["flows"][0]["rows_sent"] == 500_000
    assert schema.sort_by("k").equals(table)
    assert group.native().memory_used_bytes > 0


def test_what_is_kept_counts_against_the_budget() -> None:
    table = numbers(4_000_000)
    with (
        xd.join_group(memory="16MiB") as group,
        pytest.raises(xd.CapacityError, match="CD-201"),
    ):
        group.exchange(table, by="k")


def test_try_send_and_recv_in_turn(group: xd.Group) -> None:
    batches = numbers(200_000).to_batches(max_chunksize=5_000)
    rows = 0
    refused = 0
    with group.channel(batches[0].schema, by="k", segment_bytes="32KiB", slots=1) as channel:
        for batch in batches:
            while not channel.try_send(batch):
                refused += 1
                result = channel.recv(wait_s=0)
                rows += 0 if result is None else result.num_rows
        rows += sum(batch.num_rows for batch in channel)
    assert rows == 200_000
    assert refused > 0


def test_rules_for_where_rows_go(group: xd.Group) -> None:
    table = pa.table({"k": [1, 2, 3], "to": pa.array([0, 0, 0], pa.int32())})
    with group.channel(table.schema, to="to") as channel:
        channel.send(table)
        assert sum(batch.num_rows for batch in channel) == 3
    with group.channel(table.schema) as channel:
        with pytest.raises(xd.OptionError, match="no rule"):
            channel.send(table)
        channel.send(table, to=0)
        with pytest.raises(xd.OptionError, match="destination"):
            channel.send(table, to=7)
        assert sum(batch.num_rows for batch in channel) == 3
    assert group.broadcast(table).num_rows == 3
    assert group.collect(table).num_rows == 3


def test_a_number_that_is_no_destination(group: xd.Group) -> None:
    table = pa.table({"to": [0, 5]})
    with pytest.raises(xd.DataError, match="CD-303"), group.channel(table, to="to") as channel:
        channel.send(table)


def test_columns_are_matched_by_name(group: xd.Group) -> None:
    table = pa.table({"a": [1], "b": ["x"]})
    with group.channel(table.schema, by="a") as channel:
        channel.send(table.select(["b", "a"]))
        with pytest.raises(xd.ColumnError, match="missing  'b'"):
            channel.send(table.select(["a"]))
        assert [batch.to_pylist() for batch in channel] == [[{"a": 1, "b": "x"}]]


@pytest.mark.parametrize(
    ("options", "error"),
    [
        ({"by": "x"}, xd.ColumnError),
        ({"by": "k", "to": "k"}, xd.OptionError),
        ({"by": []}, xd.OptionError),
        ({"sources": [1]}, xd.OptionError),
        ({"destinations": []}, xd.OptionError),
        ({"slots": 3}, xd.OptionError),
        ({"segment_bytes": "1B", "by": "k"}, xd.OptionError),
        ({"memory": "1KiB", "by": "k"}, xd.CapacityError),
    ],
)
def test_refused_options(group: xd.Group, options: dict[str, object], error: type) -> None:
    with pytest.raises(error):
        group.channel(numbers(1).schema, **options)


def test_refused_calls(group: xd.Group) -> None:
    with pytest.raises(xd.TypeError):
        group.channel(17)
    with pytest.raises(xd.TypeError):
        group.channel(pa.schema([("k", pa.list_(pa.int64()))]), by="k")
    with group.channel(numbers(1).schema, by="k") as channel:
        with pytest.raises(xd.OptionError, match="flush"):
            channel.recv()
        with pytest.raises(xd.OptionError):
            channel.recv(wait_s=-1)
        with pytest.raises(xd.TypeError):
            channel.try_send(numbers(1))
        with pytest.raises(xd.TypeError):
            channel.send(17)
        channel.flush()
        with pytest.raises(xd.OptionError):
            channel.send(numbers(1))
    with pytest.raises(xd.ControlError, match="CD-618"):
        channel.recv()


def test_an_error_inside_a_channel_leaves_nothing_behind(group: xd.Group) -> None:
    def leave() -> None:
        with group.channel(numbers(1), by="k") as channel:
            channel.send(numbers(1000))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        leave()
    assert group.exchange(numbers(10), by="k").num_rows == 10


def test_ctrl_c_ends_a_wait(group: xd.Group) -> None:
    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    with pytest.raises(KeyboardInterrupt), group.channel(numbers(1), by="k") as channel:
        channel.recv(wait_s=30)
    timer.join()


def test_rows_that_do_not_fit_the_budget_are_not_lost() -> None:
    batches = numbers(3_000_000).to_batches(max_chunksize=20_000)
    held: list[pa.RecordBatch] = []
    sent = 0

    def send_and_hold(channel: xd.Channel) -> None:
        nonlocal sent
        while sent < len(batches):
            if channel.try_send(batches[sent]):
                sent += 1
            elif (batch := channel.recv(wait_s=0)) is not None:
                held.append(batch)

    with (
        xd.join_group(memory="16MiB") as group,
        group.channel(batches[0].schema, by="k", segment_bytes="64KiB", slots=2) as channel,
    ):
        with pytest.raises(xd.CapacityError, match="CD-201"):
            send_and_hold(channel)
        with pytest.raises(xd.CapacityError, match="CD-201"):
            channel.recv(wait_s=0)
        received = sum(batch.num_rows for batch in held)
        held.clear()
        received += sum(batch.num_rows for batch in channel)
    assert received == sum(batch.num_rows for batch in batches[:sent])


class Waiter:
    """A thread that waits for rows of a channel, and with that has its turn."""

    def __init__(self, channel: xd.Channel) -> None:
        self.heard = ""
        self._channel = channel
        self._begin = time.monotonic()
        self._begun = threading.Event()
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()
        self._begun.wait()
        time.sleep(0.2)

    def _wait(self) -> None:
        self._begun.set()
        try:
            self._channel.recv(wait_s=60)
        except xd.CrossdockError as error:
            self.heard = str(error)

    def ends_within(self, seconds: float) -> bool:
        self._thread.join(timeout=seconds)
        return not self._thread.is_alive() and time.monotonic() - self._begin < seconds


def test_close_ends_the_wait_of_another_thread(group: xd.Group) -> None:
    channel = group.channel(numbers(1).schema, by="k")
    waiter = Waiter(channel)
    assert not channel.ended
    assert channel.memory_bytes > 0
    assert channel.counters()["refused"] == 0
    channel.close()
    assert waiter.ends_within(10)
    assert "CD-618" in waiter.heard
    assert "rank 0 left the channel" in waiter.heard
    with pytest.raises(xd.ControlError, match="CD-618"):
        channel.recv(wait_s=0)


def test_ctrl_c_ends_the_wait_for_a_turn(group: xd.Group) -> None:
    waiter = None

    def wait_for_a_turn() -> None:
        nonlocal waiter
        with group.channel(numbers(1).schema, by="k") as channel:
            waiter = Waiter(channel)
            timer.start()
            channel.try_send(numbers(1).to_batches()[0])

    timer = threading.Timer(0.3, lambda: os.kill(os.getpid(), signal.SIGINT))
    with pytest.raises(KeyboardInterrupt):
        wait_for_a_turn()
    timer.join()
    assert waiter is not None
    assert waiter.ends_within(10)
    assert "KeyboardInterrupt" in waiter.heard


def test_a_relation_is_exchanged(group: xd.Group, dock: xd.Dock) -> None:
    result = dock.from_arrow(numbers(100)).filter(xd.col("k") >= 40).exchange(group, by="k")
    assert result.agg(n=xd.count(), s=xd.sum("v")).collect().to_pylist() == [
        {"n": 60, "s": sum(range(40, 100))}
    ]


def test_join_group_needs_all_three() -> None:
    with pytest.raises(xd.OptionError, match="all of rank, ranks and either meet or control"):
        xd.join_group(rank=0)


EXCHANGE = """
import crossdock as xd, pyarrow as pa
with xd.join_group(memory="512MiB") as group:
    n = 300_000
    table = pa.table({"k": pa.array(range(n), pa.int64()),
                      "t": [f"{group.rank}:{i}" + "." * (i % 30) for i in range(n)]})
    found = group.exchange(table, by="k", segment_bytes="64KiB", slots=2)
    assert found.num_rows == n, found.num_rows
    keys = found["k"].to_pylist()
    assert set(key % group.size for key in keys) == {group.rank}
    strings = set(found["t"].to_pylist())
    assert len(strings) == n
    everywhere = group.broadcast(found.slice(0, 10) if group.rank == 1 else None, root=1,
                                 schema=table.schema)
    assert everywhere.num_rows == 10
    at_last = group.collect(found.slice(0, 3), root=group.size - 1)
    assert (at_last is None) == (group.rank != group.size - 1)
    print(group.rank, group.size, 0 if at_last is None else at_last.num_rows)
"""


def test_processes_exchange_rows(run_ranks: RunRanks) -> None:
    assert run_ranks(EXCHANGE, 3) == ["0 3 0\n", "1 3 0\n", "2 3 9\n"]


SOME = """
import crossdock as xd, pyarrow as pa, time
schema = pa.schema([("k", pa.int64())])
with xd.join_group() as group:
    with group.channel(schema, by="k", sources=[0, 1], destinations=[2]) as channel:
        if channel.is_source:
            for begin in range(0, 100_000, 10_000):
                channel.send(pa.table({"k": range(begin, begin + 10_000)}))
        else:
            time.sleep(0.2)  # the sources may be through before anything is taken
            print(sum(batch.num_rows for batch in channel))
"""


def test_some_send_and_others_receive(run_ranks: RunRanks) -> None:
    assert run_ranks(SOME, 3) == ["", "", "200000\n"]


FAILS = """
import crossdock as xd, pyarrow as pa
table = pa.table({"k": range(1_000_000)})
with xd.join_group() as group:
    try:
        with group.channel(table.schema, by="k", slots=1) as channel:
            if group.rank == 1:
                raise LookupError("no table here")
            channel.send(table)
            for batch in channel:
                pass
    except (xd.ControlError, LookupError) as error:
        print(error)
"""


def test_all_ranks_hear_why_one_left(run_ranks: RunRanks) -> None:
    first, second = run_ranks(FAILS, 2)
    assert second == "no table here\n"
    assert "rank 1 left the channel before its end: LookupError: no table here" in first


UNLIKE = """
import crossdock as xd, os
try:
    xd.join_group(lost_after_s=20 if os.environ["CROSSDOCK_RANK"] == "1" else 10)
except xd.OptionError as error:
    print(error)
"""


def test_ranks_wait_alike_for_those_that_are_silent(run_ranks: RunRanks) -> None:
    for text in run_ranks(UNLIKE, 2):
        assert "lost_after_s=20" in text
        assert "rank 0 has" in text


LEAVES = """
import crossdock as xd, pyarrow as pa
with xd.join_group(transports="ucx", devices=["lo"]) as group:
    if group.rank == 0:
        try:
            group.gather(b"here")
        except xd.ControlError as error:
            print(error)
"""


def test_a_rank_that_leaves_is_no_note_to_those_who_gather(run_ranks: RunRanks) -> None:
    first, _ = run_ranks(LEAVES, 2)
    assert "rank 1 has closed its data plane" in first


def test_a_group_of_one_is_over_after_its_abort(group: xd.Group) -> None:
    channel = group.channel(numbers(1).schema, by="k")
    thread = threading.Thread(target=group.abort, args=("it is not needed",))
    thread.start()
    thread.join()
    with pytest.raises(xd.ControlError, match="rank 0 has ended the group: it is not needed") as it:
        channel.recv(wait_s=0)
    assert it.value.code == "CD-617"
    with pytest.raises(xd.ControlError, match="it is not needed"):
        group.channel(numbers(1).schema, by="k")
    with pytest.raises(xd.OptionError, match="abort"):
        group.abort("")


def test_abort_ends_what_all_ranks_wait_for(run_ranks: RunRanks) -> None:
    """Rank 0 waits for rows, rank 2 for the others, and a thread of rank 1 ends both."""
    outputs = run_ranks(
        """
import threading, time, crossdock as xd, pyarrow as pa
with xd.join_group(memory="256MiB") as group:
    channel = group.channel(pa.schema([("k", "int64")]), by="k", sources=[1])
    if group.rank == 1:
        threading.Timer(0.5, group.abort, ("worker 7 is lost",)).start()
    before = time.monotonic()
    for wait in (channel.recv if group.rank == 0 else group.gather, group.gather):
        try:
            wait()
        except xd.ControlError as error:
            print(error.code, "rank 1 has ended the group: worker 7 is lost" in str(error))
    print(time.monotonic() - before < 20)
""",
        3,
    )
    assert outputs == ["CD-617 True\nCD-617 True\nTrue\n"] * 3


@pytest.mark.parametrize("within_s", ["0", "-1", "nan", "soon"])
def test_the_time_to_open_is_a_number_of_seconds(within_s: str) -> None:
    os.environ["CROSSDOCK_OPEN_WITHIN_S"] = within_s
    try:
        with pytest.raises(xd.OptionError, match="open_within_s"):
            xd.join_group()
    finally:
        del os.environ["CROSSDOCK_OPEN_WITHIN_S"]
    with xd.join_group(open_within_s=0.5) as group, pytest.raises(xd.OptionError):
        group.channel(numbers(1).schema, by="k", open_within_s=float("nan"))


@pytest.mark.parametrize("within_s", ["0", "-1", "nan", "soon"])
def test_the_time_of_a_step_is_a_number_of_seconds(
    within_s: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CROSSDOCK_STEP_WITHIN_S", within_s)
    with pytest.raises(xd.OptionError, match="step_within_s"):
        xd.join_group()
    with xd.join_group(step_within_s=5) as group:
        assert group.gather(b"alone") == [b"alone"]


def test_a_gathering_waits_as_long_as_the_group_says(run_ranks: RunRanks) -> None:
    """The limit of one call goes before that of the group."""
    outputs = run_ranks(
        """
import os, time, crossdock as xd
from pathlib import Path
missed = Path(os.environ["CROSSDOCK_MEET"], "missed")
with xd.join_group(memory="256MiB", open_within_s=20, step_within_s=1) as group:
    if group.rank == 1:
        time.sleep(1.5)
    group.gather(at_most_s=20)
    while group.rank == 1 and not missed.exists():
        time.sleep(0.05)
    try:
        group.gather()
        print("all came")
    except xd.ControlError as error:
        print(error.code, "within 1 s" in str(error))
        missed.touch()
""",
        2,
    )
    assert outputs[0] == "CD-617 True\n"


def test_ranks_wait_for_each_other_as_long_as_they_are_asked_to(run_ranks: RunRanks) -> None:
    """The channel has a limit of its own; the group's is short."""
    outputs = run_ranks(
        """
import os, time, crossdock as xd, pyarrow as pa
from pathlib import Path
missed = Path(os.environ["CROSSDOCK_MEET"], "missed")
rows = pa.table({"k": [1, 2, 3]})
with xd.join_group(memory="256MiB", open_within_s=20) as group:
    if group.rank == 1:
        time.sleep(1.5)
    group.exchange(rows, by="k", open_within_s=10)
    while group.rank == 1 and not missed.exists():
        time.sleep(0.05)
    try:
        group.exchange(rows, by="k", open_within_s=1)
        print("opened")
    except xd.ControlError as error:
        print(error.code, "within 1 s" in str(error))
        missed.touch()
""",
        2,
    )
    assert outputs[0] == "CD-617 True\n"
